"""Small models of each architecture, written by `transformers`, against that package: logits, greedy tokens, caches, GGUF files."""

import json

import numpy as np
import pytest

import gradus
from oracle import array, needs, peer, peer_or_skip, torch
from tiny_model import tokenizer

T = peer("transformers")
pytestmark = needs("torch", "transformers")

VOCABULARY = 272
SIZES = dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, bos_token_id=0, eos_token_id=0, pad_token_id=None)


def sizes(**other):
    return {**SIZES, **other}


def rope(**other):
    return dict(rope_parameters=dict(rope_theta=10000.0, **other))


LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)

#: The name of each configuration's class, and its values.
CASES = {
    "llama": ("Llama", sizes()),
    "llama tied": ("Llama", sizes(tie_word_embeddings=True, num_key_value_heads=4, rms_norm_eps=1e-5)),
    "llama biases": ("Llama", sizes(attention_bias=True, mlp_bias=True, hidden_act="gelu")),
    "llama head": ("Llama", sizes(head_dim=20, num_key_value_heads=1, **rope(rope_type="default"))),
    "llama linear": ("Llama", sizes(**rope(rope_type="linear", factor=3.0))),
    "llama 3": ("Llama", sizes(**rope(**LLAMA3))),
    "llama yarn": ("Llama", sizes(head_dim=32, **rope(**YARN))),
    "llama yarn more": ("Llama", sizes(head_dim=64, **rope(beta_fast=16.0, beta_slow=2.0, mscale=0.7, mscale_all_dim=1.1,
                                                           truncate=False, **YARN))),
    "llama relu": ("Llama", sizes(hidden_act="relu")),
    "mistral": ("Mistral", sizes(sliding_window=8)),
    "mistral open": ("Mistral", sizes(sliding_window=None, head_dim=12)),
    "mixtral": ("Mixtral", sizes(num_local_experts=4, num_experts_per_tok=2)),
    "mixtral window": ("Mixtral", sizes(num_local_experts=5, num_experts_per_tok=3, sliding_window=9)),
    "qwen2": ("Qwen2", sizes()),
    "qwen2 window": ("Qwen2", sizes(use_sliding_window=True, sliding_window=7, max_window_layers=1, tie_word_embeddings=True)),
    "qwen2 yarn": ("Qwen2", sizes(**rope(**YARN))),
    "qwen3": ("Qwen3", sizes(head_dim=12)),
    "qwen3 bias": ("Qwen3", sizes(head_dim=16, attention_bias=True, tie_word_embeddings=True)),
    "qwen3 experts": ("Qwen3Moe", sizes(head_dim=12, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24,
                                        norm_topk_prob=True)),
    "qwen3 some experts": ("Qwen3Moe", sizes(head_dim=12, num_experts=4, num_experts_per_tok=3, moe_intermediate_size=20,
                                             norm_topk_prob=False, mlp_only_layers=[1])),
    "gemma": ("Gemma", sizes(head_dim=16, num_key_value_heads=1)),
    "gemma2": ("Gemma2", sizes(head_dim=16, sliding_window=8, query_pre_attn_scalar=20, attn_logit_softcapping=2.0,
                               final_logit_softcapping=3.0)),
    "gemma2 open": ("Gemma2", sizes(head_dim=12, sliding_window=16, attn_logit_softcapping=None, final_logit_softcapping=None)),
    "gemma3": ("Gemma3Text", sizes(head_dim=16, sliding_window=8, query_pre_attn_scalar=20,
                                   layer_types=["sliding_attention", "full_attention", "sliding_attention"])),
    "gemma3 scaled": ("Gemma3Text", sizes(head_dim=16, sliding_window=6, num_hidden_layers=7, final_logit_softcapping=4.0,
                                          rope_parameters=dict(
                                              full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1e6),
                                              sliding_attention=dict(rope_type="default", rope_theta=5e3)))),
    "gpt2": ("GPT2", dict(vocab_size=VOCABULARY, n_positions=64, n_embd=32, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=0)),
    "gpt2 other": ("GPT2", dict(vocab_size=VOCABULARY, n_positions=64, n_embd=30, n_layer=2, n_head=5, n_inner=44,
                                activation_function="gelu", scale_attn_by_inverse_layer_idx=True, tie_word_embeddings=False,
                                bos_token_id=0, eos_token_id=0)),
}


