/** The sine MLP that several tests train: a spec that the page and a worker import, and its data. */
export const spec = `
import { nn, losses, optim, capture } from '/dist/index.js'
class Mlp extends nn.Module {
  l1 = new nn.Linear(1, 64)
  l2 = new nn.Linear(64, 64)
  l3 = new nn.Linear(64, 1)
  forward(x) { return this.l3.forward(this.l2.forward(this.l1.forward(x).relu()).relu()) }
}
export const model = new Mlp()
export const loss = (m, { x, y }) => losses.mse(capture('prediction', m.forward(x)), y)
export const predict = (m, { x }) => m.forward(x)
export const inputs = { x: [null, 1], y: [null, 1] }
export const optimizer = optim.adam({ rate: 0.005 })
export const seed = 1
export const xs = Float32Array.from({ length: 256 }, (_, i) => -Math.PI + (2 * Math.PI * i) / 255)
export const ys = xs.map(Math.sin)
`
