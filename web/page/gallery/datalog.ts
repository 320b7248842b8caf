/** Ancestors by Datalog rules, and PageRank as a fixpoint: both are equations that run until nothing changes. */
import { equations } from 'gradus'
import pagerank from 'example:equations/pagerank.eq'
import ancestors from 'source:../playground/ancestors.eq'
import source from 'source:datalog.ts'
import { el, show } from '../lib/dom.js'
import { codeBlock } from '../lib/highlight.js'
import { valueCard } from '../lib/values.js'
import type { ProgramEntry } from '../lib/entry.js'

const NAMES = ['Ada', 'Bea', 'Carl', 'Dora', 'Eva', 'Finn', 'Gus']
const plain = (text: string): string => text.replace(/^# expect .*\n?/gm, '').trimEnd()

const entry: ProgramEntry = {
  kind: 'program',
  id: 'datalog',
  title: 'Ancestors and PageRank',
  line: 'Rules over facts and a fixpoint, as equations.',
  text: 'Equations may refer to themselves. A relation is a tensor of booleans, a rule is a product, and the program runs until nothing new follows; PageRank runs until the ranks no longer change.',
  source,
  async show(host) {
    const family = await equations.run(ancestors)
    const anc = family.Anc!
    const pairs = NAMES.flatMap((a, x) => {
      const below = NAMES.filter((_, y) => Number(anc.data[7 * x + y]))
      return below.length ? [`${a} is an ancestor of ${below.join(', ')}.`] : []
    })
    const web = await equations.run(pagerank)
    const ranks = Array.from(web.Rank!.data, Number)
    // Checks the rank as the solution of a linear system, which the program itself never forms.
    const link = [[0, 1, 1, 0], [0, 0, 1, 0], [1, 0, 0, 1], [0, 0, 1, 0]]
    const miss = Math.max(...ranks.map((r, j) => Math.abs(r - (0.15 / 4 + 0.85 * link.reduce((s, row, i) => s + (row[j]! / row.reduce((a, b) => a + b)) * ranks[i]!, 0)))))
    host.append(el('div', { class: 'stack' },
      section('Ancestors', ancestors, 'ancestors', el('ul', { class: 'checks' }, ...pairs.map((p) => el('li', null, p))), valueCard('Anc', anc), valueCard('Count', family.Count!)),
      section('PageRank', plain(pagerank), 'pagerank', valueCard('Rank', web.Rank!),
        el('p', { class: 'muted', 'data-miss': String(miss) }, `Each rank differs from the rank that flows into its page by at most ${show(miss)}.`))))
  },
}
export default entry

function section(title: string, text: string, id: string, ...results: HTMLElement[]): HTMLElement {
  return el('section', { class: 'panel' }, el('h2', null, title),
    el('div', { class: 'pair' },
      el('div', null, codeBlock(text, 'equations', `Program: ${title}`), el('a', { href: `#/playground/${id}` }, 'Open in the playground')),
      el('div', { class: 'stack' }, ...results)))
}
