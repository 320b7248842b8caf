//! Writes the body of a kernel at one index: memory accesses, values of instructions and stores.
//! All templates share this code; each decides which thread processes which indices.

use crate::build::Build;
use crate::dialect::Unit;
use crate::int::Int;
use crate::library;
use crate::memory::{self, zero};
use crate::pointwise;
use gradus_compile::{Kernel, Layout, Level, Operation, Text};
use gradus_ir::ops::Scalar;
use gradus_ir::{Class, DType};

/// Largest body that is unrolled over several indices, in lines of code with all functions inlined.
pub(crate) const INLINED: usize = 1200;

/// An access of a kernel: the first element, and the dependence of the element on the index.
#[derive(Clone, Debug)]
pub(crate) struct ElementAccess {
    pub(crate) buffer: usize,
    pub(crate) start: Int,
    pub(crate) form: Form,
}

/// The dependence of an access on the index.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// The same element for every index.
    Fixed,
    /// The element whose position is the row-major number of the index.
    Flat,
    /// The element at the sum of index times stride over all axes.
    Strided(Vec<Int>),
}

/// A piece: its access and its bounds. The piece contains an index if every bound's affine expression is below its
/// extent.
struct Piece {
    access: ElementAccess,
    bounds: Vec<(Int, Vec<Int>, Int)>,
}

/// The accesses of a kernel's instructions and stores.
pub(crate) struct Nest<'k> {
    pub(crate) kernel: &'k Kernel,
    loads: Vec<Option<ElementAccess>>,
    pieces: Vec<Vec<Piece>>,
    indices: Vec<Option<(Int, Vec<Int>)>>,
    constants: Vec<Option<String>>,
    pub(crate) stores: Vec<ElementAccess>,
    /// Extents of the axes: the parallel ones, then the reduced ones. In generic text both parts are padded with 1.
    pub(crate) extents: Vec<Int>,
    /// Number of parallel axes.
    pub(crate) parallel: usize,
}

/// An index along each axis, and its row-major number if the template computes that.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) index: Vec<Int>,
    pub(crate) flat: Option<Int>,
}

/// Returns the number of axes that the text uses for a kernel of `axes` axes. Generic text uses few different numbers, so
/// that kernels share text.
fn padded(axes: usize, text: Text) -> usize {
    match text {
        Text::Special => axes,
        Text::Generic => [0, 1, 2, 4, 8].into_iter().find(|n| *n >= axes).unwrap_or(axes),
    }
}

/// Returns true if strides are those of a row-major tensor. A stride along an extent of 1 has no effect.
pub(crate) fn is_flat(axes: &[usize], layout: &Layout) -> bool {
    let all = Layout::row_major(axes).strides;
    axes.iter().zip(layout.strides.iter().zip(&all)).all(|(e, (a, b))| *e == 1 || a == b)
}

impl<'k> Nest<'k> {
    /// Declares the buffers of a kernel. `unit` returns the unit of an access. It receives the access, and true if the
    /// access is a store.
    pub(crate) fn bind(
        b: &mut Build<'_>,
        kernel: &Kernel,
        unit: impl Fn(&gradus_compile::Access, bool) -> Unit,
    ) {
        for access in kernel.loads() {
            b.bind(access.buffer, unit(access, false), false);
        }
        for store in &kernel.stores {
            b.bind(store.access.buffer, unit(&store.access, true), true);
        }
    }

