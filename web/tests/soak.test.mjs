/** Trains for several minutes and checks that memory does not grow. `GRADUS_SOAK` sets the number of minutes; the default is a few seconds. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { open, skipWasm as skip } from './browser.mjs'
import { spec } from './sine.mjs'

const minutes = Number(process.env.GRADUS_SOAK ?? 0.1)
let browser
before(async () => {
  if (skip) return
  browser = await open()
  browser.serve('/sine.js', spec)
})
after(() => browser?.close())

for (const device of ['cpu', 'webgpu']) {
  test(`memory stays the same on ${device} for ${minutes} minutes`, { skip, timeout: 60_000 * (3 * minutes + 2) }, async () => {
    const got = await browser.run(`
      import * as g from '/dist/index.js'
      export default async function ({ device, minutes }) {
        const session = await g.init({ device })
        const sine = await import('/sine.js?' + device)
        const train = await g.compileTraining(sine)
        const predict = await train.attach({ forward: sine.predict, inputs: { x: [null, 1] } })
        const look = () => ({ steps: train.steps, tensors: session.call('count'), wasm: session.exports.memory.buffer.byteLength,
          buffers: session.executor?.buffers.size ?? 0, heap: session.executor?.buffers.get(0).size ?? 0 })
        const batch = { x: sine.xs, y: sine.ys }
        const loop = async (milliseconds) => {
          const end = performance.now() + milliseconds
          while (performance.now() < end) {
            const last = await train.fit({ steps: 20, batch: () => batch })
            if (last.type !== 'completed') throw last.error
            const r = await predict.run({ x: sine.xs.subarray(0, 64) })
            if (r.type !== 'completed') throw r.error
            g.tidy(() => { g.ones([64]).add(1).sum() })
          }
        }
        await loop(Math.min(minutes, 1) * 20_000)
        const first = look()
        await loop(minutes * 60_000)
        return [first, look()]
      }`, { device, minutes })
    const [first, last] = got
    assert.ok(last.steps > first.steps)
    const { steps: _, ...before } = first
    const { steps, ...now } = last
    assert.deepEqual(now, before, `after ${steps} steps`)
  })
}
