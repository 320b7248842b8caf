/**
 * A network as the solution of a differential equation, y'' = -y with y(0) = 0 and y'(0) = 1.
 * The loss contains derivatives of the network with respect to time: grad of grad, mapped over the points with vmap.
 */
import { grad, nn, optim, tensor, vmap, type Tensor } from 'gradus'

class Solution extends nn.Module {
  l1 = new nn.Linear(1, 24)
  l2 = new nn.Linear(24, 24)
  l3 = new nn.Linear(24, 1)

  /** The value at one time, a scalar. Its form gives both initial values: y(0) = 0 and y'(0) = 1. */
  at(t: Tensor): Tensor {
    const h = this.l2.forward(this.l1.forward(t.reshape([1])).tanh()).tanh()
    return t.add(t.mul(t).mul(this.l3.forward(h).reshape([])))
  }
}

const POINTS = 64
const END = 4

export const model = new Solution()

export function loss(m: Solution, { t }: { t: Tensor }): Tensor {
  const velocity = grad((s) => m.at(s))
  const acceleration = grad((s) => velocity(s))
  const residual = vmap((s) => acceleration(s).add(m.at(s)))(t)
  return residual.square().mean()
}

export const inputs = { t: [POINTS] }
export const optimizer = optim.adam({ rate: 0.01, clip: 1 })
export const batch = (_step: number) => ({ t: Float32Array.from({ length: POINTS }, () => END * Math.random()) })

export function values(m: Solution) {
  const times = Float32Array.from({ length: 9 }, (_, i) => (END * i) / 8)
  return { solution: vmap((s) => m.at(s))(tensor(times)), sine: tensor(times.map(Math.sin)) }
}
