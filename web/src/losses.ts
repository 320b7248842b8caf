/** Losses. Each is the mean by default; `reduction` may be `sum` or `none`. */
import type { Reduction } from './apply.js'
import { takeAlongAxis } from './functions.js'
import type { Tensor } from './tensor.js'

/** The squared difference. */
export const mse = (x: Tensor, target: Tensor, reduction?: Reduction): Tensor => x.mseLoss(target, reduction)
/** The absolute difference. */
export const l1 = (x: Tensor, target: Tensor, reduction?: Reduction): Tensor => x.l1Loss(target, reduction)
/** Huber loss: quadratic for differences below `delta`, linear above. */
export const huber = (x: Tensor, target: Tensor, delta?: number, reduction?: Reduction): Tensor => x.huberLoss(target, delta, reduction)
/** Binary cross-entropy of logits. */
export const bceWithLogits = (x: Tensor, target: Tensor, reduction?: Reduction): Tensor => x.bceWithLogits(target, reduction)

/** Cross-entropy of logits [..., classes] with integers [...]. */
export function crossEntropy(logits: Tensor, target: Tensor, options: { reduction?: Reduction, labelSmoothing?: number, ignoreIndex?: number } = {}): Tensor {
  const classes = logits.shape.at(-1)!
  const loss = logits.reshape([-1, classes]).crossEntropy(target.reshape([-1]), options)
  return options.reduction === 'none' ? loss.reshape([...target.shape]) : loss
}

/** The negative log-probability [..., classes] of integers [...]. */
export function nll(logProbabilities: Tensor, target: Tensor, reduction: Reduction = 'mean'): Tensor {
  const each = takeAlongAxis(logProbabilities, target).neg()
  return reduction === 'none' ? each : reduction === 'sum' ? each.sum() : each.mean()
}
