/**
 * Builds the page into web/dist/page: the package, the page's own code, data of the gallery and the wasm module. The module is
 * web/dist/gradus.wasm, or the file that the variable GRADUS_WASM names. `--plain` omits the compressed files, which take most of the build
 * time.
 */
import { build } from 'esbuild'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const page = dirname(fileURLToPath(import.meta.url))
const web = join(page, '..')
const examples = join(web, '../examples')
const out = join(web, 'dist/page')
const options = { bundle: true, format: 'esm', target: 'es2022', sourcemap: true, minify: true, keepNames: true, absWorkingDir: web, logLevel: 'warning' }

/** Bundles the package as a separate file: errors recognise the caller's frames by the file name, and a worker can load it too. */
const shared = {
  name: 'package',
  setup(b) {
    b.onResolve({ filter: /^gradus$/ }, () => ({ path: './gradus/index.js', external: true }))
  },
}

/** `source:FILE` imports the text of a file in the folder of the importing file, to display it; `example:FILE` that of a file in the folder `examples`. */
const texts = {
  name: 'texts',
  setup(b) {
    b.onResolve({ filter: /^source:/ }, ({ path, resolveDir }) => ({ path: join(resolveDir, path.slice(7)), namespace: 'text' }))
    b.onResolve({ filter: /^example:/ }, ({ path }) => ({ path: join(examples, path.slice(8)), namespace: 'text' }))
    b.onLoad({ filter: /.*/, namespace: 'text' }, ({ path }) => ({ contents: readFileSync(path, 'utf8'), loader: 'text', watchFiles: [path] }))
  },
}

rmSync(out, { recursive: true, force: true })
mkdirSync(join(out, 'gradus'), { recursive: true })
await build({ ...options, entryPoints: ['src/index.ts'], outfile: join(out, 'gradus/index.js') })
await build({ ...options, entryPoints: ['src/worker-entry.ts'], outfile: join(out, 'gradus/worker.js'), external: ['./index.js'] })
await build({
  ...options, entryPoints: { main: 'page/main.ts', 'script-worker': 'page/script/worker.ts' }, outdir: out, plugins: [shared, texts],
  // Code that is loaded on demand, and code that the page and its worker share, go into separate files.
  splitting: true, chunkNames: 'part-[hash]',
})
for (const name of ['index.html', 'style.css', 'icon.svg']) cpSync(join(page, name), join(out, name))

// Digits: one byte per label, then 64 bytes per picture. The IDX files have headers of 8 and 16 bytes.
const labels = readFileSync(join(examples, 'data/digits-labels.idx')).subarray(8)
const pictures = readFileSync(join(examples, 'data/digits-images.idx')).subarray(16)
if (pictures.length !== labels.length * 64) throw new Error('the digits are not 8 by 8 pixels')
writeFileSync(join(out, 'digits.bin'), Buffer.concat([labels, pictures]))
cpSync(join(examples, 'data/names.txt'), join(out, 'names.txt'))

const wasm = process.env.GRADUS_WASM || join(web, 'dist/gradus.wasm')
if (!existsSync(wasm)) throw new Error(`${basename(wasm)} does not exist; build it with \`cargo xtask web\`, or set GRADUS_WASM to its path`)
cpSync(wasm, join(out, 'gradus/gradus.wasm'))

// Servers such as `gradus web` send these files to browsers that accept them.
const isPlain = process.argv.includes('--plain')
for (const name of isPlain ? [] : readdirSync(out, { recursive: true })) {
  if (!/\.(?:js|css|html|svg|wasm|bin|txt)$/.test(name)) continue
  const bytes = readFileSync(join(out, name))
  writeFileSync(join(out, `${name}.gz`), gzipSync(bytes, { level: 9 }))
  writeFileSync(join(out, `${name}.br`), brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_LGWIN]: 22, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }))
}
if (!isPlain) {
  const kilobytes = (name) => Math.round(statSync(join(out, name)).size / 1000)
  const [plain, gzip, brotli] = ['', '.gz', '.br'].map((end) => kilobytes(`gradus/gradus.wasm${end}`))
  const LIMIT = 1500
  console.log(`gradus.wasm: ${plain} kB, ${gzip} kB with gzip, ${brotli} kB with brotli`)
  if (brotli > LIMIT) throw new Error(`the compressed module has ${brotli} kB, more than ${LIMIT}`)
}
console.log('dist/page is built')
