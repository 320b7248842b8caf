"""Backpropagation from scratch over NumPy arrays, with every rule written out and compared with that of Gradus.

The listings follow an article: a backward function for each argument, a record of each operation with its operands, and a
backward walk over the records. Expected: all gradients agree to 1e-6 (the tensors of the article are float32), those of the rules
alone to 1e-12.
"""

from dataclasses import dataclass

import numpy as np

import gradus as torch

rng = np.random.default_rng(0)
tracking = True


# --- one rule, and the gradient of broadcasting ---
def log_back(grad_out, out, x):
    return grad_out / x


def unbroadcast(broadcasted, original):
    """Sums over the axes along which `original` was repeated."""
    extra = broadcasted.ndim - original.ndim
    if extra > 0:
        broadcasted = broadcasted.sum(axis=tuple(range(extra)))
    stretched = tuple(i for i, (o, b) in enumerate(zip(original.shape, broadcasted.shape)) if o == 1 and b != 1)
    if stretched:
        broadcasted = broadcasted.sum(axis=stretched, keepdims=True)
    assert broadcasted.shape == original.shape
    return broadcasted


def multiply_back0(grad_out, out, x, y):
    return unbroadcast(grad_out * np.asarray(y), np.asarray(x))


def multiply_back1(grad_out, out, x, y):
    return unbroadcast(grad_out * np.asarray(x), np.asarray(y))


def forward_and_back(a, b, c):
    """Computes log(a b log(c)), then its gradients rule by rule."""
    d = a * b
    e = np.log(c)
    f = d * e
    g = np.log(f)
    gf = log_back(np.ones_like(g), g, f)
    gd, ge = multiply_back0(gf, f, d, e), multiply_back1(gf, f, d, e)
    return multiply_back0(gd, d, a, b), multiply_back1(gd, d, a, b), log_back(ge, e, c)


# --- records, and the table of rules ---
@dataclass(frozen=True)
class Recipe:
    func: object
    args: tuple
    kwargs: dict
    parents: dict


class BackwardFuncLookup:
    def __init__(self):
        self.back_funcs = {}

    def add_back_func(self, forward_fn, arg_position, back_fn):
        self.back_funcs[forward_fn, arg_position] = back_fn

    def get_back_func(self, forward_fn, arg_position):
        if (forward_fn, arg_position) not in self.back_funcs:
            raise KeyError(f"no backward registered for {forward_fn.__name__} arg {arg_position}")
        return self.back_funcs[forward_fn, arg_position]


BACK_FUNCS = BackwardFuncLookup()


