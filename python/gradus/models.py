"""Language models from GGUF files and Hugging Face folders.

    model = gradus.models.load("SmolLM2-135M-Instruct.Q4_1.gguf")
    print(model.generate("The capital of France is", tokens=20))
    print(model.chat([{"role": "user", "content": "Who are you?"}], on_text=print))
"""

from ._native import _LanguageModel

__all__ = ["Model", "load"]


def load(path, device=None, compute="f32"):
    """Loads a model from a GGUF file, or from a folder with `config.json`, `tokenizer.json` and safetensors.

    `compute="int8"` rounds activations to 8 bits in products with quantised weights, which is faster.
    """
    return Model(path, device, compute)


class Model:
    """A language model with its tokeniser and chat template."""

    def __init__(self, path, device=None, compute="f32"):
        self._model = _LanguageModel(path, device, compute)

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

    def encode(self, text):
        """The tokens of a text. Text that looks like a special token is encoded as text."""
        return self._model.encode(text)

    def decode(self, tokens):
        """The text of tokens, without special ones."""
        return self._model.decode([int(t) for t in tokens])

    def logits(self, tokens):
        """Logits of the token that follows each of these, `[len(tokens), vocabulary]`."""
        return self._model.logits([int(t) for t in tokens])
