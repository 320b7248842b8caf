//! Normalization functions: batch, layer, group, instance, RMS and local response.
//!
//! Statistics of `f16` and `bf16` are computed in `f32`; the result has the dtype of the input.

use super::activation::{channelwise, floating, wide};
use super::stats::mean_kept;
use crate::eager::apply::apply1;
use crate::movement::Dims;
use crate::region::{Args, arg, region, region1};
use crate::tensor::Tensor;
use gradus_ir::ops::window::Windows;
use gradus_ir::{Error, Result};

/// Normalizes to mean 0 and variance 1 over axes.
fn standardized(x: &Tensor, axes: &[isize], eps: f64) -> Tensor {
    let from_mean = x - mean_kept(x, axes);
    &from_mean * (mean_kept(&from_mean.square(), axes) + eps).rsqrt()
}

/// Operands of which some are optional: those present, and flags that say which.
struct Operands<'a> {
    tensors: Vec<&'a Tensor>,
    args: Args,
}

impl<'a> Operands<'a> {
    fn new(x: &'a Tensor, optional: &[(&str, Option<&'a Tensor>)], mut args: Args) -> Operands<'a> {
        args.extend(optional.iter().map(|(name, t)| arg(name, t.is_some())));
        Operands { tensors: [x].into_iter().chain(optional.iter().filter_map(|(_, t)| *t)).collect(), args }
    }

    /// Returns the first operand that has failed.
    fn failure(&self) -> Option<Tensor> {
        self.tensors.iter().find(|t| t.error().is_some()).map(|t| (*t).clone())
    }
}

/// Multiplies by the weight and adds the bias, if present, and converts to the dtype of `like`. `has` tells
/// which of the two `rest` contains.
fn affine<'a>(
    mut y: Tensor,
    has: [bool; 2],
    rest: impl IntoIterator<Item = &'a Tensor>,
    like: &Tensor,
    fit: impl Fn(&Tensor) -> Tensor,
) -> Tensor {
    let mut rest = rest.into_iter();
    if let Some(weight) = has[0].then(|| rest.next()).flatten() {
        y *= &fit(weight);
    }
    if let Some(bias) = has[1].then(|| rest.next()).flatten() {
        y += &fit(bias);
    }
    y.to_dtype(like.dtype())
}

/// Returns an error if an operand is not a vector of one number per channel.
fn check_channels(channels: usize, vectors: &[(&str, Option<&Tensor>)]) -> Result<()> {
    for (name, vector) in vectors {
        if let Some(t) = vector
            && *t.shape() != [channels]
        {
            let what = format!("a {name} of shape {}", t.shape());
            return Err(Error::shape(
                what,
                format!("must be a vector of {channels}, one per channel (axis 1)"),
            ));
        }
    }
    Ok(())
}

/// Returns the number of channels (axis 1).
fn channels_of(x: &Tensor) -> Result<usize> {
    x.shape().get(1).copied().ok_or_else(|| {
        Error::shape(
            format!("rank {}", x.rank()),
            "has no channels; a batch has at least axes for items and channels",
        )
    })
}

/// Returns the last axes over which to normalize.
fn last_axes(x: &Tensor, normalized: &[i64], vectors: &[(&str, Option<&Tensor>)]) -> Result<Vec<isize>> {
    let shape = x.shape();
    let fits =
        |s: &[usize]| s.len() == normalized.len() && s.iter().zip(normalized).all(|(&a, &b)| a as i64 == b);
    let tail = shape.rank().checked_sub(normalized.len()).map(|lead| &shape[lead..]);
    if normalized.is_empty() || !tail.is_some_and(fits) {
        let why = format!("must be the last extents of {shape}, at least one of them");
        return Err(Error::shape(format!("the normalized shape {normalized:?}"), why));
    }
    for (name, t) in vectors {
        if let Some(t) = t
            && !fits(&t.shape())
        {
            let what = format!("a {name} of shape {}", t.shape());
            return Err(Error::shape(what, format!("must have the normalized shape {normalized:?}")));
        }
    }
    Ok((1..=normalized.len() as isize).map(|a| -a).collect())
}

/// Settings of [`batch_norm`](Tensor::batch_norm).
#[derive(Clone, Debug)]
pub struct BatchNormOptions {
    /// If true, uses the batch's statistics and updates the running ones.
    pub training: bool,
    /// Weight of the batch in the update of the running statistics.
    pub momentum: f64,
    /// Added to the variance.
    pub eps: f64,
}

impl Default for BatchNormOptions {
    fn default() -> BatchNormOptions {
        BatchNormOptions { training: false, momentum: 0.1, eps: 1e-5 }
    }
}

