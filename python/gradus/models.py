"""Language models from GGUF files and Hugging Face folders.

    model = gradus.models.load("SmolLM2-135M-Instruct.Q4_1.gguf")
    print(model.generate("The capital of France is", tokens=20))
    print(model.chat([{"role": "user", "content": "Who are you?"}], on_text=print))
"""

from . import _native
from ._native import _LanguageModel

__all__ = ["Model", "convert", "dequantize", "load", "quantize"]


def quantize(x, format):
    """Quantises floats along the last axis to the nearest values of a format, such as "Q8_0", "Q4_K", "INT8" or "FP8".

    Returns the bytes, a `uint8` tensor whose last axis counts bytes, and the differences: a dictionary of `rms`, `relative` (to the
    values) and `largest`.
    """
    data, differences = _native._quantize(x, format)
    return data, dict(zip(("rms", "relative", "largest"), differences))


def dequantize(data, format):
    """The values of quantised bytes, `float32`."""
    return _native._dequantize(data, format)


def convert(source, output, format=None, dtype="f32"):
    """Writes a model in another form: a folder as a GGUF file, a GGUF file as a folder with weights of the dtype.

    With a quantised format the output is a GGUF file whose matrices are in that format. Returns a dictionary of the numbers of `tensors`
    that were quantised and that were `kept`, and the `relative` error.
    """
    report = _native._convert(source, output, format, dtype)
    return report and dict(zip(("tensors", "kept", "relative"), report))


def load(path, device=None):
    """Loads a model from a GGUF file, or from a folder with `config.json`, `tokenizer.json` and safetensors."""
    return Model(path, device)


class Model:
    """A language model with its tokeniser and chat template."""

    def __init__(self, path, device=None):
        self._model = _LanguageModel(path, device)

    def _settings(self, tokens=128, temperature=0.0, top_k=None, top_p=1.0, min_p=0.0, repetition_penalty=1.0, seed=0,
                  stop=(), keep=None):
        return dict(tokens=tokens, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
                    repetition_penalty=repetition_penalty, seed=seed,
                    stop=[stop] if isinstance(stop, str) else list(stop), keep=keep)

    def generate(self, prompt, *, on_text=None, **settings):
        """Generates the text after a prompt.

        `on_text` is called with each piece as it comes. Settings: `tokens`, `temperature` (0 takes the likeliest), `top_k`, `top_p`,
        `min_p`, `repetition_penalty`, `seed`, `stop` (a text or several that end it), `keep` (when the context is full, forget the earlier
        half of what follows this many tokens; without it the text ends).
        """
        return self._model.generate(prompt, self._settings(**settings), on_text)[0]

    def chat(self, messages, *, on_text=None, **settings):
        """Generates the answer to messages, each a dictionary of `role` and `content`. Settings are those of `generate`."""
        pairs = [(m["role"], m["content"]) for m in messages]
        return self._model.chat(pairs, self._settings(**settings), on_text)[0]

    def generate_tokens(self, tokens, **settings):
        """Generates the tokens after others. Settings are those of `generate`, without `stop`."""
        return self._model.generate_tokens([int(t) for t in tokens], self._settings(**settings))[0]

    def logits_after(self, tokens):
        """Logits of the token that follows these. What the cache holds of their beginning is not computed again."""
        return self._model.logits_after([int(t) for t in tokens])

    def encode(self, text):
        """The tokens of a text. Text that looks like a special token is encoded as text."""
        return self._model.encode(text)

    def decode(self, tokens):
        """The text of tokens, without special ones."""
        return self._model.decode([int(t) for t in tokens])

    def logits(self, tokens):
        """Logits of the token that follows each of these, `[len(tokens), vocabulary]`."""
        return self._model.logits([int(t) for t in tokens])
