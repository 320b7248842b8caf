//! Linear algebra and Fourier transforms: PyTorch's values and gradients, identities, edge cases, errors.

use gradus_ir::{C, DType};
use gradus_tensor::{FftNorm, Tensor, Triangular, grad, hessian};

fn real<const N: usize>(elements: [f64; N], shape: &[usize]) -> Tensor {
    Tensor::from_slice(&elements, shape)
}

fn complex<const N: usize>(elements: [(f64, f64); N], shape: &[usize]) -> Tensor {
    Tensor::from_slice(&elements.map(|(re, im)| C::new(re, im)), shape)
}

#[track_caller]
fn assert_near(found: &Tensor, expected: &[f64]) {
    let found = found.to_vec::<f64>().unwrap();
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(1e-3, |a: f64, x| a.max(x.abs()));
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() <= 1e-12 * scale, "{found:?} is not {expected:?}");
    }
}

#[track_caller]
fn assert_near_complex(found: &Tensor, expected: &[(f64, f64)]) {
    assert!(found.dtype().is_complex(), "{found:?}");
    assert_near(&found.real(), &expected.iter().map(|z| z.0).collect::<Vec<_>>());
    assert_near(&found.imag(), &expected.iter().map(|z| z.1).collect::<Vec<_>>());
}

#[track_caller]
fn assert_equal(a: &Tensor, b: &Tensor) {
    let off = a - b;
    let off =
        off.real().abs().max(()).item::<f64>().unwrap() + off.imag().abs().max(()).item::<f64>().unwrap();
    assert!(off < 1e-12, "off by {off}:\n{a:?}\n{b:?}");
}

