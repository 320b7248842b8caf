/**
 * Writes src/ops.generated.ts from the catalog of the wasm module: a method and a function per op.
 * Usage: node scripts/generate.mjs [file.wasm | catalog.json]; `--check` writes nothing and reports whether the file is up to date.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const target = join(root, 'src/ops.generated.ts')
const source = process.argv.slice(2).find((a) => !a.startsWith('-')) ?? join(root, 'dist/gradus.wasm')

/** Ops that return several tensors although the catalog does not state it: their number, or `list`. */
const RESULTS = { sort: 2, topk: 2, qr: 2, svd: 3, eigh: 2, split: 'list', chunk: 'list', unbind: 'list' }
/** Names that a JavaScript module cannot export. */
const RESERVED = new Set(['in', 'if', 'do', 'for', 'new', 'void', 'with', 'delete', 'typeof', 'default', 'function'])

async function catalog() {
  if (source.endsWith('.json')) return JSON.parse(readFileSync(source, 'utf8'))
  const nothing = () => 0
  const page = { post: nothing, callback: nothing, panic: nothing, now: nothing }
  const { instance } = await WebAssembly.instantiate(readFileSync(source), { page })
  const { memory, gradus_alloc, gradus_call } = instance.exports
  const text = new TextEncoder().encode('{"do":"catalog"}')
  const at = gradus_alloc(text.length)
  new Uint8Array(memory.buffer, at, text.length).set(text)
  const record = gradus_call(at, text.length)
  const length = new DataView(memory.buffer).getUint32(record, true)
  const answer = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, record + 4, length)))
  if (answer.error) throw new Error(answer.error.message)
  return answer.ok
}

const camel = (name) => name.replace(/_+([a-z0-9])/g, (_, c) => c.toUpperCase())

/** Names of the arguments in a TypeScript list, split at commas outside of brackets. */
function names(list) {
  let depth = 0
  const parts = ['']
  for (const c of list) {
    if ('[{(<'.includes(c)) depth++
    if (']})>'.includes(c)) depth--
    if (c === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += c
  }
  return parts.map((p) => p.trim().split(/[?:]/)[0]).filter(Boolean)
}

/** The class members and functions of the ops. */
function render(ops) {
  const known = new Map(ops.map((op) => [camel(op.name), op]))
  const methods = []
  const functions = []
  for (const [name, op] of [...known].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!/^[a-zA-Z][a-zA-Z0-9]*$/.test(name)) throw new Error(`the op ${op.name} has no name in TypeScript`)
    const results = op.results ?? RESULTS[op.name] ?? 1
    const type = results === 1 ? 'Tensor' : results === 'list' ? 'Tensor[]' : `[${Array(results).fill('Tensor').join(', ')}]`
    const call = results === 1 ? 'apply' : 'applyAll'
    const cast = results === 1 || results === 'list' ? '' : ` as ${type}`
    const doc = op.doc.trim().replace(/\s*\n\s*/g, ' ').replaceAll('*/', '* /')
    const passed = names(op.arguments).map((n) => (n === 'device' ? 'device ?? defaultDevice()' : n))
    const all = (first) => `[${[...(op.method ? [first] : []), ...passed].join(', ')}]`
    if (op.method) {
      methods.push(`  /** ${doc} */ ${name}(${op.arguments}): ${type} { return ${call}('${op.name}', ${all('this')})${cast} }`)
    }
    const self = op.method ? `x: ${/^other: Tensor \| number/.test(op.arguments) ? 'Tensor | number' : 'Tensor'}` : ''
    const list = [self, op.arguments].filter(Boolean).join(', ')
    if (!RESERVED.has(name)) {
      functions.push(`/** ${doc} */ export function ${name}(${list}): ${type} { return ${call}('${op.name}', ${all('x')})${cast} }`)
    }
  }
  return `/** Written by scripts/generate.mjs from the catalog of the wasm module. Do not edit. */
import { apply, applyAll, defaultDevice, type Reduction } from './apply.js'
import type { DeviceName } from './module.js'
import type { DType } from './plan.js'
import type { Tensor } from './tensor.js'

/** Ops as methods of a tensor. */
export abstract class TensorOps {
${methods.join('\n')}
}

${functions.join('\n')}
`
}

const text = render(await catalog())
if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) throw new Error('src/ops.generated.ts does not match the catalog; run npm run generate')
} else {
  writeFileSync(target, text)
}
