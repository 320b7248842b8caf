"""Runs models of public PyTorch repositories with PyTorch and with `gradus` under the name `torch`, and compares them.

    python python/tests/public_programs.py FOLDER             # one line per entry, a table at the end
    python python/tests/public_programs.py FOLDER --only kuangliu

`FOLDER` has a checkout of each repository that `public_entries.py` names, as `owner+name`; no repository is copied here. A
repository runs in one process per package. Weights, inputs and draws are the same in both. The script compares outputs in the dtype
of the program. Then it compares, in float64 if the program allows it, outputs, gradients of all parameters and the losses of three
steps.
"""

import argparse
import ast
import collections
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import tempfile
import traceback
import types
import warnings

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))

#: Packages that programs import for data, pictures and downloads. Absent ones are replaced by empty modules, for PyTorch and for Gradus.
OTHERS = {"torchvision", "torchaudio", "torchtext", "PIL", "matplotlib", "pytorch_fid", "datasets", "gymnasium", "gym", "scipy", "cv2",
          "imageio", "tensorboardX", "dill", "spacy", "h5py", "transformers", "tiktoken", "safetensors", "huggingface_hub", "pytorch_lightning",
          "ema_pytorch", "accelerate", "sklearn", "pandas", "skimage", "seaborn", "wandb"}

#: Bounds relative to the largest element: for outputs in the program's dtype, and for all results in float64 and in float32.
LOOSE, CLOSE, SINGLE = 2e-2, 1e-6, 2e-3

#: Seconds for one entry.
PATIENCE = 900


class Renamed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports `gradus.x` where a program imports `torch.x`."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch" and not name.startswith("torch."):
            return None
        ours = "gradus" + name[len("torch"):]
        try:
            importlib.import_module(ours)
        except ModuleNotFoundError as error:
            if error.name != ours:
                raise
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return sys.modules["gradus" + spec.name[len("torch"):]]

    def exec_module(self, module):
        pass


class Nothing(type):
    """The type of classes that do nothing. Their attributes are such classes too."""

    def __new__(cls, name, bases=(), space=None):
        space = {"__init__": lambda self, *args, **kwargs: None, "__call__": lambda self, *args, **kwargs: None, **(space or {})}
        return super().__new__(cls, name, bases, space)

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(name)