class Tensor:
    """An array that records the operation and operands from which it was computed."""

    def __init__(self, data, requires_grad=False):
        self.array = np.asarray(data)
        if self.array.dtype == np.float64:
            self.array = self.array.astype(np.float32)
        self.requires_grad, self.grad, self.recipe = requires_grad, None, None

    def __repr__(self):
        return f"Tensor({self.array!r}, requires_grad={self.requires_grad})"

    __hash__ = object.__hash__

    def __len__(self):
        if self.array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.array.shape[0]

    def __bool__(self):
        if self.array.size != 1:
            raise RuntimeError("bool value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    @property
    def shape(self):
        return self.array.shape

    @property
    def ndim(self):
        return self.array.ndim

    @property
    def is_leaf(self):
        return not (self.requires_grad and self.recipe and self.recipe.parents)

    @property
    def T(self):
        return permute(self, axes=(-1, -2))

    def item(self):
        return self.array.item()

    def backward(self, end_grad=None):
        return backprop(self, Tensor(end_grad) if isinstance(end_grad, np.ndarray) else end_grad)

    def add_(self, other, alpha=1.0):
        self.array += alpha * (other.array if isinstance(other, Tensor) else other)
        return self

    def sub_(self, other, alpha=1.0):
        return self.add_(other, -alpha)

    def uniform_(self, low, high):
        self.array[:] = rng.uniform(low, high, self.shape)
        return self

    __iadd__, __isub__ = add_, sub_

    def __neg__(self): return negative(self)
    def __add__(self, other): return add(self, other)
    def __radd__(self, other): return add(other, self)
    def __sub__(self, other): return subtract(self, other)
    def __rsub__(self, other): return subtract(other, self)
    def __mul__(self, other): return multiply(self, other)
    def __rmul__(self, other): return multiply(other, self)
    def __truediv__(self, other): return true_divide(self, other)
    def __rtruediv__(self, other): return true_divide(other, self)
    def __matmul__(self, other): return matmul(self, other)
    def __eq__(self, other): return eq(self, other)
    def __getitem__(self, index): return getitem(self, index)
    def sum(self, dim=None, keepdim=False): return sum_(self, dim=dim, keepdim=keepdim)
    def log(self): return log(self)
    def exp(self): return exp(self)
    def reshape(self, new_shape): return reshape(self, new_shape)
    def permute(self, dims): return permute(self, axes=dims)
    def maximum(self, other): return maximum(self, other)
    def relu(self): return relu(self)
    def argmax(self, dim=None, keepdim=False): return argmax(self, dim=dim, keepdim=keepdim)


def empty(*shape): return Tensor(np.empty(shape))
def zeros(*shape): return Tensor(np.zeros(shape))
def arange(start, end, step=1): return Tensor(np.arange(start, end, step))
def tensor(data, requires_grad=False): return Tensor(data, requires_grad)


# --- two functions on tensors written out, then all others by one wrapper ---
def log_forward(x):
    out = Tensor(np.log(x.array), tracking and x.requires_grad)
    if out.requires_grad:
        out.recipe = Recipe(np.log, (x.array,), {}, {0: x})
    return out


def multiply_forward(a, b):
    assert isinstance(a, Tensor) or isinstance(b, Tensor)
    raw = tuple(v.array if isinstance(v, Tensor) else v for v in (a, b))
    parents = {i: v for i, v in enumerate((a, b)) if isinstance(v, Tensor)}
    out = Tensor(np.asarray(raw[0] * raw[1]), tracking and any(p.requires_grad for p in parents.values()))
    if out.requires_grad:
        out.recipe = Recipe(np.multiply, raw, {}, parents)
    return out


def wrap_forward_fn(numpy_func, is_differentiable=True):
    def tensor_func(*args, **kwargs):
        parents = {i: v for i, v in enumerate(args) if isinstance(v, Tensor)}
        raw = tuple(v.array if isinstance(v, Tensor) else v for v in args)
        track = tracking and is_differentiable and any(p.requires_grad for p in parents.values())
        out = Tensor(numpy_func(*raw, **kwargs), track)
        if track:
            out.recipe = Recipe(numpy_func, raw, kwargs, parents)
        return out

    return tensor_func


def _sum(x, dim=None, keepdim=False):
    return np.sum(x, axis=dim, keepdims=keepdim)


def _argmax(x, dim=None, keepdim=False):
    result = np.argmax(x, axis=dim)
    return np.expand_dims(result, () if dim is None else dim) if keepdim else result


def _matmul2d(x, y):
    return x @ y


def _getitem(x, index):
    return x[index]


log, exp, negative = map(wrap_forward_fn, (np.log, np.exp, np.negative))
add, subtract, multiply, true_divide, maximum = map(wrap_forward_fn, (np.add, np.subtract, np.multiply, np.true_divide, np.maximum))
sum_, reshape, permute, matmul, getitem = map(wrap_forward_fn, (_sum, np.reshape, np.transpose, _matmul2d, _getitem))
eq, argmax = wrap_forward_fn(np.equal, False), wrap_forward_fn(_argmax, False)


def relu(x):
    return maximum(x, 0.0)


# --- the order of the backward walk ---
class Node:
    def __init__(self, *children):
        self.children = list(children)


def topological_sort(root, get_children):
    order, done, active = [], set(), set()

    def visit(v):
        if v in done:
            return
        if v in active:
            raise ValueError("cycle detected")
        active.add(v)
        for u in get_children(v):
            visit(u)
        active.remove(v)
        done.add(v)
        order.append(v)

    visit(root)
    return order


def sorted_computational_graph(end):
    return topological_sort(end, lambda t: list(t.recipe.parents.values()) if t.recipe else [])[::-1]


def backprop(end_node, end_grad=None):
    grads = {id(end_node): np.ones_like(end_node.array) if end_grad is None else end_grad.array}
    for node in sorted_computational_graph(end_node):
        outgrad = grads.pop(id(node))
        if node.is_leaf:
            if node.requires_grad:
                node.grad = Tensor(outgrad if node.grad is None else node.grad.array + outgrad)
            continue
        for argnum, parent in node.recipe.parents.items():
            back = BACK_FUNCS.get_back_func(node.recipe.func, argnum)
            in_grad = back(outgrad, node.array, *node.recipe.args, **node.recipe.kwargs)
            grads[id(parent)] = grads[id(parent)] + in_grad if id(parent) in grads else in_grad


# --- the remaining rules ---
def sum_back(grad_out, out, x, dim=None, keepdim=False):
    if not keepdim and dim is not None:
        grad_out = np.expand_dims(grad_out, dim)
    return np.broadcast_to(grad_out, x.shape)


def getitem_back(grad_out, out, x, index):
    grad = np.zeros_like(x)
    np.add.at(grad, index, grad_out)
    return grad


def maximum_back(which):
    def back(grad_out, out, x, y):
        x, y = np.asarray(x), np.asarray(y)
        larger = x > y if which == 0 else x < y
        return unbroadcast(grad_out * (larger + 0.5 * (x == y)), (x, y)[which])  # a tie is split evenly

    return back


RULES = [
    (np.log, log_back), (np.exp, lambda g, out, x: g * out), (np.negative, lambda g, out, x: -g),
    (np.multiply, multiply_back0, multiply_back1),
    (np.add, lambda g, out, x, y: unbroadcast(g, np.asarray(x)), lambda g, out, x, y: unbroadcast(g, np.asarray(y))),
    (np.subtract, lambda g, out, x, y: unbroadcast(g, np.asarray(x)), lambda g, out, x, y: unbroadcast(-g, np.asarray(y))),
    (np.true_divide, lambda g, out, x, y: unbroadcast(g / y, np.asarray(x)),
     lambda g, out, x, y: unbroadcast(-g * x / (y * y), np.asarray(y))),
    (np.maximum, maximum_back(0), maximum_back(1)), (_sum, sum_back), (_getitem, getitem_back),
    (np.reshape, lambda g, out, x, new_shape: np.reshape(g, x.shape)),
    (np.transpose, lambda g, out, x, axes: np.transpose(g, np.argsort(np.array(axes) % x.ndim))),
    (_matmul2d, lambda g, out, x, y: g @ y.T, lambda g, out, x, y: x.T @ g),
]
for function, *backs in RULES:
    for position, back in enumerate(backs):
        BACK_FUNCS.add_back_func(function, position, back)


# --- the comparison ---
def pos(*shape):
    return rng.uniform(0.5, 2.0, shape)


# each rule alone: the NumPy function, that of Gradus, its arguments, settings
SINGLE = [
    (np.log, torch.log, [pos(3, 4)], {}), (np.exp, torch.exp, [pos(3, 4)], {}), (np.negative, torch.neg, [pos(3)], {}),
    (np.multiply, torch.mul, [pos(2), pos(4, 2)], {}), (np.add, torch.add, [pos(4, 1), pos(1, 3)], {}),
    (np.subtract, torch.sub, [pos(2), pos(4, 2)], {}), (np.true_divide, torch.div, [pos(4, 2), pos(4, 1)], {}),
    (np.maximum, torch.maximum, [np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 1.0])], {}),
    (_sum, lambda x, **k: x.sum(**k), [pos(2, 3, 4)], {}), (_sum, lambda x, **k: x.sum(**k), [pos(2, 3, 4)], {"dim": 1}),
    (_sum, lambda x, **k: x.sum(**k), [pos(2, 3, 4)], {"dim": (0, 2), "keepdim": True}),
    (_matmul2d, torch.matmul, [pos(3, 4), pos(4, 5)], {}),
]


