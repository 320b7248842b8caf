//! A concrete value in the exact carrier type of its class. Constants of graphs are literals, and the reference
//! evaluator reads and writes them.

use crate::{Aval, C, Class, DType, Error, Result, Shape, stop};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Elements in row-major order, in the carrier of their class.
#[derive(Clone, Debug)]
pub enum Data {
    /// Floats.
    F(Arc<Vec<f64>>),
    /// Complex numbers.
    C(Arc<Vec<C>>),
    /// Integers and booleans.
    I(Arc<Vec<i64>>),
}

/// A value: its type and elements. Cheap to clone.
///
/// Inside one evaluation a float literal of a narrow dtype may hold unrounded carriers; [`Literal::rounded`]
/// makes it a value of its dtype.
#[derive(Clone, Debug)]
pub struct Literal {
    aval: Aval,
    data: Data,
}

impl From<Vec<f64>> for Data {
    fn from(v: Vec<f64>) -> Data {
        Data::F(Arc::new(v))
    }
}

impl From<Vec<C>> for Data {
    fn from(v: Vec<C>) -> Data {
        Data::C(Arc::new(v))
    }
}

impl From<Vec<i64>> for Data {
    fn from(v: Vec<i64>) -> Data {
        Data::I(Arc::new(v))
    }
}

