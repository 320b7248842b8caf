/** Training in a worker: the same functions as on the page, with one message per call. The worker's side is `worker-entry.ts`. */
import { errorOf } from './errors.js'
import type { InputArrays, InputDecls } from './inputs.js'
import type { Session } from './module.js'
import type { Module } from './nn.js'
import type { Rate } from './optim.js'
import type { ModuleSpec } from './spec.js'
import { fitWith, type Explained, type FitOptions, type Forward, type ForwardOptions, type RunResult, type StepOptions, type StepResult, type Training } from './training.js'

/** A call from the page. `target` 0 is the worker itself; others are trainings and functions that it has compiled. */
export interface Request {
  id: number
  target: number
  method: string
  args: unknown[]
}
export interface WireError {
  kind: string
  message: string
  line: string | undefined
}
export type Answer = { id: number, ok: unknown } | { id: number, error: WireError }

/** The worker's description of a training that it has compiled. */
export interface Opened {
  target: number
  names: string[]
  session: Omit<Session, 'lost'>
}

/** An error as the worker describes it. */
export function revive({ kind, message, line }: WireError): Error {
  const error = errorOf(kind, '')
  error.message = message
  return Object.assign(error, { line })
}

/** Calls to a worker and their answers. */
class Channel {
  private waiting = new Map<number, { resolve: (value: unknown) => void, reject: (e: Error) => void }>()
  private last = 0
  private broken: Error | null = null

  constructor(private worker: Worker, private owns: boolean) {
    worker.addEventListener('message', ({ data }: MessageEvent<Answer>) => {
      const call = this.waiting.get(data.id)
      this.waiting.delete(data.id)
      if ('error' in data) call?.reject(revive(data.error))
      else call?.resolve(data.ok)
    })
    worker.addEventListener('error', (e) => this.fail(errorOf('worker', `the worker failed: ${e.message || 'it could not be loaded'}`)))
    worker.addEventListener('messageerror', () => this.fail(errorOf('worker', 'a message of the worker could not be deserialized')))
  }

  call<T>(target: number, method: string, args: unknown[], signal?: AbortSignal): Promise<T> {
    if (this.broken) return Promise.reject(this.broken)
    const id = ++this.last
    return new Promise<unknown>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject })
      this.worker.postMessage({ id, target, method, args } satisfies Request)
      signal?.addEventListener('abort', () => this.worker.postMessage({ id, target: 0, method: 'abort', args: [] } satisfies Request), { once: true })
    }) as Promise<T>
  }

  close(): void {
    if (this.owns) this.worker.terminate()
    this.fail(errorOf('worker', 'the training was disposed of'))
  }

  private fail(error: Error): void {
    this.broken = error
    for (const { reject } of this.waiting.values()) reject(error)
    this.waiting.clear()
  }
}

/** Compiles the training of a module in a worker. */
export async function compileRemote(options: ModuleSpec): Promise<RemoteTraining> {
  const owns = !(options.worker instanceof Worker)
  const worker = owns ? new Worker(new URL('./worker.js', import.meta.url), { type: 'module' }) : options.worker as Worker
  const channel = new Channel(worker, owns)
  const base = globalThis.location?.href
  const sent = { ...options, worker: undefined, module: new URL(options.module, base).href, wasm: options.wasm ?? undefined }
  try {
    return new RemoteTraining(channel, await channel.call<Opened>(0, 'compile', [sent]))
  } catch (e) {
    channel.close()
    throw e
  }
}

export class RemoteTraining implements Training<Module, InputDecls> {
  readonly names: string[]
  /** The device on which the worker runs programs. */
  readonly session: Opened['session']
  steps = 0
  private target: number
  private isDisposed = false

  constructor(private channel: Channel, opened: Opened) {
    this.names = opened.names
    this.session = opened.session
    this.target = opened.target
  }

  async step(inputs: InputArrays<InputDecls>, { signal, read }: StepOptions = {}): Promise<StepResult> {
    if (signal?.aborted || this.isDisposed) return { type: 'aborted' }
    const result = await this.result<StepResult>('step', [inputs, { read }], signal)
    if (result.type === 'completed') this.steps = result.step
    return result
  }

  fit(options: FitOptions<InputDecls>): Promise<StepResult> {
    return fitWith((inputs, o) => this.step(inputs, o), options)
  }

  async attach<J extends InputDecls>({ forward, inputs, training }: ForwardOptions<Module, J>): Promise<Forward<J>> {
    if (typeof forward !== 'string') throw errorOf('value', 'functions cannot be sent to a worker; name an export of the module: forward: "predict"')
    const target = await this.call<number>('attach', { forward, inputs, training })
    const { channel } = this
    return {
      run: async (arrays, { signal } = {}) => {
        if (signal?.aborted || this.isDisposed) return { type: 'aborted' }
        return revived<RunResult>(channel.call(target, 'run', [arrays], signal), () => this.isDisposed)
      },
      explain: () => channel.call(target, 'explain', []),
      dispose: () => { if (!this.isDisposed) void channel.call(target, 'dispose', []).catch(() => null) },
    }
  }

  setLR = (rate: Rate): Promise<void> => this.call('setLR', rate)
  resetOptimizer = (): Promise<void> => this.call('resetOptimizer')
  params = (): Promise<Record<string, Float32Array>> => this.call('params')
  setParams = (values: Record<string, ArrayLike<number>>): Promise<void> => this.call('setParams', values)
  saveParams = (): Promise<Uint8Array> => this.call('saveParams')
  loadParams = (file: Uint8Array): Promise<void> => this.call('loadParams', file)
  explain = (): Promise<Explained> => this.call('explain')

  async reset(seed?: number): Promise<void> {
    await this.call('reset', seed)
    this.steps = 0
  }

  dispose(): void {
    if (this.isDisposed) return
    this.isDisposed = true
    // A worker that was passed in `options` continues to run, without this training; any other one ends.
    void this.call('dispose').catch(() => null)
    this.channel.close()
  }

  private call<T>(method: string, ...args: unknown[]): Promise<T> {
    return this.channel.call(this.target, method, args)
  }

  private result<T extends StepResult>(method: string, args: unknown[], signal?: AbortSignal): Promise<T | StepResult> {
    return revived<StepResult>(this.channel.call(this.target, method, args, signal), () => this.isDisposed)
  }
}

/** Makes a result from an answer, in which an error is data. A disposed worker reports its pending calls as aborted. */
async function revived<T extends StepResult | RunResult>(answer: Promise<unknown>, isDisposed: () => boolean): Promise<T> {
  try {
    const result = await answer as T
    return (result.type === 'failed' ? { type: 'failed', error: revive(result.error as unknown as WireError) } : result) as T
  } catch (error) {
    return (isDisposed() ? { type: 'aborted' } : { type: 'failed', error }) as T
  }
}
