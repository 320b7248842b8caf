//! The workloads: for each, the unit of work that is repeated, and a value to check it.

use crate::Failure;
use crate::inputs::fill;
use crate::models::{self, Model};
use gradus::nn::optim::{Adam, AdamW, Sgd};
use gradus::nn::{Clip, Module, Optimizer, Rule, compile_training};
use gradus::{
    All, AttentionOptions, Compiled, DType, Device, ScanOptions, Tensor, compile,
    scaled_dot_product_attention, scan, vjp,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

type Action = Box<dyn FnMut() -> Result<(), Failure>>;

/// A workload.
pub(crate) struct Workload {
    /// One repetition.
    pub(crate) repeat: Action,
    /// Resets the parameters to their initial values.
    pub(crate) reset: Action,
    /// The check value, which must be the same for all systems.
    pub(crate) check: Box<dyn FnMut() -> Result<f64, Failure>>,
    /// Operations in one repetition.
    pub(crate) inner: usize,
    /// Describes the plan and the times of its steps as text.
    pub(crate) explain: Option<Box<dyn Fn() -> Result<String, Failure>>>,
}

/// Names of all workloads.
pub(crate) const NAMES: &[&str] = &[
    "W1.128",
    "W1.512",
    "W1.1024",
    "W1.2048",
    "W1.batched",
    "W1.2048bf16",
    "W2.4M",
    "W2.64K",
    "W2.64M",
    "W3.softmax",
    "W3.softmax_fb",
    "W3.ln",
    "W3.ln_fb",
    "W4",
    "W5",
    "W6",
    "W7",
    "W8",
    "W9.nograd",
    "W9.grad",
    "W11",
    "W11.compiled",
    "T.sine",
    "T.digits",
    "T.addition",
];

/// Builds a workload.
pub(crate) fn build(name: &str) -> Result<Workload, Failure> {
    Ok(match name {
        "W1.batched" => matmul(fill(1, &[64, 128, 64], 1.0), fill(2, &[64, 64, 128], 1.0))?,
        "W1.2048bf16" => {
            let narrow = |seed: u64| fill(seed, &[2048, 2048], 1.0).to_dtype(DType::BF16);
            matmul(narrow(1), narrow(2))?
        }
        "W2.4M" => chain(1 << 22)?,
        "W2.64K" => chain(1 << 16)?,
        "W2.64M" => chain(1 << 26)?,
        "W3.softmax" => compiled(&[rows()], |x| vec![x[0].softmax(-1)])?,
        "W3.softmax_fb" => {
            compiled(&[rows(), cotangent()], |x| gradients(&x[..1], &x[1], |x| x[0].softmax(-1)))?
        }
        "W3.ln" => compiled(&norm_inputs()[..3], |x| vec![layer_norm(x)])?,
        "W3.ln_fb" => compiled(&norm_inputs(), |x| gradients(&x[..3], &x[3], layer_norm))?,
        "W4" => training(models::mlp(), Adam::default(), None)?,
        "W5" => training(models::gpt(4, 16), Adam::default(), None)?,
        "W6" => training(models::cnn(), Sgd { rate: 0.01, ..Sgd::default() }, None)?,
        "W7" => lstm()?,
        "W8" => training(models::bengio(), Sgd { rate: 0.1, ..Sgd::default() }, None)?,
        "T.sine" => training(models::sine(), Adam { rate: 0.005, ..Adam::default() }, None)?,
        "T.digits" => training(models::digits(), AdamW::default(), Some(Clip::Norm(1.0)))?,
        "T.addition" => training(models::addition(), AdamW::default(), Some(Clip::Norm(1.0)))?,
        "W9.nograd" => eager_add(false),
        "W9.grad" => eager_add(true),
        "W11" => eager_chain(),
        "W11.compiled" => compiled_chain()?,
        _ => match (name.strip_prefix("W1."), name.strip_prefix("W5.")) {
            (Some(n), _) => {
                let n: usize = n.parse()?;
                matmul(fill(1, &[n, n], 1.0), fill(2, &[n, n], 1.0))?
            }
            _ if name.starts_with("A.") => attention(name[2..].parse()?)?,
            // Layers and batch, for measuring how the cost grows.
            (_, Some(size)) => {
                let (layers, batch) = size.split_once('x').ok_or("W5.LAYERSxBATCH")?;
                training(models::gpt(layers.parse()?, batch.parse()?), Adam::default(), None)?
            }
            _ => return Err(format!("no workload {name}").into()),
        },
    })
}

fn mean_abs(outs: &[Tensor]) -> Result<f64, Failure> {
    let mut sum = 0.0;
    for t in outs {
        let v = t.to_dtype(DType::F32).to_vec::<f32>()?;
        sum += v.iter().map(|x| f64::from(x.abs())).sum::<f64>() / v.len() as f64;
    }
    Ok(sum)
}

/// Makes a workload that runs a compiled function on fixed inputs.
fn compiled(ins: &[Tensor], f: impl FnOnce(&[Tensor]) -> Vec<Tensor>) -> Result<Workload, Failure> {
    let ins: Arc<Vec<Tensor>> = Arc::new(ins.to_vec());
    let refs: Vec<&Tensor> = ins.iter().collect();
    let step = Arc::new(compile(&refs, f)?);
    let run = |step: Arc<Compiled>, ins: Arc<Vec<Tensor>>| move || step.run(&ins.iter().collect::<Vec<_>>());
    let (once, checked, kept) = (run(step.clone(), ins.clone()), run(step.clone(), ins.clone()), ins);
    Ok(Workload {
        repeat: Box::new(move || {
            once()?;
            Ok(Device::default().finish()?)
        }),
        reset: Box::new(|| Ok(())),
        check: Box::new(move || mean_abs(&checked()?)),
        inner: 1,
        explain: Some(Box::new(move || Ok(step.profile(&kept.iter().collect::<Vec<_>>())?))),
    })
}

fn matmul(a: Tensor, b: Tensor) -> Result<Workload, Failure> {
    compiled(&[a, b], |x| vec![x[0].matmul(&x[1])])
}

fn chain(n: usize) -> Result<Workload, Failure> {
    compiled(&[fill(3, &[n], 3.0)], |x| vec![(&x[0] * 1.5 + 0.25).gelu_tanh() * 0.75 + &x[0]])
}

/// Causal attention of 16 heads of 64 features with its gradients, for a context of `n` tokens.
fn attention(n: usize) -> Result<Workload, Failure> {
    let ins = [1, 2, 3, 4].map(|seed| fill(seed, &[1, 16, n, 64], 1.0));
    compiled(&ins, |x| {
        gradients(&x[..3], &x[3], |x| {
            let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
            scaled_dot_product_attention(&x[0], &x[1], &x[2], &options)
        })
    })
}

fn rows() -> Tensor {
    fill(5, &[4096, 1024], 2.0)
}

fn cotangent() -> Tensor {
    fill(8, &[4096, 1024], 1.0)
}

fn norm_inputs() -> Vec<Tensor> {
    vec![rows(), fill(6, &[1024], 0.1) + 1.0, fill(7, &[1024], 0.1), cotangent()]
}

fn layer_norm(x: &[Tensor]) -> Tensor {
    x[0].layer_norm([1024], Some(&x[1]), Some(&x[2]), 1e-5)
}

/// Computes the gradients of a function for a given cotangent of its result.
fn gradients(ins: &[Tensor], g: &Tensor, f: impl FnOnce(&[Tensor]) -> Tensor) -> Vec<Tensor> {
    let refs: Vec<&Tensor> = ins.iter().collect();
    let grads = vjp(&refs, f).and_then(|(_, pull)| pull(&[g]));
    grads.unwrap_or_else(|e| vec![Tensor::failed(e)])
}

/// Forward, backward and update as one compiled step over cells.
fn training(model: Model, rule: impl Rule + 'static, clip: Option<Clip>) -> Result<Workload, Failure> {
    let (data, model) = (model.data.clone(), Rc::new(model));
    let mut optimizer = Optimizer::new(model.parameters(), rule);
    if let Some(clip) = clip {
        optimizer = optimizer.clip(clip);
    }
    let loss = |m: &Model, d: &[Tensor]| (m.loss)(&m.cells(), d);
    let step = Rc::new(RefCell::new(compile_training(model.clone(), loss, optimizer, &data)?));
    let reset = {
        let step = step.clone();
        move || -> Result<(), Failure> {
            for (cell, value) in model.parameters.iter().zip(&model.first) {
                // A separate copy, so that the step may overwrite it.
                cell.data_().set_(&(value + 0.0))?;
            }
            Ok(step.borrow_mut().restart()?)
        }
    };
    let once = {
        let (step, data) = (step.clone(), data.clone());
        move || -> Result<f64, Failure> { Ok(f64::from(step.borrow_mut().run(&data)?.loss.item::<f32>()?)) }
    };
    let (repeat, checked, back) = (once.clone(), once, reset.clone());
    Ok(Workload {
        repeat: Box::new(move || repeat().map(drop)),
        reset: Box::new(reset),
        // Returns the loss of the fourth step, before its update.
        check: Box::new(move || {
            back()?;
            let mut loss = 0.0;
            for _ in 0..4 {
                loss = checked()?;
            }
            Ok(loss)
        }),
        inner: 1,
        explain: Some(Box::new(move || Ok(step.borrow_mut().profile(&data)?))),
    })
}

/// Gradients of an LSTM over 64 steps.
fn lstm() -> Result<Workload, Failure> {
    let s = 1.0 / 128f64.sqrt();
    let ins = [
        fill(31, &[64, 512], s),
        fill(32, &[128, 512], s),
        fill(33, &[512], s),
        fill(30, &[64, 32, 64], 1.0),
        fill(34, &[64, 32, 128], 1.0),
    ];
    fn hidden(p: &[Tensor], x: &Tensor) -> gradus::Result<Tensor> {
        let xi = x.matmul(&p[0]) + &p[2];
        let zero = Tensor::zeros([32, 128]);
        let (_, ys) = scan(&[&zero, &zero], &[&xi], ScanOptions::default(), |carry, x| {
            let gates = &x[0] + carry[0].matmul(&p[1]);
            let part = |i: usize| gates.narrow(-1, i * 128, 128);
            let c = part(1).sigmoid() * &carry[1] + part(0).sigmoid() * part(2).tanh();
            let h = part(3).sigmoid() * c.tanh();
            (vec![h.clone(), c], vec![h])
        })?;
        Ok(ys.into_iter().next().unwrap_or_else(|| Tensor::from(0.0f32)))
    }
    compiled(&ins, |x| {
        let p: Vec<&Tensor> = x[..3].iter().collect();
        let loss = |p: &[Tensor]| match hidden(p, &x[3]) {
            Ok(h) => (h * &x[4]).sum(All),
            Err(e) => Tensor::failed(e),
        };
        gradus::grad(&p, loss).unwrap_or_else(|e| vec![Tensor::failed(e)])
    })
}

fn eager_add(with_grad: bool) -> Workload {
    let (a, b) = (fill(50, &[8], 1.0), fill(51, &[8], 1.0));
    let a = if with_grad { a.requires_grad_() } else { a };
    let (x, y) = (a.clone(), b.clone());
    const MANY: usize = 2000;
    Workload {
        repeat: Box::new(move || {
            for _ in 0..MANY {
                std::hint::black_box(&a + &b);
            }
            Ok(())
        }),
        reset: Box::new(|| Ok(())),
        check: Box::new(move || mean_abs(&[(&x + &y).detach()])),
        inner: MANY,
        explain: None,
    }
}

fn eager_chain() -> Workload {
    fn derivative() -> Result<f64, Failure> {
        let x0 = Tensor::from(0.5f32).requires_grad_();
        let mut x = x0.clone();
        for _ in 0..5000 {
            x = x.sin() + 1e-4;
        }
        x.backward()?;
        let g = x0.grad().ok_or("no gradient")?;
        Ok(f64::from(g.item::<f32>()?))
    }
    Workload {
        repeat: Box::new(|| derivative().map(drop)),
        reset: Box::new(|| Ok(())),
        check: Box::new(derivative),
        inner: 1,
        explain: None,
    }
}

fn compiled_chain() -> Result<Workload, Failure> {
    let mut w = compiled(&[Tensor::from(0.5f32)], |x| {
        let f = |x: &[Tensor]| {
            let how = ScanOptions { length: Some(5000), ..ScanOptions::default() };
            match scan(&[&x[0]], &[], how, |c, _| (vec![c[0].sin() + 1e-4], vec![])) {
                Ok((carry, _)) => carry.into_iter().next().unwrap_or_else(|| Tensor::from(0.0f32)),
                Err(e) => Tensor::failed(e),
            }
        };
        gradus::grad(&[&x[0]], f).unwrap_or_else(|e| vec![Tensor::failed(e)])
    })?;
    w.inner = 1;
    Ok(w)
}
