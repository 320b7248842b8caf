"""Helpers for parameters: gradient clipping, conversion to vectors, parametrizations, pruning."""

from . import parametrizations, parametrize, prune, rnn
from .clip import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .renorm import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from .vector import parameters_to_vector, vector_to_parameters

__all__ = ["parametrizations", "parametrize", "prune", "rnn", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector",
           "remove_spectral_norm", "remove_weight_norm", "spectral_norm", "vector_to_parameters", "weight_norm"]