def make(folder, name, seed=0):
    """Makes a model, and its folder. Random weights are larger than usual initial values, so that every part has an effect."""
    kind, values = CASES[name]
    config = getattr(T, f"{kind}Config")(**values)
    config._attn_implementation = "eager"
    torch.manual_seed(seed)
    model = T.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0, 0.3 if p.ndim == 1 else 1.5 * p.shape[-1] ** -0.5)
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(VOCABULARY)))
    return model


def theirs(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids]), use_cache=False).logits[0].double().numpy()


def greedy(model, ids, count):
    """Generates the tokens with the largest logits; also returns the smallest difference to the second largest logit."""
    ids, gap = list(ids), np.inf
    for _ in range(count):
        logits = theirs(model, ids)[-1]
        second, first = np.sort(logits)[-2:]
        gap = min(gap, first - second)
        ids.append(int(logits.argmax()))
    return ids[-count:], gap


IDS = [int(i) for i in np.random.default_rng(5).integers(1, VOCABULARY, 40)]


def check(model, path, bound=1e-4):
    right = theirs(model, IDS)
    ours = gradus.models.load(path)
    np.testing.assert_allclose(array(ours.logits(IDS)), right, atol=bound, rtol=0)
    # Computes the prompt at once with padding, then token by token.
    for n in [21, *range(22, 41)]:
        np.testing.assert_allclose(array(ours.logits_after(IDS[:n])), right[n - 1], atol=bound, rtol=0, err_msg=f"{n} tokens")
    expected, gap = greedy(model, IDS[:20], 12)
    if gap > 10 * bound and 0 not in expected:
        assert ours.generate_tokens(IDS[:20], tokens=12) == expected
    return gap


@pytest.mark.parametrize("name", CASES)
def test_logits_and_tokens_are_those_of_transformers(name, tmp_path):
    check(make(tmp_path, name), tmp_path)


def test_older_configurations_mean_the_same(tmp_path):
    """Tests keys of configurations that are older than `rope_parameters` and `layer_types`."""
    for name in ["llama 3", "gemma3 scaled", "qwen2 window", "gemma2", "llama linear"]:
        folder = tmp_path / name.replace(" ", "-")
        model = make(folder, name)
        config = json.loads((folder / "config.json").read_text())
        ropes = config.pop("rope_parameters")
        if "full_attention" in ropes:
            config["rope_local_base_freq"] = ropes["sliding_attention"].pop("rope_theta")
            ropes = ropes["full_attention"]
            config["sliding_window_pattern"] = 6
        config["rope_theta"] = ropes.pop("rope_theta")
        if ropes["rope_type"] != "default":
            config["rope_scaling"] = ropes
        config.pop("layer_types", None)
        (folder / "config.json").write_text(json.dumps(config))
        check(model, folder)


def test_unknown_variations_are_refused(tmp_path):
    make(tmp_path, "llama")
    config = json.loads((tmp_path / "config.json").read_text())
    for key, value, why in [
        ("rope_parameters", dict(rope_type="dynamic", factor=2.0), "`dynamic` is not supported"),
        ("rope_parameters", dict(rope_type="default", partial_rotary_factor=0.5), "all features of a head must rotate"),
        ("hidden_act", "quick_gelu", "is not supported; supported are silu"),
        ("layer_types", ["full_attention", "chunked_attention", "full_attention"], "chunked_attention"),
        ("model_type", "gemma3", "supported are llama"),
    ]:
        (tmp_path / "config.json").write_text(json.dumps(dict(config, **{key: value})))
        with pytest.raises(Exception, match=why):
            gradus.models.load(tmp_path)


def test_gguf_files_of_our_own_keep_every_logit(tmp_path):
    for name in ["llama 3", "llama yarn", "llama biases", "mistral", "mixtral", "qwen2 window", "qwen3", "qwen3 experts", "gemma",
                 "gemma2", "gemma3 scaled", "gpt2"]:
        folder = tmp_path / name.replace(" ", "-")
        model = make(folder, name)
        if "hidden_act" in CASES[name][1]:  # GGUF files do not state the nonlinearity
            continue
        gradus.models.convert(folder, folder / "model.gguf")
        check(model, folder / "model.gguf")
        gradus.models.convert(folder / "model.gguf", folder / "back")
        check(model, folder / "back")


