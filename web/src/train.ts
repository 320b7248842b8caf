/** Compiled training and inference on this thread. A step is one program: loss, gradients and update. */
import { fromBytes, type Data } from './arrays.js'
import { FormatError, NonFiniteError, ShapeError, ValueError } from './errors.js'
import { feed, fieldsOf, fixedTypes, type Field, type InputArrays, type InputDecls, type InputTensors, type Resolved } from './inputs.js'
import { runtime, type Info, type Runtime } from './module.js'
import type { Module, Parameter } from './nn.js'
import { findNonFinite } from './nonfinite.js'
import { rateAt, type Optimizer, type Rate } from './optim.js'
import type { DType } from './plan.js'
import * as safetensors from './safetensors.js'
import { Tensor } from './tensor.js'
import { traced } from './transform.js'
import { fitWith, type Explained, type FitOptions, type Forward, type ForwardOptions, type RunResult, type StepOptions, type StepResult, type Training } from './training.js'

export interface TrainingSpec<M extends Module, I extends InputDecls> {
  model: M
  /** The loss of a batch, a scalar. Traced once for each combination of input types. */
  loss: (model: M, inputs: InputTensors<I>) => Tensor
  inputs: I
  optimizer: Optimizer
  /** Seed of the initial parameters and of random numbers. Without it the model keeps its current values. */
  seed?: number
}

export interface ForwardSpec<M extends Module, I extends InputDecls> extends ForwardOptions<M, I> {
  model: M
}

/** A value that was read: elements in row-major order. */
export interface Value {
  data: Data
  shape: readonly number[]
  dtype: DType
}

let captures: Map<string, Tensor> | null = null

/** Names an intermediate value of a traced loss or forward function; every result then contains it. Returns the tensor. */
export function capture<T extends Tensor>(name: string, t: T): T {
  if (captures?.has(name)) throw new ValueError(`two intermediates are captured as ${name}; names must differ`)
  captures?.set(name, t)
  return t
}

/** A function of a model whose captured intermediates are additional results. */
class Traced {
  readonly number: number
  /** For each combination of input types: the number of results, and the names of captured intermediates. */
  private known = new Map<string, { results: number, names: string[] }>()
  constructor(readonly session: Runtime, readonly fields: Field[], model: Module, training: boolean, f: (inputs: Record<string, Tensor>) => Tensor[]) {
    this.number = session.register(traced((...args) => {
      const modes = [...model.modules()].map((m) => [m, m.training] as const)
      const outer = captures
      captures = new Map()
      try {
        model.train(training)
        const outs = f(Object.fromEntries(fields.map((field, i) => [field.name, args[i]!])))
        this.known.set(signature(args), { results: outs.length, names: [...captures.keys()] })
        return [...outs, ...captures.values()]
      } finally {
        captures = outer
        modes.forEach(([m, on]) => { m.training = on })
      }
    }))
  }

  /** Splits results into those of the function and captured ones. */
  split(values: Value[], types: Resolved[]): { outputs: Value[], captures: Record<string, Value> } {
    const { results, names } = this.known.get(signature(types)) ?? { results: values.length, names: [] }
    return {
      outputs: values.slice(0, results),
      captures: Object.fromEntries(names.map((name, i) => [name, values[results + i]!])),
    }
  }
}

function signature(types: readonly { shape: readonly number[], dtype: string }[]): string {
  return types.map((t) => `${t.dtype}[${t.shape}]`).join()
}

/** Reads results and frees them. */
async function collect(session: Runtime, infos: Info[]): Promise<Value[]> {
  const reading = session.readAll(infos.map((i) => i.id))
  infos.forEach((i) => session.free(i.id))
  const bytes = await reading
  return infos.map(({ shape, dtype }, i) => ({ shape, dtype: dtype as DType, data: fromBytes(dtype as DType, bytes[i]!) }))
}

/** The plan of a compiled step or function at these types of inputs. */
function explained(session: Runtime, fields: Field[], types: Resolved[] | null, target: { step: number | null } | { compiled: number }): Explained {
  if (!types || ('step' in target && target.step === null)) {
    throw new ValueError(`batch sizes are not known yet; ${'step' in target ? 'take a step' : 'run the function'} first`)
  }
  const { ids } = feed(fields, Object.fromEntries(types.map((t, i) => [fields[i]!.name, zerosOf(t)])))
  try {
    return session.call('explain', { ...target, ins: ids }) as Explained
  } finally {
    ids.forEach((id) => session.free(id))
  }
}

function zerosOf({ shape, dtype }: Resolved): Uint8Array {
  return new Uint8Array(shape.reduce((a, b) => a * b, dtype === 'c64' || dtype === 'c128' ? 2 : 1))
}

/** Compiles a training step. If all extents are fixed, errors in the loss are thrown here; otherwise the first step returns them. */
export async function compileLocal<M extends Module, I extends InputDecls>(spec: TrainingSpec<M, I>): Promise<LocalTraining<M, I>> {
  const made = new LocalTraining(spec)
  await made.prepare()
  return made
}

