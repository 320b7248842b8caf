/**
 * Small versions of the twelve models of tensorgrad's samples: sine regression, addition transformer, names, a decoder that draws its next
 * token, digit CNN, digits with dropout, autoencoder, flow matching, picture of coordinates, splines, policy gradient and self-play.
 */
import * as g from 'gradus'
import type { InputArrays, InputDecls, InputTensors, Tensor, TrainingSpec } from 'gradus'
const { nn, losses, optim, schedule, capture } = g
const wave = (n: number, f: (v: number) => number = Math.sin) => Float32Array.from({ length: n }, (_, i) => f(i * 0.7))
const ids = (n: number, classes: number, k = 7) => Int32Array.from({ length: n }, (_, i) => (i * k + (i >> 1)) % classes)

/** A training, a function of the trained model, and inputs of both. */
interface Sample<M extends g.nn.Module, I extends InputDecls, J extends InputDecls> extends TrainingSpec<M, I> {
  batch: InputArrays<I>
  forward?: (model: M, inputs: InputTensors<J>) => Tensor | Tensor[]
  forwardInputs?: J
  forwardBatch?: InputArrays<J>
  /** Bounds of all outputs of the function. */
  range?: [number, number]
}
const sample = <M extends g.nn.Module, const I extends InputDecls, const J extends InputDecls>(s: Sample<M, I, J>) => s

/** Regression of a sine. */
class Mlp extends nn.Module {
  net = new nn.Sequential(new nn.Linear(1, 16), (x) => x.relu(), new nn.Linear(16, 1))
}
const sine = () => sample({ model: new Mlp(), loss: (m, { x, y }) => losses.mse(m.net.forward(x), y), inputs: { x: [null, 1], y: [null, 1] },
  optimizer: optim.adam({ rate: 0.01 }), batch: { x: wave(32), y: wave(32).map(Math.sin) } })

/** A decoder with captured attention, learnt positions and tied embeddings, on masked targets. */
class Block extends nn.Module {
  norm1 = new nn.LayerNorm(16)
  attention = new nn.MultiHeadAttention(16, 2, { causal: true, bias: false })
  norm2 = new nn.LayerNorm(16)
  up = new nn.Linear(16, 32)
  down = new nn.Linear(32, 16)
  forward(x: Tensor, i: number): Tensor {
    x = x.add(this.attention.forward(this.norm1.forward(x), undefined, (a) => capture('attention.' + i, a)))
    return x.add(this.down.forward(this.up.forward(this.norm2.forward(x)).relu()))
  }
}
class Decoder extends nn.Module {
  tokens = this.param([12, 16], { init: { normal: 0.1 } })
  positions = this.param([8, 16], { init: { normal: 0.1 } })
  blocks = [new Block(), new Block()]
  norm = new nn.LayerNorm(16)
  forward(ids: Tensor): Tensor {
    let x = this.tokens.embedding(ids).add(this.positions.embedding(g.arange(0, 8, 1, 'i32')))
    this.blocks.forEach((b, i) => { x = b.forward(x, i) })
    return this.norm.forward(x).matmul(this.tokens.transpose(0, 1))
  }
}
const transformer = () => sample({ model: new Decoder(), inputs: { ids: { shape: [null, 8], dtype: 'i32' }, next: { shape: [null, 8], dtype: 'i32' }, mask: [8] },
  loss: (m, { ids, next, mask }) => losses.crossEntropy(m.forward(ids), next, { reduction: 'none' }).mul(mask).sum().mul(1 / 20),
  optimizer: optim.adamw({ rate: schedule.linear(0.01, 0.001, 50), weightDecay: 0.01, clip: 1 }),
  batch: { ids: ids(32, 12), next: ids(32, 12, 5), mask: [0, 0, 0, 1, 1, 1, 1, 1] } })

/** A model of names: predicts a letter from a window of letters. */
class Names extends nn.Module {
  table = new nn.Embedding(27, 8)
  hidden = new nn.Linear(24, 32)
  out = new nn.Linear(32, 27)
  forward(ids: Tensor): Tensor { return this.out.forward(this.hidden.forward(this.table.forward(ids).reshape([ids.shape[0], 24])).tanh()) }
}
const names = () => sample({ model: new Names(), inputs: { ids: { shape: [16, 3], dtype: 'i32' }, next: { shape: [16], dtype: 'i32' } },
  loss: (m, { ids, next }) => losses.crossEntropy(m.forward(ids), next),
  optimizer: optim.adamw({ rate: schedule.warmup(3, schedule.cosine(0.02, 40)), clip: 1 }), batch: { ids: ids(48, 27), next: ids(16, 27, 3) } })

