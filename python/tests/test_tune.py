"""Fine-tuning from Python: a model that learns sums, adapters alone, preferences, rewards, errors."""

import json

import numpy as np
import pytest

import gradus
from gradus.models import Lora, RewardModel
from oracle import array, needs, peer, torch
from tiny_model import write_decoder

peft, transformers = peer("peft"), peer("transformers")

SUMS = [(f"{a}+{b}=", str(a + b)) for a in range(5) for b in range(5)]
SMALL = dict(width=32, layers=1, heads=2, context=16)


@pytest.fixture
def model(tmp_path):
    return gradus.models.create(tmp_path / "small", "0123456789+=", **SMALL)


def test_texts_are_learned_and_callbacks_end_runs(model):
    losses = []
    last = model.tune(SUMS, lora=None, steps=80, batch=8, length=16, rate=5e-3, on_step=lambda step, loss: losses.append(loss))
    assert len(losses) == 80 and last == losses[-1] < 0.1 < losses[0]
    assert [model.generate(prompt, tokens=3) for prompt, _ in SUMS] == [answer for _, answer in SUMS]
    steps = []
    model.tune(SUMS, lora=None, steps=80, on_step=lambda step, loss: steps.append(step) or step < 3)
    assert steps == [1, 2, 3]

    def fail(step, loss):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        model.tune(SUMS, on_step=fail)


def test_adapters_are_saved_alone_and_merged(model, tmp_path):
    ids = model.encode("1+2=3")
    before = array(model.logits(ids))
    model.tune(SUMS, lora=Lora(rank=2, targets=["q_proj", "down_proj"]), steps=5, rate=1e-2)
    adapted = array(model.logits(ids))
    assert np.abs(adapted - before).max() > 1e-2
    model.save_adapter(tmp_path / "adapter")
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert config["r"] == 2 and config["lora_alpha"] == 4 and config["target_modules"] == ["down_proj", "q_proj"]
    tensors, _ = gradus.load_safetensors(tmp_path / "adapter" / "adapter_model.safetensors")
    assert sorted(tensors) == [f"base_model.model.model.layers.0.{name}.lora_{kind}.weight"
                               for name in ("mlp.down_proj", "self_attn.q_proj") for kind in "AB"]
    model.remove_adapter()
    np.testing.assert_array_equal(array(model.logits(ids)), before)
    model.load_adapter(tmp_path / "adapter")
    np.testing.assert_array_equal(array(model.logits(ids)), adapted)
    model.merge_adapter()
    np.testing.assert_allclose(array(model.logits(ids)), adapted, atol=1e-5)
    model.save(tmp_path / "merged")
    again = gradus.models.load(tmp_path / "merged")
    np.testing.assert_array_equal(array(again.logits(ids)), array(model.logits(ids)))


@needs("torch", "peft", "transformers")
def test_adapters_have_the_same_effect_in_peft(tmp_path):
    folder = write_decoder(tmp_path / "llama")
    model = gradus.models.load(folder)
    ids = model.encode("the same text in both packages")

    def theirs(loaded):
        with torch.no_grad():
            return loaded(torch.tensor([ids])).logits[0].numpy()

    base = transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    plain = array(model.logits(ids))
    np.testing.assert_allclose(plain, theirs(base), atol=1e-5)
    # `peft` reads our adapter.
    model.tune(["some text", "another text"], lora=Lora(rank=3, alpha=5, targets=["k_proj", "o_proj", "up_proj"]), steps=5, rate=2e-2)
    ours = array(model.logits(ids))
    assert np.abs(ours - plain).max() > 1e-2
    model.save_adapter(tmp_path / "ours")
    adapted = peft.PeftModel.from_pretrained(base, tmp_path / "ours")
    assert {n.split(".")[-4] for n, _ in adapted.named_parameters() if "lora_A" in n} == {"k_proj", "o_proj", "up_proj"}
    np.testing.assert_allclose(ours, theirs(adapted), atol=1e-5)
    # We read the adapter of `peft`.
    torch.manual_seed(0)
    base = transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    config = peft.LoraConfig(r=2, lora_alpha=3, target_modules=["q_proj", "down_proj"], use_rslora=True, init_lora_weights=False)
    other = peft.get_peft_model(base, config)
    other.save_pretrained(tmp_path / "theirs")
    model.load_adapter(tmp_path / "theirs")
    assert np.abs(array(model.logits(ids)) - plain).max() > 1e-2
    np.testing.assert_allclose(array(model.logits(ids)), theirs(other), atol=1e-5)


