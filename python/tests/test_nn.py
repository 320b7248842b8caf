"""Every layer and loss against PyTorch's, with its state dictionary loaded: values, gradients, buffers and `repr`."""

import numpy as np
import pytest

import gradus
from gradus import nn
from oracle import array, flat, needs_torch, pull_back, same, tensors, torch

rng = np.random.default_rng(7)


def f(*shape):
    return rng.standard_normal(shape)


def ints(high, *shape):
    return rng.integers(0, high, shape)


def mask(*shape):
    """Draws booleans with at least one false in every row."""
    m = rng.random(shape) < 0.4
    m[..., 0] = False
    return m


causal = np.triu(np.ones((5, 5), bool), 1)

# how to make the layer, its arguments
LAYERS = [
    ("Linear(3, 4)", [f(5, 3)]), ("Linear(3, 4, bias=False)", [f(2, 5, 3)]), ("Bilinear(3, 4, 5)", [f(6, 3), f(6, 4)]),
    ("Embedding(7, 3)", [ints(7, 2, 5)]), ("Embedding(7, 3, padding_idx=2)", [ints(7, 2, 5)]),
    ("EmbeddingBag(7, 3)", [ints(7, 2, 5)]), ("EmbeddingBag(7, 3, mode='sum', padding_idx=2)", [ints(7, 2, 5)]), ("EmbeddingBag(7, 3, mode='max')", [ints(7, 6), np.array([0, 2])]),
    ("Identity()", [f(3)]), ("Flatten()", [f(2, 3, 4)]), ("Flatten(0, 1)", [f(2, 3, 4)]), ("Unflatten(1, (2, 3))", [f(4, 6)]),
    ("Conv1d(3, 4, 3)", [f(2, 3, 9)]), ("Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2)", [f(2, 4, 11)]),
    ("Conv1d(3, 4, 4, padding='same')", [f(2, 3, 9)]), ("Conv1d(3, 4, 3, padding='valid', bias=False)", [f(3, 9)]),
    ("Conv1d(3, 4, 3, padding=2, padding_mode='circular')", [f(2, 3, 9)]),
    ("Conv2d(3, 4, 3)", [f(2, 3, 7, 6)]), ("Conv2d(2, 4, (3, 2), stride=(2, 1), padding=(1, 2), groups=2)", [f(2, 2, 7, 6)]),
    ("Conv2d(2, 3, 3, padding='same', padding_mode='reflect')", [f(2, 2, 7, 6)]),
    ("Conv2d(2, 3, 3, padding=1, padding_mode='replicate')", [f(2, 2, 7, 6)]), ("Conv3d(2, 3, 2)", [f(2, 2, 4, 5, 6)]),
    ("ConvTranspose1d(3, 4, 3, stride=2, padding=1, output_padding=1)", [f(2, 3, 5)]),
    ("ConvTranspose2d(4, 6, 3, stride=2, groups=2, dilation=2)", [f(2, 4, 5, 4)]),
    ("ConvTranspose3d(2, 3, 2, bias=False)", [f(2, 2, 3, 4, 3)]),
    ("BatchNorm1d(3)", [f(6, 3)]), ("BatchNorm1d(3, momentum=None)", [f(6, 3, 4)]), ("BatchNorm2d(3)", [f(4, 3, 5, 2)]),
    ("BatchNorm2d(3, affine=False)", [f(4, 3, 5, 2)]), ("BatchNorm2d(3, track_running_stats=False)", [f(4, 3, 5, 2)]),
    ("BatchNorm3d(2, eps=1e-3, momentum=0.3)", [f(3, 2, 3, 2, 4)]),
    ("InstanceNorm1d(3)", [f(2, 3, 5)]), ("InstanceNorm2d(3, affine=True)", [f(2, 3, 4, 5)]), ("InstanceNorm3d(2)", [f(2, 2, 3, 4, 2)]),
    ("InstanceNorm2d(3, track_running_stats=True)", [f(2, 3, 4, 5)]), ("InstanceNorm1d(3)", [f(3, 5)]),
    ("LayerNorm(4)", [f(3, 5, 4)]), ("LayerNorm((5, 4), bias=False)", [f(3, 5, 4)]), ("LayerNorm(4, elementwise_affine=False)", [f(3, 4)]),
    ("RMSNorm(4)", [f(3, 4)]), ("RMSNorm((3, 4), eps=1e-4)", [f(2, 3, 4)]), ("GroupNorm(2, 6)", [f(3, 6, 4)]),
    ("GroupNorm(3, 6, affine=False)", [f(3, 6, 4, 2)]), ("LocalResponseNorm(3)", [f(2, 5, 4)]),
    ("Dropout(0.0)", [f(3, 4)]), ("Dropout2d(0.0)", [f(2, 3, 4, 4)]),
    ("RNN(3, 4)", [f(5, 2, 3)]), ("RNN(3, 4, nonlinearity='relu', bias=False)", [f(5, 2, 3)]),
    ("RNN(3, 4, num_layers=2, bidirectional=True, batch_first=True)", [f(2, 5, 3), f(4, 2, 4)]),
    ("GRU(3, 4)", [f(5, 3)]), ("GRU(3, 4, num_layers=2, bidirectional=True)", [f(5, 2, 3), f(4, 2, 4)]),
    ("LSTM(3, 4, batch_first=True)", [f(2, 5, 3)]), ("LSTM(3, 4, num_layers=2, bidirectional=True)", [f(5, 2, 3), (f(4, 2, 4), f(4, 2, 4))]),
    ("LSTM(3, 5, proj_size=2, num_layers=2)", [f(5, 2, 3)]),
    ("RNNCell(3, 4)", [f(2, 3)]), ("RNNCell(3, 4, nonlinearity='relu')", [f(2, 3), f(2, 4)]), ("GRUCell(3, 4)", [f(2, 3), f(2, 4)]),
    ("GRUCell(3, 4, bias=False)", [f(3)]), ("LSTMCell(3, 4)", [f(2, 3)]), ("LSTMCell(3, 4)", [f(2, 3), (f(2, 4), f(2, 4))]),
    ("MultiheadAttention(8, 2)", [f(5, 3, 8), f(4, 3, 8), f(4, 3, 8)]),
    ("MultiheadAttention(8, 2, batch_first=True, kdim=6, vdim=7)", [f(3, 5, 8), f(3, 4, 6), f(3, 4, 7)]),
    ("MultiheadAttention(8, 4, batch_first=True, add_bias_kv=True, add_zero_attn=True)", [f(3, 5, 8), f(3, 5, 8), f(3, 5, 8), mask(3, 5), True, causal]),
    ("MultiheadAttention(8, 2, bias=False)", [f(5, 8), f(4, 8), f(4, 8)]),
    ("TransformerEncoderLayer(8, 2, 16, dropout=0.0)", [f(5, 3, 8)]),
    ("TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True, activation='gelu')", [f(3, 5, 8), causal, mask(3, 5)]),
    ("TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True)", [f(3, 5, 8), f(3, 4, 8), causal]),
    ("TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2, nn.LayerNorm(8))", [f(3, 5, 8)]),
    ("TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0), 2)", [f(5, 3, 8), f(4, 3, 8)]),
    ("Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)", [f(3, 4, 8), f(3, 5, 8)]),
    ("MaxPool1d(3)", [f(2, 3, 10)]), ("MaxPool2d(2, stride=1, padding=1, ceil_mode=True)", [f(2, 3, 5, 6)]),
    ("MaxPool2d(3, stride=2, dilation=2)", [f(2, 3, 9, 8)]), ("MaxPool2d(2, return_indices=True)", [f(2, 3, 4, 6)]), ("MaxPool3d(2)", [f(2, 3, 4, 4, 6)]),
    ("AvgPool1d(3, 2)", [f(2, 3, 10)]), ("AvgPool2d(3, 2, 1, count_include_pad=False)", [f(2, 3, 7, 6)]), ("AvgPool3d(2)", [f(1, 2, 4, 4, 6)]),
    ("AdaptiveAvgPool1d(4)", [f(2, 3, 10)]), ("AdaptiveAvgPool2d((3, None))", [f(2, 3, 7, 5)]), ("AdaptiveAvgPool3d(2)", [f(1, 2, 4, 5, 3)]),
    ("AdaptiveMaxPool1d(3)", [f(2, 3, 10)]), ("AdaptiveMaxPool2d((3, 2))", [f(2, 3, 7, 5)]), ("AdaptiveMaxPool2d((3, None), return_indices=True)", [f(2, 3, 7, 5)]), ("AdaptiveMaxPool3d(2)", [f(1, 2, 4, 5, 3)]), ("AdaptiveMaxPool3d(2, return_indices=True)", [f(2, 4, 5, 3)]),
    ("ConstantPad1d((1, 2), 3.5)", [f(2, 3, 4)]), ("ZeroPad2d((1, 0, 2, 1))", [f(2, 3, 4, 4)]), ("ReflectionPad2d(2)", [f(2, 3, 4, 5)]),
    ("ReplicationPad1d(2)", [f(2, 3, 4)]), ("CircularPad2d(1)", [f(2, 3, 4, 4)]),
    ("Upsample(scale_factor=2)", [f(2, 3, 4, 5)]), ("Upsample(size=(7, 9), mode='bilinear', align_corners=False)", [f(2, 3, 4, 5)]),
    ("Upsample(scale_factor=2.0, mode='bilinear', align_corners=True)", [f(2, 3, 4, 5)]),
    ("ChannelShuffle(2)", [f(2, 6, 3, 3)]), ("LPPool2d(2, 2)", [f(2, 3, 4, 4) ** 2]), ("LPPool3d(2, 2)", [f(2, 3, 4, 4, 2) ** 2]), ("MaxUnpool1d(2)", [f(2, 3, 4), 2 * np.arange(4) * np.ones((2, 3, 1), int)]), ("RReLU(0.2, 0.2)", [f(3, 4)]),
    ("PixelShuffle(2)", [f(2, 8, 3, 2)]), ("PixelUnshuffle(2)", [f(2, 2, 4, 6)]),
    ("Unfold((2, 3), stride=2)", [f(2, 3, 6, 7)]), ("Fold((5, 6), 2)", [f(2, 12, 20)]),
    ("CosineSimilarity()", [f(4, 5), f(4, 5)]), ("PairwiseDistance()", [f(4, 5), f(4, 5)]),
    ("Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))", [f(5, 3)]),
] + [(name, [f(4, 6)]) for name in (
    "ReLU()", "Sequential(nn.Linear(6, 6), nn.ReLU(inplace=True))", "ReLU6()", "LeakyReLU()", "Sequential(nn.Linear(6, 6), nn.LeakyReLU(0.2, inplace=True))", "ELU()", "ELU(0.5)", "SELU()", "CELU(0.7)",
    "GELU()", "GELU('tanh')", "SiLU()", "Mish()", "Softplus()", "Softplus(2.0, 1.0)", "Softsign()", "Sigmoid()", "LogSigmoid()",
    "Tanh()", "Tanhshrink()", "Softshrink()", "Hardshrink(0.3)", "Hardtanh()", "Hardtanh(-0.5, 0.7)", "Hardsigmoid()", "Hardswish()",
    "Threshold(0.1, 2.0)", "GLU()", "GLU(0)", "Softmax(1)", "LogSoftmax(dim=0)", "Softmin(1)", "PReLU()", "PReLU(6, init=0.1)",
)] + [("Softmax2d()", [f(2, 3, 4, 5)])]