/// Asserts that the message contains these parts and names a line of this file.
#[track_caller]
fn assert_says(t: &Tensor, parts: &[&str]) {
    let message = t.error().map(|e| e.to_string()).unwrap_or_default();
    for part in parts.iter().chain(&["tests/linalg.rs"]) {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

fn regular() -> Tensor {
    real([2.0, -1.0, 0.5, 1.0, 3.0, -0.25, 0.75, 0.5, 1.5], &[3, 3])
}

fn small() -> Tensor {
    real([0.1, 0.4, -0.2, 0.3, -0.5, 0.6, 0.2, 0.1, 0.7], &[3, 3])
}

fn definite() -> Tensor {
    real([4.0, 1.0, 0.5, 1.0, 3.0, -0.25, 0.5, -0.25, 2.0], &[3, 3])
}

fn weights() -> Tensor {
    real([0.3, -0.7, 0.2, 1.1, 0.2, -0.5, -0.4, 0.9, 0.1], &[3, 3])
}

fn tall() -> Tensor {
    real([1.0, 2.0, 3.0, -1.0, 0.5, 0.25], &[3, 2])
}

fn complex_square() -> Tensor {
    complex([(2.0, 1.0), (-1.0, 0.5), (0.0, 0.25), (1.5, -1.0)], &[2, 2])
}

/// The right side holds vectors if it has one axis or the extents of the matrices without the last axis, else
/// matrices.
#[test]
fn right_sides_are_vectors_or_matrices_by_their_extents() {
    let at = |matrices: &[usize], right: &[usize]| {
        let (a, b) = (regular().expand(matrices), Tensor::ones(right).to_dtype(DType::F64).cumsum(-1));
        (a.solve(&b), a, b)
    };
    let cases: [(&[usize], &[usize], &[usize]); 10] = [
        (&[3, 3], &[3], &[3]),
        (&[3, 3], &[3, 3], &[3, 3]),
        (&[4, 3, 3], &[4, 3], &[4, 3]),
        (&[3, 3, 3], &[3, 3], &[3, 3]),
        (&[3, 3, 3], &[1, 3, 3], &[3, 3, 3]),
        (&[4, 3, 3], &[3], &[4, 3]),
        (&[4, 3, 3], &[3, 2], &[4, 3, 2]),
        (&[2, 4, 3, 3], &[2, 4, 3], &[2, 4, 3]),
        (&[0, 3, 3], &[0, 3], &[0, 3]),
        (&[0, 3, 3], &[3, 2], &[0, 3, 2]),
    ];
    for (matrices, right, expected) in cases {
        let (x, a, b) = at(matrices, right);
        assert_eq!(x.shape()[..], *expected, "{matrices:?} {right:?}");
        let vectors = right.len() == 1 || *right == matrices[..matrices.len() - 1];
        let back = if vectors { a.matmul(&x.unsqueeze(-1)).squeeze(-1) } else { a.matmul(&x) };
        if back.numel() > 0 {
            assert_equal(&back, &b.expand(expected));
        }
    }
    let empty = Tensor::ones([2, 0, 0]).solve(&Tensor::ones([2, 0]));
    assert_eq!(empty.shape()[..], [2, 0]);
    assert_says(&at(&[2, 4, 3, 3], &[4, 3]).0, &["a matrix of 3 rows and a right side of 4"]);
}

#[test]
fn systems_as_in_pytorch() {
    let (a, b) = (regular(), real([1.0, 2.0, 0.5, -1.0, 3.0, 0.25], &[3, 2]));
    let w = real([0.3, -0.7, 1.1, 0.2, -0.4, 0.9], &[3, 2]);
    #[rustfmt::skip]
    assert_near(&a.solve(&b), &[
        0.17391304347826086, 0.7142857142857143, 0.2608695652173913, -0.5714285714285714, 1.826086956521739, 0.0,
    ]);
    let grads = grad(&[&a, &b], |x| (x[0].solve(&x[1]) * &w).sum(())).unwrap();
    #[rustfmt::skip]
    assert_near(&grads[0], &[
        0.3615755564985919, -0.29845299178272444, -0.04196597353497166, 0.09041317850391575, -0.2358088036726978,
        -0.7463137996219281, -0.4876509393927704, 0.4726052235639057, 0.3765595463137996,
    ]);
    #[rustfmt::skip]
    assert_near(&grads[1], &[
        0.02298136645962734, -0.5118012422360249, 0.408695652173913, -0.22608695652173913, -0.20621118012422363,
        0.7329192546583851,
    ]);
    assert_near(&a.det(), &[10.0625]);
    let grads = grad(&[&a], |x| x[0].det()).unwrap();
    assert_near(&grads[0], &[4.625, -1.6875, -1.75, 1.75, 2.625, -1.75, -1.25, 1.0, 7.0]);
}

#[test]
fn complex_systems_as_in_pytorch() {
    let (a, b) = (complex_square(), complex([(1.0, 2.0), (0.5, -1.0)], &[2, 1]));
    assert_near_complex(
        &a.solve(&b),
        &[(0.8344007319304666, 0.232387923147301), (0.6294602012808783, -0.38609332113449224)],
    );
    let loss = |x: &[Tensor]| {
        let x = x[0].solve(&x[1]);
        (x.real() * 2.0 - x.imag() * 0.5).sum(())
    };
    let grads = grad(&[&a, &b], loss).unwrap();
    let expected = [
        (-0.8378494436441164, -0.09898974510504764),
        (-0.4245531532692866, -0.5806073583119394),
        (-0.9684250353032565, 0.8883245204239907),
        (-1.116820086904187, -0.08901359311396079),
    ];
    assert_near_complex(&grads[0], &expected);
    assert_near_complex(
        &grads[1],
        &[(0.9011893870082343, 0.36962488563586465), (1.35224153705398, -0.6880146386093321)],
    );
    let (sign, log) = a.slogdet();
    assert_near_complex(&sign, &[(0.9981684966311908, -0.06049506040189038)]);
    assert_near(&log, &[1.4188992024084335]);
    let grads = grad(&[&a], |x| {
        let (sign, log) = x[0].slogdet();
        log + sign.real() * 0.5 + sign.imag() * 0.25
    });
    let expected = [
        (0.31550821862205103, 0.32504422469881256),
        (-0.01323523987893599, 0.06140819635629916),
        (0.2191623056673247, 0.17575735222834227),
        (0.5442065303661372, -0.13975086639370873),
    ];
    assert_near_complex(&grads.unwrap()[0], &expected);
    let grads = grad(&[&a], |x| x[0].det().real() * 2.0 - x[0].det().imag()).unwrap();
    assert_near_complex(&grads[0], &[(4.0, 0.5), (0.25, 0.5), (2.5, 0.0), (3.0, -4.0)]);
}

#[test]
fn factorisations_as_in_pytorch() {
    let grads = grad(&[&definite()], |x| (x[0].cholesky() * &weights()).sum(())).unwrap();
    #[rustfmt::skip]
    assert_near(&definite().cholesky(), &[
        2.0, 0.0, 0.0, 0.5, 1.6583123951777, 0.0, 0.25, -0.22613350843332272, 1.3734495390671024,
    ]);
    #[rustfmt::skip]
    assert_near(&grads[0], &[
        0.042713033611873216, 0.21596371915891205, -0.1736317072128099, 0.21596371915891208, 0.09798288058315253,
        0.2763244855623985, -0.1736317072128099, 0.27632448556239847, 0.03640468657768224,
    ]);
    assert_near(&definite().eigvalsh(), &[1.6583297723365855, 2.689794467298034, 4.651875760365377]);
    let grads = grad(&[&definite()], |x| (x[0].eigvalsh() * &real([1.0, 2.0, 3.0], &[3])).sum(())).unwrap();
    #[rustfmt::skip]
    assert_near(&grads[0], &[
        2.606948416298279, 0.5813471029730584, 0.39627896895306075, 0.5813471029730582, 2.0736037758100063,
        -0.2941444094461045, 0.39627896895306075, -0.2941444094461045, 1.3194478078917162,
    ]);
    assert_near(&tall().svdvals(), &[3.2239129078315205, 2.2178560734901858]);
    let grads = grad(&[&tall()], |x| (x[0].svdvals() * &real([1.0, 2.0], &[2])).sum(())).unwrap();
    #[rustfmt::skip]
    assert_near(&grads[0], &[
        0.514802764128734, 1.8670570698153715, 0.8825514288968898, -0.6026001031630288, 0.18648814669051214,
        0.26883875141384883,
    ]);
    #[rustfmt::skip]
    assert_near(&tall().pinv(), &[
        0.13325183374083138, 0.2799511002444988, 0.05378973105134476, 0.4180929095354524, -0.14914425427872838,
        0.05867970660146701,
    ]);
    let w = real([0.3, -0.7, 1.1, 0.2, -0.4, 0.9], &[3, 2]);
    let grads = grad(&[&tall()], |x| (x[0].pinv() * w.t()).sum(())).unwrap();
    #[rustfmt::skip]
    assert_near(&grads[0], &[
        -0.0414006970307447, 0.08826525427275064, -0.08567171406196768, -0.04249317017473592, -0.05598005750802535,
        0.20263389147601937,
    ]);
    assert_near(
        &tall().lstsq(&w),
        &[0.3264058679706603, 0.011124694376528143, -0.06210268948655252, -0.2696821515892421],
    );
    let w = small().eigvals();
    assert_near_complex(
        &w,
        &[(-0.6559331256318025, 0.0), (0.2107141873738852, 0.0), (0.7452189382579173, 0.0)],
    );
    let w = real([0.0, 1.0, -2.0, -2.0], &[2, 2]).eigvals();
    assert_near_complex(&w, &[(-1.0, 1.0), (-1.0, -1.0)]);
}

#[test]
fn exponentials_as_in_pytorch() {
    #[rustfmt::skip]
    assert_near(&small().matrix_exp(), &[
        1.1410163176839787, 0.3291845837402212, -0.17034717014573475, 0.3245792945260912, 0.6875235900030152,
        0.683687858705927, 0.3257288835875852, 0.1657418809316047, 2.0318797943123728,
    ]);
    let grads = grad(&[&small()], |x| (x[0].matrix_exp() * &weights()).sum(())).unwrap();
    #[rustfmt::skip]
    assert_near(&grads[0], &[
        0.33529588728294124, -0.35806080897723086, 0.23308627033953555, 1.0407190155450377, 0.10143266888205864,
        -0.4055063649410253, -0.05406484565671565, 1.1568139888434137, 0.015839827953878907,
    ]);
    #[rustfmt::skip]
    assert_near(&(small() * 20.0).matrix_exp(), &[
        -14588.367092804476, -7554.92023707291, -35890.20385224601, 529847.2734277605, 274417.661058283,
        1297700.5306802155, 1106917.1310633766, 573292.3975170794, 2711148.0665355837,
    ]);
    // A rotation by many full circles, and a batch of matrices that need different powers.
    let rotation = real([0.0, -200.0, 200.0, 0.0], &[2, 2]);
    let (c, s) = (200f64.cos(), 200f64.sin());
    let rotated = rotation.matrix_exp().to_vec::<f64>().unwrap();
    assert!(rotated.iter().zip([c, -s, s, c]).all(|(x, y)| (x - y).abs() < 1e-11), "{rotated:?}");
    let batch = Tensor::stack(&[&rotation, &(&rotation * 0.0)], 0).matrix_exp();
    assert_equal(&batch.at(0), &rotation.matrix_exp());
    assert_equal(&batch.at(1), &Tensor::eye(2).to_dtype(DType::F64));
}

#[test]
fn factors_multiply_to_the_matrix() {
    for a in [regular(), small(), definite(), complex_square(), Tensor::stack(&[&regular(), &small()], 0)] {
        let one = Tensor::eye(a.dim(-1)).to_dtype(a.dtype());
        let (p, l, u) = a.lu();
        assert_equal(&p.matmul(&l).matmul(&u), &a);
        assert_equal(&a.matmul(&a.inv()), &one.expand(a.shape()));
        let (w, v) = a.eig();
        let scaled = &v * &w.unsqueeze(-2);
        assert_equal(&a.to_dtype(DType::C128).matmul(&v), &scaled);
        let hermitian = &a + &a.adjoint();
        let (w, v) = hermitian.eigh();
        assert_equal(&(&v * &w.unsqueeze(-2)).matmul(&v.adjoint()), &hermitian);
        assert_equal(&w.sum(-1).to_dtype(a.dtype()), &hermitian.diagonal(0, -2, -1).sum(-1));
        assert_equal(&a.matrix_power(-2).matmul(&a.matrix_power(2)), &one.expand(a.shape()));
        let (sign, log) = a.slogdet();
        assert_equal(&(sign * log.exp()), &a.det());
    }
    for a in [tall(), tall().t(), Tensor::stack(&[&tall(), &(tall() * 2.0)], 0)] {
        let (p, l, u) = a.lu();
        let k = a.dim(-1).min(a.dim(-2));
        assert_eq!((l.shape()[l.rank() - 2..].to_vec(), u.dim(-2)), (vec![a.dim(-2), k], k));
        assert_equal(
            &l,
            &(l.tril(-1) + Tensor::eye(3).narrow(0, 0, a.dim(-2)).narrow(1, 0, k).to_dtype(DType::F64)),
        );
        assert_equal(&u, &u.triu(0));
        assert_equal(&p.matmul(&l).matmul(&u), &a);
    }
    for a in [tall(), tall().t(), complex([(1.0, 2.0), (0.0, -1.0), (0.5, 0.25)], &[3, 1]), regular()] {
        let (q, r) = a.qr();
        assert_equal(&q.matmul(&r), &a);
        assert_equal(&q.adjoint().matmul(&q), &Tensor::eye(q.dim(-1)).to_dtype(q.dtype()));
        let (u, s, vh) = a.svd();
        assert_equal(&(&u * &s.unsqueeze(-2)).matmul(&vh), &a);
        assert_equal(&vh.matmul(&vh.adjoint()), &Tensor::eye(s.dim(0)).to_dtype(a.dtype()));
        assert_equal(&a.matmul(&a.pinv()).matmul(&a), &a);
    }
}

#[test]
fn least_squares_of_any_rank() {
    // [1, 2] in every row: the shortest solution is a multiple of it.
    let a = real([1.0, 2.0, 1.0, 2.0, 1.0, 2.0], &[3, 2]);
    let b = real([1.0, 2.0, 6.0], &[3]);
    assert_near(&a.lstsq(&b), &[0.6, 1.2]);
    assert_near(&a.t().lstsq(&real([1.0, 2.0], &[2])), &[1.0 / 3.0; 3]);
    // Along matrices of the same rank: with rows [t, 2t] the solution is 3 / (5t) · [1, 2].
    let slope = grad(&[&real([1.0], &[])], |t| (&a * &t[0]).lstsq(&b).sum(())).unwrap();
    assert_near(&slope[0], &[-1.8]);
    let none = real([0.0; 4], &[2, 2]).lstsq(&real([1.0, 2.0], &[2]));
    assert_near(&none, &[0.0, 0.0]);
    // The shortest of infinitely many.
    assert_near(&real([1.0, 2.0, 2.0], &[1, 3]).lstsq(&real([9.0], &[1])), &[1.0, 2.0, 2.0]);
    // A zero pivot has factors, but they have no derivative.
    let singular = real([0.0, 1.0, 0.0, 2.0, 0.0, 3.0], &[3, 2]);
    let (p, l, u) = singular.lu();
    assert_equal(&p.matmul(&l).matmul(&u), &singular);
    let message = grad(&[&singular], |x| x[0].lu().2.sum(())).unwrap_err().to_string();
    assert!(message.contains("singular"), "{message}");
}

#[test]
fn large_matrices_keep_their_digits() {
    let n = 40;
    let (i, j) = (Tensor::iota(DType::F64, [n, n], 0), Tensor::iota(DType::F64, [n, n], 1));
    let a = (&i * 1.7 + &j * 2.3 + &i * &j * 0.1).sin();
    let (u, s, vh) = a.svd();
    let off = ((&u * &s.unsqueeze(-2)).matmul(&vh) - &a).abs().max(()).item::<f64>().unwrap();
    assert!(off < 1e-13, "{off}");
    let (w, v) = a.eig();
    let off = a.to_dtype(DType::C128).matmul(&v) - &v * &w.unsqueeze(-2);
    let off = off.real().abs().max(()).item::<f64>().unwrap();
    assert!(off < 1e-11, "{off}");
    let (w, v) = (&a + &a.t()).eigh();
    let off = ((&v * &w.unsqueeze(-2)).matmul(&v.t()) - &a - &a.t()).abs().max(()).item::<f64>().unwrap();
    assert!(off < 1e-12, "{off}");
}

#[test]
fn edges() {
    // The derivative of a determinant is given by cofactors, also without an inverse.
    let singular = real([1.0, 2.0, 2.0, 4.0], &[2, 2]);
    let grads = grad(&[&singular], |x| x[0].det()).unwrap();
    assert_near(&grads[0], &[4.0, -2.0, -2.0, 1.0]);
    // All singular values of the identity are equal: determinant and pseudo-inverse still have derivatives.
    let one = Tensor::eye(2).to_dtype(DType::F64);
    #[rustfmt::skip]
    assert_near(&hessian(&one, |x| x.det()).unwrap(), &[
        0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0,
    ]);
    let grads = grad(&[&one], |x| x[0].pinv().at(0).at(0)).unwrap();
    assert_near(&grads[0], &[-1.0, 0.0, 0.0, 0.0]);
    // The squares of these overflow or underflow.
    for scale in [1e-200, 1e200] {
        let a = definite() * scale;
        assert_near(&(a.eigvalsh() / scale), &[1.6583297723365855, 2.689794467298034, 4.651875760365377]);
        assert_near(&(a.svdvals() / scale), &[4.651875760365377, 2.689794467298034, 1.6583297723365855]);
        let (q, r) = a.qr();
        assert_equal(&(q.matmul(&r) / scale), &definite());
    }
    let error = definite().mul(f64::NAN).eigvalsh().to_vec::<f64>().unwrap_err().to_string();
    assert!(error.contains("contains values that are not finite"), "{error}");
    let none = Tensor::from_slice::<f64>(&[], [0, 0]);
    assert_near(&none.det(), &[1.0]);
    assert_eq!(none.inv().shape()[..], [0, 0]);
    assert_eq!(none.matrix_exp().shape()[..], [0, 0]);
    let (sign, log) = singular.slogdet();
    assert_near(&sign, &[0.0]);
    assert_eq!(log.item::<f64>().unwrap(), f64::NEG_INFINITY);
    // Integers become f32, a vector stays one, leading axes broadcast.
    let whole = Tensor::from_slice(&[2i64, 0, 0, 4], [2, 2]);
    assert_eq!(whole.inv().to_vec::<f32>().unwrap(), [0.5, 0.0, 0.0, 0.25]);
    let x = whole.solve(&Tensor::from_slice(&[2i64, 4], [2]));
    assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, 1.0]);
    assert_eq!(whole.solve(&Tensor::ones([5, 2, 3])).shape()[..], [5, 2, 3]);
    let lower = regular().triangular_solve(&weights(), Triangular::LOWER);
    assert_equal(&regular().tril(0).matmul(&lower), &weights());
}

