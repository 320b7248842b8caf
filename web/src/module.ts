/**
 * The wasm module: loads it, makes calls, and connects it to the executor. See crates/web/PROTOCOL.md.
 * `init` makes the session that tensors use; calls are synchronous, except reads of values on the GPU.
 */
import { Executor, openGpu, LostDevice, type Command, type Gpu } from './executor.js'
import { errorOf, GradusError, LostDeviceError } from './errors.js'

export type DeviceName = 'cpu' | 'webgpu'

/** The source of the module. */
export type WasmSource = string | URL | BufferSource | WebAssembly.Module

export interface InitOptions {
  /** `auto` selects WebGPU if there is an adapter, else the CPU. */
  device?: 'auto' | DeviceName
  /** The module: its address, its bytes or the compiled module, or a promise of one of these. By default `gradus.wasm` in the folder of this file. */
  wasm?: WasmSource | Promise<WasmSource>
  /** Seed of random numbers inside of programs. */
  seed?: number
}

/** A description of a tensor in the module. */
export interface Info {
  id: number
  shape: number[]
  dtype: string
  device: string
}

/** A range of the module's memory. */
export interface Block {
  at: number
  bytes: number
}

interface Exports {
  memory: WebAssembly.Memory
  gradus_alloc(bytes: number): number
  gradus_free(at: number, bytes: number): void
  gradus_call(at: number, bytes: number): number
}

/** A function of the page that the module calls with tensors. */
export type PageFunction = (args: Info[]) => number[]

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The result of `init`. */
export interface Session {
  readonly device: DeviceName
  /** If true, the adapter is a software adapter, which is slow. */
  readonly software: boolean
  readonly adapter: string
  /** The reason why the device is not the GPU; empty if it is. */
  readonly note: string
  /** Resolves with the reason if the GPU is lost. */
  readonly lost: Promise<Error>
}

export class Runtime implements Session {
  readonly device: DeviceName
  readonly software: boolean
  readonly adapter: string
  readonly lost: Promise<Error>
  readonly executor: Executor | null = null
  private exports!: Exports
  private functions = new Map<number, PageFunction>()
  private last = 0
  private depth = 0
  private garbage: number[] = []
  private stopped = ''
  /** An error thrown by a function of the page, stored until the module reports it. */
  private thrown: { message: string, error: unknown } | null = null
  private registry = new FinalizationRegistry<number>((id) => this.free(id))

  private constructor(gpu: Gpu | null, readonly note: string) {
    this.device = gpu ? 'webgpu' : 'cpu'
    this.software = gpu?.software ?? true
    this.adapter = gpu?.name ?? ''
    if (gpu) {
      this.executor = new Executor(gpu, {
        host: (program, command, reads) => {
          const results = this.call('host', { program, command, reads: reads.map((r) => this.give(r)) }) as Block[]
          return results.map((r) => this.take(r))
        },
        fault: (program, check, position) => this.call('fault', { program, check, position }) as string,
      })
    }
    this.lost = this.executor?.lost.then((e) => errorOf('lost', e.message)) ?? new Promise(() => null)
  }

  static async load(wasm: WebAssembly.Module, gpu: Gpu | null, note: string): Promise<Runtime> {
    const runtime = new Runtime(gpu, note)
    const page = {
      post: (at: number, bytes: number) => {
        const commands = JSON.parse(runtime.text(at, bytes)) as Command[]
        runtime.executor?.post(commands, (at, bytes) => runtime.view(at, bytes))
      },
      callback: (f: number, at: number, bytes: number) => runtime.callback(f, at, bytes),
      panic: (at: number, bytes: number) => { runtime.stopped = runtime.text(at, bytes) },
    }
    const instance = await WebAssembly.instantiate(wasm, { page })
    runtime.exports = instance.exports as unknown as Exports
    if (gpu) runtime.call('open', { software: gpu.software, limits: gpu.limits })
    return runtime
  }

  /** Calls the module. Throws an error of the class for its kind. */
  call(verb: string, fields: object = {}): unknown {
    if (this.stopped) throw new GradusError(`the module has stopped: ${this.stopped}`, 'stopped')
    if (this.depth === 0) this.thrown = null
    if (this.depth === 0 && this.garbage.length && verb !== 'free') this.call('free', { ids: this.garbage.splice(0) })
    const [at, bytes] = this.put(encoder.encode(JSON.stringify({ do: verb, ...fields })))
    this.depth++
    let record: number
    try {
      record = this.exports.gradus_call(at, bytes)
    } catch (e) {
      this.stopped ||= String(e)
      throw new GradusError(`the module has stopped: ${this.stopped}`, 'stopped')
    } finally {
      this.depth--
    }
    const length = new DataView(this.exports.memory.buffer).getUint32(record, true)
    const answer = JSON.parse(this.text(record + 4, length)) as { ok?: unknown, error?: { kind: string, message: string } }
    this.exports.gradus_free(record, 4 + length)
    if (!answer.error) return answer.ok
    const { thrown } = this
    if (thrown && answer.error.message.includes(thrown.message.split('\n')[0]!)) {
      if (this.depth === 0) this.thrown = null
      throw thrown.error
    }
    throw errorOf(answer.error.kind, answer.error.message)
  }

  /** Seeds random numbers. */
  seed(seed: number): void {
    this.call('seed', { seed })
    // Drawing a number creates the generator of the device, which is not possible inside a trace.
    const [drawn] = this.call('op', { name: 'rand', args: [[1], this.device] }) as [Info]
    this.free(drawn.id)
  }

  /** Copies bytes into the module, for a request. */
  give(bytes: Uint8Array): Block {
    const [at, count] = this.put(bytes)
    return { at, bytes: count }
  }