def compare_rules():
    worst = 0.0
    for function, ours, arrays, settings in SINGLE:
        out = function(*arrays, **settings)
        cotangent = rng.standard_normal(np.shape(out))
        leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
        y = ours(*leaves, **settings)
        y.backward(torch.tensor(cotangent))
        for i, leaf in enumerate(leaves):
            from_rules = BACK_FUNCS.get_back_func(function, i)(cotangent, out, *arrays, **settings)
            worst = max(worst, np.abs(from_rules - leaf.grad.numpy()).max())
    for shape, moved in [((2, 6), lambda x: x.reshape(3, 4)), ((2, 3, 4), lambda x: x.permute(2, 0, 1)), ((5, 3), lambda x: x[torch.tensor([0, 0, 4])])]:
        a = pos(*shape)
        leaf = torch.tensor(a, requires_grad=True)
        y = moved(leaf)
        cotangent = rng.standard_normal(tuple(y.shape))
        y.backward(torch.tensor(cotangent))
        from_rules = {
            (2, 6): lambda: BACK_FUNCS.get_back_func(np.reshape, 0)(cotangent, None, a, (3, 4)),
            (2, 3, 4): lambda: BACK_FUNCS.get_back_func(np.transpose, 0)(cotangent, None, a, (2, 0, 1)),
            (5, 3): lambda: getitem_back(cotangent, None, a, np.array([0, 0, 4])),
        }[shape]()
        worst = max(worst, np.abs(from_rules - leaf.grad.numpy()).max())
    return worst


