/** Transforms of functions over tensors. The module traces the function once per call. */
import { runtime, type Info, type Runtime } from './module.js'
import { Tensor, tidy } from './tensor.js'

type F = (...args: Tensor[]) => Tensor | Tensor[]

/** @internal Wraps a function for calls by the module. Tensors that it makes are freed, except results. */
export function traced(f: (...args: Tensor[]) => Tensor[]): (args: Info[]) => number[] {
  return (infos) => tidy(() => {
    const outs = f(...infos.map((info) => Tensor.of(info)))
    // Results are freed with the other tensors, but not before the next call from outside of the module.
    return outs.map((t) => t.id)
  })
}

/** Registers a function while `use` runs with its number. */
function registered<T>(f: F, use: (session: Runtime, number: number) => T): T {
  const session = runtime()
  const number = session.register(traced((...args) => [f(...args)].flat()))
  try {
    return use(session, number)
  } finally {
    session.unregister(number)
  }
}

/** The value of a scalar function, and its gradients with respect to the arguments `wrt`, by default the first. */
export function valueAndGrad(f: F, wrt: number | number[] = 0): (...args: Tensor[]) => { value: Tensor, grads: Tensor[] } {
  return (...args) => registered(f, (session, number) => {
    const ins = args.map((a) => a.id)
    const answer = session.call('grad', { function: number, ins, wrt: [wrt].flat() }) as { outs: Info[], grads: Info[] }
    const [value, ...rest] = answer.outs.map((info) => Tensor.of(info))
    rest.forEach((t) => t.dispose())
    return { value: value!, grads: answer.grads.map((info) => Tensor.of(info)) }
  })
}

/** The gradient of a scalar function with respect to one argument, or a list of gradients for several. */
export function grad(f: F, wrt?: number): (...args: Tensor[]) => Tensor
export function grad(f: F, wrt: number[]): (...args: Tensor[]) => Tensor[]
export function grad(f: F, wrt: number | number[] = 0): (...args: Tensor[]) => Tensor | Tensor[] {
  const both = valueAndGrad(f, wrt)
  return (...args) => {
    const { value, grads } = both(...args)
    value.dispose()
    return Array.isArray(wrt) ? grads : grads[0]!
  }
}

/** Turns a function of one example into a function of a batch. `axes` has the batch axis of each argument, or `null` for an argument without one. */
export function vmap(f: (...args: Tensor[]) => Tensor, axes?: (number | null)[]): (...args: Tensor[]) => Tensor
export function vmap(f: (...args: Tensor[]) => Tensor[], axes?: (number | null)[]): (...args: Tensor[]) => Tensor[]
export function vmap(f: F, axes?: (number | null)[]): (...args: Tensor[]) => Tensor | Tensor[] {
  let isList = false
  const noted: F = (...args) => {
    const outs = f(...args)
    isList = Array.isArray(outs)
    return outs
  }
  return (...args) => registered(noted, (session, number) => {
    const ins = args.map((a) => a.id)
    const outs = session.call('vmap', { function: number, ins, axes: args.map((_, i) => (axes ? axes[i] ?? null : 0)) }) as Info[]
    const tensors = outs.map((info) => Tensor.of(info))
    return isList ? tensors : tensors[0]!
  })
}