    /// Builds the accesses of a kernel whose buffers are bound. If `flat` is true, accesses may use the row-major number of
    /// the index.
    pub(crate) fn new(b: &mut Build<'_>, kernel: &'k Kernel, flat: bool) -> Result<Nest<'k>, String> {
        let rank = kernel.axes.len();
        let (outer, inner) = (padded(kernel.parallel, b.text), padded(rank - kernel.parallel, b.text));
        let (front, middle) = (outer - kernel.parallel, inner - (rank - kernel.parallel));
        let spread = |list: Vec<i64>, fill: i64| -> Vec<i64> {
            let (p, r) = list.split_at(kernel.parallel);
            [vec![fill; front], p.to_vec(), vec![fill; middle], r.to_vec()].concat()
        };
        if kernel.axes.iter().product::<usize>() > 1 << 31 {
            return Err("its loop nest has more than 2^31 indices".into());
        }
        let extents = spread(kernel.axes.iter().map(|e| *e as i64).collect(), 1);
        let extents: Vec<Int> = extents.into_iter().map(|e| b.size(e)).collect();
        let mut nest = Nest {
            kernel,
            loads: Vec::new(),
            pieces: Vec::new(),
            indices: Vec::new(),
            constants: Vec::new(),
            stores: Vec::new(),
            extents,
            parallel: outer,
        };
        let strides = |b: &mut Build<'_>, layout: &Layout| -> Vec<Int> {
            let all =
                layout.strides.iter().zip(&kernel.axes).map(|(s, e)| if *e == 1 { 0 } else { *s }).collect();
            spread(all, 0).into_iter().map(|s| b.size(s)).collect()
        };
        let element = |b: &mut Build<'_>, access: &gradus_compile::Access| {
            let start = b.start(access.buffer, access.layout.offset);
            let fixed = access.layout.strides.iter().zip(&kernel.axes).all(|(s, e)| *s == 0 || *e == 1);
            let form = if flat && is_flat(&kernel.axes, &access.layout) {
                Form::Flat
            } else if fixed {
                Form::Fixed
            } else {
                Form::Strided(strides(b, &access.layout))
            };
            ElementAccess { buffer: access.buffer, start, form }
        };
        for inst in &kernel.body {
            let (mut load, mut pieces, mut index, mut constant) = (None, Vec::new(), None, None);
            match &inst.op {
                Operation::Load(access) => load = Some(element(b, access)),
                Operation::Pieces(all) => {
                    for piece in all {
                        let access = element(b, &piece.access);
                        let mut bounds = Vec::new();
                        for (layout, extent) in &piece.bounds {
                            let offset = b.size(layout.offset);
                            let strides = strides(b, layout);
                            bounds.push((offset, strides, b.size(*extent as i64)));
                        }
                        pieces.push(Piece { access, bounds });
                    }
                }
                Operation::Index(layout) => {
                    let ends = layout.ends(&kernel.axes).unwrap_or((0, 0));
                    if ends.0 < i64::from(i32::MIN) || ends.1 > i64::from(i32::MAX) {
                        return Err("it uses an index that does not fit in 32 bits".into());
                    }
                    let offset = b.size(layout.offset);
                    index = Some((offset, strides(b, layout)));
                }
                Operation::Constant(l) => {
                    let name = memory::constant(b, l);
                    constant = Some(name.ok_or_else(|| format!("kernels do not compute in {}", l.dtype()))?);
                }
                _ => {}
            }
            nest.loads.push(load);
            nest.pieces.push(pieces);
            nest.indices.push(index);
            nest.constants.push(constant);
        }
        nest.stores = kernel.stores.iter().map(|s| element(b, &s.access)).collect();
        Ok(nest)
    }

    /// Returns the position of an access's element at an index.
    pub(crate) fn at(access: &ElementAccess, point: &Point) -> Int {
        match &access.form {
            Form::Fixed => access.start.clone(),
            Form::Flat => match &point.flat {
                Some(flat) => access.start.plus(flat),
                None => access.start.clone(),
            },
            Form::Strided(strides) => access.start.plus(&affine(strides, point)),
        }
    }

    /// Returns the value of an instruction that reads: a load, pieces, an index or a constant. `None` for others.
    pub(crate) fn source(
        &self,
        b: &mut Build<'_>,
        i: usize,
        point: &Point,
    ) -> Result<Option<String>, String> {
        let inst = &self.kernel.body[i];
        memory::register(inst.dtype).ok_or_else(|| format!("kernels do not compute in {}", inst.dtype))?;
        if let Some(name) = &self.constants[i] {
            return Ok(Some(name.clone()));
        }
        if let Some(element) = &self.loads[i] {
            let at = b.int(Self::at(element, point));
            let loaded = memory::load(b, element.buffer, &at);
            return Ok(Some(b.value(loaded)));
        }
        if let Some((offset, strides)) = &self.indices[i] {
            let at = offset.plus(&affine(strides, point));
            let number = b.value(format!("bitcast<i32>({})", at.text()));
            return Ok(Some(b.value(pointwise::cast(DType::I32, inst.dtype, &number))));
        }
        if !matches!(inst.op, Operation::Pieces(_)) {
            return Ok(None);
        }
        let found = b.variable(zero(inst.dtype));
        for (k, piece) in self.pieces[i].iter().enumerate() {
            let inside = piece.bounds.iter().map(|(offset, strides, extent)| {
                format!("{} < {}", offset.plus(&affine(strides, point)).text(), extent.text())
            });
            let inside = inside.collect::<Vec<_>>().join(" && ");
            let inside = if inside.is_empty() { "true".to_string() } else { inside };
            // Tests later pieces only if no earlier piece contains the index.
            b.line(format!("if ({inside}) {{"));
            let at = b.int(Self::at(&piece.access, point));
            let loaded = memory::load(b, piece.access.buffer, &at);
            b.line(format!("{found} = {loaded};"));
            if k + 1 < self.pieces[i].len() {
                b.line("} else {");
            }
        }
        for _ in &self.pieces[i] {
            b.line("}");
        }
        Ok(Some(found))
    }

    /// Returns the value of a scalar instruction. Takes the values of its operands.
    pub(crate) fn scalar(
        &self,
        b: &mut Build<'_>,
        i: usize,
        values: &[Option<String>],
    ) -> Result<String, String> {
        let inst = &self.kernel.body[i];
        let Operation::Scalar(scalar) = &inst.op else {
            return Err("it has a reduction that the template does not support".into());
        };
        let from: Vec<DType> = inst.args.iter().map(|a| self.kernel.body[*a].dtype).collect();
        let sum = matches!(scalar, Scalar::Pointwise(op) if matches!(op.name, "add" | "sub"));
        let operand = |a: &usize| {
            let value = values[*a].clone().ok_or("an operand is missing")?;
            // Fences operands of float sums: otherwise compilers may reassociate sums, or fuse a product and a sum.
            let fenced = sum && self.kernel.body[*a].dtype.class() == Class::Float && self.is_arithmetic(*a);
            Ok(if fenced { format!("f_fence({value})") } else { value })
        };
        let args = inst.args.iter().map(operand).collect::<Result<Vec<String>, String>>()?;
        let expression = pointwise::apply(*scalar, &from, &args, inst.dtype)?;
        Ok(if matches!(scalar, Scalar::Identity) { expression } else { b.value(expression) })
    }

    fn is_arithmetic(&self, i: usize) -> bool {
        match &self.kernel.body[i].op {
            Operation::Scalar(Scalar::Identity | Scalar::Cast) => {
                self.is_arithmetic(self.kernel.body[i].args[0])
            }
            Operation::Scalar(scalar) => pointwise::is_arithmetic(*scalar),
            _ => false,
        }
    }

    /// Computes, at one index, the values of instructions for which `wanted` returns true and that are not in `values`.
    pub(crate) fn values(
        &self,
        b: &mut Build<'_>,
        point: &Point,
        values: &mut [Option<String>],
        wanted: impl Fn(usize) -> bool,
    ) -> Result<(), String> {
        for i in 0..self.kernel.body.len() {
            if values[i].is_some() || !wanted(i) {
                continue;
            }
            values[i] = Some(match self.source(b, i, point)? {
                Some(value) => value,
                None => self.scalar(b, i, values)?,
            });
        }
        Ok(())
    }

    /// Returns the access of an instruction if it is a load.
    pub(crate) fn load(&self, i: usize) -> Option<&ElementAccess> {
        self.loads[i].as_ref()
    }

    /// Returns true if the kernel needs the index along each axis, and not only its row-major number.
    pub(crate) fn needs_index(&self) -> bool {
        let strided = |p: &ElementAccess| matches!(p.form, Form::Strided(_));
        self.loads.iter().flatten().any(strided)
            || self.stores.iter().any(strided)
            || self.indices.iter().any(Option::is_some)
            || self.pieces.iter().any(|p| !p.is_empty())
    }

    /// Returns true if the kernel needs the template for rows: it has a reduction, or it stores a value per row and its
    /// rows do not have one element.
    pub(crate) fn reduces(kernel: &Kernel) -> bool {
        kernel.body.iter().any(|inst| matches!(inst.op, Operation::Reduce(_)))
            || kernel
                .stores
                .iter()
                .any(|s| kernel.body[s.value].level == Level::Row && kernel.row_length() != 1)
    }
}

