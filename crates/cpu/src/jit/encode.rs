//! Encodes instructions: the parts that all instruction sets share, and instructions on general registers.

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

/// A memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mem {
    /// A constant of the pool after the code, by its bits.
    Pool(u32),
    /// The lane numbers, as integers.
    LaneNumbers,
    /// An offset in bytes from a register.
    At(Gpr, i32),
    /// As `At`, with the index times a scale of `1 << shift` added.
    Indexed(Gpr, u8, i32),
}

/// The last operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rm {
    Reg(u8),
    /// One element in memory, broadcast to all lanes. On instruction sets without such operands it is first loaded into a
    /// register.
    Splat(Mem),
    /// A full vector in memory, or as many bytes as the instruction reads.
    Bytes(Mem),
}

/// An instruction: opcode map, mandatory prefix (none, 66, F3, F2 as 0 to 3), opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Form(pub(super) u8, pub(super) u8, pub(super) u8);

pub(super) const ADD: Form = Form(1, 0, 0x58);
pub(super) const MUL: Form = Form(1, 0, 0x59);
pub(super) const SUB: Form = Form(1, 0, 0x5c);
pub(super) const MIN: Form = Form(1, 0, 0x5d);
pub(super) const DIV: Form = Form(1, 0, 0x5e);
pub(super) const MAX: Form = Form(1, 0, 0x5f);
/// Multiplies the first operand by 2 to the power of the second.
pub(super) const SCALE: Form = Form(2, 1, 0x2c);
pub(super) const SQRT: Form = Form(1, 0, 0x51);
pub(super) const AND: Form = Form(1, 1, 0xdb);
pub(super) const OR: Form = Form(1, 1, 0xeb);
pub(super) const XOR: Form = Form(1, 1, 0xef);
pub(super) const ADD_INT: Form = Form(1, 1, 0xfe);
pub(super) const SUB_INT: Form = Form(1, 1, 0xfa);
pub(super) const FROM_INT: Form = Form(1, 0, 0x5b);
pub(super) const ROUND: Form = Form(3, 1, 0x08);
pub(super) const COMPARE: Form = Form(1, 0, 0xc2);
pub(super) const TERNARY: Form = Form(3, 1, 0x25);
/// `dst = dst·b + c`.
pub(super) const FMA_213: Form = Form(2, 1, 0xa8);
/// `dst = a·b + dst`.
pub(super) const FMA_231: Form = Form(2, 1, 0xb8);
/// Shifts by a constant; the register field selects the operation, and the second operand is the result.
pub(super) const SHIFT: Form = Form(1, 1, 0x72);
pub(super) const SPLAT: Form = Form(2, 1, 0x18);
pub(super) const LOAD: Form = Form(1, 0, 0x10);
pub(super) const STORE: Form = Form(1, 0, 0x11);
pub(super) const COPY: Form = Form(1, 0, 0x28);
/// Moves the first lane only. A load sets the others to zero.
pub(super) const LOAD_ONE: Form = Form(1, 2, 0x10);
pub(super) const STORE_ONE: Form = Form(1, 2, 0x11);
/// Permutes lanes within quarters.
pub(super) const SHUFFLE: Form = Form(1, 0, 0xc6);

/// Conditions of jumps.
pub(super) const BELOW: u8 = 0x82;
pub(super) const ZERO: u8 = 0x84;
pub(super) const NOT_ZERO: u8 = 0x85;
pub(super) const NOT_GREATER: u8 = 0x8e;

/// Code under construction.
#[derive(Debug)]
pub(super) struct Assembler {
    bytes: Vec<u8>,
    pool: Vec<Constant>,
    /// Number of copies of each constant in the pool: one if instructions can broadcast it, else one per lane.
    times: usize,
    /// References to constants: position of the displacement, end of its instruction, index of the constant.
    fixes: Vec<(usize, usize, usize)>,
}

/// A constant after the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Constant {
    Same(u32),
    Lanes,
}

impl Assembler {
    /// Starts a program. Each constant is stored `times` times.
    pub(super) fn new(times: usize) -> Assembler {
        Assembler { bytes: vec![], pool: vec![], times, fixes: vec![] }
    }