def probabilities(*shape):
    return rng.random(shape) * 0.9 + 0.05


class Fixed(np.ndarray):
    """An array for which no gradient is computed."""


def signs(*shape):
    return np.where(rng.random(shape) < 0.5, -1.0, 1.0).view(Fixed)


weights5 = "t.tensor([0.5, 1.0, 2.0, 0.1, 3.0], dtype=t.float64)"
LOSSES = [
    ("MSELoss()", [f(3, 4), f(3, 4)]), ("L1Loss()", [f(3, 4), f(3, 4)]), ("SmoothL1Loss(beta=0.5)", [f(3, 4), f(3, 4)]),
    ("HuberLoss(delta=0.7)", [f(3, 4), f(3, 4)]),
    ("CrossEntropyLoss()", [f(6, 5), ints(5, 6)]), ("CrossEntropyLoss(label_smoothing=0.1)", [f(6, 5), ints(5, 6)]),
    (f"CrossEntropyLoss({weights5}, ignore_index=2)", [f(6, 5, 3), ints(5, 6, 3)]),
    ("CrossEntropyLoss(label_smoothing=0.2)", [f(6, 5), probabilities(6, 5)]), ("CrossEntropyLoss()", [f(5), np.array(3)]),
    ("NLLLoss()", [f(6, 5), ints(5, 6)]), (f"NLLLoss({weights5}, ignore_index=1)", [f(6, 5, 2), ints(5, 6, 2)]),
    ("BCELoss()", [probabilities(3, 4), probabilities(3, 4)]), ("BCEWithLogitsLoss()", [f(3, 4), probabilities(3, 4)]),
    (f"BCEWithLogitsLoss(pos_weight={weights5})", [f(3, 5), probabilities(3, 5)]),
    ("KLDivLoss(log_target=True)", [f(3, 4), f(3, 4)]), ("KLDivLoss()", [f(3, 4), probabilities(3, 4)]),
    ("PoissonNLLLoss()", [f(3, 4), probabilities(3, 4) * 5]), ("PoissonNLLLoss(log_input=False, full=True)", [probabilities(3, 4), probabilities(3, 4) * 5]),
    ("GaussianNLLLoss(full=True)", [f(3, 4), f(3, 4), probabilities(3, 4)]), ("HingeEmbeddingLoss(margin=0.8)", [f(3, 4), signs(3, 4)]),
    ("SoftMarginLoss()", [f(3, 4), signs(3, 4)]), ("MarginRankingLoss(margin=0.2)", [f(6), f(6), signs(6)]),
    ("MultiMarginLoss(p=2)", [f(6, 5), ints(5, 6)]), ("MultiLabelSoftMarginLoss()", [f(3, 5), mask(3, 5).astype(float).view(Fixed)]),
    ("TripletMarginWithDistanceLoss(margin=0.5)", [f(4, 5), f(4, 5), f(4, 5)]),
    ("CosineEmbeddingLoss(margin=0.1)", [f(6, 4), f(6, 4), signs(6)]), ("TripletMarginLoss(swap=True)", [f(6, 4), f(6, 4), f(6, 4)]),
]


