/** A static server on the loopback address, for development and tests: `node page/serve.mjs [port]`. */
import { createServer } from 'node:http'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, extname, join, normalize } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '../dist/page')
const TYPES = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.map': 'application/json',
  '.wasm': 'application/wasm', '.svg': 'image/svg+xml', '.txt': 'text/plain; charset=utf-8', '.bin': 'application/octet-stream',
}
/** Compressed versions that the build writes next to files, the preferred one first. */
const ENCODINGS = [['br', 'br'], ['gzip', 'gz']]

/** Serves the built page; returns its address and a function that stops it. Port 0 selects a free port. */
export async function serve(port = 0) {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname))
    try {
      const name = path.endsWith('/') ? `${path}index.html` : path
      // `normalize` removes each `..` that would leave the root of an absolute path.
      const takes = String(request.headers['accept-encoding'] ?? '')
      const [encoding, ending] = ENCODINGS.find(([e, end]) => takes.includes(e) && existsSync(join(root, `${name}.${end}`))) ?? []
      const body = await readFile(join(root, encoding ? `${name}.${ending}` : name))
      response.writeHead(200, {
        'Content-Type': TYPES[extname(name)] ?? 'application/octet-stream',
        ...(encoding && { 'Content-Encoding': encoding }),
        'X-Content-Type-Options': 'nosniff',
        'Cache-Control': 'no-cache',
      })
      response.end(request.method === 'HEAD' ? undefined : body)
    } catch {
      response.writeHead(404, { 'Content-Type': 'text/plain' }).end('not found')
    }
  })
  await new Promise((done, fail) => server.once('error', fail).listen(port, '127.0.0.1', done))
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  console.log((await serve(Number(process.argv[2] ?? 8080))).url)
}
