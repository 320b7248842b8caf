/** The gradient program, next to the program. */
import { equations } from 'gradus'
import { button, el, field, messageOf, select } from '../lib/dom.js'
import { codeBlock } from '../lib/highlight.js'
import type { Program, View } from './equations.js'

export function gradientView(open: (source: string) => void, changed: () => void): View {
  const panel = el('div', { class: 'tab gradient' })
  let chosen: string[] | null = null
  let names = ''
  return {
    panel,
    update(program: Program) {
      const focused = (document.activeElement as HTMLElement | null)?.dataset.name
      fill(program)
      // The check boxes are new elements; the focus moves to the replacement of the one that was used.
      if (focused) panel.querySelector<HTMLElement>(`input[data-name="${CSS.escape(focused)}"]`)?.focus()
    },
  }
  function fill(program: Program): void {
    const { checked, state, loss } = program
    const all = program.names.map((n) => n.name)
    if (names !== all.join()) chosen = null
    names = all.join()
    let text: string
    try {
      text = checked.outputs.length ? equations.gradient(state.source, { of: loss, wrt: chosen ?? [] }) : ''
    } catch (e) {
      panel.replaceChildren(choice(), el('pre', { class: 'report error' }, messageOf(e)))
      return
    }
    panel.replaceChildren(
      choice(),
      el('p', { class: 'muted' }, 'The derivative is a program too: read it, run it, differentiate it again.'),
      codeBlock(text, 'equations', 'Gradient program'),
      el('div', { class: 'controls' },
        button('Open with the program', () => open(`${state.source.trimEnd()}\n\n${text}`), { title: 'Puts the gradient below the program, in the editor' }),
        button('Copy', () => void navigator.clipboard.writeText(text))))

    function choice(): HTMLElement {
      const of = select(checked.outputs.map((o) => [o, o]), loss, (value) => {
        state.loss = value
        changed()
      })
      const boxes = all.map((name) => {
        const box = el('input', { type: 'checkbox', 'data-name': name, checked: chosen === null || chosen.includes(name) })
        box.addEventListener('change', () => {
          const now = new Set(chosen ?? all)
          if (box.checked) now.add(name)
          else now.delete(name)
          chosen = now.size === all.length || !now.size ? null : [...now]
          changed()
        })
        return el('label', { class: 'chip' }, box, name)
      })
      return el('div', { class: 'choices' }, field('of', of, 'field inline'), el('fieldset', { class: 'chips' }, el('legend', null, 'by'), ...boxes))
    }
  }
}