impl Data {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match self {
            Data::F(v) => v.len(),
            Data::C(v) => v.len(),
            Data::I(v) => v.len(),
        }
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Literal {
    /// Makes a value. The elements must be in the carrier of the class, and as many as the shape has.
    pub fn new(aval: Aval, data: impl Into<Data>) -> Result<Literal> {
        let data = data.into();
        let carrier = match data {
            Data::F(_) => aval.dtype.class() == Class::Float,
            Data::C(_) => aval.dtype.class() == Class::Complex,
            Data::I(_) => aval.dtype.class() <= Class::Int,
        };
        if !carrier {
            return Err(Error::dtype(aval.dtype, "the elements are of another class of numbers"));
        }
        if Some(data.len()) != aval.shape.checked_numel() {
            let why = format!("needs {} elements, got {}", aval.shape.numel(), data.len());
            return Err(Error::shape(format!("shape {}", aval.shape), why));
        }
        Ok(Literal { aval, data })
    }

    /// Returns the elements for modification.
    pub(crate) fn data_mut(&mut self) -> &mut Data {
        &mut self.data
    }

    /// Makes a value from floats, rounded to the dtype.
    pub fn floats(dtype: DType, shape: impl Into<Shape>, data: Vec<f64>) -> Result<Literal> {
        Ok(Literal::new(Aval::new(dtype, shape), data)?.rounded())
    }

    /// Makes a value from integers or booleans, wrapped to the dtype.
    pub fn ints(dtype: DType, shape: impl Into<Shape>, data: Vec<i64>) -> Result<Literal> {
        Ok(Literal::new(Aval::new(dtype, shape), data)?.rounded())
    }

    /// Makes a scalar of any dtype.
    pub fn scalar(dtype: DType, value: f64) -> Literal {
        let data = match dtype.class() {
            Class::Float => vec![value].into(),
            Class::Complex => vec![C::new(value, 0.0)].into(),
            _ => Data::from(vec![dtype.from_float(value)]),
        };
        Literal { aval: Aval::scalar(dtype), data }.rounded()
    }

    /// Makes an integer scalar, exact for all of `i64`.
    pub fn int_scalar(dtype: DType, value: i64) -> Literal {
        match dtype.class() {
            Class::Int | Class::Bool => {
                Literal { aval: Aval::scalar(dtype), data: vec![dtype.wrap(value)].into() }
            }
            _ => Literal::scalar(dtype, value as f64),
        }
    }

    /// Returns the type.
    pub fn aval(&self) -> &Aval {
        &self.aval
    }

    /// Returns the extents.
    pub fn shape(&self) -> &Shape {
        &self.aval.shape
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.aval.dtype
    }

    /// Returns the elements.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Returns the first element as a scalar; zero if there is no element.
    pub fn first(&self) -> Literal {
        let aval = Aval::scalar(self.aval.dtype);
        let data = match &self.data {
            Data::F(v) => vec![v.first().copied().unwrap_or(0.0)].into(),
            Data::C(v) => vec![v.first().copied().unwrap_or(C::ZERO)].into(),
            Data::I(v) => Data::from(vec![v.first().copied().unwrap_or(0)]),
        };
        Literal { aval, data }
    }

    /// Returns the floats; empty for other classes.
    pub fn f(&self) -> &[f64] {
        if let Data::F(v) = &self.data { v } else { &[] }
    }

    /// Returns the complex numbers; empty for other classes.
    pub fn c(&self) -> &[C] {
        if let Data::C(v) = &self.data { v } else { &[] }
    }

    /// Returns the integers or booleans; empty for other classes.
    pub fn i(&self) -> &[i64] {
        if let Data::I(v) = &self.data { v } else { &[] }
    }

    /// Rounds every float, or wraps every integer, to the dtype.
    pub fn rounded(mut self) -> Literal {
        fn each<T: Clone>(all: &mut Arc<Vec<T>>, f: impl Fn(&mut T)) {
            let mut chunks = Arc::make_mut(all).chunks_mut(stop::STRIDE);
            chunks.next().into_iter().flatten().for_each(&f);
            chunks.take_while(|_| !stop::requested()).flatten().for_each(f);
        }
        let d = self.aval.dtype;
        match &mut self.data {
            Data::F(v) if d != DType::F64 => each(v, |x| *x = d.round(*x)),
            Data::C(v) if d != DType::C128 => each(v, |x| *x = C::new(d.round(x.re), d.round(x.im))),
            Data::I(v) if d != DType::I64 => each(v, |x| *x = d.wrap(*x)),
            _ => {}
        }
        self
    }

    /// Converts to another dtype. Float to integer truncates and saturates; integer to integer wraps; any number to
    /// boolean tests for nonzero; complex to real drops the imaginary part.
    pub fn cast(&self, to: DType) -> Literal {
        let data = match (&self.data, to.class()) {
            (Data::F(v), Class::Float) => Data::F(v.clone()),
            (Data::F(v), Class::Complex) => v.iter().map(|&x| C::new(x, 0.0)).collect::<Vec<_>>().into(),
            (Data::F(v), _) => v.iter().map(|&x| to.from_float(x)).collect::<Vec<_>>().into(),
            (Data::C(v), Class::Complex) => Data::C(v.clone()),
            (Data::C(v), Class::Float) => v.iter().map(|x| x.re).collect::<Vec<_>>().into(),
            (Data::C(v), Class::Int) => v.iter().map(|x| to.from_float(x.re)).collect::<Vec<_>>().into(),
            (Data::C(v), Class::Bool) => v.iter().map(|x| (*x != C::ZERO) as i64).collect::<Vec<_>>().into(),
            (Data::I(v), Class::Float) => v.iter().map(|&x| float(x, to)).collect::<Vec<_>>().into(),
            (Data::I(v), Class::Complex) => {
                v.iter().map(|&x| C::new(float(x, to), 0.0)).collect::<Vec<_>>().into()
            }
            (Data::I(v), Class::Int) => v.iter().map(|&x| to.wrap(x)).collect::<Vec<_>>().into(),
            (Data::I(v), Class::Bool) => v.iter().map(|&x| (x != 0) as i64).collect::<Vec<_>>().into(),
        };
        Literal { aval: self.aval.with_dtype(to), data }.rounded()
    }

    /// Returns the same elements with another shape of equal element count.
    pub fn reshaped(&self, shape: &Shape) -> Result<Literal> {
        Literal::new(self.aval.with_shape(shape), self.data.clone())
    }

    /// Returns the value of all elements, if they are equal and real.
    pub fn splat(&self) -> Option<f64> {
        match &self.data {
            Data::F(v) => v.first().copied().filter(|x| v.iter().all(|y| y.to_bits() == x.to_bits())),
            Data::C(v) => v.first().filter(|x| x.im == 0.0 && v.iter().all(|y| y == *x)).map(|x| x.re),
            Data::I(v) => v.first().filter(|x| v.iter().all(|y| y == *x)).map(|&x| x as f64),
        }
    }

    fn bits(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        match &self.data {
            Data::F(v) => Box::new(v.iter().map(|x| bits(*x))),
            Data::C(v) => Box::new(v.iter().flat_map(|x| [bits(x.re), bits(x.im)])),
            Data::I(v) => Box::new(v.iter().map(|&x| x as u64)),
        }
    }
}

/// Converts an integer to a float that rounds to the dtype as the integer itself would. `f64` cannot represent all
/// large integers, so for a narrower dtype the lost bits are kept as one sticky bit.
fn float(x: i64, to: DType) -> f64 {
    if to.real() == DType::F64 || x.unsigned_abs() < 1 << 53 {
        return x as f64;
    }
    ((x >> 11) | (x & 0x7ff != 0) as i64) as f64 * 2048.0
}

/// Returns the bits of a float; all NaNs are equal.
fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

/// Compares bit for bit, so that NaN equals itself and 0 differs from -0.
impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        self.aval == other.aval && self.bits().eq(other.bits())
    }
}

impl Eq for Literal {}

impl Hash for Literal {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.aval.hash(h);
        self.bits().for_each(|b| h.write_u64(b));
    }
}
