//! Batches: negative axes, different ranks, shared operands, results that do not depend on the batch.

use crate::common::{batched, close, f64s, noise};
use gradus::func::conv2d;
use gradus::{Tensor, grad, vmap};

#[test]
fn fault_19_axes_from_the_end_stay_there() {
    let x = noise(&[3, 2, 4], 1);
    let y = batched(&[&x], &[Some(0)], |x| x[0].softmax(-1));
    close(&f64s(&y.sum(-1)), &[1.0; 6]);
    close(&f64s(&y), &f64s(&x.softmax(2)));
    let y = batched(&[&x], &[Some(0)], |x| x[0].cumsum(-1));
    close(&f64s(&y), &f64s(&x.cumsum(2)));
    let w = noise(&[4], 2);
    for (f, axis) in [(0, Some(0)), (1, Some(1)), (2, Some(-1))] {
        batched(&[&x], &[axis], |x| match f {
            0 => x[0].layer_norm([4], Some(&w), None, 1e-5),
            1 => x[0].rms_norm([4], Some(&w), 1e-5),
            _ => x[0].sort(-1, true).0.log_softmax(-1),
        });
    }
    batched(&[&x], &[Some(0)], |x| x[0].max(-1));
    batched(&[&x], &[Some(0)], |x| Tensor::cat(&[&x[0], &x[0].flip(-1)], -1));
}

#[test]
fn fault_20_ranks_that_differ() {
    let (x, y) = (noise(&[2, 3], 1), noise(&[2, 2, 3], 2));
    // Element b is x[b][3] + y[b][2,3], although the shapes would broadcast in another way.
    let both = batched(&[&x, &y], &[Some(0), Some(0)], |v| &v[0] + &v[1]);
    close(&[both.at((1, 0, 2)).item().unwrap()], &[f64s(&x)[5] + f64s(&y)[8]]);
    batched(&[&x, &y], &[Some(0), None], |v| &v[0] * &v[1].at(0));
    batched(&[&x, &y], &[Some(1), Some(2)], |v| &v[0] * &v[1]);
    let s = Tensor::from([1.0, 2.0]);
    batched(&[&s, &y], &[Some(0), Some(0)], |v| &v[0] * &v[1]);
    batched(&[&x.gt(0.0), &y], &[Some(0), Some(0)], |v| v[0].select(&v[1], 0.0));
    // Gradients do not mix elements either.
    batched(&[&x, &y], &[Some(0), Some(0)], |v| {
        grad(&[&v[0]], |x| (x[0].sin() * &v[1]).sum(())).unwrap().remove(0)
    });
}

#[test]
fn fault_21_each_element_has_its_own() {
    let table = noise(&[2, 4, 3], 1);
    let (shared, own) = (Tensor::from([3i64, 0]), Tensor::from([[3i64, 0], [1, 1]]));
    batched(&[&table, &shared], &[Some(0), None], |v| v[0].index_select(0, &v[1]));
    batched(&[&table, &own], &[Some(0), Some(0)], |v| v[0].index_select(0, &v[1]));
    batched(&[&table.at(0), &own], &[None, Some(0)], |v| v[0].index_select(0, &v[1]));
    // The adjoint sums rows within each element only.
    batched(&[&table, &own], &[Some(0), Some(0)], |v| {
        grad(&[&v[0]], |t| t[0].index_select(0, &v[1]).square().sum(())).unwrap().remove(0)
    });
    let updates = noise(&[2, 2, 3], 2);
    batched(&[&own, &updates], &[Some(0), Some(0)], |v| {
        Tensor::zeros([4, 3]).to_dtype(gradus::DType::F64).index_add(0, &v[0], &v[1])
    });
    // The gradient of a shared scale, per element of the batch.
    let (x, w) = (noise(&[3, 2, 4], 3), noise(&[4], 4));
    let per = batched(&[&x, &w], &[Some(0), None], |v| {
        let norm = |w: &[Tensor]| (v[0].layer_norm([4], Some(&w[0]), None, 1e-5)).sin().sum(());
        grad(&[&v[1]], norm).unwrap().remove(0)
    });
    assert_eq!(per.shape().to_vec(), [3, 4]);
    // Every element has its own windows.
    let (image, window) = (noise(&[2, 1, 2, 4, 4], 5), noise(&[2, 3, 2, 3, 3], 6));
    for axes in [[Some(0), Some(0)], [Some(0), None], [None, Some(0)]] {
        let pick = |t: &Tensor, axis: Option<isize>| if axis.is_none() { t.at(0) } else { t.clone() };
        let (image, window) = (pick(&image, axes[0]), pick(&window, axes[1]));
        batched(&[&image, &window], &axes, |v| conv2d(&v[0], &v[1], None, &Default::default()));
        batched(&[&image, &window], &axes, |v| {
            let energy = |w: &[Tensor]| conv2d(&v[0], &w[0], None, &Default::default()).square().sum(());
            grad(&[&v[1]], energy).unwrap().remove(0)
        });
    }
    // The gradient of a learned scale sums over its own element only, as for the step of a quantiser.
    let s = Tensor::from([0.5, 0.25, 2.0]);
    let per = batched(&[&x, &s], &[Some(0), Some(0)], |v| {
        grad(&[&v[1]], |s| (&v[0] / &s[0]).tanh().sum(())).unwrap().remove(0)
    });
    assert_eq!(per.shape().to_vec(), [3]);
    // A result that does not depend on the batch is repeated.
    let outs = vmap(&[&x], &[Some(0)], |v| [v[0].sum(()), &w * 2.0]).unwrap();
    assert_eq!(outs[1].shape().to_vec(), [3, 4]);
    close(&f64s(&outs[1].at(2)), &f64s(&(&w * 2.0)));
}
