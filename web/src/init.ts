/** Initial values of parameters. They are drawn in the page by a counter-based generator, so a seed gives the same values on every device. */

/** The initial value of a parameter. Weights are `[out, in, ...window]`. */
export type Init =
  | 'zeros' | 'ones' | 'xavier' | 'xavierNormal' | 'kaiming' | 'kaimingNormal' | 'linear'
  | { normal: number } | { uniform: number } | { value: number } | { values: ArrayLike<number> }
  | ((shape: readonly number[], random: () => number) => ArrayLike<number>)

/** Numbers from 0 to below 1, determined by a seed and a name. */
export function generator(seed: number, name: string): () => number {
  // FNV-1a of the name, so that each parameter has a stream of its own.
  let state = 0x811c9dc5 ^ seed
  for (let i = 0; i < name.length; i++) state = Math.imul(state ^ name.charCodeAt(i), 0x01000193)
  let count = Math.imul(seed, 0x9e3779b1) ^ state
  return () => {
    count = (count + 0x9e3779b9) | 0
    let z = count ^ state
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b)
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35)
    return ((z ^ (z >>> 16)) >>> 0) / 2 ** 32
  }
}

/** A normal random number, by Box and Muller. */
export function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

/** The values of a parameter. */
export function initialValues(init: Init, shape: readonly number[], random: () => number): Float32Array {
  const size = shape.reduce((a, b) => a * b, 1)
  const fill = (f: () => number) => Float32Array.from({ length: size }, f)
  if (typeof init === 'function') return Float32Array.from(init(shape, random))
  if (typeof init === 'object') {
    if ('values' in init) return Float32Array.from(init.values)
    if ('value' in init) return fill(() => init.value)
    if ('normal' in init) return fill(() => init.normal * normal(random))
    return fill(() => init.uniform * (2 * random() - 1))
  }
  // The size of a convolution window is a factor of both.
  const window = shape.slice(2).reduce((a, b) => a * b, 1)
  const fanIn = (shape[1] ?? shape[0] ?? 1) * window
  const fanOut = (shape[0] ?? 1) * window
  const uniform = (bound: number) => fill(() => bound * (2 * random() - 1))
  switch (init) {
    case 'zeros': return new Float32Array(size)
    case 'ones': return fill(() => 1)
    case 'xavier': return uniform(Math.sqrt(6 / (fanIn + fanOut)))
    case 'xavierNormal': return fill(() => Math.sqrt(2 / (fanIn + fanOut)) * normal(random))
    case 'kaiming': return uniform(Math.sqrt(6 / fanIn))
    case 'kaimingNormal': return fill(() => Math.sqrt(2 / fanIn) * normal(random))
    case 'linear': return uniform(1 / Math.sqrt(fanIn))
  }
}
