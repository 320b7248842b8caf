/** Parts that need no browser: optimisers and schedules against plain JavaScript, conversions, names, initial values. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import * as g from '../dist/index.js'
import { root, skipModule as skip } from './browser.mjs'

const file = join(root, 'dist/gradus.wasm')
before(async () => { if (!skip) await g.init({ device: 'cpu', wasm: readFileSync(file) }) })

const close = (a, b, tolerance = 1e-5) => {
  const [x, y] = [a, b].map((v) => [...v])
  assert.equal(x.length, y.length)
  x.forEach((v, i) => assert.ok(Math.abs(v - y[i]) <= tolerance * Math.max(1, Math.abs(y[i])), `${v} at ${i}, expected ${y[i]}`))
}

/** Trains a model of one parameter on sum((w - x)²) / 2. */
async function descend(optimizer, batches, between = () => null) {
  class Model extends g.nn.Module { w = this.param([3], { init: { values: [1, -2, 3] }, decay: true }) }
  const train = await g.compileTraining({ model: new Model(), inputs: { x: [3] }, optimizer, loss: (m, { x }) => m.w.sub(x).square().sum().mul(0.5) })
  for (const [i, x] of batches.entries()) {
    await between(i, train)
    const r = await train.step({ x })
    if (r.type !== 'completed') throw r.error
  }
  return (await train.params()).w
}

const batches = Array.from({ length: 7 }, (_, i) => [Math.sin(i), 1 + 0.2 * i, -i])

/** Computes these steps in plain JavaScript: `rule` returns the new weight from the weight, its gradient, the step and its state. */
function expected(rule, clip = Infinity) {
  const w = [1, -2, 3]
  const states = w.map(() => ({ m: 0, v: 0 }))
  batches.forEach((x, step) => {
    const grads = w.map((v, i) => v - x[i])
    const norm = Math.hypot(...grads)
    const scale = Math.min(1, clip / (norm + 1e-6))
    w.forEach((v, i) => { w[i] = rule(v, grads[i] * scale, step, states[i]) })
  })
  return w
}

const adam = (rate, decay = 0) => (w, g, step, s) => {
  s.m = 0.9 * s.m + 0.1 * g
  s.v = 0.999 * s.v + 0.001 * g * g
  const r = typeof rate === 'function' ? rate(step) : rate
  return w - r * decay * w - (r * s.m / (1 - 0.9 ** (step + 1))) / (Math.sqrt(s.v / (1 - 0.999 ** (step + 1))) + 1e-8)
}

test('optimisers take the steps of their formulas', { skip }, async () => {
  const { optim } = g
  close(await descend(optim.sgd({ rate: 0.1 }), batches), expected((w, g) => w - 0.1 * g))
  close(await descend(optim.sgd({ rate: 0.1, momentum: 0.9 }), batches), expected((w, g, i, s) => { s.m = 0.9 * s.m + g; return w - 0.1 * s.m }))
  close(await descend(optim.adam({ rate: 0.05 }), batches), expected(adam(0.05)))
  close(await descend(optim.adam({ rate: 0.05, clip: 0.5 }), batches), expected(adam(0.05), 0.5))
  close(await descend(optim.adamw({ rate: 0.05, weightDecay: 0.1 }), batches), expected(adam(0.05, 0.1)))
})

test('schedules are followed, and begin anew with setLR', { skip }, async () => {
  const { optim, schedule } = g
  const follow = (rate) => expected((w, g, i) => w - rate(i) * g)
  const run = (rate) => descend(optim.sgd({ rate }), batches)
  close(await run(schedule.linear(0.2, 0.05, 4)), follow((i) => 0.2 - 0.15 * Math.min(i / 4, 1)))
  close(await run(schedule.cosine(0.2, 5, 0.02)), follow((i) => 0.02 + 0.09 * (1 + Math.cos(Math.PI * Math.min(i / 5, 1)))))
  close(await run(schedule.warmup(3, 0.2)), follow((i) => (i < 3 ? (0.2 * (i + 1)) / 4 : 0.2)))
  close(await run(schedule.stairs(0.2, 2, 0.5)), follow((i) => 0.2 * 0.5 ** Math.floor(i / 2)))
  close(await run(schedule.milestones(0.2, [1, 4], 0.1)), follow((i) => 0.2 * 0.1 ** ((i >= 1) + (i >= 4))))
  const changed = await descend(optim.sgd({ rate: 0.2 }), batches, (i, train) => i === 3 && train.setLR(schedule.linear(0.1, 0, 2)))
  close(changed, follow((i) => (i < 3 ? 0.2 : 0.1 * (1 - Math.min((i - 3) / 2, 1)))))
  const restarted = await descend(optim.sgd({ rate: 0.1, momentum: 0.9 }), batches, (i, train) => i === 3 && train.resetOptimizer())
  close(restarted, expected((w, g, i, s) => { s.m = i === 3 ? g : 0.9 * s.m + g; return w - 0.1 * s.m }))
})

test('AdamW does not decay vectors, unless an option requests it', { skip }, async () => {
  class Model extends g.nn.Module { layer = new g.nn.Linear(2, 2) }
  const model = new Model().init(3)
  const train = await g.compileTraining({ model, inputs: { x: [1, 2] }, optimizer: g.optim.adamw({ rate: 0.1, weightDecay: 0.5 }),
    loss: (m, { x }) => m.layer.forward(x).sum().mul(0) })
  const before = await train.params()
  await train.step({ x: [1, 1] })
  const after = await train.params()
  close(after['layer.bias'], before['layer.bias'], 0)
  close(after['layer.weight'], before['layer.weight'].map((w) => w * (1 - 0.05)))
})