  /** Copies the bytes of an answer, and frees them in the module. */
  take({ at, bytes }: Block): Uint8Array<ArrayBuffer> {
    const copy = new Uint8Array(bytes)
    copy.set(this.view(at, bytes))
    if (bytes) this.exports.gradus_free(at, bytes)
    return copy
  }

  /** Registers a function; returns its number. */
  register(f: PageFunction): number {
    this.functions.set(++this.last, f)
    return this.last
  }

  unregister(f: number): void {
    this.functions.delete(f)
  }

  /** Frees a tensor when its owner is garbage-collected. */
  watch(owner: object, id: number): void {
    this.registry.register(owner, id, owner)
  }

  /** Frees a tensor before the next call. */
  free(id: number, owner?: object): void {
    if (owner) this.registry.unregister(owner)
    this.garbage.push(id)
  }

  /** Elements of a tensor as bytes. */
  async read(id: number): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.readAll([id]))[0]!
  }

  /** Elements of several tensors as bytes, with one wait for the GPU. */
  async readAll(ids: number[]): Promise<Uint8Array<ArrayBuffer>[]> {
    type Located = { data?: Block, buffer?: [number, number] | null, bytes?: number }
    // The module keeps only the last located copy, so each read is queued before the next tensor is located.
    const reads = ids.map(async (id) => {
      const found = this.call('locate', { id }) as Located
      if (found.data) return this.take(found.data)
      if (!found.buffer) return new Uint8Array(0)
      return this.executor!.read(found.buffer, found.bytes!)
    })
    try {
      return await Promise.all(reads)
    } catch (e) {
      throw this.translated(e)
    }
  }

  /** Waits for the GPU: for compiling kernels and for queued commands. */
  async idle(): Promise<void> {
    try {
      await this.executor?.idle()
    } catch (e) {
      throw this.translated(e)
    }
  }

  /** Converts errors of the executor to errors of the package. */
  private translated(e: unknown): unknown {
    if (e instanceof GradusError) return e
    if (e instanceof LostDevice) return new LostDeviceError(e.message, 'lost')
    return errorOf(/out of range|must be at least 0 and below/.test((e as Error).message) ? 'value' : 'device', (e as Error).message)
  }

  private put(bytes: Uint8Array): [at: number, bytes: number] {
    if (!bytes.length) return [0, 0]
    const at = this.exports.gradus_alloc(bytes.length)
    this.view(at, bytes.length).set(bytes)
    return [at, bytes.length]
  }

  private view(at: number, bytes: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.exports.memory.buffer as ArrayBuffer, at, bytes)
  }

  private text(at: number, bytes: number): string {
    return decoder.decode(this.view(at, bytes))
  }

  private callback(f: number, at: number, bytes: number): number {
    let answer: object
    try {
      const { args } = JSON.parse(this.text(at, bytes)) as { args: Info[] }
      const found = this.functions.get(f)
      if (!found) throw new GradusError(`function ${f} is gone`)
      answer = { ok: found(args) }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      this.thrown = { message, error }
      answer = { error: { kind: error instanceof GradusError ? error.kind : 'value', message } }
    }
    const text = encoder.encode(JSON.stringify(answer))
    const record = this.exports.gradus_alloc(4 + text.length)
    new DataView(this.exports.memory.buffer).setUint32(record, text.length, true)
    this.view(record + 4, text.length).set(text)
    return record
  }
}

/** The session, shared by all copies of the package in a page or worker. */
const shared = globalThis as { [key: symbol]: Runtime | undefined }
const KEY = Symbol.for('gradus.runtime')

/** The session. Throws if `init` has not finished. */
export function runtime(): Runtime {
  const found = shared[KEY]
  if (!found) throw new GradusError('the package is not ready; call `await init()` first')
  return found
}

/** Returns true if `init` has finished. */
export function isReady(): boolean {
  return Boolean(shared[KEY])
}

/** Loads the module and opens the device. A later call makes a new session; tensors of the old one cannot be used with it. */
export async function init(options: InitOptions = {}): Promise<Session> {
  const { device = 'auto' } = options
  let note = ''
  const open = async () => {
    if (device === 'cpu') return null
    try {
      return await openGpu()
    } catch (e) {
      if (device === 'webgpu') throw errorOf('device', (e as Error).message)
      note = `running on the CPU: ${(e as Error).message}`
      return null
    }
  }
  const [wasm, gpu] = await Promise.all([compile(options.wasm ?? new URL('./gradus.wasm', import.meta.url)), open()])
  const made = await Runtime.load(wasm, gpu, note)
  shared[KEY]?.executor?.destroy()
  shared[KEY] = made
  made.seed(options.seed ?? 0)
  return made
}

async function compile(given: WasmSource | Promise<WasmSource>): Promise<WebAssembly.Module> {
  const source = await given
  if (source instanceof WebAssembly.Module) return source
  if (typeof source !== 'string' && !(source instanceof URL)) return WebAssembly.compile(source)
  const answer = await fetch(source)
  if (!answer.ok) throw new GradusError(`cannot load ${source}: ${answer.status}`)
  // Many servers send wasm files with the wrong type, which streaming compilation rejects.
  if (/^application\/wasm/.test(answer.headers.get('Content-Type') ?? '')) return WebAssembly.compileStreaming(answer)
  return WebAssembly.compile(await answer.arrayBuffer())
}

/** Returns true if WebGPU has an adapter here; `message` is for users. */
export async function checkWebGPU(): Promise<{ ok: boolean, message: string, reason?: 'no-webgpu' | 'no-adapter' }> {
  try {
    const { device } = await openGpu()
    device.destroy()
    return { ok: true, message: '' }
  } catch (e) {
    const message = (e as Error).message
    return { ok: false, message, reason: /no WebGPU/.test(message) ? 'no-webgpu' : 'no-adapter' }
  }
}
