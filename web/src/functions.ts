/** Functions composed of ops, for attention, sampling and images. They can be traced, as ops can. */
import { index, rand } from './ops.generated.js'
import type { Tensor } from './tensor.js'
import { ShapeError } from './errors.js'

/** [..., positions, heads * features] to [..., heads, positions, features]. */
export function splitHeads(x: Tensor, heads: number): Tensor {
  const [positions, width] = x.shape.slice(-2) as [number, number]
  if (width % heads) throw new ShapeError(`splitHeads: ${width} features do not divide into ${heads} heads`, 'shape')
  return x.reshape([...x.shape.slice(0, -1), heads, width / heads]).transpose(-3, -2)
    .reshape([...x.shape.slice(0, -2), heads, positions, width / heads])
}

/** [..., heads, positions, features] to [..., positions, heads * features]. */
export function mergeHeads(x: Tensor): Tensor {
  const [heads, positions, features] = x.shape.slice(-3) as [number, number, number]
  return x.transpose(-3, -2).reshape([...x.shape.slice(0, -3), positions, heads * features])
}

/** The causal mask, booleans [queries, keys]: true where the key is not after the query. */
export function causalMask(queries: number, keys = queries): Tensor {
  return index([queries, keys], 1).le(index([queries, keys], 0).add(keys - queries))
}

/** The scores where the key is not after the query, `value` elsewhere. */
export function whereCausal(scores: Tensor, value: number): Tensor {
  const [queries, keys] = scores.shape.slice(-2) as [number, number]
  return scores.maskedFill(causalMask(queries, keys).not(), value)
}

/** Softmax over the keys that are not after their query. */
export function softmaxCausal(scores: Tensor): Tensor {
  return whereCausal(scores, -Infinity).softmax(-1)
}

/** Draws a class per row of logits [..., classes], as integers. */
export function categorical(logits: Tensor): Tensor {
  // The argmax of logits plus Gumbel noise has the distribution of the softmax.
  const noise = rand([...logits.shape]).clamp(1e-9, 1).log().neg().log().neg()
  return logits.add(noise).argmax(-1)
}

/** Every pixel of [n, c, h, w] repeated `scale` times along both axes. */
export function nearestUpsample2d(x: Tensor, scale: number): Tensor {
  const [h, w] = x.shape.slice(-2) as [number, number]
  return x.interpolate([h * scale, w * scale], 'nearest')
}

/** The elements of an axis at these integers, one per row: `x[..., ids[...]]`. */
export function takeAlongAxis(x: Tensor, ids: Tensor, axis = -1): Tensor {
  return x.gather(axis, ids.unsqueeze(axis)).squeeze(axis)
}
