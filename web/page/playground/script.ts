/**
 * The playground for TypeScript: the program is checked while it is written, and runs in a worker.
 * A program from the address runs only after the visitor has pressed a button.
 */
import * as gradus from 'gradus'
import { onDevice, session } from '../lib/device.js'
import { button, el, messageOf } from '../lib/dom.js'
import { valueCard } from '../lib/values.js'
import type { Checked, Known } from '../script/check.js'
import { rendered } from '../script/report.js'
import { ProgramFault, Runner } from '../script/runner.js'
import type { Loaded } from '../script/worker.js'
import { explanation } from './cost.js'
import { Editor } from './editor.js'
import type { Bench, Frame } from './playground.js'
import type { State } from './state.js'
import { tabs } from './tabs.js'
import { TrainPanel } from './train-panel.js'

const known: Known = {
  names: Object.keys(gradus),
  members: Object.fromEntries((['nn', 'losses', 'optim', 'schedule', 'equations', 'safetensors'] as const).map((n) => [n, Object.keys(gradus[n])])),
}
/** Methods of tensors; those of ops are in the base class. */
const METHODS: string[] = []
for (let at: object | null = gradus.Tensor.prototype; at && at !== Object.prototype; at = Object.getPrototypeOf(at) as object | null) METHODS.push(...Object.getOwnPropertyNames(at))
/** Limits before the first step, in milliseconds: for blocking the worker, and for the total time. */
const PATIENCE = 8000
const LONGEST = 120_000

interface Ready {
  key: string
  runner: Runner
  loaded: Loaded
}

