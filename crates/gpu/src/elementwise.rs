//! Writes kernels without reductions. A thread processes one index, or four neighbouring ones if results are contiguous.
//! Takes a kernel of a plan; returns its text and launch, or the reason why there is none.
//! Kernels with reductions are in `rows`, and the values at one index in `nest.rs`.

use crate::build::{Build, Launch};
use crate::dialect::{Dialect, Unit};
use crate::int::Int;
use crate::limits::Limits;
use crate::memory::{load_four, store, store_four};
use crate::nest::{Form, INLINED, Nest, Point, decompose, is_flat, lines};
use crate::program::GpuProgram;
use gradus_compile::{Access, Kernel, Operation, Text};

/// Returns true if an access is contiguous and its offset is a multiple of four elements.
pub(crate) fn by_four(kernel: &Kernel, access: &Access) -> bool {
    access.layout.offset % 4 == 0 && is_flat(&kernel.axes, &access.layout)
}

/// The distribution of a kernel's indices over threads.
pub(crate) struct Shares {
    /// If true, a thread processes four indices, otherwise one.
    pub(crate) four: bool,
    /// If true, the number of indices is not a multiple of four, so the last thread has fewer.
    pub(crate) ragged: bool,
    /// If true, the four indices of a thread differ along the last axis only.
    pub(crate) along: bool,
}

impl Shares {
    fn of(program: &GpuProgram, kernel: &Kernel) -> Shares {
        let count: usize = kernel.axes.iter().product();
        let fits = |access: &Access| {
            let whole = access.layout.offset == 0 && program.buffers[access.buffer].numel == count;
            by_four(kernel, access) && (whole || count.is_multiple_of(4))
        };
        let stores = kernel.stores.iter().all(|s| fits(&s.access));
        let narrow = kernel.stores.iter().any(|s| program.buffers[s.access.buffer].dtype.size() < 4);
        let still =
            |access: &Access| access.layout.strides.iter().zip(&kernel.axes).all(|(s, e)| *s == 0 || *e == 1);
        let ragged = !count.is_multiple_of(4);
        let along = !ragged && kernel.axes.last().is_some_and(|e| e % 4 == 0);
        let simple = kernel.body.iter().all(|inst| match &inst.op {
            Operation::Load(access) => by_four(kernel, access) || still(access) || along,
            Operation::Pieces(_) => false,
            _ => true,
        });
        let short = 4 * lines(kernel) <= INLINED;
        Shares { four: stores && (narrow || simple && short), ragged, along }
    }
}

/// Returns the kernel and its launch, or the reason why there is none.
pub(crate) fn launch(
    program: &GpuProgram,
    kernel: &Kernel,
    limits: &Limits,
    dialect: Dialect,
    text: Text,
) -> Result<Launch, String> {
    let mut b = Build::new(program, dialect, text);
    let shares = Shares::of(program, kernel);
    let size = |access: &Access| program.buffers[access.buffer].dtype.size();
    Nest::bind(&mut b, kernel, |access, written| match (written, size(access)) {
        (_, 4) if shares.four && by_four(kernel, access) => Unit::Four,
        (true, 1 | 2) if !shares.four => Unit::Atomic,
        _ => Unit::Word,
    });
    let nest = Nest::new(&mut b, kernel, true)?;
    let count: usize = kernel.axes.iter().product();
    let items = if shares.four { count.div_ceil(4) } else { count };
    b.without_barriers(limits, items);
    let most = b.size(items as i64);
    let item = b.value(b.thread());
    b.line(format!("if ({item} >= {}) {{\nreturn;\n}}", most.text()));
    let item = Int::Text(item);
    if shares.four {
        let first = b.int(item.times(&Int::Literal(4)));
        let last = b.size(count as i64 - 1);
        let values = std::array::from_fn(|_| vec![None; kernel.body.len()]);
        lanes(&mut b, &nest, &shares, &first, &last, values)?;
    } else {
        let index = decompose(&mut b, &item, &nest.extents);
        let point = Point { index, flat: Some(item) };
        let mut values = vec![None; kernel.body.len()];
        nest.values(&mut b, &point, &mut values, |_| true)?;
        for (element, s) in nest.stores.iter().zip(&kernel.stores) {
            let value = values[s.value].clone().ok_or("a stored value is missing")?;
            store(&mut b, element.buffer, &Nest::at(element, &point), &value);
        }
    }
    b.finish_threads(items, limits)
}

/// Writes the code of a thread that processes four indices from `first` on, one per lane. `last` is the last index of
/// the kernel. `lanes` holds, for each lane, the values of the body that are already computed.
pub(crate) fn lanes(
    b: &mut Build<'_>,
    nest: &Nest<'_>,
    shares: &Shares,
    first: &Int,
    last: &Int,
    mut lanes: [Vec<Option<String>>; 4],
) -> Result<(), String> {
    let kernel = nest.kernel;
    let mut points: Vec<Point> = Vec::new();
    // The index along each axis is needed only if an access is not contiguous, or if an instruction uses the index.
    let indexed = nest.needs_index();
    let base = if indexed && shares.along { decompose(b, first, &nest.extents) } else { Vec::new() };
    for k in 0..4 {
        let mut flat = first.plus(&Int::Literal(k));
        if shares.ragged && k > 0 {
            flat = Int::Text(b.value(format!("min({}, {})", flat.text(), last.text())));
        }
        let index = if !indexed {
            Vec::new()
        } else if shares.along {
            let mut index = base.clone();
            if let Some(own) = index.last_mut() {
                *own = own.plus(&Int::Literal(k));
            }
            index
        } else {
            decompose(b, &flat, &nest.extents)
        };
        points.push(Point { index, flat: Some(flat) });
    }
    for (i, inst) in kernel.body.iter().enumerate() {
        let Some(element) = nest.load(i).filter(|_| lanes[0][i].is_none()) else { continue };
        if let (Form::Flat, Operation::Load(access)) = (&element.form, &inst.op)
            && by_four(kernel, access)
            && b.dtype(element.buffer).size() <= 4
        {
            let at = Nest::at(element, &points[0]);
            let at = b.int(at);
            let loaded = load_four(b, element.buffer, &at);
            for (lane, value) in lanes.iter_mut().zip(loaded) {
                lane[i] = Some(b.value(value));
            }
        } else if matches!(element.form, Form::Fixed) {
            let value = nest.source(b, i, &points[0])?;
            lanes.iter_mut().for_each(|lane| lane[i] = value.clone());
        }
    }
    for (lane, point) in lanes.iter_mut().zip(&points) {
        nest.values(b, point, lane, |_| true)?;
    }
    for (element, s) in nest.stores.iter().zip(&kernel.stores) {
        let values: Option<Vec<String>> = lanes.iter().map(|lane| lane[s.value].clone()).collect();
        let values = values.ok_or("a stored value is missing")?;
        if shares.ragged && b.dtype(element.buffer).size() > 4 {
            for (k, value) in values.iter().enumerate() {
                let at = first.plus(&Int::Literal(k as u32));
                b.line(format!("if ({} <= {}) {{", at.text(), last.text()));
                store(b, element.buffer, &element.start.plus(&at), value);
                b.line("}");
            }
        } else {
            let at = Nest::at(element, &points[0]);
            store_four(b, element.buffer, &at, &values);
        }
    }
    Ok(())
}
