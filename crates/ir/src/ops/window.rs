//! Sliding windows over the last axes, and their adjoint, the sum of overlapping windows.
//! Takes a value and the geometry of the windows; returns the windows, or their sum. Padding is a separate op.

use super::*;
use crate::{DType, Shape, op_struct};

op_struct! {
    /// All windows over the last axes as new axes after them: extents `…, S` become `…, P, K`. Element `k` of window
    /// `p` is element `p·stride + k·dilation` of the operand. A view.
    pub struct Windows = "windows" {
        /// Extent of the window, per windowed axis.
        size: Vec<usize>,
        /// Stride from window to window.
        stride: Vec<usize>,
        /// Stride within a window.
        dilation: Vec<usize>,
    }
}

/// Returns the number of windows along an axis, or an error if none fits.
pub fn window_count(extent: usize, size: usize, stride: usize, dilation: usize) -> Result<usize> {
    let reach = size.checked_sub(1).and_then(|n| n.checked_mul(dilation)).and_then(|n| n.checked_add(1));
    match reach {
        Some(reach) if reach <= extent && stride > 0 && dilation > 0 => Ok((extent - reach) / stride + 1),
        _ => {
            let what = format!("a window of {size} with stride {stride} and dilation {dilation}");
            Err(Error::shape(
                what,
                format!(
                    "does not fit extent {extent}; size, stride and dilation must be at least 1, and the window must not exceed the extent"
                ),
            ))
        }
    }
}

fn check_geometry(size: &[usize], stride: &[usize], dilation: &[usize], rank: usize) -> Result<()> {
    if size.len() == stride.len() && size.len() == dilation.len() && size.len() <= rank {
        return Ok(());
    }
    Err(Error::shape(
        "the window",
        format!("must give size, stride and dilation for each of at most {rank} axes"),
    ))
}

impl Primitive for Windows {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        check_geometry(&self.size, &self.stride, &self.dilation, ins[0].rank())?;
        let lead = ins[0].rank() - self.size.len();
        let count =
            |i: usize| window_count(ins[0].shape[lead + i], self.size[i], self.stride[i], self.dilation[i]);
        let counts = (0..self.size.len()).map(count).collect::<Result<Vec<_>>>()?;
        let shape: Shape = ins[0].shape[..lead].iter().chain(&counts).chain(&self.size).copied().collect();
        Ok(vec![ins[0].with_shape(shape)])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        let shape = rule.ins[0].shape();
        let extent = shape[shape.rank() - self.size.len()..].into();
        let fold = Fold {
            extent,
            size: self.size.clone(),
            stride: self.stride.clone(),
            dilation: self.dilation.clone(),
        };
        Some(ct.builder().apply1(fold, &[ct]))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, ins: &[Aval]) -> Form {
        let (rank, n) = (ins[0].rank(), self.size.len());
        let lead = rank - n;
        let along = |a: usize| {
            let step = if a < lead { 1 } else { self.stride[a - lead] };
            Some((a, step as i64))
        };
        let within = self.dilation.iter().enumerate().map(|(i, &d)| Some((lead + i, d as i64)));
        Form::View(IndexMap { offset: vec![0; rank], steps: (0..rank).map(along).chain(within).collect() })
    }
}

op_struct! {
    /// The sum of overlapping windows: `…, P, K` become `…, S`. Element `k` of window `p` is added to element
    /// `p·stride + k·dilation` of the result.
    pub struct Fold = "fold" {
        /// Extents of the windowed axes of the result.
        extent: Shape,
        /// Extent of the window, per windowed axis.
        size: Vec<usize>,
        /// Stride from window to window.
        stride: Vec<usize>,
        /// Stride within a window.
        dilation: Vec<usize>,
    }
}

impl Fold {
    fn windows(&self) -> Windows {
        Windows { size: self.size.clone(), stride: self.stride.clone(), dilation: self.dilation.clone() }
    }
}

impl Primitive for Fold {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 1)?;
        let n = self.size.len();
        check_geometry(&self.size, &self.stride, &self.dilation, self.extent.rank())?;
        if n != self.extent.rank() || ins[0].rank() < 2 * n || ins[0].dtype == DType::Bool {
            return Err(Error::shape(
                format!("windows {}", ins[0]),
                format!("must be numbers with at least 2·{n} axes"),
            ));
        }
        let lead = ins[0].rank() - 2 * n;
        let whole = ins[0]
            .with_shape(ins[0].shape[..lead].iter().chain(self.extent.iter()).copied().collect::<Shape>());
        let windows = self.windows().infer(std::slice::from_ref(&whole))?;
        if windows[0] != ins[0] {
            return Err(Error::shape(format!("windows {}", ins[0]), format!("must be {}", windows[0])));
        }
        Ok(vec![whole])
    }
    fn derivative(&self) -> Derivative {
        Derivative::Linear(Operands::All)
    }
    fn transpose<'g>(&self, _rule: &Rule<'_, 'g>, _operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        Some(ct.builder().apply1(self.windows(), &[ct]))
    }
    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        batch.apply(self.clone())
    }
    fn form(&self, _ins: &[Aval]) -> Form {
        let (size, stride, window_dilation) = (self.size.clone(), self.stride.clone(), self.dilation.clone());
        Form::Fold(Box::new(Window { size, stride, window_dilation, ..Window::default() }))
    }
    fn bound(&self) -> Bound {
        Bound::Terms(1.0)
    }
}

impl Sampled for Windows {
    fn samples(s: &mut Samples) {
        let x = s.normal([2, 7]);
        s.case(Windows { size: vec![3], stride: vec![2], dilation: vec![1] }, [x.clone()]);
        s.case(Windows { size: vec![2], stride: vec![1], dilation: vec![3] }, [x]);
        let x = s.normal([4, 5]);
        s.case(Windows { size: vec![2, 3], stride: vec![1, 2], dilation: vec![2, 1] }, [x]);
        let x = Aval::new(DType::F64, [3]);
        s.error(Windows { size: vec![4], stride: vec![1], dilation: vec![1] }, &[x], "does not fit extent 3");
    }
}

impl Sampled for Fold {
    fn samples(s: &mut Samples) {
        let x = s.normal([2, 3, 3]);
        s.case(Fold { extent: [7].into(), size: vec![3], stride: vec![2], dilation: vec![1] }, [x]);
        let x = s.normal([2, 2, 2, 3]);
        s.case(
            Fold { extent: [4, 5].into(), size: vec![2, 3], stride: vec![1, 2], dilation: vec![2, 1] },
            [x],
        );
        let x = Aval::new(DType::F64, [3, 3]);
        s.error(
            Fold { extent: [9].into(), size: vec![3], stride: vec![2], dilation: vec![1] },
            &[x],
            "must be f64[4,3]",
        );
    }
}
