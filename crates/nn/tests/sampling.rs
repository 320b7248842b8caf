//! Tokens by their logits.

use gradus_nn::{Choosing, Sampling, log_probability, top_log_probabilities};
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
    // Squares of odds at half the temperature.
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
    // A model that always thinks of the next number.
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
    // The second reaches 0.7; of the third the share 0.9 is reached at 0.95.
    close(Sampling { top_p: 0.7, ..usual }, [0.625, 0.375, 0.0, 0.0]);
    close(Sampling { top_p: 0.9, ..usual }, [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0.0]);
    close(Sampling { top_p: 1e-9, ..usual }, [1.0, 0.0, 0.0, 0.0]);
    close(Sampling { min_p: 0.2, ..usual }, [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0.0]);
    close(Sampling { top_k: Some(3), top_p: 0.8, ..usual }, [0.625, 0.375, 0.0, 0.0]);
    let g = Generator::new(0);
    let greedy = Sampling { temperature: 0.0, repetition_penalty: 2.0, ..usual };
    // 3 becomes 1.5 and -1 becomes -2; what came longer ago than `recent` is not punished.
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

/// All settings together, beside NumPy's values (`golden/sampling.py`).
#[test]
fn probabilities_are_those_of_the_formulas() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/sampling.json");
    let cases: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let cases = cases.as_array().unwrap();
    assert_eq!(cases.len(), 60);
    for case in cases {
        let (s, number) = (&case["settings"], |v: &serde_json::Value| v.as_f64().unwrap());
        let integers = |v: &serde_json::Value| -> Vec<i64> {
            v.as_array().unwrap().iter().map(|x| x.as_i64().unwrap()).collect()
        };
        let pairs = |v: &serde_json::Value| -> Vec<(i64, f64)> {
            v.as_array().unwrap().iter().map(|p| (p[0].as_i64().unwrap(), number(&p[1]))).collect()
        };
        let how = Sampling {
            temperature: number(&s["temperature"]),
            top_k: s["top_k"].as_u64().map(|k| k as usize).filter(|k| *k > 0),
            top_p: number(&s["top_p"]),
            min_p: number(&s["min_p"]),
            repetition_penalty: number(&s["repetition_penalty"]),
            recent: s["recent"].as_u64().unwrap() as usize,
            frequency_penalty: number(&s["frequency_penalty"]),
            presence_penalty: number(&s["presence_penalty"]),
        };
        let numbers =
            |v: &serde_json::Value| -> Vec<f64> { v.as_array().unwrap().iter().map(number).collect() };
        let logits: Vec<f32> = numbers(&case["logits"]).iter().map(|x| *x as f32).collect();
        let (before, bias) = (integers(&case["before"]), pairs(&case["bias"]));
        let generated = case["generated"].as_u64().unwrap() as usize;
        let choosing = Choosing { before: &before, generated, bias: &bias, allowed: None };
        let found = how.probabilities(&logits, &choosing).unwrap();
        let right = numbers(&case["probabilities"]);
        let close = |a: &f64, b: &f64| (a - b).abs() <= 1e-12 * b.abs().max(1e-3);
        assert!(
            found.len() == right.len() && found.iter().zip(&right).all(|(a, b)| close(a, b)),
            "{case} {found:?}"
        );
        for (token, right) in numbers(&case["log_probabilities"]).iter().enumerate() {
            assert!((log_probability(&logits, token as i64).unwrap() - right).abs() < 1e-12);
        }
        let top = top_log_probabilities(&logits, 5);
        let right = pairs(&case["top"]);
        assert!(
            top.iter().zip(&right).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-12),
            "{top:?} {right:?}"
        );
        // What is drawn has a probability, and the likeliest comes at temperature 0.
        let g = Generator::new(generated as u64);
        for _ in 0..20 {
            assert!(found[how.choose_with(&logits, &choosing, &g).unwrap() as usize] > 0.0);
        }
    }
    assert_eq!(top_log_probabilities(&[0.0, 0.0], 9).len(), 2);
    assert!(top_log_probabilities(&[0.0, 0.0], 0).is_empty());
    assert_eq!(log_probability(&[0.0], 1), None);
}

#[test]
fn tokens_that_are_not_allowed_never_come() {
    let (logits, g) = ([5.0f32, 4.0, 3.0, 2.0], Generator::new(2));
    let allowed = [false, false, true, true];
    let choosing = Choosing { allowed: Some(&allowed), ..Choosing::default() };
    let greedy = Sampling { temperature: 0.0, ..Sampling::default() };
    assert_eq!(greedy.choose_with(&logits, &choosing, &g).unwrap(), 2);
    let p = Sampling::default().probabilities(&logits, &choosing).unwrap();
    let odds = 1.0f64.exp();
    assert!(p[0] == 0.0 && p[1] == 0.0 && (p[2] - odds / (1.0 + odds)).abs() < 1e-12, "{p:?}");
    // Tokens behind the end of the list are not allowed either, and a bias cannot make them so.
    let choosing = Choosing { allowed: Some(&allowed[..1]), bias: &[(3, 100.0)], ..Choosing::default() };
    assert!(greedy.choose_with(&logits, &choosing, &g).unwrap_err().to_string().contains("none is allowed"));
}
