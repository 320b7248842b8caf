//! Which instruction sets the processor has, asked once.

use std::sync::OnceLock;

/// A set of vector instructions that kernels are written for, from the least to the most able.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// What the target of the build always has.
    Portable,
    /// AVX2 with fused multiply-add.
    Avx2,
    /// AVX-512 with byte, word, doubleword and shorter vectors (and all of AVX2).
    Avx512,
}

impl Isa {
    /// The best the processor has. Kernels take the set as an argument: tests and benchmarks pass a lesser one.
    pub fn best() -> Isa {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(detect)
    }

    /// Every set this processor can run, the best last.
    pub fn available() -> &'static [Isa] {
        match Isa::best() {
            Isa::Portable => &[Isa::Portable],
            Isa::Avx2 => &[Isa::Portable, Isa::Avx2],
            Isa::Avx512 => &[Isa::Portable, Isa::Avx2, Isa::Avx512],
        }
    }

    /// This set, or the best the processor has if that is less. What it returns can be run.
    pub fn clamped(self) -> Isa {
        self.min(Isa::best())
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Isa {
    use std::arch::is_x86_feature_detected as has;
    if !(has!("avx2") && has!("fma") && has!("f16c")) {
        Isa::Portable
    } else if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
        Isa::Avx512
    } else {
        Isa::Avx2
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Isa {
    Isa::Portable
}
