/** A page of a real browser for tests: serves this package on the loopback address and opens Chromium with WebGPU in software. */
import { chromium } from 'playwright-core'
import { createServer } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { missing } from './missing.mjs'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.html': 'text/html', '.wasm': 'application/wasm', '.map': 'application/json', '.json': 'application/json' }
const browser = process.env.CHROMIUM ?? '/usr/bin/chromium'

const noBrowser = [browser, `there is no ${browser}`]
const noModule = [join(root, 'dist/gradus.wasm'), 'there is no dist/gradus.wasm']
/** Why tests in a browser, tests of the module, and tests of the module in a browser cannot run; false if they can. */
export const skip = missing(noBrowser)
export const skipModule = missing(noModule)
export const skipWasm = missing(noBrowser, noModule)

/** Files that only tests serve, by address. */
const extra = new Map()

/** Opens a page. `webgpu: false` is a browser without an adapter, `policy: false` a page that may do anything. Call `close` at the end. */
export async function open({ webgpu = true, policy = true } = {}) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, 'http://x').pathname)
    if (path === '/favicon.ico') return response.writeHead(204).end()
    try {
      const body = extra.get(path) ?? (path === '/' ? '<!doctype html><title>test</title>' : await readFile(join(root, path)))
      response.writeHead(200, {
        'Content-Type': path === '/' ? 'text/html' : TYPES[extname(path)] ?? 'application/octet-stream',
        // The strictest policy that the package promises to work under.
        ...(policy && { 'Content-Security-Policy': "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'" }),
      })
      response.end(body)
    } catch {
      response.writeHead(404).end()
    }
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  const folder = mkdtempSync(join(tmpdir(), 'gradus-web-'))
  const args = ['--headless=new', '--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', `--user-data-dir=${folder}`, '--remote-debugging-pipe',
    ...(webgpu ? ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'] : []), 'about:blank']
  const context = await chromium.launchPersistentContext(folder, { executablePath: browser, headless: false, ignoreDefaultArgs: true, args })
  // A slow machine is not a failure: each test has a limit of its own.
  context.setDefaultTimeout(240_000)
  const page = await context.newPage()
  const problems = []
  page.on('console', (m) => { if (m.type() === 'error') problems.push(m.text()) })
  page.on('pageerror', (e) => problems.push(e.message))
  await page.goto(`http://127.0.0.1:${server.address().port}/`)
  return {
    page, problems,
    /** Runs the default export of a module text in the page and gives back what it returns. */
    async run(text, argument) {
      const path = `/test-${extra.size}.js`
      extra.set(path, text)
      return page.evaluate(async ([path, argument]) => (await import(path)).default(argument), [path, argument])
    },
    serve: (path, text) => extra.set(path, text),
    async close() {
      await context.close()
      server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
