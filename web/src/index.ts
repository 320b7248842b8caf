/** The package: tensors, modules, training, transforms and equations in a web page. README.md is a summary. */
import { compileLocal, LocalForward, type ForwardSpec, type TrainingSpec } from './train.js'
import { importSpec, namedFunction, type ModuleSpec } from './spec.js'
import { compileRemote } from './worker.js'
import { runtime } from './module.js'
import type { InputDecls } from './inputs.js'
import type { Module } from './nn.js'
import type { Forward, ForwardOptions, Training } from './training.js'

export { init, checkWebGPU, isReady, type InitOptions, type Session, type DeviceName } from './module.js'
export { Tensor, tensor, tidy, type Nested, type TensorOptions } from './tensor.js'
export * from './ops.generated.js'
export { causalMask, categorical, mergeHeads, nearestUpsample2d, softmaxCausal, splitHeads, takeAlongAxis, whereCausal } from './functions.js'
export { capture, LocalForward, LocalTraining, type ForwardSpec, type TrainingSpec, type Value } from './train.js'
export { importSpec, namedFunction, type ModuleSpec } from './spec.js'
export { grad, valueAndGrad, vmap } from './transform.js'
export { singleFlight, type SingleFlightResult } from './flight.js'
export * from './errors.js'
export * as nn from './nn.js'
export * as losses from './losses.js'
export * as optim from './optim.js'
export { schedule, type Optimizer, type Rate, type Schedule } from './optim.js'
export * as equations from './equations.js'
export * as safetensors from './safetensors.js'
export type { Reduction } from './apply.js'
export type { Data } from './arrays.js'
export type { DType, Plan } from './plan.js'
export type { InputArrays, InputDecl, InputDecls, InputShape, InputTensors } from './inputs.js'
export type { Explained, FitOptions, Forward, ForwardOptions, RunResult, StepOptions, StepResult, Training } from './training.js'

/** Compiles a training step of a model, here or in a worker. */
export function compileTraining<M extends Module, const I extends InputDecls>(spec: TrainingSpec<M, I>): Promise<Training<M, I>>
export function compileTraining(spec: ModuleSpec): Promise<Training<Module, InputDecls>>
export async function compileTraining(spec: TrainingSpec<Module, InputDecls> | ModuleSpec): Promise<Training<Module, InputDecls>> {
  if (!('module' in spec)) return compileLocal(spec)
  if (spec.worker) return compileRemote(spec)
  const found = await importSpec(spec)
  const training = await compileLocal(found.spec)
  const attach = training.attach.bind(training)
  training.attach = (<J extends InputDecls>(o: ForwardOptions<Module, J>) =>
    attach(typeof o.forward === 'string' ? { ...o, forward: namedFunction(o.forward, found.exports, found.spec) } : o)) as typeof attach
  return training
}

/** Compiles a function of a model. Parameters are shared with every training of the same model. */
export async function compileForward<M extends Module, const J extends InputDecls>(spec: ForwardSpec<M, J>): Promise<Forward<J>> {
  return new LocalForward(spec)
}

/** Counts of GPU work since `init`: submissions, runs of programs, dispatches and reads. */
export function counts(): { submits: number, runs: number, dispatches: number, reads: number } {
  return { ...(runtime().executor?.counts ?? { submits: 0, runs: 0, dispatches: 0, reads: 0 }) }
}
