//! Classification losses: negative log-likelihood and cross entropy.

use super::activation::wide;
use super::loss::{Reduction, common, must};
use crate::region::{arg, region1};
use crate::tensor::Tensor;
use gradus_ir::{Class, DType, Error, Result};

/// Options of [`nll_loss`].
#[derive(Clone, Debug)]
pub struct NllOptions {
    /// A weight for each class.
    pub weight: Option<Tensor>,
    /// Targets of this class are ignored.
    pub ignore_index: i64,
    /// Reduction of the single losses; the mean is weighted.
    pub reduction: Reduction,
}

impl Default for NllOptions {
    fn default() -> NllOptions {
        NllOptions { weight: None, ignore_index: -100, reduction: Reduction::Mean }
    }
}

/// Options of [`cross_entropy`].
#[derive(Clone, Debug)]
pub struct CrossEntropyOptions {
    /// A weight for each class.
    pub weight: Option<Tensor>,
    /// Targets of this class are ignored.
    pub ignore_index: i64,
    /// Fraction of every target that is spread evenly over all classes.
    pub label_smoothing: f64,
    /// Reduction of the single losses. If targets are classes, the mean is weighted.
    pub reduction: Reduction,
}

impl Default for CrossEntropyOptions {
    fn default() -> CrossEntropyOptions {
        CrossEntropyOptions {
            weight: None,
            ignore_index: -100,
            label_smoothing: 0.0,
            reduction: Reduction::Mean,
        }
    }
}

/// Returns the class axis and the dtype of the result, or an error if the operands do not fit.
fn classes(input: &Tensor, target: &Tensor, weight: Option<&Tensor>, ignore: i64) -> Result<(usize, DType)> {
    let (shape, own) = (input.shape(), target.shape());
    let axis = usize::from(shape.rank() > 1);
    let Some(&count) = shape.get(axis) else {
        return Err(Error::shape(
            "a scalar input",
            "has no class axis; it must be [c], or [n, c] and further axes",
        ));
    };
    let ids = target.dtype().class() == Class::Int;
    let fits = if ids { shape.without(&[axis]) } else { shape.clone() };
    if own != fits {
        let kind = if ids { "of classes" } else { "of probabilities" };
        let why = format!("does not fit the input's {shape}: it must be {fits} (classes are axis {axis})");
        return Err(Error::shape(format!("a target {kind} of shape {own}"), why));
    }
    // Checks classes whose values are known here, where the error can show the user's numbers. Inside a trace
    // the evaluation checks them.
    if ids
        && target.device().is_cpu()
        && let Ok(found) = target.to_literal()
    {
        let out = |c: &&i64| (**c < 0 || **c >= count as i64) && **c != ignore;
        if let Some(class) = found.i().iter().find(out) {
            return Err(Error::index(*class, count));
        }
    }
    let real = [Some(input), weight, Some(target).filter(|_| !ids)];
    let dtype = common(&real.into_iter().flatten().collect::<Vec<_>>())?;
    match weight.map(|w| w.shape()) {
        Some(w) if *w != [count] => {
            let why = format!("must be [{count}], one for each class");
            Err(Error::shape(format!("class weights of shape {w}"), why))
        }
        _ => Ok((axis, dtype)),
    }
}

/// Returns a mask of the ignored targets, the targets with 0 at the masked positions, and the weight of each
/// target.
fn targets(target: &Tensor, weight: Option<&Tensor>, ignore: i64, count: usize, dtype: DType) -> [Tensor; 3] {
    let target = target.to_dtype(DType::I64);
    let ignored = target.eq(ignore);
    let safe = ignored.select(0, &target);
    // A negative class must be an error, but `gather` counts it from the end. Subtracting the number of
    // classes keeps it out of range.
    let safe = safe.lt(0).select(&(&safe - count as i64), &safe);
    let weights = match weight {
        Some(w) => ignored.select(0.0, &w.index_select(0, &safe)),
        None => ignored.not().to_dtype(dtype),
    };
    [ignored, safe, weights]
}

