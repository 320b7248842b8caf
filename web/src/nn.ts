/** Modules: classes whose properties are parameters, modules and lists of them. Names are property paths, as in PyTorch. */
import { ShapeError, ValueError } from './errors.js'
import { causalMask, mergeHeads, splitHeads } from './functions.js'
import { generator, initialValues, type Init } from './init.js'
import { isReady, runtime, type Info } from './module.js'
import { fromRaw, keepAlive, Tensor } from './tensor.js'
import { toBytes } from './arrays.js'

export type { Init } from './init.js'

export interface ParamOptions {
  init?: Init
  /** If true, AdamW applies weight decay to it. The default is true for parameters of two or more axes. */
  decay?: boolean
}

let made = 0

/** A trainable tensor. Its value is created in the module at its first use. */
export class Parameter extends Tensor {
  readonly decay: boolean
  /** The property path in its model, once the model has been traversed. */
  name = ''
  private seed = 0
  constructor(shape: readonly number[], readonly options: ParamOptions = {}) {
    // A unique name until the model sets one, so that initial values of two parameters differ.
    super({ id: -1, shape: [...shape], dtype: 'f32', device: isReady() ? runtime().device : 'cpu' }, null)
    keepAlive(this)
    this.decay = options.decay ?? shape.length >= 2
    this.name = `parameter.${made++}`
  }

  override get id(): number {
    const session = runtime()
    if (this.owner !== session) this.materialize()
    return this.handle
  }

  /** Draws the initial value again. */
  reset(seed = this.seed): void {
    this.seed = seed
    if (this.owner === null) return
    this.assign(this.initial())
  }

  /** Replaces the value, which compiled steps then use. */
  assign(values: ArrayLike<number>): void {
    if (values.length !== this.size) throw new ValueError(`${this.name} has ${this.size} elements, not ${values.length}`)
    const session = runtime()
    const id = this.id
    const value = fromRaw(toBytes('f32', values), this.shape, 'f32', session.device)
    session.call('set', { id, value: value.id })
    value.dispose()
  }

  private initial(): Float32Array {
    return initialValues(this.options.init ?? 'linear', this.shape, generator(this.seed, this.name))
  }

  private materialize(): void {
    const session = runtime()
    const value = fromRaw(toBytes('f32', this.initial()), this.shape, 'f32', session.device)
    this.handle = (session.call('cell', { id: value.id }) as Info).id
    ;(this as { device: string }).device = session.device
    this.owner = session
    session.watch(this, this.handle)
    value.dispose()
  }
}

/** A tensor of the state that is not trained, such as a running mean. Its value is saved and loaded with the parameters. */
export class Buffer extends Parameter {
  /** Replaces the value. Inside a traced function, each run of the compiled function replaces it. */
  set(value: Tensor): void {
    if (`${value.shape}` !== `${this.shape}`) throw new ShapeError(`${this.name} has the shape [${this.shape}], not [${value.shape}]`, 'shape')
    runtime().call('set', { id: this.id, value: value.id })
  }
}

/** Base class of models and layers. */
export abstract class Module {
  /** If true, layers such as Dropout act as in training. */
  training = true

  /** A new parameter; assign it to a property, which names it. */
  param(shape: readonly number[], options: ParamOptions = {}): Parameter {
    return new Parameter(shape, options)
  }

  /** A new buffer; assign it to a property, which names it. */
  buffer(shape: readonly number[], options: ParamOptions = {}): Buffer {
    return new Buffer(shape, options)
  }

  /** Parameters by property path. A parameter that is used twice has its first name. */
  parameters(): Map<string, Parameter> {
    return new Map([...this.state()].filter(([, p]) => !(p instanceof Buffer)))
  }

  /** Buffers by property path. */
  buffers(): Map<string, Buffer> {
    return new Map([...this.state()].filter((entry): entry is [string, Buffer] => entry[1] instanceof Buffer))
  }

  /** Parameters and buffers by property path, as in files. */
  state(): Map<string, Parameter> {
    const found = new Map<string, Parameter>()
    const seen = new Set<unknown>()
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null || seen.has(value)) return
      if (value instanceof Parameter) {
        seen.add(value)
        value.name = path
        found.set(path, value)
      } else if (value instanceof Module || Array.isArray(value)) {
        seen.add(value)
        for (const [key, inner] of Object.entries(value)) visit(inner, path ? `${path}.${key}` : key)
      }
    }
    visit(this, '')
    return found
  }

  /** This module and all modules inside it. */
  *modules(): Generator<Module> {
    yield this
    for (const value of Object.values(this)) {
      for (const inner of Array.isArray(value) ? value : [value]) if (inner instanceof Module) yield* inner.modules()
    }
  }

  /** Switches training behaviour on or off for this module and all below. */
  train(on = true): this {
    for (const m of this.modules()) m.training = on
    return this
  }

  eval(): this {
    return this.train(false)
  }

  /** Draws all initial values from a seed. */
  init(seed: number): this {
    for (const p of this.state().values()) p.reset(seed)
    return this
  }

  /** The number of trainable numbers. */
  get size(): number {
    return [...this.parameters().values()].reduce((sum, p) => sum + p.size, 0)
  }
}