#[test]
fn errors_name_the_function_and_the_shapes() {
    let (square, wide) = (Tensor::ones([2, 2]), Tensor::ones([2, 3]));
    assert_says(&square.solve(&square), &["solve: the matrix is singular: its pivot 1 is 0", "f32[2,2]"]);
    assert_says(&square.inv(), &["singular", "inv"]);
    assert_says(&wide.inv(), &["inv: shape [2,3] must be that of square matrices", "f32[2,3]"]);
    assert_says(&Tensor::ones([2]).lu().0, &["lu: shape [2] must have at least two axes"]);
    assert_says(&(-&square).cholesky(), &["cholesky: the matrix is not positive definite"]);
    let batch = Tensor::stack(&[&Tensor::eye(2), &square], 0);
    assert_says(&batch.solve(&batch), &["matrix 1 of the batch is singular"]);
    assert_says(&wide.det(), &["det: matrices of 2 rows and 3 columns must be square"]);
    assert_says(&Tensor::ones([2]).qr().0, &["qr: shape [2] must have at least two axes"]);
    assert_says(&square.solve(&Tensor::ones([3])), &["solve: a matrix of 2 rows and a right side of 3"]);
    assert_says(&Tensor::ones([2, 2, 2]).solve(&Tensor::ones([3, 2, 1])), &["leading extents [2] and [3]"]);
    assert_says(&wide.matrix_exp(), &["matrix_exp: shape [2,3] must be that of square matrices"]);
    assert_says(&wide.matrix_power(2), &["matrix_power: shape [2,3]"]);
    assert_says(&wide.fft(None, 2, FftNorm::Backward), &["fft: axis 2 is out of range"]);
    assert_says(&complex_square().rfft(None, 0, FftNorm::Backward), &["rfft", "use fft"]);
    assert_says(
        &wide.irfft(0, 0, FftNorm::Backward),
        &["irfft: a transform of 0 elements must be of at least 1"],
    );
    let failed = wide.det();
    for t in [failed.solve(&square), square.solve(&failed), failed.inv(), failed.fft(None, 0, FftNorm::Ortho)]
    {
        assert_says(&t, &["det: matrices of 2 rows"]);
    }
}

