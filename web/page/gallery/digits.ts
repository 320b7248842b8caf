/** A convolutional network learns handwritten digits in the page, then classifies drawings of the visitor. */
import { losses, nn, optim, type Tensor } from 'gradus'
import source from 'source:digits.ts'
import { button, color, el } from '../lib/dom.js'
import { training, type Stage } from '../lib/entry.js'
import { Random } from '../lib/random.js'

class Cnn extends nn.Module {
  c1 = new nn.Conv2d(1, 8, 3, { padding: 1 })
  c2 = new nn.Conv2d(8, 16, 3, { padding: 1 })
  out = new nn.Linear(64, 10)
  forward(x: Tensor): Tensor {
    const h = this.c1.forward(x).relu().maxPool2d(2)
    return this.out.forward(this.c2.forward(h).relu().maxPool2d(2).flatten(1))
  }
}

const BATCH = 64
const TEST = 256
const SIDE = 8

interface Digits {
  labels: Uint8Array
  pictures: Uint8Array
  train: number
}
let loading: Promise<Digits> | null = null

/** The bundled digits; the last 256 are for testing. */
function load(): Promise<Digits> {
  loading ??= (async () => {
    const bytes = new Uint8Array(await (await fetch('digits.bin')).arrayBuffer())
    const count = bytes.length / 65
    return { labels: bytes.subarray(0, count), pictures: bytes.subarray(count), train: count - TEST }
  })()
  return loading
}

/** Pixels of a digit from 0 to 1, shifted by up to one pixel, because drawings are never exactly centred. */
function pixelsOf(d: Digits, i: number, dx = 0, dy = 0): number[] {
  return Array.from({ length: 64 }, (_, at) => {
    const [x, y] = [(at % SIDE) - dx, Math.floor(at / SIDE) - dy]
    return x < 0 || y < 0 || x >= SIDE || y >= SIDE ? 0 : d.pictures[i * 64 + y * SIDE + x]! / 16
  })
}

const classify = (m: Cnn, { x }: { x: Tensor }): Tensor => m.forward(x).softmax(-1)

export default training({
  id: 'digits',
  title: 'Draw a digit',
  line: 'A convolutional network learns 1541 handwritten digits, then reads yours.',
  text: 'Two convolutions and a linear layer learn from 1541 handwritten digits of 8 by 8 pixels, which are part of this page. Another 256 measure how often it is right. Draw one yourself, also while it learns.',
  source,
  target: 0.2,
  measure: 'cross-entropy',
  rate: 0.008,
  spec: () => ({
    model: new Cnn(),
    loss: (m, { x, y }) => losses.crossEntropy(m.forward(x), y),
    inputs: { x: [BATCH, 1, SIDE, SIDE], y: { shape: [BATCH], dtype: 'i32' } },
    optimizer: optim.adam({ rate: 0.008 }),
  }),
  async batch(step) {
    const d = await load()
    const random = new Random(step + 1)
    const ids = Array.from({ length: BATCH }, () => random.int(d.train))
    return {
      x: Float32Array.from(ids.flatMap((i) => pixelsOf(d, i, random.int(3) - 1, 0))),
      y: Int32Array.from(ids, (i) => d.labels[i]!),
    }
  },
  async view(host, stage) {
    const d = await load()
    const pad = new Pad(() => void guess(stage()))
    const bars = el('ol', { class: 'bars', start: 0, 'aria-label': 'Probability of each digit' }, ...Array.from({ length: 10 }, (_, i) =>
      el('li', null, el('span', null, String(i)), el('meter', { min: 0, max: 1, value: 0, 'aria-label': `digit ${i}` }))))
    const answer = el('p', { class: 'answer', role: 'status' }, 'Draw a digit.')
    const right = el('p', { class: 'muted' })
    let shown = 0
    host.append(el('section', { class: 'panel' }, el('h2', null, 'Your digit'),
      el('div', { class: 'side' }, pad.canvas, el('div', null, answer, bars)),
      el('div', { class: 'controls' },
        button('Clear', () => { pad.clear(); answer.textContent = 'Draw a digit.' }),
        button('Show a test digit', () => pad.set(pixelsOf(d, d.train + (shown++ * 37) % TEST)))),
      right))
    async function guess(s: Stage): Promise<void> {
      const f = await s.forward('one', { forward: classify, inputs: { x: [1, 1, SIDE, SIDE] } })
      const r = await f.run({ x: pad.cells })
      if (r.type !== 'completed') return
      const p = Array.from(r.output, Number)
      bars.querySelectorAll('meter').forEach((m, i) => { m.value = p[i]! })
      const best = p.indexOf(Math.max(...p))
      answer.textContent = pad.empty ? 'Draw a digit.' : `It reads ${best} (${Math.round(100 * p[best]!)} %).`
    }
    const tests = Float32Array.from(Array.from({ length: TEST }, (_, i) => pixelsOf(d, d.train + i)).flat())
    return {
      async draw(s) {
        const f = await s.forward('test', { forward: classify, inputs: { x: [TEST, 1, SIDE, SIDE] } })
        const r = await f.run({ x: tests })
        if (r.type === 'failed') throw r.error
        if (r.type !== 'completed') return
        let count = 0
        for (let i = 0; i < TEST; i++) {
          const row = Array.from(r.output.slice(10 * i, 10 * i + 10), Number)
          if (row.indexOf(Math.max(...row)) === d.labels[d.train + i]) count++
        }
        right.textContent = `${((100 * count) / TEST).toFixed(1)} % of 256 digits that it has never seen are right.`
        host.dataset.right = String(count / TEST)
        pad.paint()
        if (!pad.empty) await guess(s)
      },
    }
  },
})

