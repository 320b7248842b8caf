//! Random values from a seed, for tangents and cotangents.

use gradus_ir::literal::Data;
use gradus_ir::{Aval, C, Class, Graph, Literal};

/// A random generator (splitmix) with a fixed sequence per seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts the sequence of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Starts the sequence of a graph: the same in every run, and different for every graph.
    pub fn of(graph: &Graph) -> Random {
        Random(graph.canonical_hash() as u64)
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Returns a number below `n` (0 for `n` = 0).
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }

    /// Returns a number from 0 up to but excluding 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a roughly normal number: mean 0, variance 1, magnitude below 3.5.
    pub fn normal(&mut self) -> f64 {
        (0..4).map(|_| self.unit() - 0.5).sum::<f64>() * 3f64.sqrt()
    }

    /// Returns a value of a type: normal floats and complex numbers, small integers, booleans.
    pub fn literal(&mut self, aval: &Aval) -> Literal {
        let n = aval.shape.numel();
        let data: Data = match aval.dtype.class() {
            Class::Float => (0..n).map(|_| self.normal()).collect::<Vec<_>>().into(),
            Class::Complex => (0..n).map(|_| C::new(self.normal(), self.normal())).collect::<Vec<_>>().into(),
            Class::Int => (0..n).map(|_| self.below(8) as i64).collect::<Vec<_>>().into(),
            Class::Bool => (0..n).map(|_| self.below(2) as i64).collect::<Vec<_>>().into(),
        };
        // The data has as many elements as the type, in its carrier.
        Literal::new(aval.clone(), data).expect("a literal of its own type").rounded()
    }

    /// Returns a value for each type.
    pub fn literals<'a>(&mut self, avals: impl IntoIterator<Item = &'a Aval>) -> Vec<Literal> {
        avals.into_iter().map(|a| self.literal(a)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gradus_ir::DType;

    #[test]
    fn values_are_typed_spread_and_repeatable() {
        for dtype in DType::ALL {
            let aval = Aval::new(dtype, [2, 50]);
            let (x, y) = (Random::new(7).literal(&aval), Random::new(7).literal(&aval));
            assert_eq!(x, y);
            assert_eq!(x.aval(), &aval);
            assert_eq!(x.clone().rounded(), x, "{dtype}");
            assert_eq!(x.splat(), None, "{dtype}");
        }
        let x = Random::new(1).literal(&Aval::new(DType::F64, [10_000]));
        let (mean, square) =
            (x.f().iter().sum::<f64>() / 1e4, x.f().iter().map(|x| x * x).sum::<f64>() / 1e4);
        assert!(mean.abs() < 0.05 && (square - 1.0).abs() < 0.05, "{mean} {square}");
    }
}
