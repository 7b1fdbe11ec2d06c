"""What recording has in common in every framework: numbering values, naming layers, finding lines.

An adapter watches its framework run and tells a `Recorder` of each operation; the recorder knows
tensors by identity (it keeps them alive, so identities are never reused), asks the call stack for
the layer and the user's line, and hands over a `Tape` in the end.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from parity.tape import Adapter, Frame, LeafKind, Native, Op, Role, Site, Tape, Value

# Methods through which layers of torch, Keras, tf.Module and Chainer are called.
_CALLS = frozenset({"__call__", "_call_impl", "forward", "call"})
_FRAMEWORKS = frozenset(
    "torch functorch torchgen tensorflow keras tf_keras chainer chainerx numpy jax parity".split()
)


class Recorder:
    """Builds a tape while a model runs.

    Args:
        adapter: of the model's framework.
        is_layer: tells whether an object on the stack is a layer of that framework.
        layers: known layers by `id`, with their paths; others are named by their class.
        root: the model itself where it is a layer: it adds nothing to a path.
        separator: joins the names of nested layers.
    """

    def __init__(
        self,
        adapter: Adapter,
        is_layer: Callable[[object], bool],
        layers: Mapping[int, str],
        root: object = None,
        separator: str = ".",
    ) -> None:
        self.adapter = adapter
        self.ops: list[Op] = []
        self.values: list[Value] = []
        self.recorded: dict[int, Native] = {}
        self.caveats: list[str] = []
        self._ids: dict[int, int] = {}
        self._keep: list[Native] = []
        self._live: set[int] = set()  # values that an input of the model reaches
        self._is_layer = is_layer
        self._layers = dict(layers)
        self._root = root
        self._separator = separator
        self._unnamed: dict[str, int] = {}
        self._sites: dict[tuple[Any, ...], Site] = {}
        self._stop: FrameType | None = sys._getframe(1)

    def find(self, tensor: Native) -> int | None:
        """The value id of a tensor that was seen before, by identity."""
        return self._ids.get(id(tensor))

    def alias(self, tensor: Native, value: int) -> None:
        """Says that `tensor` is, from now on, the tensor of `value`."""
        self._ids[id(tensor)] = value
        self._keep.append(tensor)

    def leaf(
        self, tensor: Native, kind: LeafKind, name: str, shape: Sequence[int], dtype: str
    ) -> int:
        """Adds a value that no operation makes."""
        value = Value(len(self.values), kind, tuple(shape), dtype, name)
        self.values.append(value)
        self.recorded[value.id] = tensor
        self.alias(tensor, value.id)
        if kind == "input":
            self._live.add(value.id)
        return value.id

    def op(
        self,
        kind: str,
        inputs: Iterable[int],
        outputs: Sequence[tuple[Native, Sequence[int], str]],
        *,
        role: Role = "compute",
        attributes: Mapping[str, Any] | None = None,
        call: Any = None,
        site: Site | None = None,
    ) -> Op:
        """Adds an operation that just ran.

        Args:
            outputs: of each output the tensor, its shape and NumPy's name of its dtype.
        """
        inputs = tuple(inputs)
        index = len(self.ops)
        static = role != "random" and self._live.isdisjoint(inputs)
        ids = []
        for tensor, shape, dtype in outputs:
            value = Value(len(self.values), "computed", tuple(shape), dtype, "", index)
            self.values.append(value)
            self.recorded[value.id] = tensor
            self.alias(tensor, value.id)
            ids.append(value.id)
            if not static:
                self._live.add(value.id)
        op = Op(
            index,
            kind,
            inputs,
            tuple(ids),
            site or self.site(kind),
            role,
            attributes or {},
            call,
            static,
        )
        self.ops.append(op)
        return op

    def tape(self, model: str, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> Tape:
        self._stop = None  # a frame holds its locals, this recorder with all values among them
        return Tape(
            self.adapter,
            model,
            self.ops,
            self.values,
            dict(inputs),
            dict(outputs),
            self.recorded,
            self.caveats,
        )

    def site(self, kind: str) -> Site:
        """Where the program is now: the user's lines and the layer, read off the call stack."""
        lines: list[tuple[CodeType, int]] = []
        called: list[object] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame is not self._stop:
            code = frame.f_code
            _, user, may_be_layer = _CLASSES.get(id(code)) or _classify(code)
            if user:
                lines.append((code, frame.f_lineno))
            if may_be_layer:
                owner = frame.f_locals.get(code.co_varnames[0])
                if (not called or called[-1] is not owner) and self._is_layer(owner):
                    called.append(owner)
            frame = frame.f_back
        key = (kind, tuple(lines), tuple(map(id, called)))
        site = self._sites.get(key)
        if site is None:
            frames = tuple(Frame(code.co_filename, line, code.co_name) for code, line in lines)
            site = self._sites[key] = Site(kind, self._path(called), frames)
        return site

    def _path(self, called: Sequence[object]) -> str:
        """The path of the innermost of the layers that are running (innermost first)."""
        path = ""
        for layer in reversed(called):
            if layer is self._root:
                continue
            known = self._layers.get(id(layer))
            if known is None:
                own = getattr(layer, "name", None)
                known = self._join(
                    path, own if isinstance(own, str) and own else self._invent(layer)
                )
                self._layers[id(layer)] = known
                self._keep.append(layer)
            path = known
        return path

    def _join(self, path: str, name: str) -> str:
        return f"{path}{self._separator}{name}" if path else name

    def _invent(self, layer: object) -> str:
        name = type(layer).__name__
        count = self._unnamed.get(name, 0)
        self._unnamed[name] = count + 1
        return f"{name}_{count}" if count else name