/// Returns the number of lines of code of one evaluation of a kernel's body, with all functions inlined. Software
/// adapters take seconds to compile a few thousand lines.
pub(crate) fn lines(kernel: &Kernel) -> usize {
    let names = ["x", "y", "z"].map(String::from);
    let of = |inst: &gradus_compile::Inst| {
        let Operation::Scalar(scalar) = &inst.op else { return 1 };
        let from: Vec<DType> = inst.args.iter().map(|a| kernel.body[*a].dtype).collect();
        let args = &names[..from.len().min(names.len())];
        1 + pointwise::apply(*scalar, &from, args, inst.dtype).map_or(0, |text| library::lines(&text))
    };
    kernel.body.iter().map(of).sum()
}

/// Returns the sum of index times stride over all axes.
fn affine(strides: &[Int], point: &Point) -> Int {
    strides.iter().zip(&point.index).fold(Int::Literal(0), |sum, (s, i)| sum.plus(&i.times(s)))
}

/// Computes the index along each axis from a row-major number.
pub(crate) fn decompose(b: &mut Build<'_>, number: &Int, extents: &[Int]) -> Vec<Int> {
    let mut index = vec![Int::Literal(0); extents.len()];
    let mut rest = b.int(number.clone());
    for a in (0..extents.len()).rev() {
        if a == 0 {
            index[0] = rest.clone();
        } else {
            let own = rest.modulo(&extents[a]);
            index[a] = b.int(own);
            let over = rest.over(&extents[a]);
            rest = b.int(over);
        }
    }
    index
}