# PyTorch's gradients of these hold constants in float32, also for float64
ROUGH = {"Hardsigmoid()": 1e-7, "CELU(0.7)": 1e-7}


def make(library, text):
    return eval(f"nn.{text}", {"nn": library.nn, "t": library})


def arguments(library, args):
    """Converts nested arrays to tensors; returns other objects unchanged."""
    if isinstance(args, (list, tuple)):
        return type(args)(arguments(library, a) for a in args)
    return tensors(library, [args], grad=not isinstance(args, Fixed))[0] if isinstance(args, np.ndarray) else args


def agree(text, args, training, rtol=1e-9):
    theirs = make(torch, text).double()
    with torch.no_grad():  # random parameters, because initial ones and zeros would hide errors
        for p in theirs.parameters():
            p.add_(0.1 * torch.randn_like(p))
    ours = make(gradus, text).double()
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    ours.train(training)
    theirs.train(training)
    runs = []
    for library, module in ((gradus, ours), (torch, theirs)):
        given = arguments(library, args)
        result = module(*given)
        pull_back(result)
        grads = [p.grad for p in flat(list(given)) if getattr(p, "grad", None) is not None]
        grads += [p.grad for p in module.parameters() if p.grad is not None]
        runs.append((result, grads, module.state_dict()))
    for what, a, b in zip(("values", "gradients", "state"), *runs):
        same(a, b, rtol=rtol, what=f"{text}: {what}")
    assert list(runs[0][2]) == list(runs[1][2])
    return ours, theirs


