//! Compares generated code with the interpreter: the results must have equal bits.

use super::Native;
use crate::Isa;
use crate::tile::{Memory, TileProgram};
use gradus_compile::{Access, Inst, Kernel, Layout, Level, Operation, Store};
use gradus_ir::ops::pointwise::find;
use gradus_ir::ops::{Combine, Scalar};
use gradus_ir::{DType, Literal};
use std::sync::Arc;

const UNARY: [&str; 20] = [
    "neg",
    "reciprocal",
    "square",
    "abs",
    "sign",
    "floor",
    "ceil",
    "round",
    "trunc",
    "sqrt",
    "rsqrt",
    "exp",
    "exp2",
    "log",
    "sigmoid",
    "tanh",
    "erf",
    "sin",
    "cos",
    "tan",
];
/// Functions for which a kernel with several axes may need more registers than AVX2 has. It then runs in the
/// interpreter.
const LONG: [&str; 1] = ["erfc"];
const BINARY: [&str; 7] = ["add", "sub", "mul", "div", "maximum", "minimum", "copysign"];
const COMPARE: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const TEST: [&str; 3] = ["is_nan", "is_inf", "is_finite"];
const LOGIC: [&str; 3] = ["and", "or", "xor"];
const SPECIAL: [f32; 12] = [
    0.0,
    -0.0,
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    1e-40,
    -1e-44,
    3e38,
    -3e38,
    0.5,
    2.5,
    f32::MIN_POSITIVE,
];

