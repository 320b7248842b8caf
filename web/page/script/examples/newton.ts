/** Newton's method, with a Hessian from grad and vmap. This program does not train: the tab Values shows its exported tensors. */
import { grad, tensor, vmap, type Tensor } from 'gradus'

/** Rosenbrock's function, whose minimum is at (1, 1). */
function valley(p: Tensor): Tensor {
  const x = p.narrow(0, 0, 1).reshape([])
  const y = p.narrow(0, 1, 1).reshape([])
  return x.neg().add(1).square().add(y.sub(x.square()).square().mul(100))
}

const slope = grad(valley)
/** Row i is the gradient of component i of the gradient, computed by a map over unit vectors. */
const hessian = (p: Tensor) => vmap((unit) => grad((q) => slope(q).mul(unit).sum())(p))(tensor([[1, 0], [0, 1]]))

let at = tensor([-1.2, 1])
for (let i = 0; i < 6; i++) {
  const move = hessian(at).solve(slope(at))
  at = at.sub(move)
  console.log(`step ${i + 1}: f = ${await valley(at).item()}`)
}

export const minimum = at
export const gradient = slope(at)
export const curvature = hessian(at)
