/** A drawing of the program's graph, with zoom. */
import { equations, tensor } from 'gradus'
import { button, el, select } from '../lib/dom.js'
import type { Program, View } from './equations.js'

/** Longest drawing, in characters; beyond it a browser becomes slow. */
const LIMIT = 3_000_000

export function graphView(): View {
  const panel = el('div', { class: 'tab graph' })
  const frame = el('div', { class: 'drawing', tabindex: '0', role: 'img' })
  let scale = 0
  let what = 'program'
  let last: Program | null = null
  const choose = select([['program', 'Program'], ['gradient', 'Program and gradient']], what, (v) => {
    what = v
    scale = 0
    if (last) void view.update(last)
  })
  choose.setAttribute('aria-label', 'What is drawn')
  const size = () => {
    const svg = frame.querySelector('svg')
    if (!svg) return
    const [, , w = 1, h = 1] = (svg.getAttribute('viewBox') ?? '').split(' ').map(Number)
    const fit = Math.min(1, (frame.clientWidth - 4) / w)
    const by = scale || Math.max(fit, 0.35)
    svg.setAttribute('width', String(w * by))
    svg.setAttribute('height', String(h * by))
  }
  const zoom = (by: number) => {
    const svg = frame.querySelector('svg')
    const w = Number((svg?.getAttribute('viewBox') ?? '').split(' ')[2]) || 1
    scale = Math.min(3, Math.max(0.1, (Number(svg?.getAttribute('width')) / w) * by))
    size()
  }
  const controls = el('div', { class: 'controls' }, choose,
    button('−', () => zoom(0.8), { 'aria-label': 'Smaller' }), button('+', () => zoom(1.25), { 'aria-label': 'Larger' }),
    button('Fit', () => { scale = 0; size() }))
  const view: View = {
    panel,
    update(program) {
      last = program
      // Constants are drawn as inputs, because constants would be folded before the graph is drawn.
      const { source, values } = program.opened()
      const text = what === 'gradient' ? `${source}\n${equations.gradient(source, { of: program.loss })}` : source
      const tensors = Object.fromEntries(Object.entries(values).map(([n, v]) => [n, tensor(v.data, { shape: v.shape, device: 'cpu' })]))
      let drawing: string
      try {
        drawing = equations.draw(text, tensors)
      } finally {
        Object.values(tensors).forEach((t) => t.dispose())
      }
      if (drawing.length > LIMIT) throw new Error('the drawing is too large to be shown; draw a smaller program')
      const svg = new DOMParser().parseFromString(drawing, 'image/svg+xml').documentElement
      if (svg.tagName !== 'svg') throw new Error('the drawing could not be read')
      svg.querySelectorAll('script, foreignObject').forEach((n) => n.remove())
      frame.replaceChildren(document.importNode(svg, true))
      frame.setAttribute('aria-label', `Graph of the program: ${svg.querySelectorAll('g.op, g.region').length} operations, ${svg.querySelectorAll('g.input').length - 1} inputs`)
      panel.replaceChildren(controls, frame)
      size()
    },
  }
  return view
}
