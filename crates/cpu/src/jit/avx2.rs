//! Code for AVX2: 16 vectors of 8 lanes. Booleans are vectors too. Constants are stored once per lane. Accumulators are in
//! memory, because they would need half of the registers.

use super::encode::*;
use super::far::Far;
use super::machine::{Lanes, Logic, Machine};
use super::node::Fold;

/// The register that masks the existing lanes of a partial vector.
const REST: u8 = 15;

/// Masked load and store.
const LOAD_SOME: Form = Form(2, 1, 0x2c);
const STORE_SOME: Form = Form(2, 1, 0x2e);
/// Selects the second operand in lanes where the sign bit of the register in the immediate is set, else the first operand.
const BLEND: Form = Form(3, 1, 0x4a);
const MORE_INT: Form = Form(1, 1, 0x66);
/// Moves a general register into the first lane, and broadcasts that lane.
const FROM_GENERAL: Form = Form(1, 1, 0x6e);
const SPLAT_INT: Form = Form(2, 1, 0x58);
/// Zero-extends bytes to lanes.
const WIDEN: Form = Form(2, 1, 0x31);
/// Packs the lanes of two operands to 16 bits; to 8 bits.
const NARROW_WORDS: Form = Form(2, 1, 0x2b);
const NARROW_BYTES: Form = Form(1, 1, 0x67);
/// Extracts the upper half; stores eight bytes; stores one byte; loads one byte.
const UPPER: Form = Form(3, 1, 0x39);
const STORE_EIGHT: Form = Form(1, 1, 0xd6);
const STORE_BYTE: Form = Form(3, 1, 0x14);
const LOAD_BYTE: Form = Form(3, 1, 0x20);
/// Permutes halves of both operands by an immediate.
const HALVES: Form = Form(3, 1, 0x06);
const TEST_SIGNS: Form = Form(2, 1, 0x0e);

/// Writes an instruction on vectors of 256 bits if `wide` is true, else of 128 bits.
fn vector(asm: &mut Assembler, wide: bool, form: Form, reg: u8, second: u8, rm: Rm, imm: Option<u8>) {
    let Form(map, prefix, opcode) = form;
    let not = |bit: u8| (bit & 1) ^ 1;
    asm.raw(&[
        0xc4,
        not(reg >> 3) << 7 | 1 << 6 | not(rm.upper()) << 5 | map,
        (!second & 15) << 3 | (wide as u8) << 2 | prefix,
        opcode,
    ]);
    asm.operand(reg, rm, imm.is_some());
    asm.raw(imm.as_slice());
}

/// Returns a memory operand that is `bytes` bytes after another.
fn offset_by(mem: Mem, bytes: i32) -> Mem {
    match mem {
        Mem::At(base, distance) => Mem::At(base, distance + bytes),
        Mem::Indexed(base, shift, distance) => Mem::Indexed(base, shift, distance + bytes),
        constant => constant,
    }
}

/// Writes code for each existing lane of a partial vector, by calling `f` with the number of each lane. At run time the code
/// for missing lanes is skipped.
fn each_of_rest(asm: &mut Assembler, mut f: impl FnMut(&mut Assembler, u8)) {
    let mut ends = Vec::new();
    for lane in 0..Avx2::LANES as u8 {
        asm.raw(&[0x83, 0xfa, lane]); // cmp edx, …
        ends.push(asm.jump(NOT_GREATER));
        f(asm, lane);
    }
    let here = asm.here();
    ends.iter().for_each(|end| asm.set_target(*end, here));
}

/// Writes `to = fold(to, x)`; the result is `x` where `x` is NaN.
fn combine(asm: &mut Assembler, fold: Fold, to: u8, x: u8, spare: u8) {
    let form = match fold {
        Fold::Sum => return vector(asm, true, ADD, to, to, Rm::Reg(x), None),
        Fold::Max => MAX,
        Fold::Min => MIN,
    };
    vector(asm, true, COMPARE, spare, x, Rm::Reg(x), Some(3));
    vector(asm, true, form, to, x, Rm::Reg(to), None);
    vector(asm, true, BLEND, to, to, Rm::Reg(x), Some(spare << 4));
}

pub(super) struct Avx2;

impl Machine for Avx2 {
    const LANES: usize = 8;
    const VECTORS: usize = 15;
    const MASKS: std::ops::Range<u8> = 0..0;
    const HOLDS_FOLDS: bool = false;
    const CONSTANTS: usize = 8;
    const SPARE: (usize, usize) = (2, 3);

    fn can_broadcast(from: Mem) -> bool {
        matches!(from, Mem::Pool(_))
    }

    fn op(asm: &mut Assembler, form: Form, to: u8, a: u8, b: Rm, imm: Option<u8>) {
        vector(asm, true, form, to, a, b, imm);
    }

    fn set_rest(asm: &mut Assembler) {
        vector(asm, false, FROM_GENERAL, REST, 0, Rm::Reg(RDX.0), None);
        vector(asm, true, SPLAT_INT, REST, 0, Rm::Reg(REST), None);
        vector(asm, true, MORE_INT, REST, REST, Rm::Bytes(Mem::LaneNumbers), None);
    }

    fn load(asm: &mut Assembler, to: u8, from: Mem, lanes: Lanes) {
        match lanes {
            Lanes::All => vector(asm, true, LOAD, to, 0, Rm::Bytes(from), None),
            Lanes::Rest => vector(asm, true, LOAD_SOME, to, REST, Rm::Bytes(from), None),
        }
    }

