/** The state of the playground: the program and its settings. Packs and unpacks it for an address. */

export type Role = 'data' | 'parameter'

/** The language of the program. */
export type Written = 'equations' | 'typescript'

export interface State {
  language: Written
  source: string
  /** Values of inputs, as text. */
  values: Record<string, string>
  roles: Record<string, Role>
  /** The name to differentiate and to minimise; if empty, the first scalar output. */
  loss: string
  rate: number
}

/** Largest size of an unpacked address, in bytes. */
const LIMIT = 300_000

/** Packs a state for an address. */
export async function pack(state: State): Promise<string> {
  const { language, source, values, roles, loss, rate } = state
  const text = JSON.stringify(language === 'typescript' ? { v: 1, t: 'typescript', s: source } : { v: 1, s: source, i: values, r: roles, l: loss, a: rate })
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream('deflate-raw'))
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** Unpacks a state. Throws if the text is not a packed state. */
export async function unpack(code: string): Promise<State> {
  try {
    const bytes = Uint8Array.from(atob(code.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
    const o = JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream('deflate-raw')))) as Record<string, unknown>
    const texts = (v: unknown): Record<string, string> =>
      Object.fromEntries(Object.entries((v ?? {}) as object).filter(([k, t]) => /^\w+'*$/.test(k) && typeof t === 'string')) as Record<string, string>
    if (typeof o.s !== 'string') throw new Error('no source')
    const roles = texts(o.r)
    for (const [k, r] of Object.entries(roles)) if (r !== 'data' && r !== 'parameter') delete roles[k]
    return {
      language: o.t === 'typescript' ? 'typescript' : 'equations', source: o.s, values: texts(o.i), roles: roles as Record<string, Role>,
      loss: typeof o.l === 'string' ? o.l : '', rate: typeof o.a === 'number' && o.a > 0 ? o.a : 0.05,
    }
  } catch {
    throw new Error('this address does not hold a program; it may have been cut')
  }
}

async function through(bytes: Uint8Array<ArrayBuffer>, by: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Blob([bytes]).stream().pipeThrough(by as unknown as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>).getReader()
  const parts: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.length
    if (size > LIMIT) throw new Error('too large')
    parts.push(value)
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}
