//! Convolution (correlation, as in machine learning): one primitive, closed under differentiation.
//! Takes an input `[N,G,C,spatial…]` and a window `[G,O,C,window…]`; returns `[N,G,O,spatial…]`.
//! Layouts of other libraries are mapped to this one in `gradus-tensor`.

use super::*;
use crate::{DType, Shape, op_struct};

op_struct! {
    /// `out[n,g,o,p] = Σ x[n,g,c, p·stride + k·window_dilation − low] w[g,o,c,k]` over channels `c` and window
    /// positions `k`, with any number of spatial axes. `x` is read with `base_dilation − 1` zeros between neighbours,
    /// and zeros outside. The group axis `g` makes both derivatives convolutions again.
    pub struct Conv = "conv" {
        /// Stride of the window, per spatial axis.
        stride: Vec<usize>,
        /// Zeros before (negative crops).
        low: Vec<i64>,
        /// Zeros after (negative crops).
        high: Vec<i64>,
        /// Spacing of the operand's elements.
        base_dilation: Vec<usize>,
        /// Spacing of the window's elements.
        window_dilation: Vec<usize>,
    }
}

/// Returns the extent after inserting zeros between neighbours.
fn dilated(extent: usize, dilation: usize) -> i64 {
    if extent == 0 { 0 } else { (extent as i64 - 1).saturating_mul(dilation as i64).saturating_add(1) }
}

impl Primitive for Conv {
    fn infer(&self, ins: &[Aval]) -> Result<Vec<Aval>> {
        arity(ins, 2)?;
        let n = self.stride.len();
        let lengths = [self.low.len(), self.high.len(), self.base_dilation.len(), self.window_dilation.len()];
        if lengths.iter().any(|&l| l != n) || ins[0].rank() != n + 3 || ins[1].rank() != n + 3 {
            let what = format!("{} and {} with {n} spatial axes", ins[0].shape, ins[1].shape);
            return Err(Error::shape(what, "must be [N,G,C,spatial…] and [G,O,C,window…]"));
        }
        if ins[0].dtype != ins[1].dtype || ins[0].dtype == DType::Bool {
            return Err(Error::dtype(ins[1].dtype, "both operands must be numbers of one dtype"));
        }
        let (x, w) = (&ins[0].shape, &ins[1].shape);
        if x[1] != w[0] || x[2] != w[2] {
            let what = format!("groups and channels {} x {} of the input", x[1], x[2]);
            return Err(Error::shape(what, format!("must equal {} x {} of the window", w[0], w[2])));
        }
        let extent = |i: usize| {
            let size = dilated(x[3 + i], self.base_dilation[i])
                .saturating_add(self.low[i])
                .saturating_add(self.high[i]);
            let reach = dilated(w[3 + i], self.window_dilation[i]);
            let ok = self.stride[i] > 0 && self.base_dilation[i] > 0 && self.window_dilation[i] > 0;
            if !ok || size < 0 {
                return Err(Error::value(
                    "stride and dilation",
                    "must be at least 1, and padding must not leave a negative extent",
                ));
            }
            if reach > size || w[3 + i] == 0 {
                let what = format!("a window reaching {reach} on spatial axis {i}");
                return Err(Error::shape(what, format!("does not fit the padded extent {size}")));
            }
            Ok((size - reach) as usize / self.stride[i] + 1)
        };
        let spatial = (0..n).map(extent).collect::<Result<Vec<_>>>()?;
        Ok(vec![ins[0].with_shape([x[0], x[1], w[1]].into_iter().chain(spatial).collect::<Shape>())])
    }

    fn derivative(&self) -> Derivative {
        Derivative::Multilinear(Operands::All)
    }

    fn transpose<'g>(&self, rule: &Rule<'_, 'g>, operand: usize, ct: Var<'g>) -> Option<Var<'g>> {
        let (x, w) = (rule.ins[0], rule.ins[1]);
        Some(if operand == 0 { self.input_grad(x, w, ct) } else { self.window_grad(x, w, ct) })
    }

    fn batch<'g>(&self, batch: &Batch<'_, 'g>) -> Vec<Var<'g>> {
        let (x, w, n) = (batch.ins[0], batch.ins[1], batch.size);
        let (xs, ws) = (batch.inner(0).shape, batch.inner(1).shape);
        if !batch.batched[1] {
            // If only the input is batched, the batch becomes additional images.
            let merged = x.reshape([&[n * xs[0]][..], &xs[1..]].concat());
            let y = batch.builder.apply1(self.clone(), &[merged, w]);
            let spatial = y.shape();
            return vec![y.reshape([&[n, xs[0]][..], &spatial[1..]].concat())];
        }
        // If the window is batched, the batch becomes additional groups: [n,N,G,C,S] -> [N,n·G,C,S] and
        // [n,G,O,C,K] -> [n·G,O,C,K]; the result [N,n·G,O,P] is transposed back.
        let forth: Vec<usize> = [1, 0].into_iter().chain(2..xs.rank() + 1).collect();
        let x = batch.with_axis(0).permute(&forth).reshape([&[xs[0], n * xs[1]][..], &xs[2..]].concat());
        let w = w.reshape([&[n * ws[0]][..], &ws[1..]].concat());
        let y = batch.builder.apply1(self.clone(), &[x, w]);
        let out = y.shape();
        vec![y.reshape([&[xs[0], n, xs[1]][..], &out[2..]].concat()).permute(&forth)]
    }

    fn form(&self, _ins: &[Aval]) -> Form {
        Form::Convolve(Box::new(Window {
            size: Vec::new(),
            stride: self.stride.clone(),
            low: self.low.clone(),
            high: self.high.clone(),
            base_dilation: self.base_dilation.clone(),
            window_dilation: self.window_dilation.clone(),
        }))
    }

    fn bound(&self) -> Bound {
        Bound::Terms(2.0)
    }
}

