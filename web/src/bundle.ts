/**
 * Runs exported bundles: programs, cells and weights, without wasm. BUNDLE.md describes the files.
 * Takes inputs by name and returns outputs by name; cells (parameters, optimiser state) stay on the device.
 */
import { Executor, openGpu, type Host } from './executor.js'
import { bytesOf, type DType, type BufferOffset, type Plan } from './plan.js'
import { readSafetensors, type Stored } from './safetensors-reader.js'
import { fromBytes, toBytes, type Data } from './arrays.js'

/** Tensors of at most this many bytes are in the heap, as kernels expect. */
const SMALL = 4 << 20

export interface Field {
  name: string
  shape: number[]
  dtype: DType
}

/** An input of a plan: fed by name, a cell, or a row of a table of numbers, one per run. */
export type Source = ({ from: 'input' } & Field) | { from: 'cell', name: string } | { from: 'table', name: string }
/** An output of a plan: returned by name, or the new value of a cell. */
export type Sink = ({ to: 'output' } & Field) | { to: 'cell', name: string }

export interface BundleProgram {
  plan: Plan
  inputs: Source[]
  outputs: Sink[]
  /** For each constant, the name of its tensor in the weights file. */
  constants: string[]
}

export interface Manifest {
  gradus: 1
  name: string
  /** Strings for the page, such as the characters of a language model's tokens. */
  notes?: Record<string, string>
  /** Cells and the tensors of the weights file that are their initial values. */
  cells: Record<string, string>
  programs: Record<string, BundleProgram>
}

interface Loaded extends BundleProgram {
  id: number
  slots: (BufferOffset | null)[]
  runs: number
}

const host: Host = {
  host: () => { throw new Error('a step of this bundle needs the CPU, and bundles have no wasm') },
  fault: (program, check, position) => `index ${position} is out of range (program ${program}, check ${check})`,
}

export type Inputs = Record<string, ArrayLike<number | bigint | boolean>>
export type Outputs = Record<string, { data: Data, shape: number[], dtype: DType }>

export class Bundle {
  private programs = new Map<string, Loaded>()
  private cells = new Map<string, BufferOffset>()
  private heap = 0
  private heapSize = 1 << 20
  private buffers = 0

  /** Internal: use `load`. */
  constructor(readonly manifest: Manifest, private weights: Map<string, Stored>, readonly executor: Executor) {
    const arena = Math.max(16, ...Object.values(manifest.programs).map((p) => p.plan.arena))
    const temporaries = this.createBuffer(arena)
    Object.entries(manifest.programs).forEach(([name, program], id) => this.prepare(name, program, id, temporaries))
  }

  /** Names of the programs. */
  get names(): string[] {
    return [...this.programs.keys()]
  }

  /** Runs the program `step`: one step of training. */
  step(inputs: Inputs = {}): Promise<Outputs> {
    return this.run(inputs, 'step')
  }

  /** Runs a program, by default the one called `run`, else the first. */
  async run(inputs: Inputs = {}, name = this.programs.has('run') ? 'run' : this.names[0]!): Promise<Outputs> {
    const program = this.programs.get(name)
    if (!program) throw new Error(`this bundle has no program ${name}, but ${this.names.join(', ')}`)
    const { executor } = this
    const { plan } = program
    const slots = program.slots.slice()
    const writes: [BufferOffset, Uint8Array][] = []
    program.inputs.forEach((source, i) => {
      const b = plan.inputs[i]!
      if (source.from === 'cell') slots[b] = this.cells.get(source.name)!
      else if (slots[b]) writes.push([slots[b]!, source.from === 'input' ? this.inputBytes(source, inputs) : this.row(source.name, program)])
    })
    const unknown = Object.keys(inputs).find((n) => !program.inputs.some((s) => s.from === 'input' && s.name === n))
    if (unknown) throw new Error(`${name} has no input ${unknown}`)
    plan.donors.forEach((donor, k) => { if (donor !== null) slots[plan.outputs[k]!] = slots[plan.inputs[donor]!]! })
    for (const [to, bytes] of writes) executor.write(to, bytes)
    executor.post([{ c: 'run', program: program.id, slots }], () => new Uint8Array())
    program.runs++
    const ranges: [BufferOffset, number][] = []
    program.outputs.forEach((sink, k) => {
      const b = plan.outputs[k]!
      if (sink.to === 'cell') {
        // The next output reuses the memory of the old value, unless the run wrote in place.
        const old = this.cells.get(sink.name)!
        if (plan.donors[k] === null) program.slots[b] = old
        if (slots[b]) this.cells.set(sink.name, slots[b]!)
      } else ranges.push([slots[b] ?? [0, 0], bytesOf(plan.buffers[b]!)])
    })
    const bytes = await executor.readAll(ranges)
    const outputs: Outputs = {}
    program.outputs.filter((sink) => sink.to === 'output').forEach(({ name, shape, dtype }, k) => {
      outputs[name] = { data: fromBytes(dtype, bytes[k]!), shape, dtype }
    })
    return outputs
  }