class Empty(types.ModuleType):
    """A module of a package that is not installed: every name in it is a class that does nothing."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, Nothing(name))
        return getattr(self, name)


class Others(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes empty modules for packages of `OTHERS` that cannot be found, and for the logs of TensorBoard."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        wanted = name.split(".")[0] in self.names or name in self.names
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if wanted else None

    def create_module(self, spec):
        made = Empty(spec.name)
        made.__path__, made.__version__ = [], "99.0.0"
        return made

    def exec_module(self, module):
        pass


def definitions(path, **names):
    """The classes, functions and settings of a script: runs its statements one by one, without loops, and skips those that fail."""
    with open(path) as file:
        tree = ast.parse(file.read())
    space = dict(names, __name__="program", __file__=os.path.abspath(path))
    sys.modules["program"] = types.ModuleType("program")
    for statement in tree.body:
        if isinstance(statement, (ast.For, ast.While, ast.If, ast.With)):
            continue
        try:
            exec(compile(ast.Module([statement], []), path, "exec"), space)
        except (Exception, SystemExit):
            if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
                raise
    space.update(names)
    return types.SimpleNamespace(**space)


class Draws:
    """Replaces the package's random draws by NumPy's, so that both packages use the same numbers."""

    def __init__(self, torch):
        self.torch, self.rng = torch, np.random.default_rng(0)

    def seed(self):
        self.rng = np.random.default_rng(0)
        np.random.seed(0)
        random.seed(0)
        self.torch.manual_seed(0)

    def made(self, values, kwargs, kind=None):
        torch = self.torch
        dtype = kwargs.get("dtype") or kind or torch.get_default_dtype()
        return torch.tensor(np.asarray(values)).to(dtype).requires_grad_(bool(kwargs.get("requires_grad")))

    def install(self):
        torch = self.torch

        def shape(args, kwargs):
            args = args or (kwargs["size"],)
            return tuple(int(n) for n in (args[0] if len(args) == 1 and not isinstance(args[0], (int, np.integer)) else args))

        torch.randn = lambda *s, **k: self.made(self.rng.standard_normal(shape(s, k)), k)
        torch.rand = lambda *s, **k: self.made(self.rng.random(shape(s, k)), k)
        torch.randn_like = lambda x, **k: self.made(self.rng.standard_normal(tuple(x.shape)), k, x.dtype)
        torch.rand_like = lambda x, **k: self.made(self.rng.random(tuple(x.shape)), k, x.dtype)
        torch.randperm = lambda n, **k: self.made(self.rng.permutation(int(n)), k, torch.int64)

        def randint(*args, **kwargs):
            args = list(args)
            size = kwargs.pop("size", None)
            size = args.pop() if size is None else size
            low = kwargs.pop("low", None)
            high = kwargs.pop("high", None)
            args += [high] if high is not None else []
            low, high = (args[0], args[1]) if len(args) == 2 else (low or 0, args[0])
            return self.made(self.rng.integers(int(low), int(high), tuple(size)), kwargs, torch.int64)

        def filled(draw):
            def method(x, *args, **kwargs):
                kwargs.pop("generator", None)
                with torch.no_grad():
                    return x.copy_(torch.tensor(np.asarray(draw(tuple(x.shape), *args, **kwargs))).to(x.dtype))
            return method

        def dropout(x, p=0.5, training=True, inplace=False):
            if not training or p == 0:
                return x
            return x * torch.tensor((self.rng.random(tuple(x.shape)) >= p) / (1 - p)).to(x.dtype)

        torch.randint = randint
        torch.Tensor.uniform_ = filled(lambda s, a=0.0, b=1.0, **k: self.rng.uniform(k.get("from", a), k.get("to", b), s))
        torch.Tensor.normal_ = filled(lambda s, mean=0.0, std=1.0: self.rng.normal(mean, std, s))
        torch.nn.functional.dropout = dropout


def leaves(x, torch):
    """Returns all tensors of nested results, in order."""
    if isinstance(x, torch.Tensor):
        return [x]
    if isinstance(x, dict):
        return [leaf for key in x for leaf in leaves(x[key], torch)]
    if hasattr(x, "_asdict"):
        return leaves(list(x), torch)
    if isinstance(x, (list, tuple)):
        return [leaf for part in x for leaf in leaves(part, torch)]
    return [leaf for part in vars(x).values() for leaf in leaves(part, torch)] if hasattr(x, "__dataclass_fields__") else []


def array(x):
    """Copies a tensor's elements to an array. A view would change, because optimisers write to parameters."""
    return np.array(x.detach().resolve_conj().numpy())


def loss_of(outputs, torch):
    """Returns a number that depends on every element of every result: a scalar result itself, otherwise weighted sums."""
    total = 0.0
    for x in leaves(outputs, torch):
        x = torch.view_as_real(x) if x.is_complex() else x
        if x.is_floating_point() and x.requires_grad:
            weights = torch.tensor(np.cos(np.arange(x.numel(), dtype=np.float64)).reshape(tuple(x.shape))).to(x.dtype)
            total = total + (x if x.dim() == 0 else (x * weights).mean())
    return total


def cast(x, dtype, torch):
    """Converts the floating-point tensors of nested arguments to another dtype."""
    if isinstance(x, torch.Tensor):
        return x.to(dtype) if x.is_floating_point() and not getattr(x, "is_sparse", False) else x
    if isinstance(x, (list, tuple)):
        return type(x)(cast(part, dtype, torch) for part in x)
    return {key: cast(part, dtype, torch) for key, part in x.items()} if isinstance(x, dict) else x


