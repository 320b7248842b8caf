"""Helpers around parameters: limits on gradients, all parameters as one vector."""

from . import rnn
from .clip import clip_grad_norm_, clip_grad_value_, get_total_norm
from .vector import parameters_to_vector, vector_to_parameters

__all__ = ["rnn", "clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector", "vector_to_parameters"]
