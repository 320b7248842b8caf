/** A network with two hidden layers learns a sine. Press Train; the tab Values shows the prediction. */
import { losses, nn, optim, tensor, type Tensor } from 'gradus'

class Mlp extends nn.Module {
  l1 = new nn.Linear(1, 32)
  l2 = new nn.Linear(32, 32)
  l3 = new nn.Linear(32, 1)

  forward(x: Tensor): Tensor {
    const h = this.l1.forward(x).tanh()
    return this.l3.forward(this.l2.forward(h).tanh())
  }
}

type Batch = { x: Tensor, y: Tensor }
const BATCH = 256

export const model = new Mlp()
export const loss = (m: Mlp, { x, y }: Batch) => losses.mse(m.forward(x), y)
export const inputs = { x: [BATCH, 1], y: [BATCH, 1] }
export const optimizer = optim.adam({ rate: 0.01 })

/** Random points of the curve, made for every step. */
export function batch(_step: number) {
  const x = Float32Array.from({ length: BATCH }, () => 6.4 * Math.random() - 3.2)
  return { x, y: x.map((v) => Math.sin(2 * v)) }
}

/** The values that the tab Values shows, with the current parameters. */
export function values(m: Mlp) {
  const x = Float32Array.from({ length: 9 }, (_, i) => 0.4 * i - 1.6)
  return { prediction: m.forward(tensor(x, { shape: [9, 1] })).reshape([9]), truth: tensor(x.map((v) => Math.sin(2 * v))) }
}
