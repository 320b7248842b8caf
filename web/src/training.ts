/** The interface of compiled training and inference, on this thread and in a worker. */
import type { Data } from './arrays.js'
import type { InputArrays, InputDecls, InputTensors } from './inputs.js'
import type { Module } from './nn.js'
import type { Rate } from './optim.js'
import type { Tensor } from './tensor.js'
import type { Value } from './train.js'

/** The result of a step: completed; aborted by its signal or because the training was disposed of; or failed. */
export type StepResult =
  | { type: 'completed', loss: number, step: number, captures: Record<string, Value> }
  | { type: 'aborted' }
  | { type: 'failed', error: Error }

export type RunResult =
  | { type: 'completed', /** The first output. */ output: Data, outputs: Value[], captures: Record<string, Value> }
  | { type: 'aborted' }
  | { type: 'failed', error: Error }

export interface StepOptions {
  signal?: AbortSignal
  /** If false, the step does not wait for the loss, which is NaN in the result. */
  read?: boolean
}

export interface ForwardOptions<M extends Module, J extends InputDecls> {
  /** A function of the model, or the name of an export of the module that training was compiled from. */
  forward: ((model: M, inputs: InputTensors<J>) => Tensor | Tensor[]) | string
  inputs: J
  /** If true, layers such as Dropout act as in training. */
  training?: boolean
}

export interface FitOptions<I extends InputDecls> {
  steps: number
  batch: (step: number) => InputArrays<I> | Promise<InputArrays<I>>
  signal?: AbortSignal
  onStep?: (result: StepResult & { type: 'completed' }) => boolean | void | Promise<boolean | void>
  /** Number of steps that are started before the loss of an earlier one is known; by default 1. With 0 the device waits for the page after every step. */
  ahead?: number
}

/** Implements `Training.fit`. */
export async function fitWith<I extends InputDecls>(
  step: (inputs: InputArrays<I>, options: StepOptions) => Promise<StepResult>,
  { steps, batch, signal, onStep, ahead = 1 }: FitOptions<I>,
): Promise<StepResult> {
  const begun: Promise<StepResult>[] = []
  let last: StepResult = { type: 'aborted' }
  for (let i = 0; i < steps || begun.length; i++) {
    if (i < steps) begun.push(step(await batch(i), { signal }))
    if (i < steps - 1 && begun.length <= ahead) continue
    last = await begun.shift()!
    if (last.type === 'completed' && (await onStep?.(last)) !== false) continue
    // Wait for work that was started, so that the next call finds the device idle.
    await Promise.all(begun)
    return last
  }
  return last
}

/** A description of a compiled step or function: its plan as text, kernels launched per run, bytes of temporaries, and the text of the kernels. */
export interface Explained {
  text: string
  dispatches: number
  arena: number
  code: string[]
}

export interface Training<M extends Module, I extends InputDecls> {
  /** Names of the parameters, then of buffers such as running statistics. */
  readonly names: readonly string[]
  /** Number of steps taken. */
  readonly steps: number
  /** One step on a batch. Never rejects. */
  step(inputs: InputArrays<I>, options?: StepOptions): Promise<StepResult>
  /** Takes `steps` steps. Stops early if one does not complete or if `onStep` returns false. */
  fit(options: FitOptions<I>): Promise<StepResult>
  /** Compiles a function of the same parameters. */
  attach<J extends InputDecls>(options: ForwardOptions<M, J>): Promise<Forward<J>>
  /** Sets the learning rate; a schedule starts at the next step. */
  setLR(rate: Rate): Promise<void>
  /** Resets the optimiser. */
  resetOptimizer(): Promise<void>
  /** Draws new parameters, and resets the optimiser. */
  reset(seed?: number): Promise<void>
  /** Returns all parameters and buffers. */
  params(): Promise<Record<string, Float32Array>>
  /** Replaces all parameters and buffers. */
  setParams(values: Record<string, ArrayLike<number>>): Promise<void>
  /** Returns all parameters and buffers as a safetensors file. */
  saveParams(): Promise<Uint8Array>
  /** Replaces all parameters and buffers by those of a safetensors file. */
  loadParams(file: Uint8Array): Promise<void>
  /** Describes the compiled step. */
  explain(): Promise<Explained>
  dispose(): void
}

export interface Forward<J extends InputDecls> {
  /** Runs the function. Never rejects. */
  run(inputs: InputArrays<J>, options?: { signal?: AbortSignal }): Promise<RunResult>
  /** Describes the compiled function, for the sizes of the last run if they are not fixed. */
  explain(): Promise<Explained>
  dispose(): void
}
