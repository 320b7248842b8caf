/** The page's side of a worker that runs a TypeScript program. The worker is created from a blob, so it inherits the page's content security policy. */
import type { Explained, StepResult } from 'gradus'
import { session, wasm } from '../lib/device.js'
import type { Checked } from './check.js'
import type { Call, Fault, Loaded, Named, Said } from './worker.js'

/** An error of the program, with its position. */
export class ProgramFault extends Error {
  readonly at: Fault['at']
  constructor({ message, at }: Fault) {
    super(message)
    this.name = 'ProgramFault'
    this.at = at
  }
}

let entry = ''

/** The address of the worker's first script. */
function entryAddress(): string {
  entry ||= URL.createObjectURL(new Blob([`import ${JSON.stringify(new URL('script-worker.js', document.baseURI).href)}`], { type: 'text/javascript' }))
  return entry
}

export class Runner {
  /** Lines that the program has printed. */
  readonly printed: string[] = []
  onPrint: () => void = () => {}
  steps = 0
  names: string[] = []
  shapes = new Map<string, number[]>()
  private waiting = new Map<number, { resolve: (value: never) => void, reject: (e: Error) => void }>()
  private last = 0
  private code = ''
  private broken: Error | null = null
  private opened: Promise<unknown>

  private constructor(private worker: Worker, readonly device: 'webgpu' | 'cpu') {
    worker.addEventListener('message', ({ data }: MessageEvent<Said>) => {
      if ('printed' in data) {
        this.printed.push(data.printed)
        if (this.printed.length > 200) this.printed.shift()
        return this.onPrint()
      }
      const call = this.waiting.get(data.id)
      this.waiting.delete(data.id)
      if ('fault' in data) call?.reject(new ProgramFault(data.fault))
      else call?.resolve(data.ok as never)
    })
    worker.addEventListener('error', (e) => {
      e.preventDefault()
      this.stop(new ProgramFault({ message: e.message || 'the worker could not be started', at: this.code && e.filename === this.code ? [e.lineno, e.colno] : null }))
    })
    this.opened = wasm().then((module) => this.call('open', device, module, document.baseURI))
    this.opened.catch(() => null)
  }

  /** Starts a worker with a session of its own on the device of the page. */
  static start(): Runner {
    return new Runner(new Worker(entryAddress(), { type: 'module' }), session().device)
  }

  /** Runs a checked program and compiles its training. */
  async load({ code, imports }: Checked): Promise<Loaded> {
    await this.opened
    // Imports name the package's file, because workers have no import maps. Replaces the last one first, so that the positions of the
    // others stay valid.
    const address = JSON.stringify(new URL('gradus/index.js', document.baseURI).href)
    const text = imports.toReversed().reduce((t, [from, to]) => t.slice(0, from) + address + t.slice(to), code)
    this.code = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
    try {
      const loaded = await this.call<Loaded>('load', this.code)
      this.names = loaded.state.map(([name]) => name)
      this.shapes = new Map(loaded.state)
      return loaded
    } finally {
      URL.revokeObjectURL(this.code)
    }
  }

  async step(_inputs: never, { read = true }: { read?: boolean } = {}): Promise<StepResult> {
    try {
      const result = await this.call<StepResult>('step', read)
      if (result.type === 'completed') this.steps = result.step
      return result
    } catch (error) {
      return { type: 'failed', error: error as Error }
    }
  }

  params = (): Promise<Record<string, Float32Array>> => this.call('params')
  explain = (): Promise<Explained> => this.call('explain')
  setLR = (rate: number): Promise<void> => this.call('setLR', rate)
  saveParams = (): Promise<Uint8Array> => this.call('saveParams')
  loadParams = (file: Uint8Array): Promise<void> => this.call('loadParams', file)
  values = (): Promise<Named[]> => this.call('values')

  /**
   * Stops the program if the worker handles no messages for `milliseconds`, as in an endless loop, or if `isDone` stays false for `most`
   * milliseconds. Time in which kernels compile does not count for the first limit.
   */
  async guard(isDone: () => boolean, milliseconds: number, most: number): Promise<void> {
    const late = (ms: number) => new Promise<true>((done) => { setTimeout(() => done(true), ms) })
    try {
      await this.opened
      for (const from = performance.now(); !isDone(); await late(250)) {
        const hangs = await Promise.race([this.call('ping').then(() => false), late(milliseconds)])
        const passed = performance.now() - from
        if (isDone() || !(hangs || passed > most)) continue
        return this.stop(new Error(`the program was stopped: after ${Math.round(passed / 1000)} s it had not reached its first step`))
      }
    } catch {
      // The worker was stopped; other calls report the reason.
    }
  }

  /** Ends the worker, even during a loop. */
  stop(why: Error = new Error('the program was stopped')): void {
    this.broken ??= why
    this.worker.terminate()
    for (const { reject } of this.waiting.values()) reject(this.broken)
    this.waiting.clear()
  }

  private call<T>(method: string, ...args: unknown[]): Promise<T> {
    if (this.broken) return Promise.reject(this.broken)
    const id = ++this.last
    return new Promise<T>((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (value: never) => void, reject })
      this.worker.postMessage({ id, method, args } satisfies Call)
    })
  }
}
