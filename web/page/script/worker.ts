/** The worker that runs a TypeScript program of the playground. Imports the program from a blob, compiles its training, takes steps and reads values. */
import { compileTraining, init, nn, Tensor, type InputDecls, type Training, type TrainingSpec, type Value } from 'gradus'

/** A call from the page. */
export interface Call {
  id: number
  method: string
  args: unknown[]
}
export interface Fault {
  message: string
  /** The program's line and column, from 1, if the error has them. */
  at: [line: number, column: number] | null
}
/** An answer, or a line that the program has printed. */
export type Said = { id: number, ok: unknown } | { id: number, fault: Fault } | { printed: string }

export interface Loaded {
  /** If true, the program exports a training. */
  trains: boolean
  /** Names and shapes of parameters and buffers. */
  state: [name: string, shape: number[]][]
  rate: number
}
/** A value with its name. */
export type Named = [name: string, value: Value]

/** Largest number of elements of a value that is sent to the page. */
const MOST = 1 << 20
const send = (said: Said, moved: Transferable[] = []) => (self as unknown as Worker).postMessage(said, moved)

let address = ''
let exported: Record<string, unknown> = {}
let training: Training<nn.Module, InputDecls> | null = null
let model: nn.Module | null = null
let captured: Record<string, Value> = {}

/** Finds the position of an error in the program: that of the package's error, else the first one in the stack. */
function faultOf(e: unknown): Fault {
  const error = e as Error & { line?: string }
  const text = `${error?.line ?? ''}\n${error?.stack ?? ''}`
  const at = address ? text.indexOf(`${address}:`) : -1
  const found = at < 0 ? null : /^:(\d+):(\d+)/.exec(text.slice(at + address.length))
  const message = (error?.message ?? String(e)).replace(/\n {2}at \S+$/, '')
  return { message, at: found && [Number(found[1]), Number(found[2])] }
}

function printable(value: unknown): string {
  if (typeof value === 'string') return value
  if (value instanceof Tensor || value instanceof Error) return String(value)
  try {
    return JSON.stringify(value, (_, v: unknown) => (ArrayBuffer.isView(v) ? Array.from(v as never) : v)) ?? String(value)
  } catch {
    return String(value)
  }
}
for (const kind of ['log', 'info', 'warn', 'error'] as const) {
  console[kind] = (...all: unknown[]) => send({ printed: all.map(printable).join(' ').slice(0, 2000) })
}

const methods = {
  /** Answers, so that the page knows that the worker handles messages. */
  ping: () => null,

  async open(device: 'webgpu' | 'cpu', wasm: WebAssembly.Module, base: string): Promise<null> {
    // The worker was created from a blob, so addresses in the program are resolved against the page.
    const plain = self.fetch.bind(self)
    self.fetch = (request, options) => plain(typeof request === 'string' ? new URL(request, base) : request, options)
    await init({ device, wasm, seed: 1 })
    return null
  },

  async load(at: string): Promise<Loaded> {
    address = at
    const found = await import(address) as Record<string, unknown>
    const spec = (found.default && typeof found.default === 'object' ? found.default : found) as Record<string, unknown>
    exported = found
    if (!spec.model) return { trains: false, state: [], rate: 0 }
    if (!(spec.model instanceof nn.Module)) throw new TypeError('model must be an object of a class that extends nn.Module')
    for (const name of ['loss', 'batch']) if (typeof spec[name] !== 'function') throw new TypeError(`${name} must be a function`)
    exported = { ...spec }
    const { model: made, loss, inputs, optimizer, seed = 1 } = spec as unknown as TrainingSpec<nn.Module, InputDecls>
    model = made
    training = await compileTraining({ model: made, loss, inputs, optimizer, seed })
    const rate = (optimizer as { rate: unknown }).rate
    const state = [...made.state()].sort((a, b) => training!.names.indexOf(a[0]) - training!.names.indexOf(b[0]))
    return { trains: true, state: state.map(([name, p]) => [name, [...p.shape]]), rate: typeof rate === 'number' ? rate : 0 }
  },

  async step(read: boolean) {
    const batch = exported.batch as (step: number) => unknown
    const result = await training!.step(await batch(training!.steps) as never, { read })
    if (result.type === 'failed') throw result.error
    if (result.type === 'completed' && read) captured = result.captures
    return result.type === 'completed' ? { type: 'completed', loss: result.loss, step: result.step, captures: {} } : result
  },

  params: () => training!.params(),
  explain: () => training!.explain(),
  setLR: (rate: number) => training!.setLR(rate),
  saveParams: () => training!.saveParams(),
  loadParams: (file: Uint8Array) => training!.loadParams(file),

  /** Returns the results of the program's function `values`, exported tensors and numbers, then captured intermediates. */
  async values(): Promise<Named[]> {
    const out: Named[] = []
    const add = async (name: string, value: unknown): Promise<void> => {
      const read = await valueOf(value)
      if (read) out.push([name, read])
    }
    if (typeof exported.values === 'function') {
      const was = model?.training
      model?.eval()
      try {
        const given = await (exported.values as (m: unknown) => unknown)(model) as Record<string, unknown>
        for (const [name, value] of Object.entries(given ?? {})) await add(name, value)
      } finally {
        if (was) model?.train()
      }
    }
    for (const [name, value] of Object.entries(exported)) if (!['model', 'inputs', 'optimizer', 'seed'].includes(name)) await add(name, value)
    for (const [name, value] of Object.entries(captured)) if (value.data.length <= MOST) out.push([name, value])
    return out
  },
}

async function valueOf(value: unknown): Promise<Value | null> {
  if (typeof value === 'number' || typeof value === 'boolean') return { data: [Number(value)] as never, shape: [], dtype: typeof value === 'boolean' ? 'bool' : 'f64' }
  if (value instanceof Float32Array || value instanceof Float64Array || value instanceof Int32Array) {
    return value.length <= MOST ? { data: value.slice() as never, shape: [value.length], dtype: value instanceof Int32Array ? 'i32' : value instanceof Float64Array ? 'f64' : 'f32' } : null
  }
  if (!(value instanceof Tensor) || value instanceof nn.Parameter || value.size > MOST) return null
  return { data: await value.data(), shape: [...value.shape], dtype: value.dtype }
}

addEventListener('message', ({ data }: MessageEvent<Call>) => {
  const { id, method, args } = data
  const f = methods[method as keyof typeof methods] as (...args: unknown[]) => unknown
  Promise.resolve().then(() => f(...args)).then((ok) => send({ id, ok }), (e: unknown) => send({ id, fault: faultOf(e) }))
})
