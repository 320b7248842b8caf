/** Tensors as tables and heat maps. */
import type { equations } from 'gradus'
import { heatMap } from './canvas.js'
import { el, show } from './dom.js'

const MOST_ROWS = 16
const MOST_COLUMNS = 12

/** A named value: a number, a table, a heat map, or a table and a heat map. */
export function valueCard(name: string, value: equations.Value): HTMLElement {
  const { shape, dtype } = value
  const data = Array.from(value.data as ArrayLike<number>, Number)
  const columns = shape.at(-1) ?? 1
  const rows = columns ? data.length / columns : 0
  const axes = value.axes.length === shape.length ? value.axes : shape.map(() => '')
  const head = el('h3', null, name, axes.length ? el('span', { class: 'axes' }, `[${axes.map((a, i) => `${a || '·'} = ${shape[i]}`).join(', ')}]`) : '', el('span', { class: 'dtype' }, dtype))
  const card = el('section', { class: 'value', 'data-name': name }, head)
  const cell = (v: number) => (dtype === 'bool' ? (v ? '✓' : '·') : show(v))
  const body = el('div', { class: 'value-body' })
  card.append(body)
  if (!shape.length) body.append(el('p', { class: 'scalar' }, dtype === 'bool' ? String(Boolean(data[0])) : show(data[0]!, 7)))
  else if (rows <= MOST_ROWS && columns <= MOST_COLUMNS) {
    body.append(el('div', { class: 'scroll' }, el('table', { class: 'numbers-table' }, el('tbody', null, ...Array.from({ length: rows }, (_, r) =>
      el('tr', null, ...data.slice(r * columns, (r + 1) * columns).map((v) => el('td', null, cell(v)))))))))
  } else body.append(el('p', { class: 'muted' }, `${data.length} elements, from ${show(Math.min(...data.slice(0, 60000)))} to ${show(Math.max(...data.slice(0, 60000)))}`))
  if (data.length > 2 && dtype !== 'bool' && columns <= 1024 && rows <= 1024) body.append(heatMap(data, rows, columns, `Heat map of ${name}`))
  return card
}
