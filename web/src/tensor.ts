/** Tensors: handles of values in the module. Their ops are in `ops.generated.ts`, which is generated from the module's catalog. */
import { fromBytes, toBytes, dtypeOf, type Data } from './arrays.js'
import { ShapeError, ValueError } from './errors.js'
import { runtime, type DeviceName, type Info, type Runtime } from './module.js'
import { TensorOps } from './ops.generated.js'
import type { DType } from './plan.js'

export type { DType }

/** Nested arrays of numbers or booleans. */
export type Nested = number | boolean | Nested[]

export interface TensorOptions {
  shape?: number[]
  dtype?: DType
  device?: DeviceName
}

/** Tensors made inside of `tidy` or of a traced function, innermost last. */
const scopes: Set<Tensor>[] = []

export class Tensor extends TensorOps {
  readonly shape: readonly number[]
  readonly dtype: DType
  readonly device: DeviceName
  protected handle: number
  protected owner: Runtime | null

  /** Internal: use `tensor(...)` or an op. */
  protected constructor(info: Info, owner: Runtime | null) {
    super()
    this.shape = info.shape
    this.dtype = info.dtype as DType
    this.device = info.device as DeviceName
    this.handle = info.id
    this.owner = owner
    owner?.watch(this, info.id)
    scopes.at(-1)?.add(this)
  }

  /** @internal The tensor of an answer. */
  static of(info: Info): Tensor {
    return new Tensor(info, runtime())
  }

  /** @internal The number of the tensor in the module. */
  get id(): number {
    if (this.handle < 0) throw new ValueError('this tensor was disposed of')
    if (this.owner !== runtime()) throw new ValueError('this tensor belongs to an earlier session; `init` was called since')
    return this.handle
  }

  get rank(): number {
    return this.shape.length
  }

  /** The number of elements. */
  get size(): number {
    return this.shape.reduce((a, b) => a * b, 1)
  }

  /** The elements in row-major order. */
  async data(): Promise<Data> {
    return fromBytes(this.dtype, await runtime().read(this.id))
  }

  /** The elements as nested arrays; 64-bit integers as numbers. */
  async array(): Promise<Nested> {
    const data = await this.data()
    const isBool = this.dtype === 'bool'
    const nest = (axis: number, at: number, stride: number): Nested => {
      if (axis === this.rank) return isBool ? Boolean(data[at]) : Number(data[at])
      const n = this.shape[axis]!
      return Array.from({ length: n }, (_, i) => nest(axis + 1, at + (i * stride) / n, stride / n))
    }
    return nest(0, 0, this.size)
  }

  /** The element of a tensor with one element. */
  async item(): Promise<number> {
    if (this.size !== 1) throw new ShapeError(`item() needs one element; this tensor has the shape [${this.shape}]`, 'shape')
    return Number((await this.data())[0])
  }

  /** This tensor on another device. To move from the GPU to the CPU use `await tensor.cpu()`, because elements must be read. */
  to(device: DeviceName): Tensor {
    return device === this.device ? this : Tensor.of(runtime().call('to', { id: this.id, device }) as Info)
  }

  /** A copy on the CPU. */
  async cpu(): Promise<Tensor> {
    if (this.device === 'cpu') return this
    return fromRaw(await runtime().read(this.id), [...this.shape], this.dtype, 'cpu')
  }

  /** Frees the memory now, instead of when this object is garbage-collected. */
  dispose(): void {
    if (this.handle < 0) return
    this.owner?.free(this.handle, this)
    this.handle = -1
  }

  override toString(): string {
    return `Tensor(${this.dtype}[${this.shape}], ${this.device})`
  }
}

/** @internal A tensor of bytes. */
export function fromRaw(bytes: Uint8Array, shape: readonly number[], dtype: DType, device: DeviceName = runtime().device): Tensor {
  const session = runtime()
  return Tensor.of(session.call('tensor', { shape, dtype, data: session.give(bytes), device }) as Info)
}

/** Makes a tensor from a number, nested arrays or a typed array. Numbers become `f32` and booleans `bool`; typed arrays keep their type. */
export function tensor(values: Nested | ArrayBufferView, options: TensorOptions = {}): Tensor {
  let flat: ArrayLike<number | boolean>
  let shape: number[]
  let dtype: DType
  if (ArrayBuffer.isView(values)) {
    flat = values as unknown as ArrayLike<number>
    shape = [flat.length]
    dtype = dtypeOf(values)
  } else {
    shape = shapeOf(values)
    flat = flatten(values)
    const size = shape.reduce((a, b) => a * b, 1)
    if (flat.length !== size) throw new ShapeError(`nested arrays of unequal lengths: ${flat.length} elements for [${shape}]`, 'shape')
    dtype = flat.length && typeof flat[0] === 'boolean' ? 'bool' : 'f32'
  }
  shape = options.shape ?? shape
  dtype = options.dtype ?? dtype
  const complex = dtype === 'c64' || dtype === 'c128' ? 2 : 1
  if (shape.reduce((a, b) => a * b, complex) !== flat.length) {
    throw new ShapeError(`${flat.length} elements do not fit the shape [${shape}]`, 'shape')
  }
  return fromRaw(toBytes(dtype, flat), shape, dtype, options.device)
}

function flatten(values: Nested): (number | boolean)[] {
  return Array.isArray(values) ? values.flatMap(flatten) : [values]
}

function shapeOf(values: Nested): number[] {
  return Array.isArray(values) ? [values.length, ...(values.length ? shapeOf(values[0]!) : [])] : []
}

/** Runs a function and disposes of all tensors that it made, except those in its result. */
export function tidy<T>(f: () => T): T {
  const scope = new Set<Tensor>()
  scopes.push(scope)
  let result: T
  try {
    result = f()
  } catch (e) {
    scopes.pop()
    for (const t of scope) t.dispose()
    throw e
  }
  scopes.pop()
  for (const t of tensorsIn(result)) {
    if (scope.delete(t)) scopes.at(-1)?.add(t)
  }
  for (const t of scope) t.dispose()
  return result
}

/** @internal Keeps a tensor when the open scopes end. */
export function keepAlive(t: Tensor): void {
  for (const scope of scopes) scope.delete(t)
}

function* tensorsIn(value: unknown): Generator<Tensor> {
  if (value instanceof Tensor) yield value
  else if (Array.isArray(value)) for (const v of value) yield* tensorsIn(v)
  else if (value && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
    for (const v of Object.values(value)) yield* tensorsIn(v)
  }
}
