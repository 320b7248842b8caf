/** The packed package: its files, its types with the README's example, the table of tensorgrad's exports, the generated ops. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { root } from './browser.mjs'

const folder = mkdtempSync(join(tmpdir(), 'gradus-pack-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const node = (...args) => execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8', stdio: 'pipe' })
const hasWasm = existsSync(join(root, 'dist/gradus.wasm'))

test('the package unpacks, has its types and runs the example of the README', async () => {
  const [{ filename, files }] = JSON.parse(execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
  const names = files.map((f) => f.path)
  for (const name of ['LICENSE-MIT', 'LICENSE-APACHE', 'README.md', 'package.json', 'dist/index.js', 'dist/index.js.map', 'dist/index.d.ts', 'dist/worker.js', 'dist/bundle.js', 'dist/bundle.js.map', 'dist/bundle.d.ts', ...(hasWasm ? ['dist/gradus.wasm'] : [])]) {
    assert.ok(names.includes(name), `${name} is packed`)
  }
  assert.ok(!names.some((n) => /node_modules|tests\//.test(n)))
  const home = join(folder, 'node_modules/gradus')
  mkdirSync(home, { recursive: true })
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', home, '--strip-components=1'])
  const example = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(home, 'README.md'), 'utf8'))[1]
  assert.ok(example.trim().split('\n').length <= 30, 'the example is short')
  writeFileSync(join(folder, 'example.ts'), `${example}\nexport { r, model }\nconst device: 'webgpu' | 'cpu' = (await init()).device\nvoid device\n`)
  writeFileSync(join(folder, 'wrong.ts'), 'import { tensor, nn } from "gradus"\ntensor([1]).matmul("x")\nnew nn.Linear("1", 2)\n')
  const tsc = (file) => node(join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '--strict', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler', '--types', join(root, 'node_modules/@webgpu/types'), file)
  tsc(join(folder, 'example.ts'))
  assert.throws(() => tsc(join(folder, 'wrong.ts')), (e) => /wrong\.ts\(2,/.test(e.stdout) && /wrong\.ts\(3,/.test(e.stdout))
  if (!hasWasm) return
  const g = await import(pathToFileURL(join(home, 'dist/index.js')))
  await g.init({ device: 'cpu', wasm: readFileSync(join(home, 'dist/gradus.wasm')) })
  assert.equal(await g.ones([3]).sum().item(), 3)
})

test('the runtime of bundles has at most 20,000 bytes', () => {
  const size = readFileSync(join(root, 'dist/bundle.js')).length
  assert.ok(size <= 20_000, `${size} bytes`)
})

test('exported bundles carry this runtime', { skip: !existsSync(join(root, '../src/bundle/runtime.js')) && 'not in the repository' }, () => {
  const built = readFileSync(join(root, 'dist/bundle.js'), 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '')
  assert.equal(readFileSync(join(root, '../src/bundle/runtime.js'), 'utf8').trimEnd(), built.trimEnd(), 'run npm run runtime')
})

test('every export of tensorgrad has a counterpart', () => {
  assert.match(node('scripts/check-table.mjs'), /\b0 problems/)
})

test('the ops are those of the module', { skip: !hasWasm && 'there is no dist/gradus.wasm' }, () => {
  node('scripts/generate.mjs', '--check')
})
