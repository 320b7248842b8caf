/** The worker's side of `worker.ts`: opens a session, imports the module with the spec, and answers calls. */
import { importSpec, init, LocalForward, LocalTraining, namedFunction } from './index.js'
import type { Answer, Opened, Request, WireError } from './worker.js'
import type { ForwardOptions } from './training.js'
import type { InputDecls } from './inputs.js'
import type { Module } from './nn.js'
import type { ModuleSpec } from './spec.js'

type Callable = Record<string, (...args: unknown[]) => unknown>

const targets = new Map<number, unknown>()
const running = new Map<number, AbortController>()
let last = 0

function describe(e: unknown): WireError {
  const error = e as Error & { kind?: string, line?: string }
  return { kind: error?.kind ?? 'value', message: error?.message ?? String(e), line: error?.line }
}

function keep(value: unknown): number {
  targets.set(++last, value)
  return last
}

/** Compiles a training. Its forward functions are looked up by name when they are attached. */
async function compile(options: ModuleSpec): Promise<Opened> {
  const session = await init({ device: options.device, wasm: options.wasm })
  const { spec, exports } = await importSpec(options)
  const training = new LocalTraining(spec)
  await training.prepare()
  const attach = ({ forward, ...rest }: ForwardOptions<Module, InputDecls>) =>
    keep(new LocalForward({ ...rest, model: spec.model, forward: namedFunction(forward as string, exports, spec) }))
  const target = keep(Object.assign(Object.create(training), { attach }))
  const { device, software, adapter, note } = session
  return { target, names: training.names, session: { device, software, adapter, note } }
}

async function answer({ id, target, method, args }: Request): Promise<unknown> {
  if (target === 0) return compile(args[0] as ModuleSpec)
  const found = targets.get(target) as Callable | undefined
  if (!found?.[method]) throw new Error(`the worker has no ${method}`)
  if (method === 'dispose') targets.delete(target)
  if (method !== 'step' && method !== 'run') return found[method]!(...args)
  const controller = new AbortController()
  running.set(id, controller)
  try {
    const [inputs, options] = args as [object, object?]
    const result = await found[method]!(inputs, { ...options, signal: controller.signal }) as { type: string, error?: unknown }
    return result.type === 'failed' ? { type: 'failed', error: describe(result.error) } : result
  } finally {
    running.delete(id)
  }
}

addEventListener('message', ({ data }: MessageEvent<Request>) => {
  if (data.method === 'abort') return running.get(data.id)?.abort()
  answer(data).then(
    (ok) => postMessage({ id: data.id, ok } satisfies Answer),
    (e: unknown) => postMessage({ id: data.id, error: describe(e) } satisfies Answer),
  )
})