/// Instruction sets with a code generator.
const MACHINES: [Isa; 2] = [Isa::Avx2, Isa::Avx512];

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    fn float(&mut self) -> f32 {
        match self.below(12) {
            0 => SPECIAL[self.below(SPECIAL.len())],
            1 => (self.below(20_000) as f32 - 10_000.0) * 0.02,
            _ => (self.below(20_000) as f32 - 10_000.0) * 3e-4,
        }
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A kernel under construction, with the initial contents of its buffers.
struct Case {
    kernel: Kernel,
    buffers: Vec<(DType, Vec<u8>)>,
}

impl Case {
    fn new(axes: &[usize], parallel: usize) -> Case {
        let kernel = Kernel { axes: axes.to_vec(), parallel, columns: false, body: vec![], stores: vec![] };
        Case { kernel, buffers: vec![] }
    }

    fn level(&self, args: &[usize]) -> Level {
        let row = self.kernel.parallel < self.kernel.axes.len();
        let element = args.iter().any(|a| self.kernel.body[*a].level == Level::Element);
        if row && !element { Level::Row } else { Level::Element }
    }

    fn push(&mut self, op: Operation, args: &[usize], dtype: DType) -> usize {
        let level = match op {
            Operation::Reduce(_) | Operation::Constant(_) => Level::Row,
            Operation::Load(ref access) => {
                let still = access.layout.strides[self.kernel.parallel..].iter().all(|s| *s == 0);
                if still && self.kernel.parallel < self.kernel.axes.len() {
                    Level::Row
                } else {
                    Level::Element
                }
            }
            _ => self.level(args),
        };
        self.kernel.body.push(Inst { op, args: args.to_vec(), dtype, level });
        self.kernel.body.len() - 1
    }

    fn pointwise(&mut self, name: &str, args: &[usize]) -> usize {
        let op = find(name).unwrap();
        let dtype =
            if op.predicate || LOGIC.contains(&name) || name == "not" { DType::Bool } else { DType::F32 };
        self.push(Operation::Scalar(Scalar::Pointwise(op)), args, dtype)
    }

    fn number(&mut self, x: f32) -> usize {
        self.push(Operation::Constant(Literal::scalar(DType::F32, x as f64)), &[], DType::F32)
    }

    fn fold(&mut self, combine: Combine, x: usize) -> usize {
        self.push(Operation::Reduce(combine), &[x], DType::F32)
    }

    /// Adds a buffer that is large enough for a layout, filled with random values.
    fn buffer(&mut self, random: &mut Random, layout: &Layout, dtype: DType) -> usize {
        let reach: i64 =
            self.kernel.axes.iter().zip(&layout.strides).map(|(e, s)| s * (*e as i64 - 1).max(0)).sum();
        let numel = (layout.offset + reach + 1) as usize;
        let bytes = match dtype {
            DType::F32 => (0..numel).flat_map(|_| random.float().to_le_bytes()).collect(),
            _ => (0..numel).map(|_| random.below(2) as u8).collect(),
        };
        self.buffers.push((dtype, bytes));
        self.buffers.len() - 1
    }

    fn load(&mut self, random: &mut Random, offset: i64, strides: &[i64], dtype: DType) -> usize {
        let layout = Layout { offset, strides: strides.to_vec() };
        let buffer = self.buffer(random, &layout, dtype);
        self.push(Operation::Load(Access { buffer, layout }), &[], dtype)
    }

    fn store(&mut self, random: &mut Random, offset: i64, strides: &[i64], value: usize) {
        let layout = Layout { offset, strides: strides.to_vec() };
        let buffer = self.buffer(random, &layout, self.kernel.body[value].dtype);
        self.kernel.stores.push(Store { value, access: Access { buffer, layout } });
    }

    /// Returns row-major strides with `apart` elements between rows.
    fn strides(&self, apart: usize) -> Vec<i64> {
        let mut strides = vec![1i64; self.kernel.axes.len()];
        for a in (1..strides.len()).rev() {
            strides[a - 1] = strides[a] * (self.kernel.axes[a] as i64) + apart as i64;
        }
        strides
    }

    fn results(&self, program: &TileProgram, parts: &[(usize, usize)]) -> Vec<Vec<u8>> {
        // Elements are aligned to 4 bytes, but not to more.
        let mut memory: Vec<Vec<u32>> = Vec::new();
        for (_, bytes) in &self.buffers {
            let mut own = vec![0xabab_abab_u32; bytes.len().div_ceil(4) + 3];
            // SAFETY: `own` has at least `bytes.len()` bytes after its first word.
            unsafe {
                own.as_mut_ptr().add(1).cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
            };
            memory.push(own);
        }
        let table: Vec<*mut u8> = memory.iter_mut().map(|m| m.as_mut_ptr().wrapping_add(1).cast()).collect();
        for &(from, count) in parts {
            // SAFETY: the buffers have the sizes that the program was built for.
            unsafe { program.run_rows(Memory(&table), from, count) };
        }
        memory.iter().map(|m| m.iter().flat_map(|w| w.to_le_bytes()).collect()).collect()
    }

    /// Returns true if the kernel may need more registers than AVX2 has.
    fn is_long(&self) -> bool {
        let long =
            |i: &Inst| matches!(i.op, Operation::Scalar(Scalar::Pointwise(op)) if LONG.contains(&op.name));
        self.kernel.axes.len() > 1 && self.kernel.body.iter().any(long)
    }

    /// Compares generated code with the interpreter, over all rows at once and in parts.
    fn check(&self, random: &mut Random, what: &str) {
        let sizes: Vec<(DType, usize)> = self.buffers.iter().map(|(d, b)| (*d, b.len() / d.size())).collect();
        let plain = TileProgram::interpreted(&self.kernel, &sizes).expect("a kernel within its buffers");
        let rows = self.kernel.rows();
        let cut = random.below(rows + 1);
        let expected = self.results(&plain, &[(0, rows)]);
        let both = [vec![(0, rows)], vec![(cut, rows - cut), (0, cut)]];
        for (isa, parts) in MACHINES.iter().flat_map(|isa| both.iter().map(move |parts| (*isa, parts))) {
            if isa > Isa::best() {
                continue;
            }
            let mut native =
                TileProgram::interpreted(&self.kernel, &sizes).expect("a kernel within its buffers");
            native.native = Native::on(isa, &self.kernel, &sizes);
            if native.native.is_none() && isa == Isa::Avx2 && self.is_long() {
                continue;
            }
            assert!(native.native.is_some(), "{what} is refused on {isa:?}:\n{}", self.kernel);
            let found = self.results(&native, parts);
            for (b, (x, y)) in found.iter().zip(&expected).enumerate() {
                let float = self.buffers[b].0 == DType::F32;
                let word = |w: &[u8]| {
                    let bits = u32::from_le_bytes([w[0], w[1], w[2], w[3]]);
                    if float && f32::from_bits(bits).is_nan() { f32::NAN.to_bits() } else { bits }
                };
                for (i, (x, y)) in x.chunks(4).zip(y.chunks(4)).enumerate() {
                    let (x, y) = (word(x), word(y));
                    assert!(
                        x == y,
                        "{what} on {isa:?}: buffer {b} word {i}: {x:x} ({}) for {y:x} ({}) in\n{}",
                        f32::from_bits(x),
                        f32::from_bits(y),
                        self.kernel
                    );
                }
            }
        }
    }
}

#[test]
fn every_function_at_every_length() {
    let random = &mut Random(1);
    for n in 1..100 {
        for name in UNARY.iter().chain(&LONG) {
            let mut case = Case::new(&[n], 1);
            let x = case.load(random, 0, &[1], DType::F32);
            let y = case.pointwise(name, &[x]);
            case.store(random, 0, &[1], y);
            case.check(random, name);
        }
        for name in BINARY.iter().chain(&COMPARE) {
            let mut case = Case::new(&[n], 1);
            let (a, b) = (case.load(random, 3, &[1], DType::F32), case.load(random, 0, &[1], DType::F32));
            let c = case.number(SPECIAL[n % SPECIAL.len()]);
            for args in [[a, b], [a, c], [c, b], [a, a]] {
                let y = case.pointwise(name, &args);
                case.store(random, 0, &[1], y);
            }
            case.check(random, name);
        }
    }
    for name in TEST {
        let mut case = Case::new(&[77], 1);
        let x = case.load(random, 0, &[1], DType::F32);
        let y = case.pointwise(name, &[x]);
        case.store(random, 0, &[1], y);
        case.check(random, name);
    }
}

/// Adds loads with broadcast, strided and offset layouts, then random functions of them. Returns the floats and the
/// masks.
fn random_body(case: &mut Case, random: &mut Random, insts: usize) -> (Vec<usize>, Vec<usize>) {
    let rank = case.kernel.axes.len();
    let (mut floats, mut masks) = (vec![case.number(1.5), case.number(-0.25)], vec![]);
    for _ in 0..1 + random.below(4) {
        let mut strides = case.strides(random.below(3));
        match random.below(4) {
            0 => strides[rank - 1] = 0,
            1 if rank > 1 => strides[0] = 0,
            _ => {}
        }
        let offset = random.below(5) as i64;
        floats.push(case.load(random, offset, &strides, DType::F32));
    }
    if random.below(3) == 0 {
        let strides = case.strides(1);
        masks.push(case.load(random, 1, &strides, DType::Bool));
    }
    // Every function below takes the last value, so that none has only constant operands: the compiler folds those.
    let first = floats.len() - 1;
    floats.push(case.pointwise("abs", &[first]));
    for _ in 0..insts {
        let last = floats[floats.len() - 1];
        let any =
            |r: &mut Random, all: &[usize]| if r.below(2) == 0 { last } else { all[r.below(all.len())] };
        let (a, b) = (last, any(random, &floats));
        match random.below(12) {
            10 => masks.push(case.push(Operation::Scalar(Scalar::Cast), &[a], DType::Bool)),
            11 if !masks.is_empty() => {
                let p = random.of(&masks);
                floats.push(case.push(Operation::Scalar(Scalar::Cast), &[p], DType::F32));
            }
            0..3 => floats.push(case.pointwise(random.of(&UNARY), &[a])),
            3..6 => {
                let args = if random.below(2) == 0 { [a, b] } else { [b, a] };
                floats.push(case.pointwise(random.of(&BINARY), &args));
            }
            6 => masks.push(case.pointwise(random.of(&COMPARE), &[a, b])),
            7 if masks.len() > 1 => {
                let (p, q) = (random.of(&masks), random.of(&masks));
                masks.push(case.pointwise(random.of(&LOGIC), &[p, q]));
            }
            8 if !masks.is_empty() => {
                let p = random.of(&masks);
                masks.push(case.pointwise("not", &[p]));
            }
            _ if !masks.is_empty() => {
                let p = random.of(&masks);
                floats.push(case.push(Operation::Scalar(Scalar::Select), &[p, a, b], DType::F32));
            }
            _ => floats.push(case.pointwise("add", &[a, b])),
        }
    }
    (floats, masks)
}

#[test]
fn random_kernels() {
    let random = &mut Random(7);
    for case_number in 0..600 {
        let mut axes: Vec<usize> = (0..random.below(3)).map(|_| 1 + random.below(5)).collect();
        axes.push(1 + random.below(150));
        let mut case = Case::new(&axes, axes.len());
        let insts = 1 + random.below(14);
        let (floats, masks) = random_body(&mut case, random, insts);
        let strides = case.strides(case_number % 2);
        case.store(random, 2, &strides, floats[floats.len() - 1]);
        if let Some(mask) = masks.last() {
            case.store(random, 1, &strides, *mask);
        }
        case.check(random, "a random kernel");
    }
}

/// Tests results that overwrite operands that are not needed afterwards.
#[test]
fn results_overwrite_operands() {
    let random = &mut Random(3);
    for n in [1, 15, 16, 31, 64, 65, 200] {
        let mut case = Case::new(&[3, n], 2);
        let strides = case.strides(0);
        let (a, b) = (case.load(random, 0, &strides, DType::F32), case.load(random, 0, &strides, DType::F32));
        let sum = case.pointwise("add", &[a, b]);
        let product = case.pointwise("mul", &[sum, b]);
        let layout = Layout { offset: 0, strides };
        for (value, buffer) in [(sum, 0), (product, 1)] {
            case.kernel.stores.push(Store { value, access: Access { buffer, layout: layout.clone() } });
        }
        case.check(random, "in place");
    }
}

#[test]
fn kernels_of_other_extents_share_code() {
    let random = &mut Random(7);
    let mut of = |rows: usize, row: usize, scale: f32| {
        let mut case = Case::new(&[rows, row], 2);
        let x = case.load(random, 3, &[row as i64 + 2, 1], DType::F32);
        let y = case.number(scale);
        let sum = case.pointwise("mul", &[x, y]);
        case.store(random, 1, &[row as i64, 1], sum);
        let sizes: Vec<(DType, usize)> = case.buffers.iter().map(|(d, b)| (*d, b.len() / d.size())).collect();
        match Native::new(&case.kernel, &sizes) {
            Some(Native::Rows(code, _)) => Some(code.shared),
            other => panic!("{other:?}"),
        }
    };
    if Isa::best() == Isa::Portable {
        return;
    }
    let (first, other, differs) = (of(4, 50, 0.5), of(9, 333, 0.5), of(4, 50, 0.25));
    assert_eq!(first.as_ref().map(Arc::as_ptr), other.as_ref().map(Arc::as_ptr));
    assert_ne!(first.as_ref().map(Arc::as_ptr), differs.as_ref().map(Arc::as_ptr));
}

#[test]
fn many_operands() {
    let random = &mut Random(5);
    let mut case = Case::new(&[4, 50], 2);
    let mut sum = case.load(random, 0, &[50, 1], DType::F32);
    for k in 0..20 {
        let x = case.load(random, k, &[[50, 1], [0, 1], [1, 0]][k as usize % 3], DType::F32);
        sum = case.pointwise(["add", "mul", "sub"][k as usize % 3], &[x, sum]);
    }
    case.store(random, 0, &[50, 1], sum);
    case.check(random, "many operands");
}

#[test]
fn reductions() {
    let random = &mut Random(11);
    for case_number in 0..400 {
        let axes = [1 + random.below(4), 1 + random.below(3), 1 + random.below(400)];
        let mut case = Case::new(&axes, 2);
        let insts = random.below(6);
        let (floats, _) = random_body(&mut case, random, insts);
        let mut last = floats[floats.len() - 1];
        for _ in 0..1 + random.below(3) {
            let combine = random.of(&[Combine::Sum, Combine::Max, Combine::Min]);
            let fold = case.fold(combine, last);
            let scaled = case.pointwise(random.of(&["tanh", "neg", "exp"]), &[fold]);
            if random.below(2) == 0 {
                case.store(random, 0, &[axes[1] as i64, 1, 0], scaled);
            }
            let minus = case.pointwise(random.of(&BINARY), &[last, scaled]);
            let name = if case_number % 4 == 0 { LONG[0] } else { random.of(&UNARY) };
            last = case.pointwise(name, &[minus]);
        }
        let apart = random.below(2);
        match random.below(3) {
            0 => {
                let total = case.fold(Combine::Sum, last);
                case.store(random, 0, &[axes[1] as i64, 1, 0], total);
            }
            _ => {
                let strides = case.strides(apart);
                // Row values are stored once per row.
                if case.kernel.body[last].level == Level::Element {
                    case.store(random, 0, &strides, last);
                } else {
                    case.store(random, 0, &[axes[1] as i64, 1, 0], last);
                }
            }
        }
        case.check(random, &format!("reduction {case_number}"));
    }
}

#[test]
fn reductions_along_columns() {
    let random = &mut Random(13);
    for case_number in 0..300 {
        // The parallel axes, the last of which is split over the lanes, then the reduced axes.
        let axes = [1 + random.below(3), 1 + random.below(90), 1 + random.below(70), 1 + random.below(3)];
        let [p, l, r, q] = axes.map(|e| e as i64);
        let mut case = Case::new(&axes, 2);
        case.kernel.columns = true;
        let rows = [[l * r * q, 1, q * l, l], [0, 1, q * l, l], [r * q, 0, q, 1], [0, 0, q, 1]];
        let mut floats = vec![case.load(random, 1, &rows[0], DType::F32)];
        for _ in 0..random.below(3) {
            let strides = random.of(&rows);
            floats.push(case.load(random, 0, &strides, DType::F32));
        }
        let per_lane = case.load(random, 2, &[l, 1, 0, 0], DType::F32);
        let mut last = floats[0];
        for x in &floats[1..] {
            last = case.pointwise(random.of(&BINARY), &[last, *x]);
        }
        let scaled = case.pointwise("exp", &[per_lane]);
        last = case.pointwise("mul", &[last, scaled]);
        for _ in 0..random.below(3) {
            let fold = case.fold(random.of(&[Combine::Sum, Combine::Max, Combine::Min]), last);
            let own = case.pointwise("tanh", &[fold]);
            if random.below(2) == 0 {
                case.store(random, 0, &[l, 1, 0, 0], own);
            }
            let two = case.pointwise("add", &[own, per_lane]);
            last = case.pointwise(random.of(&BINARY), &[last, two]);
        }
        let total = case.fold(Combine::Sum, last);
        match random.below(3) {
            0 => case.store(random, 0, &[l, 1, 0, 0], total),
            1 => {
                let y = case.pointwise("sub", &[last, total]);
                case.store(random, 3, &rows[0], y);
            }
            _ => {
                let y = case.pointwise("sub", &[last, total]);
                case.store(random, 3, &rows[0], y);
                case.store(random, 0, &[l, 1, 0, 0], total);
            }
        }
        case.check(random, &format!("columns {case_number}, {p} outer"));
    }
}

/// Tests numbers of all magnitudes, including those with subnormal results.
#[test]
fn functions_of_numbers_of_all_magnitudes() {
    let random = &mut Random(17);
    let bits: Vec<u8> = (0..1u32 << 18).flat_map(|i| (i << 14 | i >> 4).to_le_bytes()).collect();
    let dense: Vec<u8> = (0..1 << 18).flat_map(|i| (i as f32 * 1e-3 - 131.0).to_le_bytes()).collect();
    for name in UNARY.iter().chain(&LONG) {
        for bytes in [&bits, &dense] {
            let mut case = Case::new(&[1 << 18], 1);
            let x = case.load(random, 0, &[1], DType::F32);
            let y = case.pointwise(name, &[x]);
            case.store(random, 0, &[1], y);
            case.buffers[0].1.clone_from(bytes);
            case.check(random, name);
        }
    }
}