/** A decoder with root mean square norms and rotary positions that draws its next token. */
class Rotary extends nn.Module {
  tokens = this.param([9, 16], { init: { normal: 0.2 } })
  norm = new nn.RMSNorm(16)
  attention = new nn.MultiHeadAttention(16, 2, { causal: true, bias: false, rope: true })
  forward(ids: Tensor): Tensor {
    const x = this.tokens.embedding(ids)
    return x.add(this.attention.forward(this.norm.forward(x))).matmul(this.tokens.transpose(-1, -2))
  }
}
const rotary = () => sample({ model: new Rotary(), inputs: { ids: { shape: [4, 6], dtype: 'i32' }, next: { shape: [4, 6], dtype: 'i32' } },
  loss: (m, { ids, next }) => losses.nll(m.forward(ids).logSoftmax(-1), next),
  forward: (m, { ids, temperature }) => g.categorical(m.forward(ids).div(temperature)).toDtype('i32'), forwardInputs: { ids: { shape: [null, 6], dtype: 'i32' }, temperature: [1] },
  forwardBatch: { ids: ids(6, 9), temperature: [0.5] }, range: [0, 8],
  optimizer: optim.adam({ rate: 0.01 }), batch: { ids: ids(24, 9), next: ids(24, 9, 5) } })

/** A convolutional classifier. */
class Cnn extends nn.Module {
  conv1 = new nn.Conv2d(1, 4, 3, { padding: 1 })
  conv2 = new nn.Conv2d(4, 8, 3, { padding: 1 })
  out = new nn.Linear(8 * 2 * 2, 10)
  forward(x: Tensor): Tensor {
    x = this.conv1.forward(x).relu().maxPool2d(2)
    x = this.conv2.forward(x).relu().maxPool2d(2)
    return this.out.forward(x.reshape([x.shape[0], -1]))
  }
}
const cnn = () => sample({ model: new Cnn(), inputs: { x: [null, 1, 8, 8], y: { shape: [null], dtype: 'i32' } },
  loss: (m, { x, y }) => losses.crossEntropy(m.forward(x), y), optimizer: optim.adamw({ rate: 0.01, weightDecay: 0.01, clip: 1 }),
  forward: (m, { x }) => m.forward(x).argmax(-1).toDtype('i32'), forwardInputs: { x: [null, 1, 8, 8] }, forwardBatch: { x: wave(64) }, range: [0, 9],
  batch: { x: wave(8 * 64), y: ids(8, 10) } })

/** A classifier with dropout, whose layers are a list. */
class Digits extends nn.Module {
  layers = [new nn.Linear(16, 32), new nn.Linear(32, 10)]
  drop = new nn.Dropout(0.1)
  forward(x: Tensor): Tensor { return this.layers[1].forward(this.drop.forward(this.layers[0].forward(x).relu())) }
}
const digits = () => sample({ model: new Digits(), inputs: { x: [null, 16], y: { shape: [null], dtype: 'i32' } },
  loss: (m, { x, y }) => losses.crossEntropy(m.forward(x), y), optimizer: optim.adamw({ rate: 0.01, clip: 1 }),
  forward: (m, { x }) => m.forward(x).softmax(), forwardInputs: { x: [null, 16] }, forwardBatch: { x: wave(16) }, range: [0, 1],
  batch: { x: wave(16 * 16), y: ids(16, 10) } })

/** An autoencoder with a sampled code. */
class Vae extends nn.Module {
  enc = new nn.Linear(12, 16)
  mean = new nn.Linear(16, 2)
  logVariance = new nn.Linear(16, 2)
  dec = new nn.Linear(2, 12)
  encode(x: Tensor): [Tensor, Tensor] { const h = this.enc.forward(x).relu(); return [this.mean.forward(h), this.logVariance.forward(h)] }
}
const vae = () => sample({ model: new Vae(), inputs: { x: [null, 12] }, optimizer: optim.adam({ rate: 0.01, clip: 1 }),
  loss: (m, { x }) => {
    const [mean, logVariance] = m.encode(x)
    const code = mean.add(logVariance.mul(0.5).exp().mul(g.randn([...mean.shape])))
    const kl = logVariance.add(1).sub(mean.square()).sub(logVariance.exp()).mul(-0.5).sum()
    return m.dec.forward(code).sigmoid().sub(x).square().sum().add(kl.mul(0.1)).div(x.shape[0])
  },
  forward: (m, { x }) => m.encode(x), forwardInputs: { x: [null, 12] }, forwardBatch: { x: wave(24) },
  batch: { x: wave(8 * 12, (v) => 0.5 + 0.5 * Math.sin(v)) } })

