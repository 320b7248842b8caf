/**
 * Programs of the executor: a plan with its pipelines, and for each set of slots the bind groups and parameter blocks. Takes plans and
 * slots; returns lists of dispatches that are ready to be encoded. The executor manages memory and order.
 */
import { SIZES, type Dispatch, type BufferOffset, type Plan } from './plan.js'

/** Number of sets of slots for which a program keeps prepared dispatches. */
const KEPT = 16
/** Number of unused pipelines that are kept. */
const PIPELINES = 2048

/** A dispatch that is ready to be encoded. */
export interface Ready {
  pipeline: GPUComputePipeline
  group: GPUBindGroup
  offsets: number[]
  x: number
  y: number
  z: number
}

/** A program prepared for a set of slots. */
export interface Prepared {
  slots: (BufferOffset | null)[]
  /** Buffers for which it was made; it is stale once one of them is replaced. */
  made: Map<number, GPUBuffer>
  /** One entry per command; `null` for host steps and for dispatches without elements. */
  ready: (Ready | null)[]
  parameters: GPUBuffer | null
  /** Set when it has been submitted. The first submission is checked for errors. */
  submitted: boolean
}

/** The functions of the executor that a program needs. */
export interface Memory {
  buffer(id: number): GPUBuffer
  /** Destroys a buffer once no pending command uses it. */
  retire(buffer: GPUBuffer): void
  /** Makes calls, and reports their WebGPU errors with this name. */
  watch<T>(name: string, calls: () => T): T
}

interface Pipeline {
  ready: Promise<GPUComputePipeline>
  value: GPUComputePipeline | null
  layout: GPUBindGroupLayout
  users: number
}

/** Compiles kernels; equal texts are compiled once. */
export class Pipelines {
  private known = new Map<string, Pipeline>()
  private layouts = new Map<string, GPUBindGroupLayout>()
  constructor(private device: GPUDevice) {}

  /** Returns the pipeline of a kernel text and starts compiling it. */
  use(text: string, writable: boolean[], name: string): Pipeline {
    const key = writable.map(Number).join('') + text
    let found = this.known.get(key)
    if (!found) {
      if (this.known.size >= PIPELINES) {
        for (const [k, p] of this.known) if (p.users === 0) this.known.delete(k)
      }
      const layout = this.layout(writable)
      const made: Pipeline = { ready: this.compile(text, layout, name), value: null, layout, users: 0 }
      made.ready.then((p) => { made.value = p }, () => this.known.delete(key))
      this.known.set(key, made)
      found = made
    }
    found.users++
    return found
  }

  /** Storage bindings in order, then the parameters, which have a dynamic offset. */
  private layout(writable: boolean[]): GPUBindGroupLayout {
    const key = writable.map(Number).join('')
    let layout = this.layouts.get(key)
    if (!layout) {
      const entries: GPUBindGroupLayoutEntry[] = writable.map((w, binding) =>
        ({ binding, visibility: 4, buffer: { type: w ? 'storage' : 'read-only-storage' } }))
      entries.push({ binding: writable.length, visibility: 4, buffer: { type: 'uniform', hasDynamicOffset: true } })
      layout = this.device.createBindGroupLayout({ entries })
      this.layouts.set(key, layout)
    }
    return layout
  }

  private async compile(text: string, layout: GPUBindGroupLayout, name: string): Promise<GPUComputePipeline> {
    const { device } = this
    device.pushErrorScope('validation')
    const module = device.createShaderModule({ code: text, label: name })
    const made = device.createComputePipelineAsync({
      label: name,
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module, entryPoint: 'main' },
    })
    // The promise below reports the error. The scope only prevents a message on the console.
    void device.popErrorScope().catch(() => null)
    try {
      return await made
    } catch (error) {
      const { messages } = await module.getCompilationInfo()
      const lines = text.split('\n')
      const found = messages.filter((m) => m.type === 'error')
        .map((m) => `\n${m.lineNum}:${m.linePos}: ${m.message}\n  ${lines[m.lineNum - 1] ?? ''}`)
      throw new Error(`${name}: the kernel was refused: ${found.join('') || (error as Error).message}`)
    }
  }
}

/** A plan whose kernels are compiled or being compiled. */
export class Program {
  readonly pipelines: Pipeline[]
  /** Resolves when all kernels are ready. */
  readonly ready: Promise<unknown>
  isReady = false
  readonly hasHost: boolean
  /** For each command, the checks whose words are final after it. */
  readonly checks = new Map<number, number[]>()
  private prepared = new Map<string, Prepared>()

