"""Flattens nested containers to leaves and a structure, as `torch.utils._pytree` does.

>>> from gradus.utils import _pytree as pytree
>>> leaves, spec = pytree.tree_flatten({"a": [1, 2], "b": (3,)})
>>> leaves, spec.num_leaves, pytree.tree_unflatten([10, 20, 30], spec)
([1, 2, 3], 3, {'a': [10, 20], 'b': (30,)})
>>> pytree.tree_map(lambda x: x + 1, (1, [2]))
(2, [3])
"""

from collections import OrderedDict, defaultdict, deque, namedtuple

_Node = namedtuple("NodeDef", "type flatten_fn unflatten_fn flatten_with_keys_fn")


class MappingKey(namedtuple("MappingKey", "key")):
    """A step of a path: the key of a dictionary."""

    def __str__(self):
        return f"[{self.key!r}]"


class SequenceKey(namedtuple("SequenceKey", "idx")):
    """A step of a path: the index in a list or tuple."""

    def __str__(self):
        return f"[{self.idx}]"


class GetAttrKey(namedtuple("GetAttrKey", "name")):
    """A step of a path: the field of a named tuple."""

    def __str__(self):
        return f".{self.name}"


def keystr(kp):
    """Writes a path as text."""
    return "".join(str(key) for key in kp)


def _sequence(build):
    return lambda d: (list(d), None), lambda values, context: build(values), lambda d: ([(SequenceKey(i), v) for i, v in enumerate(d)], None)


def _mapping(context, build):
    def with_keys(d):
        return [(MappingKey(k), v) for k, v in d.items()], context(d)

    return lambda d: (list(d.values()), context(d)), build, with_keys


def _named_with_keys(d):
    return [(GetAttrKey(f), getattr(d, f)) for f in d._fields], type(d)


SUPPORTED_NODES = {}


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None,
                         from_dumpable_context=None, flatten_with_keys_fn=None):
    """Makes a class a container: `flatten_fn(x)` returns its children and a context, `unflatten_fn(children, context)` makes one."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = _Node(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _register_pytree_node(cls, flatten_fn, unflatten_fn, **options):
    """Calls `register_pytree_node`, under its older name."""
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


register_pytree_node(list, *_sequence(list)[:2], flatten_with_keys_fn=_sequence(list)[2])
register_pytree_node(tuple, *_sequence(tuple)[:2], flatten_with_keys_fn=_sequence(tuple)[2])
for _cls, (_flatten, _unflatten, _keys) in {
    dict: _mapping(lambda d: list(d.keys()), lambda values, keys: dict(zip(keys, values))),
    OrderedDict: _mapping(lambda d: list(d.keys()), lambda values, keys: OrderedDict(zip(keys, values))),
    defaultdict: _mapping(lambda d: [d.default_factory, list(d.keys())],
                          lambda values, context: defaultdict(context[0], zip(context[1], values))),
    deque: (lambda d: (list(d), d.maxlen), lambda values, most: deque(values, maxlen=most), _sequence(deque)[2]),
    namedtuple: (lambda d: (list(d), type(d)), lambda values, cls: cls(*values), _named_with_keys),
}.items():
    register_pytree_node(_cls, _flatten, _unflatten, flatten_with_keys_fn=_keys)


def _kind(tree):
    """Returns the registered type of a container, or `None` of a leaf."""
    cls = type(tree)
    if cls in SUPPORTED_NODES:
        return cls
    return namedtuple if issubclass(cls, tuple) and hasattr(cls, "_fields") else None


class TreeSpec:
    """The structure of a nested container: a type, its context, and the structures of its children. Without a type it is a leaf."""

    def __init__(self, type, context, children_specs):
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_children = len(children_specs)
        self.num_leaves = 1 if type is None else sum(child.num_leaves for child in children_specs)
        self.num_nodes = 1 + sum(child.num_nodes for child in children_specs)

    def is_leaf(self):
        """Returns true if it is a leaf."""
        return self.type is None

    def children(self):
        """Returns the structures of its children."""
        return list(self.children_specs)

    def unflatten(self, leaves):
        """Builds the nested container with these leaves."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree):
        """Returns the parts of another nested container at the leaves of this structure."""
        if self.type is None:
            return [tree]
        if _kind(tree) is not self.type:
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = SUPPORTED_NODES[self.type].flatten_fn(tree)
        if self.type in (dict, OrderedDict) and set(context) == set(self.context):
            children, context = [tree[key] for key in self.context], self.context
        if len(children) != self.num_children or context != self.context:
            raise ValueError(f"Node context mismatch for node type {self.type!r}: {context!r} is not {self.context!r}")
        return [part for spec, child in zip(self.children_specs, children) for part in spec.flatten_up_to(child)]

    def __eq__(self, other):
        return isinstance(other, TreeSpec) and (self.type, self.context, self.children_specs) == (other.type, other.context, other.children_specs)

    def __hash__(self):
        return hash((self.type, repr(self.context), tuple(self.children_specs)))

    def __repr__(self):
        return "*" if self.type is None else f"TreeSpec({self.type.__name__}, {self.context!r}, {self.children_specs!r})"


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self):
        super().__init__(None, None, [])


