/** Calls ops of the module: encodes arguments, makes tensors from results, and records ops while `recording` is set. */
import { runtime, type DeviceName, type Info } from './module.js'
import { Tensor } from './tensor.js'

export type Reduction = 'mean' | 'sum' | 'none'

/** An op that was called while `recording`. */
export interface Recorded {
  name: string
  inputs: Tensor[]
  outputs: Tensor[]
  stack: string
}

let records: Recorded[] | null = null

/** Runs a function and lists the ops that it calls. */
export function recording(f: () => unknown): Recorded[] {
  const outer = records
  const mine: Recorded[] = records = []
  try {
    f()
  } finally {
    records = outer
  }
  return mine
}

/** The results of an op. */
export function applyAll(name: string, args: unknown[]): Tensor[] {
  while (args.length && args[args.length - 1] === undefined) args.pop()
  const outputs = (runtime().call('op', { name, args: args.map(encode) }) as Info[]).map((info) => Tensor.of(info))
  if (records) {
    const inputs = args.flat().filter((a): a is Tensor => a instanceof Tensor)
    records.push({ name, inputs, outputs, stack: new Error().stack ?? '' })
  }
  return outputs
}

/** The result of an op with one result. */
export function apply(name: string, args: unknown[]): Tensor {
  return applyAll(name, args)[0]!
}

/** The device on which new tensors are created. */
export function defaultDevice(): DeviceName {
  return runtime().device
}

function encode(value: unknown): unknown {
  if (value instanceof Tensor) return { t: value.id }
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value === 'bigint') return Number(value)
  if (value === undefined || value === null) return null
  if (Array.isArray(value)) return value.map(encode)
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<number>, encode)
  if (typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, encode(v)]))
  return value
}
