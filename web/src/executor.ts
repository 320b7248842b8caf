/**
 * The executor runs the commands of crates/web/PROTOCOL.md on a WebGPU device, in order. `post` queues commands without waiting; `read`
 * returns bytes, and reports failures of earlier commands. It does not depend on the wasm module, because exported bundles use it without
 * the module.
 */
import { bytesOf, padded, type Command, type HostStep, type Limits, type BufferOffset, type Plan } from './plan.js'
import { Pipelines, Program, type Memory, type Prepared } from './program.js'

export type * from './plan.js'

/** Initial size of the heap, in bytes. */
const HEAP = 1 << 20
/** Number of runs per submission. */
const RUNS = 16
/** Largest number of check words that have not been read. */
const WORDS = 1024
/** Number of staging buffers that are kept for reuse, and the largest size of one in bytes. */
const STAGING = 6
const STAGING_BYTES = 4 << 20

/** Callbacks that the executor needs from the code that posts commands. */
export interface Host {
  /** Runs a step without a kernel. */
  host(program: number, command: number, reads: Uint8Array[]): Uint8Array[] | Promise<Uint8Array[]>
  /** The message for an index out of range. */
  fault(program: number, check: number, position: number): string
}

/** An opened device. */
export interface Gpu {
  device: GPUDevice
  limits: Limits
  /** If true, the adapter is in software, where barriers are slow. */
  software: boolean
  name: string
}

/** Requests an adapter, and a device with the adapter's limits. Throws an error whose message is for users. */
export async function openGpu(): Promise<Gpu> {
  const gpu = (globalThis.navigator as Navigator | undefined)?.gpu
  if (!gpu) throw new Error('this browser has no WebGPU')
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' })
  if (!adapter) throw new Error('WebGPU has no adapter here: the GPU or its driver is not supported, or WebGPU is switched off')
  const a = adapter.limits
  const requiredLimits: Record<string, number> = {}
  for (const name of ['maxStorageBufferBindingSize', 'maxBufferSize', 'maxStorageBuffersPerShaderStage',
    'maxComputeWorkgroupStorageSize', 'maxComputeInvocationsPerWorkgroup', 'maxComputeWorkgroupSizeX',
    'maxComputeWorkgroupSizeY', 'maxComputeWorkgroupsPerDimension'] as const) requiredLimits[name] = a[name]
  const device = await adapter.requestDevice({ requiredLimits })
  // Older browsers do not have all fields.
  const info: Partial<GPUAdapterInfo> = adapter.info ?? {}
  const limits = {
    group: Math.min(a.maxComputeInvocationsPerWorkgroup, a.maxComputeWorkgroupSizeX),
    shared: a.maxComputeWorkgroupStorageSize,
    bindings: a.maxStorageBuffersPerShaderStage,
    binding: Math.min(a.maxStorageBufferBindingSize, a.maxBufferSize),
    groups: a.maxComputeWorkgroupsPerDimension,
  }
  const software = Boolean(info.isFallbackAdapter) || /swiftshader|llvmpipe/i.test(`${info.architecture} ${info.description}`)
  return { device, limits, software, name: [info.vendor, info.architecture, info.description].filter(Boolean).join(' ') }
}

/** The device was lost: the browser closed it, its driver failed, or `destroy` was called. */
export class LostDevice extends Error {}

type Task = () => void | Promise<void>

interface Pending {
  program: number
  check: number
}

export class Executor implements Memory {
  readonly device: GPUDevice
  /** Resolves when the device is lost. */
  readonly lost: Promise<Error>
  /** Numbers of operations so far. */
  readonly counts = { submits: 0, runs: 0, dispatches: 0, reads: 0 }
  private buffers = new Map<number, GPUBuffer>()
  private programs = new Map<number, Program>()
  private pipelines: Pipelines
  private waiting: Task[] = []
  private isBlocked = false
  private encoder: GPUCommandEncoder | null = null
  private pass: GPUComputePassEncoder | null = null
  private runs = 0
  private isScheduled = false
  /** Called at the next submission. */
  private onSubmit: (() => void)[] = []
  /** If true, the next submission is checked for errors. */
  private isWatched = false
  /** Error checks whose results have not arrived. */
  private watching = new Set<Promise<void>>()
  /** Buffers to destroy after the next submission. */
  private retired: GPUBuffer[] = []
  private words: GPUBuffer
  private scratch: GPUBuffer | null = null
  private pending: Pending[] = []
  private staging: GPUBuffer[] = []
  private failure: Error | null = null
  private gone: Error | null = null

