/** Transforms of functions over tensors. The module traces the function once per call. */
import { runtime, type Info, type Runtime } from './module.js'
import { Tensor, tidy } from './tensor.js'

type F = (...args: Tensor[]) => Tensor | Tensor[]

/** @internal A function as the module calls it. Tensors that it makes are freed, except results. */
export function traced(f: (...args: Tensor[]) => Tensor[]): (args: Info[]) => number[] {
  return (infos) => tidy(() => {
    const outs = f(...infos.map((info) => Tensor.of(info)))
    // They are freed with the others, but only before the next call from outside of the module.
    return outs.map((t) => t.id)
  })
}

/** Runs `use` with the number of a function. */
function registered<T>(f: F, use: (session: Runtime, number: number) => T): T {
  const session = runtime()
  const number = session.register(traced((...args) => [f(...args)].flat()))
  try {
    return use(session, number)
  } finally {
    session.unregister(number)
  }
}

/** The value and the gradients of a scalar function by the arguments `wrt`, by default the first. */
export function valueAndGrad(f: F, wrt: number | number[] = 0): (...args: Tensor[]) => { value: Tensor, grads: Tensor[] } {
  return (...args) => registered(f, (session, number) => {
    const ins = args.map((a) => a.id)
    const answer = session.call('grad', { function: number, ins, wrt: [wrt].flat() }) as { outs: Info[], grads: Info[] }
    const [value, ...rest] = answer.outs.map((info) => Tensor.of(info))
    rest.forEach((t) => t.dispose())
    return { value: value!, grads: answer.grads.map((info) => Tensor.of(info)) }
  })
}

/** The gradient of a scalar function by one argument; by several, a list. */
export function grad(f: F, wrt?: number): (...args: Tensor[]) => Tensor
export function grad(f: F, wrt: number[]): (...args: Tensor[]) => Tensor[]
export function grad(f: F, wrt: number | number[] = 0): (...args: Tensor[]) => Tensor | Tensor[] {
  const both = valueAndGrad(f, wrt)
  return (...args) => {
    const { value, grads } = both(...args)
    value.dispose()
    return Array.isArray(wrt) ? grads : grads[0]!
  }
}

/** A function over one example as a function over a batch. `axes` says which axis of each argument counts examples; `null` is none. */
export function vmap(f: (...args: Tensor[]) => Tensor, axes?: (number | null)[]): (...args: Tensor[]) => Tensor
export function vmap(f: (...args: Tensor[]) => Tensor[], axes?: (number | null)[]): (...args: Tensor[]) => Tensor[]
export function vmap(f: F, axes?: (number | null)[]): (...args: Tensor[]) => Tensor | Tensor[] {
  let isList = false
  const noted: F = (...args) => {
    const outs = f(...args)
    isList = Array.isArray(outs)
    return outs
  }
  return (...args) => registered(noted, (session, number) => {
    const ins = args.map((a) => a.id)
    const outs = session.call('vmap', { function: number, ins, axes: args.map((_, i) => (axes ? axes[i] ?? null : 0)) }) as Info[]
    const tensors = outs.map((info) => Tensor.of(info))
    return isList ? tensors : tensors[0]!
  })
}
