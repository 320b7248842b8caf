//! Tests that tokens sampled inside of graphs have the probabilities of `Sampling`, and that compiled and
//! eager samples are equal.

use gradus_nn::{Choosing, Sampling};
use gradus_tensor::{Generator, SampleOptions, Tensor, compile, sample_tokens, sample_tokens_at};

const WAYS: [SampleOptions; 6] = [
    SampleOptions { temperature: 1.0, top_k: None, top_p: 1.0, min_p: 0.0 },
    SampleOptions { temperature: 0.0, top_k: None, top_p: 1.0, min_p: 0.0 },
    SampleOptions { temperature: 0.6, top_k: Some(3), top_p: 1.0, min_p: 0.0 },
    SampleOptions { temperature: 1.3, top_k: None, top_p: 0.7, min_p: 0.0 },
    SampleOptions { temperature: 1.0, top_k: None, top_p: 1.0, min_p: 0.15 },
    SampleOptions { temperature: 0.9, top_k: Some(6), top_p: 0.8, min_p: 0.05 },
];

#[test]
fn probabilities_equal_those_of_the_sampler() {
    // Two logits are equal, and one is minus infinity, which excludes its token.
    let logits = [1.5f32, -0.3, 0.8, 1.5, f32::NEG_INFINITY, 0.2, -2.0, 0.79];
    let n = 20_000;
    let draws: Vec<f32> = (0..n).map(|i| (i as f32 + 0.5) / n as f32).collect();
    let rows = Tensor::from_slice(&logits, [1, 8]).expand([n, 8]);
    for options in WAYS {
        let SampleOptions { temperature, top_k, top_p, min_p } = options;
        let sampler = Sampling { temperature, top_k, top_p, min_p, ..Sampling::default() };
        let right = sampler.probabilities(&logits, &Choosing::default()).unwrap();
        let tokens = sample_tokens_at(&rows, &options, &Tensor::from(draws.clone())).to_vec::<i64>().unwrap();
        for (token, p) in right.iter().enumerate() {
            let count = tokens.iter().filter(|t| **t == token as i64).count();
            assert!(
                (count as f64 / n as f64 - p).abs() <= 3.0 / n as f64,
                "{options:?}: {token} {count} {p}"
            );
        }
    }
}

#[test]
fn compiled_and_eager_samples_are_equal() {
    let logits = Generator::new(5).randn([3, 4, 50]) * 3.0;
    for options in WAYS {
        let eager = sample_tokens(&logits, &options, Some(&Generator::new(9)));
        assert_eq!(eager.shape(), gradus_ir::Shape::from([3, 4]));
        let generator = Generator::new(9);
        let plan = compile(&[&logits], |x| sample_tokens(&x[0], &options, Some(&generator))).unwrap();
        let found = plan.run(&[&logits]).unwrap().remove(0);
        assert_eq!(found.to_vec2::<i64>().unwrap(), eager.to_vec2::<i64>().unwrap(), "{options:?}");
        if options.temperature > 0.0 && options.top_k.is_none() {
            // Every run advances the generator.
            let next = plan.run(&[&logits]).unwrap().remove(0);
            assert_ne!(next.to_vec2::<i64>().unwrap(), found.to_vec2::<i64>().unwrap());
        }
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let logits = Tensor::ones([2, 3]);
    let plain = SampleOptions::default;
    for (options, why) in [
        (SampleOptions { temperature: -1.0, ..plain() }, "0 or more"),
        (SampleOptions { top_p: 0.0, ..plain() }, "above 0"),
        (SampleOptions { min_p: 1.5, ..plain() }, "from 0 to 1"),
    ] {
        let e = sample_tokens(&logits, &options, None).check().unwrap_err().to_string();
        assert!(e.contains(why), "{e}");
    }
    let e = sample_tokens_at(&logits, &plain(), &Tensor::ones([3])).check().unwrap_err().to_string();
    assert!(e.contains("one for each row"), "{e}");
    assert!(sample_tokens(&Tensor::ones([2, 0]), &plain(), None).check().is_err());
}
