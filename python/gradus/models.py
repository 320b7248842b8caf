"""Language models from GGUF files and Hugging Face folders.

    model = gradus.models.load("SmolLM2-135M-Instruct.Q4_1.gguf")
    print(model.generate("The capital of France is", tokens=20))
    print(model.chat([{"role": "user", "content": "Who are you?"}], on_text=print))
"""

import json

from . import _native
from ._native import _LanguageModel, _adapter, _create_model, _prefer, _reinforce, _save_model, _tune
from .tune import Lora, RewardModel, _lines, _policy, _settings

__all__ = ["Lora", "Model", "RewardModel", "convert", "create", "dequantize", "load", "quantize"]


def quantize(x, format):
    """Quantises floats along the last axis to the nearest values of a format, such as "Q8_0", "Q4_K", "INT8" or "FP8".

    Returns the bytes, a `uint8` tensor whose last axis counts bytes, and the errors: a dictionary of `rms`, `relative` (to the
    values) and `largest`.
    """
    data, differences = _native._quantize(x, format)
    return data, dict(zip(("rms", "relative", "largest"), differences))


def dequantize(data, format):
    """Returns the values of quantised bytes as `float32`."""
    return _native._dequantize(data, format)


def convert(source, output, format=None, dtype="f32"):
    """Converts a folder to a GGUF file, or a GGUF file to a folder with weights of the dtype.

    With a quantised format the output is a GGUF file whose matrices are in that format. Then returns a dictionary with the number of
    quantised `tensors`, the number of `kept` ones, and the `relative` error.
    """
    report = _native._convert(source, output, format, dtype)
    return report and dict(zip(("tensors", "kept", "relative"), report))


def load(path, device=None, f32=False, compute="f32", cache="f32"):
    """Loads a model from a GGUF file, or from a folder with `config.json`, `tokenizer.json` and safetensors.

    With `f32`, quantised weights are converted to `float32`, so that they can be trained and adapters can be merged into them.
    `compute="int8"` rounds activations to 8 bits in products with quantised weights, which is faster; `compute="bf16"` rounds them to
    `bfloat16`. Cached keys and values are `cache="f32"`, "bf16" or "q8", which take half and a quarter of the memory.
    """
    return Model(path, device, f32, compute, cache)


def create(folder, alphabet, *, width=64, layers=2, heads=4, context=64, seed=0):
    """Writes a small model with random weights and one token for each character of `alphabet`, and loads it."""
    _create_model(folder, alphabet, (width, layers, heads, context), seed)
    return Model(folder)