  constructor(gpu: { device: GPUDevice }, private host: Host) {
    const device = this.device = gpu.device
    this.pipelines = new Pipelines(device)
    this.buffers.set(0, this.allocate(HEAP, 'heap'))
    this.words = device.createBuffer({ size: 4 * WORDS, usage: 8 | 4, label: 'checks' })
    device.addEventListener('uncapturederror', (e) => {
      e.preventDefault()
      this.fail(new Error(`WebGPU: ${e.error.message}`))
    })
    this.lost = device.lost.then((info) => {
      this.gone = new LostDevice(`the GPU device was lost: ${info.message || info.reason}`)
      return this.gone
    })
  }

  /** Queues commands. `memory` returns the bytes of `write` commands; they are copied before this returns. */
  post(commands: Command[], memory: (at: number, bytes: number) => Uint8Array): void {
    for (const command of commands) {
      switch (command.c) {
        case 'load': {
          // Kernels compile while earlier commands are queued.
          this.load(command.program, command.plan)
          break
        }
        case 'write': this.postWrite(command.to, memory(command.at, command.bytes)); break
        case 'run': this.enqueue(() => this.run(command.program, command.slots)); break
        default: this.enqueue(() => this.apply(command))
      }
    }
    this.schedule()
  }

  /** Writes bytes to a buffer, after all commands queued before. */
  write(to: BufferOffset, bytes: Uint8Array): void {
    this.postWrite(to, bytes)
  }