test('names are property paths; a shared parameter has one; seeds repeat', { skip }, async () => {
  class Block extends g.nn.Module { norm = new g.nn.LayerNorm(4); out = new g.nn.Linear(4, 4, { bias: false }) }
  class Model extends g.nn.Module {
    blocks = [new Block(), new Block()]
    tied = this.blocks[0].out
    scale = this.param([1], { init: 'ones' })
  }
  const model = new Model().init(1)
  assert.deepEqual([...model.parameters().keys()],
    ['blocks.0.norm.weight', 'blocks.0.norm.bias', 'blocks.0.out.weight', 'blocks.1.norm.weight', 'blocks.1.norm.bias', 'blocks.1.out.weight', 'scale'])
  assert.equal(model.size, 4 + 4 + 16 + 4 + 4 + 16 + 1)
  const values = async (m) => (await m.parameters().get('blocks.1.out.weight').data()).join()
  const first = await values(model)
  assert.equal(await values(new Model().init(1)), first)
  assert.notEqual(await values(new Model().init(2)), first)
  assert.notEqual((await model.parameters().get('blocks.0.out.weight').data()).join(), first)
})

test('initial values have the spread that their names say', { skip }, async () => {
  class Model extends g.nn.Module {
    xavier = this.param([100, 60], { init: 'xavier' })
    kaiming = this.param([50, 8, 3, 3], { init: 'kaimingNormal' })
    linear = this.param([100, 64])
    normal = this.param([5000], { init: { normal: 0.5 } })
  }
  const p = new Model().init(4).parameters()
  const deviation = async (name) => {
    const v = await p.get(name).data()
    assert.ok(Math.abs(v.reduce((a, b) => a + b) / v.length) < 0.05)
    return Math.sqrt(v.reduce((a, b) => a + b * b, 0) / v.length)
  }
  for (const [name, value] of Object.entries({ xavier: Math.sqrt(2 / 160), kaiming: Math.sqrt(2 / 72), linear: 1 / 8 / Math.sqrt(3), normal: 0.5 })) {
    const got = await deviation(name)
    assert.ok(Math.abs(got / value - 1) < 0.05, `${name}: ${got}, expected ${value}`)
  }
})

test('elements of every dtype go to the module and back', { skip }, async () => {
  for (const dtype of ['f32', 'f16', 'bf16', 'f64', 'i32', 'u32', 'i8', 'u8', 'i64', 'bool']) {
    const values = dtype === 'bool' ? [1, 0, 1] : [0, 1, 2, 100].concat(/f/.test(dtype) ? [-1.5, 0.25] : [])
    assert.deepEqual([...await g.tensor(values, { dtype }).data()].map(Number), values, dtype)
  }
  // The module rounds to 16 bits.
  const x = Float32Array.from({ length: 200 }, (_, i) => (i % 2 ? -1 : 1) * 1.37 ** (i / 2 - 60))
  for (const dtype of ['f16', 'bf16']) {
    const ours = await g.tensor(x, { dtype }).data()
    const theirs = await g.tensor(x).toDtype(dtype).data()
    assert.deepEqual([...ours], [...theirs], dtype)
  }
  assert.deepEqual(await g.tensor([Infinity, -Infinity, NaN], { dtype: 'f16' }).array(), [Infinity, -Infinity, NaN])
})

test('only the latest of overlapping calls waits', async () => {
  const started = []
  const gates = []
  const f = g.singleFlight((n) => { started.push(n); return new Promise((done) => gates.push(() => done(n))) })
  const calls = [f(1), f(2), f(3)]
  gates[0]()
  assert.deepEqual(await calls[0], { type: 'completed', value: 1 })
  assert.deepEqual(await calls[1], { type: 'aborted' })
  await new Promise((done) => setTimeout(done))
  gates[1]()
  assert.deepEqual(await calls[2], { type: 'completed', value: 3 })
  assert.deepEqual(started, [1, 3])
})

test('steps without waiting train too', { skip }, async () => {
  class Model extends g.nn.Module { w = this.param([1], { init: { value: 4 } }) }
  const train = await g.compileTraining({ model: new Model(), inputs: { x: [1] }, optimizer: g.optim.sgd({ rate: 0.25 }), loss: (m, { x }) => m.w.sub(x).square().sum() })
  for (let i = 0; i < 4; i++) await train.step({ x: [0] }, { read: false })
  close((await train.params()).w, [4 * 0.5 ** 4])
  assert.equal(train.steps, 4)
})

test('fit takes the steps in order, some ahead, and stops when told', { skip }, async () => {
  class Model extends g.nn.Module { w = this.param([1], { init: { value: 1 } }) }
  for (const ahead of [0, 1, 3]) {
    const train = await g.compileTraining({ model: new Model(), inputs: { x: [1] }, optimizer: g.optim.sgd({ rate: 0.5 }), loss: (m, { x }) => m.w.mul(x).sum() })
    const seen = []
    const all = await train.fit({ steps: 5, ahead, batch: (i) => ({ x: [i] }), onStep: (r) => { seen.push([r.step, r.loss]) } })
    // w goes 1, 1, 0.5, -0.5, -2; the loss is w * i.
    assert.deepEqual(seen, [[1, 0], [2, 1], [3, 1], [4, -1.5], [5, -8]])
    assert.equal(all.loss, -8)
    const stopped = await train.fit({ steps: 50, ahead, batch: () => ({ x: [0] }), onStep: (r) => r.step < 8 })
    assert.equal(stopped.step, 8)
    assert.equal(train.steps, 8 + ahead)
    assert.equal((await train.fit({ steps: 0, ahead, batch: () => ({ x: [0] }) })).type, 'aborted')
  }
})
