//! Which instruction sets the processor has, asked once.

use std::sync::OnceLock;

/// A set of vector instructions that kernels are written for, of each architecture from the least to the most able.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// Plain loops, for which the compiler uses what the target of the build always has.
    Portable,
    /// Vectors of 64-bit ARM with fused multiply-add, which all such processors have.
    Neon,
    /// AVX2 with fused multiply-add.
    Avx2,
    /// AVX-512 with byte, word, doubleword and shorter vectors (and all of AVX2).
    Avx512,
    /// Registers of 16 rows of `bf16` whose products are one instruction (AMX), and all of the above.
    Amx,
}

/// Those of the architecture of the build.
const ALL: &[Isa] = if cfg!(target_arch = "x86_64") {
    &[Isa::Portable, Isa::Avx2, Isa::Avx512, Isa::Amx]
} else if cfg!(target_arch = "aarch64") {
    &[Isa::Portable, Isa::Neon]
} else {
    &[Isa::Portable]
};

impl Isa {
    /// The best the processor has, or less if the environment says so: `GRADUS_ISA` may be `portable`, and `avx2`, `avx512`,
    /// `amx` or `neon` as fits the processor. Kernels take the set as an argument: tests and benchmarks pass a lesser one.
    pub fn best() -> Isa {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| {
            let asked = std::env::var("GRADUS_ISA").ok().and_then(|name| Isa::named(&name));
            asked.map_or_else(detect, |isa| isa.min(detect()))
        })
    }

    /// The set of that name, which is that of its variant.
    fn named(name: &str) -> Option<Isa> {
        ALL.iter().copied().find(|isa| format!("{isa:?}").eq_ignore_ascii_case(name))
    }

    /// Every set this processor can run, the best last.
    pub fn available() -> &'static [Isa] {
        let best = Isa::best();
        &ALL[..ALL.partition_point(|isa| *isa <= best)]
    }

    /// This set, or the best the processor has if that is less. What it returns can be run.
    pub fn clamped(self) -> Isa {
        self.min(Isa::best())
    }

    /// What it is for kernels that do not multiply `bf16`.
    pub fn vectors(self) -> Isa {
        self.min(Isa::Avx512)
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Isa {
    use std::arch::is_x86_feature_detected as has;
    if !(has!("avx2") && has!("fma") && has!("f16c")) {
        Isa::Portable
    } else if !(has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl")) {
        Isa::Avx2
    } else if !tiles() {
        Isa::Avx512
    } else {
        Isa::Amx
    }
}

/// Elsewhere a processor has all there is for its architecture.
#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Isa {
    ALL[ALL.len() - 1]
}

/// Whether the processor has tiles for `bf16`, and the system lets this process use them.
#[cfg(target_arch = "x86_64")]
fn tiles() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    const BF16: u32 = 1 << 22;
    const TILE: u32 = 1 << 24;
    let has = __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & (BF16 | TILE) == BF16 | TILE;
    has && permitted()
}

/// Asks for the state of tiles, which is not part of a thread's until its process has asked, once for all threads.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn permitted() -> bool {
    const REQUEST: libc::c_long = 0x1023;
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: it reads and writes no memory of this process; systems that do not know it refuse.
    unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST, TILE_DATA) == 0 }
}

/// Elsewhere nothing is known of how to ask.
#[cfg(all(target_arch = "x86_64", not(target_os = "linux")))]
fn permitted() -> bool {
    false
}
