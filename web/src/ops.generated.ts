/** Written by scripts/generate.mjs from the catalog of the wasm module. Do not edit. */
import { apply, applyAll, defaultDevice, type Reduction } from './apply.js'
import type { DeviceName } from './module.js'
import type { DType } from './plan.js'
import type { Tensor } from './tensor.js'

/** Ops as methods of a tensor. */
export abstract class TensorOps {
  /** Absolute value; its derivative at 0 is 0. */ abs(): Tensor { return apply('abs', [this]) }
  /** Inverse cosine, from 0 to pi. */ acos(): Tensor { return apply('acos', [this]) }
  /** Inverse hyperbolic cosine, not negative; NaN below 1. */ acosh(): Tensor { return apply('acosh', [this]) }
  /** Sum. */ add(other: Tensor | number): Tensor { return apply('add', [this, other]) }
  /** Airy function Ai. */ airyAi(): Tensor { return apply('airy_ai', [this]) }
  /** Derivative of the Airy function Ai. */ airyAiPrime(): Tensor { return apply('airy_ai_prime', [this]) }
  /** True if no element is 0. */ all(axes?: number | number[], keepdim?: boolean): Tensor { return apply('all', [this, axes, keepdim]) }
  /** Logical and; bit by bit on integers. */ and(other: Tensor | number): Tensor { return apply('and', [this, other]) }
  /** True if some element is not 0. */ any(axes?: number | number[], keepdim?: boolean): Tensor { return apply('any', [this, axes, keepdim]) }
  /** The position of the maximum along an axis. */ argmax(axis?: number): Tensor { return apply('argmax', [this, axis]) }
  /** The position of the minimum along an axis. */ argmin(axis?: number): Tensor { return apply('argmin', [this, axis]) }
  /** Inverse sine, from -pi/2 to pi/2. */ asin(): Tensor { return apply('asin', [this]) }
  /** Inverse hyperbolic sine. */ asinh(): Tensor { return apply('asinh', [this]) }
  /** Inverse tangent, from -pi/2 to pi/2. */ atan(): Tensor { return apply('atan', [this]) }
  /** The angle of the point with ordinate `a` and abscissa `b`, from -pi to pi. Its derivative at the origin is 0. */ atan2(other: Tensor | number): Tensor { return apply('atan2', [this, other]) }
  /** Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond. */ atanh(): Tensor { return apply('atanh', [this]) }
  /** Scaled dot-product attention over [..., positions, features]. */ attention(key: Tensor, value: Tensor, options?: { causal?: boolean, mask?: Tensor, scale?: number }): Tensor { return apply('attention', [this, key, value, options]) }
  /** The mean of each window. */ avgPool2d(kernel: number | number[], stride?: number | number[], padding?: number | number[]): Tensor { return apply('avgPool2d', [this, kernel, stride, padding]) }
  /** Binary cross-entropy of probabilities. */ bceLoss(target: Tensor, reduction?: Reduction): Tensor { return apply('bceLoss', [this, target, reduction]) }
  /** Binary cross-entropy of logits. */ bceWithLogits(target: Tensor, reduction?: Reduction): Tensor { return apply('bceWithLogits', [this, target, reduction]) }
  /** Modified Bessel function of the first kind of order 0. */ besselI0(): Tensor { return apply('bessel_i0', [this]) }
  /** `exp(-|x|)` times the modified Bessel function of the first kind of order 0. */ besselI0e(): Tensor { return apply('bessel_i0e', [this]) }
  /** Modified Bessel function of the first kind of order 1. */ besselI1(): Tensor { return apply('bessel_i1', [this]) }
  /** `exp(-|x|)` times the modified Bessel function of the first kind of order 1. */ besselI1e(): Tensor { return apply('bessel_i1e', [this]) }
  /** Bessel function of the first kind of order 0. */ besselJ0(): Tensor { return apply('bessel_j0', [this]) }
  /** Bessel function of the first kind of order 1. */ besselJ1(): Tensor { return apply('bessel_j1', [this]) }
  /** Modified Bessel function of the second kind of order 0; infinite at 0, NaN below. */ besselK0(): Tensor { return apply('bessel_k0', [this]) }
  /** `exp(x)` times the modified Bessel function of the second kind of order 0; infinite at 0, NaN below. */ besselK0e(): Tensor { return apply('bessel_k0e', [this]) }
  /** Modified Bessel function of the second kind of order 1; infinite at 0, NaN below. */ besselK1(): Tensor { return apply('bessel_k1', [this]) }
  /** `exp(x)` times the modified Bessel function of the second kind of order 1; infinite at 0, NaN below. */ besselK1e(): Tensor { return apply('bessel_k1e', [this]) }
  /** Bessel function of the second kind of order 0; minus infinity at 0, NaN below. */ besselY0(): Tensor { return apply('bessel_y0', [this]) }
  /** Bessel function of the second kind of order 1; minus infinity at 0, NaN below. */ besselY1(): Tensor { return apply('bessel_y1', [this]) }
  /** Cube root, of negative numbers too. Its derivative at 0 is infinite. */ cbrt(): Tensor { return apply('cbrt', [this]) }
  /** The smallest integer not smaller than `x`. */ ceil(): Tensor { return apply('ceil', [this]) }
  /** The lower Cholesky factor. */ cholesky(): Tensor { return apply('cholesky', [this]) }
  /** This many parts. */ chunk(chunks: number, axis?: number): Tensor[] { return applyAll('chunk', [this, chunks, axis]) }
  /** Not below min, not above max. */ clamp(min?: number, max?: number): Tensor { return apply('clamp', [this, min, max]) }
  /** Convolution of [N,C,H,W] with windows [O,C/groups,h,w]. */ conv2d(weight: Tensor, bias?: Tensor, stride?: number | number[], padding?: number | number[], dilation?: number | number[], groups?: number): Tensor { return apply('conv2d', [this, weight, bias, stride, padding, dilation, groups]) }
  /** The modulus of the first operand with the sign of the second; the sign of a zero or NaN counts. The derivative by the first operand is 0 at 0; the derivative by the second is always 0. */ copysign(other: Tensor | number): Tensor { return apply('copysign', [this, other]) }
  /** Cosine. */ cos(): Tensor { return apply('cos', [this]) }
  /** Hyperbolic cosine. */ cosh(): Tensor { return apply('cosh', [this]) }
  /** Cross-entropy of logits [n, c, ...] with classes, or with probabilities. */ crossEntropy(target: Tensor, options?: { labelSmoothing?: number, ignoreIndex?: number, reduction?: Reduction }): Tensor { return apply('crossEntropy', [this, target, options]) }
  /** Running products. */ cumprod(axis: number): Tensor { return apply('cumprod', [this, axis]) }
  /** Running sums. */ cumsum(axis: number): Tensor { return apply('cumsum', [this, axis]) }
  /** The determinant. */ det(): Tensor { return apply('det', [this]) }
  /** A diagonal. */ diagonal(offset?: number, axis1?: number, axis2?: number): Tensor { return apply('diagonal', [this, offset, axis1, axis2]) }
  /** Derivative of `lgamma`; minus infinity at 0, infinity at -0, NaN at -1, -2, ... */ digamma(): Tensor { return apply('digamma', [this]) }
  /** Quotient; integers round towards zero. */ div(other: Tensor | number): Tensor { return apply('div', [this, other]) }
  /** The inner product of two vectors. */ dot(other: Tensor): Tensor { return apply('dot', [this, other]) }
  /** Elements become 0 with probability p; the others are scaled. */ dropout(p: number): Tensor { return apply('dropout', [this, p]) }
  /** Eigenvalues and eigenvectors of a Hermitian matrix. */ eigh(): [Tensor, Tensor] { return applyAll('eigh', [this]) as [Tensor, Tensor] }
  /** Negative numbers become alpha times their exponential less 1. */ elu(alpha?: number): Tensor { return apply('elu', [this, alpha]) }
  /** The rows of this table at integers. */ embedding(ids: Tensor): Tensor { return apply('embedding', [this, ids]) }
  /** True where `a` and `b` are equal. */ eq(other: Tensor | number): Tensor { return apply('eq', [this, other]) }
  /** Error function. */ erf(): Tensor { return apply('erf', [this]) }
  /** `1 - erf(x)`, exact where it is small. */ erfc(): Tensor { return apply('erfc', [this]) }
  /** Inverse of the error function; infinite at -1 and 1, as its derivative is, NaN beyond. */ erfinv(): Tensor { return apply('erfinv', [this]) }
  /** Natural exponential. */ exp(): Tensor { return apply('exp', [this]) }
  /** 2 to the power `x`. */ exp2(): Tensor { return apply('exp2', [this]) }
  /** Axes of extent 1 repeated. */ expand(shape: number[]): Tensor { return apply('expand', [this, shape]) }
  /** `exp(x) - 1`, exact near 0. */ expm1(): Tensor { return apply('expm1', [this]) }
  /** Several axes as one. */ flatten(from?: number, to?: number): Tensor { return apply('flatten', [this, from, to]) }
  /** Elements in reverse order along axes. */ flip(axes: number | number[]): Tensor { return apply('flip', [this, axes]) }
  /** The largest integer not larger than `x`. */ floor(): Tensor { return apply('floor', [this]) }
  /** Quotient rounded down; the counterpart of `remainder`. A float divided by zero is the ordinary quotient. A step function: its derivative is 0. */ floorDiv(other: Tensor | number): Tensor { return apply('floor_div', [this, other]) }
  /** Remainder of division rounded towards zero: it has the sign of the dividend, as `%` in C and Rust. NaN for a float divisor 0 or an infinite dividend. At a jump, the derivative is that of the side to which the value belongs. */ fmod(other: Tensor | number): Tensor { return apply('fmod', [this, other]) }
  /** The `n`-th derivative by `a` of `x^(a-1) exp(-x) / Γ(a)`, the derivative by `x` of `igamma(a, x)`. The order is rounded to an integer, so its derivative is 0; NaN for orders below 0 and above 20. */ gammaDensity(second: Tensor, third: Tensor): Tensor { return apply('gamma_density', [this, second, third]) }
  /** Gathers, for each element of the index, the element of an axis at that index. */ gather(axis: number, index: Tensor): Tensor { return apply('gather', [this, axis, index]) }
  /** True where `a` is larger than `b` or equal. */ ge(other: Tensor | number): Tensor { return apply('ge', [this, other]) }
  /** The number times the normal distribution function. */ gelu(): Tensor { return apply('gelu', [this]) }
  /** Mean 0 and variance 1 over groups of channels. */ groupNorm(groups: number, weight?: Tensor, bias?: Tensor, eps?: number): Tensor { return apply('groupNorm', [this, groups, weight, bias, eps]) }
  /** True where `a` is larger than `b`. */ gt(other: Tensor | number): Tensor { return apply('gt', [this, other]) }
  /** Squared for small differences, absolute for large ones. */ huberLoss(target: Tensor, delta?: number, reduction?: Reduction): Tensor { return apply('huberLoss', [this, target, delta, reduction]) }
  /** `sqrt(a² + b²)` without overflow; infinite if either is. Its derivative at the origin is 0. */ hypot(other: Tensor | number): Tensor { return apply('hypot', [this, other]) }
  /** Regularised lower incomplete gamma function P(a, x); NaN for arguments below 0. */ igamma(other: Tensor | number): Tensor { return apply('igamma', [this, other]) }
  /** The `n`-th derivative by `a` of `igamma(a, x)`. The order is rounded to an integer, so its derivative is 0; NaN for orders below 0 and above 20. */ igammaGradA(second: Tensor, third: Tensor): Tensor { return apply('igamma_grad_a', [this, second, third]) }
  /** Regularised upper incomplete gamma function 1 - P(a, x), exact where it is small. */ igammac(other: Tensor | number): Tensor { return apply('igammac', [this, other]) }
  /** The elements of an axis at these integers. */ indexSelect(axis: number, ids: Tensor): Tensor { return apply('indexSelect', [this, axis, ids]) }
  /** The last axes resampled to these extents. */ interpolate(size: number[], mode?: 'nearest' | 'linear'): Tensor { return apply('interpolate', [this, size, mode]) }
  /** The inverse matrix. */ inv(): Tensor { return apply('inv', [this]) }
  /** True where `x` is neither infinite nor NaN (complex: in both parts). */ isFinite(): Tensor { return apply('is_finite', [this]) }
  /** True where `x` is infinite, of either sign (complex: in either part). */ isInf(): Tensor { return apply('is_inf', [this]) }
  /** True where `x` is not a number (complex: in either part). */ isNan(): Tensor { return apply('is_nan', [this]) }
  /** The absolute difference. */ l1Loss(target: Tensor, reduction?: Reduction): Tensor { return apply('l1Loss', [this, target, reduction]) }
  /** Mean 0 and variance 1 over the last axes. */ layerNorm(shape: number[], weight?: Tensor, bias?: Tensor, eps?: number): Tensor { return apply('layerNorm', [this, shape, weight, bias, eps]) }
  /** True where `a` is smaller than `b` or equal. */ le(other: Tensor | number): Tensor { return apply('le', [this, other]) }
  /** Negative numbers are scaled. */ leakyRelu(negativeSlope?: number): Tensor { return apply('leakyRelu', [this, negativeSlope]) }
  /** Logarithm of the modulus of the gamma function; infinite at its poles 0, -1, -2, ... */ lgamma(): Tensor { return apply('lgamma', [this]) }
  /** The product with a transposed weight [out, in], plus a bias. */ linear(weight: Tensor, bias?: Tensor): Tensor { return apply('linear', [this, weight, bias]) }
  /** Natural logarithm; minus infinity at 0, NaN below (complex: the principal branch). */ log(): Tensor { return apply('log', [this]) }
  /** Logarithm to base 10; minus infinity at 0, NaN below (complex: the principal branch). */ log10(): Tensor { return apply('log10', [this]) }
  /** `log(1 + x)`, exact near 0; minus infinity at -1, NaN below (complex: the principal branch). */ log1p(): Tensor { return apply('log1p', [this]) }
  /** Logarithm to base 2; minus infinity at 0, NaN below (complex: the principal branch). */ log2(): Tensor { return apply('log2', [this]) }
  /** The logarithm of `softmax`. */ logSoftmax(axis?: number): Tensor { return apply('logSoftmax', [this, axis]) }
  /** `log(exp(a) + exp(b))` without overflow. At two equal infinities the derivative is shared evenly, as at any other tie. */ logaddexp(other: Tensor | number): Tensor { return apply('logaddexp', [this, other]) }
  /** The logarithm of the sum of exponentials. */ logsumexp(axes?: number | number[], keepdim?: boolean): Tensor { return apply('logsumexp', [this, axes, keepdim]) }
  /** True where `a` is smaller than `b`. */ lt(other: Tensor | number): Tensor { return apply('lt', [this, other]) }
  /** A number where the mask is true. */ maskedFill(mask: Tensor, value: number): Tensor { return apply('maskedFill', [this, mask, value]) }
  /** The product of matrices; leading axes broadcast. */ matmul(other: Tensor): Tensor { return apply('matmul', [this, other]) }
  /** The largest element along axes. */ max(axes?: number | number[], keepdim?: boolean): Tensor { return apply('max', [this, axes, keepdim]) }
  /** The largest element of each window. */ maxPool2d(kernel: number | number[], stride?: number | number[], padding?: number | number[]): Tensor { return apply('maxPool2d', [this, kernel, stride, padding]) }
  /** Larger of two. A tie returns the first and shares the derivative evenly. If an operand is NaN, so is the result, and the derivatives are 0. */ maximum(other: Tensor | number): Tensor { return apply('maximum', [this, other]) }
  /** The mean along axes. */ mean(axes?: number | number[], keepdim?: boolean): Tensor { return apply('mean', [this, axes, keepdim]) }
  /** The smallest element along axes. */ min(axes?: number | number[], keepdim?: boolean): Tensor { return apply('min', [this, axes, keepdim]) }
  /** Smaller of two. A tie returns the first and shares the derivative evenly. If an operand is NaN, so is the result, and the derivatives are 0. */ minimum(other: Tensor | number): Tensor { return apply('minimum', [this, other]) }
  /** The squared difference. */ mseLoss(target: Tensor, reduction?: Reduction): Tensor { return apply('mseLoss', [this, target, reduction]) }
  /** Product. */ mul(other: Tensor | number): Tensor { return apply('mul', [this, other]) }
  /** A range of an axis. */ narrow(axis: number, start: number, length: number): Tensor { return apply('narrow', [this, axis, start, length]) }
  /** True where `a` and `b` differ. */ ne(other: Tensor | number): Tensor { return apply('ne', [this, other]) }
  /** Negation. */ neg(): Tensor { return apply('neg', [this]) }
  /** The p-norm along axes. */ norm(p?: number, axes?: number | number[], keepdim?: boolean): Tensor { return apply('norm', [this, p, axes, keepdim]) }
  /** Logical negation; flips every bit of an integer. */ not(): Tensor { return apply('not', [this]) }
  /** For each integer a vector that is 1 there and 0 elsewhere. */ oneHot(classes: number): Tensor { return apply('oneHot', [this, classes]) }
  /** Logical or; bit by bit on integers. */ or(other: Tensor | number): Tensor { return apply('or', [this, other]) }
  /** The outer product of two vectors. */ outer(other: Tensor): Tensor { return apply('outer', [this, other]) }
  /** Zeros before and after, per axis. */ pad(padding: [number, number][]): Tensor { return apply('pad', [this, padding]) }
  /** Axes in another order. */ permute(axes: number[]): Tensor { return apply('permute', [this, axes]) }
  /** The `n`-th derivative of `digamma` at `x`. The order is rounded to an integer, so its derivative is 0; NaN for orders below 0. At the poles 0, -1, -2, ... it is infinite for odd orders, and behaves as `digamma` for even ones. */ polygamma(other: Tensor | number): Tensor { return apply('polygamma', [this, other]) }
  /** `a` to the power `b`. Any number to the power 0 is 1. Floats: NaN for a negative base and a fractional exponent. Integers: a negative exponent gives 1 over the power, rounded towards zero. The derivative by the base is exact: that of `x^0` is 0, also at 0 and NaN, and that of `x^2` is 0 at 0. The derivative by the exponent is `a^b log(a)`, which is NaN for a negative base, and 0 for base 0 and an exponent of at least 0. */ pow(other: Tensor | number): Tensor { return apply('pow', [this, other]) }
  /** The product along axes. */ prod(axes?: number | number[], keepdim?: boolean): Tensor { return apply('prod', [this, axes, keepdim]) }
  /** The factors Q and R. */ qr(): [Tensor, Tensor] { return applyAll('qr', [this]) as [Tensor, Tensor] }
  /** `1 / x`; infinite at 0. */ reciprocal(): Tensor { return apply('reciprocal', [this]) }
  /** Negative numbers become 0. */ relu(): Tensor { return apply('relu', [this]) }
  /** Remainder of division rounded down: it has the sign of the divisor, as `%` in Python; a zero has that of the dividend. NaN for a float divisor 0 or an infinite dividend. At a jump, the derivative is that of the side to which the value belongs. */ remainder(other: Tensor | number): Tensor { return apply('remainder', [this, other]) }
  /** The tensor repeated this many times along each axis. */ repeat(repeats: number[]): Tensor { return apply('repeat', [this, repeats]) }
  /** Other extents for the same elements; -1 is inferred. */ reshape(shape: number[]): Tensor { return apply('reshape', [this, shape]) }
  /** Mean square 1 over the last axes. */ rmsNorm(shape: number[], weight?: Tensor, eps?: number): Tensor { return apply('rmsNorm', [this, shape, weight, eps]) }
  /** Elements moved along axes; elements that leave reappear at the other end. */ roll(shifts: number[], axes: number[]): Tensor { return apply('roll', [this, shifts, axes]) }
  /** Rotary positions over [..., positions, features]. */ rope(base?: number, offset?: number): Tensor { return apply('rope', [this, base, offset]) }
  /** The nearest integer; halves round to even. */ round(): Tensor { return apply('round', [this]) }
  /** `1 / sqrt(x)`; infinite at 0, NaN below (complex: the principal branch). */ rsqrt(): Tensor { return apply('rsqrt', [this]) }
  /** Adds the source at these integers of an axis. */ scatterAdd(axis: number, index: Tensor, source: Tensor): Tensor { return apply('scatterAdd', [this, axis, index, source]) }
  /** One element of an axis, which is removed. */ select(axis: number, index: number): Tensor { return apply('select', [this, axis, index]) }
  /** Shifts the bits of `a` left by `b`, filling with zeros. The result is 0 if `b` is negative or not less than the width. */ shl(other: Tensor | number): Tensor { return apply('shl', [this, other]) }
  /** Shifts the bits of `a` right by `b`, filling with the sign (zeros if unsigned). If `b` is negative or not less than the width, only copies of the sign are left. */ shr(other: Tensor | number): Tensor { return apply('shr', [this, other]) }
  /** `1 / (1 + exp(-x))`, without overflow. */ sigmoid(): Tensor { return apply('sigmoid', [this]) }
  /** 1 for positive, -1 for negative, 0 for both zeros and for NaN. Its derivative is 0. */ sign(): Tensor { return apply('sign', [this]) }
  /** The number times its sigmoid. */ silu(): Tensor { return apply('silu', [this]) }
  /** Sine. */ sin(): Tensor { return apply('sin', [this]) }
  /** Hyperbolic sine. */ sinh(): Tensor { return apply('sinh', [this]) }
  /** A range of an axis; negative ends count from the end. */ slice(axis: number, start?: number, end?: number, step?: number): Tensor { return apply('slice', [this, axis, start, end, step]) }
  /** Exponentials that sum to 1 along an axis. */ softmax(axis?: number): Tensor { return apply('softmax', [this, axis]) }
  /** log(1 + exp(x)), a smooth `relu`. */ softplus(): Tensor { return apply('softplus', [this]) }
  /** The solution of a linear system. */ solve(right: Tensor): Tensor { return apply('solve', [this, right]) }
  /** Sorted elements, and their positions. */ sort(axis?: number, descending?: boolean): [Tensor, Tensor] { return applyAll('sort', [this, axis, descending]) as [Tensor, Tensor] }
  /** Parts of at most this size. */ split(size: number, axis?: number): Tensor[] { return applyAll('split', [this, size, axis]) }
  /** Square root; NaN below 0 (complex: the principal branch). Its derivative at 0 is infinite. */ sqrt(): Tensor { return apply('sqrt', [this]) }
  /** The square. */ square(): Tensor { return apply('square', [this]) }
  /** Without axes of extent 1. */ squeeze(axes?: number | number[]): Tensor { return apply('squeeze', [this, axes]) }
  /** The standard deviation along axes. */ std(axes?: number | number[], correction?: number, keepdim?: boolean): Tensor { return apply('std', [this, axes, correction, keepdim]) }
  /** The same value, through which no gradient flows. */ stopGradient(): Tensor { return apply('stopGradient', [this]) }
  /** Difference. */ sub(other: Tensor | number): Tensor { return apply('sub', [this, other]) }
  /** The sum along axes. */ sum(axes?: number | number[], keepdim?: boolean): Tensor { return apply('sum', [this, axes, keepdim]) }
  /** The factors U, S and Vh. */ svd(): [Tensor, Tensor, Tensor] { return applyAll('svd', [this]) as [Tensor, Tensor, Tensor] }
  /** Tangent. */ tan(): Tensor { return apply('tan', [this]) }
  /** Hyperbolic tangent. */ tanh(): Tensor { return apply('tanh', [this]) }
  /** Converted to another dtype. */ toDtype(dtype: DType): Tensor { return apply('toDtype', [this, dtype]) }
  /** The k largest elements, and their positions. */ topk(k: number, axis?: number, largest?: boolean): [Tensor, Tensor] { return applyAll('topk', [this, k, axis, largest]) as [Tensor, Tensor] }
  /** Two axes exchanged. */ transpose(axis1: number, axis2: number): Tensor { return apply('transpose', [this, axis1, axis2]) }
  /** The lower triangle; 0 elsewhere. */ tril(diagonal?: number): Tensor { return apply('tril', [this, diagonal]) }
  /** The upper triangle; 0 elsewhere. */ triu(diagonal?: number): Tensor { return apply('triu', [this, diagonal]) }
  /** The integer part: rounds towards zero. */ trunc(): Tensor { return apply('trunc', [this]) }
  /** All elements of an axis. */ unbind(axis?: number): Tensor[] { return applyAll('unbind', [this, axis]) }
  /** A new axis of extent 1. */ unsqueeze(axis: number): Tensor { return apply('unsqueeze', [this, axis]) }
  /** The variance along axes. */ variance(axes?: number | number[], correction?: number, keepdim?: boolean): Tensor { return apply('variance', [this, axes, correction, keepdim]) }
  /** The first of two values where this mask is true, else the second. */ where(yes: Tensor | number, no: Tensor | number): Tensor { return apply('where', [this, yes, no]) }
  /** Exclusive or; bit by bit on integers. */ xor(other: Tensor | number): Tensor { return apply('xor', [this, other]) }
}

