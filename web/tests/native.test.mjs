/** Compares values, gradients and losses on WebGPU in the page with native runs, on the CPU and on a WebGPU device. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { open, skipWasm } from './browser.mjs'
import { devices, inFolder, skipNative } from './native-command.mjs'
import { spec } from './sine.mjs'

const skip = skipWasm || skipNative
let browser
before(async () => {
  if (skip) return
  browser = await open()
  browser.serve('/sine.js', spec)
})
after(() => browser?.close())

/** The sine MLP as equations. */
const source = `A[b, h] = relu(W1[h, d] X[b, d] + B1[h])
C[b, k] = relu(W2[k, h] A[b, h] + B2[k])
Y[b, o] = W3[o, k] C[b, k] + B3[o]
Loss avg= (Y[b, o] - T[b, o]) ** 2
`
const parameters = ['W1', 'B1', 'W2', 'B2', 'W3', 'B3']

function close(a, b, tolerance, what) {
  assert.equal(a.length, b.length, what)
  a.forEach((v, i) => assert.ok(Math.abs(v - b[i]) <= tolerance * Math.max(1, Math.abs(b[i])), `${what}: ${v} at ${i}, expected ${b[i]}`))
}

/** The points of the sine MLP and its parameters as arrays of rows, from their values in the order of the module. */
function arrays(xs, ys, params) {
  const rows = (values, width) => Array.from({ length: values.length / width }, (_, i) => values.slice(i * width, (i + 1) * width))
  const shaped = params.map((values, i) => (i % 2 ? values : rows(values, [1, 64, 64][i / 2])))
  return { X: rows(xs, 1), T: rows(ys, 1), ...Object.fromEntries(parameters.map((name, i) => [name, shaped[i]])) }
}

test('values and gradients are those of native devices', { skip }, async () => {
  const got = await browser.run(`
    import * as g from '/dist/index.js'
    import * as sine from '/sine.js?values'
    export default async function (source) {
      await g.init({ device: 'webgpu' })
      const train = await g.compileTraining(sine)
      const params = Object.values(await train.params()).map((v) => [...v])
      return { params, xs: [...sine.xs], ys: [...sine.ys], program: source + g.equations.gradient(source, { wrt: ${JSON.stringify(parameters)} }) }
    }`, source)
  const inputs = arrays(got.xs, got.ys, got.params)
  const values = await browser.run(`
    import * as g from '/dist/index.js'
    export default async function ({ program, inputs }) {
      await g.init({ device: 'webgpu' })
      return Object.fromEntries(Object.entries(await g.equations.run(program, inputs)).map(([k, v]) => [k, [...Object.values(v.data)]]))
    }`, { program: got.program, inputs })
  assert.deepEqual(parameters.filter((name) => !values[`Grad_${name}`]), [])
  const files = { 'gradient.eq': got.program, ...Object.fromEntries(Object.entries(inputs).map(([k, v]) => [`${k}.json`, v])) }
  const given = Object.keys(inputs).flatMap((name) => ['--input', `${name}=${name}.json`])
  inFolder(files, (_, gradus) => {
    for (const device of devices) {
      const native = JSON.parse(gradus('run', 'gradient.eq', '--json', '--device', device, ...given))
      for (const [name, value] of Object.entries(values)) close(value, [native[name].data].flat(Infinity), 1e-5, `${name} on ${device}`)
    }
  })
})

test('50 losses are those of native devices', { skip }, async () => {
  const got = await browser.run(`
    import * as g from '/dist/index.js'
    import * as sine from '/sine.js?losses'
    export default async function () {
      await g.init({ device: 'webgpu' })
      const train = await g.compileTraining(sine)
      const params = Object.values(await train.params()).map((v) => [...v])
      const losses = []
      await train.fit({ steps: 50, batch: () => ({ x: sine.xs, y: sine.ys }), onStep: (r) => { losses.push(r.loss) } })
      return { params, losses, xs: [...sine.xs], ys: [...sine.ys] }
    }`)
  const inputs = arrays(got.xs, got.ys, got.params)
  const config = `model = "program"
steps = 50
batch = 256
log_every = 1
out = "run"
[optimizer]
name = "adam"
rate = 0.005
[program]
file = "sine.eq"
loss = "Loss"
inputs = { X = "X.json", T = "T.json" }
batched = ["X", "T"]
parameters = { ${parameters.map((name) => `${name} = "${name}.json"`).join(', ')} }
`
  const files = { 'sine.eq': source, 'sine.toml': config, ...Object.fromEntries(Object.entries(inputs).map(([k, v]) => [`${k}.json`, v])) }
  for (const device of devices) {
    const losses = inFolder(files, (folder, gradus) => {
      gradus('train', 'sine.toml', '--device', device)
      return readFileSync(join(folder, 'run/log.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line).loss)
    })
    assert.ok(losses[49] < losses[0] / 4, `${losses[49]}`)
    // Rounding differs between devices and grows with the steps.
    close(got.losses, losses, 1e-4, `losses on ${device}`)
  }
})