  /** Reads bytes, after all commands queued before. Throws the first failure since the last read. */
  async read(from: BufferOffset, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.readAll([[from, bytes]]))[0]!
  }

  /** Reads several ranges through one staging buffer. */
  readAll(ranges: [from: BufferOffset, bytes: number][]): Promise<Uint8Array<ArrayBuffer>[]> {
    return new Promise((resolve, reject) => {
      this.enqueue(() => { this.collect(ranges).then(resolve, reject) })
    })
  }

  /** Waits until all queued commands have run and all kernels have compiled. A kernel that does not compile fails when it runs. */
  async idle(): Promise<void> {
    // A program is known once the commands queued before it have begun.
    await new Promise<void>((done) => this.enqueue(done))
    await Promise.allSettled([...this.programs.values()].map((p) => p.ready))
    await this.readAll([])
    await this.device.queue.onSubmittedWorkDone()
    // Errors may arrive later than the end of the work that caused them.
    while (this.watching.size) await Promise.all(this.watching)
    this.report()
  }

  /** Releases the device. */
  destroy(): void {
    this.device.destroy()
  }

  private load(id: number, plan: Plan): void {
    try {
      const program = new Program(this.device, this.pipelines, id, plan)
      this.enqueue(() => { this.programs.set(id, program) })
    } catch (e) {
      this.fail(e as Error)
    }
  }

  private enqueue(task: Task): void {
    if (this.isBlocked) this.waiting.push(task)
    else this.perform(task)
  }

  private perform(task: Task): void {
    try {
      const wait = task()
      if (!wait) return
      this.isBlocked = true
      wait.catch((e) => this.fail(e as Error)).then(() => {
        this.isBlocked = false
        while (!this.isBlocked && this.waiting.length) this.perform(this.waiting.shift()!)
        this.schedule()
      })
    } catch (e) {
      this.fail(e as Error)
    }
  }

  /** Keeps the first failure for the next read. */
  private fail(error: Error): void {
    this.failure ??= error
  }

  private report(): void {
    if (this.gone) throw this.gone
    const { failure } = this
    this.failure = null
    if (failure) throw failure
  }

  private allocate(bytes: number, label: string): GPUBuffer {
    const { device } = this
    device.pushErrorScope('out-of-memory')
    device.pushErrorScope('validation')
    const buffer = device.createBuffer({ size: Math.max(16, padded(bytes)), usage: 0x80 | 8 | 4, label })
    for (let i = 0; i < 2; i++) this.pop(`cannot allocate ${bytes} bytes on the GPU (${label})`)
    return buffer
  }

  /** @internal */
  buffer = (id: number): GPUBuffer => {
    const found = this.buffers.get(id)
    if (!found) throw new Error(`there is no buffer ${id}`)
    return found
  }

  /** @internal Destroys a buffer after the next submission. */
  retire = (buffer: GPUBuffer): void => {
    this.retired.push(buffer)
  }

  private apply(command: Exclude<Command, { c: 'load' | 'write' | 'run' }>): void {
    // A copy beyond the end of a buffer makes the submission fail.
    if (command.c === 'copy' || command.c === 'grow') this.isWatched = true
    switch (command.c) {
      case 'buffer': this.buffers.set(command.id, this.allocate(command.bytes, `buffer ${command.id}`)); break
      case 'grow': {
        const old = this.buffer(command.id)
        const grown = this.allocate(command.bytes, `buffer ${command.id}`)
        this.commands().copyBufferToBuffer(old, 0, grown, 0, Math.min(old.size, grown.size))
        this.buffers.set(command.id, grown)
        this.retire(old)
        break
      }
      case 'drop':
        this.retire(this.buffer(command.id))
        this.buffers.delete(command.id)
        break
      case 'copy': {
        const { from, to } = command
        const bytes = padded(command.bytes)
        const encoder = this.commands()
        const target = this.buffer(to[0])
        if (from[0] !== to[0]) encoder.copyBufferToBuffer(this.buffer(from[0]), from[1], target, to[1], bytes)
        else {
          // WebGPU does not copy within a buffer.
          if ((this.scratch?.size ?? 0) < bytes) {
            if (this.scratch) this.retire(this.scratch)
            this.scratch = this.allocate(Math.max(1 << 16, bytes), 'scratch')
          }
          encoder.copyBufferToBuffer(target, from[1], this.scratch!, 0, bytes)
          encoder.copyBufferToBuffer(this.scratch!, 0, target, to[1], bytes)
        }
        break
      }
      case 'unload':
        this.programs.get(command.program)?.unload(this.retire)
        this.programs.delete(command.program)
        break
    }
  }

  private postWrite(to: BufferOffset, bytes: Uint8Array): void {
    if (this.isBlocked || bytes.length % 4) {
      const copy = new Uint8Array(padded(bytes.length))
      copy.set(bytes)
      bytes = copy
    }
    this.enqueue(() => {
      this.flush()
      this.device.queue.writeBuffer(this.buffer(to[0]), to[1], bytes as Uint8Array<ArrayBuffer>)
    })
  }

  /** The encoder, outside of a pass. */
  private commands(): GPUCommandEncoder {
    this.pass?.end()
    this.pass = null
    return this.encoder ??= this.device.createCommandEncoder()
  }

  /** Submits at the end of the current task of the page, unless it is submitted before. */
  private schedule(): void {
    if (this.isScheduled || !(this.encoder || this.retired.length)) return
    this.isScheduled = true
    queueMicrotask(() => {
      this.isScheduled = false
      this.flush()
    })
  }

  private flush(): void {
    if (this.encoder) {
      const encoder = this.commands()
      this.encoder = null
      this.runs = 0
      if (!this.isWatched) this.device.queue.submit([encoder.finish()])
      else this.watch('WebGPU refused a submission', () => this.device.queue.submit([encoder.finish()]))
      this.isWatched = false
      this.counts.submits++
    }
    this.onSubmit.splice(0).forEach((f) => f())
    for (const buffer of this.retired) buffer.destroy()
    this.retired.length = 0
  }

  /** @internal Makes calls, and reports their WebGPU errors with this name. */
  watch<T>(name: string, calls: () => T): T {
    this.device.pushErrorScope('validation')
    try {
      return calls()
    } finally {
      this.pop(name)
    }
  }

  /** Ends an error scope. Its error, if any, arrives later and is reported with this name. */
  private pop(name: string): void {
    const answer: Promise<void> = this.device.popErrorScope().then(
      (e) => { if (e) this.fail(new Error(`${name}: ${e.message}`)) },
      () => undefined, // The device is lost, which is reported separately.
    ).finally(() => this.watching.delete(answer))
    this.watching.add(answer)
  }

  private run(id: number, slots: (BufferOffset | null)[]): void | Promise<void> {
    const program = this.programs.get(id)
    if (!program) throw new Error(`program ${id} is not loaded`)
    if (!program.isReady) {
      this.flush()
      return program.ready.then(() => this.run(id, slots))
    }
    const { plan } = program
    const prepared = program.prepare(slots, this)
    if (!prepared.submitted) this.isWatched = prepared.submitted = true
    this.counts.runs++
    if (program.hasHost) return this.runWithHost(program, prepared)
    for (let i = 0; i < plan.commands.length; i++) this.encode(program, prepared, i)
    if (++this.runs >= RUNS) this.flush()
  }

  private encode(program: Program, prepared: Prepared, i: number): void {
    const ready = prepared.ready[i]
    if (ready) {
      const pass = this.pass ??= (this.encoder ??= this.device.createCommandEncoder()).beginComputePass()
      pass.setPipeline(ready.pipeline)
      pass.setBindGroup(0, ready.group, ready.offsets)
      pass.dispatchWorkgroups(ready.x, ready.y, ready.z)
      this.counts.dispatches++
    }
    const checks = program.checks.size ? program.checks.get(i) : undefined
    for (const check of checks ?? []) {
      const word = prepared.slots[program.plan.checks[check]!.word]
      if (!word) continue
      if (this.pending.length === WORDS) this.gather([]).catch((e) => this.fail(e as Error))
      this.commands().copyBufferToBuffer(this.buffer(word[0]), word[1], this.words, 4 * this.pending.length, 4)
      this.pending.push({ program: program.id, check })
    }
  }

  private async runWithHost(program: Program, prepared: Prepared): Promise<void> {
    const { commands } = program.plan
    for (let i = 0; i < commands.length; i++) {
      if ('host' in commands[i]!) await this.runOnHost(program, prepared, i, commands[i] as HostStep)
      else this.encode(program, prepared, i)
    }
  }

  private async runOnHost(program: Program, prepared: Prepared, i: number, step: HostStep): Promise<void> {
    const range = (b: number): [BufferOffset, number] =>
      [prepared.slots[b] ?? [0, 0], prepared.slots[b] ? bytesOf(program.plan.buffers[b]!) : 0]
    const results = await this.host.host(program.id, i, await this.collect(step.reads.map(range)))
    step.writes.forEach((b, k) => {
      const slot = prepared.slots[b]
      const bytes = results[k]
      if (!slot || !bytes) return
      const wholeWords = new Uint8Array(padded(bytes.length))
      wholeWords.set(bytes)
      this.flush()
      this.device.queue.writeBuffer(this.buffer(slot[0]), slot[1], wholeWords)
    })
  }

  /** Reads ranges and check words. Throws an earlier failure. */
  private async collect(ranges: [from: BufferOffset, bytes: number][]): Promise<Uint8Array<ArrayBuffer>[]> {
    const results = await this.gather(ranges)
    this.report()
    return results
  }

  /** Copies ranges and check words to a staging buffer. Resolves with the bytes, and records the failure of a check. */
  private async gather(ranges: [from: BufferOffset, bytes: number][]): Promise<Uint8Array<ArrayBuffer>[]> {
    const { pending } = this
    const total = ranges.reduce((sum, [, bytes]) => sum + padded(bytes), 4 * pending.length)
    const results = ranges.map(([, bytes]) => new Uint8Array(bytes))
    if (!total) {
      this.flush()
      return results
    }
    const staging = this.stage(total)
    const encoder = this.commands()
    this.pending = []
    if (pending.length) encoder.copyBufferToBuffer(this.words, 0, staging, 0, 4 * pending.length)
    let at = 4 * pending.length
    for (const [[id, offset], bytes] of ranges) {
      if (bytes) encoder.copyBufferToBuffer(this.buffer(id), offset, staging, at, padded(bytes))
      at += padded(bytes)
    }
    this.counts.reads++
    this.schedule()
    // Reads of one task of the page share a submission.
    await new Promise<void>((resolve) => { this.onSubmit.push(resolve) })
    try {
      await staging.mapAsync(1, 0, total)
    } catch (e) {
      staging.destroy()
      // The promise of a lost device may resolve shortly after this one.
      await Promise.race([this.device.lost, new Promise((r) => setTimeout(r, 50))])
      this.report()
      throw e
    }
    const mapped = staging.getMappedRange(0, total)
    const words = new Uint32Array(mapped, 0, pending.length)
    let fault: [Pending, number] | null = null
    words.forEach((word, k) => { if (word !== 0xffffffff) fault ??= [pending[k]!, word] })
    at = 4 * pending.length
    for (const bytes of results) {
      bytes.set(new Uint8Array(mapped, at, bytes.length))
      at += padded(bytes.length)
    }
    staging.unmap()
    if (this.staging.length < STAGING && staging.size <= STAGING_BYTES) this.staging.push(staging)
    else staging.destroy()
    if (fault) this.fail(this.faultError(...(fault as [Pending, number])))
    return results
  }

  private faultError({ program, check }: Pending, position: number): Error {
    try {
      return new Error(this.host.fault(program, check, position))
    } catch {
      return new Error(`index ${position} is out of range (program ${program}, check ${check})`)
    }
  }

  /** A staging buffer of at least this size: a kept one, or a new one. */
  private stage(bytes: number): GPUBuffer {
    const at = this.staging.findIndex((b) => b.size >= bytes && b.size <= 16 * Math.max(bytes, 256))
    if (at >= 0) return this.staging.splice(at, 1)[0]!
    let size = 256
    while (size < bytes) size *= 2
    return this.device.createBuffer({ size, usage: 1 | 8, label: 'staging' })
  }
}
