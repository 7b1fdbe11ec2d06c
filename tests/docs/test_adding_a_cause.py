"""The cause in adding-a-cause.md is as short as the page says, and works."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from parity.diagnosis import causes

torch = pytest.importorskip("torch")

from tests.unit.causes.compared_pairs import Values, compared, tensor  # noqa: E402

values = Values()

PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-cause.md").read_text()
[CODE] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
X, WEIGHT, OUT = values(5, 7), tensor(values(7, 6)), tensor(values(6, 4))


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(causes, "_REGISTERED", [*causes._REGISTERED])
    exec(CODE, {"__name__": "parity.diagnosis.causes.logarithm"})


def model(logarithm):
    return lambda x: logarithm((x @ WEIGHT).square() + 0.1) @ OUT


def first(reference, candidate):
    return compared(model(reference), model(candidate), X).divergences[0]


def test_it_has_as_many_lines_as_the_page_says():
    [promised] = re.findall(r"these (\d+) lines", PAGE)
    docstring = next(
        node.body[0]
        for node in ast.walk(ast.parse(CODE))
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)
    )
    lines = CODE.splitlines()
    del lines[docstring.lineno - 1 : docstring.end_lineno]
    assert len([line for line in lines if line.strip()]) <= int(promised)


def test_without_it_a_logarithm_to_another_base_has_no_name_of_its_own():
    found = first(torch.log, torch.log2).cause
    assert (found.kind, found.parameters) == (
        "different-formula",
        {"formula": ("log(a)", "log2(a)")},
    )


@pytest.mark.parametrize("name", ["log2", "log10", "log1p"])
def test_it_is_found_proved_and_confirmed(registered, name):
    found = first(torch.log, getattr(torch, name)).cause
    assert (found.kind, found.confirmed) == ("logarithm", True)
    assert found.summary == f"{name} is taken; the reference takes log"
    assert found.parameters == {"function": ("log", name)}


def test_nothing_but_a_file_of_the_package_is_needed(registered):
    assert causes.families()[-1] == "logarithm"
    assert causes.causes()[-1].kinds == ("logarithm",)