/** A velocity field between noise and images. */
class Flow extends nn.Module {
  times = new nn.Embedding(11, 4)
  conv1 = new nn.Conv2d(1, 4, 3, { padding: 1 })
  conv2 = new nn.Conv2d(4, 1, 3, { padding: 1 })
  forward(x: Tensor, t: Tensor): Tensor { return this.conv2.forward(this.conv1.forward(x).relu().add(this.times.forward(t).reshape([-1, 4, 1, 1]))) }
}
const flow = () => sample({ model: new Flow(), inputs: { image: [4, 1, 6, 6], t: { shape: [4], dtype: 'i32' }, table: [11] }, optimizer: optim.adam({ rate: 0.01 }),
  loss: (m, { image, t, table }) => {
    const noise = g.randn([4, 1, 6, 6])
    const part = g.takeAlongAxis(table.unsqueeze(0).expand([4, 11]), t).reshape([4, 1, 1, 1])
    const velocity = noise.sub(image)
    return losses.mse(m.forward(image.add(part.mul(velocity)), t), velocity)
  }, batch: { image: wave(144), t: ids(4, 11), table: Float32Array.from({ length: 11 }, (_, i) => i / 10) } })

/** Colours as a function of coordinates, which are encoded as waves. */
class Nerf extends nn.Module {
  l1 = new nn.Linear(2 * 2 * 3, 16, { init: 'kaiming' })
  l2 = new nn.Linear(16, 3)
  forward(p: Tensor): Tensor {
    const angles = p.unsqueeze(-1).mul(g.tensor([1, 2, 4].map((k) => k * Math.PI))).reshape([p.shape[0], 6])
    return this.l2.forward(this.l1.forward(g.cat([angles.sin(), angles.cos()], -1)).relu()).sigmoid()
  }
}
const nerf = () => sample({ model: new Nerf(), inputs: { p: [null, 2], c: [null, 3] }, loss: (m, { p, c }) => losses.mse(m.forward(p), c),
  optimizer: optim.adam({ rate: 0.01 }), batch: { p: wave(32), c: wave(48, (v) => 0.5 + 0.4 * Math.cos(v)) } })

/** A network with a learnt spline on each edge. */
class Splines extends nn.Module {
  weights = this.param([3, 1 * 8], { init: { normal: 0.1 } })
  rest = this.param([1, 3])
  out = new nn.Linear(3, 1)
  forward(x: Tensor): Tensor {
    const distance = x.add(1).mul(3.5).unsqueeze(-1).sub(g.arange(0, 8)).abs()
    const inner = distance.pow(3).mul(0.5).sub(distance.square()).add(2 / 3)
    const outer = distance.neg().add(2).clamp(0).pow(3).mul(1 / 6)
    const basis = distance.lt(1).where(inner, outer).reshape([x.shape[0], 8])
    return this.out.forward(basis.matmul(this.weights.transpose(0, 1)).add(x.silu().matmul(this.rest)))
  }
}
const splines = () => sample({ model: new Splines(), inputs: { x: [null, 1], y: [null, 1] }, loss: (m, { x, y }) => losses.huber(m.forward(x), y),
  optimizer: optim.sgd({ rate: schedule.stairs(0.1, 5, 0.9), momentum: 0.9, nesterov: true }), batch: { x: wave(32), y: wave(32, Math.cos) } })

/** A policy gradient with returns. */
class Policy extends nn.Module {
  l1 = new nn.Linear(4, 16)
  l2 = new nn.Linear(16, 2)
  forward(x: Tensor): Tensor { return this.l2.forward(this.l1.forward(x).tanh()) }
}
const policy = () => sample({ model: new Policy(), inputs: { state: [16, 4], action: { shape: [16], dtype: 'i32' }, gain: [16] },
  loss: (m, { state, action, gain }) => m.forward(state).logSoftmax(-1).mul(action.oneHot(2).toDtype('f32')).sum(-1).mul(gain).mean().neg(),
  forward: (m, { state }) => m.forward(state).softmax(-1), forwardInputs: { state: [null, 4] }, forwardBatch: { state: wave(4) }, range: [0, 1],
  optimizer: optim.rmsprop({ rate: 0.01 }), batch: { state: wave(64), action: ids(16, 2), gain: wave(16, (v) => 1 + Math.cos(v)) } })

/** A network for self-play, with a policy and a value. */
class Player extends nn.Module {
  body = new nn.Linear(9, 16)
  policy = new nn.Linear(16, 9)
  value = new nn.Linear(16, 1)
  forward(board: Tensor): [Tensor, Tensor] { const h = this.body.forward(board).gelu(); return [this.policy.forward(h), this.value.forward(h).tanh().reshape([-1])] }
}
const player = () => sample({ model: new Player(), inputs: { board: [8, 9], move: { shape: [8], dtype: 'i32' }, result: [8] },
  loss: (m, { board, move, result }) => {
    const [logits, value] = m.forward(board)
    return losses.crossEntropy(logits, move).add(losses.mse(value, result))
  },
  forward: (m, { board }) => m.forward(board), forwardInputs: { board: [null, 9] }, forwardBatch: { board: wave(9, Math.round) },
  optimizer: optim.lion({ rate: schedule.milestones(0.005, [6, 9], 0.5) }), batch: { board: wave(72, (v) => Math.round(Math.sin(v))), move: ids(8, 9), result: wave(8, Math.sign) } })

export default { sine, transformer, names, rotary, cnn, digits, vae, flow, nerf, splines, policy, player }
