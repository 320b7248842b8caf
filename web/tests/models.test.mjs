/** Tests that the models of tensorgrad's twelve samples pass the type checker, and train on both devices with equal losses. */
import assert from 'node:assert/strict'
import { transform } from 'esbuild'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { open, root, skipWasm as skip } from './browser.mjs'

let browser
before(async () => {
  if (skip) return
  browser = await open()
  const text = readFileSync(join(root, 'tests/models.ts'), 'utf8')
  const { code } = await transform(text, { loader: 'ts', target: 'es2022', tsconfigRaw: { compilerOptions: { useDefineForClassFields: true } } })
  browser.serve('/models.js', code.replaceAll(/(["'])gradus\1/g, "'/dist/index.js'"))
})
after(() => browser?.close())

test('the models have types', () => {
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'tests')], { encoding: 'utf8', stdio: 'pipe' })
})

/** Models that draw random numbers: these differ at each step, so a loss may rise. */
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
