//! Sampling of tokens by their logits.

use gradus_nn::Sampling;
use gradus_tensor::{Generator, Tensor};

fn shares(how: Sampling, logits: &[f32]) -> Vec<f64> {
    let (g, n) = (Generator::new(1), 4000);
    let mut counts = vec![0.0; logits.len()];
    for _ in 0..n {
        counts[how.choose(&Tensor::from(logits), &g).unwrap() as usize] += 1.0 / f64::from(n);
    }
    counts
}

#[test]
fn tokens_come_as_often_as_they_should() {
    let logits = [1.0f32.ln(), 2.0f32.ln(), 5.0f32.ln(), 2.0f32.ln()];
    let close = |found: Vec<f64>, right: [f64; 4]| {
        assert!(found.iter().zip(right).all(|(a, b)| (a - b).abs() < 0.03), "{found:?} is not {right:?}");
    };
    close(shares(Sampling::default(), &logits), [0.1, 0.2, 0.5, 0.2]);
    // Half the temperature squares the odds.
    let cool = Sampling { temperature: 0.5, ..Sampling::default() };
    close(shares(cool, &logits), [1.0 / 34.0, 4.0 / 34.0, 25.0 / 34.0, 4.0 / 34.0]);
    let few = Sampling { top_k: Some(2), ..Sampling::default() };
    let found = shares(few, &[0.0, 3.0f32.ln(), -1.0, -2.0]);
    close(found, [0.25, 0.75, 0.0, 0.0]);
    let coldest = shares(Sampling { temperature: 0.0, ..Sampling::default() }, &logits);
    assert!(coldest[2] > 0.999 && coldest[0] + coldest[1] + coldest[3] == 0.0);
    let cold = Sampling { temperature: -1.0, ..Sampling::default() };
    assert!(cold.choose(&Tensor::from(&logits[..]), &Generator::new(0)).is_err());
}

#[test]
fn tokens_follow_each_other_until_it_is_enough() {
    // A model that always predicts the next number.
    let next = |token: i64| {
        let mut logits = [0.0f32; 10];
        logits[(token as usize + 1) % 10] = 50.0;
        Ok(Tensor::from(logits))
    };
    let mut seen = Vec::new();
    let each = |token: i64| {
        seen.push(token);
        token != 2
    };
    Sampling::default().generate(7, &Generator::new(3), next, each).unwrap();
    assert_eq!(seen, [8, 9, 0, 1, 2]);
    let fails = |_: i64| Err(gradus_ir::Error::value("a model", "fails"));
    assert!(Sampling::default().generate(0, &Generator::new(3), fails, |_| true).is_err());
}

#[test]
fn limits_leave_the_likeliest() {
    let logits = [0.5f32.ln(), 0.3f32.ln(), 0.15f32.ln(), 0.05f32.ln()];
    let close = |how: Sampling, right: [f64; 4]| {
        let found = shares(how, &logits);
        assert!(found.iter().zip(right).all(|(a, b)| (a - b).abs() < 0.03), "{found:?} is not {right:?}");
    };
    let usual = Sampling::default();
    // The second reaches 0.7; the third reaches 0.9, at 0.95.
    close(Sampling { top_p: 0.7, ..usual }, [0.625, 0.375, 0.0, 0.0]);
    close(Sampling { top_p: 0.9, ..usual }, [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0.0]);
    close(Sampling { top_p: 1e-9, ..usual }, [1.0, 0.0, 0.0, 0.0]);
    close(Sampling { min_p: 0.2, ..usual }, [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0.0]);
    close(Sampling { top_k: Some(3), top_p: 0.8, ..usual }, [0.625, 0.375, 0.0, 0.0]);
    let g = Generator::new(0);
    let greedy = Sampling { temperature: 0.0, repetition_penalty: 2.0, ..usual };
    // 3 becomes 1.5 and -1 becomes -2; tokens before the last `recent` are not penalized.
    assert_eq!(greedy.choose_after(&[3.0, 2.0, -1.0], &[0], &g).unwrap(), 1);
    assert_eq!(greedy.choose_after(&[-1.0, -1.5, -9.0], &[0, 0], &g).unwrap(), 1);
    assert_eq!(Sampling { recent: 1, ..greedy }.choose_after(&[3.0, 2.0, -1.0], &[0, 2], &g).unwrap(), 0);
    let bad = [
        Sampling { top_p: 0.0, ..usual },
        Sampling { min_p: -0.1, ..usual },
        Sampling { repetition_penalty: 0.0, ..usual },
    ];
    assert!(bad.iter().all(|how| how.choose_after(&[1.0], &[], &g).is_err()));
    assert!(usual.choose_after(&[f32::NAN], &[], &g).is_err());
    assert!(usual.choose_after(&[], &[], &g).is_err());
}
