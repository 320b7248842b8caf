/** Training of equations: which names are parameters, the optimiser, and the shared controls. */
import { compileTraining, optim, type InputDecls, type Training } from 'gradus'
import { session } from '../lib/device.js'
import { el, field, select } from '../lib/dom.js'
import { modelOf, type ProgramModel } from './model.js'
import type { Program, View } from './equations.js'
import { TrainPanel } from './train-panel.js'

export function trainView(changed: () => void): View {
  const roles = el('fieldset', { class: 'chips' })
  const minimise = el('span', { class: 'mono' })
  const optimizer = select([['adam', 'Adam'], ['sgd', 'SGD']], 'adam', () => void panel.loop.reset())
  let training: Training<ProgramModel, InputDecls> | null = null
  let feed: Record<string, Float32Array> = {}
  let shapes: Record<string, readonly number[]> = {}
  let program: Program | null = null
  let key = ''

  const drop = () => {
    training?.dispose()
    training = null
    key = ''
  }
  const panel = new TrainPanel({
    async ready() {
      if (!program) return null
      const now = JSON.stringify([session().device, program.state.source, program.state.values, program.state.roles, program.loss, optimizer.value])
      if (training && key === now) return training as never
      await panel.loop.reset()
      drop()
      const made = modelOf(program)
      if (!made.model.parameters().size) throw new Error('choose at least one parameter')
      feed = made.feed
      shapes = Object.fromEntries([...made.model.parameters()].map(([n, p]) => [n, p.shape]))
      const options = { rate: Number(panel.rate.value) }
      training = await compileTraining({
        model: made.model, loss: made.loss as never, inputs: made.inputs as InputDecls,
        optimizer: optimizer.value === 'sgd' ? optim.sgd(options) : optim.adam(options),
      }) as Training<ProgramModel, InputDecls>
      key = now
      panel.clear()
      return training as never
    },
    batch: () => feed,
    shape: (name) => shapes[name] ?? [],
    axes: (name) => program?.names.find((n) => n.name === name)?.axes ?? [],
    forget: drop,
    rated: (rate) => { if (program) program.state.rate = rate },
  }, [roles], [field('Optimiser', optimizer, 'field inline'), el('span', { class: 'muted' }, 'minimises ', minimise)])

  // A training belongs to the session of its device, so it ends with that session.
  const leaving = (e: Event) => {
    (e as CustomEvent<Promise<void>[]>).detail.push(panel.loop.pause().then(drop))
  }
  window.addEventListener('device-leaves', leaving)

  return {
    panel: panel.panel,
    update(next) {
      program = next
      panel.show()
      minimise.textContent = next.loss || 'nothing'
      if (document.activeElement !== panel.rate && !training) panel.rate.value = String(next.state.rate)
      const wanted = JSON.stringify(next.names.map((n) => [n.name, n.axes]))
      if (roles.dataset.key === wanted) return
      roles.dataset.key = wanted
      roles.replaceChildren(el('legend', null, 'Parameters (the other names are data)'), ...next.names.map((n) => {
        const box = el('input', { type: 'checkbox', checked: n.role === 'parameter' })
        box.addEventListener('change', () => {
          program!.state.roles[n.name] = box.checked ? 'parameter' : 'data'
          changed()
        })
        return el('label', { class: 'chip' }, box, n.axes.length ? `${n.name}[${n.axes.join(', ')}]` : n.name)
      }))
      if (!next.names.length) roles.append(el('span', { class: 'muted' }, 'This program has no inputs and no constants.'))
    },
    leave() {
      window.removeEventListener('device-leaves', leaving)
      void panel.loop.pause().then(drop)
    },
  }
}