/** A module with one input and one output, for `Sequential`. */
export interface Layer {
  forward(x: Tensor): Tensor
}

/** x Wᵀ + b, with `weight` [out, in]. */
export class Linear extends Module implements Layer {
  weight: Parameter
  bias: Parameter | null
  constructor(inputs: number, outputs: number, options: { bias?: boolean, init?: Init } = {}) {
    super()
    this.weight = this.param([outputs, inputs], { init: options.init })
    this.bias = options.bias === false ? null : this.param([outputs], { init: { uniform: 1 / Math.sqrt(inputs) } })
  }

  forward(x: Tensor): Tensor {
    return x.linear(this.weight, this.bias ?? undefined)
  }
}

export interface Conv2dOptions {
  stride?: number | number[]
  padding?: number | number[]
  dilation?: number | number[]
  groups?: number
  bias?: boolean
  init?: Init
}

/** Convolution of [n, c, h, w], with `weight` [out, in / groups, h, w]. */
export class Conv2d extends Module implements Layer {
  weight: Parameter
  bias: Parameter | null
  constructor(inputs: number, outputs: number, kernel: number | [number, number], readonly options: Conv2dOptions = {}) {
    super()
    const [h, w] = typeof kernel === 'number' ? [kernel, kernel] : kernel
    const { groups = 1, bias = true, init } = options
    this.weight = this.param([outputs, inputs / groups, h, w], { init })
    this.bias = bias ? this.param([outputs], { init: { uniform: 1 / Math.sqrt((inputs / groups) * h * w) } }) : null
  }

  forward(x: Tensor): Tensor {
    const { stride, padding, dilation, groups } = this.options
    return x.conv2d(this.weight, this.bias ?? undefined, stride, padding, dilation, groups)
  }
}

/** Rows of a table at integers. */
export class Embedding extends Module implements Layer {
  weight: Parameter
  constructor(count: number, features: number, options: { init?: Init } = {}) {
    super()
    this.weight = this.param([count, features], { init: options.init ?? { normal: 1 } })
  }

  forward(ids: Tensor): Tensor {
    return this.weight.embedding(ids)
  }
}

/** Normalises the last axis to mean 0 and variance 1, then scales and shifts. */
export class LayerNorm extends Module implements Layer {
  weight: Parameter
  bias: Parameter | null
  constructor(readonly features: number, readonly options: { eps?: number, bias?: boolean } = {}) {
    super()
    this.weight = this.param([features], { init: 'ones' })
    this.bias = options.bias === false ? null : this.param([features], { init: 'zeros' })
  }

  forward(x: Tensor): Tensor {
    return x.layerNorm([this.features], this.weight, this.bias ?? undefined, this.options.eps)
  }
}

/** Normalises the last axis to mean square 1, then scales. */
export class RMSNorm extends Module implements Layer {
  weight: Parameter
  constructor(readonly features: number, readonly options: { eps?: number } = {}) {
    super()
    this.weight = this.param([features], { init: 'ones' })
  }

  forward(x: Tensor): Tensor {
    return x.rmsNorm([this.features], this.weight, this.options.eps ?? 1e-6)
  }
}

/** Normalises groups of channels to mean 0 and variance 1. */
export class GroupNorm extends Module implements Layer {
  weight: Parameter
  bias: Parameter
  constructor(readonly groups: number, channels: number, readonly options: { eps?: number } = {}) {
    super()
    this.weight = this.param([channels], { init: 'ones' })
    this.bias = this.param([channels], { init: 'zeros' })
  }

  forward(x: Tensor): Tensor {
    return x.groupNorm(this.groups, this.weight, this.bias, this.options.eps)
  }
}

/**
 * Normalises each channel (axis 1) to mean 0 and variance 1 over the batch and all later axes, then scales and shifts.
 * While training the statistics are those of the batch, and the running ones move towards them; otherwise the running ones are used.
 * Names and formulas are those of PyTorch's BatchNorm1d and BatchNorm2d. It does not count batches.
 */