def test_preferences_and_rewards(model, tmp_path):
    pairs = [{"prompt": p, "chosen": a, "rejected": a + "0"} for p, a in SUMS]
    losses = []
    model.prefer(pairs, steps=20, batch=8, rate=5e-3, beta=0.5, on_step=lambda step, loss: losses.append(loss))
    assert abs(losses[0] - np.log(2)) < 1e-5 and losses[-1] < 0.3
    judge = RewardModel(tmp_path / "small")
    assert judge.score("1+1=", "2") == 0
    assert judge.tune(pairs, lora=None, steps=30, batch=8, rate=3e-3) < 0.3
    assert judge.score("1+1=", "2") > judge.score("1+1=", "20")
    judge.save(tmp_path / "judge")
    assert RewardModel.load(tmp_path / "judge").score("1+1=", "20") == judge.score("1+1=", "20")
    adapted = RewardModel(tmp_path / "small")
    adapted.tune(pairs, steps=3, batch=8)
    adapted.save(tmp_path / "adapted")
    assert not (tmp_path / "adapted" / "config.json").exists()
    again = RewardModel.load(tmp_path / "adapted")
    assert 0 != again.score("1+1=", "2") == adapted.score("1+1=", "2") != judge.score("1+1=", "2")
    seen, rounds = [], []

    def reward(prompt, answer):
        seen.append(prompt)
        return float(answer.startswith("7"))

    start = [p for p, _ in SUMS]
    model.remove_adapter()
    model.grpo(start, reward, lora=None, group=4, batch=4, steps=25, tokens=2, rate=3e-3, kl=0.0,
               on_step=lambda step, reward, kl: rounds.append((reward, kl)))
    assert len(seen) == 25 * 16 and set(seen) <= set(start)
    assert rounds[0][0] < 0.5 and np.mean([r for r, _ in rounds[-3:]]) > 0.8 and rounds[0][1] < 1e-6 < rounds[-1][1]
    model.ppo(start, reward, lora=None, batch=8, steps=2, tokens=2, on_step=lambda step, reward, kl: rounds.append((reward, kl)))
    assert len(rounds) == 27


def test_errors_say_what_is_wrong(model, tmp_path):
    with pytest.raises(Exception, match="line 2: `completion` is missing"):
        model.tune(["1+1=2", {"prompt": "1+1="}])
    with pytest.raises(Exception, match="`prefer` learns from these"):
        model.tune([{"prompt": "1", "chosen": "2", "rejected": "3"}])
    with pytest.raises(Exception, match="pairs have `prompt`, `chosen` and `rejected`"):
        model.prefer(["1+1=2"])
    with pytest.raises(Exception, match="must be constant, linear or cosine"):
        model.tune(SUMS, decay="slow")
    with pytest.raises(TypeError):
        model.tune(SUMS, speed=1)
    with pytest.raises(TypeError, match="a prompt and a completion"):
        model.tune([("1", "2", "3")])
    with pytest.raises(Exception, match="has no adapter to save"):
        model.save_adapter(tmp_path / "none")
    with pytest.raises(Exception, match="`query` is not a projection"):
        model.tune(SUMS, lora=Lora(targets=["query"]))
    with pytest.raises(Exception, match="reward NaN must be finite"):
        model.grpo(["1+1="], lambda prompt, answer: float("nan"), steps=1, tokens=2)
    with pytest.raises(ZeroDivisionError):
        model.grpo(["1+1="], lambda prompt, answer: 1 / 0, steps=1, tokens=2)
