"""Tokenisers of GGUF files with SentencePiece's pieces, against the package `sentencepiece` on random text."""

import random

import numpy as np
import pytest

import gradus
from oracle import needs, peer

gguf, sentencepiece = peer("gguf"), peer("sentencepiece")
pytestmark = needs("gguf", "sentencepiece")

WORDS = ["the", "quick", "brown", "foxes", "jumped", "over", "lazy", "dogs", "banana", "bandana", "aaaa", "aaaaaa", "naïve", "über",
         "straße", "東京", "日本語", "🙂", "1234", "99", "f(x)", "<unk>", "<s>", "</s>", "▁", "  ", "\n", "\t", "...", "tokenization"]


def train(folder, kind, **more):
    draw = random.Random(1)
    text = folder / "text.txt"
    text.write_text("\n".join(" ".join(draw.choice(WORDS[:18]) for _ in range(12)) for _ in range(400)))
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(folder / kind), model_type=kind, vocab_size=360 if more.get("byte_fallback") else 90,
        normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=0.99, minloglevel=2,
        hard_vocab_limit=False, **more)
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{kind}.model"))


def write(path, sp, kind, prefix):
    """Writes a small Llama with this vocabulary."""
    size, width = sp.vocab_size(), 8
    w = gguf.GGUFWriter(path, "llama")
    for add, n in [(w.add_block_count, 1), (w.add_context_length, 64), (w.add_embedding_length, width), (w.add_feed_forward_length, 8),
                   (w.add_head_count, 2), (w.add_layer_norm_rms_eps, 1e-5)]:
        add(n)
    w.add_tokenizer_model(kind)
    w.add_token_list([sp.id_to_piece(i) for i in range(size)])
    w.add_token_scores([sp.get_score(i) for i in range(size)])
    types = [2 if sp.is_unknown(i) else 3 if sp.is_control(i) else 6 if sp.is_byte(i) else 4 if sp.id_to_piece(i) == "banana" else 1
             for i in range(size)]
    w.add_token_types(types)
    w.add_unk_token_id(sp.unk_id())
    w.add_bos_token_id(sp.bos_id())
    w.add_add_bos_token(False)
    w.add_add_space_prefix(prefix)
    g = np.random.default_rng(0)
    shapes = {"token_embd": (size, width), "output_norm": (width,), "output": (size, width)}
    for name, shape in dict(attn_norm=(8,), attn_q=(8, 8), attn_k=(8, 8), attn_v=(8, 8), attn_output=(8, 8), ffn_norm=(8,),
                            ffn_gate=(8, 8), ffn_up=(8, 8), ffn_down=(8, 8)).items():
        shapes[f"blk.0.{name}"] = shape
    for name, shape in shapes.items():
        w.add_tensor(f"{name}.weight", g.normal(size=shape).astype("f4"))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def texts(count):
    draw = random.Random(2)
    for _ in range(count):
        parts = [draw.choice(WORDS) if draw.random() < 0.8 else chr(draw.randrange(33, 0x2FFF)) for _ in range(draw.randrange(1, 12))]
        yield draw.choice(["", " ", ""]).join(parts)


@pytest.mark.parametrize("prefix", [True, False])
def test_tokens_are_those_of_sentencepiece(prefix, tmp_path):
    sp = train(tmp_path, "bpe", add_dummy_prefix=prefix, user_defined_symbols=["banana"], byte_fallback=True)
    write(tmp_path / "model.gguf", sp, "llama", prefix)
    model = gradus.models.load(tmp_path / "model.gguf")
    for text in texts(400):
        found = model.encode(text)
        assert found == sp.encode(text), repr(text)
        # Names of special tokens in a user's text are encoded as text.
        assert sp.bos_id() not in found and sp.eos_id() not in found
        assert model.decode(found) == sp.decode(found), repr(text)


def test_unigram_models_refuse_names_of_special_tokens(tmp_path):
    sp = train(tmp_path, "unigram", add_dummy_prefix=True)
    write(tmp_path / "model.gguf", sp, "t5", True)
    model = gradus.models.load(tmp_path / "model.gguf")
    for text in ["the quick brown foxes", "jumped over lazy dogs"]:
        assert model.encode(text) == sp.encode(text), repr(text)
    for name in ["<unk>", "<s>", "</s>"]:
        with pytest.raises(Exception, match="the name of a special token"):
            model.encode(f"the {name} dogs")


def test_conversion_to_a_folder_keeps_the_tokens(tmp_path):
    sp = train(tmp_path, "bpe", byte_fallback=True)
    write(tmp_path / "model.gguf", sp, "llama", True)
    gradus.models.convert(tmp_path / "model.gguf", tmp_path / "folder")
    gradus.models.convert(tmp_path / "folder", tmp_path / "back.gguf")
    for path in ["folder", "back.gguf"]:
        model = gradus.models.load(tmp_path / path)
        for text in ["the quick brown foxes", "東京 über", "bandana\n99"]:
            assert model.encode(text) == sp.encode(text), (path, text)
