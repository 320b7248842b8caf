/** Imports training specs from modules by their addresses, which also works in a worker. */
import { ValueError } from './errors.js'
import type { InputDecls } from './inputs.js'
import type { DeviceName } from './module.js'
import type { Module } from './nn.js'
import type { Tensor } from './tensor.js'
import type { TrainingSpec } from './train.js'

/** A module that exports `model`, `loss`, `inputs` and `optimizer`, or one value with these fields, or a function that makes it. */
export interface ModuleSpec {
  module: string | URL
  /** The export with the spec, or with a function that makes it; by default `default`, else the module's exports themselves. */
  export?: string
  /** The argument of that function; it must be data if it is sent to a worker. */
  argument?: unknown
  /** `true` runs everything in a worker. */
  worker?: boolean | Worker
  /** The device and the wasm module of the worker's session. */
  device?: 'auto' | DeviceName
  wasm?: string | WebAssembly.Module
  seed?: number
}

type ForwardFunction = (model: Module, inputs: Record<string, Tensor>) => Tensor | Tensor[]
type Exports = Record<string, unknown>

/** Imports a spec. Also returns the exports, in which forward functions are looked up by name. */
export async function importSpec(options: ModuleSpec): Promise<{ spec: TrainingSpec<Module, InputDecls>, exports: Exports }> {
  const exports = await import(/* @vite-ignore */ /* webpackIgnore: true */ String(options.module)) as Exports
  let found: unknown = exports[options.export ?? 'default'] ?? (options.export ? undefined : exports)
  if (typeof found === 'function') found = await (found as (argument: unknown) => unknown)(options.argument)
  const spec = found as TrainingSpec<Module, InputDecls> | undefined
  const missing = ['model', 'loss', 'inputs', 'optimizer'].filter((k) => !(spec as unknown as Exports)?.[k])
  if (!spec || missing.length) throw new ValueError(`${options.module} does not export ${missing.join(', ')}`)
  return { spec: { ...spec, ...(options.seed === undefined ? {} : { seed: options.seed }) }, exports }
}

/** A forward function by name: an export of the module, or a field of the spec. */
export function namedFunction(name: string, exports: Exports, spec: object): ForwardFunction {
  const found = exports[name] ?? (spec as Exports)[name]
  if (typeof found !== 'function') throw new ValueError(`the module has no function ${name}`)
  return found as ForwardFunction
}
