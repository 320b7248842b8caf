/** Regression of a sine by a network with two hidden layers, drawn while it learns. */
import { losses, nn, optim, type Tensor } from 'gradus'
import source from 'source:sine.ts'
import { line, Surface } from '../lib/canvas.js'
import { color, el } from '../lib/dom.js'
import { training } from '../lib/entry.js'
import { Random } from '../lib/random.js'

class Mlp extends nn.Module {
  l1 = new nn.Linear(1, 32)
  l2 = new nn.Linear(32, 32)
  l3 = new nn.Linear(32, 1)
  forward(x: Tensor): Tensor {
    return this.l3.forward(this.l2.forward(this.l1.forward(x).tanh()).tanh())
  }
}

const BATCH = 256
const truth = (x: number): number => Math.sin(2 * x)

export default training({
  id: 'sine',
  title: 'Sine regression',
  line: 'A network of two hidden layers learns a curve, drawn live.',
  text: 'A network with two hidden layers of 32 units sees 256 random points of sin 2x per step. The line is its prediction, drawn from the same parameters while they change.',
  source,
  target: 0.002,
  measure: 'mean squared error',
  rate: 0.01,
  spec: () => ({
    model: new Mlp(),
    loss: (m, { x, y }) => losses.mse(m.forward(x), y),
    inputs: { x: [BATCH, 1], y: [BATCH, 1] },
    optimizer: optim.adam({ rate: 0.01 }),
  }),
  batch(step) {
    const random = new Random(step + 1)
    const x = Float32Array.from({ length: BATCH }, () => 6.4 * random.next() - 3.2)
    return { x, y: x.map(truth) }
  },
  view(host) {
    const plot = new Surface(260, 'Prediction and sine')
    host.append(el('section', { class: 'panel' }, el('h2', null, 'Prediction'), plot.canvas,
      el('p', { class: 'muted' }, 'Grey: sin 2x. Blue: the network.')))
    const xs = Float32Array.from({ length: 161 }, (_, i) => i / 25 - 3.2)
    return {
      async draw(stage) {
        const f = await stage.forward('predict', { forward: (m: Mlp, { x }) => m.forward(x), inputs: { x: [xs.length, 1] } })
        const r = await f.run({ x: xs })
        if (r.type === 'failed') throw r.error
        const begun = plot.begin()
        if (!begun || r.type !== 'completed') return
        const { g, w, h } = begun
        const at = (x: number, y: number) => [((x + 3.2) / 6.4) * w, h / 2 - y * h * 0.38]
        g.strokeStyle = color('line')
        line(g, [at(-3.2, 0), at(3.2, 0)])
        g.lineWidth = 5
        g.strokeStyle = color('ghost')
        line(g, Array.from(xs, (x) => at(x, truth(x))))
        g.lineWidth = 2
        g.strokeStyle = color('accent')
        line(g, Array.from(xs, (x, i) => at(x, Number(r.output[i]))))
      },
    }
  },
})
