"""Language models from files: logits compared with NumPy, texts that depend on seeds and settings, streams, errors."""

import json
import pathlib

import numpy as np
import pytest

import gradus
from oracle import array

GOLDEN = pathlib.Path(__file__).parents[2] / "crates/models/tests/golden"


def visible(byte):
    """Returns the visible character as which tokenisers of bytes write a byte."""
    shown = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b]
    return chr(byte if byte in shown else 256 + sum(b not in shown for b in range(byte)))


@pytest.fixture
def folder(tmp_path):
    """The small Llama of the Rust tests, with a tokeniser of bytes."""
    golden = dict(np.load(GOLDEN / "tiny-llama.npz"))
    config = json.loads(golden.pop("config").tobytes())
    tokens = ["<|end|>", "<|turn|>"] + [visible(b) for b in range(256)]
    tokens += [f"[unused{i}]" for i in range(len(tokens), config["vocab_size"])]
    special = [dict(id=i, content=tokens[i], single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
               for i in range(2)]
    level = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True)
    tokenizer = dict(version="1.0", truncation=None, padding=None, added_tokens=special, normalizer=None,
                     pre_tokenizer=level, post_processor=None, decoder=level,
                     model=dict(type="BPE", vocab={t: i for i, t in enumerate(tokens)}, merges=[]))
    template = "{% for m in messages %}<|turn|>{{ m.content }}<|end|>{% endfor %}<|turn|>"
    (tmp_path / "config.json").write_text(json.dumps(dict(config, eos_token_id=0)))
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(dict(chat_template=template)))
    weights = {k: gradus.tensor(v) for k, v in golden.items() if k not in ("ids", "logits")}
    gradus.save_safetensors(tmp_path / "model.safetensors", weights)
    return tmp_path, golden["ids"], golden["logits"]


def test_logits_are_those_of_numpy(folder):
    path, ids, logits = folder
    model = gradus.models.load(path)
    np.testing.assert_allclose(array(model.logits(ids)), logits, atol=2e-5)
    assert model.encode("héllo<|end|>") == [2 + b for b in "héllo<|end|>".encode()]
    assert model.decode(model.encode("héllo")) == "héllo"


def test_text_follows_the_settings(folder):
    model = gradus.models.load(folder[0])
    greedy = model.generate("hello", tokens=12)
    assert greedy == model.generate("hello", tokens=12, temperature=1.0, top_k=1, seed=5)
    warm = [model.generate("hello", tokens=12, temperature=2.0, seed=seed) for seed in (1, 1, 2)]
    assert warm[0] == warm[1] != warm[2]
    pieces = []
    assert model.generate("hello", tokens=12, on_text=pieces.append) == "".join(pieces) == greedy
    assert model.generate("hello", tokens=12, stop=greedy[3]) == greedy[:greedy.index(greedy[3])]
    answer = model.chat([{"role": "user", "content": "hello"}], tokens=5)
    assert isinstance(answer, str)
    assert answer == model.chat([{"role": "user", "content": "hello"}], tokens=5)


def test_errors_say_what_is_wrong(folder, tmp_path):
    model = gradus.models.load(folder[0])

    def fail(piece):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        model.generate("hello", on_text=fail)
    with pytest.raises(TypeError):
        model.generate("hello", warmth=1)
    with pytest.raises(Exception, match="temperature -1 must be 0 or more"):
        model.generate("hello", temperature=-1)
    with pytest.raises(Exception, match="cannot be read"):
        gradus.models.load(tmp_path / "absent.gguf")
