/** Tabs with the usual keys: arrows select the next or previous tab, Home and End the first or last. */
import { el, uid } from '../lib/dom.js'

export interface Tab {
  id: string
  title: string
  panel: HTMLElement
}

export function tabs(all: Tab[], chosen: (id: string) => void): { root: HTMLElement, select: (id: string) => void } {
  const buttons = all.map((t, i) => {
    t.panel.id = uid()
    t.panel.setAttribute('role', 'tabpanel')
    const made = el('button', {
      type: 'button', role: 'tab', id: uid(), 'aria-controls': t.panel.id, 'data-tab': t.id, onclick: () => select(t.id),
      onkeydown: (e: KeyboardEvent) => {
        const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: all.length - 1 }[e.key]
        if (to === undefined) return
        e.preventDefault()
        const next = (to + all.length) % all.length
        select(all[next]!.id)
        buttons[next]!.focus()
      },
    }, t.title)
    t.panel.setAttribute('aria-labelledby', made.id)
    return made
  })
  function select(id: string): void {
    all.forEach((t, i) => {
      const on = t.id === id
      t.panel.hidden = !on
      buttons[i]!.setAttribute('aria-selected', String(on))
      buttons[i]!.tabIndex = on ? 0 : -1
    })
    chosen(id)
  }
  return { root: el('div', { class: 'tabs' }, el('div', { role: 'tablist', 'aria-label': 'Views of the program' }, ...buttons), ...all.map((t) => t.panel)), select }
}
