//! Composites reject operands that do not fit, name the caller's line, and follow PyTorch at edges.

use gradus_ir::DType;
use gradus_tensor::Tensor;
use gradus_tensor::func::*;

/// Asserts that the message contains these parts and names this file.
#[track_caller]
fn assert_says(t: &Tensor, parts: &[&str]) {
    let e = t.check().map(|_| ()).unwrap_err().to_string();
    for part in parts.iter().chain(&["composites.rs"]) {
        assert!(e.contains(part), "`{part}` is not in: {e}");
    }
}

#[track_caller]
fn assert_elements(t: &Tensor, right: &[f64]) {
    assert_eq!(t.to_dtype(DType::F64).to_vec::<f64>().unwrap(), right);
}

fn range(n: usize) -> Tensor {
    Tensor::iota(DType::F64, [n], 0)
}

#[test]
fn convolutions_that_do_not_fit() {
    let (x, w) = (Tensor::ones([1, 4, 5]), Tensor::ones([2, 3, 2]));
    let plain = ConvOptions::default();
    assert_says(
        &conv1d(&x, &w, None, &plain),
        &["conv1d: 4 channels of the input must equal groups × channels of the window, 1 × 3", "f32[1,4,5]"],
    );
    assert_says(
        &conv2d(&x, &w, None, &plain),
        &["conv2d: input [1,4,5] and window [2,3,2] must be", "2 spatial axes"],
    );
    let w = Tensor::ones([2, 4, 6]);
    assert_says(
        &conv(&x, &w, None, &plain),
        &["conv1d", "a window reaching 6", "does not fit the padded extent 5"],
    );
    let w = Tensor::ones([2, 4, 2]);
    assert_says(&conv(&x, &w, Some(&Tensor::ones([3])), &plain), &["a bias of shape [3] must be [2]"]);
    let odd = ConvOptions { groups: 3, ..plain.clone() };
    assert_says(&conv(&x, &w, None, &odd), &["3 groups must divide the channels, here [4, 2]"]);
    let odd = ConvOptions { stride: [1, 2].into(), ..plain.clone() };
    assert_says(&conv(&x, &w, None, &odd), &["stride [1, 2] must be one number, or one for each of 1 axes"]);
    let odd = ConvOptions { dilation: 0.into(), ..plain.clone() };
    assert_says(&conv(&x, &w, None, &odd), &["dilation [0] must be at least 1"]);
    let odd = ConvOptions { padding: Padding::Same, stride: 2.into(), ..plain };
    assert_says(&conv(&x, &w, None, &odd), &["stride [2] must be 1 with `same` padding"]);
    let w = Tensor::ones([4, 2, 2]);
    let odd = ConvTransposeOptions { output_padding: 1.into(), ..ConvTransposeOptions::default() };
    assert_says(
        &conv_transpose1d(&x, &w, None, &odd),
        &["conv_transpose1d: output_padding [1] must be below the stride"],
    );
    let failed = conv(&x, &Tensor::ones([]), None, &ConvOptions::default());
    assert_says(&(failed.exp() + 1.0), &["conv_nd: input [1,4,5] and window []"]);
}

