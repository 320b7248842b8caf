/** Flow matching in the plane: a network learns the velocity that carries noise to a shape. */
import { losses, nn, optim, type Tensor } from 'gradus'
import source from 'source:flow.ts'
import { Surface } from '../lib/canvas.js'
import { button, color, el } from '../lib/dom.js'
import { training } from '../lib/entry.js'
import { Random } from '../lib/random.js'

const BATCH = 256
const POINTS = 300
const EULER = 16

class Velocity extends nn.Module {
  place = new nn.Linear(2, 64)
  time = new nn.Linear(1, 64, { bias: false })
  l2 = new nn.Linear(64, 64)
  l3 = new nn.Linear(64, 2)
  /** The velocity at positions [n, 2] and times [n, 1]. */
  forward(x: Tensor, t: Tensor): Tensor {
    const h = this.place.forward(x).add(this.time.forward(t)).silu()
    return this.l3.forward(this.l2.forward(h).silu())
  }
}

/** A point of two interleaved moons. */
function moon(random: Random): [number, number] {
  const a = Math.PI * random.next()
  const n = () => 0.07 * random.normal()
  return random.next() < 0.5 ? [Math.cos(a) * 1.2 - 0.6 + n(), Math.sin(a) * 1.2 - 0.3 + n()] : [0.6 - Math.cos(a) * 1.2 + n(), 0.3 - Math.sin(a) * 1.2 + n()]
}

export default training({
  id: 'flow',
  title: 'Flow matching',
  line: 'Noise flows into two moons along a learnt velocity.',
  text: 'For points on straight lines from noise to data the network predicts the velocity. Following it from fresh noise gives new data. The loss cannot reach zero, because lines to different points cross.',
  source,
  target: 1.2,
  measure: 'mean squared error',
  rate: 0.005,
  spec: () => ({
    model: new Velocity(),
    loss: (m, { noise, data, t }) => {
      const x = noise.mul(t.neg().add(1)).add(data.mul(t))
      return losses.mse(m.forward(x, t), data.sub(noise))
    },
    inputs: { noise: [BATCH, 2], data: [BATCH, 2], t: [BATCH, 1] },
    optimizer: optim.adam({ rate: 0.005 }),
  }),
  batch(step) {
    const random = new Random(step + 1)
    return {
      noise: Float32Array.from({ length: 2 * BATCH }, () => random.normal()),
      data: Float32Array.from(Array.from({ length: BATCH }, () => moon(random)).flat()),
      t: Float32Array.from({ length: BATCH }, () => random.next()),
    }
  },
  view(host, stage) {
    const plot = new Surface(340, 'Points carried from noise to two moons')
    let frames: Float32Array[] = []
    let shown = 0
    let timer = 0
    const paint = () => {
      const begun = plot.begin()
      const at = frames[shown]
      if (!begun || !at) return
      const { g, w, h } = begun
      const scale = Math.min(w, h) / 5.4
      const dot = (x: number, y: number, r: number) => {
        g.beginPath()
        g.arc(w / 2 + x * scale, h / 2 - y * scale, r, 0, 7)
        g.fill()
      }
      const random = new Random(5)
      g.fillStyle = color('ghost')
      for (let i = 0; i < POINTS; i++) dot(...moon(random), 2)
      g.fillStyle = color('accent')
      for (let i = 0; i < POINTS; i++) dot(at[2 * i]!, at[2 * i + 1]!, 2.2)
    }
    const integrate = async () => {
      const f = await stage().forward('velocity', { forward: (m: Velocity, { x, t }) => m.forward(x, t), inputs: { x: [POINTS, 2], t: [POINTS, 1] } })
      const random = new Random(7)
      let x = Float32Array.from({ length: 2 * POINTS }, () => random.normal())
      const made = [x]
      for (let i = 0; i < EULER; i++) {
        const r = await f.run({ x, t: new Float32Array(POINTS).fill((i + 0.5) / EULER) })
        if (r.type === 'failed') throw r.error
        if (r.type !== 'completed') return
        x = x.map((v, k) => v + Number(r.output[k]) / EULER)
        made.push(x)
      }
      frames = made
      shown = EULER
      paint()
    }
    const play = () => {
      cancelAnimationFrame(timer)
      const from = performance.now()
      const frame = () => {
        shown = Math.min(EULER, Math.floor((performance.now() - from) / 70))
        paint()
        if (shown < EULER) timer = requestAnimationFrame(frame)
      }
      frame()
    }
    host.append(el('section', { class: 'panel' }, el('h2', null, 'Points'), plot.canvas,
      el('div', { class: 'controls' }, button('Play from noise', play)),
      el('p', { class: 'muted' }, `Grey: data. Blue: ${POINTS} points of noise after ${EULER} steps along the velocity.`)))
    return { draw: integrate }
  },
})