def compare_expression():
    """The article's first graph: a, b, c with different shapes."""
    arrays = [pos(2), pos(4, 2), 1 + pos(4, 1)]
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    a, b, c = leaves
    (a * b * c.log()).log().backward(torch.ones(4, 2, dtype=torch.float64))
    from_rules = forward_and_back(*arrays)
    return max(np.abs(g - leaf.grad.numpy()).max() for g, leaf in zip(from_rules, leaves))


def network(t, x, w1, b1, w2, target):
    """A two-layer network with a cross entropy, written with operations that both classes have."""
    hidden = (x @ w1 + b1).relu()
    logits = hidden @ w2
    weights = logits.exp()
    p = weights / weights.sum(dim=1, keepdim=True)
    picked = p[(np.arange(len(target)), target)] if t is Tensor else p[torch.arange(len(target)), torch.tensor(target)]
    return -(picked.log().sum()) / len(target)


def compare_network():
    """Compares the complete backward walk over records with that of Gradus, then some training steps of both."""
    arrays = [rng.standard_normal(s).astype(np.float32) for s in ((8, 5), (5, 7), (7,), (7, 3))]
    target = rng.integers(0, 3, 8)
    theirs = [tensor(a.copy(), requires_grad=i > 0) for i, a in enumerate(arrays)]
    ours = [torch.tensor(a, requires_grad=i > 0) for i, a in enumerate(arrays)]
    worst, losses = 0.0, []
    for _ in range(20):
        a, b = network(Tensor, *theirs, target), network(torch.Tensor, *ours, target)
        a.backward()
        b.backward()
        for p, q in zip(theirs[1:], ours[1:]):
            worst = max(worst, np.abs(p.grad.array - q.grad.numpy()).max())
            p.sub_(p.grad, alpha=0.1)
            with torch.no_grad():
                q.sub_(q.grad, alpha=0.1)
            p.grad, q.grad = None, None
        losses.append((a.item(), b.item()))
    assert losses[-1][0] < losses[0][0] and abs(losses[-1][0] - losses[-1][1]) < 1e-5
    return worst


def check_rest():
    """The remaining topics of the article: ordering, cycles, ties, missing rules, functions without derivatives."""
    a, b = Node(), Node()
    root = Node(Node(a, b), a)
    order = topological_sort(root, lambda n: n.children)
    assert order[-1] is root and all(order.index(c) < order.index(n) for n in order for c in n.children)
    a.children.append(root)
    try:
        topological_sort(root, lambda n: n.children)
        raise AssertionError("a cycle was not detected")
    except ValueError:
        pass
    x = tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
    assert multiply_forward(x, 2).recipe.func is np.multiply and log_forward(tensor([1.0])).recipe is None
    assert not (x == x).requires_grad and x.argmax(dim=1).array.tolist() == [0, 1]
    (x * x).T.sum().backward()
    (x * x).sum().backward()  # gradients add up
    assert x.grad.array.tolist() == [[4.0, -8.0], [12.0, 16.0]]
    ours = torch.tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
    (ours * ours).T.sum().backward()
    (ours * ours).sum().backward()
    assert ours.grad.tolist() == x.grad.array.tolist() and ours.argmax(dim=1).tolist() == [0, 1]
    try:
        BACK_FUNCS.get_back_func(np.sin, 0)
        raise AssertionError("a missing rule was found")
    except KeyError as error:
        assert "sin" in str(error)
    assert zeros(2, 3).shape == (2, 3) and len(arange(0, 5)) == 5 and empty(2).uniform_(0, 1).ndim == 1


rules, expression, whole = compare_rules(), compare_expression(), compare_network()
check_rest()
print(f"rules: {rules:.1e}, expression: {expression:.1e}, network: {whole:.1e}")
assert rules < 1e-12 and expression < 1e-12 and whole < 1e-6
print("all gradients agree")