export class BatchNorm extends Module implements Layer {
  weight: Parameter
  bias: Parameter
  running_mean: Buffer
  running_var: Buffer
  constructor(readonly channels: number, readonly options: { eps?: number, momentum?: number } = {}) {
    super()
    this.weight = this.param([channels], { init: 'ones' })
    this.bias = this.param([channels], { init: 'zeros' })
    this.running_mean = this.buffer([channels], { init: 'zeros' })
    this.running_var = this.buffer([channels], { init: 'ones' })
  }

  forward(x: Tensor): Tensor {
    if (x.rank < 2 || x.shape[1] !== this.channels) {
      throw new ShapeError(`BatchNorm(${this.channels}) takes [batch, ${this.channels}, ...], not [${x.shape}]`, 'shape')
    }
    const { eps = 1e-5 } = this.options
    // One number per channel, in a shape that broadcasts.
    const spread = (t: Tensor) => t.reshape([1, this.channels, ...x.shape.slice(2).map(() => 1)])
    const [mean, variance] = this.training ? this.observe(x) : [this.running_mean.stopGradient(), this.running_var.stopGradient()]
    const scale = variance.add(eps).rsqrt().mul(this.weight)
    return x.sub(spread(mean)).mul(spread(scale)).add(spread(this.bias))
  }

  /** Statistics of the batch, which also move the running ones. */
  private observe(x: Tensor): [mean: Tensor, variance: Tensor] {
    const axes = x.shape.map((_, i) => i).filter((i) => i !== 1)
    const count = x.size / this.channels
    if (count < 2) throw new ShapeError(`BatchNorm needs more than one element per channel while training, not [${x.shape}]`, 'shape')
    const wide = x.mean(axes, true)
    const mean = wide.reshape([this.channels])
    const variance = x.sub(wide).square().mean(axes)
    const { momentum = 0.1 } = this.options
    const move = (running: Buffer, now: Tensor): void => {
      const before = running.stopGradient()
      const after = before.mul(1 - momentum).add(now.stopGradient().mul(momentum))
      // A batch whose results are not finite changes neither statistics nor parameters.
      running.set(after.isFinite().where(after, before))
    }
    move(this.running_mean, mean)
    move(this.running_var, variance.mul(count / (count - 1)))
    return [mean, variance]
  }
}

// The same layer accepts any number of axes.
export { BatchNorm as BatchNorm1d, BatchNorm as BatchNorm2d }

/** Sets elements to 0 with probability p while training. */
export class Dropout extends Module implements Layer {
  constructor(readonly p = 0.5) {
    super()
  }

  forward(x: Tensor): Tensor {
    return this.training && this.p > 0 ? x.dropout(this.p) : x
  }
}

/** Attention over [..., positions, features] with several heads. */
export class MultiHeadAttention extends Module {
  q: Linear
  k: Linear
  v: Linear
  out: Linear
  constructor(readonly features: number, readonly heads: number, readonly options: { causal?: boolean, bias?: boolean, rope?: boolean } = {}) {
    super()
    if (features % heads) throw new ValueError(`${features} features do not divide into ${heads} heads`)
    const { bias } = options
    this.q = new Linear(features, features, { bias })
    this.k = new Linear(features, features, { bias })
    this.v = new Linear(features, features, { bias })
    this.out = new Linear(features, features, { bias })
  }

  /** Attends from x to `context`, by default to x itself. `weights` receives the attention, [..., heads, queries, keys]. */
  forward(x: Tensor, context: Tensor = x, weights?: (attention: Tensor) => void): Tensor {
    let [q, k, v] = [this.q.forward(x), this.k.forward(context), this.v.forward(context)].map((t) => splitHeads(t, this.heads)) as [Tensor, Tensor, Tensor]
    if (this.options.rope) [q, k] = [q.rope(), k.rope()]
    if (!weights) return this.out.forward(mergeHeads(q.attention(k, v, { causal: this.options.causal ?? false })))
    let scores = q.matmul(k.transpose(-1, -2)).mul(1 / Math.sqrt(this.features / this.heads))
    if (this.options.causal) scores = scores.maskedFill(causalMask(scores.shape.at(-2)!, scores.shape.at(-1)!).not(), -Infinity)
    const attention = scores.softmax(-1)
    weights(attention)
    return this.out.forward(mergeHeads(attention.matmul(v)))
  }
}

/** Applies layers one after the other; items may also be functions of a tensor. */
export class Sequential extends Module implements Layer {
  layers: (Layer | ((x: Tensor) => Tensor))[]
  constructor(...layers: (Layer | ((x: Tensor) => Tensor))[]) {
    super()
    this.layers = layers
  }

  forward(x: Tensor): Tensor {
    return this.layers.reduce((h, layer) => (typeof layer === 'function' ? layer(h) : layer.forward(h)), x)
  }
}
