//! Instruction sets of the processor, detected once.

use std::sync::OnceLock;

/// Vector instruction sets that kernels are written for, ordered by capability within each architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// Plain loops, which the compiler vectorizes for the build's target.
    Portable,
    /// NEON with fused multiply-add, which all 64-bit ARM processors have.
    Neon,
    /// AVX2 with fused multiply-add.
    Avx2,
    /// AVX-512 with byte, word, doubleword and 128/256-bit forms (F, BW, DQ, VL), and AVX2.
    Avx512,
    /// AMX tiles for products of `bf16`, and all of the above.
    Amx,
}

/// Instruction sets of the build's architecture.
const ALL: &[Isa] = if cfg!(target_arch = "x86_64") {
    &[Isa::Portable, Isa::Avx2, Isa::Avx512, Isa::Amx]
} else if cfg!(target_arch = "aarch64") {
    &[Isa::Portable, Isa::Neon]
} else {
    &[Isa::Portable]
};

impl Isa {
    /// Returns the best set of the processor, or a lesser one if the environment variable `GRADUS_ISA` names
    /// it: `portable`, `avx2`, `avx512`, `amx` or `neon`. Kernels take the set as an argument, so that tests
    /// and benchmarks can pass a lesser one.
    pub fn best() -> Isa {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| {
            let asked = std::env::var("GRADUS_ISA").ok().and_then(|name| Isa::named(&name));
            asked.map_or_else(detect, |isa| isa.min(detect()))
        })
    }

    /// Returns the set with this name, which is the name of the variant in any case.
    fn named(name: &str) -> Option<Isa> {
        ALL.iter().copied().find(|isa| format!("{isa:?}").eq_ignore_ascii_case(name))
    }

    /// Returns every set that this processor can run, the best last.
    pub fn available() -> &'static [Isa] {
        let best = Isa::best();
        &ALL[..ALL.partition_point(|isa| *isa <= best)]
    }

    /// Returns this set, or the best set of the processor if that is lower, so that the processor can run the result.
    pub fn clamped(self) -> Isa {
        self.min(Isa::best())
    }

    /// Returns the set for kernels that do not multiply `bf16`.
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
    } else if !has_tiles() {
        Isa::Avx512
    } else {
        Isa::Amx
    }
}

/// Returns the only set of an architecture other than x86-64, which is known at compile time.
#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Isa {
    ALL[ALL.len() - 1]
}

/// Returns true if the processor has AMX tiles for `bf16`, and the system permits this process to use them.
#[cfg(target_arch = "x86_64")]
fn has_tiles() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    const BF16: u32 = 1 << 22;
    const TILE: u32 = 1 << 24;
    let has = __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & (BF16 | TILE) == BF16 | TILE;
    has && request_tile_permission()
}

/// Requests permission to use tile registers. The system grants it per process, for all threads.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn request_tile_permission() -> bool {
    const REQUEST: libc::c_long = 0x1023;
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: the call accesses no memory of this process; systems that do not know it return an error.
    unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST, TILE_DATA) == 0 }
}

/// Returns false: on other systems there is no known way to request permission.
#[cfg(all(target_arch = "x86_64", not(target_os = "linux")))]
fn request_tile_permission() -> bool {
    false
}
