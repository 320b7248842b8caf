//! Bytes of the instructions that generated code is made of: AVX-512 forms on whole registers, and a few others.

/// A general register, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gpr(pub(super) u8);

pub(super) const RAX: Gpr = Gpr(0);
pub(super) const RCX: Gpr = Gpr(1);
pub(super) const RDX: Gpr = Gpr(2);
pub(super) const RBX: Gpr = Gpr(3);
pub(super) const RSP: Gpr = Gpr(4);
pub(super) const RBP: Gpr = Gpr(5);
pub(super) const RSI: Gpr = Gpr(6);
pub(super) const RDI: Gpr = Gpr(7);

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mem {
    /// A constant of the pool behind the code, by its bits.
    Pool(u32),
    /// Bytes from a register on.
    At(Gpr, i32),
    /// As `At`, with the index times a scale of `1 << shift` added.
    Indexed(Gpr, u8, i32),
}

/// The last operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rm {
    Reg(u8),
    /// One number for all lanes.
    Splat(Mem),
    /// A whole vector, or what the instruction says.
    Whole(Mem),
}

/// An instruction: map of opcodes, mandatory prefix (0, 66, F3, F2 as 0 to 3), opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Form(pub(super) u8, pub(super) u8, pub(super) u8);

pub(super) const ADD: Form = Form(1, 0, 0x58);
pub(super) const MUL: Form = Form(1, 0, 0x59);
pub(super) const SUB: Form = Form(1, 0, 0x5c);
pub(super) const MIN: Form = Form(1, 0, 0x5d);
pub(super) const DIV: Form = Form(1, 0, 0x5e);
pub(super) const MAX: Form = Form(1, 0, 0x5f);
/// The first operand times 2 to the power of the second.
pub(super) const SCALE: Form = Form(2, 1, 0x2c);
pub(super) const SQRT: Form = Form(1, 0, 0x51);
pub(super) const AND: Form = Form(1, 1, 0xdb);
pub(super) const XOR: Form = Form(1, 1, 0xef);
pub(super) const ADD_INT: Form = Form(1, 1, 0xfe);
pub(super) const SUB_INT: Form = Form(1, 1, 0xfa);
pub(super) const FROM_INT: Form = Form(1, 0, 0x5b);
pub(super) const ROUND: Form = Form(3, 1, 0x08);
pub(super) const COMPARE: Form = Form(1, 0, 0xc2);
pub(super) const BLEND: Form = Form(2, 1, 0x65);
pub(super) const TERNARY: Form = Form(3, 1, 0x25);
/// `dst = dst·b + c`.
pub(super) const FMA_213: Form = Form(2, 1, 0xa8);
/// `dst = a·b + dst`.
pub(super) const FMA_231: Form = Form(2, 1, 0xb8);
/// Shifts by a constant; the operation is in the register field, the result in the second operand.
pub(super) const SHIFT: Form = Form(1, 1, 0x72);
pub(super) const SPLAT: Form = Form(2, 1, 0x18);
pub(super) const LOAD: Form = Form(1, 0, 0x10);
pub(super) const STORE: Form = Form(1, 0, 0x11);
pub(super) const COPY: Form = Form(1, 0, 0x28);
/// The first lane alone; read, the others are zero.
pub(super) const LOAD_ONE: Form = Form(1, 2, 0x10);
pub(super) const STORE_ONE: Form = Form(1, 2, 0x11);
/// Bytes into lanes, and lanes into bytes.
pub(super) const WIDEN: Form = Form(2, 1, 0x31);
pub(super) const NARROW: Form = Form(2, 2, 0x31);
/// Lanes that are not zero, as a mask.
pub(super) const TEST: Form = Form(2, 1, 0x27);
/// Quarters of both operands by an immediate, and lanes within quarters.
pub(super) const SHUFFLE_QUARTERS: Form = Form(3, 1, 0x23);
pub(super) const SHUFFLE: Form = Form(1, 0, 0xc6);

/// Operations on masks.
pub(super) const MASK_AND: u8 = 0x41;
pub(super) const MASK_NOT: u8 = 0x44;
pub(super) const MASK_OR: u8 = 0x45;
pub(super) const MASK_XOR: u8 = 0x47;

/// Conditions of jumps.
pub(super) const BELOW: u8 = 0x82;
pub(super) const ZERO: u8 = 0x84;
pub(super) const NOT_ZERO: u8 = 0x85;
pub(super) const NOT_GREATER: u8 = 0x8e;

/// Which lanes an instruction writes: those of a mask, and whether the others become zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lanes {
    pub(super) mask: u8,
    pub(super) zero: bool,
}

/// All lanes.
pub(super) const ALL: Lanes = Lanes { mask: 0, zero: false };

/// Code under construction.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    bytes: Vec<u8>,
    pool: Vec<u32>,
    /// Where the distance to a constant stands, the end of its instruction, and which.
    fixes: Vec<(usize, usize, usize)>,
}

