//! Choosing among what a model thinks likely.

use gradus_ir::{DType, Error, Result};
use gradus_tensor::{Device, Generator, Tensor};

/// How a token is chosen by its logits.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Divides the logits: below 1 what is likely becomes likelier; 0 always takes the likeliest.
    pub temperature: f64,
    /// Only so many of the likeliest are chosen from.
    pub top_k: Option<usize>,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling { temperature: 1.0, top_k: None }
    }
}

impl Sampling {
    /// A token by logits `[vocabulary]`.
    #[track_caller]
    pub fn choose(&self, logits: &Tensor, g: &Generator) -> Result<i64> {
        // Wide numbers, which not every device has, and few of them.
        let logits = logits.check()?.detach().to(Device::CPU).to_dtype(DType::F64).reshape([-1]);
        if self.temperature.is_nan() || self.temperature < 0.0 {
            return Err(Error::value(format!("temperature {}", self.temperature), "must be 0 or more"));
        }
        if self.temperature == 0.0 {
            return logits.argmax(0).item();
        }
        let k = self.top_k.unwrap_or(usize::MAX).clamp(1, logits.numel().max(1));
        let (values, tokens) = logits.topk(k, 0, true);
        let odds = (values / self.temperature).softmax(0);
        tokens.index_select(0, &g.multinomial(&odds, 1, true)).item()
    }

    /// Tokens one after the other: `next` gives the logits behind a token, `each` hears of every token that is chosen and says
    /// whether to go on.
    #[track_caller]
    pub fn generate(
        &self,
        first: i64,
        g: &Generator,
        mut next: impl FnMut(i64) -> Result<Tensor>,
        mut each: impl FnMut(i64) -> bool,
    ) -> Result<()> {
        let mut token = first;
        loop {
            token = self.choose(&next(token)?, g)?;
            if !each(token) {
                return Ok(());
            }
        }
    }
}
