//! Tests that an update in one call gives the values of its rule, regardless of the rules that ran before.
//! Calls share compiled programs by name and structure, so a rule whose structure omits a field that its
//! function reads fails here.

use gradus_nn::Rule;
use gradus_nn::optim::*;
use gradus_tensor::Tensor;

/// Returns every rule with several values of the fields that change its function.
fn rules() -> Vec<Box<dyn Rule>> {
    let mut all: Vec<Box<dyn Rule>> = vec![
        Box::new(Lion::default()),
        Box::new(Rprop::default()),
        Box::new(Adafactor::default()),
        Box::new(Adafactor { eps: (Some(1e-6), 1e-3), weight_decay: 0.1, ..Adafactor::default() }),
    ];
    for weight_decay in [0.0, 0.1] {
        for nesterov in [false, true] {
            all.push(Box::new(Sgd { momentum: 0.9, nesterov, weight_decay, ..Sgd::default() }));
        }
        all.push(Box::new(Sgd { weight_decay, ..Sgd::default() }));
        for amsgrad in [false, true] {
            all.push(Box::new(Adam { amsgrad, weight_decay, ..Adam::default() }));
            all.push(Box::new(AdamW { amsgrad, weight_decay, ..AdamW::default() }));
        }
        for decoupled in [false, true] {
            all.push(Box::new(NAdam { decoupled, weight_decay, ..NAdam::default() }));
            all.push(Box::new(RAdam { decoupled, weight_decay, ..RAdam::default() }));
        }
        for (centered, momentum) in [(false, 0.0), (true, 0.0), (false, 0.9), (true, 0.9)] {
            all.push(Box::new(RmsProp { centered, momentum, weight_decay, ..RmsProp::default() }));
        }
        all.push(Box::new(Adamax { weight_decay, ..Adamax::default() }));
        all.push(Box::new(Asgd { weight_decay, ..Asgd::default() }));
        all.push(Box::new(Adagrad { weight_decay, ..Adagrad::default() }));
        all.push(Box::new(Adadelta { weight_decay, ..Adadelta::default() }));
        all.push(Box::new(Lion { weight_decay, ..Lion::default() }));
    }
    all
}

fn wave(phase: f64) -> Tensor {
    let x: Vec<f64> = (0..12).map(|i| (f64::from(i) * 1.7 + phase).sin()).collect();
    Tensor::from_slice(&x, [3, 4])
}

#[test]
fn updates_equal_those_of_the_rule() {
    let both =
        rules().into_iter().zip(rules()).flat_map(|(a, b)| [a, Box::new(Maximize(b)) as Box<dyn Rule>]);
    for (k, rule) in both.enumerate() {
        let p = wave(0.3);
        let mut state: Vec<Tensor> = rule.state(&p).into_iter().map(|(_, first)| first.of(&p)).collect();
        for step in 1..4 {
            let g = wave(step as f64);
            let numbers = rule.numbers(0.05, step).into_iter().chain(rule.settings());
            let numbers: Vec<Tensor> = numbers.map(|(_, x)| Tensor::from(x)).collect();
            let (found, next) = apply(&*rule, &p, &g, &state, &numbers).unwrap();
            let (right, right_state) = rule.update(&p, &g, &state, &numbers);
            assert_eq!(next.len(), right_state.len());
            for (found, right) in [(&found, &right)].into_iter().chain(next.iter().zip(&right_state)) {
                let (found, right) = (found.to_vec::<f64>().unwrap(), right.to_vec::<f64>().unwrap());
                for (x, y) in found.iter().zip(&right) {
                    let near = (x - y).abs() <= 1e-12 * y.abs().max(1.0);
                    assert!(near, "{} {k}, step {step}: {x} is not {y}", rule.name());
                }
            }
            state = next;
        }
    }
}