    /// Appends the bytes of an instruction.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Returns the position of the next instruction.
    pub(super) fn here(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the code followed by its constants.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len().next_multiple_of(64), 0xcc);
        let start = self.bytes.len();
        for (at, end, k) in self.fixes {
            let distance = (start + 4 * self.times * k) as i64 - end as i64;
            self.bytes[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        for constant in &self.pool {
            for lane in 0..self.times as u32 {
                let word = if let Constant::Same(bits) = constant { *bits } else { lane };
                self.bytes.extend(word.to_le_bytes());
            }
        }
        self.bytes
    }

    /// Appends the ModRM byte and the rest of a memory operand.
    pub(super) fn operand(&mut self, reg: u8, rm: Rm, imm: bool) {
        let reg = (reg & 7) << 3;
        let mem = match rm {
            Rm::Reg(r) => return self.bytes.push(0xc0 | reg | r & 7),
            Rm::Splat(m) | Rm::Bytes(m) => m,
        };
        let distance = match mem {
            Mem::Pool(bits) => {
                self.constant(reg, Constant::Same(bits), imm);
                0
            }
            Mem::LaneNumbers => {
                self.constant(reg, Constant::Lanes, imm);
                0
            }
            Mem::At(base, distance) => {
                self.bytes.push(0x80 | reg | base.0 & 7);
                // With this base register, the encoding needs a SIB byte without an index.
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

    /// Appends a reference to a constant of the pool; its displacement, the next four bytes, is filled in at
    /// the end.
    fn constant(&mut self, reg: u8, constant: Constant, imm: bool) {
        self.bytes.push(reg | 5);
        let k = self.pool.iter().position(|c| *c == constant).unwrap_or_else(|| {
            self.pool.push(constant);
            self.pool.len() - 1
        });
        let at = self.here();
        self.fixes.push((at, at + 4 + imm as usize, k));
    }

    /// Appends a 64-bit instruction on a general register and memory.
    fn word(&mut self, opcode: u8, reg: Gpr, mem: Mem) {
        self.bytes.extend([0x48 | (reg.0 >> 3) << 2 | mem.base().0 >> 3, opcode]);
        self.operand(reg.0, Rm::Bytes(mem), false);
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

    /// Decrements a number in memory.
    pub(super) fn decrement(&mut self, mem: Mem) {
        self.word(0xff, Gpr(1), mem);
    }

    /// Appends a jump, whose target is set later.
    pub(super) fn jump(&mut self, condition: u8) -> usize {
        self.bytes.extend([0x0f, condition, 0, 0, 0, 0]);
        self.here()
    }

    /// Sets the target of a jump or call.
    pub(super) fn set_target(&mut self, jump: usize, at: usize) {
        let distance = at as i64 - jump as i64;
        self.bytes[jump - 4..jump].copy_from_slice(&(distance as i32).to_le_bytes());
    }

    /// Appends a call of later code, whose target is set later.
    pub(super) fn call(&mut self) -> usize {
        self.bytes.extend([0xe8, 0, 0, 0, 0]);
        self.here()
    }

    /// Loads a 32-bit number into one of the first eight registers.
    pub(super) fn number(&mut self, to: Gpr, n: u32) {
        self.bytes.push(0xb8 | to.0);
        self.bytes.extend(n.to_le_bytes());
    }

    /// Appends a routine that calls a function of two vectors. `save` copies all vectors to `bytes` bytes of memory at
    /// `RSP`, and `restore` copies them back. `RSI` and `RDX` are the offsets of the two vectors in this memory. The
    /// routine changes the second vector, `RSI` and `RDX`, and preserves all other registers.
    pub(super) fn routine(
        &mut self,
        function: usize,
        bytes: i32,
        save: impl Fn(&mut Assembler),
        restore: impl Fn(&mut Assembler),
    ) {
        const PRESERVED: [Gpr; 8] = [RAX, RCX, RDI, Gpr(8), Gpr(9), Gpr(10), Gpr(11), RBP];
        PRESERVED.iter().for_each(|r| self.push(*r));
        self.raw(&[0x48, 0x89, 0xe5]); // mov rbp, rsp
        self.raw(&[0x48, 0x81, 0xec]); // sub rsp, …
        self.raw(&bytes.to_le_bytes());
        self.raw(&[0x48, 0x83, 0xe4, 0xc0]); // and rsp, -64
        save(self);
        self.raw(&[0x48, 0x8d, 0x3c, 0x34]); // lea rdi, [rsp + rsi]
        self.raw(&[0x48, 0x8d, 0x34, 0x14]); // lea rsi, [rsp + rdx]
        self.raw(&[0xc5, 0xf8, 0x77]); // vzeroupper
        self.raw(&[0x48, 0xb8]); // mov rax, …
        self.raw(&(function as u64).to_le_bytes());
        self.raw(&[0xff, 0xd0]); // call rax
        restore(self);
        self.raw(&[0x48, 0x89, 0xec]); // mov rsp, rbp
        PRESERVED.iter().rev().for_each(|r| self.pop(*r));
        self.raw(&[0xc3]); // ret
    }

    pub(super) fn push(&mut self, r: Gpr) {
        self.bytes.extend((r.0 > 7).then_some(0x41).into_iter().chain([0x50 | r.0 & 7]));
    }

    pub(super) fn pop(&mut self, r: Gpr) {
        self.bytes.extend((r.0 > 7).then_some(0x41).into_iter().chain([0x58 | r.0 & 7]));
    }

    /// Appends the return. `vzeroupper` before it avoids delays in later SSE code.
    pub(super) fn ret(&mut self) {
        self.bytes.extend([0xc5, 0xf8, 0x77, 0xc3]); // vzeroupper, ret
    }
}

impl Rm {
    /// Returns the upper bits of the number of a register, or of the base register of a memory operand.
    pub(super) fn upper(self) -> u8 {
        match self {
            Rm::Reg(r) => r >> 3,
            Rm::Splat(m) | Rm::Bytes(m) => m.base().0 >> 3,
        }
    }
}

impl Mem {
    fn base(self) -> Gpr {
        match self {
            Mem::Pool(_) | Mem::LaneNumbers => Gpr(0),
            Mem::At(base, _) | Mem::Indexed(base, _, _) => base,
        }
    }
}
