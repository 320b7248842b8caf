/** Builds dist/: JavaScript modules with source maps, and type declarations. `--runtime` also updates the runtime of exported bundles in `src/bundle`. */
import { build } from 'esbuild'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const options = { bundle: true, format: 'esm', target: 'es2022', sourcemap: true, absWorkingDir: root, logLevel: 'warning' }
const entries = ['index', 'executor', 'bundle'].filter((name) => existsSync(join(root, `src/${name}.ts`)))
for (const name of entries) {
  await build({ ...options, entryPoints: [`src/${name}.ts`], outfile: `dist/${name}.js`, minify: name === 'bundle' })
}
// The worker imports the package's main file, so that a page and its worker load the same code.
if (existsSync(join(root, 'src/worker-entry.ts'))) {
  await build({ ...options, entryPoints: ['src/worker-entry.ts'], outfile: 'dist/worker.js', external: ['./index.js'] })
}
execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', root], { stdio: 'inherit' })
// The command `gradus export` contains a copy of the runtime.
if (process.argv.includes('--runtime')) {
  const text = readFileSync(join(root, 'dist/bundle.js'), 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n')
  writeFileSync(join(root, '../src/bundle/runtime.js'), text)
}
const limit = 20_000
const size = statSync(join(root, 'dist/bundle.js')).size
if (size > limit) throw new Error(`dist/bundle.js has ${size} bytes, more than ${limit}`)
console.log(`dist/bundle.js: ${size} bytes`)
