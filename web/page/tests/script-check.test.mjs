/** Tests that types are erased in place, as esbuild does, and that errors in TypeScript programs have their positions. Needs no browser. */
import assert from 'node:assert/strict'
import { build, transform } from 'esbuild'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

const page = join(dirname(fileURLToPath(import.meta.url)), '..')
const folder = mkdtempSync(join(tmpdir(), 'gradus-check-'))
after(() => rmSync(folder, { recursive: true, force: true }))
await build({
  stdin: { contents: "export * from './check.ts'; export { strip } from './strip.ts'", resolveDir: join(page, 'script'), loader: 'ts' },
  bundle: true, format: 'esm', outfile: join(folder, 'check.mjs'), logLevel: 'error',
})
const { check, strip } = await import(pathToFileURL(join(folder, 'check.mjs')).href)
const known = { names: ['nn', 'Tensor', 'tensor', 'losses', 'optim', 'grad', 'vmap', 'capture'], members: { nn: ['Module', 'Linear', 'Conv2d'], losses: ['mse'] } }
const plain = (text, loader) => transform(text, { loader, minifyWhitespace: true, minifySyntax: true, target: 'esnext', tsconfigRaw: { compilerOptions: { useDefineForClassFields: true } } }).then((r) => r.code)

/** Every form of types that programs write. */
const FORMS = `
import { nn, Tensor, type A } from 'gradus'
import type { B } from 'gradus'
export type C<T> = T extends string ? 1 : 2
export interface D { x: number }
declare const hidden: number
abstract class Base<T> { abstract f(): void; protected readonly a?: T; declare gone: T; [key: string]: unknown }
class M<T = Tensor> extends Base<T> implements D, C<1> {
  static readonly count: number = 0
  x!: number
  private override y = <const>['é'] as string[]
  public async *g?(this: M, a?: number, [b]: number[] = [1], { c }: { c?: number } = {}, ...rest: any[]): AsyncGenerator<number> { yield a! + b + c! + rest.length }
  get size(): number { return (this.y as unknown as string[])!.length }
  f(): void
  f(n?: number): void { void n }
}
function over(x: number): number
function over(x: string): string
function over<T>(x: T): T { return x satisfies T }
let later!: number
const arrow = async <T,>(x: T, y?: Map<string, number>): Promise<T> => { try { return over<T>(x) } catch (e: unknown) { throw e as Error } }
const a = later as number
;[1, 2].map((v): v is 1 => v === 1)
type Last = typeof arrow
const b = a as C<string>
(arrow as any)(b, new Map<string, number>())
label: for (const x of [1] as const) { if (x) continue label }
export { M, type Last, a as renamed }
export default { nn, [\`k\${a as number}\`]: 1 as const } satisfies object
`

test('types are erased as another compiler does, and everything else stays in place', async () => {
  const files = ['gallery/names.ts', 'gallery/tictactoe.ts', 'lib/dom.ts', 'lib/random.ts', ...readdirSync(join(page, 'script/examples')).map((f) => `script/examples/${f}`),
    'script/check.ts', '../src/transform.ts', '../src/optim.ts', '../src/init.ts', '../src/functions.ts']
  for (const [name, source] of [['forms', FORMS], ...files.map((f) => [f, readFileSync(join(page, f), 'utf8')])]) {
    const { code, problems } = strip(source)
    if (/constructor\((?:private|readonly)/.test(source)) {
      assert.match(problems[0].message, /parameter properties/, name)
      continue
    }
    assert.deepEqual(problems, [], name)
    assert.equal(code.length, source.length)
    for (let i = 0; i < code.length; i++) if (code[i] !== source[i]) assert.ok(code[i] === ' ' || code[i] === ';', `${name}:${i}`)
    assert.equal(await plain(code, 'js'), await plain(source, 'ts'), name)
  }
})

test('mistakes have a line, a column, carets and a suggestion', () => {
  const first = (source) => {
    const { diagnostics: [d], text, code } = check(source, known)
    assert.equal(code, '')
    return [d.line, d.column, d.endColumn, d.message, d.help, text]
  }
  const syntax = first("import { nn } from 'gradus'\nexport const x = (1 + \nlet y = 2\n")
  assert.deepEqual(syntax.slice(0, 2), [3, 1])
  assert.match(syntax[5], /^error: .+\n --> program:3:1\n {2}\|\n3 \| let y = 2\n {2}\| \^\^\^$/)
  assert.deepEqual(first("import { nn } from 'gradus'\nexport const x = new nn.Liner(1, 2)\n").slice(0, 5), [2, 25, 30, 'nn has no Liner', 'did you mean `Linear`?'])
  assert.deepEqual(first("import { tensr } from 'gradus'\nexport const x = tensr([1])\n").slice(0, 5), [1, 10, 15, 'gradus has no export tensr', 'did you mean `tensor`?'])
  assert.deepEqual(first("export const x = tensor([1])\n").slice(3, 5), ['tensor is not defined', "import { tensor } from 'gradus'"])
  assert.deepEqual(first("import fs from 'node:fs'\nexport const x = fs\n").slice(0, 4), [1, 16, 25, "only 'gradus' can be imported here, not 'node:fs'"])
  assert.deepEqual(first("class A { constructor(readonly x: number) {} }\nexport const a = new A(1)\n").slice(0, 4), [1, 23, 41, 'parameter properties cannot be run here'])
  assert.equal(first("enum E { a }\nexport const e = E.a\n")[3], 'enums cannot be run here')
  assert.equal(first("export const p = document.title\n")[4], 'programs run in a worker, which has no page')
})

test('a training with an export left out is a warning', () => {
  const { diagnostics, code, exports } = check("import { nn } from 'gradus'\nexport const model = new nn.Linear(1, 1)\n", known)
  assert.deepEqual(exports, ['model'])
  assert.notEqual(code, '')
  assert.deepEqual(diagnostics.map((d) => [d.severity, d.line, d.message]), [['warning', 2, 'a training also needs the exports loss, inputs, optimizer, batch']])
  assert.deepEqual(check("import { tensor } from 'gradus'\nexport const x = tensor([1])\n", known).diagnostics, [])
})