class Model:
    """A language model with its tokeniser and chat template."""

    def __init__(self, path, device=None, f32=False, compute="f32", cache="f32"):
        self._path = path
        self._model = _LanguageModel(path, device, f32, compute, cache)

    def _settings(self, tokens=128, temperature=0.0, top_k=None, top_p=1.0, min_p=0.0, repetition_penalty=1.0,
                  frequency_penalty=0.0, presence_penalty=0.0, seed=0, stop=(), keep=None, json_schema=None):
        if json_schema is not None and not isinstance(json_schema, str):
            json_schema = json.dumps(json_schema)
        return dict(tokens=tokens, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
                    repetition_penalty=repetition_penalty, frequency_penalty=frequency_penalty,
                    presence_penalty=presence_penalty, seed=seed,
                    stop=[stop] if isinstance(stop, str) else list(stop), keep=keep, json_schema=json_schema)

    def generate(self, prompt, *, on_text=None, **settings):
        """Generates the text after a prompt.

        `on_text` is called with each new piece of text. Settings: `tokens`, `temperature` (0 takes the most likely token), `top_k`, `top_p`,
        `min_p`, `repetition_penalty`, `frequency_penalty` (subtracted from the logit of a token for each time it was generated),
        `presence_penalty` (subtracted once), `seed`, `stop` (one or several strings that end the text), `keep` (when the context is full,
        keep this number of tokens at the start and drop the earlier half of the others; by default the text ends), `json_schema` (a
        dictionary or its text: the result is JSON that is valid under this schema).
        """
        return self._model.generate(prompt, self._settings(**settings), on_text)[0]

    def chat(self, messages, *, on_text=None, **settings):
        """Generates the answer to messages, each a dictionary of `role` and `content`. Settings are those of `generate`."""
        pairs = [(m["role"], m["content"]) for m in messages]
        return self._model.chat(pairs, self._settings(**settings), on_text)[0]

    def generate_tokens(self, prompt, *, log_probabilities=None, **settings):
        """Generates the tokens after those of a prompt. Settings are those of `generate`, without `stop`.

        With `log_probabilities`, each item of the result is a token, its log-probability, and a list of this number of the likeliest
        tokens with theirs. They are those of the model, before penalties and temperature.
        """
        found, _ = self._model.generate_tokens([int(t) for t in prompt], self._settings(**settings), log_probabilities)
        return [item[0] for item in found] if log_probabilities is None else found

    def logits_after(self, tokens):
        """Logits of the token that follows these tokens. A prefix that is in the cache is not computed again."""
        return self._model.logits_after([int(t) for t in tokens])

    def encode(self, text):
        """Returns the tokens of a text. Names of special tokens are encoded as plain text."""
        return self._model.encode(text)

    def decode(self, tokens):
        """Returns the text of tokens, without special ones."""
        return self._model.decode([int(t) for t in tokens])

    def logits(self, tokens):
        """Logits of the token that follows each of these, `[len(tokens), vocabulary]`."""
        return self._model.logits([int(t) for t in tokens])

    def tune(self, data, *, on_step=None, **settings):
        """Trains on texts, and returns the last loss.

        `data` contains texts, tuples of a prompt and its completion, or dictionaries: `{"text"}`, `{"prompt", "completion"}`,
        `{"messages"}`. Settings: `lora` (a `Lora`; `None` trains all weights), `steps`, `batch` (rows of packed texts), `accumulate`
        (batches per update), `length` (tokens per row), `pack`, `rate`, `warmup`, `decay` ("constant", "linear", "cosine"),
        `weight_decay`, `clip`, `seed`. `on_step(step, loss)` is called after each update; returning `False` ends the training.
        """
        return _tune(self._model, _lines(data), _settings(**settings), on_step)

    def prefer(self, pairs, *, beta=0.1, smoothing=0.0, on_step=None, rate=5e-4, decay="constant", **settings):
        """Trains the model to prefer the `chosen` answer of each pair to the `rejected` one (DPO), and returns the last loss.

        Pairs are dictionaries `{"prompt", "chosen", "rejected"}`. A larger `beta` keeps the model closer to the original. `smoothing`
        is the assumed fraction of pairs in the wrong order. Other settings are those of `tune`; `batch` is a number of pairs.
        """
        settings = _settings(rate=rate, decay=decay, **settings)
        return _prefer(self._model, _lines(pairs), settings, (beta, smoothing), on_step)

    def _reinforce(self, ppo, prompts, reward, on_step, tokens, temperature, policy, rate, decay, settings):
        prompts = list(prompts)
        starts = [p if isinstance(p, str) else [(m["role"], m["content"]) for m in p] for p in prompts]
        return _reinforce(self._model, ppo, starts, lambda i, text: reward(prompts[i], text),
                          _settings(rate=rate, decay=decay, **settings), policy,
                          self._settings(tokens=tokens, temperature=temperature), on_step)

    def grpo(self, prompts, reward, *, group=8, epochs=1, ratio=0.2, kl=0.02, scaled=True, tokens=64, temperature=1.0, on_step=None,
             rate=5e-4, decay="constant", **settings):
        """Trains the model to get a higher reward, by comparing answers to the same prompt (GRPO). Returns the last mean reward.

        `reward(prompt, answer)` returns a number. Prompts are texts, or lists of messages. In each of `steps` rounds, each of `batch`
        prompts is answered `group` times. `ratio` bounds the change of probabilities, and `kl` is the weight of the divergence from the
        model at the start. `on_step(step, reward, kl)` is called after each round.
        """
        policy = _policy(group=group, epochs=epochs, ratio=ratio, kl=kl, scaled=scaled)
        return self._reinforce(False, prompts, reward, on_step, tokens, temperature, policy, rate, decay, settings)

    def ppo(self, prompts, reward, *, epochs=2, ratio=0.2, kl=0.05, value_clip=0.2, value=0.5, discount=1.0, gae=0.95, tokens=64,
            temperature=1.0, on_step=None, rate=5e-4, batch=16, decay="constant", **settings):
        """Trains the model to get a higher reward, with a learned value of each token (PPO). Returns the last mean reward.

        `kl` times the divergence from the model at the start, in nats, is subtracted from the reward. Other settings are those of `grpo`.
        """
        policy = _policy(epochs=epochs, ratio=ratio, kl=kl, value_clip=value_clip, value=value, discount=discount, gae=gae)
        return self._reinforce(True, prompts, reward, on_step, tokens, temperature, policy, rate, decay, dict(settings, batch=batch))

    def save_adapter(self, folder):
        """Saves only the adapter: `adapter_config.json` and `adapter_model.safetensors`, which the package `peft` can also read."""
        _adapter(self._model, "save", folder, str(self._path))

    def load_adapter(self, folder):
        """Loads an adapter from a folder; it replaces the current one."""
        _adapter(self._model, "load", folder, None)

    def merge_adapter(self):
        """Adds the adapter to the weights. These must not be quantised; load them with `load(path, f32=True)`."""
        _adapter(self._model, "merge", None, None)

    def remove_adapter(self):
        """Removes the adapter, which restores the original model."""
        _adapter(self._model, "remove", None, None)

    def save(self, folder):
        """Saves all weights as `f32` in a folder that `load` reads. Adapters must be merged first."""
        _save_model(self._model, self._path, folder)
