/** Inputs that are declared by name, shape and dtype, and fed by name with arrays. */
import { toBytes } from './arrays.js'
import { ShapeError, ValueError } from './errors.js'
import { runtime, type Info } from './module.js'
import type { DType } from './plan.js'
import type { Tensor } from './tensor.js'

/** Extents; at most one may be `null`: it is computed from the length of the array. */
export type InputShape = readonly (number | null)[]
/** The declaration of an input: a shape of `f32` elements, or a shape with a dtype. */
export type InputDecl = InputShape | { readonly shape: InputShape, readonly dtype: DType }
export type InputDecls = Readonly<Record<string, InputDecl>>
export type InputTensors<I extends InputDecls> = { [K in keyof I]: Tensor }
/** Arrays of numbers by name. Typed arrays of the declared dtype are the fastest. */
export type InputArrays<I extends InputDecls> = { readonly [K in keyof I]: ArrayLike<number | bigint | boolean> }

export interface Field {
  name: string
  shape: InputShape
  dtype: DType
}

/** A field with all extents known. */
export interface Resolved {
  shape: number[]
  dtype: DType
}

/** The declared inputs, in order. */
export function fieldsOf(inputs: InputDecls): Field[] {
  return Object.entries(inputs).map(([name, decl]) => {
    const { shape, dtype } = 'shape' in decl ? decl : { shape: decl, dtype: 'f32' as const }
    if (shape.filter((n) => n === null).length > 1) {
      throw new ShapeError(`the input ${name} has several unknown extents ([${shape.map(String)}]); at most one may be null`, 'shape')
    }
    return { name, shape, dtype }
  })
}

/** Types of fields whose extents are all known; `null` if some are not. */
export function fixedTypes(fields: Field[]): Resolved[] | null {
  const all = fields.map(({ shape, dtype }) => ({ shape: shape as number[], dtype }))
  return fields.every((f) => f.shape.every((n) => n !== null)) ? all : null
}

/** Uploads arrays for fields. Returns the numbers of the new tensors, which the caller frees, and their types. */
export function feed(fields: Field[], arrays: Record<string, ArrayLike<number | bigint | boolean>>): { ids: number[], types: Resolved[] } {
  const session = runtime()
  for (const name of Object.keys(arrays)) {
    if (!fields.some((f) => f.name === name)) throw new ValueError(`there is no input ${name}; the inputs are ${fields.map((f) => f.name).join(', ')}`)
  }
  const types = fields.map((field) => resolve(field, arrays[field.name]))
  const ids = fields.map(({ name, dtype }, i) => {
    const data = session.give(toBytes(dtype, arrays[name]!))
    return (session.call('tensor', { shape: types[i]!.shape, dtype, data, device: session.device }) as Info).id
  })
  return { ids, types }
}

function resolve({ name, shape, dtype }: Field, array: ArrayLike<unknown> | undefined): Resolved {
  const declared = `${name}: ${dtype}[${shape.map((n) => n ?? 'null').join(', ')}]`
  if (!array || typeof array.length !== 'number') throw new ValueError(`the input ${declared} is missing`)
  const known = shape.reduce<number>((a, n) => a * (n ?? 1), dtype === 'c64' || dtype === 'c128' ? 2 : 1)
  const rest = array.length / known
  const fits = shape.includes(null) ? Number.isInteger(rest) : rest === 1 || array.length === known
  if (!fits) throw new ShapeError(`the input ${declared} cannot have ${array.length} elements`, 'shape')
  return { shape: shape.map((n) => n ?? rest), dtype }
}
