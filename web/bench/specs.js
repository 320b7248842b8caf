/** Three training steps with the models of tensorgrad's samples: sine regression, a digit CNN and an addition transformer. */
import * as g from '../dist/index.js'

const { nn, optim, losses } = g
const floats = (n) => Float32Array.from({ length: n }, () => Math.random() * 2 - 1)
const ints = (n, most) => Int32Array.from({ length: n }, () => Math.floor(Math.random() * most))

class Sine extends nn.Module {
  a = new nn.Linear(1, 64)
  b = new nn.Linear(64, 64)
  c = new nn.Linear(64, 1)
  forward(x) { return this.c.forward(this.b.forward(this.a.forward(x).relu()).relu()) }
}

class Digits extends nn.Module {
  conv1 = new nn.Conv2d(1, 16, 3, { padding: 1 })
  conv2 = new nn.Conv2d(16, 32, 3, { padding: 1 })
  hidden = new nn.Linear(1568, 64)
  out = new nn.Linear(64, 10)
  forward(x) {
    const h = this.conv2.forward(this.conv1.forward(x).relu().maxPool2d(2)).relu().maxPool2d(2)
    return this.out.forward(this.hidden.forward(h.reshape([-1, 1568])).relu())
  }
}

class Block extends nn.Module {
  norm1 = new nn.LayerNorm(64)
  norm2 = new nn.LayerNorm(64)
  q = new nn.Linear(64, 64, { bias: false })
  k = new nn.Linear(64, 64, { bias: false })
  v = new nn.Linear(64, 64, { bias: false })
  o = new nn.Linear(64, 64, { bias: false })
  up = new nn.Linear(64, 256)
  down = new nn.Linear(256, 64)
  forward(x) {
    const h = this.norm1.forward(x)
    const heads = (layer) => layer.forward(h).reshape([-1, 8, 4, 16]).transpose(1, 2)
    const mixed = heads(this.q).attention(heads(this.k), heads(this.v), { causal: true })
    x = x.add(this.o.forward(mixed.transpose(1, 2).reshape([-1, 8, 64])))
    return x.add(this.down.forward(this.up.forward(this.norm2.forward(x)).relu()))
  }
}

class Addition extends nn.Module {
  tokens = this.param([12, 64], { init: { normal: 0.02 } })
  places = this.param([8, 64], { init: { normal: 0.02 } })
  block1 = new Block()
  block2 = new Block()
  block3 = new Block()
  norm = new nn.LayerNorm(64)
  forward(ids) {
    let x = this.tokens.embedding(ids).add(this.places)
    for (const block of [this.block1, this.block2, this.block3]) x = block.forward(x)
    return this.norm.forward(x).matmul(this.tokens.transpose(0, 1))
  }
}

const specs = {
  sine: () => ({
    spec: {
      model: new Sine(),
      loss: (m, { x, y }) => losses.mse(m.forward(x), y),
      inputs: { x: [256, 1], y: [256, 1] },
      optimizer: optim.adam({ rate: 0.005 }),
    },
    batch: () => { const x = floats(256); return { x, y: x.map(Math.sin) } },
  }),
  digits: () => ({
    spec: {
      model: new Digits(),
      loss: (m, { x, y }) => losses.crossEntropy(m.forward(x), y),
      inputs: { x: [64, 1, 28, 28], y: { shape: [64], dtype: 'i32' } },
      optimizer: optim.adamw({ rate: 1e-3, clip: 1 }),
    },
    batch: () => ({ x: floats(64 * 784), y: ints(64, 10) }),
  }),
  addition: () => ({
    spec: {
      model: new Addition(),
      loss: (m, { tokens, targets, mask }) => {
        const each = m.forward(tokens).reshape([1024, 12]).crossEntropy(targets.reshape([1024]), { reduction: 'none' })
        return each.reshape([128, 8]).mul(mask).sum().mul(1 / 384)
      },
      inputs: { tokens: { shape: [128, 8], dtype: 'i32' }, targets: { shape: [128, 8], dtype: 'i32' }, mask: [8] },
      optimizer: optim.adamw({ rate: 1e-3, clip: 1 }),
    },
    batch: () => ({ tokens: ints(1024, 12), targets: ints(1024, 12), mask: new Float32Array([0, 0, 0, 0, 0, 1, 1, 1]) }),
  }),
}

const trained = new Map()

/** Takes steps for `seconds` and waits for each loss. Returns times in milliseconds. */
globalThis.gradus = async (name, seconds, device) => {
  const key = `${name} ${device}`
  let first = null
  if (!trained.has(key)) {
    await g.init({ device })
    const { spec, batch } = specs[name]()
    const start = performance.now()
    const train = await g.compileTraining(spec)
    const inputs = batch()
    await train.step(inputs)
    first = performance.now() - start
    trained.set(key, { train, inputs, dispatches: (await train.explain()).dispatches })
  }
  const { train, inputs, dispatches } = trained.get(key)
  const times = []
  const end = performance.now() + seconds * 1000
  while (performance.now() < end || times.length < 3) {
    const start = performance.now()
    const result = await train.step(inputs)
    if (result.type !== 'completed') throw result.error
    times.push(performance.now() - start)
  }
  times.sort((a, b) => a - b)
  return { name, first, median: times[times.length >> 1], steps: times.length, dispatches }
}
