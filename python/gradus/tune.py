"""Fine-tuning of language models: low-rank adapters, preferences, rewards.

    model = gradus.models.load("model.gguf")
    model.tune([("2+2=", "4"), ("3+4=", "7")], lora=Lora(rank=8), steps=50)
    model.save_adapter("sums")
"""

import json
import pathlib

from ._native import _RewardModel

__all__ = ["Lora", "RewardModel"]


class Lora:
    """A low-rank addition to projections: `alpha / rank` times a product of two matrices of this rank.

    `targets` are names of projections or suffixes of names, such as `"q_proj"`.
    By default all projections of the blocks are adapted.
    """

    def __init__(self, rank=8, alpha=None, targets=None):
        self.rank = rank
        self.alpha = 2.0 * rank if alpha is None else alpha
        self.targets = None if targets is None else list(targets)

    def __repr__(self):
        return f"Lora(rank={self.rank}, alpha={self.alpha}, targets={self.targets})"


def _settings(lora=True, steps=100, batch=4, accumulate=1, length=None, pack=True, rate=1e-3, warmup=0, decay="linear",
              weight_decay=0.0, clip=1.0, seed=0):
    if lora is True:
        lora = Lora()
    lora = (lora.rank, lora.alpha, lora.targets) if lora else None
    return dict(lora=lora, steps=steps, batch=batch, accumulate=accumulate, length=length, pack=pack, rate=rate, warmup=warmup,
                decay=decay, weight_decay=weight_decay, clip=clip, seed=seed)


def _policy(group=8, epochs=1, ratio=0.2, kl=0.02, scaled=True, value_clip=0.2, value=0.5, discount=1.0, gae=0.95):
    ratio = ratio if isinstance(ratio, tuple) else (ratio, ratio)
    return {"group": group, "epochs": epochs, "ratio": ratio, "kl": kl, "scaled": scaled, "value_clip": value_clip,
            "value": value, "discount": discount, "lambda": gae}


def _line(item):
    if isinstance(item, str):
        item = {"text": item}
    elif isinstance(item, tuple):
        if len(item) != 2:
            raise TypeError(f"a tuple of training data has a prompt and a completion, not {len(item)} items")
        item = {"prompt": item[0], "completion": item[1]}
    return json.dumps(item)


def _lines(data):
    """Converts training data to JSON lines: texts, tuples of prompt and completion, or dictionaries."""
    return "\n".join(_line(item) for item in data)


class RewardModel:
    """A language model that scores answers, trained on pairs of preferred and rejected ones."""

    def __init__(self, path, device=None, f32=False):
        self._path = path
        self._model = _RewardModel(path, device, f32)

    def save(self, folder):
        """Saves the adapter, or all weights if these were trained, and the map from hidden states to scores."""
        self._model.save(self._path, folder)

    @classmethod
    def load(cls, folder, base=None, device=None, f32=False):
        """Loads a model from a folder that `save` wrote.

        `base` is the path of the model that was trained; by default the one that the folder names. It is not read if the folder has
        all weights.
        """
        folder = pathlib.Path(folder)
        if (folder / "config.json").exists():
            base = folder
        elif base is None and (folder / "adapter_config.json").exists():
            base = json.loads((folder / "adapter_config.json").read_text())["base_model_name_or_path"]
        if base is None:
            raise ValueError(f"{folder} has no weights; pass the path of the model that was trained as `base`")
        model = cls.__new__(cls)
        model._path, model._model = base, _RewardModel(base, device, f32, folder)
        return model

    def tune(self, pairs, *, on_step=None, **settings):
        """Trains the model to score the `chosen` answer of each pair above the `rejected` one; both answer its `prompt`. Returns the last loss.

        Settings are those of `Model.tune`.
        """
        return self._model.tune(_lines(pairs), _settings(**settings), on_step)

    def score(self, prompt, answer):
        """Returns the score of an answer to a prompt."""
        return self._model.score([(prompt, answer)])[0]
