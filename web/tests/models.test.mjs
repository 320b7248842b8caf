/** Twelve kinds of models train on both devices with equal losses. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { open, skipWasm as skip } from './browser.mjs'
import { models } from './models.mjs'

let browser
before(async () => {
  if (skip) return
  browser = await open()
  browser.serve('/models.js', models)
})
after(() => browser?.close())

/** Models that draw random numbers: each step has other ones, so a loss may rise. */
const RANDOM = new Set(['digits', 'vae', 'flow'])

for (const name of ['sine', 'transformer', 'names', 'rotary', 'cnn', 'digits', 'vae', 'flow', 'nerf', 'splines', 'policy', 'player']) {
  test(name, { skip }, async () => {
    const got = await browser.run(`
      import * as g from '/dist/index.js'
      import models from '/models.js'
      export default async function (name) {
        const result = {}
        for (const device of ['cpu', 'webgpu']) {
          await g.init({ device })
          const { batch, forward, forwardInputs, forwardBatch, ...spec } = models[name]()
          const train = await g.compileTraining({ ...spec, seed: 5 })
          const losses = []
          let last
          for (let i = 0; i < 12; i++) {
            last = await train.step(batch)
            if (last.type !== 'completed') throw last.error
            losses.push(last.loss)
          }
          const run = forward && await (await train.attach({ forward, inputs: forwardInputs })).run(forwardBatch)
          if (run?.type === 'failed') throw run.error
          result[device] = { losses, names: train.names, captures: Object.entries(last.captures).map(([k, v]) => [k, v.shape]),
            outputs: run?.outputs.map((o) => [...o.data]), range: spec.range, dispatches: (await train.explain()).dispatches }
          train.dispose()
        }
        return result
      }`, name)
    for (const [device, { losses, range, outputs }] of Object.entries(got)) {
      if (!RANDOM.has(name)) assert.ok(losses[11] < losses[0], `${device}: ${losses[0]} to ${losses[11]}`)
      assert.ok(losses.every(Number.isFinite), device)
      for (const v of outputs?.flat() ?? []) assert.ok(!range || (v >= range[0] && v <= range[1]), `${device}: ${v}`)
    }
    got.webgpu.losses.forEach((loss, i) => {
      const expected = got.cpu.losses[i]
      assert.ok(Math.abs(loss - expected) <= 2e-4 * Math.max(1, Math.abs(expected)), `step ${i}: ${loss} on webgpu, ${expected} on the cpu`)
    })
    assert.deepEqual(got.webgpu.captures, got.cpu.captures)
    if (name === 'transformer') assert.deepEqual(got.cpu.captures, [['attention.0', [4, 2, 8, 8]], ['attention.1', [4, 2, 8, 8]]])
    assert.ok(got.webgpu.dispatches > 0)
  })
}
