/** The parts of a training panel that equations and TypeScript share: controls, loss curve, numbers, weights and learnt values. */
import type { StepResult } from 'gradus'
import { Curve } from '../lib/canvas.js'
import { button, download, el, field, messageOf, show } from '../lib/dom.js'
import { Loop } from '../lib/loop.js'
import { valueCard } from '../lib/values.js'

/** The training: on this thread or in a worker. */
export interface Trained {
  readonly steps: number
  readonly names: readonly string[]
  step(inputs: never, options?: { read?: boolean }): Promise<StepResult>
  params(): Promise<Record<string, Float32Array>>
  explain(): Promise<{ dispatches: number }>
  setLR(rate: number): Promise<void>
  saveParams(): Promise<Uint8Array>
  loadParams(file: Uint8Array): Promise<void>
}

export interface Options {
  /** Compiles the current program, unless it is compiled already. Returns null if there is nothing to train; throws if it cannot be compiled. */
  ready(): Promise<Trained | null>
  /** The batch of a step. */
  batch(step: number): unknown
  /** Shape and axes of a learnt value. */
  shape(name: string): readonly number[]
  axes?(name: string): string[]
  /** Called when the visitor resets the training. */
  forget(): void
  /** Called when the visitor has changed the learning rate. */
  rated?(rate: number): void
  /** Called with an error; returns true if the view shows the error itself. */
  failed?(e: unknown): boolean
}

export class TrainPanel {
  readonly panel = el('div', { class: 'tab train' })
  readonly rate = el('input', { type: 'number', min: '0', step: 'any', value: '0.05', class: 'short' })
  readonly loop: Loop
  private parts: Element[]
  private curve = new Curve(190)
  private status = el('p', { class: 'status', role: 'status' })
  private numbers = { step: el('dd', null, '0'), loss: el('dd', null, '–'), rate: el('dd', null, '–'), kernels: el('dd', null, '–') }
  private learnt = el('div', { class: 'cards-of-values' })
  private trained: Trained | null = null
  private drawn = 0

  /** `above` is shown above the controls, `inline` next to the learning rate. */
  constructor(private options: Options, above: Element[], inline: (Element | string)[]) {
    const { numbers, panel, rate } = this
    this.loop = new Loop(() => this.trained! as never, (step) => options.batch(step), {
      report: async (r) => {
        numbers.step.textContent = String(r.step)
        numbers.loss.textContent = show(r.loss)
        numbers.rate.textContent = r.rate ? show(r.rate, 3) : '–'
        panel.dataset.step = String(r.step)
        panel.dataset.loss = String(r.mean)
        if (performance.now() - this.drawn > 120) this.draw()
        if (numbers.kernels.textContent === '–') numbers.kernels.textContent = String((await this.trained!.explain()).dispatches)
      },
      error: (e) => this.fail(e),
      state: (running) => {
        run.textContent = running ? 'Pause' : 'Train'
        if (!running) void this.settled().catch((e: unknown) => this.fail(e))
      },
    })
    const guarded = (f: () => Promise<void>) => () => void f().catch((e: unknown) => this.fail(e))
    const run = button('Train', guarded(async () => {
      if (this.loop.running) await this.loop.pause()
      else if (await this.ready()) this.loop.start()
    }), { class: 'primary' })
    const one = button('Step', guarded(async () => {
      if (!(await this.ready())) return
      await this.loop.once()
      await this.settled()
    }))
    const again = button('Reset', guarded(async () => {
      await this.loop.reset()
      this.trained = null
      options.forget()
      this.clear()
    }))
    rate.addEventListener('change', () => {
      options.rated?.(Number(rate.value))
      if (this.trained?.steps) guarded(() => this.trained!.setLR(Number(rate.value)))()
    })
    const open = el('input', { type: 'file', accept: '.safetensors', hidden: true })
    open.addEventListener('change', guarded(async () => {
      const file = open.files?.[0]
      try {
        if (!file || !(await this.ready())) return
        await this.trained!.loadParams(new Uint8Array(await file.arrayBuffer()))
        this.say(`Loaded ${file.name}.`)
        await this.settled()
      } finally {
        open.value = ''
      }
    }))
    const save = button('Save weights', guarded(async () => {
      if (await this.ready()) download('weights.safetensors', await this.trained!.saveParams() as Uint8Array<ArrayBuffer>)
    }))
    this.parts = [
      ...above,
      el('div', { class: 'controls' }, run, one, again, el('span', { class: 'gap' }), save, button('Load', () => open.click(), { 'aria-label': 'Load weights' }), open),
      el('div', { class: 'controls' }, field('Learning rate', rate, 'field inline'), ...inline),
      this.curve.canvas,
      el('dl', { class: 'numbers' }, ...([['step', 'step'], ['loss', 'loss'], ['rate', 'steps/s'], ['kernels', 'kernels per step']] as const)
        .map(([k, text]) => el('div', null, el('dt', null, text), numbers[k]))),
      this.status, this.learnt,
    ]
    this.show()
  }

  /** Shows the parts again if a message has replaced them. */
  show(): void {
    if (!this.panel.contains(this.curve.canvas)) this.panel.replaceChildren(...this.parts)
    this.draw()
  }

  say(text: string): void {
    this.status.className = 'status'
    this.status.textContent = text
  }

  fail(e: unknown): void {
    const isShown = this.options.failed?.(e)
    this.status.className = 'status error'
    this.status.textContent = isShown ? `${messageOf(e).split('\n')[0]!} The text below the editor shows its position.` : messageOf(e)
  }

  /** Resets numbers and curve to the state before the first step. */
  clear(): void {
    for (const d of Object.values(this.numbers)) d.textContent = '–'
    this.numbers.step.textContent = '0'
    this.learnt.replaceChildren()
    delete this.panel.dataset.step
    delete this.panel.dataset.loss
    this.draw()
  }

  private draw(): void {
    this.curve.draw(this.loop.points)
    this.drawn = performance.now()
  }

  private async ready(): Promise<boolean> {
    this.say('')
    this.trained = await this.options.ready()
    return this.trained !== null
  }

  /** Shows the values after the last step. */
  private async settled(): Promise<void> {
    this.draw()
    if (!this.trained) return
    const now = await this.trained.params()
    this.learnt.replaceChildren(...this.trained.names.map((name) => valueCard(name, {
      axes: this.options.axes?.(name) ?? [], data: now[name]!, shape: this.options.shape(name), dtype: 'f32',
    })))
  }
}
