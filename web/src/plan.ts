/** Types of plans and commands, as described by crates/web/PROTOCOL.md. Used by the executor, bundles and the wasm module. */

export type DType = 'bool' | 'u8' | 'i8' | 'i32' | 'u32' | 'i64' | 'f16' | 'bf16' | 'f32' | 'f64' | 'c64' | 'c128'

/** Bytes of one element. */
export const SIZES: Record<DType, number> =
  { bool: 1, u8: 1, i8: 1, i32: 4, u32: 4, i64: 8, f16: 2, bf16: 2, f32: 4, f64: 8, c64: 8, c128: 16 }

export interface Kernel {
  text: string
  /** Per storage binding, whether the kernel writes to it. */
  writable: boolean[]
  group: number[]
}

export interface PlanBuffer {
  dtype: DType
  numel: number
  place: ['input' | 'output' | 'arena' | 'constant', number]
}

export interface Dispatch {
  module: number
  /** `-1` is the heap, `-2` the arena, otherwise the number of a buffer of the plan. */
  bindings: number[]
  /** Words, or `[buffer, plus]`: the index of an element in the memory that holds the buffer. */
  parameters: (number | [number, number])[]
  groups: [number, number, number]
  step: number
}

/** A step without a kernel. `host` is the reason. */
export interface HostStep {
  host: string
  reads: number[]
  writes: number[]
  step: number
}

export interface Check {
  word: number
  index: number
  extent: number
  step: number
}

export interface Plan {
  version: number
  modules: Kernel[]
  buffers: PlanBuffer[]
  commands: (Dispatch | HostStep)[]
  inputs: number[]
  outputs: number[]
  donors: (number | null)[]
  arena: number
  checks: Check[]
  limits?: Partial<Limits>
}

/** Limits of the adapter for which kernels are generated. */
export interface Limits {
  group: number
  shared: number
  bindings: number
  binding: number
  groups: number
}

/** A buffer and an offset in bytes. */
export type BufferOffset = [id: number, offset: number]

export type Command =
  | { c: 'buffer' | 'grow', id: number, bytes: number }
  | { c: 'drop', id: number }
  | { c: 'write', to: BufferOffset, at: number, bytes: number }
  | { c: 'copy', from: BufferOffset, to: BufferOffset, bytes: number }
  | { c: 'load', program: number, plan: Plan }
  | { c: 'unload', program: number }
  | { c: 'run', program: number, slots: (BufferOffset | null)[] }

/** Bytes of a buffer of a plan. */
export function bytesOf(buffer: PlanBuffer): number {
  return buffer.numel * SIZES[buffer.dtype]
}

/** Rounds up to a multiple of 4, which copies require. */
export function padded(bytes: number): number {
  return (bytes + 3) & ~3
}
