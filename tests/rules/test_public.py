"""Rules about the public face: what parity offers cannot be misread, or loosened."""

from __future__ import annotations

import ast
import inspect
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parity
from parity.result import Result

PACKAGE = Path(parity.__file__).parent


def public_callables(module: Any = parity) -> Iterator[tuple[str, Any]]:
    """What `__all__` names, modules' own too, and the public methods and properties of classes."""
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.ismodule(thing):
            yield from ((f"{name}.{own}", member) for own, member in public_callables(thing))
            continue
        if not callable(thing):
            continue
        yield name, thing
        if inspect.isclass(thing):
            if issubclass(thing, BaseException):
                continue
            for own, member in inspect.getmembers(thing):
                function = member.fget if isinstance(member, property) else member
                if inspect.isfunction(function) and not own.startswith("_"):
                    yield f"{name}.{own}", function


def returns_a_bool(thing: Any) -> bool:
    found = thing if inspect.isfunction(thing) else getattr(thing, "__init__", None)
    return bool in _parts(typing.get_type_hints(found).get("return")) if found else False


def _parts(hint: Any) -> set[Any]:
    return {hint} | {part for inner in typing.get_args(hint) for part in _parts(inner)}


def test_no_public_function_returns_a_bool() -> None:
    """A truth value that nobody asserts is a comparison that nobody made."""
    functions = dict(public_callables())
    known = {"compare", "wrap", "Report", "Report.to_dict", "Report.verdict", "rl.dueling_q"}
    assert known <= set(functions)
    assert not [name for name, thing in functions.items() if returns_a_bool(thing)]


def test_the_search_for_bools_sees_one() -> None:
    def close(a: float, b: float) -> bool:
        return a == b

    def maybe(a: float) -> bool | None:
        return None

    assert returns_a_bool(close) and returns_a_bool(maybe)


def test_a_report_has_no_truth_value() -> None:
    """`assert parity.compare(...)` must not pass by accident."""
    from .pairs import compare, network

    report = compare(network, network)
    for use in (bool, lambda it: not it, lambda it: it and 1, lambda it: [1 for _ in "a" if it]):
        with pytest.raises(TypeError, match="neither true nor false"):
            use(report)


def test_without_the_refusal_a_divergence_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule above is needed: objects are true."""
    from .pairs import compare, network

    monkeypatch.delattr(Result, "__bool__")
    assert compare(network, lambda x: network(x) * 2)


LOOSE = re.compile(
    r"tol|(?<!st)eps|atol|rtol|threshold|delta|precision|close|almost|decimal|places|strict"
)


def parameters_of(thing: Any) -> list[str]:
    return list(inspect.signature(thing).parameters)


def test_there_is_no_tolerance_to_set() -> None:
    """What can be bumped will be bumped, whenever CI flakes; rounding is measured instead."""
    for name, thing in public_callables():
        if not (inspect.isclass(thing) and issubclass(thing, BaseException)):
            assert not [own for own in parameters_of(thing) if LOOSE.search(own)], name


def test_a_tolerance_would_be_seen() -> None:
    assert [own for own in parameters_of(np.allclose) if LOOSE.search(own)] == ["rtol", "atol"]


def test_no_environment_variable_loosens_it() -> None:
    """The only variables that parity reads silence or colour what it prints."""
    read = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", node.value):
                    read.add(node.value)
    assert not [name for name in read if LOOSE.search(name.lower())], read


def refuses_nan(test: ast.expr) -> bool:
    """Whether a condition that bounds something from above takes NaN for beyond the bound."""
    return not (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], (ast.Gt, ast.GtE))
        and re.search(r"residual|gap|apart|difference", ast.unparse(test.left))
    )


def alarms(source: str) -> list[str]:
    """Conditions of the form `residual > bound`, which NaN slips through."""
    return [
        ast.unparse(node.test)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.If, ast.IfExp)) and not refuses_nan(node.test)
    ]


def test_nan_is_beyond_every_bound() -> None:
    """`value > bound` is false for NaN, so verdicts ask `value <= bound` and alarm on all else."""
    judging = [PACKAGE / "diagnosis" / "verdict.py", *(PACKAGE / "matching").glob("*.py")]
    found = {path.name: alarms(path.read_text()) for path in judging}
    assert not any(found.values()), found


def test_a_bound_that_nan_passes_would_be_seen() -> None:
    assert alarms("if found.residual > 1e-10:\n    alarm()") == ["found.residual > 1e-10"]
    assert not alarms("if not found.residual <= 1e-10:\n    alarm()")
