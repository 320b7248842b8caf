//! Code for AVX-512: 32 vectors of 16 lanes, with booleans in mask registers and operands broadcast from memory.

use super::encode::*;
use super::far::Far;
use super::machine::{Lanes, Logic, Machine};
use super::node::Fold;

/// The mask of the existing lanes of a partial vector, and the mask that folding uses.
const REST: u8 = 1;
const NAN: u8 = 2;

const BLEND: Form = Form(2, 1, 0x65);
/// Zero-extends bytes to lanes, and truncates lanes to bytes.
const WIDEN: Form = Form(2, 1, 0x31);
const NARROW: Form = Form(2, 2, 0x31);
/// Tests which lanes are not zero.
const TEST: Form = Form(2, 1, 0x27);
/// Permutes quarters of both operands by an immediate.
const SHUFFLE_QUARTERS: Form = Form(3, 1, 0x23);

/// The lanes that an instruction writes: those of a mask. The other lanes become zero or keep their values.
#[derive(Clone, Copy, Default)]
struct Masked {
    mask: u8,
    zero: bool,
}

const ALL: Masked = Masked { mask: 0, zero: false };

impl Masked {
    fn zeroed(lanes: Lanes) -> Masked {
        if lanes == Lanes::All { ALL } else { Masked { mask: REST, zero: true } }
    }

    fn kept(lanes: Lanes) -> Masked {
        Masked { zero: false, ..Masked::zeroed(lanes) }
    }
}

/// Writes an instruction on vectors of 512 bits.
fn vector(asm: &mut Assembler, form: Form, reg: u8, second: u8, rm: Rm, imm: Option<u8>, lanes: Masked) {
    let Form(map, prefix, opcode) = form;
    let not = |bit: u8| (bit & 1) ^ 1;
    let upper = rm.upper();
    let splat = matches!(rm, Rm::Splat(_)) as u8;
    asm.raw(&[
        0x62,
        not(reg >> 3) << 7 | not(upper >> 1) << 6 | not(upper) << 5 | not(reg >> 4) << 4 | map,
        (!second & 15) << 3 | 4 | prefix,
        (lanes.zero as u8) << 7 | 2 << 5 | splat << 4 | not(second >> 4) << 3 | lanes.mask,
        opcode,
    ]);
    asm.operand(reg, rm, imm.is_some());
    asm.raw(imm.as_slice());
}

pub(super) struct Avx512;

impl Machine for Avx512 {
    const LANES: usize = 16;
    const VECTORS: usize = 32;
    const MASKS: std::ops::Range<u8> = 3..8;
    const HOLDS_FOLDS: bool = true;
    const CONSTANTS: usize = 1;
    const SPARE: (usize, usize) = (1, 0);

    fn can_broadcast(_: Mem) -> bool {
        true
    }

    fn op(asm: &mut Assembler, form: Form, to: u8, a: u8, b: Rm, imm: Option<u8>) {
        vector(asm, form, to, a, b, imm, ALL);
    }

    /// Overwrites `RSI`. Needs BMI2, which every processor with AVX2 has.
    fn set_rest(asm: &mut Assembler) {
        asm.raw(&[0xbe, 0xff, 0xff, 0xff, 0xff]); // mov esi, -1
        asm.raw(&[0xc4, 0xe2, 0x68, 0xf5, 0xf6]); // bzhi esi, esi, edx
        asm.raw(&[0xc5, 0xf8, 0x92, 0xce]); // kmovw k1, esi
    }

    fn load(asm: &mut Assembler, to: u8, from: Mem, lanes: Lanes) {
        vector(asm, LOAD, to, 0, Rm::Bytes(from), None, Masked::zeroed(lanes));
    }

    fn store(asm: &mut Assembler, from: u8, to: Mem, lanes: Lanes) {
        vector(asm, STORE, from, 0, Rm::Bytes(to), None, Masked::kept(lanes));
    }

    fn load_flags(asm: &mut Assembler, to: u8, from: Mem, spare: &[u8], lanes: Lanes) {
        vector(asm, WIDEN, spare[0], 0, Rm::Bytes(from), None, Masked::zeroed(lanes));
        vector(asm, TEST, to, spare[0], Rm::Reg(spare[0]), None, ALL);
    }

