// Functions that CUDA has instructions for. Word 0 of the parameters is zero, but compilers cannot know its value.

fn f_fence(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ p[0].x);
}
fn f_bits(b: u32) -> f32 {
  return bitcast<f32>(b ^ p[0].x);
}
// Returns zero, as a value that depends on `x`. A branch on it therefore does not depend on parameters only, for which some
// drivers recompile the kernel.
fn f_zero(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) & p[0].x);
}
fn f_round(x: f32) -> f32 {
  return round(x);
}
// Returns the rounding error of the product of `a` and `b`. Splits both into parts of 12 bits, whose products are exact.
fn f_product_error(a: f32, b: f32, product: f32) -> f32 {
  let ah = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
  let bh = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
  let al = f_fence(a - ah);
  let bl = f_fence(b - bh);
  let high = f_fence(f_fence(ah * bh) - product);
  let middle = f_fence(f_fence(high + f_fence(ah * bl)) + f_fence(al * bh));
  return middle + f_fence(al * bl);
}
// Returns `a * b + c`, rounded once except in the last bits of some results.
fn f_fused(a: f32, b: f32, c: f32) -> f32 {
  let product = f_fence(a * b);
  let error = f_product_error(a, b, product);
  let sum = f_fence(product + c);
  let back = f_fence(sum - product);
  let lost = f_fence(product - f_fence(sum - back)) + f_fence(c - back);
  return select(sum, sum + f_fence(lost + error), f_is_finite(sum) && f_is_finite(product));
}