/** A square to draw on. Strokes are stored as 32 by 32 pixels and counted in blocks of 4 by 4, as in the data set. */
class Pad {
  readonly canvas = el('canvas', { class: 'pad', width: 224, height: 224, tabindex: '0', role: 'img', 'aria-label': 'Drawing area for a digit' })
  cells = new Float32Array(64)
  empty = true
  private fine = new Uint8Array(32 * 32)

  constructor(private changed: () => void) {
    let last: [number, number] | null = null
    const at = (e: PointerEvent): [number, number] => {
      const r = this.canvas.getBoundingClientRect()
      return [((e.clientX - r.left) / r.width) * 32, ((e.clientY - r.top) / r.height) * 32]
    }
    this.canvas.addEventListener('pointerdown', (e) => {
      this.canvas.setPointerCapture(e.pointerId)
      last = at(e)
      this.stroke(last, last)
    })
    this.canvas.addEventListener('pointermove', (e) => {
      if (!last) return
      const to = at(e)
      this.stroke(last, to)
      last = to
    })
    for (const end of ['pointerup', 'pointercancel']) this.canvas.addEventListener(end, () => { last = null })
  }

  clear(): void {
    this.fine.fill(0)
    this.count()
  }

  set(cells: number[]): void {
    this.cells = Float32Array.from(cells)
    this.fine.fill(0)
    this.empty = false
    this.paint()
    this.changed()
  }

  private stroke([x0, y0]: [number, number], [x1, y1]: [number, number]): void {
    const steps = Math.max(1, Math.ceil(2 * Math.hypot(x1 - x0, y1 - y0)))
    for (let s = 0; s <= steps; s++) {
      const [cx, cy] = [x0 + ((x1 - x0) * s) / steps, y0 + ((y1 - y0) * s) / steps]
      for (let y = Math.floor(cy - 2); y <= cy + 2; y++) {
        for (let x = Math.floor(cx - 2); x <= cx + 2; x++) {
          if (x >= 0 && y >= 0 && x < 32 && y < 32 && Math.hypot(x + 0.5 - cx, y + 0.5 - cy) < 1.9) this.fine[y * 32 + x] = 1
        }
      }
    }
    this.count()
  }

  private count(): void {
    this.cells = new Float32Array(64)
    this.fine.forEach((on, i) => { this.cells[(i >> 7) * 8 + ((i & 31) >> 2)]! += on / 16 })
    this.empty = !this.cells.some((c) => c > 0)
    this.paint()
    this.changed()
  }

  paint(): void {
    const g = this.canvas.getContext('2d')!
    const size = this.canvas.width / SIDE
    g.clearRect(0, 0, this.canvas.width, this.canvas.height)
    g.fillStyle = color('text')
    this.cells.forEach((c, i) => {
      g.globalAlpha = c
      g.fillRect((i % SIDE) * size, Math.floor(i / SIDE) * size, size - 1, size - 1)
    })
    g.globalAlpha = 1
  }
}
