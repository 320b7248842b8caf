/**
 * Checks TENSORGRAD.md: this package exports everything that the second column names, as a value or as a type, and the first column lists
 * all exports of tensorgrad 0.0.1. Usage: node scripts/check-table.mjs [tensorgrad's index.ts]; with the file, its exports must all be in
 * the table too.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const read = (file) => readFileSync(file, 'utf8')
const rows = read(join(root, 'TENSORGRAD.md')).split('\n').map((l) => /^\| `(\w+)` \| `([\w.]+)` \|/.exec(l)).filter(Boolean)

/** Returns the type checker for a TypeScript file and its module, whose exports the checker lists. */
function checkedModule(file) {
  const program = ts.createProgram([file], { noResolve: false, skipLibCheck: true, moduleResolution: ts.ModuleResolutionKind.Bundler, module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 })
  return { checker: program.getTypeChecker(), module: program.getTypeChecker().getSymbolAtLocation(program.getSourceFile(file)) }
}

const { checker, module } = checkedModule(join(root, 'src/index.ts'))
const resolved = (s) => (s.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(s) : s)
/** Returns true if a path such as `nn.Linear` or `Tensor.add` exists. */
function exists(path) {
  const [first, second] = path.split('.')
  const found = checker.getExportsOfModule(module).find((s) => s.name === first)
  if (!found || !second) return Boolean(found)
  const symbol = resolved(found)
  if (symbol.flags & ts.SymbolFlags.ValueModule) return checker.getExportsOfModule(symbol).some((s) => s.name === second)
  return Boolean(checker.getDeclaredTypeOfSymbol(symbol).getProperty(second))
}

/** The exports of tensorgrad 0.0.1. */
const FIRST = `
  Tensor Shape Dtype OpNode Graph CallSite ShapeError trace traceInto paramInput tensorInput stateInput add sub mul
  div sqrt rsqrt log exp relu less greater where meanLast sumLast reshape transpose matmul matmulBatched oneHot arange
  softmaxCausalLast logSoftmaxLast whereCausal sliceLastRange appendGrad GradResult appendAdam AdamConfig AdamResult
  planBuffers BufferPlan BufferSpec Writeback WritebackDecl emitKernels KernelSpec createRuntime CompiledRuntime
  RuntimeOpts compile compileToIR compileModule CompiledIR CompileModuleOptions InputDecl Module materializeParams`.trim().split(/\s+/)

const problems = rows.filter(([, , ours]) => !exists(ours)).map(([, theirs, ours]) => `${theirs}: ${ours} does not exist`)
const known = new Set(rows.map(([, name]) => name))
const theirs = process.argv[2] ? checkedModule(process.argv[2]) : null
const names = [...FIRST, ...(theirs?.checker.getExportsOfModule(theirs.module) ?? []).map((s) => s.name)]
for (const name of names) if (!known.has(name)) problems.push(`${name} is not in the table`)
if (rows.length < 100) problems.push(`only ${rows.length} rows were read`)
console.log(`${rows.length} rows, ${problems.length} problems`)
if (problems.length) throw new Error(problems.join('\n'))
