/** The playground for equations: editor and inputs on the left, views of the program on the right. Every change of the text is checked immediately. */
import { equations } from 'gradus'
import { onDevice } from '../lib/device.js'
import { button, el, field, messageOf } from '../lib/dom.js'
import { costView } from './cost.js'
import { Editor } from './editor.js'
import { gradientView } from './gradient.js'
import { graphView } from './graph.js'
import type { Bench, Frame } from './playground.js'
import { axisSizes, constants, readValue, withInputs, type Literal } from './program.js'
import type { Role, State } from './state.js'
import { tabs } from './tabs.js'
import { trainView } from './train.js'
import { valuesView } from './values.js'

/** The program that views work on: checked, with values of its inputs. */
export interface Program {
  state: State
  checked: equations.Checked
  /** Inputs and constants, each of which can be data or a parameter. */
  names: { name: string, axes: string[], isInput: boolean, role: Role }[]
  /** Values of the inputs. Throws if one is missing or wrong. */
  values(): Record<string, Literal>
  /** The source with all constants as inputs, and the values of all of them. */
  opened(): { source: string, values: Record<string, Literal> }
  /** The name to differentiate. */
  loss: string
}

/** A view of the program. */
export interface View {
  panel: HTMLElement
  /** Called when the program has changed, or when the view becomes visible. */
  update(program: Program): void | Promise<void>
  leave?(): void
}

export function equationsBench(state: State, frame: Frame): Bench {
  let current = 'gradient'
  let timer = 0
  let left = false
  const editor = new Editor('equations', 'Program of equations', () => {
    clearTimeout(timer)
    timer = window.setTimeout(changed, 180)
  }, () => view.select('values'))
  const inputs = el('div', { class: 'inputs' })
  const views: Record<string, View> = {
    gradient: gradientView((text) => { state.source = text; load() }, () => changed(true)),
    graph: graphView(), values: valuesView(), cost: costView(), train: trainView(() => changed(true)),
  }
  const titles: Record<string, string> = { gradient: 'Gradient', graph: 'Graph', values: 'Values', cost: 'Cost', train: 'Train' }
  const view = tabs(Object.keys(views).map((id) => ({ id, title: titles[id]!, panel: views[id]!.panel })), (id) => {
    current = id
    if (program) void refresh()
  })
  let program: Program | null = null

  /** Checks the text and updates the open view. */
  function changed(keepText: boolean = false): void {
    clearTimeout(timer)
    if (!keepText) state.source = editor.value
    program = study(state)
    const { checked } = program
    const outputs = checked.outputs.join(', ')
    editor.show(checked, outputs ? `No mistakes. Outputs: ${outputs}.` : 'Nothing is computed yet.')
    showInputs()
    void refresh()
  }

  async function refresh(): Promise<void> {
    const shown = views[current]!
    if (!program) return
    if (program.checked.diagnostics.some((d) => d.severity === 'error')) {
      // A running training continues with the program that it started with.
      if (current !== 'train') shown.panel.replaceChildren(el('p', { class: 'muted' }, 'The program has errors; the text below the editor lists them.'))
      return
    }
    try {
      await shown.update(program)
    } catch (e) {
      if (!left) shown.panel.replaceChildren(el('pre', { class: 'report error' }, messageOf(e)))
    }
  }

  let listed = ''
  function showInputs(): void {
    const wanted = program!.checked.inputs
    const key = JSON.stringify(wanted)
    // Keeps the fields if the list of inputs is unchanged, because the visitor may be typing in one of them.
    if (key === listed || (program!.checked.diagnostics.some((d) => d.severity === 'error') && !wanted.length)) return
    listed = key
    inputs.hidden = !wanted.length
    inputs.replaceChildren(el('h2', null, 'Inputs'), ...wanted.map(({ name, axes }) => {
      const text = el('input', { type: 'text', class: 'mono', value: state.values[name] ?? '', placeholder: axes.length ? 'normal(0.5) or [[1, 2], [3, 4]]' : '0', spellcheck: false })
      text.addEventListener('input', () => {
        state.values[name] = text.value
        clearTimeout(timer)
        timer = window.setTimeout(changed, 250)
      })
      return field(axes.length ? `${name}[${axes.join(', ')}]` : name, text, 'field row')
    }))
  }

  function load(): void {
    editor.value = state.source
    listed = ''
    changed()
  }

  const layout = () => {
    try {
      state.source = equations.format(editor.value)
      load()
    } catch (e) {
      frame.say(messageOf(e).split('\n')[0]!)
    }
  }
  const unlisten = onDevice(refresh)
  return {
    actions: [button('Format', layout)],
    left: [editor.root, inputs],
    right: view.root,
    state: () => ({ ...state, source: editor.value }),
    start() {
      view.select('gradient')
      load()
    },
    leave() {
      left = true
      clearTimeout(timer)
      unlisten()
      for (const v of Object.values(views)) v.leave?.()
    },
  }
}

/** Checks a program and finds its names and values. */
export function study(state: State): Program {
  const checked = equations.check(state.source)
  const consts = constants(state.source)
  const all = [
    ...checked.inputs.map((i) => ({ ...i, text: state.values[i.name] ?? '', isInput: true })),
    ...consts.map((c) => ({ name: c.name, axes: c.axes, text: c.text, isInput: false })),
  ]
  const sizes = axisSizes(state.source, all)
  const read = (list: typeof all) => Object.fromEntries(list.map((n) => [n.name, readValue(n.text, n.axes, sizes, n.name)]))
  const scalar = checked.outputs.find((o) => /loss/i.test(o)) ?? checked.outputs.at(-1) ?? ''
  return {
    state, checked,
    names: all.map(({ name, axes, isInput }) => ({ name, axes, isInput, role: state.roles[name] ?? 'data' })),
    values: () => read(all.filter((n) => n.isInput)),
    opened: () => {
      // A constant that is defined twice, or in a form that this page does not parse, stays in the source.
      const readable = consts.filter((c, i) => consts.findIndex((d) => d.name === c.name) === i && isReadable(c.text))
      const names = new Set(readable.map((c) => c.name))
      return { source: withInputs(state.source, names), values: read(all.filter((n) => n.isInput || names.has(n.name))) }
    },
    loss: checked.outputs.includes(state.loss) ? state.loss : scalar,
  }
}

function isReadable(text: string): boolean {
  try {
    readValue(text, [], new Map(), '')
    return true
  } catch {
    return false
  }
}
