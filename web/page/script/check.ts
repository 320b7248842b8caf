/** Checks a TypeScript program while it is written: syntax, imports, names and exports, with carets as for equations. Loaded on demand. */
import type { equations } from 'gradus'
import { children, references, strip, type Node, type Problem } from './strip.js'
import { rendered } from './report.js'

export interface Checked extends equations.Checked {
  /** JavaScript in which every character keeps its position; empty if there are errors. */
  code: string
  /** Names that the program exports. */
  exports: string[]
  /** Positions of the package's name in the code, with its quotes. */
  imports: [from: number, to: number][]
}

/** Names of the package, and of the members of its namespaces. */
export interface Known {
  names: string[]
  members: Record<string, string[]>
}

/** Exports that training requires. */
export const NEEDED = ['model', 'loss', 'inputs', 'optimizer', 'batch']
/** Globals of a page that a worker does not have. */
const PAGE_ONLY = new Set(['document', 'window', 'localStorage', 'sessionStorage', 'alert', 'prompt', 'confirm', 'requestIdleCallback'])

type Found = Problem & { severity: 'error' | 'warning' }

export function check(source: string, known: Known): Checked {
  const { tree, code, problems } = strip(source)
  const found: Found[] = problems.map((p) => ({ ...p, severity: 'error' }))
  const exports = tree ? exportsOf(tree) : []
  if (tree) {
    const imported = new Map<string, string>()
    checkImports(tree, known, imported, found)
    checkNames(tree, known, imported, found)
    if (!found.length) checkExports(source, tree, exports, found)
  }
  found.sort((a, b) => a.from - b.from)
  const diagnostics = found.map(({ from, to, message, help, severity }) => {
    const [line, column] = positionOf(source, from)
    const [endLine, endColumn] = positionOf(source, Math.max(to, from + 1))
    return { severity, message, help, line, column, endLine, endColumn }
  })
  const fails = found.some((f) => f.severity === 'error')
  return { diagnostics, text: rendered(source, diagnostics), inputs: [], outputs: exports, code: fails ? '' : code, exports, imports: tree ? importsOf(tree) : [] }
}

/** Line and column of an offset, from 1. */
function positionOf(source: string, at: number): [line: number, column: number] {
  const before = source.slice(0, at).split('\n')
  return [before.length, before.at(-1)!.length + 1]
}

function importsOf(tree: Node): [number, number][] {
  return (tree.body as Node[]).flatMap((n) => (n.source && n.importKind !== 'type' && n.exportKind !== 'type' ? [[(n.source as Node).start, (n.source as Node).end] as [number, number]] : []))
}

function checkImports(tree: Node, known: Known, imported: Map<string, string>, found: Found[]): void {
  const used = new Set(references(tree).map((r) => r.name))
  for (const statement of tree.body as Node[]) {
    const source = statement.source as (Node & { value?: unknown }) | null | undefined
    if (!source || statement.importKind === 'type' || statement.exportKind === 'type') continue
    if (source.value !== 'gradus') {
      found.push({ severity: 'error', from: source.start, to: source.end, message: `only 'gradus' can be imported here, not '${String(source.value)}'`, help: 'files of this page are read with fetch: await fetch(\'digits.bin\')' })
      continue
    }
    for (const one of (statement.specifiers ?? []) as Node[]) {
      const local = (one.local as Node).name as string
      if (one.type !== 'ImportSpecifier') {
        if (one.type === 'ImportDefaultSpecifier') found.push({ severity: 'error', from: one.start, to: one.end, message: 'gradus has no default export', help: "write import { nn } from 'gradus'" })
        continue
      }
      const name = (one.imported as Node).name as string
      imported.set(local, name)
      if (one.importKind === 'type' || !used.has(local) || known.names.includes(name)) continue
      found.push({ severity: 'error', from: one.start, to: one.end, message: `gradus has no export ${name}`, help: suggestion(name, known.names) })
    }
  }
}

