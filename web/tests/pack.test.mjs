/** The packed package: its files, its installation, its types as used in the README's example, the table of tensorgrad's exports, and the generated ops. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { root, skipModule } from './browser.mjs'

const folder = mkdtempSync(join(tmpdir(), 'gradus-pack-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const node = (...args) => execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8', stdio: 'pipe' })

test('the package installs in an empty folder, has its types and runs the example of the README', async () => {
  const [{ filename, files }] = JSON.parse(execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
  const names = files.map((f) => f.path)
  for (const name of ['LICENSE-MIT', 'LICENSE-APACHE', 'README.md', 'package.json', 'dist/index.js', 'dist/index.js.map', 'dist/index.d.ts', 'dist/worker.js', 'dist/bundle.js', 'dist/bundle.js.map', 'dist/bundle.d.ts', ...(skipModule ? [] : ['dist/gradus.wasm'])]) {
    assert.ok(names.includes(name), `${name} is packed`)
  }
  assert.ok(!names.some((n) => /node_modules|tests\//.test(n)))
  const home = join(folder, 'node_modules/gradus')
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, filename)], { cwd: folder, stdio: 'pipe' })
  const example = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(home, 'README.md'), 'utf8'))[1]
  assert.ok(example.trim().split('\n').length <= 30, 'the example is short')
  writeFileSync(join(folder, 'example.ts'), `${example}\nexport { r, model }\nconst device: 'webgpu' | 'cpu' = (await init()).device\nvoid device\n`)
  writeFileSync(join(folder, 'wrong.ts'), 'import { tensor, nn } from "gradus"\ntensor([1]).matmul("x")\nnew nn.Linear("1", 2)\n')
  const tsc = (file) => node(join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '--strict', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler', '--types', join(root, 'node_modules/@webgpu/types'), file)
  tsc(join(folder, 'example.ts'))
  assert.throws(() => tsc(join(folder, 'wrong.ts')), (e) => /wrong\.ts\(2,/.test(e.stdout) && /wrong\.ts\(3,/.test(e.stdout))
  if (skipModule) return
  writeFileSync(join(folder, 'run.mjs'), `
    import { readFileSync } from 'node:fs'
    import { fileURLToPath } from 'node:url'
    import { compileTraining, init, losses, nn, optim } from 'gradus'
    await init({ device: 'cpu', wasm: readFileSync(fileURLToPath(import.meta.resolve('gradus/gradus.wasm'))) })
    class Line extends nn.Module { l = new nn.Linear(1, 1) }
    const train = await compileTraining({
      model: new Line(), inputs: { x: [4, 1], y: [4, 1] }, optimizer: optim.sgd({ rate: 0.2 }), seed: 1,
      loss: (m, { x, y }) => losses.mse(m.l.forward(x), y),
    })
    const last = await train.fit({ steps: 200, batch: () => ({ x: [-1, 0, 1, 2], y: [1, 3, 5, 7] }) })
    const { 'l.weight': [w], 'l.bias': [b] } = await train.params()
    console.log(JSON.stringify({ type: last.type, w, b }))`)
  const { type, w, b } = JSON.parse(execFileSync(process.execPath, ['run.mjs'], { cwd: folder, encoding: 'utf8' }))
  assert.equal(type, 'completed')
  assert.ok(Math.abs(w - 2) < 1e-3 && Math.abs(b - 3) < 1e-3, `${w} x + ${b}`)
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

test('the ops are those of the module', { skip: skipModule }, () => {
  node('scripts/generate.mjs', '--check')
})
