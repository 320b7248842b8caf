//! Losses, embedding and attention: properties that goldens and samples cannot show, mainly errors.

use gradus_tensor::{
    AttentionOptions, CrossEntropyOptions, NllOptions, Reduction, Tensor, TripletMarginOptions,
    binary_cross_entropy, cosine_embedding_loss, cross_entropy, embedding, gaussian_nll_loss, huber_loss,
    mse_loss, nll_loss, scaled_dot_product_attention, smooth_l1_loss, trace, triplet_margin_loss,
};

fn f64s(t: &Tensor) -> Vec<f64> {
    t.to_dtype(gradus_ir::DType::F64).to_vec().unwrap()
}

/// Asserts that the failure names the function, contains these texts, and names a line of this file.
#[track_caller]
fn assert_refused(t: &Tensor, name: &str, says: &[&str]) {
    let e = t.check().map(|_| ()).unwrap_err().to_string();
    assert!(e.contains(name) && e.contains("tests/loss.rs:"), "{e}");
    for s in says {
        assert!(e.contains(s), "{e} lacks {s}");
    }
}

#[test]
fn shapes_that_do_not_fit() {
    let mean = Reduction::Mean;
    let (column, vector) = (Tensor::zeros([3, 1]), Tensor::zeros([3]));
    assert_refused(&mse_loss(&column, &vector, mean), "mse_loss", &["[3,1]", "[3]", "one rank"]);
    assert_refused(&huber_loss(&vector, &vector, 0.0, mean), "huber_loss", &["delta 0", "must be positive"]);
    assert_refused(&smooth_l1_loss(&vector, &vector, -1.0, mean), "smooth_l1_loss", &["beta -1"]);
    let complex = vector.complex(&vector);
    assert_refused(&mse_loss(&complex, &vector, mean), "mse_loss", &["real numbers"]);
    assert_refused(&mse_loss(&Tensor::zeros([2]), &vector, mean), "mse_loss", &["[2]", "[3]"]);
    let rows = Tensor::zeros([3, 4]);
    assert_refused(
        &cosine_embedding_loss(&rows, &rows, &Tensor::zeros([4]), 0.0, mean),
        "cosine_embedding_loss",
        &["[3,4]", "targets [4]"],
    );
    let plain = TripletMarginOptions::default();
    assert_refused(
        &triplet_margin_loss(&rows, &rows, &vector, &plain),
        "triplet_margin_loss",
        &["[3,4]", "[3]"],
    );
    assert_refused(
        &gaussian_nll_loss(&rows, &rows, &Tensor::zeros([4]), false, 1e-6, mean),
        "gaussian_nll_loss",
        &["variance", "[4]", "[3,4]"],
    );
    // A failed operand stays the first cause.
    let failed = &vector + &Tensor::zeros([2]);
    assert_refused(&mse_loss(&failed, &column, mean), "add", &["do not broadcast"]);
}

#[test]
fn classes_that_do_not_fit() {
    let x = Tensor::zeros([2, 3]);
    let plain = CrossEntropyOptions::default();
    let ids = Tensor::from([0i64, 1, 2]);
    assert_refused(
        &cross_entropy(&x, &ids, &plain),
        "cross_entropy",
        &["classes of shape [3]", "[2,3]", "must be [2]"],
    );
    let all = Tensor::zeros([2, 2]);
    assert_refused(&cross_entropy(&x, &all, &plain), "cross_entropy", &["probabilities", "must be [2,3]"]);
    assert_refused(&cross_entropy(&Tensor::zeros([]), &all, &plain), "cross_entropy", &["has no class axis"]);
    let ids = Tensor::from([0i64, 1]);
    let weight = Some(Tensor::ones([2]));
    let heavy = CrossEntropyOptions { weight, ..CrossEntropyOptions::default() };
    assert_refused(&cross_entropy(&x, &ids, &heavy), "cross_entropy", &["weights of shape [2]", "[3]"]);
    let smooth = CrossEntropyOptions { label_smoothing: 1.5, ..CrossEntropyOptions::default() };
    assert_refused(&cross_entropy(&x, &ids, &smooth), "cross_entropy", &["label_smoothing 1.5"]);
    assert_refused(&nll_loss(&x, &x, &NllOptions::default()), "nll_loss", &["a class, an integer"]);
    // Classes out of range on either side, in a row that is not the last; -100 is ignored.
    for bad in [3, -1, 1000, i64::MAX, i64::MIN] {
        let target = Tensor::from([bad, 1]);
        assert_refused(&cross_entropy(&x, &target, &plain), "cross_entropy", &["out of range"]);
        assert_refused(&nll_loss(&x, &target, &NllOptions::default()), "nll_loss", &["out of range"]);
    }
    let one = cross_entropy(&x, &Tensor::from([-100i64, 1]), &plain);
    assert!((one.item::<f32>().unwrap() - 3f32.ln()).abs() < 1e-6);
    assert!(cross_entropy(&x, &Tensor::from([-100i64; 2]), &plain).item::<f32>().unwrap().is_nan());
}

