//! Loads GPT-2: learned positions, norms with biases, networks without a gate.
//!
//! Its files have their own names, store matrices as `[inputs, outputs]`, and store queries, keys and values
//! as one matrix. They are converted to the blocks of a [`Decoder`], with separate matrices
//! `[outputs, inputs]`.

use crate::config::Config;
use crate::decoder::{Attention, Block, Body, Decoder};
use crate::matrix::{Matrix, Projection, Table};
use crate::network::{Mlp, Network};
use crate::norm::Norm;
use crate::weights::{Loader, Weights};
use gradus_ir::Result;
use gradus_nn::Param;

/// Builds the model from weights by name. The error lists all weights that do not fit.
pub(crate) fn load(config: Config, weights: &Weights) -> Result<Decoder> {
    // Names have no prefix in files of the model without its output projection, `lm_head`.
    let plain = Loader::new(weights);
    let is_plain = plain.has("wte.weight") && !plain.has("transformer.wte.weight");
    let mut l = plain;
    let prefix = if is_plain { "" } else { "transformer." };
    let c = &config;
    let d = c.width;
    let norm = |l: &mut Loader<'_>, name: &str| Norm::load(l, c.norm, &format!("{prefix}{name}"), d, c.eps);
    let linear = |l: &mut Loader<'_>, name: String, outputs, inputs| {
        let weight = l.matrix_by_columns(&format!("{prefix}{name}.weight"), [outputs, inputs]);
        Projection::new(weight, Some(l.param(&format!("{prefix}{name}.bias"), [outputs])))
    };
    let block = |l: &mut Loader<'_>, i: usize| {
        let at = |end: &str| format!("h.{i}.{end}");
        let [q_proj, k_proj, v_proj] = split_qkv(&linear(l, at("attn.c_attn"), 3 * d, d), d);
        Block {
            self_attn: Attention {
                q_proj,
                k_proj,
                v_proj,
                o_proj: linear(l, at("attn.c_proj"), d, d),
                q_norm: None,
                k_norm: None,
            },
            mlp: Network::Dense(Mlp {
                gate_proj: None,
                up_proj: linear(l, at("mlp.c_fc"), c.hidden, d),
                down_proj: linear(l, at("mlp.c_proj"), d, c.hidden),
                activation: c.activation,
            }),
            input_layernorm: norm(l, &at("ln_1")),
            post_attention_layernorm: norm(l, &at("ln_2")),
            pre_feedforward_layernorm: None,
            post_feedforward_layernorm: None,
        }
    };
    let table = |l: &mut Loader<'_>, name: &str, rows| Table {
        weight: l.matrix(&format!("{prefix}{name}.weight"), [rows, d]),
    };
    let model = Body {
        embed_tokens: table(&mut l, "wte", c.vocabulary),
        embed_positions: Some(table(&mut l, "wpe", c.context)),
        layers: (0..c.layers).map(|i| block(&mut l, i)).collect(),
        norm: norm(&mut l, "ln_f"),
    };
    let lm_head = (!c.tied).then(|| Projection::new(l.matrix("lm_head.weight", [c.vocabulary, d]), None));
    let tied = c.tied;
    // Older files store attention masks.
    let mask = |name: &str| name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
    l.finish(|name| mask(name) || (tied && name == "lm_head.weight"))?;
    Ok(Decoder { model, lm_head, config })
}

/// Splits the common projection of queries, keys and values into three.
fn split_qkv(all: &Projection, d: usize) -> [Projection; 3] {
    [0, 1, 2].map(|i| {
        let weight: Matrix = all.weight.rows_at(i * d, d);
        let bias = all.bias.as_ref().map(|b| Param::new(&b.detach().narrow(0, i * d, d).contiguous()));
        Projection::new(weight, bias)
    })
}
