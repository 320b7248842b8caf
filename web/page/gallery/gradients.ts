/** A perceptron and attention as equations, with their gradient programs, which are compared with finite differences. */
import { equations, tensor } from 'gradus'
import attention from 'example:equations/attention.eq'
import mlp from 'example:equations/mlp.eq'
import source from 'source:gradients.ts'
import { el, show } from '../lib/dom.js'
import { codeBlock } from '../lib/highlight.js'
import type { ProgramEntry } from '../lib/entry.js'
import { constants, readValue, withInputs } from '../playground/program.js'

const plain = (text: string): string => text.replace(/^# expect .*\n?/gm, '').trimEnd()

const entry: ProgramEntry = {
  kind: 'program',
  id: 'gradients',
  title: 'Two programs and their gradients',
  line: 'A perceptron and attention, differentiated into equations.',
  text: 'The derivative of a program of equations is a program of equations. On the right stands what the compiler wrote; below, its values are compared with differences of the loss in this page.',
  source,
  async show(host) {
    const stack = el('div', { class: 'stack' })
    host.append(stack)
    for (const [title, id, text, wrt] of [['Perceptron', 'mlp', plain(mlp), 'W1'], ['Attention', 'attention', plain(attention), 'WQ']] as const) {
      const gradient = equations.gradient(text)
      const said = el('p', { class: 'muted', role: 'status' }, '…')
      stack.append(el('section', { class: 'panel' }, el('h2', null, title),
        el('div', { class: 'pair' },
          el('div', null, codeBlock(text, 'equations', `Program: ${title}`), el('a', { href: `#/playground/${id}` }, 'Open in the playground')),
          el('div', null, codeBlock(gradient, 'equations', `Gradient: ${title}`), said))))
      const miss = await compare(text, gradient, wrt)
      said.textContent = `Grad_${wrt} and differences of the loss differ by at most ${show(miss)}.`
      said.dataset.miss = String(miss)
    }
  },
}
export default entry

/** The largest difference between the gradient program's value and central differences of the loss. */
async function compare(text: string, gradient: string, name: string): Promise<number> {
  const constant = constants(text).find((c) => c.name === name)!
  const { data, shape } = readValue(constant.text, [], new Map(), name)
  const open = withInputs(text, new Set([name]))
  const given = (values: Float32Array) => ({ [name]: tensor(values, { shape, device: 'cpu' }) })
  const by = Array.from((await equations.run(`${open}\n${gradient}`, given(data), [`Grad_${name}`]))[`Grad_${name}`]!.data, Number)
  const loss = async (i: number, by: number) => Number((await equations.run(open, given(data.map((v, k) => (k === i ? v + by : v))), ['Loss'])).Loss!.data[0])
  // The loss is in single precision, so that a large step is the most accurate.
  const step = 0.03
  let worst = 0
  for (let i = 0; i < data.length; i++) worst = Math.max(worst, Math.abs((await loss(i, step) - await loss(i, -step)) / (2 * step) - by[i]!))
  return worst
}