  /** The value of a cell. */
  async cell(name: string): Promise<Data> {
    const stored = this.weights.get(this.manifest.cells[name] ?? '')
    const location = this.cells.get(name)
    if (!stored || !location) throw new Error(`this bundle has no cell ${name}`)
    return fromBytes(stored.dtype, await this.executor.read(location, stored.bytes.length))
  }

  /** Frees the device. */
  dispose(): void {
    this.executor.destroy()
  }

  private prepare(name: string, program: BundleProgram, id: number, arena: number): void {
    const { plan } = program
    const slots = plan.buffers.map((buffer): BufferOffset | null => {
      const [kind, number] = buffer.place
      if (kind === 'arena') return [arena, number]
      if (!buffer.numel) return null
      return kind === 'constant' ? this.upload(program.constants[number] ?? '') : this.allocate(bytesOf(buffer))
    })
    program.inputs.forEach((source) => {
      if (source.from === 'cell' && !this.cells.has(source.name)) {
        this.cells.set(source.name, this.upload(this.manifest.cells[source.name] ?? ''))
      }
    })
    this.executor.post([{ c: 'load', program: id, plan }], () => new Uint8Array())
    this.programs.set(name, { ...program, id, slots, runs: 0 })
  }

  private inputBytes({ name, shape, dtype }: Field, inputs: Inputs): Uint8Array {
    const values = inputs[name]
    if (!values) throw new Error(`the input ${name} (${dtype}[${shape}]) is missing`)
    const numel = shape.reduce((a, b) => a * b, dtype === 'c64' || dtype === 'c128' ? 2 : 1)
    if (values.length !== numel) throw new Error(`the input ${name} (${dtype}[${shape}]) has ${values.length} elements, not ${numel}`)
    return toBytes(dtype, values)
  }

  /** The row of a table for this run; the last row applies to all later runs. */
  private row(name: string, program: Loaded): Uint8Array {
    const table = this.stored(name)
    const rows = table.shape[0] || 1
    const size = table.bytes.length / rows
    const at = Math.min(program.runs, rows - 1) * size
    return table.bytes.slice(at, at + size)
  }

  private stored(name: string): Stored {
    const found = this.weights.get(name)
    if (!found) throw new Error(`the weights file has no tensor ${name}`)
    return found
  }

  private upload(name: string): BufferOffset {
    const { bytes } = this.stored(name)
    const location = this.allocate(bytes.length)
    this.executor.write(location, bytes)
    return location
  }

  private allocate(bytes: number): BufferOffset {
    if (bytes > SMALL) return [this.createBuffer(bytes), 0]
    const at = this.heap
    this.heap += Math.ceil(Math.max(bytes, 1) / 256) * 256
    if (this.heap > this.heapSize) {
      while (this.heapSize < this.heap) this.heapSize *= 2
      this.executor.post([{ c: 'grow', id: 0, bytes: this.heapSize }], () => new Uint8Array())
    }
    return [0, at]
  }

  private createBuffer(bytes: number): number {
    const id = ++this.buffers
    this.executor.post([{ c: 'buffer', id, bytes }], () => new Uint8Array())
    return id
  }
}

/** Loads a bundle from a folder's address, or from its two files. */
export async function load(
  source: string | URL | { plan: string | Manifest, weights: Uint8Array },
  options: { executor?: Executor } = {},
): Promise<Bundle> {
  let files: { plan: string | Manifest, weights: Uint8Array }
  if (typeof source === 'string' || source instanceof URL) {
    const base = new URL(`${source}`.replace(/\/?$/, '/'), globalThis.location?.href)
    const get = async (name: string) => {
      const answer = await fetch(new URL(name, base))
      if (!answer.ok) throw new Error(`cannot load ${name}: ${answer.status}`)
      return new Uint8Array(await answer.arrayBuffer())
    }
    const [plan, weights] = await Promise.all([get('plan.json'), get('weights.safetensors')])
    files = { plan: new TextDecoder().decode(plan), weights }
  } else files = source
  const manifest = (typeof files.plan === 'string' ? JSON.parse(files.plan) : files.plan) as Manifest
  if (manifest?.gradus !== 1) throw new Error('not a bundle of version 1')
  const weights = readSafetensors(files.weights)
  return new Bundle(manifest, weights, options.executor ?? new Executor(await openGpu(), host))
}