#[test]
fn classes_with_logit_minus_infinity_add_no_loss() {
    let x = Tensor::from([[1.0, f64::NEG_INFINITY, 2.0]]).requires_grad_();
    let sum = CrossEntropyOptions { reduction: Reduction::Sum, ..CrossEntropyOptions::default() };
    for target in [Tensor::from([2i64]), Tensor::from([[0.0, 0.0, 1.0]])] {
        x.zero_grad();
        let y = cross_entropy(&x, &target, &sum);
        assert!((y.item::<f64>().unwrap() - (1.0 + (-1f64).exp()).ln()).abs() < 1e-15);
        y.backward().unwrap();
        let p = 1.0 / (1.0 + 1f64.exp());
        for (g, right) in f64s(&x.grad().unwrap()).iter().zip([p, 0.0, -p]) {
            assert!((g - right).abs() < 1e-15);
        }
    }
}

#[test]
fn integers_and_booleans_as_targets() {
    let x = Tensor::from([0.25f32, 0.75]);
    let labels = Tensor::from([true, false]);
    let y = binary_cross_entropy(&x, &labels, None, Reduction::None);
    let right = binary_cross_entropy(&x, &Tensor::from([1.0f32, 0.0]), None, Reduction::None);
    assert_eq!(y.to_vec::<f32>().unwrap(), right.to_vec::<f32>().unwrap());
    let whole = mse_loss(&Tensor::from([1i64, 2]), &Tensor::from([3i64, 3]), Reduction::Mean);
    assert_eq!(whole.item::<f32>().unwrap(), 2.5);
}

#[test]
fn ids_that_do_not_fit() {
    let table = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    assert_refused(&embedding(&table, &table, None), "embedding", &["ids must be integers"]);
    let ids = Tensor::from([0i64, 2]);
    assert_refused(&embedding(&ids, &table, Some(3)), "embedding", &["padding_idx 3", "a table of 3 rows"]);
    assert_refused(&embedding(&ids, &Tensor::zeros([]), None), "embedding", &["has no rows"]);
    for bad in [-1i64, 3] {
        assert_refused(&embedding(&Tensor::from([0, bad]), &table, None), "embedding", &["out of range"]);
        assert_refused(&Tensor::from([0, bad]).one_hot(3), "one_hot", &["classes must be in 0..3"]);
    }
    assert_refused(&table.one_hot(3), "one_hot", &["classes must be integers"]);
    assert_eq!(f64s(&embedding(&ids, &table, Some(-1))), [1.0, 2.0, 5.0, 6.0]);
}

#[test]
fn gather_stays_in_its_row() {
    let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    for bad in [3i64, 4, 100, -4, i64::MAX, i64::MIN] {
        let index = Tensor::from([[0i64], [bad]]);
        assert_refused(&x.gather(1, &index), "gather", &["out of range"]);
        let index = Tensor::from([[bad], [0i64]]);
        assert_refused(&x.gather(1, &index), "gather", &["out of range"]);
        assert_refused(&x.index_select(1, &Tensor::from([bad])), "index_select", &["out of range"]);
        assert_refused(&x.scatter_add(1, &index, &Tensor::zeros([2, 1])), "scatter", &["out of range"]);
    }
    assert_eq!(f64s(&x.gather(1, &Tensor::from([[-1i64], [-3]]))), [3.0, 4.0]);
}

