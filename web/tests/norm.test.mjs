/** Tests batch normalisation against PyTorch 2, plans of forward functions, and equations with inputs on the GPU. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { open, skipWasm as skip } from './browser.mjs'

let browser
before(async () => { if (!skip) browser = await open() })
after(() => browser?.close())

const run = (device, body, argument) => browser.run(`
import * as g from '/dist/index.js'
export default async function (argument) {
  await g.init({ device: '${device}', seed: 3 })
  ${body}
}`, argument)
const close = (a, b, what) => {
  assert.equal(a.length, b.length, what)
  a.forEach((v, i) => assert.ok(Math.abs(v - b[i]) <= 2e-5 * Math.max(1, Math.abs(b[i])), `${what}: ${v} at ${i}, expected ${b[i]}`))
}

/**
 * Three steps of SGD with rate 0.1 on the mean of (norm(x) - t)², then the first six outputs in evaluation. Data: element i of batch k
 * is (1 + i mod 5) sin(k + 1.7 i) for k = 0, 1, 2; t is tanh of batch 100; the evaluation uses batch 7.
 */
const TORCH = {
  '1d': { options: {}, shape: [4, 3], losses: [0.5154504, 1.821861, 2.406404], mean: [-0.2147253, 0.2932172, 0.09151413], variance: [2.548631, 2.042277, 2.005899],
    weight: [0.7739644, 0.8232853, 0.7973402], bias: [-0.04282319, -0.03318981, 0.07174391], output: [0.3797867, 0.5617529, -1.37791, -0.810688, 2.516169, 0.1364596] },
  '1d positions': { options: { momentum: 0.3, eps: 1e-3 }, shape: [2, 3, 5], losses: [0.4147983, 1.659111, 2.592892], mean: [0.3394689, -0.1734063, -0.1306836],
    variance: [4.088316, 4.371084, 4.12751], weight: [0.8210252, 0.8096086, 0.7916881], bias: [0.01024494, 0.04071041, -0.02971099],
    output: [0.1391586, 0.4107563, -1.135886, -0.8578171, 1.788144, 0.187796] },
  '2d': { options: {}, shape: [3, 2, 2, 4], losses: [0.3753947, 1.570521, 2.509238], mean: [0.06317648, -0.07403835], variance: [2.231461, 2.188445],
    weight: [0.7300518, 0.7140481], bias: [-0.004397723, 0.014452], output: [0.2858078, 0.6127364, -1.248994, -0.9142758, 2.27073, 0.06563112] },
}

for (const device of ['cpu', 'webgpu']) {
  describe(device, { skip }, () => {
    for (const [name, expected] of Object.entries(TORCH)) {
      test(`batch normalisation ${name} trains and evaluates as PyTorch's`, async () => {
        const got = await run(device, `
          const { shape, options } = argument
          const size = shape.reduce((a, b) => a * b, 1)
          const data = (k) => Float32Array.from({ length: size }, (_, i) => Math.sin(k + 1.7 * i) * (1 + (i % 5)))
          class Model extends g.nn.Module { norm = new g.nn.BatchNorm(shape[1], options) }
          const model = new Model()
          const train = await g.compileTraining({ model, loss: (m, { x, t }) => g.losses.mse(m.norm.forward(x), t), inputs: { x: shape, t: shape }, optimizer: g.optim.sgd({ rate: 0.1 }) })
          const predict = await train.attach({ forward: (m, { x }) => m.norm.forward(x), inputs: { x: shape } })
          const losses = []
          for (let k = 0; k < 3; k++) {
            const r = await train.step({ x: data(k), t: data(100).map(Math.tanh) })
            if (r.type !== 'completed') throw r.error
            losses.push(r.loss)
          }
          const first = await predict.run({ x: data(7) })
          if (first.type !== 'completed') throw first.error
          const again = await predict.run({ x: data(7) })
          const state = Object.fromEntries(Object.entries(await train.params()).map(([n, v]) => [n, [...v]]))
          // A file contains the statistics: a new model that loads it gives the same outputs.
          const file = await train.saveParams()
          await train.reset(0)
          const cleared = [...(await train.params())['norm.running_var']]
          await train.loadParams(file)
          const loaded = await predict.run({ x: data(7) })
          const bad = await train.step({ x: data(0).fill(NaN), t: data(0) })
          const kept = [...(await train.params())['norm.running_mean']]
          return { losses, state, names: train.names, parameters: [...model.parameters().keys()], buffers: [...model.buffers().keys()], output: [...first.output].slice(0, 6), same: again.output.every((v, i) => v === first.output[i]), loaded: [...loaded.output].slice(0, 6), cleared, bad: bad.type, kept }`, expected)
        close(got.losses, expected.losses, 'losses')
        close(got.state['norm.running_mean'], expected.mean, 'running mean')
        close(got.state['norm.running_var'], expected.variance, 'running variance')
        close(got.state['norm.weight'], expected.weight, 'weight')
        close(got.state['norm.bias'], expected.bias, 'bias')
        close(got.output, expected.output, 'evaluation')
        close(got.loaded, expected.output, 'evaluation with a file')
        assert.ok(got.same, 'evaluation changes nothing')
        assert.deepEqual(got.parameters, ['norm.weight', 'norm.bias'])
        assert.deepEqual(got.buffers, ['norm.running_mean', 'norm.running_var'])
        assert.deepEqual(got.names, [...got.parameters, ...got.buffers])
        assert.deepEqual(got.cleared, expected.variance.map(() => 1))
        assert.equal(got.bad, 'failed')
        close(got.kept, expected.mean, 'a batch that is not finite changes nothing')
      })
    }

    test('a forward function describes its plan', async () => {
      const got = await run(device, `
        class Model extends g.nn.Module { l = new g.nn.Linear(3, 2) }
        const f = await g.compileForward({ model: new Model(), forward: (m, { x }) => m.l.forward(x).relu(), inputs: { x: [null, 3] } })
        const early = await f.explain().then(() => '', (e) => e.message)
        await f.run({ x: new Float32Array(12) })
        return { early, ...(await f.explain()) }`)
      assert.match(got.early, /run the function first/)
      // Four rows, two outputs, three inputs.
      assert.match(got.text, /product 4×2×3/)
      if (device === 'webgpu') assert.deepEqual([got.dispatches, got.code.length, /@compute/.test(got.code[0])], [2, 2, true])
    })

    test('equations run on arrays and on tensors of the device', async () => {
      const got = await run(device, `
        const x = g.tensor([[1, 2], [3, 4]]), w = g.tensor([10, 100])
        const both = await g.equations.run('Y[i] = X[i, j] W[j]\\n', { X: x, W: w })
        const arrays = await g.equations.run('Y[i] = X[i, j] W[j]\\n', { X: [[1, 2], [3, 4]], W: w })
        return [x.device, [...both.Y.data], [...arrays.Y.data], await x.array()]`)
      assert.deepEqual(got, [device, [210, 430], [210, 430], [[1, 2], [3, 4]]])
    })
  })
}
