/** Reads safetensors files without wasm, for bundles. Checks every offset before it is used. */
import { SIZES, type DType } from './plan.js'

const DTYPES: Record<string, DType> = {
  BOOL: 'bool', U8: 'u8', I8: 'i8', I32: 'i32', U32: 'u32', I64: 'i64', F16: 'f16', BF16: 'bf16', F32: 'f32', F64: 'f64',
  C64: 'c64',
}

export interface Stored {
  dtype: DType
  shape: number[]
  bytes: Uint8Array
}

/** The tensors of a file. Throws if the file is malformed. */
export function readSafetensors(file: Uint8Array): Map<string, Stored> {
  const bad = (why: string): never => { throw new Error(`not a safetensors file: ${why}`) }
  if (file.length < 8) bad(`${file.length} bytes`)
  const length = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true))
  if (length > file.length - 8 || length > 100_000_000) bad(`a header of ${length} bytes in a file of ${file.length}`)
  const header: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(file.subarray(8, 8 + length)))
  if (typeof header !== 'object' || header === null || Array.isArray(header)) bad('the header is not an object')
  const data = file.subarray(8 + length)
  const tensors = new Map<string, Stored>()
  for (const [name, entry] of Object.entries(header as Record<string, any>)) {
    if (name === '__metadata__') continue
    const dtype = DTYPES[entry?.dtype] ?? bad(`${name} has the dtype ${entry?.dtype}`)
    const { shape, data_offsets: range } = entry
    const isCount = (n: unknown) => Number.isSafeInteger(n) && (n as number) >= 0
    if (!Array.isArray(shape) || !shape.every(isCount)) bad(`${name} has no valid shape`)
    if (!Array.isArray(range) || range.length !== 2 || !range.every(isCount)) bad(`${name} has no valid offsets`)
    const [from, to] = range as [number, number]
    const bytes = (shape as number[]).reduce((a, b) => a * b, SIZES[dtype])
    if (from > to || to > data.length || to - from !== bytes) bad(`${name} has the bytes ${from} to ${to} of ${data.length}`)
    tensors.set(name, { dtype, shape, bytes: data.subarray(from, to) })
  }
  return tensors
}