impl Tensor {
    /// Normalizes to mean 0 and variance 1 over the last axes, whose extents are `normalized`; then applies
    /// elementwise weight and bias.
    #[track_caller]
    pub fn layer_norm(
        &self,
        normalized_shape: impl Dims,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        eps: f64,
    ) -> Tensor {
        let (x, own) = (floating(self), [("weight", weight), ("bias", bias)]);
        let normalized = normalized_shape.dims();
        let ins = Operands::new(&x, &own, vec![arg("normalized_shape", normalized.clone()), arg("eps", eps)]);
        if let Some(failed) = ins.failure() {
            return failed;
        }
        let axes = match last_axes(&x, &normalized, &own) {
            Ok(axes) => axes,
            Err(e) => return Tensor::refuse("layer_norm", &ins.tensors, e),
        };
        let has = [weight.is_some(), bias.is_some()];
        region1("layer_norm", ins.args, &ins.tensors, |x| {
            affine(standardized(&wide(&x[0]), &axes, eps), has, &x[1..], &x[0], Tensor::clone)
        })
    }

    /// Normalizes to mean square 1 over the last axes, whose extents are `normalized`; then applies an
    /// elementwise weight. The default `eps` is the machine epsilon of the dtype.
    #[track_caller]
    pub fn rms_norm(
        &self,
        normalized_shape: impl Dims,
        weight: Option<&Tensor>,
        eps: impl Into<Option<f64>>,
    ) -> Tensor {
        let (x, own) = (floating(self), [("weight", weight)]);
        let (normalized, eps) = (normalized_shape.dims(), eps.into().unwrap_or(x.dtype().epsilon()));
        let ins = Operands::new(&x, &own, vec![arg("normalized_shape", normalized.clone()), arg("eps", eps)]);
        if let Some(failed) = ins.failure() {
            return failed;
        }
        let axes = match last_axes(&x, &normalized, &own) {
            Ok(axes) => axes,
            Err(e) => return Tensor::refuse("rms_norm", &ins.tensors, e),
        };
        region1("rms_norm", ins.args, &ins.tensors, |x| {
            let full = wide(&x[0]);
            let y = &full * (mean_kept(&full.square(), &axes) + eps).rsqrt();
            affine(y, [weight.is_some(), false], &x[1..], &x[0], Tensor::clone)
        })
    }

    /// Normalizes each group of channels (axis 1) of each item, over all later axes too, to mean 0 and
    /// variance 1; then applies weight and bias per channel.
    #[track_caller]
    pub fn group_norm(
        &self,
        num_groups: usize,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        eps: f64,
    ) -> Tensor {
        let (x, own) = (floating(self), [("weight", weight), ("bias", bias)]);
        let ins = Operands::new(&x, &own, vec![arg("num_groups", num_groups), arg("eps", eps)]);
        if let Some(failed) = ins.failure() {
            return failed;
        }
        let fits = channels_of(&x).and_then(|channels| {
            if num_groups == 0 || !channels.is_multiple_of(num_groups) {
                let why = format!("cannot be divided into {num_groups} groups of equal size");
                return Err(Error::shape(format!("{channels} channels (axis 1)"), why));
            }
            check_channels(channels, &own).map(|()| channels / num_groups)
        });
        let each = match fits {
            Ok(each) => each,
            Err(e) => return Tensor::refuse("group_norm", &ins.tensors, e),
        };
        let has = [weight.is_some(), bias.is_some()];
        region1("group_norm", ins.args, &ins.tensors, |x| {
            let shape = x[0].shape();
            let grouped: Vec<usize> =
                [shape[0], num_groups, each].into_iter().chain(shape[2..].iter().copied()).collect();
            let axes: Vec<isize> = (2..grouped.len() as isize).collect();
            let y = standardized(&wide(&x[0]).reshape(grouped), &axes, eps).reshape(&shape);
            affine(y, has, &x[1..], &x[0], |v| channelwise(v, shape.rank()))
        })
    }

