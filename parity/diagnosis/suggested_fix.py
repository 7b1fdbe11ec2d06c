"""Suggests how to fix a line: the call that it holds with one argument changed."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache

from parity.diagnosis.causes import Edit
from parity.frameworks import traits
from parity.site import Site


def suggest(site: Site, edit: Edit) -> tuple[str, str] | None:
    """The call on the candidate's line as it is, and as it should be.

    None where the line holds no such call, or more than one: a wrong edit is worse than none.
    """
    if not site.frames:
        return None
    frame = site.frames[0]
    lines = linecache.getlines(frame.file)
    tree = _parsed("".join(lines))
    if tree is None:
        return None
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and node.lineno <= frame.line <= (node.end_lineno or node.lineno)
        and _fits(node, edit)
    ]
    if len(calls) != 1:
        return None
    text = ast.get_source_segment("".join(lines), calls[0])
    return None if text is None else _changed(text, edit)


@lru_cache(maxsize=16)
def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def _fits(call: ast.Call, edit: Edit) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if edit.functions:
        return name in edit.functions
    return any(keyword.arg in edit.keyword for keyword in call.keywords)


def _changed(text: str, edit: Edit) -> tuple[str, str] | None:
    """The call's text with the argument put in, in place of the one that is there."""
    call = ast.parse(text.strip(), mode="eval").body
    if not isinstance(call, ast.Call):
        return None
    named = next((one for one in call.keywords if one.arg in edit.keyword), None)
    at = edit.position
    if at is not None and isinstance(call.func, ast.Attribute) and _is_method(call, at):
        at -= 1
    if named is not None:
        old: ast.expr | None = named.value
    else:
        old = call.args[at] if at is not None and len(call.args) > at else None
    before = ast.unparse(call)
    value = ast.parse(edit.value, mode="eval").body
    if old is None and not edit.adds:
        return None
    if old is None:
        call.keywords.append(ast.keyword(_keyword(call, edit), value))
    elif named is not None:
        named.value = value
    else:
        call.args[call.args.index(old)] = value
    after = ast.unparse(call)
    return None if after == before else (before, after)


def _is_method(call: ast.Call, position: int) -> bool:
    """Whether a tensor's own method is called, which lacks the first argument."""
    return len(call.args) == position and all(
        isinstance(one, ast.Constant | ast.UnaryOp) for one in call.args
    )


def _keyword(call: ast.Call, edit: Edit) -> str:
    """What the framework whose function is called names the argument: `dim` for `axis`."""
    module = ast.unparse(call.func).split(".")[0]
    known = [one.keywords for one in traits() if module in one.imported_as]
    own = [names.get(edit.keyword[0], "") for names in known]
    return next((name for name in own if name in edit.keyword), edit.keyword[0])