#: Architectures of GGUF files, and the metadata that only they have.
GGUF = {
    "llama": ("LLAMA", {}),
    "qwen2": ("QWEN2", {}),
    "qwen3": ("QWEN3", {}),
    "mixtral": ("LLAMA", {}),
    "qwen3 experts": ("QWEN3MOE", {}),
    "gemma2": ("GEMMA2", {}),
    "gemma3": ("GEMMA3", {}),
    "gpt2": ("GPT2", {}),
}


def write_gguf(path, name, model):
    """Writes a model with the package `gguf`: names by its table, keys by its writer."""
    gguf = peer_or_skip("gguf")
    arch = getattr(gguf.MODEL_ARCH, GGUF[name][0])
    c = model.config
    get = lambda *keys: next((getattr(c, k) for k in keys if getattr(c, k, None) is not None), None)
    w = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    layers, heads, width = get("num_hidden_layers", "n_layer"), get("num_attention_heads", "n_head"), get("hidden_size", "n_embd")
    w.add_block_count(layers)
    w.add_context_length(get("max_position_embeddings", "n_positions"))
    w.add_embedding_length(width)
    w.add_feed_forward_length(get("intermediate_size", "n_inner") or 4 * width)
    w.add_head_count(heads)
    if name == "gpt2":
        w.add_layer_norm_eps(c.layer_norm_epsilon)
    else:
        w.add_head_count_kv(c.num_key_value_heads)
        w.add_layer_norm_rms_eps(c.rms_norm_eps)
        head = get("head_dim") or width // heads
        w.add_key_length(head)
        w.add_value_length(head)
        ropes = c.rope_parameters
        w.add_rope_freq_base(ropes.get("full_attention", ropes)["rope_theta"])
    if name == "mixtral":
        w.add_expert_count(c.num_local_experts)
        w.add_expert_used_count(c.num_experts_per_tok)
    if name == "qwen3 experts":
        w.add_expert_count(c.num_experts)
        w.add_expert_used_count(c.num_experts_per_tok)
        w.add_expert_feed_forward_length(c.moe_intermediate_size)
    if name.startswith("gemma"):
        w.add_sliding_window(c.sliding_window)
        if c.final_logit_softcapping:
            w.add_final_logit_softcapping(c.final_logit_softcapping)
    if name == "gemma2":
        w.add_attn_logit_softcapping(c.attn_logit_softcapping)
    words = tokenizer(VOCABULARY)["model"]["vocab"]
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    words = list(words)
    words[-1] = "ab"  # what the merge gives
    w.add_token_list(words)
    w.add_token_types([3, 3] + [1] * (VOCABULARY - 2))
    w.add_token_merges(["a b"])
    table = gguf.get_tensor_name_map(arch, layers)
    from safetensors.numpy import load_file

    stacks = {}
    for key, x in load_file(path.parent / "model.safetensors").items():
        number = None
        for mark in [".experts.", ".block_sparse_moe.experts."]:
            if mark in key and number is None:
                before, after = key.split(mark)
                number, after = after.split(".", 1)
                key = f"{before}{mark}{after}"
        own = table.get_name(key, try_suffixes=(".weight", ".bias"))
        assert own, key
        if name == "gpt2" and key.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight")):
            x = x.T
        if name.startswith("gemma") and own.endswith("norm.weight"):
            x = x + 1
        if name in ("llama", "mixtral") and (".attn_q." in own or ".attn_k." in own):
            count = heads if ".attn_q." in own else c.num_key_value_heads
            x = x.reshape(count, 2, -1, x.shape[-1]).swapaxes(1, 2).reshape(x.shape)
        if number is not None:
            stacks.setdefault(own, {})[int(number)] = x
        else:
            w.add_tensor(own, np.ascontiguousarray(x))
    for own, all in stacks.items():
        w.add_tensor(own, np.stack([all[i] for i in range(len(all))]))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


@pytest.mark.parametrize("name", GGUF)
def test_gguf_files_of_others(name, tmp_path):
    if name.startswith("gemma"):
        # Files have no key for the scale of attention; their readers derive it from the size of a head.
        kind, values = CASES[name]
        values = {k: v for k, v in values.items() if k != "layer_types"}
        CASES["other"] = (kind, dict(values, query_pre_attn_scalar=values["head_dim"], num_hidden_layers=7))
        model = make(tmp_path, "other")
    else:
        model = make(tmp_path, name)
    write_gguf(tmp_path / "model.gguf", name, model)
    check(model, tmp_path / "model.gguf")
