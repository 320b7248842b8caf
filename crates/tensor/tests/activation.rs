//! Activations and softmax: their errors, and their results for integers, half precision and extreme values.

use gradus_ir::DType;
use gradus_tensor::Tensor;

/// Asserts that the message contains these parts and names a line of this file.
#[track_caller]
fn assert_says(t: &Tensor, parts: &[&str]) {
    let message = t.error().map(|e| e.to_string()).unwrap_or_default();
    for part in parts.iter().chain(&["tests/activation.rs"]) {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

#[test]
fn errors_name_the_function_the_shapes_and_the_line() {
    let x = Tensor::ones([2, 3]);
    assert_says(&x.glu(1), &["glu: axis 1 of extent 3", "it must be even", "f32[2,3]"]);
    assert_says(&x.glu(2), &["glu: axis 2 is out of range", "f32[2,3]"]);
    assert_says(&x.prelu(&Tensor::ones([2])), &["prelu: a weight of shape [2]", "a vector of 3", "f32[2,3]"]);
    assert_says(&x.prelu(&Tensor::ones([1, 1])), &["prelu: a weight of shape [1,1]"]);
    assert_says(&x.softmax(-3), &["softmax: axis -3 is out of range", "f32[2,3]"]);
    assert_says(&x.logsumexp([0, 0], false), &["logsumexp: axis 0 is out of range or repeated", "f32[2,3]"]);
    assert_says(&x.hardtanh(1.0, -1.0), &["hardtanh: the range 1 to -1", "f32[2,3]"]);
    assert_says(&x.softshrink(-0.5), &["softshrink: lambda -0.5 must be 0 or more"]);
    assert_says(&x.celu(0.0), &["celu: alpha 0"]);
    assert_says(&x.softplus(0.0, 20.0), &["softplus: beta 0"]);
    assert_says(&x.to_dtype(DType::C64).relu(), &["relu", "c64[2,3]"]);
}

#[test]
fn the_first_failure_stays() {
    let failed = Tensor::ones([2]).softmax(5);
    for t in
        [failed.relu(), failed.glu(0), failed.softmax(0), failed.logsumexp(3, true), failed.prelu(&failed)]
    {
        assert_says(&t, &["softmax: axis 5"]);
    }
}

#[test]
fn integers_and_half_precision() {
    let ints = Tensor::from_slice(&[-2i64, 0, 3], [3]);
    assert_eq!(ints.relu().to_vec::<i64>().unwrap(), [0, 0, 3]);
    assert_eq!(ints.sigmoid().dtype(), DType::F32);
    assert_eq!(ints.gelu().dtype(), DType::F32);
    assert_eq!(ints.softmax(0).dtype(), DType::F32);
    // A sum of 4096 equal terms, which half precision alone would stop increasing at 2048.
    let many = Tensor::zeros([4096]).to_dtype(DType::F16);
    assert_eq!(many.softmax(0).dtype(), DType::F16);
    let log = many.logsumexp(0, false).to_dtype(DType::F64).item::<f64>().unwrap();
    assert!((log - 4096f64.ln()).abs() < 4e-3, "{log}");
}

#[test]
fn gradients_are_finite_for_large_operands_and_where_all_is_masked() {
    let far = Tensor::from_slice(&[-1e4f64, -100.0, 100.0, 1e4], [4]);
    let all: [fn(&Tensor) -> Tensor; 11] = [
        Tensor::gelu,
        Tensor::gelu_tanh,
        Tensor::silu,
        Tensor::mish,
        Tensor::logsigmoid,
        Tensor::selu,
        |x| x.elu(0.5),
        |x| x.celu(0.5),
        |x| x.softplus(1.0, 1e9),
        |x| x.log_softmax(0),
        |x| x.softmax(0),
    ];
    for f in all {
        let x = far.requires_grad_();
        f(&x).sum(()).backward().unwrap();
        let grad = x.grad().unwrap();
        assert!(grad.all_finite().item::<bool>().unwrap(), "{:?}", grad.to_vec::<f64>());
    }
    let masked = Tensor::full([2, 3], f64::NEG_INFINITY).requires_grad_();
    let y = masked.logsumexp(1, false);
    assert_eq!(y.to_vec::<f32>().unwrap(), [f32::NEG_INFINITY; 2]);
    y.sum(()).backward().unwrap();
    assert_eq!(masked.grad().unwrap().to_vec::<f32>().unwrap(), [0.0; 6]);
}
