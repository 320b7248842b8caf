//! Random numbers: exact words, distributions, and the generator's state in eager code and in traces.

use gradus_ir::{DType, Literal, reference};
use gradus_tensor::{Generator, Tensor, default_generator, manual_seed, trace_function};

const DRAWS: usize = 100_000;

fn f64s(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64).to_vec().unwrap()
}

fn i64s(t: &Tensor) -> Vec<i64> {
    t.to_dtype(DType::I64).to_vec().unwrap()
}

fn state(g: &Generator) -> Vec<u32> {
    g.state().to_vec().unwrap()
}

/// Returns the largest distance of the empirical distribution from the true one.
fn kolmogorov(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    let gap =
        |(i, x): (usize, &f64)| (cdf(*x) - i as f64 / n).abs().max((cdf(*x) - (i + 1) as f64 / n).abs());
    draws.iter().enumerate().map(gap).fold(0.0, f64::max)
}

fn moments(draws: &[f64]) -> (f64, f64) {
    let n = draws.len() as f64;
    let mean = draws.iter().sum::<f64>() / n;
    (mean, draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n)
}

#[test]
fn seed_zero_is_the_published_stream() {
    let words: Vec<u32> = Generator::new(0).bits([4]).to_vec().unwrap();
    assert_eq!(words, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    let uniform: Vec<f32> = Generator::new(0).rand([2, 2]).to_vec().unwrap();
    // The upper 24 bits of each word over 2^24, which is exact in f32.
    let right = [0x66_27e8, 0xe1_69c5, 0xbc_57ac, 0x9b_00db].map(|w: u32| w as f32 / (1u32 << 24) as f32);
    assert_eq!(uniform, right);
    let remainders = [0x6627_e8d5u32, 0xe169_c58d].map(|w| (w % 10) as i64 - 3);
    assert_eq!(i64s(&Generator::new(0).randint(-3, 7, [2])), remainders);
}

#[test]
fn a_seed_gives_one_stream() {
    for seed in [0, 1, 42, u64::MAX] {
        let (a, b) = (Generator::new(seed), Generator::new(seed));
        assert_eq!(f64s(&a.randn([3, 5])), f64s(&b.randn([3, 5])));
        assert_eq!(i64s(&a.randint(0, 9, [7])), i64s(&b.randint(0, 9, [7])));
        a.seed(seed);
        assert_eq!(f64s(&a.rand([3])), f64s(&Generator::new(seed).rand([3])));
    }
    // All 64 bits of the seed matter.
    let first = |seed| i64s(&Generator::new(seed).bits([4]));
    assert_ne!(first(1), first(1 | 1 << 32));
    assert_ne!(first(1), first(2));
}

#[test]
fn draws_advance_the_generator() {
    let g = Generator::new(7);
    let whole = i64s(&Generator::new(7).bits([12]));
    assert_eq!(state(&g), [7, 0, 0, 0]);
    assert_eq!(i64s(&g.bits([4])), whole[..4]);
    assert_eq!(state(&g), [7, 0, 1, 0]);
    // The rest of a partly used block is discarded.
    assert_eq!(i64s(&g.bits([1])), whole[4..5]);
    assert_eq!(i64s(&g.bits([4])), whole[8..]);
    assert_eq!(state(&g), [7, 0, 3, 0]);
    assert_eq!(g.bits([0]).shape().to_vec(), [0]);
    assert_eq!(state(&g), [7, 0, 3, 0]);
    // The state can be saved and restored.
    let saved = g.state().detach();
    let once = f64s(&g.rand([5]));
    g.state().set_(&saved).unwrap();
    assert_eq!(f64s(&g.rand([5])), once);
}

#[test]
fn the_default_generator_can_be_seeded() {
    // The only test that uses the default generator, because tests run in parallel.
    manual_seed(3);
    let x = f64s(&Tensor::randn([4]));
    let y = f64s(&Tensor::rand([4]));
    manual_seed(3);
    assert_eq!(f64s(&Tensor::randn([4])), x);
    assert_eq!(f64s(&default_generator().rand([4])), y);
    let g = Generator::new(3);
    assert_eq!(f64s(&g.randn([4])), x);
}

#[test]
fn rand_is_uniform() {
    let draws = f64s(&Generator::new(0).rand([DRAWS]));
    assert!(draws.iter().all(|x| (0.0..1.0).contains(x)));
    let (mean, variance) = moments(&draws);
    assert!((mean - 0.5).abs() < 0.003, "{mean}");
    assert!((variance - 1.0 / 12.0).abs() < 0.001, "{variance}");
    // The distance exceeds 1.95 / sqrt(n) with probability 0.001. The seed is fixed, so the result is the
    // same in every run.
    let gap = kolmogorov(draws.clone(), |x| x);
    assert!(gap < 1.95 / (DRAWS as f64).sqrt(), "{gap}");
    // Neighbours are not correlated.
    let products: f64 = draws.windows(2).map(|w| (w[0] - 0.5) * (w[1] - 0.5)).sum();
    assert!((products / DRAWS as f64).abs() < 0.001, "{products}");
}

#[test]
fn randn_is_normal() {
    let draws = f64s(&Generator::new(0).randn([DRAWS]));
    assert!(draws.iter().all(|x| x.is_finite()));
    let (mean, variance) = moments(&draws);
    assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.015, "{mean} {variance}");
    let fourth = draws.iter().map(|x| x.powi(4)).sum::<f64>() / DRAWS as f64;
    assert!((fourth - 3.0).abs() < 0.15, "{fourth}");
    let cdf = |x: f64| {
        let erf = Tensor::from(x / std::f64::consts::SQRT_2).erf().item::<f64>().unwrap();
        (1.0 + erf) / 2.0
    };
    let few = draws[..5000].to_vec();
    let gap = kolmogorov(few, cdf);
    assert!(gap < 1.95 / 5000f64.sqrt(), "{gap}");
    // Both tails occur.
    let beyond = |x: f64| draws.iter().filter(|d| **d * x.signum() > x.abs()).count();
    for side in [3.0, -3.0] {
        assert!((90..180).contains(&beyond(side)), "{}", beyond(side));
    }
}

