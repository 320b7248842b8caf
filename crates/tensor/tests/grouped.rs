//! Products of rows with one matrix out of several: the CPU's code in `f32` against single products, and
//! gradients.

use gradus_ir::DType;
use gradus_ir::format::Format;
use gradus_tensor::{Generator, Quantized, Tensor, compile, grouped_dot, quantized_grouped_dot};

fn largest_difference(a: &Tensor, b: &Tensor) -> f64 {
    (a.to_dtype(DType::F64) - b.to_dtype(DType::F64)).abs().max(()).item().unwrap()
}

/// Computes the product of each row separately, in `f64`.
fn expected(x: &Tensor, w: &Tensor, groups: &[i64]) -> Tensor {
    let (x, w) = (x.to_dtype(DType::F64), w.to_dtype(DType::F64));
    let rows: Vec<Tensor> = groups
        .iter()
        .enumerate()
        .map(|(n, g)| {
            let row = x.narrow(0, n, 1);
            match usize::try_from(*g).ok().filter(|g| *g < w.dim(0)) {
                Some(g) => row.matmul(&w.narrow(0, g, 1).squeeze(0).t()),
                None => Tensor::zeros([1, w.dim(1)]).to_dtype(DType::F64),
            }
        })
        .collect();
    Tensor::cat(&rows.iter().collect::<Vec<_>>(), 0)
}

#[test]
fn each_row_has_its_own_matrix() {
    let g = Generator::new(1);
    let orders: [&[i64]; 6] =
        [&[2, 0, 1], &[0, 0, 1, 1, 1, 2], &[1, 0, 1, 0, 1, 2, 2, 0], &[5, -1, 0], &[3; 40], &[0]];
    for groups in orders {
        let (x, w) = (g.randn([groups.len(), 64]), g.randn([4, 24, 64]));
        let numbers = Tensor::from(groups.to_vec());
        let right = expected(&x, &w, groups);
        assert!(largest_difference(&grouped_dot(&x, &w, &numbers), &right) < 1e-4, "{groups:?}");
        let body = grouped_dot(&x.to_dtype(DType::F64), &w.to_dtype(DType::F64), &numbers);
        assert!(largest_difference(&body, &right) < 1e-12, "{groups:?} by the body");
        for format in [Format::Q8_0, Format::Q4_1, Format::Int4, Format::Fp8] {
            let (small, _) = Quantized::quantize(&w, format).unwrap();
            let right = expected(&x, &small.dequantize(), groups);
            let found = quantized_grouped_dot(&x, small.bytes(), format, &numbers);
            assert!(largest_difference(&found, &right) < 1e-4, "{groups:?} of {}", format.name());
        }
    }
}

#[test]
fn plans_run_it_as_one_step() {
    let g = Generator::new(2);
    let (x, w, groups) = (g.randn([4, 32]), g.randn([3, 8, 32]), Tensor::from(vec![2i64, 0, 2, 1]));
    let plan = compile(&[&x, &w, &groups], |x| grouped_dot(&x[0], &x[1], &x[2])).unwrap();
    assert_eq!(plan.steps(), ["grouped_dot"]);
}

#[test]
fn rows_and_matrices_have_gradients() {
    let g = Generator::new(3);
    let (x, w) = (g.randn([3, 5]).requires_grad_(), g.randn([2, 4, 5]).requires_grad_());
    let groups = Tensor::from(vec![1i64, 0, 1]);
    let seed = g.randn([3, 4]);
    (grouped_dot(&x, &w, &groups) * &seed).sum(()).backward().unwrap();
    for (n, group) in [1usize, 0, 1].into_iter().enumerate() {
        let own = seed.narrow(0, n, 1).matmul(&w.detach().narrow(0, group, 1).squeeze(0));
        assert!(largest_difference(&x.grad().unwrap().narrow(0, n, 1), &own) < 1e-5);
    }
    let both = [0, 2].map(|n| seed.narrow(0, n, 1).t().matmul(&x.detach().narrow(0, n, 1)));
    assert!(largest_difference(&w.grad().unwrap().narrow(0, 1, 1).squeeze(0), &(&both[0] + &both[1])) < 1e-5);
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let (x, w) = (Tensor::ones([3, 5]), Tensor::ones([2, 4, 5]));
    let refused = |t: Tensor, why: &str| {
        let e = t.check().unwrap_err().to_string();
        assert!(e.contains(why), "{e}");
    };
    let groups = Tensor::from(vec![0i64; 3]);
    refused(grouped_dot(&x, &Tensor::ones([2, 4, 6]), &groups), "must be [N,I] and [G,O,I]");
    refused(grouped_dot(&x, &w, &Tensor::from(vec![0i64; 2])), "one for each row");
    refused(grouped_dot(&groups.reshape([3, 1]), &Tensor::ones([1, 1, 1]), &groups), "rows are floats");
}