/** Reports names that are not declared, and members that a namespace of the package does not have. */
function checkNames(tree: Node, known: Known, imported: Map<string, string>, found: Found[]): void {
  const declared = new Set<string>(imported.keys())
  const declare = (pattern: Node | null): void => {
    if (!pattern) return
    if (pattern.type === 'Identifier') declared.add(pattern.name as string)
    else if (pattern.type === 'Property') declare(pattern.value as Node)
    else if (pattern.type === 'AssignmentPattern') declare(pattern.left as Node)
    else if (pattern.type === 'RestElement') declare(pattern.argument as Node)
    else for (const inner of children(pattern)) if (!inner.type.startsWith('TS')) declare(inner)
  }
  const visit = (node: Node): void => {
    if (/^Import\w*Specifier$/.test(node.type)) declared.add((node.local as Node).name as string)
    if (node.type === 'VariableDeclarator' || /^(Function|Class)/.test(node.type)) declare(node.id as Node | null)
    if (Array.isArray(node.params) && !node.type.startsWith('TS')) (node.params as Node[]).forEach(declare)
    if (node.type === 'CatchClause') declare(node.param as Node | null)
    if (node.type === 'MemberExpression' && !node.computed) {
      const object = node.object as Node
      const property = node.property as Node
      const members = object.type === 'Identifier' ? known.members[imported.get(object.name as string) ?? ''] : undefined
      if (members && !members.includes(property.name as string)) {
        found.push({ severity: 'error', from: property.start, to: property.end, message: `${String(object.name)} has no ${String(property.name)}`, help: suggestion(property.name as string, members) })
      }
    }
    for (const inner of children(node)) visit(inner)
  }
  visit(tree)
  const seen = new Set<string>()
  for (const node of references(tree)) {
    const name = node.name as string
    if (declared.has(name) || seen.has(name) || name === 'arguments' || (name in globalThis && !PAGE_ONLY.has(name))) continue
    seen.add(name)
    const isExport = known.names.includes(name)
    const help = PAGE_ONLY.has(name) ? 'programs run in a worker, which has no page' : isExport ? `import { ${name} } from 'gradus'` : suggestion(name, [...declared])
    found.push({ severity: 'error', from: node.start, to: node.start + name.length, message: `${name} is not defined`, help })
  }
}

function exportsOf(tree: Node): string[] {
  const names: string[] = []
  const add = (pattern: Node | null): void => {
    if (pattern?.type === 'Identifier') names.push(pattern.name as string)
    else if (pattern) for (const inner of children(pattern)) if (!inner.type.startsWith('TS')) add(inner.type === 'Property' ? inner.value as Node : inner)
  }
  for (const node of tree.body as Node[]) {
    if (node.type === 'ExportDefaultDeclaration') names.push('default')
    if (node.type !== 'ExportNamedDeclaration' || node.exportKind === 'type') continue
    const inner = node.declaration as Node | null
    if (inner?.type === 'VariableDeclaration') for (const d of inner.declarations as Node[]) add(d.id as Node)
    else if (inner && !inner.type.startsWith('TS')) add(inner.id as Node)
    for (const one of node.specifiers as Node[]) if (one.exportKind !== 'type') names.push((one.exported as Node).name as string)
  }
  return names
}

function checkExports(source: string, tree: Node, exports: string[], found: Found[]): void {
  if (exports.includes('default')) return
  const missing = NEEDED.filter((n) => !exports.includes(n))
  if (!missing.length || (exports.length && missing.length === NEEDED.length)) return
  const last = (tree.body as Node[]).findLast((n) => n.type.startsWith('Export')) ?? (tree.body as Node[]).at(-1)
  const from = last?.start ?? 0
  const end = source.indexOf('\n', from)
  found.push({
    severity: 'warning', from, to: last ? Math.min(last.end, end < 0 ? last.end : end) : 1,
    message: exports.length ? `a training also needs the exports ${missing.join(', ')}` : 'nothing is exported',
    help: exports.length ? 'batch is a function of the step that returns arrays by the names of inputs' : `export ${NEEDED.join(', ')} to train, or tensors to see their values`,
  })
}

/** Returns a hint with the known name that is most similar to `name`, or null if none is similar. */
export function suggestion(name: string, among: string[]): string | null {
  const most = Math.max(1, Math.floor(name.length / 3))
  // If several names are equally similar, prefers the one whose upper and lower case differs least.
  const [best] = among.map((n) => [n, distance(name.toLowerCase(), n.toLowerCase()) + distance(name, n) / 100] as const)
    .filter(([, d]) => Math.floor(d) <= most).sort((a, b) => a[1] - b[1])
  return best ? `did you mean \`${best[0]}\`?` : null
}

/** The number of edits between two words; swapping two adjacent letters is one edit. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? rows[i - 2]![j - 2]! + 1 : Infinity
      row.push(Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1), swap))
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
