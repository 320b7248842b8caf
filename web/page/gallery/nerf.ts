/** A network learns a picture as a function from coordinates to colors. */
import { losses, nn, optim, tensor, type Tensor } from 'gradus'
import source from 'source:nerf.ts'
import { pixels } from '../lib/canvas.js'
import { el } from '../lib/dom.js'
import { training } from '../lib/entry.js'
import { Random } from '../lib/random.js'

const SIDE = 48
const BATCH = 512
const WAVES = 5

// Sines and cosines of x, then of y; a cosine is a sine shifted by a quarter period.
const FREQUENCIES = [0, 1].map((axis) => Array.from({ length: 4 * WAVES }, (_, i) => (Math.floor(i / (2 * WAVES)) === axis ? 2 ** ((i >> 1) % WAVES) : 0)))
const PHASES = Array.from({ length: 4 * WAVES }, (_, i) => (i % 2) * (Math.PI / 2))

class Picture extends nn.Module {
  l1 = new nn.Linear(4 * WAVES, 48)
  l2 = new nn.Linear(48, 48)
  l3 = new nn.Linear(48, 3)
  /** Colors from 0 to 1 of coordinates from -1 to 1. Waves of rising frequency let it learn sharp edges. */
  forward(xy: Tensor): Tensor {
    const waves = xy.matmul(tensor(FREQUENCIES)).add(tensor(PHASES)).sin()
    return this.l3.forward(this.l2.forward(this.l1.forward(waves).relu()).relu()).sigmoid()
  }
}

/** The picture: an evening with a sun, hills and stripes on water. */
export function scene(x: number, y: number): [number, number, number] {
  const sky: [number, number, number] = [0.98 - 0.5 * (0.5 - y / 2), 0.62 - 0.2 * y, 0.45 + 0.35 * (0.5 - y / 2)]
  if (y > 0.35) return Math.sin(24 * y + 5 * Math.sin(3 * x)) > 0.1 ? [0.16, 0.34, 0.52] : [0.78, 0.52, 0.42]
  if (y > 0.08 + 0.18 * Math.sin(3.2 * x + 1)) return [0.13, 0.24, 0.3]
  if (Math.hypot(x - 0.25, y + 0.3) < 0.32) return [1, 0.93, 0.68]
  return sky
}

const place = (i: number): number => (2 * (i + 0.5)) / SIDE - 1
const GRID = Float32Array.from({ length: SIDE * SIDE * 2 }, (_, i) => place(i % 2 ? Math.floor(i / 2 / SIDE) : (i >> 1) % SIDE))

export default training({
  id: 'nerf',
  title: 'Picture as a function',
  line: 'A tiny radiance field: colors learnt from coordinates.',
  text: 'The network maps the coordinates of a point to its color, as radiance fields do. It sees 512 random points of the left picture per step; the right one is drawn from the network.',
  source,
  target: 0.005,
  measure: 'mean squared error',
  rate: 0.008,
  spec: () => ({
    model: new Picture(),
    loss: (m, { xy, rgb }) => losses.mse(m.forward(xy), rgb),
    inputs: { xy: [BATCH, 2], rgb: [BATCH, 3] },
    optimizer: optim.adam({ rate: 0.008 }),
  }),
  batch(step) {
    const random = new Random(step + 1)
    const xy = Float32Array.from({ length: 2 * BATCH }, () => 2 * random.next() - 1)
    return { xy, rgb: Float32Array.from(Array.from({ length: BATCH }, (_, i) => scene(xy[2 * i]!, xy[2 * i + 1]!)).flat()) }
  },
  view(host) {
    const truth = el('canvas', { class: 'picture', role: 'img', 'aria-label': 'The picture to learn' })
    const learnt = el('canvas', { class: 'picture', role: 'img', 'aria-label': 'The picture that the network has learnt' })
    host.append(el('section', { class: 'panel' }, el('h2', null, 'Picture'), el('div', { class: 'maps' },
      el('figure', null, truth, el('figcaption', null, 'to learn')), el('figure', null, learnt, el('figcaption', null, 'learnt')))))
    pixels(truth, SIDE, SIDE, (x, y) => scene(place(x), place(y)).map((v) => 255 * v) as never)
    return {
      async draw(s) {
        const f = await s.forward('draw', { forward: (m: Picture, { xy }) => m.forward(xy), inputs: { xy: [SIDE * SIDE, 2] } })
        const r = await f.run({ xy: GRID })
        if (r.type === 'failed') throw r.error
        if (r.type !== 'completed') return
        pixels(learnt, SIDE, SIDE, (x, y) => [0, 1, 2].map((c) => 255 * Number(r.output[3 * (y * SIDE + x) + c])) as never)
      },
    }
  },
})
