"""The ports of the corpus, with their faults put in."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import parity
from parity.errors import ModelError

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Fault:
    """A fault of a port.

    Attributes:
        what: what is wrong.
        line, reference_line: where, in the port with the fault and in the reference.
        edits: ranges of the right port's lines, and what stands there instead.
        true_causes: kinds of causes that are true of it.
    """

    what: str
    line: int
    reference_line: int
    edits: tuple[Mapping[str, Any], ...]
    true_causes: tuple[str, ...]


@dataclass(frozen=True)
class Port:
    """A reference and its port."""

    folder: Path

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def faults(self) -> dict[str, Fault]:
        stored = json.loads((self.folder / "faults.json").read_text(encoding="utf-8"))
        return {
            name: Fault(
                one["what"],
                one["line"],
                one["reference_line"] or 0,
                tuple(one["edits"]),
                tuple(one["true_causes"]),
            )
            for name, one in stored.items()
        }

    def compared(self, fault: str = "", gradients: bool = False) -> parity.Report:
        """The port held against its reference, with a fault or as it is, and their gradients."""
        with _modules_of(self.folder):
            reference = _loaded("ref", self.folder / "ref.py", self._source("ref.py"))
            candidate = _loaded("port", self.folder / "port.py", self._with(fault))
            original, ported = reference.make(), candidate.make()
            candidate.load(ported, original)
            own = getattr(candidate, "inputs", None)
            return parity.compare(
                _wrapped(reference, original, reference.inputs(0)),
                _wrapped(candidate, ported, own(0) if own else None),
                gradients=gradients,
            )

    def transferred(self) -> parity.Transfer | None:
        """The reference's weights moved into a port that has its own; None if it gets none."""
        with _modules_of(self.folder):
            reference = _loaded("ref", self.folder / "ref.py", self._source("ref.py"))
            candidate = _loaded("port", self.folder / "port.py", self._source("port.py"))
            inputs = reference.inputs(0)
            own = getattr(candidate, "inputs", None)
            source = _wrapped(reference, reference.make(), inputs)
            target = _wrapped(candidate, candidate.make(), own(0) if own else None)
            try:
                return parity.transfer(source, target)
            except ModelError:  # its weights are made where they are copied by hand
                return None

    def _source(self, file: str) -> str:
        return (self.folder / file).read_text(encoding="utf-8")

    def _with(self, fault: str) -> str:
        lines = self._source("port.py").splitlines()
        edits = self.faults[fault].edits if fault else ()
        for edit in reversed(edits):
            lines[edit["from"] : edit["to"]] = edit["lines"]
        return "\n".join(lines) + "\n"


def _wrapped(side: ModuleType, model: Any, inputs: Any) -> parity.Model:
    """A model with what its file says of how it is to be compared."""
    layout = {"input_layout": side.LAYOUT} if hasattr(side, "LAYOUT") else {}
    mode = getattr(side, "MODE", "eval")
    return parity.wrap(model, framework=side.FRAMEWORK, inputs=inputs, mode=mode, **layout)


def ports() -> list[Port]:
    """All ports, by name."""
    return [Port(file.parent) for file in sorted(CORPUS.glob("*/*/faults.json"))]


@contextmanager
def _modules_of(folder: Path) -> Iterator[None]:
    """Modules beside a port can be imported, and are forgotten afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(str(folder)):
                del sys.modules[name]


def _loaded(name: str, file: Path, source: str) -> ModuleType:
    spec = importlib.util.spec_from_loader(name, loader=None, origin=str(file))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(file)
    sys.modules[name] = module
    exec(compile(source, str(file), "exec"), module.__dict__)
    return module