#[test]
fn randint_is_uniform_on_its_range() {
    let draws = i64s(&Generator::new(0).randint(-3, 4, [DRAWS]));
    let mut counts = [0i64; 7];
    for d in draws {
        counts[usize::try_from(d + 3).unwrap()] += 1;
    }
    // A standard deviation is 111.
    let right = DRAWS as i64 / 7;
    assert!(counts.iter().all(|c| (c - right).abs() < 450), "{counts:?}");
    let g = Generator::new(5);
    assert!(i64s(&g.randint(9, 10, [50])).iter().all(|x| *x == 9));
    assert!(i64s(&g.randint(0, 1 << 32, [50])).iter().any(|x| *x > 1 << 31));
    for (low, high) in [(3, 3), (4, 3), (0, (1 << 32) + 1), (i64::MIN, i64::MAX)] {
        let before = state(&g);
        let e = g.randint(low, high, [2]).to_vec::<i64>().unwrap_err().to_string();
        assert!(e.contains("randint") && e.contains("must be a range") && e.contains("random.rs"), "{e}");
        assert_eq!(state(&g), before);
    }
}

#[test]
fn multinomial_with_replacement_follows_the_weights() {
    let w = Tensor::from([[0.0, 1.0, 0.0, 3.0, 0.0], [2.0, 2.0, 2.0, 0.0, 4.0]]);
    let n = 20_000;
    let draws = Generator::new(0).multinomial(&w, n, true);
    assert_eq!(draws.shape().to_vec(), [2, n]);
    for (row, right) in i64s(&draws).chunks(n).zip([[0.0, 0.25, 0.0, 0.75, 0.0], [0.2, 0.2, 0.2, 0.0, 0.4]]) {
        let mut counts = [0.0; 5];
        row.iter().for_each(|&i| counts[usize::try_from(i).unwrap()] += 1.0);
        for (count, p) in counts.iter().zip(right) {
            // A standard deviation of a share is at most 0.0035; a weight of zero is never drawn.
            assert!((count / n as f64 - p).abs() < 0.014 * f64::from(p > 0.0) + 1e-9, "{counts:?}");
        }
    }
    let vector = Generator::new(1).multinomial(&Tensor::from([0.0f32, 5.0]), 10, true);
    assert_eq!(i64s(&vector), [1; 10]);
}

