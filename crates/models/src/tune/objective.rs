//! Losses of fine-tuning, as functions of tensors. Each returns a loss for each token or pair; the caller
//! reduces them.
//!
//! Advantages and returns of generated texts are functions of plain numbers.

use gradus_tensor::{CrossEntropyOptions, Reduction, Tensor, cross_entropy};

/// Computes the log-probability of each target `[...]`, from logits `[..., vocabulary]`.
#[track_caller]
pub fn token_log_probabilities(logits: &Tensor, targets: &Tensor) -> Tensor {
    let (shape, vocabulary) = (targets.shape(), logits.dim(-1));
    let options = CrossEntropyOptions { reduction: Reduction::None, ..CrossEntropyOptions::default() };
    let flat = logits.reshape([targets.numel(), vocabulary]);
    -cross_entropy(&flat, &targets.reshape([-1]), &options).reshape(shape)
}

/// Computes the DPO loss of each pair: `-(1 - ε) log σ(Δ) - ε log σ(-Δ)`, where `Δ` is [`dpo_margin`]. Takes
/// the log-probabilities of chosen and rejected answers; `ε` is `smoothing`, the assumed fraction of pairs in
/// the wrong order.
#[track_caller]
pub fn dpo(policy: (&Tensor, &Tensor), reference: (&Tensor, &Tensor), beta: f64, smoothing: f64) -> Tensor {
    let margin = dpo_margin(policy, reference, beta);
    let loss = margin.logsigmoid() * (smoothing - 1.0);
    if smoothing == 0.0 { loss } else { loss - (-&margin).logsigmoid() * smoothing }
}

/// Computes the difference of DPO's implicit rewards:
/// `β ((policy.0 - policy.1) - (reference.0 - reference.1))`, chosen answers first.
#[track_caller]
pub fn dpo_margin(policy: (&Tensor, &Tensor), reference: (&Tensor, &Tensor), beta: f64) -> Tensor {
    ((policy.0 - policy.1) - (reference.0 - reference.1)) * beta
}

/// Computes the loss of each pair of scores: `-log σ(chosen - rejected)`, the Bradley-Terry model of
/// preferences.
#[track_caller]
pub fn pairwise(chosen: &Tensor, rejected: &Tensor) -> Tensor {
    -(chosen - rejected).logsigmoid()
}

/// Computes the clipped policy loss of each token: `-min(ρA, clip(ρ, 1 - low, 1 + high) A)` with
/// `ρ = exp(new - old)`.
#[track_caller]
pub fn clipped_policy(new: &Tensor, old: &Tensor, advantages: &Tensor, (low, high): (f64, f64)) -> Tensor {
    let ratio = (new - old).exp();
    let clipped = ratio.clamp(1.0 - low, 1.0 + high) * advantages;
    -(ratio * advantages).minimum(&clipped)
}

/// Computes the clipped value loss of each token: half the larger squared error of the value and of the value
/// clipped to `old ± clip`.
#[track_caller]
pub fn clipped_value(values: &Tensor, old: &Tensor, returns: &Tensor, clip: f64) -> Tensor {
    let near = old + (values - old).clamp(-clip, clip);
    (values - returns).square().maximum(&(near - returns).square()) * 0.5
}

/// Computes an estimate of the divergence from a reference for each token:
/// `exp(ref - new) - (ref - new) - 1`. It is never negative, and unbiased for tokens sampled from the policy.
#[track_caller]
pub fn kl_estimate(new: &Tensor, reference: &Tensor) -> Tensor {
    let ratio = reference - new;
    ratio.exp() - &ratio - 1.0
}

/// Subtracts from each reward the mean of its group of `group` consecutive rewards; divides by the group's
/// standard deviation if `scaled`.
pub fn group_advantages(rewards: &[f64], group: usize, scaled: bool) -> Vec<f64> {
    let advantages = |all: &[f64]| {
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        let squares = all.iter().map(|r| (r - mean).powi(2)).sum::<f64>();
        // The sample standard deviation, as PyTorch's `std`; 0 for a single reward.
        let deviation = if all.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        let scale = if scaled { 1.0 / (deviation + 1e-4) } else { 1.0 };
        all.iter().map(|r| (r - mean) * scale).collect::<Vec<f64>>()
    };
    rewards.chunks(group.max(1)).flat_map(advantages).collect()
}

/// Generalised advantage estimation (GAE) for the tokens of one text: returns the advantages and the returns,
/// which are the targets of values. The value after the last token is 0.
pub fn generalised_advantages(
    rewards: &[f64],
    values: &[f64],
    discount: f64,
    lambda: f64,
) -> (Vec<f64>, Vec<f64>) {
    let n = rewards.len().min(values.len());
    let mut advantages = vec![0.0; n];
    let (mut later, mut next) = (0.0, 0.0);
    for i in (0..n).rev() {
        later = rewards[i] + discount * next - values[i] + discount * lambda * later;
        (advantages[i], next) = (later, values[i]);
    }
    let returns = advantages.iter().zip(values).map(|(a, v)| a + v).collect();
    (advantages, returns)
}