#[test]
fn transforms_as_in_pytorch() {
    let v = real([1.0, -2.0, 0.5, 3.0, 0.25], &[5]);
    let spectrum =
        [(2.75, 0.0), (-2.372339220468474, 3.609340292395278), (3.497339220468474, -1.055124473079819)];
    let slope = [6.0, -0.004906791152911816, 1.1345663757412092, -0.516532386991314, -1.6131271975969823];
    let (wr, wi) = (real([1.0, 2.0, 3.0], &[3]), real([0.5, -1.0, 0.25], &[3]));
    for (norm, by) in [(FftNorm::Backward, 1.0), (FftNorm::Ortho, 0.2f64.sqrt()), (FftNorm::Forward, 0.2)] {
        assert_near_complex(&v.rfft(None, 0, norm), &spectrum.map(|(re, im)| (re * by, im * by)));
        let loss = |x: &[Tensor]| {
            let f = x[0].rfft(None, 0, norm);
            (f.real() * &wr + f.imag() * &wi).sum(())
        };
        assert_near(&grad(&[&v], loss).unwrap()[0], &slope.map(|x| x * by));
        assert_equal(&v.rfft(None, 0, norm).irfft(5, 0, norm), &v);
        assert_equal(&v.fft(None, 0, norm).ifft(None, 0, norm).real(), &v);
    }
    let h = complex([(1.0, 0.5), (-2.0, 1.0), (0.5, -0.25)], &[3]);
    type Case<'a> = (usize, &'a [f64], [(f64, f64); 3]);
    let cases: [Case<'_>; 2] = [
        (4, &[-0.625, -0.375, 1.375, 0.625], [(2.5, 0.0), (-1.0, 1.0), (-0.5, 0.0)]),
        (
            5,
            &[
                -0.4000000000000001,
                -0.5306610756637615,
                0.5787972418284428,
                1.2392367469214522,
                0.11262708691386664,
            ],
            [(3.0, 0.0), (-1.0, 1.3763819204711738), (-1.0, 0.32491969623290656)],
        ),
    ];
    for (n, signal, slope) in cases {
        assert_near(&h.irfft(n, 0, FftNorm::Backward), signal);
        let count = Tensor::iota(DType::F64, [n], 0) + 1.0;
        let grads = grad(&[&h], |x| (x[0].irfft(n, 0, FftNorm::Backward) * &count).sum(())).unwrap();
        assert_near_complex(&grads[0], &slope);
    }
    let z = complex([(1.0, 1.0), (2.0, -1.0), (0.0, 0.5), (0.25, 0.0), (-1.0, 2.0), (3.0, 0.0)], &[2, 3]);
    let expected = [
        (5.25, 2.5),
        (-0.3169872981077808, 1.9820508075688772),
        (-1.1830127018922192, -1.4820508075688772),
        (0.75, -1.5),
        (-2.281088913245535, -2.9461524227066316),
        (3.781088913245535, 7.446152422706632),
    ];
    assert_near_complex(&z.fft2(FftNorm::Backward), &expected);
    assert_near_complex(&z.fftn((), FftNorm::Backward), &expected);
    let expected = [
        (2.143303524935281, 1.0206207261596576),
        (-0.48296291314453416, -0.6050447085705818),
        (-0.12940952255126045, 0.8091688538025134),
        (0.3061862178478973, -0.6123724356957946),
        (1.5436230849243555, 3.039878997103335),
        (-0.931250649228561, -1.2027616900159508),
    ];
    assert_near_complex(&z.ifftn((), FftNorm::Ortho), &expected);
    assert_equal(&z.ifft2(FftNorm::Forward).fft2(FftNorm::Forward), &z);
    assert_near_complex(
        &v.fft(3, 0, FftNorm::Backward),
        &[(-0.5, 0.0), (1.75, 2.1650635094610964), (1.75, -2.1650635094610964)],
    );
    let x = real([1.0, 2.0, 3.0, -1.0, 0.5, 0.25], &[2, 3]);
    assert_equal(&x.rfftn((), FftNorm::Ortho).irfftn((), 3, FftNorm::Ortho), &x);
}

#[test]
fn frequencies_and_shifts() {
    assert_eq!(Tensor::fftfreq(5, 0.5).to_vec::<f32>().unwrap(), [0.0, 0.4, 0.8, -0.8, -0.4]);
    assert_eq!(Tensor::fftfreq(4, 1.0).to_vec::<f32>().unwrap(), [0.0, 0.25, -0.5, -0.25]);
    assert_eq!(Tensor::rfftfreq(5, 0.5).to_vec::<f32>().unwrap(), [0.0, 0.4, 0.8]);
    for n in [4, 5] {
        let shifted = Tensor::fftfreq(n, 1.0).fftshift(());
        let values = shifted.to_vec::<f32>().unwrap();
        assert!(values.windows(2).all(|w| w[0] < w[1]), "{values:?}");
        assert_eq!(
            shifted.ifftshift(()).to_vec::<f32>().unwrap(),
            Tensor::fftfreq(n, 1.0).to_vec::<f32>().unwrap()
        );
    }
}
