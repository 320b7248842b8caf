//! Attention and rotary positions.

use super::case::Args;
use gradus::{AttentionOptions, Tensor, scaled_dot_product_attention};

pub fn call(name: &str, args: &Args, x: &[Tensor]) -> Option<Vec<Tensor>> {
    let one = match name {
        "scaled_dot_product_attention" => {
            let options = AttentionOptions {
                mask: x.get(3).cloned(),
                causal: args.flag("is_causal"),
                scale: args.float("scale"),
                enable_gqa: args.flag("enable_gqa"),
                ..AttentionOptions::default()
            };
            scaled_dot_product_attention(&x[0], &x[1], &x[2], &options)
        }
        "rope" => x[0].rope(args.float("base")?, args.int("offset")?),
        _ => return None,
    };
    Some(vec![one])
}
