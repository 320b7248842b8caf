"""Recurrent networks: cells, and layers of them over time, forwards and backwards.

Gates are rows of one matrix, in PyTorch's order. A layer multiplies all time steps by its input weights at once; only the
product with the state is inside the loop.
"""

import math

from ..core import cat, empty, stack, where, zeros
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence, _reversed_within


def _elman(nonlinearity):
    act = {"tanh": F.tanh, "relu": F.relu}.get(nonlinearity)
    if act is None:
        raise ValueError(f"Unknown nonlinearity {nonlinearity!r}. Select from 'tanh' or 'relu'.")

    def step(x, h, state):
        y = act(x + h)
        return y, (y,)

    return step


def _gru_step(x, h, state):
    """Reset gate, update gate, proposal: the reset acts on the product with the state."""
    xr, xz, xn = x.chunk(3, -1)
    hr, hz, hn = h.chunk(3, -1)
    reset, update = F.sigmoid(xr + hr), F.sigmoid(xz + hz)
    proposal = F.tanh(xn + reset * hn)
    y = proposal + update * (state[0] - proposal)
    return y, (y,)


def _lstm_step(x, h, state):
    """Input gate, forget gate, proposal, output gate."""
    i, f, g, o = (x + h).chunk(4, -1)
    c = F.sigmoid(f) * state[1] + F.sigmoid(i) * F.tanh(g)
    y = F.sigmoid(o) * F.tanh(c)
    return y, (y, c)


# number of gates
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


class RNNBase(Module):
    """A stack of layers over time. Names of parameters: `weight_ih_l{layer}{_reverse}` and so on.

    >>> import gradus
    >>> isinstance(gradus.nn.LSTM(2, 3), gradus.nn.RNNBase)
    True
    """

    _kind = "RNN"

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__()
        if hidden_size <= 0 or num_layers <= 0:
            raise ValueError("hidden_size and num_layers must be greater than zero")
        if not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1]")
        if proj_size and (self._kind != "LSTM" or not 0 <= proj_size < hidden_size):
            raise ValueError("proj_size is for LSTM only and has to be smaller than hidden_size")
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, float(dropout), bidirectional
        self.proj_size = proj_size
        gates = _GATES[self._kind] * hidden_size
        out = proj_size or hidden_size
        for layer in range(num_layers):
            for direction in range(self._directions):
                width = input_size if layer == 0 else out * self._directions
                sizes = {"weight_ih": (gates, width), "weight_hh": (gates, out)}
                if bias:
                    sizes.update({"bias_ih": (gates,), "bias_hh": (gates,)})
                if proj_size:
                    sizes["weight_hr"] = (proj_size, hidden_size)
                for name, size in sizes.items():
                    setattr(self, name + self._suffix(layer, direction), Parameter(empty(size, device=device, dtype=dtype)))
        self.reset_parameters()

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    @staticmethod
    def _suffix(layer, direction):
        return f"_l{layer}" + ("_reverse" if direction else "")

    @property
    def all_weights(self):
        """The parameters of each layer and direction, in PyTorch's order."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _all_weights(self):
        kinds = ["weight_ih", "weight_hh", *(("bias_ih", "bias_hh") if self.bias else ()), *(("weight_hr",) if self.proj_size else ())]
        return [[kind + self._suffix(layer, direction) for kind in kinds]
                for layer in range(self.num_layers) for direction in range(self._directions)]

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        return [getattr(self, name, None) for name in self._flat_weights_names]

    def reset_parameters(self):
        """Draws new initial values, as PyTorch does."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self):
        """Has no effect here; PyTorch programs call it."""

    def _step(self):
        return {"GRU": _gru_step, "LSTM": _lstm_step}.get(self._kind) or _elman(self.nonlinearity)

    def _run(self, input, state, layer, direction, lengths=None):
        """Runs one layer in one direction over `(T, N, width)`; returns outputs in order of time and the last state.

        Sequences that end earlier keep their last state.
        """
        suffix = self._suffix(layer, direction)
        weights = {name: getattr(self, name + suffix, None)
                   for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")}
        step = self._step()
        projected = F.linear(input, weights["weight_ih"], weights["bias_ih"])
        outputs = []

        def turned(x):
            return x if not direction else x.flip(0) if lengths is None else _reversed_within(x, lengths)

        for t, x in enumerate(turned(projected).unbind(0)):
            y, new = step(x, F.linear(state[0], weights["weight_hh"], weights["bias_hh"]), state)
            if weights["weight_hr"] is not None:
                y = F.linear(y, weights["weight_hr"])
                new = (y, *new[1:])
            if lengths is not None:
                going = (lengths > t).unsqueeze(1)
                new = tuple(where(going, now, before) for now, before in zip(new, state))
            state = new
            outputs.append(y)
        return turned(stack(outputs)), state

    def _packed(self, packed, hx):
        """Runs packed sequences: pads them, runs with their lengths, packs the results."""
        padded, lengths = pad_packed_sequence(packed._replace(sorted_indices=None, unsorted_indices=None))
        order, back = packed.sorted_indices, packed.unsorted_indices

        def arranged(states, by):
            several = isinstance(states, tuple)
            moved = [s if by is None else s.index_select(1, by) for s in (states if several else (states,))]
            return tuple(moved) if several else moved[0]

        hx = hx if hx is None else arranged(tuple(hx) if self._kind == "LSTM" else hx, order)
        out, last = self._over_time(padded, hx, False, lengths)
        found = pack_padded_sequence(out, lengths)
        return found._replace(sorted_indices=order, unsorted_indices=back), arranged(last, back)

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}")
        alone = input.dim() == 2
        x = input.unsqueeze(1) if alone else input.transpose(0, 1) if self.batch_first else input
        x, final = self._over_time(x, hx, alone)
        if alone:
            x = x.squeeze(1)
            final = tuple(s.squeeze(1) for s in final) if self._kind == "LSTM" else final.squeeze(1)
        return x.transpose(0, 1) if self.batch_first and not alone else x, final

    def _over_time(self, x, hx, alone, lengths=None):
        """Runs all layers over `(T, N, width)`; returns outputs and last states."""
        layers = self.num_layers * self._directions
        states = self._first_states(hx, layers, x, alone)
        last = []
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = F.dropout(x, self.dropout, self.training)
            outputs = []
            for direction in range(self._directions):
                k = layer * self._directions + direction
                y, state = self._run(x, tuple(s[k] for s in states), layer, direction, lengths)
                outputs.append(y)
                last.append(state)
            x = outputs[0] if len(outputs) == 1 else cat(outputs, -1)
        final = [stack(parts) for parts in zip(*last)]
        return x, (tuple(final) if self._kind == "LSTM" else final[0])

    def _first_states(self, hx, layers, x, alone):
        widths = (self.proj_size or self.hidden_size,) + ((self.hidden_size,) if self._kind == "LSTM" else ())
        if hx is None:
            return tuple(zeros((layers, x.shape[1], width), dtype=x.dtype) for width in widths)
        given = tuple(hx) if self._kind == "LSTM" else (hx,)
        given = tuple(s.unsqueeze(1) for s in given) if alone else given
        for state, width in zip(given, widths):
            wanted = (layers, x.shape[1], width)
            if tuple(state.shape) != wanted:
                raise RuntimeError(f"Expected hidden size {wanted}, got {tuple(state.shape)}")
        return given

    def extra_repr(self):
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, default in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
                              ("dropout", 0.0), ("bidirectional", False)):
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


