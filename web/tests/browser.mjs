/** Opens a page in a real browser for tests: serves this package on the loopback address, and starts Chromium with WebGPU in software. */
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

const noBrowser = [browser, `${browser} does not exist`]
const noModule = [join(root, 'dist/gradus.wasm'), 'dist/gradus.wasm does not exist']
/** Reasons why tests in a browser, tests of the module, and tests of the module in a browser cannot run; false if they can. */
export const skip = missing(noBrowser)
export const skipModule = missing(noModule)
export const skipWasm = missing(noBrowser, noModule)

/** Additional files that tests serve, by address. */
const extra = new Map()

/** Opens a page. `webgpu: false` starts a browser without an adapter; `policy: false` opens a page without a content security policy. Call `close` at the end. */
export async function open({ webgpu = true, policy = true } = {}) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, 'http://x').pathname)
    if (path === '/favicon.ico') return response.writeHead(204).end()
    try {
      const body = extra.get(path) ?? (path === '/' ? '<!doctype html><title>test</title>' : await readFile(join(root, path)))
      response.writeHead(200, {
        'Content-Type': path === '/' ? 'text/html' : TYPES[extname(path)] ?? 'application/octet-stream',
        // The strictest content security policy under which the package must work.
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
  // No limit here, so that slow machines do not fail: each test has a limit of its own.
  context.setDefaultTimeout(240_000)
  const page = await context.newPage()
  const problems = []
  page.on('console', (m) => { if (m.type() === 'error') problems.push(m.text()) })
  page.on('pageerror', (e) => problems.push(e.message))
  await page.goto(`http://127.0.0.1:${server.address().port}/`)
  return {
    page, problems,
    /** Runs the default export of a module, given as text, in the page. Returns its result. */
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