fn swapped(v: Var<'_>, a: usize, b: usize) -> Var<'_> {
    let mut order: Vec<usize> = (0..v.rank()).collect();
    order.swap(a, b);
    v.permute(&order)
}

impl Conv {
    /// Convolves the cotangent, dilated by the stride, with the flipped window; input and output channels are
    /// swapped.
    fn input_grad<'g>(&self, x: Var<'g>, w: Var<'g>, ct: Var<'g>) -> Var<'g> {
        let (xs, ws, ys) = (x.shape(), w.shape(), ct.shape());
        let spatial: Vec<usize> = (3..ws.rank()).collect();
        let window = swapped(w.conj_if_complex().flip(&spatial), 1, 2);
        let n = self.stride.len();
        let reach = |i: usize| dilated(ws[3 + i], self.window_dilation[i]);
        let low: Vec<i64> = (0..n).map(|i| reach(i) - 1 - self.low[i]).collect();
        // Padding that gives the result the input's dilated extent.
        let spread = |i: usize| dilated(ys[3 + i], self.stride[i]);
        let high = (0..n)
            .map(|i| dilated(xs[3 + i], self.base_dilation[i]) + reach(i) - 1 - low[i] - spread(i))
            .collect();
        let grad = Conv {
            stride: self.base_dilation.clone(),
            low,
            high,
            base_dilation: self.stride.clone(),
            window_dilation: self.window_dilation.clone(),
        };
        if xs.contains(&0) || ys.contains(&0) {
            return x.full_like(0.0);
        }
        ct.builder().apply1(grad, &[ct, window])
    }

    /// Convolves the input with the cotangent as window: batch becomes channels, strides and dilations swap.
    fn window_grad<'g>(&self, x: Var<'g>, w: Var<'g>, ct: Var<'g>) -> Var<'g> {
        let (xs, ws, ys) = (x.shape(), w.shape(), ct.shape());
        if xs.contains(&0) || ys.contains(&0) || ws.contains(&0) {
            return w.full_like(0.0);
        }
        // [N,G,C,S] -> [C,G,N,S] and [N,G,O,P] -> [G,O,N,P]; the result [C,G,O,K] -> [G,O,C,K].
        let lhs = swapped(x.conj_if_complex(), 0, 2);
        let order: Vec<usize> = [1, 2, 0].into_iter().chain(3..ys.rank()).collect();
        let rhs = ct.permute(&order);
        let n = self.stride.len();
        // Crop or pad so that the result has exactly the window's extents.
        let reach = |i: usize| {
            dilated(ys[3 + i], self.stride[i]) + (ws[3 + i] as i64 - 1) * self.window_dilation[i] as i64
        };
        let high =
            (0..n).map(|i| reach(i) - self.low[i] - dilated(xs[3 + i], self.base_dilation[i])).collect();
        let grad = Conv {
            stride: self.window_dilation.clone(),
            low: self.low.clone(),
            high,
            base_dilation: self.base_dilation.clone(),
            window_dilation: self.stride.clone(),
        };
        let back: Vec<usize> = [1, 2, 0].into_iter().chain(3..ys.rank()).collect();
        ct.builder().apply1(grad, &[lhs, rhs]).permute(&back)
    }
}

impl Sampled for Conv {
    fn samples(s: &mut Samples) {
        let conv = |stride, low, high, base, window| Conv {
            stride: vec![stride],
            low: vec![low],
            high: vec![high],
            base_dilation: vec![base],
            window_dilation: vec![window],
        };
        let cases = [(1, 0, 0, 1, 1), (2, 1, 0, 1, 1), (2, 1, 2, 1, 2), (1, -1, 1, 2, 1), (3, 0, 1, 2, 2)];
        for (stride, low, high, base, window) in cases {
            let ins = [s.normal([2, 2, 3, 6]), s.normal([2, 2, 3, 3])];
            s.case(conv(stride, low, high, base, window), ins);
        }
        let two = Conv {
            stride: vec![2, 1],
            low: vec![1, 0],
            high: vec![1, 2],
            base_dilation: vec![1, 2],
            window_dilation: vec![1, 2],
        };
        let ins = [s.normal([1, 1, 2, 5, 4]), s.normal([1, 3, 2, 2, 3])];
        s.case(two, ins);
        let none = Conv {
            stride: vec![],
            low: vec![],
            high: vec![],
            base_dilation: vec![],
            window_dilation: vec![],
        };
        let ins = [s.normal([2, 1, 3]), s.normal([1, 2, 3])];
        s.case(none, ins);
        let ins = [s.normal([0, 1, 2, 4]), s.normal([1, 2, 2, 3])];
        s.case(conv(1, 0, 0, 1, 1), ins);
        let ins = [s.complex((-1.0, 1.0), [1, 1, 1, 4]), s.complex((-1.0, 1.0), [1, 1, 1, 2])];
        s.case(conv(1, 1, 0, 1, 1), ins);
        let (x, w) = (Aval::new(DType::F64, [1, 1, 2, 4]), Aval::new(DType::F64, [1, 1, 3, 3]));
        s.error(
            conv(1, 0, 0, 1, 1),
            &[x.clone(), w],
            "groups and channels 1 x 2 of the input must equal 1 x 3",
        );
        let w = Aval::new(DType::F64, [1, 1, 2, 5]);
        s.error(conv(1, 0, 0, 1, 1), &[x, w], "does not fit the padded extent 4");
    }
}