def stateful(model):
    """Returns parameters and buffers by name."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())} if hasattr(model, "named_parameters") else {}


def run_entry(code, torch, draws, state, wide):
    """Builds a model, loads `state` if there is one, and runs it. Returns its state, outputs, gradients and losses."""
    setup, make, give = code
    space = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np, "definitions": definitions,
             "x": lambda *s: torch.randn(*s), "ints": lambda high, *s: torch.randint(0, high, s)}
    draws.seed()
    exec(setup, space)
    draws.seed()
    model = eval(make, space)
    is_module = isinstance(model, torch.nn.Module)
    for module in model.modules() if is_module else ():
        if "Drop" in type(module).__name__ and isinstance(getattr(module, "p", None), float):
            module.p = 0.0
        if type(module).__name__ == "MultiheadAttention":
            module.dropout = 0.0
    own = stateful(model)
    if state is None:
        state = {name: array(x) for name, x in own.items()}
    elif set(state) != set(own):
        raise AssertionError(f"other parameters: {sorted(set(state) ^ set(own))[:4]}")
    with torch.no_grad():
        for name, x in own.items():
            x.copy_(torch.tensor(state[name]).to(x.dtype))
    draws.seed()
    inputs = eval(give, space)
    inputs, named = (inputs, {}) if not isinstance(inputs, dict) else ((), inputs)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    draws.seed()
    found = {"state": state, "outputs": [(array(x), str(x.dtype).split(".")[1]) for x in leaves(model(*inputs, **named), torch)]}
    if not is_module:
        return found
    if wide:
        model, inputs, named = model.double(), cast(inputs, torch.float64, torch), cast(named, torch.float64, torch)
        with torch.no_grad():
            for name, x in stateful(model).items():
                x.copy_(torch.tensor(state[name]).to(x.dtype))
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(parameters, lr=1e-3) if parameters else None
    found["losses"] = []
    for step in range(3):
        draws.seed()
        outputs = model(*inputs, **named)
        loss = loss_of(outputs, torch)
        if not isinstance(loss, torch.Tensor):
            break
        if optimizer is not None:
            optimizer.zero_grad()
        loss.backward()
        found["losses"].append(float(loss.item()))
        if step == 0:
            found["wide"] = [array(x) for x in leaves(outputs, torch)]
            found["gradients"] = {name: array(p.grad) for name, p in model.named_parameters() if p.grad is not None}
        if optimizer is not None:
            optimizer.step()
    return found


class Late(Exception):
    """Raised if an entry takes longer than `PATIENCE`."""


def work(package, folder, repository, answers, only):
    """Runs the entries of one repository with one package, in a process. The second package uses the state of the first."""
    import public_entries

    sys.argv = ["program"]
    warnings.simplefilter("ignore")
    sys.meta_path.append(Others(OTHERS))
    if importlib.util.find_spec("tensorboard") is None:
        sys.meta_path.insert(0, Others({"torch.utils.tensorboard"}))
    if package == "gradus":
        import gradus as torch

        sys.meta_path.insert(0, Renamed())
        sys.modules["torch"] = torch
    else:
        import torch
    torch.set_num_threads(1)
    draws = Draws(torch)
    draws.install()
    root = os.path.join(folder, repository.replace("/", "+"))
    paths, text = public_entries.ENTRIES[repository]
    sys.path[:0] = [os.path.join(root, path) for path in paths.split()]
    os.chdir(root)
    with open(answers, "rb") as file:
        results = pickle.load(file)

    def late(*_):
        raise Late(f"longer than {PATIENCE} s")

    signal.signal(signal.SIGALRM, late)
    for name, code in entries(text, only):
        first = results.get(("torch", name), {})
        if package == "gradus" and "error" in first:
            continue
        found, errors = {}, []
        for wide in (True, False) if package == "torch" else (first["is_wide"],):
            signal.alarm(PATIENCE)
            try:
                found = run_entry(code, torch, draws, first.get("state"), wide)
                found["is_wide"] = wide
                errors = []
                break
            except (Exception, SystemExit) as error:
                at = traceback.extract_tb(error.__traceback__)[-1]
                errors.append(f"{type(error).__name__}: {error} ({os.path.basename(at.filename)}:{at.lineno} {at.line})")
            finally:
                signal.alarm(0)
        results[package, name] = {"error": errors[-1]} if errors else found
        with open(answers, "wb") as file:
            pickle.dump(results, file)


def entries(text, only=""):
    """Parses the entries of a repository: names and code (setup, model, inputs). A line without `|` is setup for all later entries."""
    shared = []
    for line in text.strip().splitlines():
        if "|" not in line:
            shared.append(line)
            continue
        name, *code = (part.strip() for part in line.split("|"))
        code = ["", *code] if len(code) == 2 else code
        if re.search(only, name):
            yield name, ("\n".join([*shared, *(part.strip() for part in code[0].split(";"))]), *code[1:])


def far(ours, theirs, bound):
    """Describes the difference of two arrays, or returns `None`."""
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, not {theirs.shape}"
    if theirs.dtype.kind in "biu":
        return None if np.array_equal(ours, theirs) else "other integers"
    scale = np.abs(theirs[np.isfinite(theirs)])
    scale = max(float(scale.max()) if scale.size else 0.0, 1e-12)
    if np.allclose(ours, theirs, rtol=bound, atol=bound * scale, equal_nan=True):
        return None
    return f"off by {float(np.nanmax(np.abs(ours - theirs))) / scale:.1e} of the largest element"


def difference(ours, theirs):
    """Describes the difference of an entry's results, or returns `None`."""
    if "error" in ours:
        return ours["error"]
    close = CLOSE if theirs["is_wide"] else SINGLE
    if len(ours["outputs"]) != len(theirs["outputs"]):
        return f"{len(ours['outputs'])} outputs, not {len(theirs['outputs'])}"
    for i, ((a, kind), (b, wanted)) in enumerate(zip(ours["outputs"], theirs["outputs"])):
        if kind != wanted or far(a, b, LOOSE):
            return f"output {i}: {kind}, not {wanted}" if kind != wanted else f"output {i}: {far(a, b, LOOSE)}"
    for i, (a, b) in enumerate(zip(ours.get("wide", []), theirs.get("wide", []))):
        if far(a, b, close):
            return f"output {i}: {far(a, b, close)}"
    if set(ours.get("gradients", ())) != set(theirs.get("gradients", ())):
        return f"gradients of other parameters: {sorted(set(ours['gradients']) ^ set(theirs['gradients']))[:3]}"
    largest = max((float(np.abs(g).max()) for g in theirs.get("gradients", {}).values() if g.size), default=0.0)
    for name, b in theirs.get("gradients", {}).items():
        a = ours["gradients"][name]
        if a.shape != b.shape or not np.allclose(a, b, rtol=10 * close, atol=10 * close * max(largest, 1e-12), equal_nan=True):
            return f"gradient of {name}: {far(a, b, close)}"
    if far(np.array(ours.get("losses", [])), np.array(theirs.get("losses", [])), 10 * close):
        return f"losses {ours['losses']}, not {theirs['losses']}"
    return None