export class LocalTraining<M extends Module, I extends InputDecls> implements Training<M, I> {
  readonly session = runtime()
  readonly names: string[]
  steps = 0
  private fields: Field[]
  private traced: Traced
  private parameters: Map<string, Parameter>
  /** Parameters and buffers. */
  private state: Map<string, Parameter>
  private stepId: number | null = null
  private types: Resolved[] | null
  private isDisposed = false
  /** The learning rate: a schedule, the step at which it started (`from`), and the rate last sent to the module. */
  private rate: { schedule: Rate, from: number, last: number }

  constructor(private spec: TrainingSpec<M, I>) {
    const { model, loss } = spec
    this.fields = fieldsOf(spec.inputs)
    this.rate = { schedule: spec.optimizer.rate, from: 0, last: rateAt(spec.optimizer.rate, 0) }
    this.parameters = model.parameters()
    const buffers = model.buffers()
    this.state = new Map([...this.parameters, ...buffers])
    this.names = [...this.state.keys()]
    if (!this.parameters.size) throw new ValueError('the model has no parameters; assign them to properties of a Module')
    if (spec.seed !== undefined) this.seed(spec.seed)
    this.traced = new Traced(this.session, this.fields, model, true, (inputs) => [this.checked(loss(model, inputs as InputTensors<I>))])
    this.types = fixedTypes(this.fields)
    if (this.types) this.compile(this.types)
  }

  get model(): M {
    return this.spec.model
  }

  async step(inputs: InputArrays<I>, options: StepOptions = {}): Promise<StepResult> {
    const { signal, read = true } = options
    if (signal?.aborted || this.isDisposed) return { type: 'aborted' }
    try {
      const { session } = this
      const { ids, types } = feed(this.fields, inputs)
      let answer: { loss: Info, outputs: Info[] }
      try {
        if (this.stepId === null) this.compile(types)
        this.types = types
        this.applyRate()
        answer = session.call('step', { step: this.stepId, batch: ids }) as typeof answer
      } finally {
        ids.forEach((id) => session.free(id))
      }
      const step = ++this.steps
      const infos = [answer.loss, ...answer.outputs]
      if (!read) {
        infos.forEach((i) => session.free(i.id))
        return { type: 'completed', loss: NaN, step, captures: {} }
      }
      const values = await collect(session, infos)
      if (signal?.aborted) return { type: 'aborted' }
      const loss = Number(values[0]!.data[0])
      if (!Number.isFinite(loss)) throw await this.blame(loss, inputs)
      return { type: 'completed', loss, step, captures: this.traced.split(values, types).captures }
    } catch (e) {
      return { type: 'failed', error: e as Error }
    }
  }

  fit(options: FitOptions<I>): Promise<StepResult> {
    return fitWith((inputs, o) => this.step(inputs, o), options)
  }

  async attach<J extends InputDecls>(options: ForwardOptions<M, J>): Promise<Forward<J>> {
    if (typeof options.forward === 'string') throw new ValueError('a forward function has a name only if the model comes from a module')
    return new LocalForward({ ...options, model: this.model })
  }

  async setLR(rate: Rate): Promise<void> {
    this.rate = { ...this.rate, schedule: rate, from: this.steps }
  }

  async resetOptimizer(): Promise<void> {
    if (this.stepId !== null) this.session.call('restart', { step: this.stepId })
  }

  async reset(seed = this.spec.seed ?? 0): Promise<void> {
    this.seed(seed)
    this.steps = this.rate.from = 0
    await this.resetOptimizer()
  }

  async params(): Promise<Record<string, Float32Array>> {
    const bytes = await this.session.readAll([...this.state.values()].map((p) => p.id))
    return Object.fromEntries(this.names.map((name, i) => [name, fromBytes('f32', bytes[i]!) as Float32Array]))
  }

  async setParams(values: Record<string, ArrayLike<number>>): Promise<void> {
    const unknown = Object.keys(values).filter((n) => !this.state.has(n))
    const missing = this.names.filter((n) => !values[n])
    if (unknown.length || missing.length) {
      throw new ValueError(`these parameters do not fit the model: missing ${missing.join(', ') || 'none'}; unknown ${unknown.join(', ') || 'none'}`)
    }
    for (const [name, p] of this.state) p.assign(values[name]!)
  }

  saveParams(): Promise<Uint8Array> {
    return safetensors.save(this.state)
  }