#[test]
fn pools_that_do_not_fit_and_edges() {
    let x = Tensor::ones([2, 5]);
    let plain = MaxPoolOptions::default();
    assert_says(
        &max_pool1d(&x, 6, &plain),
        &["max_pool1d: a window that spans 6 elements", "does not fit extent 5", "f32[2,5]"],
    );
    assert_says(&max_pool3d(&x, 2, &plain), &["max_pool3d: shape [2,5] has too few axes"]);
    let odd = MaxPoolOptions { padding: 2.into(), ..plain.clone() };
    assert_says(
        &max_pool1d(&x, 2, &odd),
        &["padding 2 on spatial axis 0 must be at most half of the 2 elements that a window spans"],
    );
    assert_says(&adaptive_avg_pool1d(&x, 0), &["output_size [0] must be at least 1"]);
    assert_says(
        &adaptive_max_pool1d(&Tensor::ones([2, 0]), 1),
        &["spatial axis 0 of extent 0 has nothing to pool"],
    );

    // In ceil mode a last window that begins inside of the input counts; one that begins in the padding does
    // not.
    let ceil = MaxPoolOptions { ceil_mode: true, ..plain.clone() };
    assert_elements(&max_pool1d(&range(5), 2, &ceil), &[1.0, 3.0, 4.0]);
    let ceil = MaxPoolOptions { padding: 1.into(), ceil_mode: true, ..plain.clone() };
    assert_elements(&max_pool1d(&range(4), 2, &ceil), &[0.0, 2.0, 3.0]);
    let ceil = AvgPoolOptions { stride: Some(2.into()), ceil_mode: true, ..AvgPoolOptions::default() };
    assert_elements(&avg_pool1d(&range(6), 3, &ceil), &[1.0, 3.0, 4.5]);
    // If all elements equal the padding value, the index is that of a real element, though dilation skips the
    // first.
    let low = Tensor::from([7.0, f64::NEG_INFINITY, 7.0, f64::NEG_INFINITY, 7.0]);
    let odd =
        MaxPoolOptions { padding: 1.into(), dilation: 2.into(), stride: Some(9.into()), ..plain.clone() };
    let (value, at) = max_pool_with_indices(&low, &[3], &odd);
    assert_elements(&value, &[f64::NEG_INFINITY]);
    assert_eq!(at.to_vec::<i64>().unwrap(), [1]);
    let bytes = Tensor::from_slice(&[0u8, 0, 3, 0], [4]);
    let odd = MaxPoolOptions { padding: 1.into(), ..plain.clone() };
    assert_elements(&max_pool1d(&bytes, 2, &odd), &[0.0, 3.0, 0.0]);
    assert_elements(&max_pool1d(&Tensor::from([1.0, f64::NAN, 2.0]), 3, &plain).is_nan(), &[1.0]);
    // An infinity stays in its own window.
    assert_elements(&adaptive_avg_pool1d(&Tensor::from([1.0, 2.0, f64::INFINITY]), 2), &[1.5, f64::INFINITY]);
}

#[test]
fn images_that_do_not_fit() {
    let x = Tensor::ones([1, 3, 4]);
    assert_says(
        &pad(&x, &[4, 0], PadMode::Reflect),
        &["pad: padding 4 and 0 of extent 4 may be at most 3", "reflected"],
    );
    assert_says(&pad(&x, &[1, 0, 2], PadMode::Replicate), &["pad: padding [1, 0, 2] must be pairs"]);
    assert_says(&pad(&x, &[-3, -2], PadMode::Circular), &["pad: padding -3 and -2 of extent 4"]);
    assert_says(&pixel_shuffle(&x, 2), &["pixel_shuffle: shape [1,3,4] must be [..,C,H,W]"]);
    assert_says(&pixel_unshuffle(&x, 2), &["pixel_unshuffle", "multiples of 2"]);
    let plain = UnfoldOptions::default();
    assert_says(&unfold(&x, &[4, 1], &plain), &["unfold: a window of 4", "does not fit extent 3"]);
    assert_says(
        &fold(&x, &[3, 3], &[2, 2], &plain),
        &["fold: columns [1,3,4] must be [.., a multiple of 4, 4]"],
    );
    assert_says(
        &interpolate(&x, &[0], Interpolation::Nearest),
        &["interpolate: size [0] must be at least 1"],
    );
    assert_elements(
        &pad(&Tensor::from_slice(&[1i32, 2], [2]), &[1, 1], PadMode::Constant(7.0)),
        &[7.0, 1.0, 2.0, 7.0],
    );
    assert_eq!(pad(&Tensor::full([2], true), &[1, 0], PadMode::Constant(0.0)).dtype(), DType::Bool);
}

