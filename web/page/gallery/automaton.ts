/** A neural cellular automaton: every cell applies the same learnt rule, and together the cells grow a picture from one cell. */
import { capture, nn, optim, type Tensor } from 'gradus'
import source from 'source:automaton.ts'
import { pixels } from '../lib/canvas.js'
import { button, el } from '../lib/dom.js'
import { training } from '../lib/entry.js'

const SIDE = 16
const CHANNELS = 8
const STEPS = 9

class Rule extends nn.Module {
  look = new nn.Conv2d(CHANNELS, 24, 3, { padding: 1 })
  act = new nn.Conv2d(24, CHANNELS, 1, { init: { normal: 0.02 }, bias: false })
  /** One step of all cells. */
  forward(x: Tensor): Tensor {
    return x.add(this.act.forward(this.look.forward(x).relu()))
  }
}

// . nothing, R red, K dark, W white: a ladybird.
const ART = [
  '................',
  '.....K....K.....',
  '......K..K......',
  '......KKKK......',
  '.....KWKKWK.....',
  '.....KKKKKK.....',
  '....RRRKKRRR....',
  '...RRKRKKRKRR...',
  '...RRRRKKRRRR...',
  '...RRRRKKRRRR...',
  '...RKRRKKRRKR...',
  '...RRRRKKRRRR...',
  '....RRKRRKRR....',
  '.....RRKKRR.....',
  '......RRRR......',
  '................',
].join('')
const COLORS: Record<string, number[]> = { '.': [0, 0, 0, 0], R: [0.9, 0.2, 0.15, 1], K: [0.1, 0.1, 0.12, 1], W: [1, 1, 1, 1] }
const CELLS = SIDE * SIDE
/** Red, green, blue and opacity, [4, side, side]. */
const TARGET = Float32Array.from({ length: 4 * CELLS }, (_, i) => COLORS[ART[i % CELLS]!]![Math.floor(i / CELLS)]!)

/** A state in which only the middle cell is not empty. */
function seed(): Float32Array {
  const x = new Float32Array(CHANNELS * CELLS)
  for (let c = 3; c < CHANNELS; c++) x[c * CELLS + 8 * SIDE + 8] = 1
  return x
}

export default training({
  id: 'automaton',
  title: 'Neural cellular automaton',
  line: 'Cells with one learnt rule grow a ladybird.',
  text: 'Each cell sees its eight neighbours and changes eight numbers by a learnt rule, the same everywhere. The gradient flows through nine steps of growth from a single cell.',
  source,
  target: 0.025,
  measure: 'mean squared error',
  rate: 0.004,
  spec: () => ({
    model: new Rule(),
    loss: (m, { x, target }) => {
      let state = x
      for (let i = 0; i < STEPS; i++) state = m.forward(state)
      return state.narrow(1, 0, 4).sub(target).square().mean()
    },
    inputs: { x: [1, CHANNELS, SIDE, SIDE], target: [1, 4, SIDE, SIDE] },
    optimizer: optim.adam({ rate: 0.004, clip: 1 }),
  }),
  batch: () => ({ x: seed(), target: TARGET }),
  view(host, stage) {
    const canvas = el('canvas', { class: 'picture large', role: 'img', 'aria-label': 'The grown picture' })
    const truth = el('canvas', { class: 'picture', role: 'img', 'aria-label': 'The picture to grow' })
    const when = el('figcaption', null, '')
    const paint = (to: HTMLCanvasElement, data: ArrayLike<number>) => pixels(to, SIDE, SIDE, (x, y) => {
      const at = (c: number) => Number(data[c * CELLS + y * SIDE + x])
      const cover = Math.min(1, Math.max(0, at(3)))
      return [0, 1, 2].map((c) => 255 * (Math.min(1, Math.max(0, at(c))) + (1 - cover))) as never
    })
    let frames: Float32Array[] = []
    let timer = 0
    const put = (i: number) => {
      if (frames[i]) paint(canvas, frames[i])
      when.textContent = `after ${i} steps`
    }
    const grow = async () => {
      const f = await stage().forward('grow', {
        forward: (m: Rule, { x }) => {
          let state = x
          for (let i = 1; i <= STEPS; i++) state = capture(`${i}`, m.forward(state))
          return state
        },
        inputs: { x: [1, CHANNELS, SIDE, SIDE] },
      })
      const r = await f.run({ x: seed() })
      if (r.type === 'failed') throw r.error
      if (r.type === 'completed') frames = [seed(), ...Array.from({ length: STEPS }, (_, i) => r.captures[`${i + 1}`]!.data as Float32Array)]
    }
    const play = () => {
      clearInterval(timer)
      let i = 0
      put(0)
      timer = window.setInterval(() => (i < STEPS ? put(++i) : clearInterval(timer)), 130)
    }
    host.append(el('section', { class: 'panel' }, el('h2', null, 'Growth'), el('div', { class: 'maps' },
      el('figure', null, canvas, when), el('figure', null, truth, el('figcaption', null, 'to grow'))),
    el('div', { class: 'controls' }, button('Play growth', play))))
    paint(truth, TARGET)
    return {
      async draw() {
        await grow()
        put(STEPS)
      },
    }
  },
})