    fn store_flags(asm: &mut Assembler, from: u8, to: Mem, spare: &[u8], lanes: Lanes) {
        let one = Rm::Bytes(Mem::Pool(1));
        vector(asm, SPLAT, spare[0], 0, one, None, Masked { mask: from, zero: true });
        vector(asm, NARROW, spare[0], 0, Rm::Bytes(to), None, Masked::kept(lanes));
    }

    fn compare(asm: &mut Assembler, to: u8, a: u8, b: Rm, how: u8) {
        vector(asm, COMPARE, to, a, b, Some(how), ALL);
    }

    fn blend(asm: &mut Assembler, to: u8, flags: u8, yes: Rm, no: u8) {
        vector(asm, BLEND, to, no, yes, None, Masked { mask: flags, zero: false });
    }

    fn logic(asm: &mut Assembler, logic: Logic, to: u8, a: u8, b: u8) {
        let opcode = match logic {
            Logic::And => 0x41,
            Logic::Not => 0x44,
            Logic::Or => 0x45,
            Logic::Xor => 0x47,
        };
        let pair = logic != Logic::Not;
        let second = if pair { !a & 15 } else { 15 };
        asm.raw(&[0xc5, 0x80 | second << 3 | (pair as u8) << 2, opcode, 0xc0 | to << 3 | b]);
    }

    fn fold(asm: &mut Assembler, fold: Fold, to: Rm, x: u8, _: &[u8], lanes: Lanes) {
        let Rm::Reg(to) = to else { return };
        let kept = Masked::kept(lanes);
        let form = match fold {
            Fold::Sum => return vector(asm, ADD, to, to, Rm::Reg(x), None, kept),
            Fold::Max => MAX,
            Fold::Min => MIN,
        };
        vector(asm, form, to, x, Rm::Reg(to), None, kept);
        vector(asm, COMPARE, NAN, x, Rm::Reg(x), Some(3), kept);
        vector(asm, COPY, to, 0, Rm::Reg(x), None, Masked { mask: NAN, zero: false });
    }

    fn join(asm: &mut Assembler, fold: Fold, from: Rm) -> u8 {
        let Rm::Reg(first) = from else { return 0 };
        let add = |asm: &mut Assembler, to: u8, x: u8| {
            Self::fold(asm, fold, Rm::Reg(to), x, &[], Lanes::All);
        };
        for (a, b) in [(0, 2), (1, 3), (0, 1)] {
            add(asm, first + a, first + b);
        }
        for (form, swap) in
            [(SHUFFLE_QUARTERS, 0x4e), (SHUFFLE_QUARTERS, 0xb1), (SHUFFLE, 0x4e), (SHUFFLE, 0xb1)]
        {
            vector(asm, form, first + 1, first, Rm::Reg(first), Some(swap), ALL);
            add(asm, first, first + 1);
        }
        first
    }

    fn any(asm: &mut Assembler, flags: u8) {
        asm.raw(&[0xc5, 0xf8, 0x98, 0xc0 | flags << 3 | flags]); // kortestw
    }

    fn routine(asm: &mut Assembler, far: Far) {
        const VECTORS: i32 = 32 * 64;
        let masks = |asm: &mut Assembler, opcode: u8| {
            for k in 1..8 {
                asm.raw(&[0xc5, 0xf8, opcode]);
                asm.operand(k, Rm::Bytes(Mem::At(RSP, VECTORS + 8 * i32::from(k))), false);
            }
        };
        let vectors = |asm: &mut Assembler, form: Form| {
            for r in 0..32 {
                vector(asm, form, r, 0, Rm::Bytes(Mem::At(RSP, 64 * i32::from(r))), None, ALL);
            }
        };
        let save = |asm: &mut Assembler| {
            vectors(asm, STORE);
            masks(asm, 0x91);
        };
        let restore = |asm: &mut Assembler| {
            vectors(asm, LOAD);
            masks(asm, 0x90);
        };
        asm.routine(far.address::<16>(), VECTORS + 64, save, restore);
    }
}