    fn store(asm: &mut Assembler, from: u8, to: Mem, lanes: Lanes) {
        match lanes {
            Lanes::All => vector(asm, true, STORE, from, 0, Rm::Bytes(to), None),
            Lanes::Rest => vector(asm, true, STORE_SOME, from, REST, Rm::Bytes(to), None),
        }
    }

    fn load_flags(asm: &mut Assembler, to: u8, from: Mem, _: &[u8], lanes: Lanes) {
        match lanes {
            Lanes::All => vector(asm, true, WIDEN, to, 0, Rm::Bytes(from), None),
            Lanes::Rest => {
                vector(asm, false, XOR, to, to, Rm::Reg(to), None);
                each_of_rest(asm, |asm, lane| {
                    let byte = Rm::Bytes(offset_by(from, i32::from(lane)));
                    vector(asm, false, LOAD_BYTE, to, to, byte, Some(lane));
                });
                vector(asm, true, WIDEN, to, 0, Rm::Reg(to), None);
            }
        }
        vector(asm, true, MORE_INT, to, to, Rm::Bytes(Mem::Pool(0)), None);
    }

    fn store_flags(asm: &mut Assembler, from: u8, to: Mem, spare: &[u8], lanes: Lanes) {
        let (bytes, upper) = (spare[0], spare[1]);
        vector(asm, true, AND, bytes, from, Rm::Bytes(Mem::Pool(1)), None);
        vector(asm, true, UPPER, bytes, 0, Rm::Reg(upper), Some(1));
        vector(asm, false, NARROW_WORDS, bytes, bytes, Rm::Reg(upper), None);
        vector(asm, false, NARROW_BYTES, bytes, bytes, Rm::Reg(bytes), None);
        match lanes {
            Lanes::All => vector(asm, false, STORE_EIGHT, bytes, 0, Rm::Bytes(to), None),
            Lanes::Rest => each_of_rest(asm, |asm, lane| {
                let byte = Rm::Bytes(offset_by(to, i32::from(lane)));
                vector(asm, false, STORE_BYTE, bytes, 0, byte, Some(lane));
            }),
        }
    }

    fn compare(asm: &mut Assembler, to: u8, a: u8, b: Rm, how: u8) {
        vector(asm, true, COMPARE, to, a, b, Some(how));
    }

    fn blend(asm: &mut Assembler, to: u8, flags: u8, yes: Rm, no: u8) {
        vector(asm, true, BLEND, to, no, yes, Some(flags << 4));
    }

    fn logic(asm: &mut Assembler, logic: Logic, to: u8, a: u8, b: u8) {
        let (form, b) = match logic {
            Logic::And => (AND, Rm::Reg(b)),
            Logic::Or => (OR, Rm::Reg(b)),
            Logic::Xor => (XOR, Rm::Reg(b)),
            Logic::Not => (XOR, Rm::Bytes(Mem::Pool(u32::MAX))),
        };
        vector(asm, true, form, to, a, b, None);
    }

    fn fold(asm: &mut Assembler, fold: Fold, to: Rm, x: u8, spare: &[u8], lanes: Lanes) {
        let Rm::Bytes(memory) = to else { return };
        let (result, nan, own) = (spare[0], spare[1], spare[2]);
        let x = match lanes {
            Lanes::All => x,
            Lanes::Rest => {
                vector(asm, true, SPLAT, own, 0, Rm::Bytes(Mem::Pool(fold.identity())), None);
                vector(asm, true, BLEND, own, own, Rm::Reg(x), Some(REST << 4));
                own
            }
        };
        Self::load(asm, result, memory, Lanes::All);
        combine(asm, fold, result, x, nan);
        Self::store(asm, result, memory, Lanes::All);
    }

    fn join(asm: &mut Assembler, fold: Fold, from: Rm) -> u8 {
        const NAN: u8 = 14;
        let Rm::Bytes(memory) = from else { return 0 };
        let all = Self::FOLDED as u8;
        for r in 0..all {
            Self::load(asm, r, offset_by(memory, 32 * i32::from(r)), Lanes::All);
        }
        let mut half = all / 2;
        while half > 0 {
            for r in 0..half {
                combine(asm, fold, r, r + half, NAN);
            }
            half /= 2;
        }
        for (form, swap) in [(HALVES, 0x01), (SHUFFLE, 0x4e), (SHUFFLE, 0xb1)] {
            vector(asm, true, form, 1, 0, Rm::Reg(0), Some(swap));
            combine(asm, fold, 0, 1, NAN);
        }
        0
    }

    fn any(asm: &mut Assembler, flags: u8) {
        vector(asm, true, TEST_SIGNS, flags, 0, Rm::Reg(flags), None);
    }

    fn routine(asm: &mut Assembler, far: Far) {
        const VECTORS: i32 = 16 * 32;
        let vectors = |asm: &mut Assembler, form: Form| {
            for r in 0..16 {
                vector(asm, true, form, r, 0, Rm::Bytes(Mem::At(RSP, 32 * i32::from(r))), None);
            }
        };
        asm.routine(far.address::<8>(), VECTORS + 64, |asm| vectors(asm, STORE), |asm| vectors(asm, LOAD));
    }
}