/// Returns the negated values at the target classes.
fn negated_at_targets(x: &Tensor, axis: usize, [ignored, safe, _]: &[Tensor; 3]) -> Tensor {
    let axis = axis as isize;
    let at = x.gather(axis, &safe.unsqueeze(axis)).squeeze(axis);
    -ignored.select(0.0, &at)
}

fn weighted_mean(losses: &Tensor, weights: &Tensor, reduction: Reduction) -> Tensor {
    match reduction {
        Reduction::Mean => losses.sum(()) / weights.sum(()),
        other => other.of(losses),
    }
}

/// The negative log-probability of the target class. The input holds log-probabilities on axis 1 (`[n, c,
/// ...]`, or `[c]`), the target a class for each of the other positions. A class out of range is an error
/// when the loss is evaluated. The mean is NaN if all targets are ignored.
#[track_caller]
pub fn nll_loss(input: &Tensor, target: &Tensor, options: &NllOptions) -> Tensor {
    let NllOptions { weight, ignore_index, reduction } = options;
    let ins: Vec<&Tensor> = [input, target].into_iter().chain(weight).collect();
    let fits = classes(input, target, weight.as_ref(), options.ignore_index);
    let (axis, dtype) = match fits {
        Ok(_) if target.dtype().class() != Class::Int => {
            let e = Error::dtype(target.dtype(), "the target is a class, an integer");
            return Tensor::refuse("nll_loss", &ins, e);
        }
        Ok(fits) => fits,
        Err(e) => return Tensor::refuse("nll_loss", &ins, e),
    };
    let args = vec![arg("weight", weight.is_some()), arg("ignore_index", *ignore_index), reduction.arg()];
    region1("nll_loss", args, &ins, |x| {
        let logs = wide(&x[0].to_dtype(dtype));
        let weight = x.get(2).map(|w| w.to_dtype(logs.dtype()));
        let chosen = targets(&x[1], weight.as_ref(), *ignore_index, logs.dim(axis as isize), logs.dtype());
        let losses = negated_at_targets(&logs, axis, &chosen) * &chosen[2];
        weighted_mean(&losses, &chosen[2], *reduction).to_dtype(dtype)
    })
}

/// The negative log-probability of the target under the softmax of the input over axis 1 (`[n, c, ...]`, or
/// `[c]`). The target is a class for each of the other positions (integers), or probabilities of all classes
/// (the input's shape). A class out of range is an error when the loss is evaluated. The logit of a class of
/// target probability 0 may be minus infinity.
#[track_caller]
pub fn cross_entropy(input: &Tensor, target: &Tensor, options: &CrossEntropyOptions) -> Tensor {
    let CrossEntropyOptions { weight, ignore_index, label_smoothing, reduction } = options;
    let (smoothing, reduction) = (*label_smoothing, *reduction);
    let ins: Vec<&Tensor> = [input, target].into_iter().chain(weight).collect();
    let range = || {
        let fits = (0.0..=1.0).contains(&smoothing);
        must(fits, format!("label_smoothing {smoothing}"), "must be from 0 to 1")
    };
    let (axis, dtype) = match classes(input, target, weight.as_ref(), options.ignore_index)
        .and_then(|c| range().map(|()| c))
    {
        Ok(fits) => fits,
        Err(e) => return Tensor::refuse("cross_entropy", &ins, e),
    };
    let args = vec![
        arg("weight", weight.is_some()),
        arg("ignore_index", *ignore_index),
        arg("label_smoothing", smoothing),
        reduction.arg(),
    ];
    let ids = target.dtype().class() == Class::Int;
    region1("cross_entropy", args, &ins, |x| {
        let logs = wide(&x[0].to_dtype(dtype)).log_softmax(axis as isize);
        let (count, weight) = (logs.dim(axis as isize), x.get(2).map(|w| w.to_dtype(logs.dtype())));
        // Broadcasts class weights along the class axis.
        let along: Vec<usize> = (0..logs.rank()).map(|a| if a == axis { count } else { 1 }).collect();
        let weighted = |t: Tensor| weight.as_ref().map_or(t.clone(), |w| t * w.reshape(&along));
        if ids {
            let chosen = targets(&x[1], weight.as_ref(), *ignore_index, count, logs.dtype());
            let sharp = negated_at_targets(&logs, axis, &chosen) * &chosen[2];
            let losses = if smoothing == 0.0 {
                sharp
            } else {
                let even = chosen[0].select(0.0, &-weighted(logs).sum(axis as isize));
                sharp * (1.0 - smoothing) + even * (smoothing / count as f64)
            };
            weighted_mean(&losses, &chosen[2], reduction).to_dtype(dtype)
        } else {
            let target = x[1].to_dtype(logs.dtype()) * (1.0 - smoothing) + smoothing / count.max(1) as f64;
            let never = target.eq(0.0).and(&logs.eq(f64::NEG_INFINITY));
            let losses = -weighted(target * never.select(0.0, &logs)).sum(axis as isize);
            reduction.of(&losses).to_dtype(dtype)
        }
    })
}

