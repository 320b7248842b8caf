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


def test_penalties_and_log_probabilities(folder):
    model = gradus.models.load(folder[0])
    prompt = [int(i) for i in folder[1][:8]]

    def log_softmax(logits):
        logits = logits.astype(np.float64) - logits.max()
        return logits - np.log(np.exp(logits).sum())

    for frequency, presence in [(0.0, 0.0), (0.8, 0.0), (0.0, 2.0), (0.3, 0.5)]:
        found = model.generate_tokens(prompt, tokens=20, frequency_penalty=frequency, presence_penalty=presence, log_probabilities=3)
        new = []
        for token, own, top in found:
            logits = array(model.logits_after(prompt + new)).astype(np.float64)
            count = np.bincount(new, minlength=len(logits))
            assert token == np.argmax(logits - frequency * count - presence * (count > 0))
            right = log_softmax(logits)
            assert abs(own - right[token]) < 1e-5
            assert [t for t, _ in top] == list(np.argsort(-logits, kind="stable")[:3])
            np.testing.assert_allclose([p for _, p in top], np.sort(right)[::-1][:3], atol=1e-5)
            new.append(token)
        assert new == model.generate_tokens(prompt, tokens=20, frequency_penalty=frequency, presence_penalty=presence)
    assert model.generate("hello", tokens=20, presence_penalty=5.0) != model.generate("hello", tokens=20)


def test_json_schema_constrains_the_text(folder):
    model = gradus.models.load(folder[0])
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "yy"]}}, "required": ["a", "b"],
              "additionalProperties": False}
    for given in (schema, json.dumps(schema)):
        found = json.loads(model.generate("hello", tokens=40, temperature=1.0, seed=3, json_schema=given))
        assert set(found) == {"a", "b"} and isinstance(found["a"], int) and found["b"] in ("x", "yy")
    with pytest.raises(ValueError, match="not valid JSON"):
        model.generate("hello", json_schema="{")


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
