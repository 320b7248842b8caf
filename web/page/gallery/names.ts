/** A network learns which letter follows, and invents first names. */
import { losses, nn, optim, type Tensor } from 'gradus'
import source from 'source:names.ts'
import { el, field } from '../lib/dom.js'
import { training } from '../lib/entry.js'
import { Random } from '../lib/random.js'

const CONTEXT = 4
const BATCH = 128
const LETTERS = '.abcdefghijklmnopqrstuvwxyz'

class NextLetter extends nn.Module {
  letters = new nn.Embedding(LETTERS.length, 8)
  l1 = new nn.Linear(CONTEXT * 8, 96)
  l2 = new nn.Linear(96, LETTERS.length)
  forward(ids: Tensor): Tensor {
    return this.l2.forward(this.l1.forward(this.letters.forward(ids).flatten(1)).tanh())
  }
}

interface Names {
  known: Set<string>
  x: Int32Array
  y: Int32Array
}
let loading: Promise<Names> | null = null

/** Every letter of every name, with the letters before it as context. */
function load(): Promise<Names> {
  loading ??= (async () => {
    const names = (await (await fetch('names.txt')).text()).trim().split('\n')
    const x: number[] = []
    const y: number[] = []
    for (const name of names) {
      let before = new Array<number>(CONTEXT).fill(0)
      for (const c of `${name}.`) {
        const id = LETTERS.indexOf(c)
        x.push(...before)
        y.push(id)
        before = [...before.slice(1), id]
      }
    }
    return { known: new Set(names), x: Int32Array.from(x), y: Int32Array.from(y) }
  })()
  return loading
}

export default training({
  id: 'names',
  title: 'Name generator',
  line: 'Learns which letter follows and invents first names.',
  text: 'From the four letters before, a small network learns the next one, on the first names of a census. New names are drawn letter by letter while it trains.',
  source,
  target: 2.3,
  measure: 'cross-entropy per letter',
  rate: 0.01,
  spec: () => ({
    model: new NextLetter(),
    loss: (m, { x, y }) => losses.crossEntropy(m.forward(x), y),
    inputs: { x: { shape: [BATCH, CONTEXT], dtype: 'i32' }, y: { shape: [BATCH], dtype: 'i32' } },
    optimizer: optim.adamw({ rate: 0.01, weightDecay: 0.01 }),
  }),
  async batch(step) {
    const { x, y } = await load()
    const random = new Random(step + 1)
    const ids = Array.from({ length: BATCH }, () => random.int(y.length))
    return {
      x: Int32Array.from(ids.flatMap((i) => Array.from(x.subarray(i * CONTEXT, (i + 1) * CONTEXT)))),
      y: Int32Array.from(ids, (i) => y[i]!),
    }
  },
  async view(host) {
    const { known } = await load()
    const out = el('ul', { class: 'words', 'aria-label': 'Invented names' })
    const heat = el('input', { type: 'range', min: '0.3', max: '1.5', step: '0.05', value: '0.8' })
    host.append(el('section', { class: 'panel' }, el('h2', null, 'Invented names'), field('Temperature', heat, 'field inline'), out,
      el('p', { class: 'muted' }, 'Underlined names are in the census too.')))
    const COUNT = 16
    let round = 0
    return {
      async draw(s) {
        const f = await s.forward('next', { forward: (m: NextLetter, { x }) => m.forward(x), inputs: { x: { shape: [COUNT, CONTEXT], dtype: 'i32' } } })
        const random = new Random(1000 + round++)
        const made = Array.from({ length: COUNT }, () => ({ ids: new Array<number>(CONTEXT).fill(0), text: '', done: false }))
        for (let i = 0; i < 11 && made.some((m) => !m.done); i++) {
          const r = await f.run({ x: Int32Array.from(made.flatMap((m) => m.ids.slice(-CONTEXT))) })
          if (r.type === 'failed') throw r.error
          if (r.type !== 'completed') return
          made.forEach((m, k) => {
            if (m.done) return
            const id = random.pick(Array.from(r.output.slice(k * LETTERS.length, (k + 1) * LETTERS.length), Number), Number(heat.value))
            if (id === 0) m.done = true
            else m.text += LETTERS[id]
            m.ids.push(id)
          })
        }
        out.replaceChildren(...made.filter((m) => m.text).map((m) => el('li', { class: known.has(m.text) ? 'known' : '' }, m.text[0]!.toUpperCase() + m.text.slice(1))))
      },
    }
  },
})