export function scriptBench(state: State, frame: Frame): Bench {
  let isTrusted = !frame.isForeign
  let current = 'train'
  let timer = 0
  let left = false
  let checked: Checked | null = null
  let ready: Ready | null = null
  /** A worker with an open session, for the next run. */
  let spare: Runner | null = null
  let pending: { key: string, promise: Promise<Ready> } | null = null
  let turn = 0
  const checking = import('../script/check.js')

  const editor = new Editor('typescript', 'Program in TypeScript', () => {
    clearTimeout(timer)
    timer = window.setTimeout(() => void changed(), 200)
  }, () => {
    isTrusted = true
    view.select('values')
  })

  /** Checks the text. If the program is allowed to run, runs it up to its first step, because that reports wrong shapes. */
  async function changed(): Promise<void> {
    clearTimeout(timer)
    const { check } = await checking
    if (left) return
    state.source = editor.value
    checked = check(state.source, known)
    editor.show(checked, checked.exports.length ? `No mistakes. Exports: ${checked.exports.join(', ')}.` : 'Nothing is exported yet.')
    if (checked.code && isTrusted && !train.loop.running) await refresh()
  }

  const keyNow = () => `${session().device} ${editor.value}`

  /** Runs the current program, unless it has run or is running. */
  function prepare(): Promise<Ready> {
    const key = keyNow()
    if (ready?.key === key) return Promise.resolve(ready)
    if (pending?.key === key) return pending.promise
    const promise = run(key).finally(() => { if (pending?.promise === promise) pending = null })
    pending = { key, promise }
    return promise
  }

  async function run(key: string): Promise<Ready> {
    const mine = ++turn
    const { check } = await checking
    state.source = editor.value
    checked = check(state.source, known)
    if (!checked.code) throw new Error('the program has mistakes')
    ready?.runner.stop()
    ready = null
    const runner = spare ?? Runner.start()
    spare = null
    let isDone = false
    void runner.guard(() => isDone, PATIENCE, LONGEST)
    runner.onPrint = () => showPrinted(runner)
    try {
      const loaded = await runner.load(checked)
      if (mine !== turn || left) throw new Error('the program has changed')
      ready = { key, runner, loaded }
      train.clear()
      rate = null
      train.rate.value = loaded.rate ? String(loaded.rate) : ''
      return ready
    } catch (e) {
      runner.stop()
      if (mine === turn) report(e)
      throw e
    } finally {
      isDone = true
      if (!left) spare ??= Runner.start()
    }
  }

  /** Shows an error at its position in the editor; returns false if it has no position. */
  function report(e: unknown): boolean {
    if (!(e instanceof ProgramFault) || !e.at || editor.value !== state.source) return false
    const [line, column] = e.at
    const text = state.source.split('\n')[line - 1] ?? ''
    const word = /^[\w$]+/.exec(text.slice(column - 1))?.[0].length ?? 1
    const method = /(\w+) is not a function/.exec(e.message)?.[1]
    const help = method && checkedSuggestion(method)
    const diagnostics: gradus.equations.Diagnostic[] = [{ severity: 'error', message: e.message, help: help || null, line, column, endLine: line, endColumn: column + word }]
    editor.show({ diagnostics, text: rendered(state.source, diagnostics), inputs: [], outputs: [] }, '')
    return true
  }
  let checkedSuggestion: (name: string) => string | null = () => null
  void checking.then(({ suggestion }) => { checkedSuggestion = (name) => suggestion(name, METHODS) })

  /** The learning rate that the visitor has entered; null keeps that of the program. */
  let rate: number | null = null
  const train: TrainPanel = new TrainPanel({
    async ready() {
      isTrusted = true
      if (ready && ready.key !== keyNow()) await train.loop.reset()
      const { runner, loaded } = await prepare()
      if (!loaded.trains) throw new Error('this program exports no model; its values are in the tab Values')
      if (rate !== null && !runner.steps) await runner.setLR(rate)
      return runner as never
    },
    batch: () => null,
    shape: (name) => ready?.runner.shapes.get(name) ?? [],
    forget() {
      ready?.runner.stop()
      ready = null
    },
    rated: (r) => { rate = r },
    failed: (e) => report(e),
  }, [], [el('span', { class: 'muted' }, 'the optimiser is the program\'s')])

  const values = el('div', { class: 'tab values' })
  const printed = el('pre', { class: 'code printed', tabindex: '0', role: 'region', 'aria-label': 'Printed lines', hidden: true })
  const cards = el('div', { class: 'cards-of-values' })
  const note = el('span', { class: 'muted', role: 'status' })
  function showPrinted(runner: Runner): void {
    printed.hidden = !runner.printed.length
    printed.textContent = runner.printed.join('\n')
  }
  values.append(el('div', { class: 'controls' }, button('Run again', () => {
    isTrusted = true
    if (!train.loop.running) {
      ready?.runner.stop()
      ready = null
    }
    void refresh()
  }), note), printed, cards)
  const cost = el('div', { class: 'tab cost' })
  const ask = () => el('div', null,
    el('p', null, 'This program came with the address of the page. It runs in a worker of this page, without access to other sites, once you ask for it.'),
    button('Run this program', () => {
      isTrusted = true
      void refresh()
    }))

  /** Updates the open tab. */
  async function refresh(): Promise<void> {
    if (left) return
    if (!isTrusted) {
      if (current === 'cost') cost.replaceChildren(ask())
      if (current === 'values') cards.replaceChildren(ask())
      return
    }
    try {
      const { runner, loaded } = train.loop.running && ready ? ready : await prepare()
      if (current === 'values') {
        const all = await runner.values()
        note.textContent = all.length || runner.printed.length ? '' : 'Export tensors, or a function values(model) that gives some by name.'
        cards.replaceChildren(...all.map(([name, value]) => valueCard(name, { ...value, axes: [] })))
        showPrinted(runner)
      } else if (current === 'cost') {
        if (!loaded.trains) cost.replaceChildren(el('p', { class: 'muted' }, 'This program exports no model to train.'))
        else cost.replaceChildren(...explanation(await runner.explain(), runner.device))
      }
    } catch (e) {
      if (left || /was stopped$|has changed$/.test(messageOf(e))) return
      const text = el('pre', { class: 'report error' }, messageOf(e))
      if (current === 'values') cards.replaceChildren(text)
      else if (current === 'cost') cost.replaceChildren(text)
      else if (!report(e)) train.fail(e)
    }
  }

  const view = tabs([{ id: 'train', title: 'Train', panel: train.panel }, { id: 'values', title: 'Values', panel: values }, { id: 'cost', title: 'Cost', panel: cost }], (id) => {
    current = id
    if (id === 'train') train.show()
    void refresh()
  })
  // Updates values while a training runs.
  const follow = window.setInterval(() => { if (current === 'values' && train.loop.running && ready) void refresh() }, 1500)
  const drop = () => {
    ready?.runner.stop()
    spare?.stop()
    ready = spare = null
  }
  const unlisten = onDevice(async () => {
    await train.loop.reset()
    drop()
    train.clear()
    await refresh()
  })
  return {
    actions: [],
    left: [editor.root, el('p', { class: 'muted' }, 'Export ', el('code', null, 'model'), ', ', el('code', null, 'loss'), ', ', el('code', null, 'inputs'), ', ', el('code', null, 'optimizer'), ' and ', el('code', null, 'batch'),
      ' to train; ', el('code', null, 'values'), ' and exported tensors are shown in the tab Values. Ctrl+Enter runs the program.')],
    right: view.root,
    state: () => ({ ...state, source: editor.value }),
    start() {
      spare = Runner.start()
      editor.value = state.source
      view.select('train')
      void changed()
    },
    leave() {
      left = true
      clearTimeout(timer)
      clearInterval(follow)
      unlisten()
      void train.loop.pause()
      drop()
    },
  }
}