def tree_flatten(tree, is_leaf=None):
    """Returns the leaves of a nested container, and its structure."""
    kind = None if is_leaf is not None and is_leaf(tree) else _kind(tree)
    if kind is None:
        return [tree], LeafSpec()
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    leaves, specs = [], []
    for child in children:
        found, spec = tree_flatten(child, is_leaf)
        leaves += found
        specs.append(spec)
    return leaves, TreeSpec(kind, context, specs)


def tree_unflatten(leaves, treespec):
    """Builds the nested container of a structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got {type(treespec)}.")
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree "
                         f"that holds {treespec.num_leaves} items ({treespec}).")
    if treespec.type is None:
        return leaves[0]
    children, start = [], 0
    for spec in treespec.children_specs:
        children.append(tree_unflatten(leaves[start:start + spec.num_leaves], spec))
        start += spec.num_leaves
    return SUPPORTED_NODES[treespec.type].unflatten_fn(children, treespec.context)


def tree_iter(tree, is_leaf=None):
    """Returns the leaves, one after the other."""
    return iter(tree_flatten(tree, is_leaf)[0])


def tree_leaves(tree, is_leaf=None):
    """Returns the leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    """Returns the structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree, is_leaf=None):
    """Returns true if an object is a leaf."""
    return _kind(tree) is None or (is_leaf is not None and is_leaf(tree))


def tree_map(func, tree, *rests, is_leaf=None):
    """Maps `func` over the leaves of nested containers of one structure."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten([func(*parts) for parts in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests))])


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls `func` as `tree_map` does, and returns the container unchanged."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def map_only(type_or_types_or_pred):
    """Restricts a function to leaves of some types."""
    types = type_or_types_or_pred
    fits = types if callable(types) and not isinstance(types, type) else lambda x: isinstance(x, types)
    return lambda func: lambda x: func(x) if fits(x) else x


def tree_map_only(type_or_types_or_pred, func, tree, is_leaf=None):
    """Maps `func` over leaves of some types, or that a predicate selects."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, func, tree, is_leaf=None):
    """Calls `func` as `tree_map_only` does, and returns the container unchanged."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Returns true if a predicate is true for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Returns true if a predicate is true for some leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types, pred, tree, is_leaf=None):
    """Returns true if a predicate is true for all leaves of some types."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, pred, tree, is_leaf=None):
    """Returns true if a predicate is true for some leaf of some types."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def tree_leaves_with_path(tree, is_leaf=None, path=()):
    """Returns the leaves, each with the path to it."""
    kind = None if is_leaf is not None and is_leaf(tree) else _kind(tree)
    if kind is None:
        return [(path, tree)]
    with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to register_pytree_node.")
    return [pair for key, child in with_keys(tree)[0] for pair in tree_leaves_with_path(child, is_leaf, (*path, key))]


def tree_flatten_with_path(tree, is_leaf=None):
    """Returns the leaves, each with the path to it, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """Replaces every leaf of a nested container by `func(path, leaf)`."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    return spec.unflatten([func(path, leaf, *parts) for (path, leaf), *parts in zip(pairs, *(spec.flatten_up_to(rest) for rest in rests))])
