/** The list of the gallery, and the frame around an entry: controls, loss curve, numbers, the entry's own view and its source. */
import { compileTraining, type Forward, type InputDecls, type nn, type Training, type TrainingSpec } from 'gradus'
import { Curve } from './canvas.js'
import { onDevice, session } from './device.js'
import { button, download, el, field, messageOf, show } from './dom.js'
import type { Entry, Stage, TrainingEntry, View } from './entry.js'
import { codeBlock } from './highlight.js'
import { Loop, type Report } from './loop.js'

export function list(host: HTMLElement, entries: Entry[]): void {
  host.append(el('div', { class: 'page' },
    el('h1', null, 'Gallery'),
    el('p', { class: 'lead' }, 'Small models that train in this page, on your GPU or CPU, each in less than a minute; and programs of equations that run at once. Nothing is sent anywhere.'),
    el('ul', { class: 'cards' }, ...entries.map((e) => el('li', null,
      el('a', { href: `#/gallery/${e.id}` },
        el('strong', null, e.title),
        el('span', null, e.line),
        el('em', null, e.kind === 'training' ? `trains to a loss of ${show(e.target)}` : 'runs at once')))))))
}

/** Shows an entry. The returned function stops it. */
export async function entry(host: HTMLElement, shown: Entry): Promise<() => void> {
  const body = el('div', { class: 'entry-body' })
  host.append(el('article', { class: 'page entry', 'data-entry': shown.id },
    el('p', { class: 'crumb' }, el('a', { href: '#/gallery' }, 'Gallery')),
    el('h1', null, shown.title),
    el('p', { class: 'lead' }, shown.text),
    body,
    el('details', { class: 'source' },
      el('summary', null, `Source: gallery/${shown.id}.ts`),
      el('p', { class: 'muted' }, 'This file makes the whole entry. Models in TypeScript can be written and trained in the playground.'),
      codeBlock(shown.source, 'typescript', 'Source of the entry'))))
  if (shown.kind === 'training') return trainingFrame(body, shown)
  await shown.show(body)
  return onDevice(async () => {
    body.replaceChildren()
    await shown.show(body)
  })
}