#[test]
fn shapes_that_do_not_fit() {
    let x = Tensor::ones([2, 3]);
    assert_says(&x.roll(&[1], &[2]), &["roll: axis 2 is out of range", "f32[2,3]"]);
    assert_says(&x.roll(&[1, 2], &[0]), &["roll: 2 shifts do not match 1 axes"]);
    assert_says(&x.repeat(&[2]), &["repeat: 1 numbers of repetitions must be at least 2"]);
    assert_says(
        &x.repeat_interleave([1, 2], Some(1)),
        &["repeat_interleave: repeats [1, 2] must be one number"],
    );
    assert_says(
        &x.split_with_sizes(&[1, 1], 1)[0],
        &["split_with_sizes: sizes [1, 1] must add up to the extent 3"],
    );
    assert_says(&x.split(0, 1)[0], &["split: size 0 must be at least 1"]);
    assert_says(&x.chunk(0, 1)[0], &["chunk: 0 chunks must be at least 1"]);
    assert_says(&x.unbind(2)[0], &["unbind: axis 2"]);
    assert_says(&x.movedim([0, 1], [0]), &["movedim: 2 axes need as many positions, but there are 1"]);
    assert_says(&x.unfold(1, 4, 1), &["a window of 4", "does not fit extent 3"]);
    assert_says(&x.cross(&x, 0), &["cross: axis 0 must have extent 3 in both"]);
    assert_says(&x.diag_embed(0, 1, 1), &["diag_embed: the two axes must differ"]);
    assert_says(&x.unsqueeze(0).diag(0), &["diag: shape [1,2,3] must be that of a vector or a matrix"]);
    assert_says(&range(3).trace(), &["trace: shape [3] must have two axes"]);
    assert_says(&range(3).tril(0), &["tril: shape [3]"]);
    assert_says(&meshgrid(&[&x], Indexing::Ij)[0], &["meshgrid: an operand of shape [2,3]"]);
    assert_says(&x.reshape_as(&range(5)), &["reshape: 6 elements of [2,3] do not fill [5]"]);
    assert_says(&x.expand_as(&range(5)), &["broadcast: extents [2,3] do not broadcast to [5]"]);
    assert_eq!(Tensor::full([2, 2], true).tril(0).dtype(), DType::Bool);
    assert!(x.unfold(1, 2, 1).shares_storage(&x) && x.split(2, 1)[1].shares_storage(&x));
}

#[test]
fn products_that_do_not_fit() {
    let (x, w) = (Tensor::ones([2, 3]), Tensor::ones([4, 2]));
    assert_says(
        &linear(&x, &w, None),
        &["linear: an input [2,3] and weights [4,2] must be [..,I] and [O,I]"],
    );
    assert_says(&linear(&x, &x, Some(&x)), &["linear: a bias of shape [2,3] must be [2]"]);
    assert_says(&bilinear(&x, &x, &x, None), &["bilinear: inputs [2,3] and [2,3] with weights [2,3]"]);
    assert_says(&x.mm(&x), &["mm: inner extents 3 and 2 must be equal"]);
    assert_says(&x.bmm(&x), &["bmm: shape [2,3] must have rank 3, as a batch of matrices does"]);
    assert_says(&x.dot(&x), &["dot: shape [2,3] must have rank 1, as a vector does"]);
    assert_says(&tensordot(&x, &w, [0], [0]), &["tensordot: extents of axes 0 and 0, 2 and 4 must be equal"]);
    assert_says(&addmm(&w, &x, &w.t(), 1.0, 1.0), &["addmm: inner extents 3 and 2"]);
    // A term with factor 0 is ignored, NaN included.
    let nan = Tensor::full([2, 2], f64::NAN);
    assert_elements(&addmm(&nan, &x, &x.t(), 0.0, 1.0), &[3.0; 4]);
}

#[test]
fn scattering_that_does_not_fit() {
    let x = Tensor::ones([2, 3]);
    let ids = |v: &[i64]| Tensor::from_slice(v, [1, v.len()]);
    let ways = [Reduce::Sum, Reduce::Prod, Reduce::Mean, Reduce::Amax, Reduce::Amin];
    for how in ways {
        assert_says(&x.scatter_reduce(1, &ids(&[3]), &x, how, true), &["scatter_reduce", "is out of range"]);
        assert_says(
            &x.scatter_reduce(1, &x, &x, how, true),
            &["scatter_reduce: dtype f32", "indices must be integers"],
        );
        let wide = ids(&[0, 0, 0, 0]);
        assert_says(&x.scatter_reduce(1, &wide, &x, how, true), &["scatter_reduce: an index of shape [1,4]"]);
    }
    let (base, from) = (Tensor::from_slice(&[5i64, 5, 5], [3]), Tensor::from_slice(&[1i64, 2, 4], [3]));
    let at = Tensor::from_slice(&[0i64, 0, -1], [3]);
    let right = [[3.0, 5.0, 4.0], [2.0, 5.0, 4.0], [1.0, 5.0, 4.0], [2.0, 5.0, 4.0], [1.0, 5.0, 4.0]];
    for (how, right) in ways.into_iter().zip(right) {
        assert_elements(&base.scatter_reduce(0, &at, &from, how, false), &right);
    }
    assert_says(
        &x.take_along_dim(&ids(&[0]).reshape([1]), Some(0)),
        &["take_along_dim: an index of shape [1]"],
    );
    assert_says(&x.take(&ids(&[6])), &["index 6 is out of range for extent 6"]);
}
