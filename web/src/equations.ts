/** Programs of equations: checking, formatting, gradients, drawings and values. */
import { fromBytes, type Data } from './arrays.js'
import { runtime, type DeviceName, type Info } from './module.js'
import type { DType } from './plan.js'
import { tensor, Tensor, tidy, type Nested } from './tensor.js'

/** A message about a position in the source. Lines and columns count from 1. */
export interface Diagnostic {
  severity: 'error' | 'warning'
  message: string
  help: string | null
  line: number
  column: number
  endLine: number
  endColumn: number
}

export interface Checked {
  diagnostics: Diagnostic[]
  /** All messages with source lines and carets, as the command prints them. */
  text: string
  inputs: { name: string, axes: string[] }[]
  outputs: string[]
}

/** Values of inputs by name. */
export type ProgramInputs = Record<string, Tensor | Nested | ArrayBufferView>

export interface Value {
  axes: string[]
  data: Data
  shape: readonly number[]
  dtype: DType
}

type Answer = { name: string, axes: string[], tensor: Info }[]

/** Returns errors, inputs and outputs of a program. Does not throw for errors in the source. */
export function check(source: string): Checked {
  return runtime().call('program.check', { source }) as Checked
}

/** Formats the source. Throws a ProgramError if it cannot be parsed. */
export function format(source: string): string {
  return runtime().call('program.format', { source }) as string
}

/** The gradient program, as equations. `of` is the loss, `wrt` lists the names to differentiate with respect to. */
export function gradient(source: string, options: { of?: string, wrt?: string[] } = {}): string {
  return runtime().call('program.gradient', { source, of: options.of ?? null, wrt: options.wrt ?? [] }) as string
}

/** A drawing of the graph, as SVG text. */
export function draw(source: string, inputs: ProgramInputs = {}): string {
  return tidy(() => runtime().call('program.draw', { source, inputs: named(inputs) }) as string)
}

/** Runs a program on the CPU; returns its outputs, or those that `outputs` lists. Inputs on the GPU are read back first. */
export async function run(source: string, inputs: ProgramInputs = {}, outputs?: string[]): Promise<Record<string, Value>> {
  const session = runtime()
  const onCpu = await Promise.all(Object.entries(inputs).map(async ([name, value]) =>
    [name, value instanceof Tensor && value.device !== 'cpu' ? await value.cpu() : value] as const))
  try {
    const answer = tidy(() => session.call('program.run', { source, inputs: named(Object.fromEntries(onCpu), 'cpu'), outputs: outputs ?? [] }) as Answer)
    return await valuesOf(answer)
  } finally {
    for (const [name, t] of onCpu) if (t !== inputs[name]) (t as Tensor).dispose()
  }
}

/** Reads the outputs of a program and frees them. */
async function valuesOf(answer: Answer): Promise<Record<string, Value>> {
  const session = runtime()
  const bytes = await session.readAll(answer.map((a) => a.tensor.id))
  answer.forEach((a) => session.free(a.tensor.id))
  return Object.fromEntries(answer.map(({ name, axes, tensor: { shape, dtype } }, i) =>
    [name, { axes, shape, dtype: dtype as DType, data: fromBytes(dtype as DType, bytes[i]!) }]))
}

/** As `run`, but on tensors, also inside traced functions, so that programs can be trained. */
export function apply(source: string, inputs: ProgramInputs = {}, outputs?: string[]): Record<string, Tensor> {
  const answer = runtime().call('program.apply', { source, inputs: named(inputs), outputs: outputs ?? [] }) as Answer
  return Object.fromEntries(answer.map(({ name, tensor: info }) => [name, Tensor.of(info)]))
}

function named(inputs: ProgramInputs, device?: DeviceName): { name: string, id: number }[] {
  return Object.entries(inputs).map(([name, value]) => ({ name, id: (value instanceof Tensor ? value : tensor(value, { device })).id }))
}
