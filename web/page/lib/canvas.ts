/** Drawings on 2D canvases: loss curves, function plots, heat maps and pictures. Colors come from the style sheet. */
import { color, el, show } from './dom.js'

/** A canvas of CSS pixels, as wide as its container and sharp on dense screens. */
export class Surface {
  readonly canvas: HTMLCanvasElement
  constructor(readonly height: number, label: string, className = 'plot') {
    this.canvas = el('canvas', { class: className, role: 'img', 'aria-label': label })
    this.canvas.style.height = `${height}px`
  }

  /** Returns a cleared context and the size in CSS pixels, or null while the canvas is hidden. */
  begin(): { g: CanvasRenderingContext2D, w: number, h: number } | null {
    const w = this.canvas.clientWidth
    const h = this.canvas.clientHeight || this.height
    const g = this.canvas.getContext('2d')
    if (!w || !g) return null
    const dense = Math.min(2, window.devicePixelRatio || 1)
    if (this.canvas.width !== Math.round(w * dense) || this.canvas.height !== Math.round(h * dense)) {
      this.canvas.width = Math.round(w * dense)
      this.canvas.height = Math.round(h * dense)
    }
    g.setTransform(dense, 0, 0, dense, 0, 0)
    g.clearRect(0, 0, w, h)
    g.font = `11px ${getComputedStyle(this.canvas).fontFamily}`
    return { g, w, h }
  }

  label(text: string): void {
    this.canvas.setAttribute('aria-label', text)
  }
}

/** The loss as a function of steps, with a logarithmic axis and a line at the target. */
export class Curve extends Surface {
  constructor(height = 170) {
    super(height, 'Loss by steps: no steps yet')
  }

  draw(points: readonly { step: number, loss: number }[], target?: number): void {
    const begun = this.begin()
    if (!begun) return
    const { g, w, h } = begun
    const box = { left: 46, right: w - 10, top: 10, bottom: h - 20 }
    const positive = points.filter((p) => p.loss > 0 && Number.isFinite(p.loss))
    const values = [...positive.map((p) => p.loss), ...(target ? [target] : []), ...(positive.length ? [] : [1])]
    const [low, high] = [Math.min(...values), Math.max(...values)].map(Math.log10) as [number, number]
    // The axis covers at least a factor of two, with the curve in the middle.
    const margin = Math.max(0.05, (0.3 - (high - low)) / 2)
    const [least, most] = [low - margin, high + margin]
    const last = Math.max(10, points.at(-1)?.step ?? 10)
    const x = (s: number) => box.left + ((box.right - box.left) * s) / last
    const y = (v: number) => box.bottom - ((box.bottom - box.top) * (Math.log10(v) - least)) / (most - least)
    g.strokeStyle = color('line')
    g.fillStyle = color('muted')
    g.lineWidth = 1
    g.textAlign = 'right'
    g.textBaseline = 'middle'
    for (const v of ticks(least, most)) {
      g.beginPath()
      g.moveTo(box.left, y(v))
      g.lineTo(box.right, y(v))
      g.stroke()
      g.fillText(show(v, 2), box.left - 6, y(v))
    }
    g.textBaseline = 'top'
    g.fillText(`${last} steps`, box.right, box.bottom + 5)
    g.textAlign = 'left'
    g.fillText('0', box.left, box.bottom + 5)
    if (target) {
      g.strokeStyle = color('good')
      g.setLineDash([5, 4])
      line(g, [[box.left, y(target)], [box.right, y(target)]])
      g.setLineDash([])
      g.fillStyle = color('good')
      g.textAlign = 'left'
      g.textBaseline = 'bottom'
      g.fillText(`target ${show(target)}`, box.left + 4, y(target) - 2)
    }
    g.strokeStyle = color('accent')
    g.lineJoin = 'round'
    // Draws losses of single batches, and on top their mean over the last ten.
    g.lineWidth = 1
    g.globalAlpha = 0.35
    line(g, positive.map((p) => [x(p.step), y(p.loss)]))
    g.globalAlpha = 1
    g.lineWidth = 1.8
    let sum = 0
    line(g, positive.map((p, i) => {
      sum += p.loss - (i >= 10 ? positive[i - 10]!.loss : 0)
      return [x(p.step), y(Math.max(sum / Math.min(i + 1, 10), 1e-12))]
    }))
    const end = points.at(-1)
    this.label(end ? `Loss by steps: ${show(end.loss)} after ${end.step} steps` : 'Loss by steps: no steps yet')
  }
}

/** Round numbers between two powers of ten. */
function ticks(least: number, most: number): number[] {
  const wide = most - least > 3
  const found: number[] = []
  for (let e = Math.floor(least); e <= Math.ceil(most); e++) {
    for (const m of wide ? [1] : most - least > 1.2 ? [1, 3] : most - least > 0.6 ? [1, 2, 5] : [1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]) {
      const l = Math.log10(m) + e
      if (l >= least && l <= most) found.push(Number((m * 10 ** e).toPrecision(3)))
    }
  }
  return found
}

/** A polyline. */
export function line(g: CanvasRenderingContext2D, points: readonly (readonly number[])[]): void {
  g.beginPath()
  points.forEach(([x, y], i) => (i ? g.lineTo(x!, y!) : g.moveTo(x!, y!)))
  g.stroke()
}

export type Rgb = readonly [number, number, number]

/** The color of a number from -1 (blue) over 0 (background) to 1 (orange). */
export function diverging(v: number, paper: Rgb): Rgb {
  const t = Math.min(1, Math.abs(v)) ** 0.8
  const to: Rgb = v < 0 ? [48, 105, 214] : [222, 110, 28]
  return [0, 1, 2].map((i) => paper[i]! + (to[i]! - paper[i]!) * t) as unknown as Rgb
}

/** The background color as numbers. */
export function paper(): Rgb {
  const hex = color('panel')
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)) as unknown as Rgb
}

/** A canvas of large pixels. `pixel` returns colors from 0 to 255. */
export function pixels(canvas: HTMLCanvasElement, w: number, h: number, pixel: (x: number, y: number) => Rgb): void {
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h })
  const g = canvas.getContext('2d')
  if (!g) return
  const image = g.createImageData(w, h)
  for (let y = 0; y < h; y++) {
    for (let x = 0; x < w; x++) {
      const [r, gr, b] = pixel(x, y)
      image.data.set([r, gr, b, 255], 4 * (y * w + x))
    }
  }
  g.putImageData(image, 0, 0)
}

/** A heat map of a matrix, scaled by its largest modulus. */
export function heatMap(data: ArrayLike<number>, rows: number, columns: number, label: string): HTMLCanvasElement {
  const canvas = el('canvas', { class: 'heat', role: 'img', 'aria-label': label })
  const most = Math.max(1e-12, ...Array.from(data, (v) => (Number.isFinite(Number(v)) ? Math.abs(Number(v)) : 0)))
  const ground = paper()
  pixels(canvas, columns, rows, (x, y) => diverging(Number(data[y * columns + x]) / most, ground))
  const scale = Math.max(2, Math.min(20, Math.floor(280 / Math.max(columns, 1)), Math.floor(160 / Math.max(rows, 1))))
  canvas.style.width = `${columns * scale}px`
  canvas.style.height = `${rows * scale}px`
  return canvas
}
