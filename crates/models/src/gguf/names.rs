//! Converts names of weights between GGUF and Hugging Face, in both directions, from one table per family of
//! architectures.

/// The names of a family of architectures, as pairs of GGUF's name and Hugging Face's.
pub struct Names {
    /// Full names of weights outside of blocks.
    outer: &'static [(&'static str, &'static str)],
    /// Prefix of a block's names in Hugging Face's files.
    block: &'static str,
    /// Names of weights in a block, without `.weight` and `.bias`.
    inner: &'static [(&'static str, &'static str)],
    /// More names of weights in a block, such as the norms, which differ between families.
    more: &'static [(&'static str, &'static str)],
    /// Names of matrices of experts. GGUF stacks the matrices of all experts; `{}` stands for the index of
    /// the expert.
    experts: &'static [(&'static str, &'static str)],
}

const OUTER: &[(&str, &str)] = &[
    ("token_embd.weight", "model.embed_tokens.weight"),
    ("output_norm.weight", "model.norm.weight"),
    ("output.weight", "lm_head.weight"),
];

const INNER: &[(&str, &str)] = &[
    ("attn_norm", "input_layernorm"),
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_output", "self_attn.o_proj"),
    ("attn_q_norm", "self_attn.q_norm"),
    ("attn_k_norm", "self_attn.k_norm"),
    ("ffn_gate", "mlp.gate_proj"),
    ("ffn_up", "mlp.up_proj"),
    ("ffn_down", "mlp.down_proj"),
];

const LLAMA: Names = Names {
    outer: OUTER,
    block: "model.layers.",
    inner: INNER,
    more: &[("ffn_norm", "post_attention_layernorm")],
    experts: &[],
};

const GEMMA: Names = Names {
    more: &[
        ("post_attention_norm", "post_attention_layernorm"),
        ("ffn_norm", "pre_feedforward_layernorm"),
        ("post_ffw_norm", "post_feedforward_layernorm"),
    ],
    ..LLAMA
};

const MIXTRAL: Names = Names {
    more: &[("ffn_norm", "post_attention_layernorm"), ("ffn_gate_inp", "block_sparse_moe.gate")],
    experts: &[
        ("ffn_gate_exps", "block_sparse_moe.experts.{}.w1"),
        ("ffn_up_exps", "block_sparse_moe.experts.{}.w3"),
        ("ffn_down_exps", "block_sparse_moe.experts.{}.w2"),
    ],
    ..LLAMA
};

const QWEN_EXPERTS: Names = Names {
    more: &[("ffn_norm", "post_attention_layernorm"), ("ffn_gate_inp", "mlp.gate")],
    experts: &[
        ("ffn_gate_exps", "mlp.experts.{}.gate_proj"),
        ("ffn_up_exps", "mlp.experts.{}.up_proj"),
        ("ffn_down_exps", "mlp.experts.{}.down_proj"),
    ],
    ..LLAMA
};

const GPT2: Names = Names {
    outer: &[
        ("token_embd.weight", "transformer.wte.weight"),
        ("position_embd.weight", "transformer.wpe.weight"),
        ("output_norm.weight", "transformer.ln_f.weight"),
        ("output_norm.bias", "transformer.ln_f.bias"),
        ("output.weight", "lm_head.weight"),
    ],
    block: "transformer.h.",
    inner: &[
        ("attn_norm", "ln_1"),
        ("attn_qkv", "attn.c_attn"),
        ("attn_output", "attn.c_proj"),
        ("ffn_norm", "ln_2"),
        ("ffn_up", "mlp.c_fc"),
        ("ffn_down", "mlp.c_proj"),
    ],
    more: &[],
    experts: &[],
};

impl Names {
    /// Returns the names of an architecture, by the `model_type` of its `config.json`.
    pub fn of(model_type: &str) -> &'static Names {
        match model_type {
            "gpt2" => &GPT2,
            "gemma2" | "gemma3_text" => &GEMMA,
            "mixtral" => &MIXTRAL,
            "qwen3_moe" => &QWEN_EXPERTS,
            _ => &LLAMA,
        }
    }

    fn blocks(&self) -> impl Iterator<Item = &(&'static str, &'static str)> {
        self.inner.iter().chain(self.more)
    }

    /// Returns the GGUF name of a weight and, if GGUF stacks it with other experts, the index of its expert.
    pub fn to_gguf(&self, name: &str) -> Option<(String, Option<usize>)> {
        if let Some((own, _)) = self.outer.iter().find(|(_, theirs)| *theirs == name) {
            return Some(((*own).to_string(), None));
        }
        let (block, rest) = name.strip_prefix(self.block)?.split_once('.')?;
        let (stem, end) = rest.rsplit_once('.')?;
        if let Some((own, _)) = self.blocks().find(|(_, theirs)| *theirs == stem) {
            return Some((format!("blk.{block}.{own}.{end}"), None));
        }
        self.experts.iter().find_map(|(own, theirs)| {
            let (before, after) = theirs.split_once("{}")?;
            let number = stem.strip_prefix(before)?.strip_suffix(after)?.parse().ok()?;
            Some((format!("blk.{block}.{own}.{end}"), Some(number)))
        })
    }

    /// Returns Hugging Face's names of a GGUF weight: one for each of `experts` experts if the weight stacks
    /// their matrices, else one.
    pub fn from_gguf(&self, name: &str, experts: usize) -> Option<Vec<String>> {
        if let Some((_, theirs)) = self.outer.iter().find(|(own, _)| *own == name) {
            return Some(vec![(*theirs).to_string()]);
        }
        let (block, rest) = name.strip_prefix("blk.")?.split_once('.')?;
        let (stem, end) = rest.rsplit_once('.')?;
        let full = |theirs: &str| format!("{}{block}.{theirs}.{end}", self.block);
        if let Some((_, theirs)) = self.blocks().find(|(own, _)| *own == stem) {
            return Some(vec![full(theirs)]);
        }
        let (_, theirs) = self.experts.iter().find(|(own, _)| *own == stem)?;
        Some((0..experts).map(|n| full(&theirs.replace("{}", &n.to_string()))).collect())
    }
}
