/** Values of the program's outputs, or of all its names. */
import { equations, tensor } from 'gradus'
import { el, select } from '../lib/dom.js'
import { valueCard } from '../lib/values.js'
import { definedNames } from './program.js'
import type { Program, View } from './equations.js'

export function valuesView(): View {
  const panel = el('div', { class: 'tab values' })
  let which = 'outputs'
  let last: Program | null = null
  let turn = 0
  const choose = select([['outputs', 'Outputs'], ['all', 'Every name']], which, (v) => {
    which = v
    if (last) void view.update(last)
  })
  choose.setAttribute('aria-label', 'Which values')
  const view: View = {
    panel,
    async update(program) {
      last = program
      const mine = ++turn
      const values = program.values()
      const tensors = Object.fromEntries(Object.entries(values).map(([n, v]) => [n, tensor(v.data, { shape: v.shape, device: 'cpu' })]))
      const from = performance.now()
      try {
        const names = which === 'all' ? definedNames(program.state.source) : undefined
        const answer = await equations.run(program.state.source, tensors, names)
        if (mine !== turn) return
        const ms = performance.now() - from
        panel.replaceChildren(
          el('div', { class: 'controls' }, choose, el('span', { class: 'muted' }, `computed on the CPU in ${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`)),
          el('div', { class: 'cards-of-values' }, ...Object.entries(answer).map(([name, value]) => valueCard(name, value))))
      } finally {
        Object.values(tensors).forEach((t) => t.dispose())
      }
    },
  }
  return view
}