#[test]
fn multinomial_without_replacement_draws_each_once() {
    let w = Tensor::from([1.0, 0.0, 2.0, 5.0, 0.0]);
    let rows = 4000;
    let draws = Generator::new(0).multinomial(&w.expand([rows, 5]), 3, false);
    let mut first = [0.0; 5];
    for row in i64s(&draws).chunks(3) {
        let mut sorted = row.to_vec();
        sorted.sort();
        assert_eq!(sorted, [0, 2, 3]);
        first[usize::try_from(row[0]).unwrap()] += 1.0 / rows as f64;
    }
    // The first of each row is a plain draw. A standard deviation is at most 0.0077.
    for (found, right) in first.iter().zip([0.125, 0.0, 0.25, 0.625, 0.0]) {
        assert!((found - right).abs() < 0.03 * f64::from(right > 0.0) + 1e-9, "{first:?}");
    }
}

#[test]
fn multinomial_refuses_invalid_weights() {
    let g = Generator::new(0);
    let said = |w: &Tensor, n: usize, replacement: bool| {
        g.multinomial(w, n, replacement).to_vec::<i64>().unwrap_err().to_string()
    };
    let cases = [
        (Tensor::from([1.0, -1.0]), 1, true, "must be finite and not negative"),
        (Tensor::from([1.0, f64::NAN]), 1, true, "must be finite and not negative"),
        (Tensor::from([1.0, f64::INFINITY]), 1, false, "must be finite and not negative"),
        (Tensor::from([0.0, 0.0]), 1, true, "at least 1 positive"),
        (Tensor::from([[1.0, 2.0], [0.0, 1.0]]), 3, false, "2 weights are fewer than the 3"),
        (Tensor::from(1.0), 1, true, "has no weights"),
        (Tensor::zeros([2, 0]), 1, true, "has no weights to draw from"),
    ];
    for (w, n, replacement, says) in cases {
        let e = said(&w, n, replacement);
        assert!(e.contains("multinomial") && e.contains(says) && e.contains("random.rs"), "{e}");
    }
    assert_eq!(state(&g), [0; 4]);
    // Positions of weight 0 come last.
    assert_eq!(g.multinomial(&Tensor::from([0.0, 0.0, 2.0]), 2, false).to_vec::<i64>().unwrap(), [2, 0]);
}

/// Runs a traced function that draws, and checks that the state is an input and an output.
fn traced(g: &Generator, ins: &[&Tensor], f: impl FnOnce(&[Tensor]) -> Tensor) -> (Literal, Vec<u32>) {
    let avals: Vec<_> = ins.iter().map(|t| t.aval().unwrap()).collect();
    let before = state(g);
    let function = trace_function(&avals, f).unwrap();
    assert_eq!(state(g), before, "tracing draws nothing");
    assert_eq!((function.captured.len(), function.written.len()), (1, 1));
    assert!(function.written[0].is_same(g.state()) && function.captured[0].is_same(g.state()));
    let mut all: Vec<Literal> = ins.iter().map(|t| t.to_literal().unwrap()).collect();
    all.push(g.state().to_literal().unwrap());
    let mut outs = reference::evaluate(&function.graph, &all).unwrap();
    let next = outs.pop().unwrap();
    (outs.pop().unwrap(), next.i().iter().map(|&w| u32::try_from(w).unwrap()).collect())
}

#[test]
fn a_trace_has_the_state_as_input_and_output() {
    let g = Generator::new(11);
    g.bits([3]);
    let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let noisy = |x: &Tensor| x + g.randn([2, 3]).to_dtype(DType::F64) * g.rand([3]).to_dtype(DType::F64);
    let (out, next) = traced(&g, &[&x], |x| noisy(&x[0]));
    // The words are the same everywhere. Normal numbers differ by at most 2 ulp of `f32`, and the factors are
    // below 4.
    let eager = noisy(&x).to_literal().unwrap();
    assert_eq!(eager.aval(), out.aval());
    for (a, b) in eager.f().iter().zip(out.f()) {
        assert!((a - b).abs() <= 4.0 * 2.0 * f64::from(f32::EPSILON), "{a} {b}");
    }
    assert_eq!(state(&g), next);
    assert_eq!(next, [11, 0, 4, 0]);
    let (out, next) = traced(&g, &[&x], |x| x[0].dropout(0.5, true, &g));
    assert_eq!(x.dropout(0.5, true, &g).to_literal().unwrap(), out);
    assert_eq!(state(&g), next);
    let (out, next) = traced(&g, &[&x], |x| g.multinomial(&x[0], 2, false));
    assert_eq!(g.multinomial(&x, 2, false).to_literal().unwrap(), out);
    assert_eq!(state(&g), next);
}

