//! Statistics, distances, numeric helpers and normalization: their errors and edge cases.

use gradus_ir::DType;
use gradus_tensor::{BatchNormOptions, Tensor, cdist, cosine_similarity, pairwise_distance};

/// Asserts that the message contains these parts and names a line of this file.
#[track_caller]
fn says(t: &Tensor, parts: &[&str]) {
    let message = t.error().map(|e| e.to_string()).unwrap_or_default();
    for part in parts.iter().chain(&["tests/norm.rs"]) {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

#[test]
fn errors_of_statistics_and_distances() {
    let (x, y) = (Tensor::ones([2, 3]), Tensor::ones([2, 4]));
    says(&x.mean(2), &["mean: axis 2 is out of range", "f32[2,3]"]);
    says(&x.var([0, 0], 1), &["var: axis 0 is out of range or repeated", "f32[2,3]"]);
    says(&x.norm(f64::NAN, (), false), &["norm: the order NaN", "f32[2,3]"]);
    says(&x.normalize(2, 5, 1e-12), &["normalize: axis 5", "f32[2,3]"]);
    says(&cosine_similarity(&x, &y, 1, 1e-8), &["cosine_similarity: extents [2,3] and [2,4]", "f32[2,4]"]);
    says(&pairwise_distance(&x, &y, 2.0, 1e-6, false), &["pairwise_distance: extents [2,3] and [2,4]"]);
    says(&cdist(&x, &y, 2.0), &["cdist: vectors of extents 3 and 4", "f32[2,3], f32[2,4]"]);
    says(&cdist(&x, &Tensor::ones([3]), 2.0), &["cdist: extents [2,3] and [3]", "two axes"]);
    says(&x.lerp(&y, 0.5), &["lerp", "extents [2,4] and [2,3]", "f32[2,3]"]);
    says(&x.clamp(f64::NAN, None), &["clamp: a bound of NaN"]);
}

#[test]
fn errors_of_normalisation() {
    let (x, w) = (Tensor::ones([2, 3]), Tensor::ones([2]));
    says(
        &x.layer_norm([4], None, None, 1e-5),
        &["layer_norm: the normalized shape [4]", "last extents of [2,3]"],
    );
    says(&x.layer_norm([3], Some(&w), None, 1e-5), &["layer_norm: a weight of shape [2]", "[3]", "f32[2]"]);
    says(&x.rms_norm([1, 2, 3], None, None), &["rms_norm: the normalized shape [1, 2, 3]"]);
    says(&x.group_norm(2, None, None, 1e-5), &["group_norm: 3 channels", "2 groups"]);
    says(&x.group_norm(0, None, None, 1e-5), &["group_norm: 3 channels", "0 groups"]);
    says(&x.group_norm(3, None, Some(&w), 1e-5), &["group_norm: a bias of shape [2]", "a vector of 3"]);
    says(&w.group_norm(1, None, None, 1e-5), &["group_norm: rank 1 has no channels"]);
    says(&x.instance_norm(None, None, 1e-5), &["instance_norm: an instance of shape [2,3]"]);
    says(&x.local_response_norm(0, 1e-4, 0.75, 1.0), &["local_response_norm: size 0"]);
    let (training, eval) =
        (BatchNormOptions { training: true, ..Default::default() }, BatchNormOptions::default());
    says(&x.batch_norm(None, None, None, &eval).0, &["batch_norm: running statistics are missing"]);
    says(&x.batch_norm(Some((&w, &w)), None, None, &eval).1, &["batch_norm: a running_mean of shape [2]"]);
    let single = Tensor::ones([1, 3]);
    says(&single.batch_norm(None, None, None, &training).2, &["batch_norm: a batch of shape [1,3]"]);
}

#[test]
fn the_first_failure_stays() {
    let failed = Tensor::ones([2]).mean(5);
    let x = Tensor::ones([2, 2]);
    let how = BatchNormOptions { training: true, ..Default::default() };
    for t in [
        failed.var(3, 1),
        x.layer_norm([2], Some(&failed), None, 1e-5),
        x.batch_norm(None, None, Some(&failed), &how).0,
        failed.normalize(2, 3, 1e-12),
        cdist(&x, &failed, 2.0),
        x.lerp(&failed, 0.5),
        failed.local_response_norm(3, 1.0, 1.0, 1.0),
        failed.nan_to_num(0.0, None, None),
    ] {
        says(&t, &["mean: axis 5"]);
    }
}

#[test]
fn clamping_keeps_integers() {
    let x = Tensor::from_slice(&[-9i8, 2, 14], [3]);
    assert_eq!(x.clamp(-3.0, 1e9).to_vec::<i8>().unwrap(), [-3, 2, 14]);
    assert_eq!(x.clamp_min(0).to_vec::<i8>().unwrap(), [0, 2, 14]);
    assert_eq!(x.clamp_max(2.5).to_vec::<f32>().unwrap(), [-9.0, 2.0, 2.5]);
    assert_eq!(x.clamp(None, f64::NEG_INFINITY).to_vec::<i8>().unwrap(), [-128; 3]);
    assert_eq!(Tensor::from_slice(&[1.0f64], [1]).clamp(3.0, 2.0).to_vec::<f64>().unwrap(), [2.0]);
}

#[test]
fn closeness() {
    let inf = f64::INFINITY;
    let a = Tensor::from_slice(&[1.0, inf, inf, f64::NAN, -0.0], [5]);
    let b = Tensor::from_slice(&[1.0 + 1e-6, inf, -inf, f64::NAN, 0.0], [5]);
    let close = a.is_close(&b, 1e-5, 1e-8, false).to_vec::<bool>().unwrap();
    assert_eq!(close, [true, true, false, false, true]);
    assert!(a.is_close(&b, 1e-5, 1e-8, true).to_vec::<bool>().unwrap()[3]);
    assert!(!a.is_close(&Tensor::from_slice(&[1.0], [1]), inf, 0.0, false).to_vec::<bool>().unwrap()[1]);
    assert!(!a.allclose(&b, 1e-5, 1e-8, true).unwrap());
    assert!(a.allclose(&a, 0.0, 0.0, true).unwrap());
    assert!(a.allclose(&Tensor::ones([2]), 0.0, 0.0, false).unwrap_err().to_string().contains("[5] and [2]"));
}

#[test]
fn replaced_infinities_are_finite_in_every_dtype() {
    for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16] {
        let x = Tensor::from_slice(&[f64::INFINITY, f64::NEG_INFINITY], [2]).to_dtype(dtype);
        let y = x.nan_to_num(0.0, None, None);
        assert!(y.all_finite().item::<bool>().unwrap(), "{dtype}");
        assert!(!(y * 1.01).is_finite().any(()).item::<bool>().unwrap(), "{dtype}: not the largest");
    }
}

#[test]
fn half_precision_statistics_do_not_overflow() {
    let x = Tensor::from_slice(&[300.0f64, -300.0, 300.0, -300.0], [1, 4]).to_dtype(DType::F16);
    let two = Tensor::from_slice(&[3e4f64, 4e4], [2]).to_dtype(DType::F16);
    for (y, right) in [(two.mean(0), 3.5e4), (two.norm(2, 0, false), 5e4), (two.std(0, 0), 5e3)] {
        assert_eq!(y.dtype(), DType::F16);
        let found = y.to_dtype(DType::F64).item::<f64>().unwrap();
        assert!((found - right).abs() < 20.0, "{found} instead of {right}");
    }
    for y in [x.layer_norm([4], None, None, 1e-5), x.rms_norm([4], None, None)] {
        assert_eq!(y.dtype(), DType::F16);
        assert_eq!(y.to_dtype(DType::F64).to_vec::<f64>().unwrap(), [1.0, -1.0, 1.0, -1.0]);
    }
}

#[test]
fn edges_of_statistics() {
    let ints = Tensor::from_slice(&[1i64, 2], [2]);
    assert_eq!(ints.mean(()).item::<f32>().unwrap(), 1.5);
    assert!(Tensor::zeros([0]).mean(()).item::<f32>().unwrap().is_nan());
    assert!(Tensor::ones([1]).var(0, 1).item::<f32>().unwrap().is_nan());
    let (a, b) = (Tensor::from(0.1f64), Tensor::from(0.7f64));
    assert_eq!(a.lerp(&b, 1.0).item::<f64>().unwrap(), 0.7);
    assert_eq!(a.lerp(&b, 0.0).item::<f64>().unwrap(), 0.1);
    // The count of non-zeros, and norms of negative order, over zeros.
    let x = Tensor::from_slice(&[0.0f64, 3.0, -4.0], [3]);
    assert_eq!(x.norm(0, (), false).item::<f64>().unwrap(), 2.0);
    assert_eq!(x.norm(-1, (), false).item::<f64>().unwrap(), 0.0);
    assert_eq!(x.norm(2, (), true).to_vec::<f64>().unwrap(), [5.0]);
}
