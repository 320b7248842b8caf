/** The playground: a program in equations or TypeScript on the left, views of it on the right. */
import { button, el, messageOf, select } from '../lib/dom.js'
import { equationsBench } from './equations.js'
import { examples } from './examples.js'
import { scriptBench } from './script.js'
import { pack, unpack, type State, type Written } from './state.js'

/** The panel of a language: its editor, buttons and views. */
export interface Bench {
  actions: Element[]
  left: Element[]
  right: Element
  /** Returns the current program. */
  state(): State
  /** Called once, after its elements have been added to the page. */
  start(): void
  leave(): void
}

/** The parts of the page that a language's panel may use. */
export interface Frame {
  say(text: string): void
  /** If true, the program is from the address, so the visitor may not have seen it. */
  isForeign: boolean
}

const TITLES: [Written, string][] = [['equations', 'Equations'], ['typescript', 'TypeScript']]

export async function playground(host: HTMLElement, code: string): Promise<() => void> {
  let problem = ''
  let isForeign = false
  /** The last program in each language. */
  const kept = Object.fromEntries(TITLES.map(([language]) => [language, examples.find((e) => e.state.language === language)!.state])) as Record<Written, State>
  let language: Written = 'equations'
  let state = examples.find((e) => e.id === code)?.state
  if (!state && code) {
    try {
      state = await unpack(code)
      isForeign = true
    } catch (e) {
      problem = messageOf(e)
    }
  }
  if (state) kept[language = state.language] = state

  const said = el('span', { class: 'muted', role: 'status' }, problem)
  const actions = el('span', { class: 'actions' })
  const left = el('div', { class: 'bench' })
  const right = el('section', { class: 'right', 'aria-label': 'Views' })
  const menu = el('span', { class: 'menu' })
  let bench: Bench | null = null

  const show = (wanted: Written) => {
    language = wanted
    bench?.leave()
    bench = (language === 'equations' ? equationsBench : scriptBench)(structuredClone(kept[language]), { say: (text) => { said.textContent = text }, isForeign })
    const mine = examples.filter((e) => e.state.language === language)
    const choose = select([['', 'Examples…'], ...mine.map((e) => [e.id, e.title] as [string, string])], '', (id) => {
      const found = mine.find((e) => e.id === id)
      choose.value = ''
      if (!found) return
      said.textContent = ''
      isForeign = false
      kept[language] = found.state
      history.replaceState(null, '', `#/playground/${id}`)
      show(language)
    })
    choose.setAttribute('aria-label', 'Examples')
    menu.replaceChildren(choose)
    actions.replaceChildren(...bench.actions)
    left.replaceChildren(...bench.left)
    right.replaceChildren(bench.right)
    bench.start()
  }
  const switches = el('fieldset', { class: 'switch' }, el('legend', { class: 'hidden' }, 'Language'), ...TITLES.map(([value, title]) => {
    const input = el('input', { type: 'radio', name: 'language', value, checked: value === language })
    input.addEventListener('change', () => {
      kept[language] = bench!.state()
      said.textContent = ''
      show(value)
    })
    return el('label', null, input, el('span', null, title))
  }))

  async function share(): Promise<void> {
    history.replaceState(null, '', `#/playground/${await pack(bench!.state())}`)
    try {
      await navigator.clipboard.writeText(location.href)
      said.textContent = 'The address holds the program; it is copied.'
    } catch {
      said.textContent = 'The address of this page holds the program now.'
    }
  }
  host.append(el('div', { class: 'playground' },
    el('section', { class: 'left', 'aria-label': 'Program' },
      el('div', { class: 'controls' }, switches, menu, actions, button('Share', () => void share()), said),
      left),
    right))
  show(language)
  return () => bench?.leave()
}
