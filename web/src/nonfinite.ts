/** Finds the op that made a NaN or an infinity, by running a loss again op by op. */
import { recording } from './apply.js'
import { callerLine } from './errors.js'
import { feed, type Field } from './inputs.js'
import { runtime } from './module.js'
import type { Module } from './nn.js'
import { Tensor, tidy } from './tensor.js'

/** The operation whose result is not finite, and the caller's line. */
export interface Blame {
  text: string
  line?: string
}

/** Describes the op whose result is not finite; the text is empty if all values are finite in this run. */
export async function findNonFinite(
  model: Module,
  loss: (inputs: Record<string, Tensor>) => Tensor,
  fields: Field[],
  arrays: Record<string, ArrayLike<number | bigint | boolean>>,
): Promise<Blame> {
  for (const [name, p] of model.parameters()) {
    if (!(await isFinite(p))) return { text: `the parameter ${name} is not finite` }
  }
  const { ids, types } = feed(fields, arrays)
  const inputs = fields.map((_, i) => Tensor.of({ id: ids[i]!, ...types[i]!, device: runtime().device }))
  for (const [i, t] of inputs.entries()) {
    if (!(await isFinite(t))) return { text: `the input ${fields[i]!.name} is not finite` }
  }
  const ops = recording(() => loss(Object.fromEntries(fields.map((f, i) => [f.name, inputs[i]!]))))
  const bad = new Set<Tensor>()
  try {
    for (const op of ops) {
      // Values that depend on an infinity that the caller wrote, as in a mask, are not reported.
      for (const out of op.outputs) if (!(await isFinite(out))) bad.add(out)
      const isSource = op.outputs.some((t) => bad.has(t)) && !op.inputs.some((t) => bad.has(t))
      if (isSource && (await isFault(op.outputs, op.name))) {
        const of = op.inputs.map((t) => `${t.dtype}[${t.shape}]`).join(', ')
        return { text: `${op.name}(${of}) produced it`, line: callerLine(op.stack) }
      }
    }
  } finally {
    for (const op of ops) op.outputs.forEach((t) => t.dispose())
    inputs.forEach((t) => t.dispose())
  }
  const first = ops.find((op) => op.outputs.some((t) => bad.has(t)))
  return { text: first ? `${first.name} produced it` : '' }
}

async function isFinite(t: Tensor): Promise<boolean> {
  if (!/^f|^bf|^c/.test(t.dtype)) return true
  return (await tidy(() => t.isFinite().all()).item()) !== 0
}

/** Returns true if results that are not finite are to be reported. Infinities that an op may write on purpose are not; NaN is. */
async function isFault(outputs: Tensor[], name: string): Promise<boolean> {
  if (!/maskedFill|full|where/.test(name)) return true
  for (const t of outputs) if ((await tidy(() => t.isNan().any()).item()) !== 0) return true
  return false
}