  constructor(private device: GPUDevice, pipelines: Pipelines, readonly id: number, readonly plan: Plan) {
    if (plan.version !== 1) throw new Error(`program ${id}: plan version ${plan.version}; this executor reads version 1`)
    const strange = plan.buffers.find((b) => !(b.dtype in SIZES))
    if (strange) throw new Error(`program ${id}: this executor does not know the dtype ${strange.dtype}`)
    this.pipelines = plan.modules.map((m, i) => pipelines.use(m.text, m.writable, `program ${id}, kernel ${i}`))
    this.ready = Promise.all(this.pipelines.map((p) => p.ready)).then(() => { this.isReady = true })
    this.ready.catch(() => null)
    this.hasHost = plan.commands.some((c) => 'host' in c)
    plan.checks.forEach((check, i) => {
      const last = plan.commands.findLastIndex((c) => c.step === check.step)
      const at = last < 0 ? plan.commands.length - 1 : last
      this.checks.set(at, [...this.checks.get(at) ?? [], i])
    })
  }

  /** Returns the prepared dispatches for these slots; prepares them with `memory` if they do not exist. */
  prepare(slots: (BufferOffset | null)[], memory: Memory): Prepared {
    const { buffer, retire } = memory
    let key = ''
    for (const s of slots) key += s ? `${s[0]},${s[1]};` : ';'
    const known = this.prepared.get(key)
    if (known) {
      this.prepared.delete(key)
      let fresh = true
      for (const [id, made] of known.made) if (buffer(id) !== made) fresh = false
      if (fresh) {
        this.prepared.set(key, known)
        return known
      }
      if (known.parameters) retire(known.parameters)
    }
    const made = memory.watch(`program ${this.id}`, () => this.make(slots, buffer))
    this.prepared.set(key, made)
    if (this.prepared.size > KEPT) {
      const [oldest, entry] = this.prepared.entries().next().value!
      this.prepared.delete(oldest)
      if (entry.parameters) retire(entry.parameters)
    }
    return made
  }

  private make(slots: (BufferOffset | null)[], buffer: (id: number) => GPUBuffer): Prepared {
    const { device, plan, id } = this
    if (slots.length !== plan.buffers.length) {
      throw new Error(`program ${id}: ${slots.length} slots for ${plan.buffers.length} buffers`)
    }
    const arena = slots.find((s, b) => s && plan.buffers[b]!.place[0] === 'arena')
    const memory = (binding: number): BufferOffset | null | undefined =>
      binding === -1 ? [0, 0] : binding === -2 ? arena : slots[binding]
    const align = device.limits.minUniformBufferOffsetAlignment
    const made = new Map<number, GPUBuffer>()
    // Writes the parameters of all dispatches, then makes one bind group per set of buffers.
    let bytes = 0
    const dispatches = plan.commands.map((command) => {
      if ('host' in command || !command.bindings.every((b) => memory(b))) return null
      const at = bytes
      const size = Math.max(16, Math.ceil(command.parameters.length / 4) * 16)
      bytes = Math.ceil((at + size) / align) * align
      return { command, at, size }
    })
    const parameters = bytes ? device.createBuffer({ size: bytes, usage: 0x40 | 8, mappedAtCreation: true }) : null
    const words = new Uint32Array(parameters?.getMappedRange() ?? new ArrayBuffer(0))
    const groups = new Map<string, GPUBindGroup>()
    const ready = dispatches.map((d, index) => {
      if (!d) return null
      const { command, at, size } = d
      command.parameters.forEach((p, i) => { words[at / 4 + i] = typeof p === 'number' ? p : this.start(p, slots) })
      const ids = command.bindings.map((b) => memory(b)![0])
      const { layout, value } = this.pipelines[command.module]!
      const writable = plan.modules[command.module]!.writable
      const key = `${writable.map(Number).join('')}:${ids.join()}:${size}`
      let group = groups.get(key)
      if (!group) {
        const entries: GPUBindGroupEntry[] = ids.map((b, binding) => {
          made.set(b, buffer(b))
          return { binding, resource: { buffer: buffer(b) } }
        })
        entries.push({ binding: ids.length, resource: { buffer: parameters!, size } })
        group = device.createBindGroup({ layout, entries, label: this.name(index, command) })
        groups.set(key, group)
      }
      const [x, y, z] = command.groups
      return { pipeline: value!, group, offsets: [at], x, y, z }
    })
    parameters?.unmap()
    return { slots, made, ready, parameters, submitted: false }
  }

  /** The index of an element, counted from the start of the memory that holds its buffer. */
  private start([b, plus]: [number, number], slots: (BufferOffset | null)[]): number {
    return Math.floor((slots[b]?.[1] ?? 0) / SIZES[this.plan.buffers[b]!.dtype]) + plus
  }

  /** The name of a command in errors. */
  name(index: number, command: Dispatch | { step: number }): string {
    return `program ${this.id}, command ${index}, step ${command.step}`
  }

  /** Releases the pipelines and parameter buffers of the program. */
  unload(retire: (b: GPUBuffer) => void): void {
    for (const p of this.pipelines) p.users--
    for (const entry of this.prepared.values()) if (entry.parameters) retire(entry.parameters)
    this.prepared.clear()
  }
}
