"""Writes docs/messages.md: the text of each error that parity raises, from the code.

python -m benchmarks.messages [--write docs/messages.md]
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pages import write

PACKAGE = Path(__file__).parents[1] / "parity"
_HEAD = """\
# Each message

What parity says where it cannot go on. A message says what, where, and what to do; `…` stands for
what is yours: a name, a path, a number. On the command line it stands behind `parity: `, and the
exit code is 2 for a wrong word or input (`UsageError`, `InputError`), 3 for all else. In a script
they are `parity.ParityError`. In a test they fail it, but for a framework that is missing, which
skips it.

What a *report* says is elsewhere: [the verdicts](verdict.md), [the causes](causes.md), and what to
do about an `unverified` one in [troubleshooting](troubleshooting.md).

This page is written from the code by `python -m benchmarks.messages --write docs/messages.md`.
"""
# of which files, below parity/; the first that fits
_AREAS = {
    "The command line": ("cli.py", "commands/"),
    "In pytest": ("pytest_plugin.py", "pytest_run/"),
    "The baseline": ("baseline/",),
    "Saved reports": ("report/",),
    "Weights": ("weights/",),
    "Observations": ("observations/",),
    "Formulas of `parity.rl`": ("rl/",),
    "Models and frameworks": ("frameworks/",),
    "Comparing": ("",),
}
_WITHOUT_ERROR = ("FrameworkMissing", "NoFloat64", "NotParity")  # of parity's, by another name
_OTHERS = {
    *("TypeError", "ValueError", "AttributeError", "KeyError", "IndexError", "OSError"),
    *("NotImplementedError", "AssertionError", "EOFError", "RuntimeError"),
}


@dataclass(frozen=True)
class Message:
    """A text that the code raises, with `…` for what it fills in, and the error's class."""

    file: str
    kind: str
    text: str

    @property
    def stem(self) -> str:
        """The longest part that is the same every time."""
        return max(self.text.split("…"), key=len).strip()


def page() -> str:
    """Writes docs/messages.md from the code."""
    lines = [_HEAD]
    left = list(dict.fromkeys(messages()))
    for area, files in _AREAS.items():
        here = [one for one in left if one.file.startswith(files)]
        left = [one for one in left if one not in here]
        lines.append(f"## {area}\n")
        entries = sorted({(_code(one.text), one.kind) for one in here})
        lines += [f"- {text} ({kind})" for text, kind in entries]
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def _code(text: str) -> str:
    """A message as code on one line, whatever quotes it has."""
    line = " ".join(text.split())
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def messages(package: Path = PACKAGE) -> Iterator[Message]:
    """Every text with words of its own that is raised, in the order of the files."""
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = dict(_constants(tree))
        file = path.relative_to(package).as_posix()
        for node in ast.walk(tree):
            kind = _raised(node)
            if kind and isinstance(node, ast.Call) and node.args:
                own = {kind: node.args[0]}
                if kind != "FrameworkMissing" and len(node.args) > 1:
                    own[f"{kind}, on the command line"] = node.args[1]
                for raised, argument in own.items():
                    message = Message(file, raised, _text(argument, constants))
                    if re.search(r"[A-Za-z]{3}", message.stem):  # not another error's, passed on
                        yield message


def _raised(node: ast.AST) -> str:
    """The class of the error that a call makes; "" for any other."""
    if not isinstance(node, ast.Call):
        return ""
    name = ast.unparse(node.func)
    if name == "pytest.fail":
        return "Failed"
    last = name.rpartition(".")[2]
    own = last.endswith("Error") and last not in _OTHERS or last in _WITHOUT_ERROR
    return last if own else ""


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The module's own texts, by name."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            text = _text(node.value, {})
            if text.strip("…"):
                yield node.targets[0].id, text


def _text(node: ast.AST, constants: dict[str, str]) -> str:
    """What an expression says, as far as the code shows it."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else "…"
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, constants) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left, constants) + _text(node.right, constants)
    if isinstance(node, ast.FormattedValue):
        return _text(node.value, constants) if isinstance(node.value, ast.Name) else "…"
    if isinstance(node, ast.Name):
        return constants.get(node.id, "…")
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".join"):
        parts = node.args[0].elts if isinstance(node.args[0], (ast.List, ast.Tuple)) else []
        return " ".join(_text(part, constants) for part in parts) or "…"
    return "…"


if __name__ == "__main__":
    sys.exit(write("benchmarks.messages", page))