@needs_torch
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("text, args", LAYERS, ids=[text for text, _ in LAYERS])
def test_layer(text, args, training):
    ours, theirs = agree(text, args, training, ROUGH.get(text, 1e-9))
    if "Attention" not in repr(ours):  # the class of its output layer has another name
        assert repr(ours) == repr(theirs)


@needs_torch
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("text, args", LOSSES, ids=[text for text, _ in LOSSES])
def test_loss(text, args, reduction):
    if text.startswith("KLDiv") and reduction == "mean":
        reduction = "batchmean"
    joined = text.replace("()", f"(reduction='{reduction}')") if "()" in text else f"{text[:-1]}, reduction='{reduction}')"
    ours, theirs = agree(joined, args, True)
    if "WithDistance" not in text:  # PyTorch shows the default distance as a module
        assert repr(ours) == repr(theirs)


@needs_torch
def test_state_dictionaries_go_both_ways():
    theirs, ours = torch.nn.Linear(3, 2), nn.Linear(3, 2)
    ours.load_state_dict(theirs.state_dict())
    x = f(4, 3).astype(np.float32)
    np.testing.assert_allclose(array(ours(gradus.tensor(x))), array(theirs(torch.tensor(x))), rtol=1e-5)
    with gradus.no_grad():
        ours.weight.mul_(2)
    assert not np.array_equal(array(ours.weight), array(theirs.weight)), "values are copied in"
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in ours.state_dict().items()})
    np.testing.assert_array_equal(array(theirs.weight), array(ours.weight))


