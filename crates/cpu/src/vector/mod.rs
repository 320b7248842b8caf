//! Elementwise loops over slices, from which kernels are built.
//!
//! Every loop exists once per instruction set, from the same source; the best set of the machine is chosen at
//! run time ([`loops`], [`masks`], [`conversions`]). Functions are looked up by the name of their pointwise op
//! in the catalog and have its meaning. For names without a loop, the catalog's definition is evaluated.
//!
//! Results are within 2 ulp of the exact ones. Arithmetic, comparisons, selections, conversions, `sum`, `max` and `min`
//! return the same bits on every instruction set. A step of `fma` and `dot` rounds once if the machine has fused
//! multiply-add, else twice.
//!
//! # Aliasing
//! All loops are `unsafe fn` over raw pointers: each operand must be valid for reading `n` elements and the
//! result for writing `n`, with the alignment of their type. The result may be exactly the memory of an operand
//! with elements of the same size; otherwise it must not overlap any operand. So `acc[i] += x[i]` is `add` with
//! the result over its first operand, and a running maximum is `maximum`.
//!
//! Masks are bytes: 0 is false and every other value is true. Results are 0 or 1.

/// Evaluates a polynomial by Horner's rule; the constant coefficient comes first. Uses the `fma` and `FUSED` in scope.
macro_rules! poly {
    ($x:expr; $c:expr) => { $c };
    ($x:expr; $c:expr, $($rest:expr),+) => { fma::<FUSED>($x, poly!($x; $($rest),+), $c) };
}

mod block;
mod double;
mod half;
mod isa;
mod wide;

use crate::Isa;
use isa::Set;
use std::ops::Deref;

/// Computes `y = f(x)`. Arguments: operand, result, count.
pub type Unary<T> = unsafe fn(*const T, *mut T, usize);

/// Writes a mask of the elements that pass a test. Arguments: operand, mask, count.
pub type Test<T> = unsafe fn(*const T, *mut u8, usize);

/// Converts elements. Arguments: operand, result, count.
pub type Convert<T, U> = unsafe fn(*const T, *mut U, usize);

/// Computes `y = f(a, b)`, where each operand is an array or one number. Arguments: operands, result, count.
#[derive(Clone, Copy, Debug)]
pub struct Binary<T, U = T> {
    /// Two arrays.
    pub vv: unsafe fn(*const T, *const T, *mut U, usize),
    /// An array and a number.
    pub vs: unsafe fn(*const T, T, *mut U, usize),
    /// A number and an array.
    pub sv: unsafe fn(T, *const T, *mut U, usize),
}

/// Writes a mask of the pairs that pass a comparison.
pub type Compare<T> = Binary<T, u8>;

/// Computes `y = a·b + c`, where the second and the third operand are each an array or one number.
#[derive(Clone, Copy, Debug)]
pub struct Fma<T> {
    /// Three arrays.
    pub vvv: unsafe fn(*const T, *const T, *const T, *mut T, usize),
    /// The third operand is a number.
    pub vvs: unsafe fn(*const T, *const T, T, *mut T, usize),
    /// The second operand is a number.
    pub vsv: unsafe fn(*const T, T, *const T, *mut T, usize),
    /// The second and third operand are numbers.
    pub vss: unsafe fn(*const T, T, T, *mut T, usize),
}

/// Computes `y = mask ? a : b`, where each branch is an array or one number.
#[derive(Clone, Copy, Debug)]
pub struct Select<T> {
    /// Two arrays.
    pub vv: unsafe fn(*const u8, *const T, *const T, *mut T, usize),
    /// An array and a number.
    pub vs: unsafe fn(*const u8, *const T, T, *mut T, usize),
    /// A number and an array.
    pub sv: unsafe fn(*const u8, T, *const T, *mut T, usize),
    /// Two numbers.
    pub ss: unsafe fn(*const u8, T, T, *mut T, usize),
}

/// The loops over floats: those of all element types, and those that only floats have.
#[derive(Debug)]
pub struct Loops<T: 'static> {
    each: Each<T>,
    test: &'static [(&'static str, Test<T>)],
    /// Fused multiply-add.
    pub fma: Fma<T>,
    /// The sum: element `i` is added to lane `i mod 64`, then lanes are added by halves.
    pub sum: unsafe fn(*const T, usize) -> T,
    /// The maximum: NaN if an element is NaN, minus infinity if there are no elements. If the largest elements are zeros
    /// of both signs, the result is either of them.
    pub max: unsafe fn(*const T, usize) -> T,
    /// The minimum: NaN if an element is NaN, infinity if there are no elements. If the smallest elements are zeros of
    /// both signs, the result is either of them.
    pub min: unsafe fn(*const T, usize) -> T,
    /// The sum of products, in the order of `sum`.
    pub dot: unsafe fn(*const T, *const T, usize) -> T,
}

impl<T> Deref for Loops<T> {
    type Target = Each<T>;
    fn deref(&self) -> &Each<T> {
        &self.each
    }
}

impl<T> Loops<T> {
    /// Returns the test with this name: `is_nan`, `is_inf`, `is_finite`.
    pub fn test(&self, name: &str) -> Option<Test<T>> {
        find(self.test, name)
    }

    /// Returns the names that `unary` and `binary` know, in this order.
    pub fn names(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        (self.each.unary.iter().map(|e| e.0).collect(), self.each.binary.iter().map(|e| e.0).collect())
    }
}

fn find<F: Copy>(table: &[(&str, F)], name: &str) -> Option<F> {
    table.iter().find(|entry| entry.0 == name).map(|entry| entry.1)
}

