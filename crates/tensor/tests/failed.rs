//! A failed tensor stays failed, with its first cause, through every operation and method.

use gradus_ir::{DType, Error};
use gradus_tensor::autograd::grad;
use gradus_tensor::{Backward, NEW, REST, Tensor, trace};

fn count(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::from((0..n).map(|i| i as f32).collect::<Vec<f32>>()).reshape(shape)
}

fn cause(t: Tensor) -> Error {
    t.check().err().unwrap_or_else(|| panic!("did not fail: {t}"))
}

/// After any operation, a failed tensor has rank 0 and keeps its first cause.
#[test]
fn the_first_cause_stays() {
    let failed = &count(&[2, 3]) + &count(&[4]);
    let first = cause(failed.clone());
    let good = count(&[2, 2]);
    let other = count(&[7]).matmul(&count(&[8]));
    let flag = Tensor::from([true, false]);
    let same = |t: &Tensor| {
        assert_eq!(cause(t.clone()), first);
        assert_eq!((t.shape().rank(), t.rank(), t.numel(), t.dim(0), t.dim(-1)), (0, 0, 0, 0, 0));
        assert!(t.aval().is_none() && !t.requires_grad() && !t.is_traced() && t.grad().is_none());
        assert!(!t.shares_storage(&good));
    };
    let f = &failed;
    let ops = [
        -f,
        f + 1.0,
        2.0 - f,
        f * &good,
        &good / f,
        f.pow(2),
        f.exp(),
        f.lt(1.0),
        f & &flag,
        !f,
        &good % f,
        f.abs(),
        f.sigmoid(),
        f.maximum(&good),
        good.minimum(f),
        f.add_(1.0),
        f.logical_not(),
        f.logical_or(&flag),
        f.div_trunc(2),
        f.real(),
        f.imag(),
        f.conj(),
        f.complex(&good),
        good.complex(f),
        f.to_dtype(DType::I8),
        f.to_dtype(DType::F32),
        f.stop_gradient(),
        f.detach(),
        f.data_(),
        f.cell(),
        f.requires_grad_(),
        f.contiguous(),
    ];
    ops.iter().for_each(same);
    let moves = [
        f.reshape([99]),
        f.permute([5, 5]),
        f.transpose(0, 1),
        f.t(),
        f.expand([2, 2]),
        f.unsqueeze(9),
        f.squeeze(9),
        f.flatten(3, 1),
        f.flip(4),
        f.pad_zeros(&[(1, 1)]),
        f.diagonal(0, 0, 0),
        Tensor::cat(&[&good, f], 0),
        Tensor::cat(&[&good, f], 9),
        Tensor::stack(&[f, &good], 0),
        Tensor::stack(&[&good, f], 0),
        f.narrow(0, 1, 5),
    ];
    moves.iter().for_each(same);
    let reads = [
        f.at(3),
        f.at((.., NEW, REST)),
        f.at(&flag),
        good.at(f),
        good.at((.., f)),
        f.with_at(0, 1.0),
        good.with_at(0, f),
        good.with_at(f, 0.0),
        f.gather(0, &good),
        good.gather(0, f),
        f.index_select(0, &good),
        good.index_select(7, f),
        f.scatter(0, &good, &good),
        good.scatter(0, f, &good),
        good.scatter_add(0, &Tensor::from([[0i64]]), f),
        f.index_add(0, &good, &good),
        good.index_copy(0, &Tensor::from([0i64]), f),
        f.masked_fill(&flag, 0.0),
        good.masked_fill(f, 0.0),
        good.masked_fill(&flag, f),
        f.masked_select(&flag),
        good.masked_select(f),
        f.nonzero(),
        flag.select(f, 1.0),
        flag.select(1.0, f),
        f.select(1.0, 2.0),
        f.select(&good, &good),
    ];
    reads.iter().for_each(same);
    let folds = [
        f.sum(()),
        f.sum(5),
        f.prod_keepdim(0),
        f.max(()),
        f.any(()),
        f.all(3),
        f.argmax(0),
        f.argmin(1),
        f.cumsum(0),
        f.logcumsumexp(2),
        f.sort(0, true).0,
        f.sort(0, true).1,
        f.argsort(1, false),
        f.topk(3, 0, true).0,
        f.matmul(&good),
        good.matmul(f),
        f.matmul(&other),
        Tensor::einsum("ij,jk", &[&good, f]),
        f.dot_labels(&good, "i", "ij", "j"),
        f.zeros_like(),
        f.full_like(2.0),
        f.multinomial(1, true),
        f.all_finite(),
    ];
    folds.iter().for_each(same);
    let far =
        f.exp().sum(0).reshape([2]).at(1).matmul(&other).sort(0, false).1.to_dtype(DType::Bool).nonzero();
    same(&far);
    for e in [
        far.item::<bool>().unwrap_err(),
        far.to_vec::<f64>().unwrap_err(),
        far.to_literal().unwrap_err(),
        far.to_ndarray::<f32>().unwrap_err(),
        far.to_vec2::<f32>().unwrap_err(),
        far.backward().unwrap_err(),
        good.requires_grad_().backward_with(f).unwrap_err(),
        grad(&[f], &[], &[&good], Backward::default()).unwrap_err(),
        good.cell().set_(f).unwrap_err(),
        f.set_(&good).unwrap_err(),
        f.assign_(0, 1.0).unwrap_err(),
        trace(&[f], |x| x[0].clone()).unwrap_err(),
        trace(&[&good], |x| &x[0] + f).unwrap_err(),
        trace(&[&good], |_| f.clone()).unwrap_err(),
    ] {
        assert_eq!(e, first);
    }
    let mut sum = failed.clone();
    sum += 1.0;
    sum *= &good;
    same(&sum);
    assert_eq!(first.op(), Some("add"));
    assert_eq!(first.operands().len(), 2);
}
