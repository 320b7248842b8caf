/** Tests bundles without wasm, on a program with a cell, a table and a constant. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { open, skip } from './browser.mjs'
import { inFolder, skipNative } from './native-command.mjs'

let browser
before(async () => { if (!skip) browser = await open() })
after(() => browser?.close())

/** A safetensors file of f32 tensors. */
function safetensors(tensors) {
  let at = 0
  const header = {}
  for (const [name, { shape, values }] of Object.entries(tensors)) {
    header[name] = { dtype: 'F32', shape, data_offsets: [at, at + 4 * values.length] }
    at += 4 * values.length
  }
  const text = new TextEncoder().encode(JSON.stringify(header).padEnd(Math.ceil(JSON.stringify(header).length / 8) * 8))
  const file = new Uint8Array(8 + text.length + at)
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true)
  file.set(text, 8)
  file.set(new Uint8Array(Float32Array.from(Object.values(tensors).flatMap((t) => t.values)).buffer), 8 + text.length)
  return [...file]
}

/** w := w - rate * (w - x) + c, and out = sum of the old w. */
const step = (n, inPlace) => ({
  version: 1,
  modules: [{ text: `
@group(0) @binding(0) var<storage, read_write> heap: array<f32>;
@group(0) @binding(1) var<uniform> p: array<vec4<u32>, 2>;
@compute @workgroup_size(1) fn main() {
  var sum = 0.0;
  for (var i = 0u; i < p[0].x; i++) {
    let w = heap[p[0].y + i];
    sum += w;
    heap[p[1].x + i] = w - heap[p[0].w] * (w - heap[p[0].z + i]) + heap[p[1].z + i];
  }
  heap[p[1].y] = sum;
}`, writable: [true], group: [1, 1, 1] }],
  buffers: [['input', 0, n], ['input', 1, n], ['input', 2, 1], ['output', 0, n], ['output', 1, 1], ['constant', 0, n]]
    .map(([kind, i, numel]) => ({ dtype: 'f32', numel, place: [kind, i] })),
  commands: [{ module: 0, bindings: [-1], parameters: [n, [0, 0], [1, 0], [2, 0], [3, 0], [4, 0], [5, 0]], groups: [1, 1, 1], step: 0 }],
  inputs: [0, 1, 2], outputs: [3, 4], donors: [inPlace ? 0 : null, null], arena: 0, checks: [],
})

const weights = safetensors({ w: { shape: [3], values: [1, 2, 3] }, rates: { shape: [2, 1], values: [0.5, 0.25] }, c: { shape: [3], values: [0, 0, 1] } })
const manifest = (inPlace) => ({
  gradus: 1, name: 'test', cells: { w: 'w' },
  programs: { step: { plan: step(3, inPlace), constants: ['c'],
    inputs: [{ from: 'cell', name: 'w' }, { from: 'input', name: 'x', shape: [3], dtype: 'f32' }, { from: 'table', name: 'rates' }],
    outputs: [{ to: 'cell', name: 'w' }, { to: 'output', name: 'sum', shape: [], dtype: 'f32' }] } },
})

for (const inPlace of [true, false]) {
  test(`cells, tables and constants, ${inPlace ? 'in place' : 'in two buffers'}`, { skip }, async () => {
    browser.serve(`/bundle-${inPlace}/plan.json`, JSON.stringify(manifest(inPlace)))
    browser.serve(`/bundle-${inPlace}/weights.safetensors`, Uint8Array.from(weights))
    const got = await browser.run(`
      import { load } from '/dist/bundle.js'
      export default async function (address) {
        const bundle = await load(address)
        const sums = []
        for (let i = 0; i < 4; i++) sums.push((await bundle.step({ x: [10, 20, 30] })).sum.data[0])
        const errors = []
        for (const inputs of [{}, { x: [1] }, { x: [1, 2, 3], y: [1] }]) await bundle.step(inputs).catch((e) => errors.push(e.message))
        return { sums, w: [...await bundle.cell('w')], errors, names: bundle.names }
      }`, `/bundle-${inPlace}/`)
    let w = [1, 2, 3]
    const sums = []
    for (let i = 0; i < 4; i++) {
      sums.push(w.reduce((a, b) => a + b))
      w = w.map((v, k) => v - (i === 0 ? 0.5 : 0.25) * (v - [10, 20, 30][k]) + [0, 0, 1][k])
    }
    assert.deepEqual(got.sums, sums)
    assert.deepEqual(got.w, w)
    assert.match(got.errors[0], /the input x \(f32\[3\]\) is missing/)
    assert.match(got.errors[1], /has 1 elements, not 3/)
    assert.match(got.errors[2], /no input y/)
    assert.deepEqual(got.names, ['step'])
  })
}

