/** Training of the program in the editor: which names are parameters, the loss curve, and controls that work while it runs. */
import { compileTraining, optim, type InputDecls, type Training } from 'gradus'
import { Curve } from '../lib/canvas.js'
import { session } from '../lib/device.js'
import { button, download, el, field, messageOf, select, show } from '../lib/dom.js'
import { Loop } from '../lib/loop.js'
import { valueCard } from '../lib/values.js'
import { modelOf, type ProgramModel } from './model.js'
import type { Program, View } from './playground.js'

export function trainView(changed: () => void): View {
  const panel = el('div', { class: 'tab train' })
  const curve = new Curve(190)
  const status = el('p', { class: 'status', role: 'status' })
  const roles = el('fieldset', { class: 'chips' })
  const numbers = { step: el('dd', null, '0'), loss: el('dd', null, '–'), rate: el('dd', null, '–'), kernels: el('dd', null, '–') }
  const learnt = el('div', { class: 'cards-of-values' })
  let training: Training<ProgramModel, InputDecls> | null = null
  let feed: Record<string, Float32Array> = {}
  let shapes: Record<string, readonly number[]> = {}
  let program: Program | null = null
  let key = ''
  let drawn = 0

  const fail = (e: unknown) => {
    status.className = 'status error'
    status.textContent = messageOf(e)
  }
  const loop = new Loop(() => training! as never, () => feed, {
    async report(r) {
      numbers.step.textContent = String(r.step)
      numbers.loss.textContent = show(r.loss)
      numbers.rate.textContent = r.rate ? show(r.rate, 3) : '–'
      if (numbers.kernels.textContent === '–') numbers.kernels.textContent = String((await training!.explain()).dispatches)
      panel.dataset.step = String(r.step)
      if (performance.now() - drawn > 120) {
        curve.draw(loop.points)
        drawn = performance.now()
      }
    },
    error: fail,
    state(running) {
      run.textContent = running ? 'Pause' : 'Train'
      if (!running) void settled().catch(fail)
    },
  })
  async function settled(): Promise<void> {
    curve.draw(loop.points)
    if (!training || !program) return
    const now = await training.params()
    const axesOf = new Map(program.names.map((n) => [n.name, n.axes]))
    learnt.replaceChildren(...training.names.map((name) => valueCard(name, {
      axes: axesOf.get(name) ?? [], data: now[name]!, shape: shapes[name] ?? [], dtype: 'f32',
    })))
  }
  /** Compiles the program as it is now, unless that is done. */
  async function ready(): Promise<boolean> {
    if (!program) return false
    const now = JSON.stringify([session().device, program.state.source, program.state.values, program.state.roles, program.loss, optimizer.value])
    if (training && key === now) return true
    await loop.reset()
    training?.dispose()
    training = null
    status.className = 'status'
    status.textContent = ''
    try {
      const made = modelOf(program)
      if (!made.model.parameters().size) throw new Error('choose at least one parameter')
      feed = made.feed
      shapes = Object.fromEntries([...made.model.parameters()].map(([n, p]) => [n, p.shape]))
      const options = { rate: Number(rate.value) }
      training = await compileTraining({
        model: made.model, loss: made.loss as never, inputs: made.inputs as InputDecls,
        optimizer: optimizer.value === 'sgd' ? optim.sgd(options) : optim.adam(options),
      }) as Training<ProgramModel, InputDecls>
      key = now
      for (const d of Object.values(numbers)) d.textContent = '–'
      numbers.step.textContent = '0'
      return true
    } catch (e) {
      fail(e)
      return false
    }
  }
  const run = button('Train', async () => {
    if (loop.running) await loop.pause()
    else if (await ready()) loop.start()
  }, { class: 'primary' })
  const one = button('Step', async () => {
    if (await ready()) {
      await loop.once()
      await settled()
    }
  })
  const again = button('Reset', async () => {
    await loop.reset()
    key = ''
    for (const d of Object.values(numbers)) d.textContent = '–'
    learnt.replaceChildren()
    delete panel.dataset.step
    curve.draw([])
  })
  const rate = el('input', { type: 'number', min: '0', step: 'any', value: '0.05', class: 'short' })
  rate.addEventListener('change', () => {
    if (program) program.state.rate = Number(rate.value)
    if (training?.steps) void training.setLR(Number(rate.value)).catch(fail)
  })
  const optimizer = select([['adam', 'Adam'], ['sgd', 'SGD']], 'adam', () => void loop.reset())
  const open = el('input', { type: 'file', accept: '.safetensors', hidden: true })
  open.addEventListener('change', async () => {
    try {
      const file = open.files?.[0]
      if (file && await ready()) {
        await training!.loadParams(new Uint8Array(await file.arrayBuffer()))
        status.className = 'status'
        status.textContent = `Loaded ${file.name}.`
        await settled()
      }
    } catch (e) {
      fail(e)
    }
    open.value = ''
  })
  const save = button('Save weights', async () => {
    if (await ready()) download('weights.safetensors', await training!.saveParams() as Uint8Array<ArrayBuffer>)
  })
  const minimise = el('span', { class: 'mono' })
  panel.append(
    roles,
    el('div', { class: 'controls' }, run, one, again, el('span', { class: 'gap' }), save, button('Load', () => open.click(), { 'aria-label': 'Load weights' }), open),
    el('div', { class: 'controls' }, field('Learning rate', rate, 'field inline'), field('Optimiser', optimizer, 'field inline'), el('span', { class: 'muted' }, 'minimises ', minimise)),
    curve.canvas,
    el('dl', { class: 'numbers' }, ...([['step', 'step'], ['loss', 'loss'], ['rate', 'steps/s'], ['kernels', 'kernels per step']] as const)
      .map(([k, text]) => el('div', null, el('dt', null, text), numbers[k]))),
    status, learnt)
  const parts = [...panel.children]
  // A training belongs to the session of its device.
  const leaving = (e: Event) => {
    (e as CustomEvent<Promise<void>[]>).detail.push((async () => {
      await loop.pause()
      training?.dispose()
      training = null
    })())
  }
  window.addEventListener('device-leaves', leaving)

  return {
    panel,
    update(next) {
      program = next
      if (!panel.contains(roles)) panel.replaceChildren(...parts)
      minimise.textContent = next.loss || 'nothing'
      if (document.activeElement !== rate && !training) rate.value = String(next.state.rate)
      const wanted = JSON.stringify(next.names.map((n) => [n.name, n.axes]))
      if (roles.dataset.key !== wanted) {
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
      }
      curve.draw(loop.points)
    },
    leave() {
      window.removeEventListener('device-leaves', leaving)
      void loop.pause().then(() => training?.dispose())
    },
  }
}