  async loadParams(file: Uint8Array): Promise<void> {
    const tensors = safetensors.load(file)
    for (const [name, t] of Object.entries(tensors)) {
      const p = this.state.get(name)
      if (p && `${p.shape}` !== `${t.shape}`) {
        throw new FormatError(`${name} has the shape [${t.shape}] in the file and [${p.shape}] in the model`, 'file')
      }
    }
    // Files of PyTorch contain a count of batches for BatchNorm, which is not used here.
    const read = Object.entries(tensors).filter(([n]) => this.state.has(n) || !n.endsWith('num_batches_tracked'))
    const entries = await Promise.all(read.map(async ([n, t]) => [n, Float32Array.from(await t.data() as Float32Array, Number)] as const))
    Object.values(tensors).forEach((t) => t.dispose())
    await this.setParams(Object.fromEntries(entries))
  }

  /** Compiles the step's kernels if the sizes of inputs are known, so that the first step does not wait for them. */
  async prepare(): Promise<void> {
    if (this.types) await this.explain()
    await this.session.idle()
  }

  async explain(): Promise<Explained> {
    return explained(this.session, this.fields, this.types, { step: this.stepId })
  }

  dispose(): void {
    if (this.isDisposed) return
    this.isDisposed = true
    if (this.stepId !== null) this.session.call('drop', { step: this.stepId })
    this.session.unregister(this.traced.number)
  }

  private seed(seed: number): void {
    this.session.seed(seed)
    this.model.init(seed)
  }

  private compile(types: Resolved[]): void {
    const parameters = [...this.parameters].map(([name, p]) => ({ name, id: p.id }))
    // Buffers must have their values before a trace begins.
    for (const b of this.state.values()) void b.id
    const noDecay = [...this.parameters].filter(([, p]) => !p.decay).map(([name]) => name)
    const optimizer = { ...this.spec.optimizer, rate: this.rate.last, noDecay }
    const request = { function: this.traced.number, parameters, inputs: types, optimizer, captures: [] }
    this.stepId = (this.session.call('train', request) as { step: number }).step
  }

  /** Sends the rate of the next step to the module, if it has changed. */
  private applyRate(): void {
    const { schedule, from, last } = this.rate
    const rate = rateAt(schedule, this.steps - from)
    if (rate !== last) this.session.call('rate', { step: this.stepId, rate })
    this.rate.last = rate
  }

  private checked(loss: Tensor): Tensor {
    if (!(loss instanceof Tensor) || loss.size !== 1) {
      throw new ShapeError(`the loss must be a scalar, but it is ${loss instanceof Tensor ? loss : typeof loss}; take its mean() or sum()`, 'shape')
    }
    return loss.rank ? loss.reshape([]) : loss
  }

  /** Makes the error for a loss that is not finite. Such a step does not change the parameters, so the loss can be computed again. */
  private async blame(loss: number, inputs: InputArrays<I>): Promise<Error> {
    const { spec } = this
    const { text, line } = await findNonFinite(spec.model, (tensors) => spec.loss(spec.model, tensors as InputTensors<I>), this.fields, inputs)
    return new NonFiniteError(`the loss is ${loss} at step ${this.steps}${text && `: ${text}`}`, 'nonfinite', line)
  }
}

/** Compiles a function of a model. Each run reads the current parameters. */
export class LocalForward<M extends Module, J extends InputDecls> implements Forward<J> {
  private session = runtime()
  private fields: Field[]
  private traced: Traced
  private compiled: number
  /** Types of the last run, or the fixed types. */
  private types: Resolved[] | null
  private isDisposed = false

  constructor(spec: ForwardSpec<M, J>) {
    const { model, forward } = spec
    if (typeof forward === 'string') throw new ValueError('a forward function has a name only if the model comes from a module')
    this.fields = fieldsOf(spec.inputs)
    this.types = fixedTypes(this.fields)
    // Parameters must have their values before a trace begins.
    for (const p of model.state().values()) void p.id
    this.traced = new Traced(this.session, this.fields, model, spec.training ?? false, (inputs) => [forward(model, inputs as InputTensors<J>)].flat())
    this.compiled = (this.session.call('compile', { function: this.traced.number }) as { compiled: number }).compiled
  }

  async run(inputs: InputArrays<J>, options: { signal?: AbortSignal } = {}): Promise<RunResult> {
    const { signal } = options
    if (signal?.aborted || this.isDisposed) return { type: 'aborted' }
    try {
      const { session } = this
      const { ids, types } = feed(this.fields, inputs)
      let infos: Info[]
      try {
        infos = session.call('run', { compiled: this.compiled, ins: ids }) as Info[]
        this.types = types
      } finally {
        ids.forEach((id) => session.free(id))
      }
      const values = await collect(session, infos)
      if (signal?.aborted) return { type: 'aborted' }
      const { outputs, captures } = this.traced.split(values, types)
      return { type: 'completed', output: outputs[0]!.data, outputs, captures }
    } catch (e) {
      return { type: 'failed', error: e as Error }
    }
  }

  async explain(): Promise<Explained> {
    return explained(this.session, this.fields, this.types, { compiled: this.compiled })
  }

  dispose(): void {
    if (this.isDisposed) return
    this.isDisposed = true
    this.session.call('drop', { compiled: this.compiled })
    this.session.unregister(this.traced.number)
  }
}