# In a wheel the examples lie inside this package, and are a user's code all the same.
_EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "examples") + os.sep
_CLASSES: dict[int, tuple[CodeType, bool, bool]] = {}  # by id: hashing a code object is slow


def _classify(code: CodeType) -> tuple[CodeType, bool, bool]:
    """The code, whether its frames are the user's, and whether a layer may be what is called."""
    file = code.co_filename
    foreign = file.startswith(_foreign_paths()) and not file.startswith(_EXAMPLES)
    user = not foreign and not file.startswith("<frozen")
    layer = code.co_name in _CALLS and code.co_argcount >= 1
    found = _CLASSES[id(code)] = (code, user, layer)
    return found


def _foreign_paths() -> tuple[str, ...]:
    """Folders whose code is nobody's line: the frameworks', Python's own, and this package's."""
    return _paths_beside(frozenset(sys.modules.keys() & _FRAMEWORKS))


@functools.cache
def _paths_beside(imported: frozenset[str]) -> tuple[str, ...]:
    # by what is imported: a framework that comes later may lie in a folder of its own
    own = os.path.dirname(os.path.abspath(__file__)) + os.sep
    stdlib = sysconfig.get_path("stdlib")
    folders = [own, *_stdlib_folders(stdlib)]
    for site in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        folders += [os.path.join(site, name) + os.sep for name in _FRAMEWORKS]
    for name in sorted(imported):
        for path in getattr(sys.modules[name], "__path__", ()) or ():
            folders.append(os.path.abspath(path) + os.sep)
    return tuple(dict.fromkeys(folders))


def _stdlib_folders(stdlib: str) -> Iterator[str]:
    # site-packages lies inside the standard library's folder, and is not part of it
    for entry in os.scandir(stdlib):
        if entry.is_dir() and entry.name != "site-packages":
            yield entry.path + os.sep
        elif entry.name.endswith(".py"):
            yield entry.path


def _defaults(function: FunctionType) -> dict[str, Any]:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    values = function.__defaults__ or ()
    return dict(zip(names[len(names) - len(values) :], values, strict=True)) | (
        function.__kwdefaults__ or {}
    )


def discover(callable_: object, is_layer: Callable[[object], bool]) -> dict[str, Any]:
    """The layers that a plain function or object holds, by the names under which it holds them.

    Looks into a bound method's object, an object's attributes, closures, defaults, the globals that
    a function reads, partial arguments, and lists, tuples and dicts of these.
    """
    found: dict[str, Any] = {}
    seen: dict[int, object] = {}  # keeps them alive, so that identities are never reused

    def visit(name: str, thing: object, depth: int) -> None:
        if id(thing) in seen or depth > 3:
            return
        seen[id(thing)] = thing
        if is_layer(thing):
            found.setdefault(name or type(thing).__name__, thing)
        elif isinstance(thing, (list, tuple)):
            for index, item in enumerate(thing):
                visit(f"{name}.{index}" if name else str(index), item, depth + 1)
        elif isinstance(thing, dict):
            for key, item in thing.items():
                if isinstance(key, str):
                    visit(f"{name}.{key}" if name else key, item, depth + 1)
        elif isinstance(thing, functools.partial):
            visit(name, thing.func, depth + 1)
            visit(name, list(thing.args), depth + 1)
            visit(name, dict(thing.keywords), depth + 1)
        elif isinstance(thing, MethodType):
            visit(name, thing.__self__, depth)
        elif isinstance(thing, FunctionType):
            cells = thing.__closure__ or ()
            for variable, cell in zip(thing.__code__.co_freevars, cells, strict=True):
                try:
                    visit(variable, cell.cell_contents, depth + 1)
                except ValueError:  # an empty cell
                    continue
            visit(name, _defaults(thing), depth)
            for variable in thing.__code__.co_names:
                if variable in thing.__globals__:
                    item = thing.__globals__[variable]
                    if is_layer(item) or isinstance(item, (FunctionType, list, tuple, dict)):
                        function = isinstance(item, FunctionType) and not is_layer(item)
                        visit("" if function else variable, item, depth + 1)
        elif not isinstance(thing, type) and depth <= 2 and hasattr(thing, "__dict__"):
            if type(thing).__module__.split(".")[0] not in sys.stdlib_module_names:
                visit(name, dict(vars(thing)), depth + 1)

    visit("", callable_, 0)
    return found