#[test]
fn attention_that_does_not_fit() {
    let plain = AttentionOptions::default();
    let at = |q: &[usize], k: &[usize], v: &[usize], options: &AttentionOptions| {
        scaled_dot_product_attention(&Tensor::zeros(q), &Tensor::zeros(k), &Tensor::zeros(v), options)
    };
    let name = "scaled_dot_product_attention";
    assert_refused(&at(&[2, 3], &[4, 2], &[4, 2], &plain), name, &["[2,3]", "[4,2]", "number of features"]);
    assert_refused(
        &at(&[2, 3], &[4, 3], &[5, 3], &plain),
        name,
        &["the same extent on the second-to-last axis"],
    );
    assert_refused(&at(&[3], &[4, 3], &[4, 3], &plain), name, &["at least two axes"]);
    assert_refused(&at(&[4, 2, 3], &[2, 2, 3], &[2, 2, 3], &plain), name, &["enable_gqa"]);
    let gqa = AttentionOptions { enable_gqa: true, ..AttentionOptions::default() };
    assert_refused(&at(&[5, 2, 3], &[2, 2, 3], &[2, 2, 3], &gqa), name, &["must divide those of the query"]);
    assert_refused(&at(&[0, 2, 3], &[2, 2, 3], &[2, 2, 3], &gqa), name, &["must divide those of the query"]);
    assert_refused(&at(&[2, 3], &[2, 3], &[2, 3], &gqa), name, &["no axis of heads"]);
    let with = |f: &dyn Fn(&mut AttentionOptions)| {
        let mut options = AttentionOptions::default();
        f(&mut options);
        at(&[2, 3], &[4, 3], &[4, 3], &options)
    };
    assert_refused(&with(&|o| o.mask = Some(Tensor::zeros([3, 4]))), name, &["[3,4]", "scores [2,4]"]);
    assert_refused(&with(&|o| o.mask = Some(Tensor::zeros([7, 2, 4]))), name, &["[7,2,4]", "scores [2,4]"]);
    assert_refused(&with(&|o| o.mask = Some(Tensor::from([1i64; 4]))), name, &["must be boolean or float"]);
    assert_refused(&with(&|o| o.window = Some(0)), name, &["window 0"]);
    assert_refused(&with(&|o| o.softcap = Some(0.0)), name, &["softcap 0"]);
    assert_refused(&with(&|o| o.dropout = 2.0), name, &["p 2"]);
    let x = Tensor::zeros([2, 3]);
    assert_refused(&x.rope(100.0, 0), "rope", &["[2,3]", "even extent"]);
    assert_refused(&Tensor::zeros([4]).rope(100.0, 0), "rope", &["two axes"]);
    let x = Tensor::zeros([2, 4]);
    assert_refused(&x.rope(0.0, 0), "rope", &["base 0"]);
    assert_refused(&x.rope_at(&Tensor::zeros([3]), 10.0), "rope_at", &["[3]", "broadcast to [2]"]);
    assert_refused(&x.rope_with(&Tensor::zeros([2, 3]), &x), "rope_with", &["[2,3]", "must be 4 or 2"]);
}

#[test]
fn windows_and_hidden_queries() {
    let n = 5;
    let (q, k) = (Tensor::zeros([n, 2]), Tensor::zeros([n, 2]));
    let v = Tensor::eye(n);
    // Equal scores give equal weights over the visible keys.
    let seen = |window, causal| {
        let options = AttentionOptions { window, causal, ..AttentionOptions::default() };
        f64s(&scaled_dot_product_attention(&q, &k, &v, &options))
    };
    for (w, causal) in [(2, false), (2, true), (100, false), (usize::MAX, true)] {
        for (at, p) in seen(Some(w), causal).iter().enumerate() {
            let (i, j) = (at / n, at % n);
            let right = if j <= i && i - j < w { 1.0 / (i + 1).min(w) as f64 } else { 0.0 };
            assert!((p - right).abs() < 1e-7, "{i} {j} {p}");
        }
    }
    // The second query sees no key: zeros, also in every gradient, and through minus infinity.
    let leaf = |t: &Tensor| t.requires_grad_();
    let (q, k, v) = (leaf(&Tensor::ones([2, 2])), leaf(&Tensor::ones([3, 2])), leaf(&Tensor::ones([3, 2])));
    let hide = f32::NEG_INFINITY;
    let bias = leaf(&Tensor::from([[0.0, 1.0, hide], [hide, hide, hide]]));
    let options = AttentionOptions { mask: Some(bias.clone()), ..AttentionOptions::default() };
    let y = scaled_dot_product_attention(&q, &k, &v, &options);
    assert_eq!(f64s(&y)[2..], [0.0, 0.0]);
    y.square().sum(()).backward().unwrap();
    for t in [&q, &k, &v, &bias] {
        assert!(f64s(&t.grad().unwrap()).iter().all(|g| g.is_finite()));
    }
    assert_eq!(f64s(&q.grad().unwrap())[2..], [0.0, 0.0]);
    assert_eq!(f64s(&bias.grad().unwrap())[2..], [0.0; 4]);
}

#[test]
fn a_causal_trace_holds_no_matrix() {
    let x = Tensor::ones([1, 1, 64, 4]);
    let options = AttentionOptions { causal: true, window: Some(9), ..AttentionOptions::default() };
    let attend = |x: &Tensor| scaled_dot_product_attention(&x.rope(100.0, 0), x, x, &options);
    let text = trace(&[&x], |x| attend(&x[0])).unwrap().to_string();
    let longest = text.lines().filter(|l| l.contains("constant")).map(str::len).max();
    assert!(longest.is_some_and(|l| l < 100), "{longest:?}");
    assert!(text.contains("name=\"scaled_dot_product_attention\"") && text.contains("name=\"rope\""));
}