/** Absolute value; its derivative at 0 is 0. */ export function abs(x: Tensor): Tensor { return apply('abs', [x]) }
/** Inverse cosine, from 0 to pi. */ export function acos(x: Tensor): Tensor { return apply('acos', [x]) }
/** Inverse hyperbolic cosine, not negative; NaN below 1. */ export function acosh(x: Tensor): Tensor { return apply('acosh', [x]) }
/** Sum. */ export function add(x: Tensor | number, other: Tensor | number): Tensor { return apply('add', [x, other]) }
/** Airy function Ai. */ export function airyAi(x: Tensor): Tensor { return apply('airy_ai', [x]) }
/** Derivative of the Airy function Ai. */ export function airyAiPrime(x: Tensor): Tensor { return apply('airy_ai_prime', [x]) }
/** True if no element is 0. */ export function all(x: Tensor, axes?: number | number[], keepdim?: boolean): Tensor { return apply('all', [x, axes, keepdim]) }
/** Logical and; bit by bit on integers. */ export function and(x: Tensor | number, other: Tensor | number): Tensor { return apply('and', [x, other]) }
/** True if some element is not 0. */ export function any(x: Tensor, axes?: number | number[], keepdim?: boolean): Tensor { return apply('any', [x, axes, keepdim]) }
/** Numbers from start to below stop. */ export function arange(start: number, stop: number, step?: number, dtype?: DType, device?: DeviceName): Tensor { return apply('arange', [start, stop, step, dtype, device ?? defaultDevice()]) }
/** The position of the maximum along an axis. */ export function argmax(x: Tensor, axis?: number): Tensor { return apply('argmax', [x, axis]) }
/** The position of the minimum along an axis. */ export function argmin(x: Tensor, axis?: number): Tensor { return apply('argmin', [x, axis]) }
/** Inverse sine, from -pi/2 to pi/2. */ export function asin(x: Tensor): Tensor { return apply('asin', [x]) }
/** Inverse hyperbolic sine. */ export function asinh(x: Tensor): Tensor { return apply('asinh', [x]) }
/** Inverse tangent, from -pi/2 to pi/2. */ export function atan(x: Tensor): Tensor { return apply('atan', [x]) }
/** The angle of the point with ordinate `a` and abscissa `b`, from -pi to pi. Its derivative at the origin is 0. */ export function atan2(x: Tensor | number, other: Tensor | number): Tensor { return apply('atan2', [x, other]) }
/** Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond. */ export function atanh(x: Tensor): Tensor { return apply('atanh', [x]) }
/** Scaled dot-product attention over [..., positions, features]. */ export function attention(x: Tensor, key: Tensor, value: Tensor, options?: { causal?: boolean, mask?: Tensor, scale?: number }): Tensor { return apply('attention', [x, key, value, options]) }
/** The mean of each window. */ export function avgPool2d(x: Tensor, kernel: number | number[], stride?: number | number[], padding?: number | number[]): Tensor { return apply('avgPool2d', [x, kernel, stride, padding]) }
/** Binary cross-entropy of probabilities. */ export function bceLoss(x: Tensor, target: Tensor, reduction?: Reduction): Tensor { return apply('bceLoss', [x, target, reduction]) }
/** Binary cross-entropy of logits. */ export function bceWithLogits(x: Tensor, target: Tensor, reduction?: Reduction): Tensor { return apply('bceWithLogits', [x, target, reduction]) }
/** Modified Bessel function of the first kind of order 0. */ export function besselI0(x: Tensor): Tensor { return apply('bessel_i0', [x]) }
/** `exp(-|x|)` times the modified Bessel function of the first kind of order 0. */ export function besselI0e(x: Tensor): Tensor { return apply('bessel_i0e', [x]) }
/** Modified Bessel function of the first kind of order 1. */ export function besselI1(x: Tensor): Tensor { return apply('bessel_i1', [x]) }
/** `exp(-|x|)` times the modified Bessel function of the first kind of order 1. */ export function besselI1e(x: Tensor): Tensor { return apply('bessel_i1e', [x]) }
/** Bessel function of the first kind of order 0. */ export function besselJ0(x: Tensor): Tensor { return apply('bessel_j0', [x]) }
/** Bessel function of the first kind of order 1. */ export function besselJ1(x: Tensor): Tensor { return apply('bessel_j1', [x]) }
/** Modified Bessel function of the second kind of order 0; infinite at 0, NaN below. */ export function besselK0(x: Tensor): Tensor { return apply('bessel_k0', [x]) }
/** `exp(x)` times the modified Bessel function of the second kind of order 0; infinite at 0, NaN below. */ export function besselK0e(x: Tensor): Tensor { return apply('bessel_k0e', [x]) }
/** Modified Bessel function of the second kind of order 1; infinite at 0, NaN below. */ export function besselK1(x: Tensor): Tensor { return apply('bessel_k1', [x]) }
/** `exp(x)` times the modified Bessel function of the second kind of order 1; infinite at 0, NaN below. */ export function besselK1e(x: Tensor): Tensor { return apply('bessel_k1e', [x]) }
/** Bessel function of the second kind of order 0; minus infinity at 0, NaN below. */ export function besselY0(x: Tensor): Tensor { return apply('bessel_y0', [x]) }
/** Bessel function of the second kind of order 1; minus infinity at 0, NaN below. */ export function besselY1(x: Tensor): Tensor { return apply('bessel_y1', [x]) }
/** Tensors concatenated along an axis. */ export function cat(tensors: Tensor[], axis?: number): Tensor { return apply('cat', [tensors, axis]) }
/** Cube root, of negative numbers too. Its derivative at 0 is infinite. */ export function cbrt(x: Tensor): Tensor { return apply('cbrt', [x]) }
/** The smallest integer not smaller than `x`. */ export function ceil(x: Tensor): Tensor { return apply('ceil', [x]) }
/** The lower Cholesky factor. */ export function cholesky(x: Tensor): Tensor { return apply('cholesky', [x]) }
/** This many parts. */ export function chunk(x: Tensor, chunks: number, axis?: number): Tensor[] { return applyAll('chunk', [x, chunks, axis]) }
/** Not below min, not above max. */ export function clamp(x: Tensor, min?: number, max?: number): Tensor { return apply('clamp', [x, min, max]) }
/** Convolution of [N,C,H,W] with windows [O,C/groups,h,w]. */ export function conv2d(x: Tensor, weight: Tensor, bias?: Tensor, stride?: number | number[], padding?: number | number[], dilation?: number | number[], groups?: number): Tensor { return apply('conv2d', [x, weight, bias, stride, padding, dilation, groups]) }
/** The modulus of the first operand with the sign of the second; the sign of a zero or NaN counts. The derivative by the first operand is 0 at 0; the derivative by the second is always 0. */ export function copysign(x: Tensor | number, other: Tensor | number): Tensor { return apply('copysign', [x, other]) }
/** Cosine. */ export function cos(x: Tensor): Tensor { return apply('cos', [x]) }
/** Hyperbolic cosine. */ export function cosh(x: Tensor): Tensor { return apply('cosh', [x]) }
/** Cross-entropy of logits [n, c, ...] with classes, or with probabilities. */ export function crossEntropy(x: Tensor, target: Tensor, options?: { labelSmoothing?: number, ignoreIndex?: number, reduction?: Reduction }): Tensor { return apply('crossEntropy', [x, target, options]) }
/** Running products. */ export function cumprod(x: Tensor, axis: number): Tensor { return apply('cumprod', [x, axis]) }
/** Running sums. */ export function cumsum(x: Tensor, axis: number): Tensor { return apply('cumsum', [x, axis]) }
/** The determinant. */ export function det(x: Tensor): Tensor { return apply('det', [x]) }
/** A diagonal. */ export function diagonal(x: Tensor, offset?: number, axis1?: number, axis2?: number): Tensor { return apply('diagonal', [x, offset, axis1, axis2]) }
/** Derivative of `lgamma`; minus infinity at 0, infinity at -0, NaN at -1, -2, ... */ export function digamma(x: Tensor): Tensor { return apply('digamma', [x]) }
/** Quotient; integers round towards zero. */ export function div(x: Tensor | number, other: Tensor | number): Tensor { return apply('div', [x, other]) }
/** The inner product of two vectors. */ export function dot(x: Tensor, other: Tensor): Tensor { return apply('dot', [x, other]) }
/** Elements become 0 with probability p; the others are scaled. */ export function dropout(x: Tensor, p: number): Tensor { return apply('dropout', [x, p]) }
/** Eigenvalues and eigenvectors of a Hermitian matrix. */ export function eigh(x: Tensor): [Tensor, Tensor] { return applyAll('eigh', [x]) as [Tensor, Tensor] }
/** A sum of products by index letters. */ export function einsum(equation: string, tensors: Tensor[]): Tensor { return apply('einsum', [equation, tensors]) }
/** Negative numbers become alpha times their exponential less 1. */ export function elu(x: Tensor, alpha?: number): Tensor { return apply('elu', [x, alpha]) }
/** The rows of this table at integers. */ export function embedding(x: Tensor, ids: Tensor): Tensor { return apply('embedding', [x, ids]) }
/** True where `a` and `b` are equal. */ export function eq(x: Tensor | number, other: Tensor | number): Tensor { return apply('eq', [x, other]) }
/** Error function. */ export function erf(x: Tensor): Tensor { return apply('erf', [x]) }
/** `1 - erf(x)`, exact where it is small. */ export function erfc(x: Tensor): Tensor { return apply('erfc', [x]) }
/** Inverse of the error function; infinite at -1 and 1, as its derivative is, NaN beyond. */ export function erfinv(x: Tensor): Tensor { return apply('erfinv', [x]) }
/** Natural exponential. */ export function exp(x: Tensor): Tensor { return apply('exp', [x]) }
/** 2 to the power `x`. */ export function exp2(x: Tensor): Tensor { return apply('exp2', [x]) }
/** Axes of extent 1 repeated. */ export function expand(x: Tensor, shape: number[]): Tensor { return apply('expand', [x, shape]) }
/** `exp(x) - 1`, exact near 0. */ export function expm1(x: Tensor): Tensor { return apply('expm1', [x]) }
/** The identity matrix. */ export function eye(n: number, device?: DeviceName): Tensor { return apply('eye', [n, device ?? defaultDevice()]) }
/** Several axes as one. */ export function flatten(x: Tensor, from?: number, to?: number): Tensor { return apply('flatten', [x, from, to]) }
/** Elements in reverse order along axes. */ export function flip(x: Tensor, axes: number | number[]): Tensor { return apply('flip', [x, axes]) }
/** The largest integer not larger than `x`. */ export function floor(x: Tensor): Tensor { return apply('floor', [x]) }
/** Quotient rounded down; the counterpart of `remainder`. A float divided by zero is the ordinary quotient. A step function: its derivative is 0. */ export function floorDiv(x: Tensor | number, other: Tensor | number): Tensor { return apply('floor_div', [x, other]) }
/** Remainder of division rounded towards zero: it has the sign of the dividend, as `%` in C and Rust. NaN for a float divisor 0 or an infinite dividend. At a jump, the derivative is that of the side to which the value belongs. */ export function fmod(x: Tensor | number, other: Tensor | number): Tensor { return apply('fmod', [x, other]) }
/** One number everywhere. */ export function full(shape: number[], value: number, dtype?: DType, device?: DeviceName): Tensor { return apply('full', [shape, value, dtype, device ?? defaultDevice()]) }
/** The `n`-th derivative by `a` of `x^(a-1) exp(-x) / Γ(a)`, the derivative by `x` of `igamma(a, x)`. The order is rounded to an integer, so its derivative is 0; NaN for orders below 0 and above 20. */ export function gammaDensity(x: Tensor, second: Tensor, third: Tensor): Tensor { return apply('gamma_density', [x, second, third]) }
/** Gathers, for each element of the index, the element of an axis at that index. */ export function gather(x: Tensor, axis: number, index: Tensor): Tensor { return apply('gather', [x, axis, index]) }
/** True where `a` is larger than `b` or equal. */ export function ge(x: Tensor | number, other: Tensor | number): Tensor { return apply('ge', [x, other]) }
/** The number times the normal distribution function. */ export function gelu(x: Tensor): Tensor { return apply('gelu', [x]) }
/** Mean 0 and variance 1 over groups of channels. */ export function groupNorm(x: Tensor, groups: number, weight?: Tensor, bias?: Tensor, eps?: number): Tensor { return apply('groupNorm', [x, groups, weight, bias, eps]) }
/** True where `a` is larger than `b`. */ export function gt(x: Tensor | number, other: Tensor | number): Tensor { return apply('gt', [x, other]) }
/** Squared for small differences, absolute for large ones. */ export function huberLoss(x: Tensor, target: Tensor, delta?: number, reduction?: Reduction): Tensor { return apply('huberLoss', [x, target, delta, reduction]) }
/** `sqrt(a² + b²)` without overflow; infinite if either is. Its derivative at the origin is 0. */ export function hypot(x: Tensor | number, other: Tensor | number): Tensor { return apply('hypot', [x, other]) }
/** Regularised lower incomplete gamma function P(a, x); NaN for arguments below 0. */ export function igamma(x: Tensor | number, other: Tensor | number): Tensor { return apply('igamma', [x, other]) }
/** The `n`-th derivative by `a` of `igamma(a, x)`. The order is rounded to an integer, so its derivative is 0; NaN for orders below 0 and above 20. */ export function igammaGradA(x: Tensor, second: Tensor, third: Tensor): Tensor { return apply('igamma_grad_a', [x, second, third]) }
/** Regularised upper incomplete gamma function 1 - P(a, x), exact where it is small. */ export function igammac(x: Tensor | number, other: Tensor | number): Tensor { return apply('igammac', [x, other]) }
/** At each element its position along an axis. */ export function index(shape: number[], axis: number, dtype?: DType, device?: DeviceName): Tensor { return apply('index', [shape, axis, dtype, device ?? defaultDevice()]) }
/** The elements of an axis at these integers. */ export function indexSelect(x: Tensor, axis: number, ids: Tensor): Tensor { return apply('indexSelect', [x, axis, ids]) }
/** The last axes resampled to these extents. */ export function interpolate(x: Tensor, size: number[], mode?: 'nearest' | 'linear'): Tensor { return apply('interpolate', [x, size, mode]) }
/** The inverse matrix. */ export function inv(x: Tensor): Tensor { return apply('inv', [x]) }
/** True where `x` is neither infinite nor NaN (complex: in both parts). */ export function isFinite(x: Tensor): Tensor { return apply('is_finite', [x]) }
/** True where `x` is infinite, of either sign (complex: in either part). */ export function isInf(x: Tensor): Tensor { return apply('is_inf', [x]) }
/** True where `x` is not a number (complex: in either part). */ export function isNan(x: Tensor): Tensor { return apply('is_nan', [x]) }
/** The absolute difference. */ export function l1Loss(x: Tensor, target: Tensor, reduction?: Reduction): Tensor { return apply('l1Loss', [x, target, reduction]) }
/** Mean 0 and variance 1 over the last axes. */ export function layerNorm(x: Tensor, shape: number[], weight?: Tensor, bias?: Tensor, eps?: number): Tensor { return apply('layerNorm', [x, shape, weight, bias, eps]) }
/** True where `a` is smaller than `b` or equal. */ export function le(x: Tensor | number, other: Tensor | number): Tensor { return apply('le', [x, other]) }
/** Negative numbers are scaled. */ export function leakyRelu(x: Tensor, negativeSlope?: number): Tensor { return apply('leakyRelu', [x, negativeSlope]) }
/** Logarithm of the modulus of the gamma function; infinite at its poles 0, -1, -2, ... */ export function lgamma(x: Tensor): Tensor { return apply('lgamma', [x]) }
/** The product with a transposed weight [out, in], plus a bias. */ export function linear(x: Tensor, weight: Tensor, bias?: Tensor): Tensor { return apply('linear', [x, weight, bias]) }
/** Numbers at equal distances, both ends included. */ export function linspace(start: number, stop: number, count: number, device?: DeviceName): Tensor { return apply('linspace', [start, stop, count, device ?? defaultDevice()]) }
/** Natural logarithm; minus infinity at 0, NaN below (complex: the principal branch). */ export function log(x: Tensor): Tensor { return apply('log', [x]) }
/** Logarithm to base 10; minus infinity at 0, NaN below (complex: the principal branch). */ export function log10(x: Tensor): Tensor { return apply('log10', [x]) }
/** `log(1 + x)`, exact near 0; minus infinity at -1, NaN below (complex: the principal branch). */ export function log1p(x: Tensor): Tensor { return apply('log1p', [x]) }
/** Logarithm to base 2; minus infinity at 0, NaN below (complex: the principal branch). */ export function log2(x: Tensor): Tensor { return apply('log2', [x]) }
/** The logarithm of `softmax`. */ export function logSoftmax(x: Tensor, axis?: number): Tensor { return apply('logSoftmax', [x, axis]) }
/** `log(exp(a) + exp(b))` without overflow. At two equal infinities the derivative is shared evenly, as at any other tie. */ export function logaddexp(x: Tensor | number, other: Tensor | number): Tensor { return apply('logaddexp', [x, other]) }
/** The logarithm of the sum of exponentials. */ export function logsumexp(x: Tensor, axes?: number | number[], keepdim?: boolean): Tensor { return apply('logsumexp', [x, axes, keepdim]) }
/** True where `a` is smaller than `b`. */ export function lt(x: Tensor | number, other: Tensor | number): Tensor { return apply('lt', [x, other]) }
/** A number where the mask is true. */ export function maskedFill(x: Tensor, mask: Tensor, value: number): Tensor { return apply('maskedFill', [x, mask, value]) }
/** The product of matrices; leading axes broadcast. */ export function matmul(x: Tensor, other: Tensor): Tensor { return apply('matmul', [x, other]) }
/** The largest element along axes. */ export function max(x: Tensor, axes?: number | number[], keepdim?: boolean): Tensor { return apply('max', [x, axes, keepdim]) }
/** The largest element of each window. */ export function maxPool2d(x: Tensor, kernel: number | number[], stride?: number | number[], padding?: number | number[]): Tensor { return apply('maxPool2d', [x, kernel, stride, padding]) }
/** Larger of two. A tie returns the first and shares the derivative evenly. If an operand is NaN, so is the result, and the derivatives are 0. */ export function maximum(x: Tensor | number, other: Tensor | number): Tensor { return apply('maximum', [x, other]) }
/** The mean along axes. */ export function mean(x: Tensor, axes?: number | number[], keepdim?: boolean): Tensor { return apply('mean', [x, axes, keepdim]) }
/** The smallest element along axes. */ export function min(x: Tensor, axes?: number | number[], keepdim?: boolean): Tensor { return apply('min', [x, axes, keepdim]) }
/** Smaller of two. A tie returns the first and shares the derivative evenly. If an operand is NaN, so is the result, and the derivatives are 0. */ export function minimum(x: Tensor | number, other: Tensor | number): Tensor { return apply('minimum', [x, other]) }
/** The squared difference. */ export function mseLoss(x: Tensor, target: Tensor, reduction?: Reduction): Tensor { return apply('mseLoss', [x, target, reduction]) }
/** Product. */ export function mul(x: Tensor | number, other: Tensor | number): Tensor { return apply('mul', [x, other]) }
/** A range of an axis. */ export function narrow(x: Tensor, axis: number, start: number, length: number): Tensor { return apply('narrow', [x, axis, start, length]) }
/** True where `a` and `b` differ. */ export function ne(x: Tensor | number, other: Tensor | number): Tensor { return apply('ne', [x, other]) }
/** Negation. */ export function neg(x: Tensor): Tensor { return apply('neg', [x]) }
/** The p-norm along axes. */ export function norm(x: Tensor, p?: number, axes?: number | number[], keepdim?: boolean): Tensor { return apply('norm', [x, p, axes, keepdim]) }
/** Logical negation; flips every bit of an integer. */ export function not(x: Tensor): Tensor { return apply('not', [x]) }
/** For each integer a vector that is 1 there and 0 elsewhere. */ export function oneHot(x: Tensor, classes: number): Tensor { return apply('oneHot', [x, classes]) }
/** Ones. */ export function ones(shape: number[], dtype?: DType, device?: DeviceName): Tensor { return apply('ones', [shape, dtype, device ?? defaultDevice()]) }
/** Logical or; bit by bit on integers. */ export function or(x: Tensor | number, other: Tensor | number): Tensor { return apply('or', [x, other]) }
/** The outer product of two vectors. */ export function outer(x: Tensor, other: Tensor): Tensor { return apply('outer', [x, other]) }
/** Zeros before and after, per axis. */ export function pad(x: Tensor, padding: [number, number][]): Tensor { return apply('pad', [x, padding]) }
/** Axes in another order. */ export function permute(x: Tensor, axes: number[]): Tensor { return apply('permute', [x, axes]) }
/** The `n`-th derivative of `digamma` at `x`. The order is rounded to an integer, so its derivative is 0; NaN for orders below 0. At the poles 0, -1, -2, ... it is infinite for odd orders, and behaves as `digamma` for even ones. */ export function polygamma(x: Tensor | number, other: Tensor | number): Tensor { return apply('polygamma', [x, other]) }
/** `a` to the power `b`. Any number to the power 0 is 1. Floats: NaN for a negative base and a fractional exponent. Integers: a negative exponent gives 1 over the power, rounded towards zero. The derivative by the base is exact: that of `x^0` is 0, also at 0 and NaN, and that of `x^2` is 0 at 0. The derivative by the exponent is `a^b log(a)`, which is NaN for a negative base, and 0 for base 0 and an exponent of at least 0. */ export function pow(x: Tensor | number, other: Tensor | number): Tensor { return apply('pow', [x, other]) }
/** The product along axes. */ export function prod(x: Tensor, axes?: number | number[], keepdim?: boolean): Tensor { return apply('prod', [x, axes, keepdim]) }
/** The factors Q and R. */ export function qr(x: Tensor): [Tensor, Tensor] { return applyAll('qr', [x]) as [Tensor, Tensor] }
/** Uniform random numbers from 0 to below 1. */ export function rand(shape: number[], device?: DeviceName): Tensor { return apply('rand', [shape, device ?? defaultDevice()]) }
/** Random integers from low to below high, i64. */ export function randint(low: number, high: number, shape: number[], device?: DeviceName): Tensor { return apply('randint', [low, high, shape, device ?? defaultDevice()]) }
/** Normal random numbers. */ export function randn(shape: number[], device?: DeviceName): Tensor { return apply('randn', [shape, device ?? defaultDevice()]) }
/** `1 / x`; infinite at 0. */ export function reciprocal(x: Tensor): Tensor { return apply('reciprocal', [x]) }
/** Negative numbers become 0. */ export function relu(x: Tensor): Tensor { return apply('relu', [x]) }
/** Remainder of division rounded down: it has the sign of the divisor, as `%` in Python; a zero has that of the dividend. NaN for a float divisor 0 or an infinite dividend. At a jump, the derivative is that of the side to which the value belongs. */ export function remainder(x: Tensor | number, other: Tensor | number): Tensor { return apply('remainder', [x, other]) }
/** The tensor repeated this many times along each axis. */ export function repeat(x: Tensor, repeats: number[]): Tensor { return apply('repeat', [x, repeats]) }
/** Other extents for the same elements; -1 is inferred. */ export function reshape(x: Tensor, shape: number[]): Tensor { return apply('reshape', [x, shape]) }
/** Mean square 1 over the last axes. */ export function rmsNorm(x: Tensor, shape: number[], weight?: Tensor, eps?: number): Tensor { return apply('rmsNorm', [x, shape, weight, eps]) }
/** Elements moved along axes; elements that leave reappear at the other end. */ export function roll(x: Tensor, shifts: number[], axes: number[]): Tensor { return apply('roll', [x, shifts, axes]) }
/** Rotary positions over [..., positions, features]. */ export function rope(x: Tensor, base?: number, offset?: number): Tensor { return apply('rope', [x, base, offset]) }
/** The nearest integer; halves round to even. */ export function round(x: Tensor): Tensor { return apply('round', [x]) }
/** `1 / sqrt(x)`; infinite at 0, NaN below (complex: the principal branch). */ export function rsqrt(x: Tensor): Tensor { return apply('rsqrt', [x]) }
/** Adds the source at these integers of an axis. */ export function scatterAdd(x: Tensor, axis: number, index: Tensor, source: Tensor): Tensor { return apply('scatterAdd', [x, axis, index, source]) }
/** One element of an axis, which is removed. */ export function select(x: Tensor, axis: number, index: number): Tensor { return apply('select', [x, axis, index]) }
/** Shifts the bits of `a` left by `b`, filling with zeros. The result is 0 if `b` is negative or not less than the width. */ export function shl(x: Tensor | number, other: Tensor | number): Tensor { return apply('shl', [x, other]) }
/** Shifts the bits of `a` right by `b`, filling with the sign (zeros if unsigned). If `b` is negative or not less than the width, only copies of the sign are left. */ export function shr(x: Tensor | number, other: Tensor | number): Tensor { return apply('shr', [x, other]) }
/** `1 / (1 + exp(-x))`, without overflow. */ export function sigmoid(x: Tensor): Tensor { return apply('sigmoid', [x]) }
/** 1 for positive, -1 for negative, 0 for both zeros and for NaN. Its derivative is 0. */ export function sign(x: Tensor): Tensor { return apply('sign', [x]) }
/** The number times its sigmoid. */ export function silu(x: Tensor): Tensor { return apply('silu', [x]) }
/** Sine. */ export function sin(x: Tensor): Tensor { return apply('sin', [x]) }
/** Hyperbolic sine. */ export function sinh(x: Tensor): Tensor { return apply('sinh', [x]) }
/** A range of an axis; negative ends count from the end. */ export function slice(x: Tensor, axis: number, start?: number, end?: number, step?: number): Tensor { return apply('slice', [x, axis, start, end, step]) }
/** Exponentials that sum to 1 along an axis. */ export function softmax(x: Tensor, axis?: number): Tensor { return apply('softmax', [x, axis]) }
/** log(1 + exp(x)), a smooth `relu`. */ export function softplus(x: Tensor): Tensor { return apply('softplus', [x]) }
/** The solution of a linear system. */ export function solve(x: Tensor, right: Tensor): Tensor { return apply('solve', [x, right]) }
/** Sorted elements, and their positions. */ export function sort(x: Tensor, axis?: number, descending?: boolean): [Tensor, Tensor] { return applyAll('sort', [x, axis, descending]) as [Tensor, Tensor] }
/** Parts of at most this size. */ export function split(x: Tensor, size: number, axis?: number): Tensor[] { return applyAll('split', [x, size, axis]) }
/** Square root; NaN below 0 (complex: the principal branch). Its derivative at 0 is infinite. */ export function sqrt(x: Tensor): Tensor { return apply('sqrt', [x]) }
/** The square. */ export function square(x: Tensor): Tensor { return apply('square', [x]) }
/** Without axes of extent 1. */ export function squeeze(x: Tensor, axes?: number | number[]): Tensor { return apply('squeeze', [x, axes]) }
/** Tensors along a new axis. */ export function stack(tensors: Tensor[], axis?: number): Tensor { return apply('stack', [tensors, axis]) }
/** The standard deviation along axes. */ export function std(x: Tensor, axes?: number | number[], correction?: number, keepdim?: boolean): Tensor { return apply('std', [x, axes, correction, keepdim]) }
/** The same value, through which no gradient flows. */ export function stopGradient(x: Tensor): Tensor { return apply('stopGradient', [x]) }
/** Difference. */ export function sub(x: Tensor | number, other: Tensor | number): Tensor { return apply('sub', [x, other]) }
/** The sum along axes. */ export function sum(x: Tensor, axes?: number | number[], keepdim?: boolean): Tensor { return apply('sum', [x, axes, keepdim]) }
/** The factors U, S and Vh. */ export function svd(x: Tensor): [Tensor, Tensor, Tensor] { return applyAll('svd', [x]) as [Tensor, Tensor, Tensor] }
/** Tangent. */ export function tan(x: Tensor): Tensor { return apply('tan', [x]) }
/** Hyperbolic tangent. */ export function tanh(x: Tensor): Tensor { return apply('tanh', [x]) }
/** Converted to another dtype. */ export function toDtype(x: Tensor, dtype: DType): Tensor { return apply('toDtype', [x, dtype]) }
/** The k largest elements, and their positions. */ export function topk(x: Tensor, k: number, axis?: number, largest?: boolean): [Tensor, Tensor] { return applyAll('topk', [x, k, axis, largest]) as [Tensor, Tensor] }
/** Two axes exchanged. */ export function transpose(x: Tensor, axis1: number, axis2: number): Tensor { return apply('transpose', [x, axis1, axis2]) }
/** The lower triangle; 0 elsewhere. */ export function tril(x: Tensor, diagonal?: number): Tensor { return apply('tril', [x, diagonal]) }
/** The upper triangle; 0 elsewhere. */ export function triu(x: Tensor, diagonal?: number): Tensor { return apply('triu', [x, diagonal]) }
/** The integer part: rounds towards zero. */ export function trunc(x: Tensor): Tensor { return apply('trunc', [x]) }
/** All elements of an axis. */ export function unbind(x: Tensor, axis?: number): Tensor[] { return applyAll('unbind', [x, axis]) }
/** A new axis of extent 1. */ export function unsqueeze(x: Tensor, axis: number): Tensor { return apply('unsqueeze', [x, axis]) }
/** The variance along axes. */ export function variance(x: Tensor, axes?: number | number[], correction?: number, keepdim?: boolean): Tensor { return apply('variance', [x, axes, correction, keepdim]) }
/** The first of two values where this mask is true, else the second. */ export function where(x: Tensor, yes: Tensor | number, no: Tensor | number): Tensor { return apply('where', [x, yes, no]) }
/** Exclusive or; bit by bit on integers. */ export function xor(x: Tensor | number, other: Tensor | number): Tensor { return apply('xor', [x, other]) }
/** Zeros. */ export function zeros(shape: number[], dtype?: DType, device?: DeviceName): Tensor { return apply('zeros', [shape, dtype, device ?? defaultDevice()]) }
