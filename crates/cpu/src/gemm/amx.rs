//! Products of `bf16` with AMX instructions. A tile of C is in four registers of 16 by 16 sums. 32 steps along k take
//! four multiply instructions.

use super::kernel::{Kernels, Step};
use super::pairs::{self, STRETCH, WIDTH};
use super::vector::prefetch_to_write;
use half::bf16;
use std::arch::asm;

/// Number of multiplications above which AMX is faster. Smaller products do not justify configuring the tiles.
pub(super) const MIN_WORK: usize = 1 << 12;

pub(super) static KERNELS: Kernels<bf16> = Kernels {
    mr: WIDTH,
    nr: WIDTH,
    lanes: WIDTH,
    deep: 32,
    speed: 8,
    before_and_after: Some([configure, release]),
    packed: tile,
    tiles: &[],
    dots: &[],
    pack_a: pairs::pack::<true>,
    pack_b: &[pairs::pack::<false>],
};

/// The tile configuration: bytes per row and number of rows of each register.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start: u8,
    reserved: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

/// All eight registers have 16 rows of 64 bytes.
static FULL_TILES: TileConfig = {
    let (mut bytes, mut rows) = ([0; 16], [0; 16]);
    let mut register = 0;
    while register < 8 {
        bytes[register] = 64;
        rows[register] = 16;
        register += 1;
    }
    TileConfig { palette: 1, start: 0, reserved: [0; 14], bytes, rows }
};

/// Configures the registers as full tiles.
///
/// # Safety
/// The process has permission to use tiles.
unsafe fn configure() {
    // SAFETY: it reads `FULL_TILES`, a valid configuration; the caller guarantees permission.
    unsafe {
        asm!("ldtilecfg [{}]", in(reg) &raw const FULL_TILES, options(nostack, preserves_flags, readonly))
    }
}

/// Releases the registers, so that a thread switch does not save them.
///
/// # Safety
/// The process has permission to use tiles.
unsafe fn release() {
    // SAFETY: no code needs the values in the registers any more; the caller guarantees permission.
    unsafe { asm!("tilerelease", options(nostack, preserves_flags, nomem)) }
}

/// Computes a tile of C. A tile at the border of C is computed in a temporary buffer.
///
/// # Safety
/// This thread has configured tiles. `step` describes valid memory: C is not accessed by other threads, and
/// operands are packed panels, or for A also rows of complete groups along k.
unsafe fn tile(step: &Step<bf16>) {
    #[repr(align(64))]
    struct Border([[f32; WIDTH]; WIDTH]);

    let &Step { c, c_row, rows, last, accumulate, .. } = step;
    // SAFETY: the caller guarantees the memory of `step`; of C only existing rows and columns are accessed.
    unsafe {
        if rows == WIDTH && last == WIDTH {
            return full_tile(step);
        }
        let mut border = Border([[0.0; WIDTH]; WIDTH]);
        let row = |i: usize| std::slice::from_raw_parts_mut(c.offset(i as isize * c_row), last);
        if accumulate {
            border.0.iter_mut().take(rows).enumerate().for_each(|(i, to)| to[..last].copy_from_slice(row(i)));
        }
        full_tile(&Step { c: border.0.as_mut_ptr().cast(), c_row: WIDTH as isize, ..*step });
        border.0.iter().take(rows).enumerate().for_each(|(i, from)| row(i).copy_from_slice(&from[..last]));
    }
}

/// Computes a tile of C that is not at the border.
///
/// # Safety
/// As for [`tile`], and all rows and columns of the tile exist.
#[inline(always)]
unsafe fn full_tile(step: &Step<bf16>) {
    let &Step { k, a, a_lane, a_depth, b, c, c_row, accumulate, .. } = step;
    for i in 0..WIDTH {
        let row = c.wrapping_offset(i as isize * c_row);
        prefetch_to_write(row);
        prefetch_to_write(row.wrapping_add(WIDTH / 2));
    }
    let (a_row, a_stretch) = if a_depth == 1 { (a_lane, 32) } else { (32, STRETCH) };
    // SAFETY: registers have the shape of `FULL_TILES`; loads and stores stay within the panels and the tile
    // of C, which the caller guarantees.
    unsafe {
        asm!(
            "test {accumulate}, {accumulate}",
            "jz 2f",
            "tileloadd tmm0, [{c} + {row}]",
            "tileloadd tmm1, [{c} + {row} + 64]",
            "tileloadd tmm2, [{below} + {row}]",
            "tileloadd tmm3, [{below} + {row} + 64]",
            "jmp 3f",
            "2:",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "3:",
            "test {k}, {k}",
            "jz 5f",
            "4:",
            "tileloadd tmm4, [{a} + {a_row}]",
            "tileloadd tmm6, [{b} + {line}]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm7, [{b} + {line} + 1024]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tileloadd tmm5, [{a_below} + {a_row}]",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {a}, {a_stretch}",
            "add {a_below}, {a_stretch}",
            "add {b}, {stretch}",
            "dec {k}",
            "jnz 4b",
            "5:",
            "tilestored [{c} + {row}], tmm0",
            "tilestored [{c} + {row} + 64], tmm1",
            "tilestored [{below} + {row}], tmm2",
            "tilestored [{below} + {row} + 64], tmm3",
            accumulate = in(reg) usize::from(accumulate),
            c = in(reg) c,
            below = in(reg) c.wrapping_offset(16 * c_row),
            row = in(reg) c_row * size_of::<f32>() as isize,
            a = inout(reg) a => _,
            a_below = inout(reg) a.wrapping_offset(16 * a_row) => _,
            a_row = in(reg) a_row * size_of::<bf16>() as isize,
            a_stretch = in(reg) a_stretch * size_of::<bf16>(),
            b = inout(reg) b => _,
            line = in(reg) 64usize,
            stretch = const STRETCH * size_of::<bf16>(),
            k = inout(reg) k.div_ceil(32) => _,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}