async function trainingFrame(host: HTMLElement, shown: TrainingEntry): Promise<() => void> {
  const curve = new Curve()
  const status = el('p', { class: 'status', role: 'status' })
  const numbers = { step: el('dd', null, '0'), loss: el('dd', null, '–'), rate: el('dd', null, '–'), size: el('dd', null, '–'), kernels: el('dd', null, '–') }
  const own = el('div', { class: 'own' })
  let stage!: Stage
  let view: View | null = null
  let last: Report | null = null
  let drawn = 0
  let cost = 0
  let reached = false
  let stopped = false

  const run = button('Train', () => (loop.running ? void loop.pause() : loop.start()), { class: 'primary' })
  const rate = el('input', { type: 'range', min: '-2', max: '2', step: '0.05', value: '0' })
  const rateText = el('output', null, show(shown.rate))
  const rateOf = () => shown.rate * 2 ** Number(rate.value)
  const fail = (e: unknown) => {
    status.className = 'status error'
    status.textContent = messageOf(e)
  }
  rate.addEventListener('input', () => {
    rateText.textContent = show(rateOf(), 3)
    if (stage.training.steps) void stage.training.setLR(rateOf()).catch(fail)
  })
  const redraw = async () => {
    const from = performance.now()
    curve.draw(loop.points, shown.target)
    await view?.draw(stage, last)
    cost = performance.now() - from
    drawn = performance.now()
  }
  const loop = new Loop(() => stage.training as never, (step) => shown.batch(step, stage), {
    async report(r) {
      if (!last && rate.value !== '0') await stage.training.setLR(rateOf())
      last = r
      numbers.step.textContent = String(r.step)
      numbers.loss.textContent = show(r.loss)
      numbers.rate.textContent = r.rate ? show(r.rate, 3) : '–'
      if (r.step === 1) await describe()
      if (!reached && loop.points.length >= 10 && r.mean <= shown.target) {
        reached = true
        status.className = 'status good'
        status.textContent = `Target reached at step ${r.step}: the mean of the last losses is ${show(r.mean)}.`
        root.dataset.reached = String(r.step)
      }
      if (!stopped && performance.now() - drawn > Math.max(150, Math.min(3 * cost, 1200))) await redraw()
    },
    error: fail,
    state(running) {
      stage.running = running
      run.textContent = running ? 'Pause' : 'Train'
      if (!running && !stopped) void redraw().catch(fail)
    },
  })
  const reset = async () => {
    await loop.reset()
    await stage.training.reset(1)
    last = null
    reached = false
    delete root.dataset.reached
    status.className = 'status'
    status.textContent = ''
    numbers.step.textContent = '0'
    numbers.loss.textContent = '–'
    view?.reset?.()
    await redraw()
  }
  const open = el('input', { type: 'file', accept: '.safetensors', hidden: true })
  open.addEventListener('change', async () => {
    try {
      const file = open.files?.[0]
      if (file) await stage.training.loadParams(new Uint8Array(await file.arrayBuffer()))
      await redraw()
    } catch (e) {
      fail(e)
    }
    open.value = ''
  })
  const root = el('div', { class: 'training' },
    el('section', { class: 'panel', 'aria-label': 'Training' },
      el('div', { class: 'controls' },
        run,
        button('Step', () => void loop.once().then(redraw).catch(fail)),
        button('Reset', () => void reset().catch(fail)),
        el('span', { class: 'gap' }),
        button('Save weights', () => void stage.training.saveParams().then((b) => download(`${shown.id}.safetensors`, b as Uint8Array<ArrayBuffer>)).catch(fail)),
        button('Load', () => open.click(), { 'aria-label': 'Load weights' }), open),
      el('div', { class: 'rate' }, field('Learning rate', rate, 'field inline'), rateText),
      curve.canvas,
      el('dl', { class: 'numbers' },
        ...([['step', 'step'], ['loss', shown.measure], ['rate', 'steps/s'], ['size', 'parameters'], ['kernels', session().device === 'cpu' ? 'kernels' : 'dispatches']] as const)
          .map(([key, text]) => el('div', null, el('dt', null, text), numbers[key]))),
      status),
    own)
  host.append(root)

  async function describe() {
    numbers.kernels.textContent = String((await stage.training.explain()).dispatches)
  }

  /** Compiles for the open device. */
  async function compile(): Promise<Stage> {
    const spec = await shown.spec() as unknown as TrainingSpec<nn.Module, InputDecls>
    const compiled: Training<nn.Module, InputDecls> = await compileTraining({ seed: 1, ...spec })
    numbers.size.textContent = spec.model.size.toLocaleString('en')
    const forwards = new Map<string, Promise<Forward<InputDecls>>>()
    return {
      training: compiled, running: false,
      forward(name, options) {
        let found = forwards.get(name)
        if (!found) forwards.set(name, found = compiled.attach(options as never))
        return found as never
      },
    }
  }
  const unlisten = onDevice(async () => {
    // Tensors belong to a session, so everything is compiled again; learnt values are copied to the new session.
    const going = loop.running
    await loop.pause()
    const kept = lastParams
    stage = await compile()
    if (kept) await stage.training.setParams(kept)
    await redraw()
    if (going) loop.start()
  })
  let lastParams: Record<string, Float32Array> | null = null
  const keep = async () => {
    await loop.pause()
    lastParams = loop.points.length ? await stage.training.params() : null
  }
  window.addEventListener('device-leaves', keepListener)
  function keepListener(e: Event) {
    (e as CustomEvent<Promise<void>[]>).detail.push(keep())
  }
  try {
    stage = await compile()
    view = await shown.view(own, () => stage)
    await redraw()
    root.dataset.ready = 'true'
  } catch (e) {
    fail(e)
  }
  const resized = () => void (loop.running || redraw().catch(fail))
  window.addEventListener('resize', resized)
  return () => {
    stopped = true
    unlisten()
    window.removeEventListener('device-leaves', keepListener)
    window.removeEventListener('resize', resized)
    void loop.pause().then(() => stage?.training.dispose())
  }
}