pub(super) fn samples(s: &mut super::Samples) {
    for reduction in [Reduction::Mean, Reduction::Sum, Reduction::None] {
        for shape in [&[3, 4][..], &[4], &[2, 3, 2], &[1, 1], &[2, 2, 1, 3], &[0, 3]] {
            if shape.contains(&0) && reduction == Reduction::Mean {
                continue; // the mean of no elements is NaN
            }
            let axis = usize::from(shape.len() > 1);
            let rest: Vec<usize> = (0..shape.len()).filter(|a| *a != axis).map(|a| shape[a]).collect();
            let count = shape[axis] as i64;
            let ins = [s.draw.normal(shape), s.draw.ints((0, count), &rest[..])];
            let options = NllOptions { reduction, ..NllOptions::default() };
            s.case("nll_loss", ins.clone(), move |x| nll_loss(&x[0], &x[1], &options));
            let plain = CrossEntropyOptions { reduction, ..CrossEntropyOptions::default() };
            let options = plain.clone();
            s.case("cross_entropy", ins.clone(), move |x| cross_entropy(&x[0], &x[1], &options));
            let [x, y] = ins;
            let ins = [x, y, s.draw.uniform((0.5, 2.0), [shape[axis]])];
            s.case("cross_entropy", ins, move |x| {
                let weight = Some(x[2].clone());
                let options =
                    CrossEntropyOptions { weight, label_smoothing: 0.2, reduction, ..Default::default() };
                cross_entropy(&x[0], &x[1], &options)
            });
            let ins = [s.draw.normal(shape), s.draw.uniform((0.1, 0.9), shape)];
            s.case("cross_entropy", ins, move |x| cross_entropy(&x[0], &x[1], &plain));
        }
    }
    // Targets of which some are ignored, and probabilities, both with weights.
    let ids = s.draw.ints((1, 2), [3]);
    let ins = [s.draw.normal([3, 4]), ids.clone(), s.draw.uniform((0.5, 2.0), [4])];
    for ignore_index in [0, 1] {
        s.case("nll_loss", ins.clone(), move |x| {
            let weight = Some(x[2].clone());
            nll_loss(&x[0], &x[1], &NllOptions { weight, ignore_index, reduction: Reduction::Sum })
        });
        s.case("cross_entropy", ins.clone(), move |x| {
            let weight = Some(x[2].clone());
            let reduction = Reduction::Sum;
            let options = CrossEntropyOptions { weight, ignore_index, label_smoothing: 0.1, reduction };
            cross_entropy(&x[0], &x[1], &options)
        });
    }
    let [x, _, w] = ins;
    let ins = [x, s.draw.uniform((0.1, 0.9), [3, 4]), w];
    s.case("cross_entropy", ins, |x| {
        let weight = Some(x[2].clone());
        let options = CrossEntropyOptions { weight, label_smoothing: 0.1, ..Default::default() };
        cross_entropy(&x[0], &x[1], &options)
    });
    // Equal logits, and logits that are far apart.
    let ins = [s.draw.floats([2, 2], &[0.0, 0.0, 300.0, -300.0]), s.draw.ints((0, 2), [2])];
    s.case("cross_entropy", ins, |x| cross_entropy(&x[0], &x[1], &CrossEntropyOptions::default()));
}