impl Assembler {
    /// The position of the next instruction.
    pub(super) fn here(&self) -> usize {
        self.bytes.len()
    }

    /// The code, and behind it its constants.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len().next_multiple_of(64), 0xcc);
        let start = self.bytes.len();
        for (at, end, k) in self.fixes {
            let distance = (start + 4 * k) as i64 - end as i64;
            self.bytes[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        self.pool.iter().for_each(|c| self.bytes.extend(c.to_le_bytes()));
        self.bytes
    }

    /// An instruction on vectors of 512 bits: `reg` is the result unless the form says otherwise, `second` the operand
    /// between.
    pub(super) fn vector(&mut self, form: Form, reg: u8, second: u8, rm: Rm, imm: Option<u8>, lanes: Lanes) {
        let Form(map, prefix, opcode) = form;
        let not = |bit: u8| (bit & 1) ^ 1;
        let (x, b) = match rm {
            Rm::Reg(r) => (r >> 4, r >> 3),
            Rm::Splat(m) | Rm::Whole(m) => (0, m.base().0 >> 3),
        };
        let splat = matches!(rm, Rm::Splat(_)) as u8;
        self.bytes.extend([
            0x62,
            not(reg >> 3) << 7 | not(x) << 6 | not(b) << 5 | not(reg >> 4) << 4 | map,
            (!second & 15) << 3 | 4 | prefix,
            (lanes.zero as u8) << 7 | 2 << 5 | splat << 4 | not(second >> 4) << 3 | lanes.mask,
            opcode,
        ]);
        self.operand(reg, rm, imm.is_some());
        self.bytes.extend(imm);
    }

    /// The byte that names operands, and what of a place in memory follows it.
    fn operand(&mut self, reg: u8, rm: Rm, imm: bool) {
        let reg = (reg & 7) << 3;
        let mem = match rm {
            Rm::Reg(r) => return self.bytes.push(0xc0 | reg | r & 7),
            Rm::Splat(m) | Rm::Whole(m) => m,
        };
        let distance = match mem {
            Mem::Pool(bits) => {
                self.constant(reg, bits, imm);
                0
            }
            Mem::At(base, distance) => {
                self.bytes.push(0x80 | reg | base.0 & 7);
                // This base has the meaning of an index that follows, which then is none.
                if base.0 & 7 == 4 {
                    self.bytes.push(0x24);
                }
                distance
            }
            Mem::Indexed(base, shift, distance) => {
                self.bytes.extend([0x80 | reg | 4, shift << 6 | RAX.0 << 3 | base.0 & 7]);
                distance
            }
        };
        self.bytes.extend(distance.to_le_bytes());
    }

    /// Names a constant of the pool: where it will be is put in at the end, in the four bytes that follow.
    fn constant(&mut self, reg: u8, bits: u32, imm: bool) {
        self.bytes.push(reg | 5);
        let k = self.pool.iter().position(|c| *c == bits).unwrap_or_else(|| {
            self.pool.push(bits);
            self.pool.len() - 1
        });
        let at = self.here();
        self.fixes.push((at, at + 4 + imm as usize, k));
    }

    /// An operation on masks.
    pub(super) fn mask(&mut self, opcode: u8, to: u8, a: u8, b: u8) {
        let pair = opcode != MASK_NOT;
        let second = if pair { !a & 15 } else { 15 };
        self.bytes.extend([0xc5, 0x80 | second << 3 | (pair as u8) << 2, opcode, 0xc0 | to << 3 | b]);
    }

    /// Mask 1: the first lanes, as many as `RDX` says. Uses `RSI`, and BMI2, which comes with AVX2.
    pub(super) fn mask_of_rest(&mut self) {
        self.bytes.extend([0xbe, 0xff, 0xff, 0xff, 0xff]); // mov esi, -1
        self.bytes.extend([0xc4, 0xe2, 0x68, 0xf5, 0xf6]); // bzhi esi, esi, edx
        self.bytes.extend([0xc5, 0xf8, 0x92, 0xce]); // kmovw k1, esi
    }

    /// A general register and memory, in 64 bits.
    fn word(&mut self, opcode: u8, reg: Gpr, mem: Mem) {
        self.bytes.extend([0x48 | (reg.0 >> 3) << 2 | mem.base().0 >> 3, opcode]);
        self.operand(reg.0, Rm::Whole(mem), false);
    }

    pub(super) fn load(&mut self, to: Gpr, from: Mem) {
        self.word(0x8b, to, from);
    }

    pub(super) fn add(&mut self, to: Gpr, from: Mem) {
        self.word(0x03, to, from);
    }

    pub(super) fn add_to(&mut self, to: Mem, from: Gpr) {
        self.word(0x01, from, to);
    }

    pub(super) fn add_number(&mut self, to: Gpr, n: i32) {
        self.bytes.extend([0x48, 0x81, 0xc0 | to.0]);
        self.bytes.extend(n.to_le_bytes());
    }

    pub(super) fn clear(&mut self, to: Gpr) {
        self.bytes.extend([0x31, 0xc0 | to.0 << 3 | to.0]);
    }

    pub(super) fn compare(&mut self, a: Gpr, b: Gpr) {
        self.bytes.extend([0x48, 0x39, 0xc0 | b.0 << 3 | a.0]);
    }

    pub(super) fn test(&mut self, a: Gpr) {
        self.bytes.extend([0x48, 0x85, 0xc0 | a.0 << 3 | a.0]);
    }

    /// One less of a number in memory.
    pub(super) fn decrement(&mut self, mem: Mem) {
        self.word(0xff, Gpr(1), mem);
    }

    /// A jump to be given its aim later.
    pub(super) fn jump(&mut self, condition: u8) -> usize {
        self.bytes.extend([0x0f, condition, 0, 0, 0, 0]);
        self.here()
    }

    /// Lets a jump end at a position.
    pub(super) fn aim(&mut self, jump: usize, at: usize) {
        let distance = at as i64 - jump as i64;
        self.bytes[jump - 4..jump].copy_from_slice(&(distance as i32).to_le_bytes());
    }

    /// Whether any lane of a mask is set, for a jump.
    pub(super) fn any(&mut self, mask: u8) {
        self.bytes.extend([0xc5, 0xf8, 0x98, 0xc0 | mask << 3 | mask]);
    }

    /// A call of code further on, to be given its aim later.
    pub(super) fn call(&mut self) -> usize {
        self.bytes.extend([0xe8, 0, 0, 0, 0]);
        self.here()
    }

    /// A number of 32 bits into one of the first eight registers.
    pub(super) fn number(&mut self, to: Gpr, n: u32) {
        self.bytes.push(0xb8 | to.0);
        self.bytes.extend(n.to_le_bytes());
    }

    /// A routine that calls a function of two places: those of the vectors that `RSI` and `RDX` say, in bytes from the first
    /// on. Of all registers, only the second of these vectors changes.
    pub(super) fn routine(&mut self, function: usize) {
        const OURS: [Gpr; 8] = [RAX, RCX, RDI, Gpr(8), Gpr(9), Gpr(10), Gpr(11), RBP];
        const VECTORS: i32 = 32 * 64;
        let mask = |s: &mut Self, opcode: u8, k: u8| {
            s.bytes.extend([0xc5, 0xf8, opcode]);
            s.operand(k, Rm::Whole(Mem::At(RSP, VECTORS + 8 * i32::from(k))), false);
        };
        let vector = |s: &mut Self, form: Form, r: u8| {
            s.vector(form, r, 0, Rm::Whole(Mem::At(RSP, 64 * i32::from(r))), None, ALL);
        };
        OURS.iter().for_each(|r| self.push(*r));
        self.bytes.extend([0x48, 0x89, 0xe5]); // mov rbp, rsp
        self.bytes.extend([0x48, 0x81, 0xec]); // sub rsp, …
        self.bytes.extend((VECTORS + 64).to_le_bytes());
        self.bytes.extend([0x48, 0x83, 0xe4, 0xc0]); // and rsp, -64
        (0..32).for_each(|r| vector(self, STORE, r));
        (1..8).for_each(|k| mask(self, 0x91, k));
        self.bytes.extend([0x48, 0x8d, 0x3c, 0x34]); // lea rdi, [rsp + rsi]
        self.bytes.extend([0x48, 0x8d, 0x34, 0x14]); // lea rsi, [rsp + rdx]
        self.bytes.extend([0xc5, 0xf8, 0x77]); // vzeroupper
        self.bytes.extend([0x48, 0xb8]); // mov rax, …
        self.bytes.extend((function as u64).to_le_bytes());
        self.bytes.extend([0xff, 0xd0]); // call rax
        (0..32).for_each(|r| vector(self, LOAD, r));
        (1..8).for_each(|k| mask(self, 0x90, k));
        self.bytes.extend([0x48, 0x89, 0xec]); // mov rsp, rbp
        OURS.iter().rev().for_each(|r| self.pop(*r));
        self.bytes.push(0xc3); // ret
    }

    pub(super) fn push(&mut self, r: Gpr) {
        self.bytes.extend((r.0 > 7).then_some(0x41).into_iter().chain([0x50 | r.0 & 7]));
    }

    pub(super) fn pop(&mut self, r: Gpr) {
        self.bytes.extend((r.0 > 7).then_some(0x41).into_iter().chain([0x58 | r.0 & 7]));
    }

    /// The end: other code may use narrower vectors without waiting for these.
    pub(super) fn leave(&mut self) {
        self.bytes.extend([0xc5, 0xf8, 0x77, 0xc3]); // vzeroupper, ret
    }
}

impl Mem {
    fn base(self) -> Gpr {
        match self {
            Mem::Pool(_) => Gpr(0),
            Mem::At(base, _) | Mem::Indexed(base, _, _) => base,
        }
    }
}