#[test]
fn dropout_keeps_the_expectation() {
    for p in [0.1, 0.5, 0.9] {
        let y = f64s(&Tensor::ones([DRAWS]).dropout(p, true, &Generator::new(0)));
        let scale = (1.0 / (1.0 - p)) as f32 as f64;
        assert!(y.iter().all(|y| *y == 0.0 || *y == scale));
        let (mean, _) = moments(&y);
        let deviation = (p / (1.0 - p) / DRAWS as f64).sqrt();
        assert!((mean - 1.0).abs() < 4.0 * deviation, "{p}: {mean}");
    }
    let g = Generator::new(0);
    let x = Tensor::from([1.0, f64::NAN, f64::INFINITY]);
    // A dropped element is zero regardless of its value.
    assert_eq!(f64s(&x.dropout(1.0, true, &g)), [0.0; 3]);
    // In evaluation, and for p 0, nothing is drawn.
    let before = state(&g);
    assert!(x.dropout(0.5, false, &g).is_same(&x) && x.dropout(0.0, true, &g).is_same(&x));
    assert_eq!(state(&g), before);
    for p in [-0.1, 1.5, f64::NAN] {
        let e = x.dropout(p, true, &g).to_vec::<f64>().unwrap_err().to_string();
        assert!(
            e.contains("dropout") && e.contains("must be a probability") && e.contains("random.rs"),
            "{e}"
        );
    }
    let e = Tensor::from([1i64, 2]).dropout(0.5, true, &g).check().unwrap_err().to_string();
    assert!(e.contains("takes floats"), "{e}");
}

#[test]
fn the_gradient_of_dropout_is_the_mask() {
    let x = Tensor::full([200], 3.0).requires_grad_();
    let y = x.dropout(0.25, true, &Generator::new(4));
    y.sum(()).backward().unwrap();
    let (y, g) = (f64s(&y), f64s(&x.grad().unwrap()));
    assert!(y.contains(&0.0) && y.iter().any(|y| *y > 0.0));
    for (y, g) in y.iter().zip(g) {
        let scale = (1.0f64 / 0.75) as f32 as f64;
        assert_eq!(g, if *y == 0.0 { 0.0 } else { scale });
    }
}

#[test]
fn attention_drops_weights_and_keeps_their_gradient() {
    use gradus_tensor::{AttentionOptions, scaled_dot_product_attention as attend};
    let q = Tensor::zeros([1, 1, 4]);
    let (k, v) = (Tensor::zeros([1, 8, 4]), Tensor::ones([1, 8, 1]).requires_grad_());
    let options = |generator| AttentionOptions { dropout: 0.5, generator, ..AttentionOptions::default() };
    let g = Generator::new(2);
    let kept = f64s(&Generator::new(2).rand([1, 1, 8]).ge(0.5).to_dtype(DType::F64));
    let y = attend(&q, &k, &v, &options(Some(g.clone())));
    // Each of eight equal weights is dropped or doubled.
    assert_eq!(f64s(&y), [kept.iter().sum::<f64>() / 4.0]);
    assert_eq!(state(&g), [2, 0, 2, 0]);
    y.sum(()).backward().unwrap();
    assert_eq!(f64s(&v.grad().unwrap()), kept.iter().map(|k| k / 4.0).collect::<Vec<_>>());
}

/// Few numbers are drawn directly, and many by programs. The few equal the first of the many, and both
/// advance the state equally.
#[test]
fn few_numbers_are_the_first_of_many() {
    fn drawn<T: gradus_tensor::Element>(
        n: usize,
        draw: impl Fn(&Generator, usize) -> Tensor,
    ) -> (Vec<T>, Vec<u32>) {
        let g = Generator::new(7);
        g.bits([12]);
        (draw(&g, n).to_vec().unwrap(), g.bits([1]).to_vec().unwrap())
    }
    // 256 is the largest number that is drawn directly.
    for n in [1, 8, 256] {
        assert_eq!(drawn::<f32>(n, |g, n| g.rand([n])).0, drawn::<f32>(4096, |g, n| g.rand([n])).0[..n]);
        assert_eq!(drawn::<f32>(n, |g, n| g.randn([n])).0, drawn::<f32>(4096, |g, n| g.randn([n])).0[..n]);
        let whole = |g: &Generator, n: usize| g.randint(-3, 1_000_003, [n]);
        assert_eq!(drawn::<i64>(n, whole).0, drawn::<i64>(4096, whole).0[..n]);
        let after = drawn::<u32>(n, |g, n| g.bits([n])).1;
        assert_eq!(drawn::<f32>(n, |g, n| g.randn([n])).1, after);
    }
}