test('malformed bundles are refused', { skip }, async () => {
  const got = await browser.run(`
    import { load } from '/dist/bundle.js'
    export default async function ({ plan, weights }) {
      const file = Uint8Array.from(weights)
      const tries = { version: [{ ...plan, gradus: 2 }, file], empty: [plan, new Uint8Array(3)], cut: [plan, file.slice(0, -4)],
        header: [plan, Uint8Array.from(file, (b, i) => (i === 4 ? 9 : b))], missing: [{ ...plan, cells: { w: 'other' } }, file] }
      const messages = {}
      for (const [name, [plan, weights]] of Object.entries(tries)) await load({ plan, weights }).catch((e) => { messages[name] = e.message })
      return messages
    }`, { plan: manifest(true), weights })
  assert.match(got.version, /not a bundle of version 1/)
  assert.match(got.empty, /not a safetensors file/)
  assert.match(got.cut, /not a safetensors file: c has the bytes/)
  assert.match(got.header, /not a safetensors file: a header/)
  assert.match(got.missing, /no tensor other/)
})

test('an exported training step takes the steps of Adam', { skip: skip || skipNative }, async () => {
  const data = { W: [[0.1, -0.2], [0.3, 0.4], [0.5, 0.6]], X: [[1, 2], [3, -1], [0, 1], [2, 2]], B: [0.1, 0, -0.1], V: [1, -1, 0.5], Y: [0, 1, -1, 0.5] }
  const files = { 'net.eq': 'H[b,h] = tanh(W[h,d] X[b,d] + B[h])\nLoss avg= (H[b,h] V[h] - Y[b]) ** 2\n' }
  for (const [name, values] of Object.entries(data)) files[`${name}.json`] = values
  const inputs = Object.keys(data).flatMap((name) => ['--input', `${name}=${name}.json`])
  inFolder(files, (folder, gradus) => {
    gradus('export', 'net.eq', '--web', 'site', ...inputs, '--feed', 'X,Y', '--train', 'W,B,V', '--rate', '0.05')
    for (const file of ['plan.json', 'weights.safetensors']) browser.serve(`/exported/${file}`, readFileSync(join(folder, 'site', file)))
  })
  const losses = await browser.run(`
    import { load } from '/dist/bundle.js'
    export default async function ({ X, Y }) {
      const bundle = await load('/exported')
      const losses = []
      for (let i = 0; i < 30; i++) losses.push(Object.values(await bundle.step({ X: X.flat(), Y }))[0].data[0])
      return losses
    }`, data)
  const expected = adamLosses(data, 30, 0.05)
  losses.forEach((loss, i) => assert.ok(Math.abs(loss - expected[i]) < 1e-5, `step ${i}: ${loss}, expected ${expected[i]}`))
  assert.ok(losses[29] < 0.01)
})

/** Losses of the program above under Adam, in plain JavaScript. */
function adamLosses({ W, X, B, V, Y }, steps, rate) {
  const w = [...W.flat(), ...B, ...V]
  const state = w.map(() => ({ m: 0, v: 0 }))
  const losses = []
  for (let t = 1; t <= steps; t++) {
    const H = X.map((x) => [0, 1, 2].map((h) => Math.tanh(w[2 * h] * x[0] + w[2 * h + 1] * x[1] + w[6 + h])))
    const residual = H.map((row, b) => row.reduce((s, v, h) => s + v * w[9 + h], 0) - Y[b])
    losses.push(residual.reduce((s, r) => s + r * r, 0) / 4)
    const grads = w.map(() => 0)
    H.forEach((row, b) => row.forEach((v, h) => {
      const before = (residual[b] / 2) * w[9 + h] * (1 - v * v)
      grads[2 * h] += before * X[b][0]
      grads[2 * h + 1] += before * X[b][1]
      grads[6 + h] += before
      grads[9 + h] += (residual[b] / 2) * v
    }))
    w.forEach((_, i) => {
      const s = state[i]
      s.m = 0.9 * s.m + 0.1 * grads[i]
      s.v = 0.999 * s.v + 0.001 * grads[i] ** 2
      w[i] -= (rate * s.m / (1 - 0.9 ** t)) / (Math.sqrt(s.v / (1 - 0.999 ** t)) + 1e-8)
    })
  }
  return losses
}