def run(folder, only="", entry="", report=print):
    """Runs all repositories that exist in the folder. Returns `{repository: (equal, entries, refused by PyTorch)}`."""
    import public_entries

    table = collections.OrderedDict()
    for repository, (_, text) in public_entries.ENTRIES.items():
        if not re.search(only, repository) or not os.path.isdir(os.path.join(folder, repository.replace("/", "+"))):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            answers = os.path.join(scratch, "answers")
            with open(answers, "wb") as file:
                pickle.dump({}, file)
            for package in ("torch", "gradus"):
                command = [sys.executable, os.path.abspath(__file__), folder, "--worker", package, repository, answers, "--entry", entry]
                subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            with open(answers, "rb") as file:
                results = pickle.load(file)
        equal = total = refused = 0
        for name, _ in entries(text, entry):
            theirs, ours = results.get(("torch", name), {"error": "the process ended"}), results.get(("gradus", name), {"error": "the process ended"})
            if "error" in theirs:
                refused += 1
                report(f"refused {repository} {name}: PyTorch: {theirs['error'][:300]}", flush=True)
                continue
            found = difference(ours, theirs)
            total += 1
            equal += found is None
            report(f"{'equal  ' if found is None else 'DIFFERS'} {repository} {name}{'' if found is None else ': ' + found[:400]}", flush=True)
        table[repository] = (equal, total, refused)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", help="checkouts of repositories, as owner+name")
    parser.add_argument("--only", default="", help="repositories whose name has this regular expression")
    parser.add_argument("--entry", default="", help="entries whose name has this regular expression")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        package, repository, answers = arguments.worker
        work(package, os.path.abspath(arguments.folder), repository, answers, arguments.entry)
        return 0
    table = run(os.path.abspath(arguments.folder), arguments.only, arguments.entry)
    print("\n| repository | entries | equal |\n|---|---|---|")
    for repository, (equal, total, refused) in table.items():
        print(f"| {repository} | {total} | {equal} |" + (f" ({refused} that PyTorch refuses left out)" if refused else ""))
    print(f"\n{sum(v[0] for v in table.values())} of {sum(v[1] for v in table.values())} entries of {len(table)} repositories are equal")
    if not any(v[1] for v in table.values()):
        print(f"no checkout of a known repository in {arguments.folder}", file=sys.stderr)
        return 2
    return int(any(v[0] != v[1] for v in table.values()))


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    sys.exit(main())
