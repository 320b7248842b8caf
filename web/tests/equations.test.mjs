/** Programs of equations in the page: checking, formatting, gradients, drawings, values, and training one. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { open, skipWasm as skip } from './browser.mjs'

let browser
before(async () => { if (!skip) browser = await open() })
after(() => browser?.close())

const source = 'H[b,h] = tanh(W[h,d] X[b,d] + B[h])\nLoss avg= (H[b,h] V[h] - Y[b]) ** 2\n'
const inputs = { W: [[0.1, -0.2], [0.3, 0.4], [0.5, 0.6]], X: [[1, 2], [3, -1], [0, 1], [2, 2]], B: [0.1, 0, -0.1], V: [1, -1, 0.5], Y: [0, 1, -1, 0.5] }

/** The loss and its gradient by V, in plain JavaScript. */
function expected() {
  const { W, X, B, V, Y } = inputs
  const H = X.map((x) => W.map((w, h) => Math.tanh(w.reduce((s, v, d) => s + v * x[d], B[h]))))
  const residual = H.map((h, b) => h.reduce((s, v, i) => s + v * V[i], 0) - Y[b])
  return { loss: residual.reduce((s, r) => s + r * r, 0) / 4, byV: V.map((_, i) => residual.reduce((s, r, b) => s + 2 * r * H[b][i], 0) / 4), H }
}

test('a program is checked, formatted, drawn and run', { skip }, async () => {
  const got = await browser.run(`
    import * as g from '/dist/index.js'
    export default async function ({ source, inputs }) {
      await g.init({ device: 'cpu' })
      const e = g.equations
      const broken = e.check('A[i] = B[i] +\\nC = D[i')
      let error
      try { e.format('A[i] = (') } catch (x) { error = { name: x.name, message: x.message } }
      return { checked: e.check(source), broken, error, formatted: e.format('A[i]=tanh( B[i] )'), gradient: e.gradient(source, { wrt: ['V'] }),
        svg: e.draw(source, inputs), values: await e.run(source, inputs), hidden: await e.run(source, inputs, ['H']) }
    }`, { source, inputs })
  const { loss, H } = expected()
  assert.deepEqual(got.checked.diagnostics.filter((d) => d.severity === 'error'), [])
  assert.deepEqual(got.checked.inputs.map((i) => i.name).sort(), ['B', 'V', 'W', 'X', 'Y'])
  assert.ok(got.broken.diagnostics.length > 0)
  const { line, column, message } = got.broken.diagnostics[0]
  assert.ok(line >= 1 && column >= 1 && message.length > 0)
  assert.match(got.broken.text, /\^/)
  assert.equal(got.error.name, 'ProgramError')
  assert.match(got.formatted, /^A\[i\] = tanh\(B\[i\]\)\s*$/)
  assert.match(got.gradient, /Grad_V\[h\]/)
  assert.match(got.svg, /^<svg[\s\S]*<\/svg>\s*$/)
  assert.ok(Math.abs(Object.values(got.values.Loss.data)[0] - loss) < 1e-5)
  assert.deepEqual(got.hidden.H.shape, [4, 3])
  H.flat().forEach((v, i) => assert.ok(Math.abs(Object.values(got.hidden.H.data)[i] - v) < 1e-5))
})

test('a program is differentiated and trained', { skip }, async () => {
  const got = await browser.run(`
    import * as g from '/dist/index.js'
    export default async function ({ source, inputs }) {
      const result = {}
      for (const device of ['cpu', 'webgpu']) {
        await g.init({ device })
        const fixed = Object.fromEntries(Object.entries(inputs).map(([k, v]) => [k, g.tensor(v)]))
        const byV = await g.grad((V) => g.equations.apply(source, { ...fixed, V }).Loss)(fixed.V).array()
        class Program extends g.nn.Module {
          W = this.param([3, 2], { init: { values: inputs.W.flat() } })
          B = this.param([3], { init: { values: inputs.B } })
          V = this.param([3], { init: { values: inputs.V } })
        }
        const train = await g.compileTraining({ model: new Program(), inputs: { X: [4, 2], Y: [4] }, optimizer: g.optim.adam({ rate: 0.05 }),
          loss: ({ W, B, V }, { X, Y }) => g.equations.apply(source, { W, B, V, X, Y }).Loss })
        const losses = []
        for (let i = 0; i < 100; i++) { const r = await train.step({ X: inputs.X.flat(), Y: inputs.Y }); if (r.type === 'failed') throw r.error; losses.push(r.loss) }
        result[device] = { byV, losses }
      }
      return result
    }`, { source, inputs })
  const { loss, byV } = expected()
  for (const { byV: g, losses } of Object.values(got)) {
    g.forEach((v, i) => assert.ok(Math.abs(v - byV[i]) < 1e-5, `${v}, expected ${byV[i]}`))
    assert.ok(Math.abs(losses[0] - loss) < 1e-5)
    assert.ok(losses[99] < 0.02, `${losses[99]}`)
  }
})