/// The loops over elements of any type: floats, integers or masks.
#[derive(Debug)]
pub struct Each<T: 'static> {
    unary: &'static [(&'static str, Unary<T>)],
    binary: &'static [(&'static str, Binary<T>)],
    compare: &'static [(&'static str, Compare<T>)],
    /// Selects one of two by a mask.
    pub select: Select<T>,
}

impl<T: Copy> Each<T> {
    /// Returns the function of one operand with this name; `not` for masks.
    pub fn unary(&self, name: &str) -> Option<Unary<T>> {
        find(self.unary, name)
    }

    /// Returns the function of two operands with this name: `and`, `or`, `xor` for masks; `add`, `sub`, `mul`
    /// (wrapping for integers), `maximum`, `minimum` for numbers, and more for floats.
    pub fn binary(&self, name: &str) -> Option<Binary<T>> {
        find(self.binary, name)
    }

    /// Returns the comparison with this name: `eq`, `ne`, `lt`, `le`, `gt`, `ge`.
    pub fn compare(&self, name: &str) -> Option<Compare<T>> {
        find(self.compare, name)
    }
}

/// The loops over integers, whose sums do not depend on the order.
#[derive(Debug)]
pub struct Ints {
    each: Each<i64>,
    /// The sum, wrapping.
    pub sum: unsafe fn(*const i64, usize) -> i64,
    /// The maximum; `i64::MIN` if there are no elements.
    pub max: unsafe fn(*const i64, usize) -> i64,
    /// The minimum; `i64::MAX` if there are no elements.
    pub min: unsafe fn(*const i64, usize) -> i64,
}

impl Deref for Ints {
    type Target = Each<i64>;
    fn deref(&self) -> &Each<i64> {
        &self.each
    }
}

/// Conversions, as the op `cast` defines them. `wrap` keeps the lower bits; `round` rounds to the dtype and converts
/// back. `bf16` and `f16` are passed as their bits.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names contain the source and the target type")]
pub struct Conversions {
    pub f32_f64: Convert<f32, f64>,
    pub f64_f32: Convert<f64, f32>,
    pub f32_bf16: Convert<f32, u16>,
    pub bf16_f32: Convert<u16, f32>,
    pub f32_f16: Convert<f32, u16>,
    pub f16_f32: Convert<u16, f32>,
    pub round_bf16: Unary<f32>,
    pub round_f16: Unary<f32>,
    pub f32_mask: Convert<f32, u8>,
    pub mask_f32: Convert<u8, f32>,
    pub f64_mask: Convert<f64, u8>,
    pub mask_f64: Convert<u8, f64>,
    pub i64_mask: Convert<i64, u8>,
    pub mask_i64: Convert<u8, i64>,
    pub i64_f32: Convert<i64, f32>,
    pub f32_i64: Convert<f32, i64>,
    pub i64_f64: Convert<i64, f64>,
    pub f64_i64: Convert<f64, i64>,
    pub i8_i64: Convert<i8, i64>,
    pub i64_i8: Convert<i64, i8>,
    pub u8_i64: Convert<u8, i64>,
    pub i64_u8: Convert<i64, u8>,
    pub i32_i64: Convert<i32, i64>,
    pub i64_i32: Convert<i64, i32>,
    pub u32_i64: Convert<u32, i64>,
    pub i64_u32: Convert<i64, u32>,
    pub wrap_i8: Unary<i64>,
    pub wrap_u8: Unary<i64>,
    pub wrap_i32: Unary<i64>,
    pub wrap_u32: Unary<i64>,
}

/// An element type that has loops.
pub trait Element: Copy + 'static {
    // Only this module can construct a set, so callers cannot get loops that the machine cannot run.
    #[doc(hidden)]
    fn among(set: &'static Set) -> &'static Loops<Self>;
}

impl Element for f32 {
    fn among(set: &'static Set) -> &'static Loops<f32> {
        &set.f32
    }
}

impl Element for f64 {
    fn among(set: &'static Set) -> &'static Loops<f64> {
        &set.f64
    }
}

/// Returns the loops for the best instruction set of this machine.
pub fn loops<T: Element>() -> &'static Loops<T> {
    T::among(isa::set(Isa::best()))
}

/// Returns the loops for an instruction set, if this machine can run it.
pub fn loops_on<T: Element>(isa: Isa) -> Option<&'static Loops<T>> {
    Isa::available().contains(&isa).then(|| T::among(isa::set(isa)))
}

/// Returns the loops over masks for the best instruction set of this machine.
pub fn masks() -> &'static Each<u8> {
    &isa::set(Isa::best()).masks
}

/// Returns the loops over masks for an instruction set, if this machine can run it.
pub fn masks_on(isa: Isa) -> Option<&'static Each<u8>> {
    Isa::available().contains(&isa).then(|| &isa::set(isa).masks)
}

/// Returns the loops over integers for the best instruction set of this machine.
pub fn ints() -> &'static Ints {
    &isa::set(Isa::best()).ints
}

/// Returns the loops over integers for an instruction set, if this machine can run it.
pub fn ints_on(isa: Isa) -> Option<&'static Ints> {
    Isa::available().contains(&isa).then(|| &isa::set(isa).ints)
}

/// Returns the conversions for the best instruction set of this machine.
pub fn conversions() -> &'static Conversions {
    &isa::set(Isa::best()).conversions
}

/// Returns the conversions for an instruction set, if this machine can run it.
pub fn conversions_on(isa: Isa) -> Option<&'static Conversions> {
    Isa::available().contains(&isa).then(|| &isa::set(isa).conversions)
}