    /// Normalizes to mean 0 and variance 1 over all axes after the channels (axis 1), for each item; then
    /// applies weight and bias per channel.
    #[track_caller]
    pub fn instance_norm(&self, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Tensor {
        let (x, own) = (floating(self), [("weight", weight), ("bias", bias)]);
        let ins = Operands::new(&x, &own, vec![arg("eps", eps)]);
        if let Some(failed) = ins.failure() {
            return failed;
        }
        let fits = channels_of(&x).and_then(|channels| {
            let each: usize = x.shape()[2..].iter().product();
            if each == 1 {
                let why = "has one element per channel, and normalization would make all of them 0; use more than one element per channel";
                return Err(Error::value(format!("an instance of shape {}", x.shape()), why));
            }
            check_channels(channels, &own)
        });
        if let Err(e) = fits {
            return Tensor::refuse("instance_norm", &ins.tensors, e);
        }
        let has = [weight.is_some(), bias.is_some()];
        region1("instance_norm", ins.args, &ins.tensors, |x| {
            let axes: Vec<isize> = (2..x[0].rank() as isize).collect();
            let y = standardized(&wide(&x[0]), &axes, eps);
            affine(y, has, &x[1..], &x[0], |v| channelwise(v, x[0].rank()))
        })
    }

    /// Normalizes to mean 0 and variance 1 per channel (axis 1); then applies weight and bias per channel.
    /// Returns the result and the new running mean and variance, which have no derivatives.
    ///
    /// In training the statistics are those of the batch. The running statistics move towards them by the
    /// momentum; the running variance uses the unbiased estimate. Without running statistics, those of the
    /// batch are returned. Outside of training, the running statistics are used and returned unchanged.
    #[track_caller]
    pub fn batch_norm(
        &self,
        running: Option<(&Tensor, &Tensor)>,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        options: &BatchNormOptions,
    ) -> (Tensor, Tensor, Tensor) {
        let (x, &BatchNormOptions { training, momentum, eps }) = (floating(self), options);
        let own = [
            ("running_mean", running.map(|r| r.0)),
            ("running_var", running.map(|r| r.1)),
            ("weight", weight),
            ("bias", bias),
        ];
        let args = vec![arg("training", training), arg("momentum", momentum), arg("eps", eps)];
        let ins = Operands::new(&x, &own, args);
        let all = |t: Tensor| (t.clone(), t.clone(), t);
        if let Some(failed) = ins.failure() {
            return all(failed);
        }
        let fits = channels_of(&x).and_then(|channels| {
            let count = x.numel().checked_div(channels).unwrap_or(0);
            if training && count == 1 {
                let why = "has one element per channel, and normalization would make all of them 0; training needs more than one";
                return Err(Error::value(format!("a batch of shape {}", x.shape()), why));
            }
            if !training && running.is_none() {
                return Err(Error::value("running statistics", "are missing; they are optional in training only"));
            }
            check_channels(channels, &own).map(|()| count as f64)
        });
        let count = match fits {
            Ok(count) => count,
            Err(e) => return all(Tensor::refuse("batch_norm", &ins.tensors, e)),
        };
        let has = [weight.is_some(), bias.is_some()];
        let outs = region("batch_norm", ins.args, &ins.tensors, |ins| {
            let (x, rank) = (wide(&ins[0]), ins[0].rank());
            let (old, rest) = ins[1..].split_at(if running.is_some() { 2 } else { 0 });
            let axes: Vec<isize> = (0..rank as isize).filter(|&a| a != 1).collect();
            let (mean, var) = match old {
                [mean, var] if !training => (channelwise(mean, rank), channelwise(var, rank)),
                _ => {
                    let mean = mean_kept(&x, &axes);
                    let var = mean_kept(&(&x - &mean).square(), &axes);
                    (mean, var)
                }
            };
            let y = (&x - &mean) * (&var + eps).rsqrt();
            let y = affine(y, has, rest, &ins[0], |v| channelwise(v, rank));
            let unbiased = || var.squeeze(&axes) * (count / (count - 1.0).max(0.0));
            let moved = |old: &Tensor, new: Tensor| {
                (old * (1.0 - momentum) + new.to_dtype(old.dtype()) * momentum).stop_gradient()
            };
            match old {
                [mean, var] if !training => [y, mean.stop_gradient(), var.stop_gradient()],
                [old_mean, old_var] => [y, moved(old_mean, mean.squeeze(&axes)), moved(old_var, unbiased())],
                _ => [y, mean.squeeze(&axes).stop_gradient(), unbiased().stop_gradient()],
            }
        });
        match outs.map(<[Tensor; 3]>::try_from) {
            Ok(Ok([y, mean, var])) => (y, mean, var),
            Ok(Err(_)) => all(Tensor::failed(Error::verify("batch_norm has three results"))),
            Err(e) => all(Tensor::failed(e)),
        }
    }

    /// Divides by `(k + alpha · m)^beta`. Here `m` is the mean square over `size` adjacent channels (axis 1),
    /// with zeros beyond the first and last channel.
    #[track_caller]
    pub fn local_response_norm(&self, size: usize, alpha: f64, beta: f64, k: f64) -> Tensor {
        let x = floating(self);
        let fits = channels_of(&x).and_then(|channels| match size {
            0 => Err(Error::value("size 0", "has no channels in it; it must be at least 1")),
            _ => Ok(channels),
        });
        let channels = match fits {
            _ if x.error().is_some() => return x,
            Ok(_) if x.numel() == 0 => return x,
            Ok(channels) => channels,
            Err(e) => return Tensor::refuse("local_response_norm", &[&x], e),
        };
        let args = vec![arg("size", size), arg("alpha", alpha), arg("beta", beta), arg("k", k)];
        region1("local_response_norm", args, &[&x], |x| {
            let full = wide(&x[0]);
            // Beyond the channels there is nothing to add.
            let (before, after) = ((size / 2).min(channels), ((size - 1) / 2).min(channels));
            let squares = full.square().transpose(1, -1).pad_zeros(&[(before as i64, after as i64)]);
            let window = Windows { size: vec![before + after + 1], stride: vec![1], dilation: vec![1] };
            let mean = apply1(window, &[&squares]).sum(-1).transpose(1, -1) / size as f64;
            (&full / (mean * alpha + k).pow(beta)).to_dtype(x[0].dtype())
        })
    }
}

pub(super) fn samples(s: &mut super::Samples) {
    for (shape, normalized) in
        [(&[2, 4][..], vec![4]), (&[2, 3, 2], vec![3, 2]), (&[3], vec![3]), (&[0, 2], vec![2])]
    {
        let (n, x) = (normalized.clone(), s.draw.normal(shape));
        s.case("layer_norm", [x.clone()], move |x| x[0].layer_norm(&n, None, None, 1e-3));
        let (n, ins) =
            (normalized.clone(), [x.clone(), s.draw.normal(&normalized[..]), s.draw.normal(&normalized[..])]);
        s.case("layer_norm", ins.clone(), move |x| x[0].layer_norm(&n, Some(&x[1]), Some(&x[2]), 1e-3));
        let n = normalized.clone();
        s.case("layer_norm", ins.clone(), move |x| x[0].layer_norm(&n, None, Some(&x[2]), 1e-3));
        let n = normalized.clone();
        s.case("rms_norm", [x], move |x| x[0].rms_norm(&n, None, 1e-3));
        s.case("rms_norm", ins, move |x| x[0].rms_norm(&normalized, Some(&x[1]), None));
    }
    let flat = s.draw.floats([2, 2], &[1.0, 1.0, 0.0, 0.0]);
    s.case("layer_norm", [flat.clone()], |x| x[0].layer_norm([2], None, None, 0.1));
    s.case("rms_norm", [flat], |x| x[0].rms_norm([2], None, 0.1));
    for (shape, groups) in [(&[2, 4, 2][..], 2), (&[1, 3], 1), (&[2, 2, 2, 1], 1), (&[0, 2, 2], 2)] {
        let ins = [s.draw.normal(shape), s.draw.normal([shape[1]]), s.draw.normal([shape[1]])];
        s.case("group_norm", ins.clone(), move |x| x[0].group_norm(groups, Some(&x[1]), Some(&x[2]), 1e-3));
        s.case("group_norm", ins, move |x| x[0].group_norm(groups, None, Some(&x[2]), 1e-3));
    }
    for shape in [&[2, 3, 4][..], &[1, 1, 2, 2], &[0, 2, 2]] {
        let ins = [s.draw.normal(shape), s.draw.normal([shape[1]]), s.draw.normal([shape[1]])];
        s.case("instance_norm", ins.clone(), |x| x[0].instance_norm(Some(&x[1]), Some(&x[2]), 1e-3));
        s.case("instance_norm", ins, |x| x[0].instance_norm(None, None, 1e-3));
    }
    for training in [false, true] {
        let how = BatchNormOptions { training, momentum: 0.3, eps: 1e-3 };
        for shape in [&[4, 3][..], &[2, 1, 2], &[2, 2, 2, 1], &[0, 2]] {
            let c = shape[1];
            // The running statistics are constants here, because they have no derivatives in training.
            let running = [s.draw.normal([c]), s.draw.uniform((0.5, 1.5), [c])];
            let ins = [s.draw.normal(shape), s.draw.normal([c]), s.draw.normal([c])];
            let how = how.clone();
            s.case("batch_norm", ins, move |x| {
                let [mean, var] = [Tensor::from_literal(&running[0]), Tensor::from_literal(&running[1])];
                x[0].batch_norm(Some((&mean, &var)), Some(&x[1]), Some(&x[2]), &how).0
            });
        }
    }
    let ins = [s.draw.normal([3, 2]), s.draw.normal([2]), s.draw.uniform((0.5, 1.5), [2])];
    s.kink("batch_norm", ins, |x| {
        let how = BatchNormOptions { training: true, ..BatchNormOptions::default() };
        x[0].batch_norm(Some((&x[1], &x[2])), None, None, &how)
    });
    let x = s.draw.normal([3, 2]);
    s.kink("batch_norm", [x], |x| {
        let how = BatchNormOptions { training: true, ..BatchNormOptions::default() };
        x[0].batch_norm(None, None, None, &how)
    });
    for (shape, size) in [(&[1, 5, 2][..], 3), (&[2, 4], 2), (&[1, 1, 2], 5), (&[0, 2], 1)] {
        let x = s.draw.normal(shape);
        s.case("local_response_norm", [x], move |x| x[0].local_response_norm(size, 0.4, 0.75, 1.5));
    }
}
