/** A transformer learns to add digits, with pictures of the attention weights of each position. */
import { capture, losses, nn, optim, type Tensor } from 'gradus'
import source from 'source:addition.ts'
import { heatMap } from '../lib/canvas.js'
import { el, field } from '../lib/dom.js'
import { training } from '../lib/entry.js'
import { Random } from '../lib/random.js'

// `7+8=51`: the digits of the sum are written in reverse order, so that each carry depends only on digits already written.
const TOKENS = '0123456789+='
const LENGTH = 5
const WIDTH = 32
const HEADS = 4
const BATCH = 32

class Block extends nn.Module {
  n1 = new nn.LayerNorm(WIDTH)
  attention = new nn.MultiHeadAttention(WIDTH, HEADS, { causal: true })
  n2 = new nn.LayerNorm(WIDTH)
  up = new nn.Linear(WIDTH, 4 * WIDTH)
  down = new nn.Linear(4 * WIDTH, WIDTH)
  forward(x: Tensor, weights?: (t: Tensor) => void): Tensor {
    const n = this.n1.forward(x)
    const h = x.add(this.attention.forward(n, n, weights))
    return h.add(this.down.forward(this.up.forward(this.n2.forward(h)).gelu()))
  }
}

class Adder extends nn.Module {
  tokens = new nn.Embedding(TOKENS.length, WIDTH, { init: { normal: 0.3 } })
  positions = this.param([LENGTH, WIDTH], { init: { normal: 0.3 } })
  blocks = [new Block()]
  norm = new nn.LayerNorm(WIDTH)
  head = new nn.Linear(WIDTH, 10)
  /** Logits of the two digits of the sum, [batch, 2, 10]. */
  forward(ids: Tensor, weights?: (layer: number, t: Tensor) => void): Tensor {
    let h = this.tokens.forward(ids).add(this.positions)
    this.blocks.forEach((b, i) => { h = b.forward(h, weights && ((t) => weights(i, t))) })
    return this.head.forward(this.norm.forward(h.narrow(1, LENGTH - 2, 2)))
  }
}

/** `a+b=` and all digits of the sum except the last one to predict. */
const encode = (a: number, b: number): number[] => {
  return [...`${a}+${b}=${(a + b) % 10}`].map((c) => TOKENS.indexOf(c))
}
const digits = (n: number): number[] => [n % 10, Math.floor(n / 10)]

export default training({
  id: 'addition',
  title: 'Addition transformer',
  line: 'A transformer learns to add, and shows where it looks.',
  text: 'One block of attention with four heads reads a sum such as 7+8= and writes the result from its last digit on. The pictures show which positions (columns) each position (rows) looks at.',
  source,
  target: 0.2,
  measure: 'cross-entropy per digit',
  rate: 0.01,
  spec: () => ({
    model: new Adder(),
    loss: (m, { x, y }) => losses.crossEntropy(m.forward(x), y),
    inputs: { x: { shape: [BATCH, LENGTH], dtype: 'i32' }, y: { shape: [BATCH, 2], dtype: 'i32' } },
    optimizer: optim.adam({ rate: 0.01, clip: 1 }),
  }),
  batch(step) {
    const random = new Random(step + 1)
    const pairs = Array.from({ length: BATCH }, () => [random.int(10), random.int(10)] as const)
    return {
      x: Int32Array.from(pairs.flatMap(([a, b]) => encode(a, b))),
      y: Int32Array.from(pairs.flatMap(([a, b]) => digits(a + b))),
    }
  },
  view(host, stage) {
    const number = (value: string) => el('input', { type: 'number', min: '0', max: '9', value, class: 'short' })
    const [a, b] = [number('7'), number('8')]
    const answer = el('p', { class: 'answer', role: 'status' })
    const maps = el('div', { class: 'maps' })
    const TEST = 100
    const score = el('p', { class: 'muted' })
    const draw = async () => {
      const s = stage()
      const value = (i: HTMLInputElement) => Math.min(9, Math.max(0, Math.floor(Number(i.value)) || 0))
      const f = await s.forward('look', {
        forward: (m: Adder, { x }) => m.forward(x, (layer, t) => void capture(`layer ${layer}`, t)),
        inputs: { x: { shape: [1, LENGTH], dtype: 'i32' } },
      })
      // Digits are predicted one after the other: each is an input for the next.
      const ids = encode(value(a), value(b))
      let said: number[] = []
      let last: Awaited<ReturnType<typeof f.run>> | null = null
      for (let i = 0; i < 2; i++) {
        const r = last = await f.run({ x: Int32Array.from([...ids.slice(0, LENGTH - 1), ...said, 0].slice(0, LENGTH)) })
        if (r.type === 'failed') throw r.error
        if (r.type !== 'completed') return
        const row = Array.from(r.output.slice(10 * i, 10 * i + 10), Number)
        said = [...said, row.indexOf(Math.max(...row))]
      }
      const sum = said[0]! + 10 * said[1]!
      const isRight = sum === value(a) + value(b)
      answer.textContent = `${value(a)} + ${value(b)} = ${sum}  ${isRight ? '✓' : '✗'}`
      answer.className = `answer ${isRight ? 'good' : ''}`
      if (last?.type !== 'completed') return
      const attention = last.captures['layer 0']!
      const text = [...ids.slice(0, LENGTH - 1), ...said].slice(0, LENGTH).map((t) => TOKENS[t]).join(' ')
      const size = LENGTH * LENGTH
      maps.replaceChildren(...Array.from({ length: HEADS }, (_, h) => el('figure', null,
        heatMap(Array.from(attention.data.slice(h * size, (h + 1) * size), Number), LENGTH, LENGTH, `Attention of head ${h + 1}`),
        el('figcaption', null, `head ${h + 1}`))), el('p', { class: 'muted' }, `Positions: ${text}`))
    }
    for (const i of [a, b]) i.addEventListener('input', () => void draw())
    host.append(el('section', { class: 'panel' }, el('h2', null, 'Try a sum'),
      el('div', { class: 'controls' }, field('first', a, 'field inline'), field('second', b, 'field inline')), answer, maps, score))
    return {
      async draw(s) {
        await draw()
        const f = await s.forward('test', { forward: (m: Adder, { x }) => m.forward(x), inputs: { x: { shape: [TEST, LENGTH], dtype: 'i32' } } })
        const pairs = Array.from({ length: TEST }, (_, i) => [Math.floor(i / 10), i % 10] as const)
        const r = await f.run({ x: Int32Array.from(pairs.flatMap(([p, q]) => encode(p, q))) })
        if (r.type !== 'completed') return
        const right = pairs.filter(([p, q], i) => digits(p + q).every((d, k) => {
          const row = Array.from(r.output.slice(20 * i + 10 * k, 20 * i + 10 * k + 10), Number)
          return row.indexOf(Math.max(...row)) === d
        })).length
        score.textContent = `${right} of all ${TEST} sums are right.`
      },
    }
  },
})