@pytest.mark.parametrize("name, share", [("Dropout", (200, 50)), ("Dropout1d", (100, 40, 3)), ("Dropout2d", (40, 40, 3, 2)),
                                         ("Dropout3d", (40, 40, 2, 2, 2))])
def test_dropout_keeps_the_mean_and_drops_whole_channels(name, share):
    gradus.manual_seed(0)
    layer = getattr(nn, name)(0.25)
    y = array(layer(gradus.ones(share)))
    assert set(np.unique(y.round(5))) == {0.0, np.float32(4 / 3).round(5)}
    channels = y.reshape(*share[:2], -1)
    assert (channels == channels[..., :1]).all()
    assert abs((y == 0).mean() - 0.25) < 0.05
    x = gradus.ones(share)
    assert (array(layer.eval()(x)) == 1).all()


def test_alpha_dropout_keeps_mean_and_variance():
    gradus.manual_seed(0)
    y = array(nn.AlphaDropout(0.2)(gradus.randn(400, 100)))
    assert abs(y.mean()) < 0.02 and abs(y.var() - 1) < 0.03


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("text, args", LAYERS, ids=[text for text, _ in LAYERS])
def test_layer_compiled(text, args, training):
    """A compiled layer returns the results of the layer, and gradients flow through the compiled function."""
    runs = []
    for compiled in (False, True):
        gradus.manual_seed(11)
        layer = make(gradus, text).double().train(training)
        if text.startswith("BatchNorm") and "momentum=None" in text and training:
            pytest.skip("the mean of all batches so far is a number that Python computes")
        given = arguments(gradus, args)
        result = (gradus.jit(layer) if compiled else layer)(*given)
        pull_back(result)
        grads = [p.grad for p in flat(list(given)) if getattr(p, "grad", None) is not None]
        grads += [p.grad for p in layer.parameters() if p.grad is not None]
        runs.append((result, grads, layer.state_dict()))
    for what, a, b in zip(("values", "gradients", "state"), *reversed(runs)):
        same(a, b, rtol=1e-9, what=f"{text}: {what}")