class RNN(RNNBase):
    """Elman networks: `h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`, or with `relu`.

    >>> import gradus
    >>> out, h = gradus.nn.RNN(3, 5)(gradus.zeros(7, 4, 3))
    >>> tuple(out.shape), tuple(h.shape)
    ((7, 4, 5), (1, 4, 5))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False,
                 dropout=0.0, bidirectional=False, device=None, dtype=None):
        _elman(nonlinearity)
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Gated recurrent units.

    >>> import gradus
    >>> out, h = gradus.nn.GRU(3, 5, bidirectional=True)(gradus.zeros(7, 4, 3))
    >>> tuple(out.shape), tuple(h.shape)
    ((7, 4, 10), (2, 4, 5))
    """

    _kind = "GRU"

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None):
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)


class LSTM(RNNBase):
    """Long short-term memory; the state is a pair.

    >>> import gradus
    >>> out, (h, c) = gradus.nn.LSTM(3, 5, num_layers=2, batch_first=True)(gradus.zeros(4, 7, 3))
    >>> tuple(out.shape), tuple(h.shape)
    ((4, 7, 5), (2, 4, 5))
    """

    _kind = "LSTM"


class RNNCellBase(Module):
    """One step of one layer, on `(N, width)` or `(width,)`.

    >>> import gradus
    >>> isinstance(gradus.nn.GRUCell(2, 3), gradus.nn.RNNCellBase)
    True
    """

    _kind = "RNN"

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = _GATES[self._kind] * hidden_size
        self.weight_ih = Parameter(empty((gates, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((gates, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty((gates,), device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    reset_parameters = RNNBase.reset_parameters
    _step = RNNBase._step

    def forward(self, input, hx=None):
        if input.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if hx is None:
            zero = zeros((*input.shape[:-1], self.hidden_size), dtype=input.dtype)
            hx = (zero, zero) if self._kind == "LSTM" else zero
        state = tuple(hx) if self._kind == "LSTM" else (hx,)
        x = F.linear(input, self.weight_ih, self.bias_ih)
        _, state = self._step()(x, F.linear(state[0], self.weight_hh, self.bias_hh), state)
        return state if self._kind == "LSTM" else state[0]

    def extra_repr(self):
        bias = "" if self.bias else ", bias=False"
        act = getattr(self, "nonlinearity", "tanh")
        return f"{self.input_size}, {self.hidden_size}{bias}" + ("" if act == "tanh" else f", nonlinearity={act}")


class RNNCell(RNNCellBase):
    """One step of an Elman network.

    >>> import gradus
    >>> tuple(gradus.nn.RNNCell(3, 5)(gradus.zeros(4, 3)).shape)
    (4, 5)
    """

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        _elman(nonlinearity)
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit.

    >>> import gradus
    >>> tuple(gradus.nn.GRUCell(3, 5)(gradus.zeros(4, 3)).shape)
    (4, 5)
    """

    _kind = "GRU"


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory: `h, c = cell(x, (h, c))`.

    >>> import gradus
    >>> h, c = gradus.nn.LSTMCell(3, 5)(gradus.zeros(4, 3))
    >>> tuple(h.shape)
    (4, 5)
    """

    _kind = "LSTM"
