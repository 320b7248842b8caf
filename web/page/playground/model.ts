/** A program of equations as a model: the chosen names are parameters, the others data. */
import { equations, nn, type Tensor } from 'gradus'
import type { Literal } from './program.js'
import type { Program } from './equations.js'

export class ProgramModel extends nn.Module {
  private byName: [name: string, property: string][] = []

  constructor(values: Record<string, Literal>) {
    super()
    for (const [name, v] of Object.entries(values)) {
      // A parameter cannot have the name of a property of modules.
      const property = name in this ? `${name}_` : name
      Object.assign(this, { [property]: this.param(v.shape, { init: { values: v.data } }) })
      this.byName.push([name, property])
    }
  }

  tensors(): Record<string, Tensor> {
    return Object.fromEntries(this.byName.map(([name, property]) => [name, (this as unknown as Record<string, Tensor>)[property]!]))
  }
}

/** The model, the inputs and the loss of a program. */
export function modelOf(program: Program) {
  const { source, values } = program.opened()
  const isParameter = new Set(program.names.filter((n) => n.role === 'parameter' && values[n.name]).map((n) => n.name))
  const pick = (keep: boolean) => Object.fromEntries(Object.entries(values).filter(([n]) => isParameter.has(n) === keep))
  const data = pick(false)
  return {
    model: new ProgramModel(pick(true)),
    inputs: Object.fromEntries(Object.entries(data).map(([n, v]) => [n, v.shape])),
    feed: Object.fromEntries(Object.entries(data).map(([n, v]) => [n, v.data])),
    loss: (m: ProgramModel, inputs: Record<string, Tensor>) =>
      equations.apply(source, { ...inputs, ...m.tensors() }, [program.loss])[program.loss]!,
  }
}
