/** Opens the built page in Chromium with WebGPU in software. */
import { chromium } from 'playwright-core'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { missing } from '../../tests/missing.mjs'
import { serve } from '../serve.mjs'

const browser = process.env.CHROMIUM ?? '/usr/bin/chromium'
const built = join(dirname(fileURLToPath(import.meta.url)), '../../dist/page/index.html')

/** The reason why tests cannot run; false if they can. */
export const skip = missing([browser, `${browser} does not exist`], [built, 'dist/page is not built'])

/** Starts the server and a browser. `webgpu: false` starts a browser without an adapter. */
export async function start({ webgpu = true } = {}) {
  const server = await serve()
  const folder = mkdtempSync(join(tmpdir(), 'gradus-page-'))
  const args = ['--headless=new', '--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--hide-scrollbars',
    '--disable-component-update', '--disable-sync', `--user-data-dir=${folder}`, '--remote-debugging-pipe',
    ...(webgpu ? ['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'] : []), 'about:blank']
  const context = await chromium.launchPersistentContext(folder, { executablePath: browser, headless: false, ignoreDefaultArgs: true, args })
  // No limit here, so that slow machines do not fail: each test has a limit of its own.
  context.setDefaultTimeout(240_000)
  return {
    url: server.url,
    context,
    /** A page at an address of the site. `problems` collects errors of the console and requests that leave the site. */
    async page(hash = '', { width = 1280, height = 860, scheme = 'light', query = '' } = {}) {
      const page = await context.newPage()
      const problems = []
      page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') problems.push(m.text()) })
      page.on('pageerror', (e) => problems.push(e.message))
      page.on('request', (r) => { if (!r.url().startsWith(server.url) && !/^(data|blob):/.test(r.url())) problems.push(`request to ${r.url()}`) })
      await page.setViewportSize({ width, height })
      await page.emulateMedia({ colorScheme: scheme })
      await page.goto(`${server.url}${query}${hash}`)
      await page.waitForSelector('html[data-ready]')
      return { page, problems }
    },
    async close() {
      await context.close()
      server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
