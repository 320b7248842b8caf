/** Conversions between typed arrays and the bytes of tensors (row-major, little endian). */
import type { DType } from './plan.js'

/** Arrays of elements. `f16` and `bf16` are read as `Float32Array`, complex numbers as pairs. */
export type Data = Float32Array | Float64Array | Int32Array | Uint8Array | Int8Array | Uint32Array | BigInt64Array

const KINDS = {
  bool: Uint8Array, u8: Uint8Array, i8: Int8Array, i32: Int32Array, u32: Uint32Array, i64: BigInt64Array,
  f32: Float32Array, f64: Float64Array, c64: Float32Array, c128: Float64Array,
} as const

/** Elements from bytes. The array may share memory with the bytes. */
export function fromBytes(dtype: DType, bytes: Uint8Array): Data {
  if (dtype === 'f16' || dtype === 'bf16') {
    const bits = new Uint16Array(aligned(bytes, 2))
    return Float32Array.from(bits, dtype === 'f16' ? fromHalf : fromBrain)
  }
  const Kind = KINDS[dtype]
  return new Kind(aligned(bytes, Kind.BYTES_PER_ELEMENT))
}

/** Bytes of elements. Numbers are converted to the dtype as `Array.from` and typed arrays do. */
export function toBytes(dtype: DType, values: ArrayLike<number | bigint | boolean>): Uint8Array {
  if (dtype === 'f16' || dtype === 'bf16') {
    const to = dtype === 'f16' ? toHalf : toBrain
    return bytesOfView(Uint16Array.from(values as ArrayLike<number>, (v) => to(Number(v))))
  }
  const Kind = KINDS[dtype]
  if (values instanceof Kind) return bytesOfView(values)
  if (dtype === 'i64') return bytesOfView(BigInt64Array.from(values as ArrayLike<bigint>, (v) => BigInt(v)))
  if (dtype === 'bool') return Uint8Array.from(values as ArrayLike<number>, (v) => Number(Boolean(v)))
  return bytesOfView((Kind as typeof Float32Array).from(values as ArrayLike<number>, Number))
}

/** The dtype that a typed array holds by default. */
export function dtypeOf(values: ArrayBufferView): DType {
  for (const dtype of ['f32', 'f64', 'i32', 'u8', 'i8', 'u32', 'i64'] as const) {
    if (values instanceof KINDS[dtype]) return dtype
  }
  if (values instanceof Uint8ClampedArray) return 'u8'
  throw new TypeError(`${values.constructor.name} has no dtype here; convert it to Float32Array or Int32Array`)
}

function bytesOfView(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
}

function aligned(bytes: Uint8Array, size: number): ArrayBuffer {
  const isExact = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength && bytes.byteLength % size === 0
  return (isExact ? bytes.buffer : bytes.slice().buffer) as ArrayBuffer
}

const word = new Uint32Array(1)
const float = new Float32Array(word.buffer)

function bitsOf(value: number): number {
  float[0] = value
  return word[0]!
}

function fromBrain(bits: number): number {
  word[0] = bits << 16
  return float[0]!
}

function toBrain(value: number): number {
  const bits = bitsOf(value)
  if (Number.isNaN(value)) return 0x7fc0
  // Round to nearest, ties to even.
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16
}

function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1023
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction ? NaN : sign * Infinity
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

function toHalf(value: number): number {
  if (Number.isNaN(value)) return 0x7e00
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  const size = Math.abs(value)
  if (size >= 65520) return sign | 0x7c00
  // Subnormal numbers count in units of 2^-24, others in units of their last bit.
  const exponent = Math.max(-14, Math.floor(Math.log2(size)))
  const steps = roundEven(size / 2 ** (exponent - 10))
  const bits = size < 2 ** -14 ? roundEven(size * 2 ** 24) : steps + ((exponent + 14) << 10)
  return sign | bits
}

function roundEven(x: number): number {
  const below = Math.floor(x)
  const rest = x - below
  return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below
}
