"""Reads off the call stack which layer runs, and which of the user's lines.

An operation is reported some fifty frames deep in a framework. Nearly all of them are those of the
operation before, so what they mean is kept and only the new ones are looked at.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType
from typing import NamedTuple

from parity.frameworks import FRAMEWORKS, packages
from parity.site import Frame, Site

# Methods through which layers of torch, Keras, tf.Module and Chainer are called.
_CALLS = frozenset({"__call__", "_call_impl", "forward", "call"})


class _Level(NamedTuple):
    """A frame at the instruction where it was seen, and what it and those outside it show."""

    frame: FrameType | None
    instruction: int
    lines: tuple[Frame, ...]  # the user's, innermost first
    owner: object  # the innermost layer that is running
    path: str  # and its path
    step: object = None  # of a graph that runs there


class CallStack:
    """Names sites; keeps frames alive until `forget`.

    Args:
        stop: the frame outside which nothing belongs to the model.
        is_layer, layers, root, separator: as for `Recorder`.
    """

    def __init__(
        self,
        stop: FrameType,
        is_layer: Callable[[object], bool],
        layers: Mapping[int, str],
        root: object,
        separator: str,
    ) -> None:
        self._stop: FrameType | None = stop
        self._is_layer = is_layer
        self._layers = dict(layers)
        self._root = root
        self._separator = separator
        self._named: list[object] = []  # kept alive, so that identities are never reused
        self._counts: Counter[str] = Counter()
        self._levels = [_Level(None, 0, (), None, "")]  # the outermost first
        self._depth: dict[FrameType, int] = {}
        self._lines: dict[tuple[int, int], Frame] = {}
        self._sites: dict[tuple[str, str, tuple[int, ...]], Site] = {}

    def site(self, kind: str, frame: FrameType | None) -> Site:
        """The site of an operation that runs in `frame`."""
        level = self._read(frame)
        key = (kind, level.path, tuple(map(id, level.lines)))
        site = self._sites.get(key)
        if site is None:
            site = self._sites[key] = Site(kind, level.path, level.lines)
        return site

    def forget(self) -> None:
        """Lets go of all frames."""
        self._stop = None
        self._levels = self._levels[:1]
        self._depth.clear()

    def _read(self, frame: FrameType | None) -> _Level:
        """What the stack shows now."""
        new: list[FrameType] = []
        keep = 0
        while frame is not None and frame is not self._stop:
            depth = self._depth.get(frame)
            if depth is not None and self._levels[depth].instruction == frame.f_lasti:
                if _step(frame)[0] is self._levels[depth].step:
                    keep = depth
                    break
            new.append(frame)
            frame = frame.f_back
        for level in self._levels[keep + 1 :]:
            if level.frame is not None:
                del self._depth[level.frame]
        del self._levels[keep + 1 :]
        for inner in reversed(new):
            self._depth[inner] = len(self._levels)
            self._levels.append(self._enter(inner, self._levels[-1]))
        return self._levels[-1]

    def _enter(self, frame: FrameType, outer: _Level) -> _Level:
        code = frame.f_code
        _, user, may_be_layer = _CLASSES.get(id(code)) or _classify(code)
        lines, owner, path = outer.lines, outer.owner, outer.path
        if user:
            place = (id(code), frame.f_lineno)
            line = self._lines.get(place)
            if line is None:
                line = self._lines[place] = Frame(code.co_filename, place[1], code.co_name)
            lines = (line, *lines)
        step, built = _step(frame)
        if built is not None:
            lines = (built, *lines)
        if may_be_layer:
            called = frame.f_locals.get(code.co_varnames[0])
            if called is not owner and self._is_layer(called):
                owner, path = called, self._path(called, path)
        return _Level(frame, frame.f_lasti, lines, owner, path, step)

    def _path(self, layer: object, outer: str) -> str:
        if layer is self._root:
            return outer
        known = self._layers.get(id(layer))
        if known is None:
            name = getattr(layer, "name", None)
            if not (isinstance(name, str) and name):
                name = type(layer).__name__
                count = self._counts[name]
                self._counts[name] += 1
                name = f"{name}_{count}" if count else name
            known = f"{outer}{self._separator}{name}" if outer else name
            self._layers[id(layer)] = known
            self._named.append(layer)
        return known


# Code that runs a graph which was built elsewhere, by its id: what tells from a frame of it at
# which step the graph is, and the user's line that built the step.
GRAPH_RUNNERS: dict[int, tuple[CodeType, Callable[[FrameType], tuple[object, Frame | None]]]] = {}


def _step(frame: FrameType) -> tuple[object, Frame | None]:
    found = GRAPH_RUNNERS.get(id(frame.f_code))
    return found[1](frame) if found is not None else (None, None)


# In a wheel the examples lie inside this package, and are a user's code all the same.
_EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "examples") + os.sep
_CLASSES: dict[int, tuple[CodeType, bool, bool]] = {}  # by id: hashing a code object is slow


def _classify(code: CodeType) -> tuple[CodeType, bool, bool]:
    """The code, whether its frames are the user's, and whether a layer may be what is called."""
    file = code.co_filename
    foreign = file.startswith(foreign_paths()) and not file.startswith(_EXAMPLES)
    user = not foreign and not file.startswith("<frozen")
    layer = code.co_name in _CALLS and code.co_argcount >= 1
    found = _CLASSES[id(code)] = (code, user, layer)
    return found


def is_users(code: CodeType) -> bool:
    """Whether code is the user's, and no framework's, Python's or this package's."""
    return (_CLASSES.get(id(code)) or _classify(code))[1]


def foreign_paths() -> tuple[str, ...]:
    """Where code is nobody's line: the frameworks', Python's own, and this package's."""
    known = packages()
    return _paths_beside(known, frozenset(sys.modules.keys() & known))


@functools.cache
def _paths_beside(known: frozenset[str], imported: frozenset[str]) -> tuple[str, ...]:
    # by what is imported: a framework that comes later may lie in a folder of its own
    own = os.path.dirname(os.path.abspath(__file__)) + os.sep
    stdlib = sysconfig.get_path("stdlib")
    folders = [own, *_stdlib_folders(stdlib)]
    for site in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        folders += [os.path.join(site, name) + os.sep for name in (*sorted(known), "parity")]
    for name in sorted(imported):
        module = sys.modules[name]
        paths = [os.path.abspath(path) + os.sep for path in getattr(module, "__path__", None) or ()]
        folders += paths or [file for file in [getattr(module, "__file__", None)] if file]
    for framework in FRAMEWORKS.values():
        if framework.module in imported:
            folders += [os.path.join(tempfile.gettempdir(), name) for name in framework.generated]
    return tuple(dict.fromkeys(folders))


def _stdlib_folders(stdlib: str) -> Iterator[str]:
    # site-packages lies inside the standard library's folder, and is not part of it
    for entry in os.scandir(stdlib):
        if entry.is_dir() and entry.name != "site-packages":
            yield entry.path + os.sep
        elif entry.name.endswith(".py"):
            yield entry.path
