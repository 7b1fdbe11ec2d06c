"""Suggests how to fix a line: the call that it holds with one argument changed."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache

from parity.diagnosis.causes import Edit
from parity.tape import Site


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
    if named is not None:
        old: ast.expr | None = named.value
    elif at is not None and isinstance(call.func, ast.Attribute) and _is_method(call, edit, at):
        old = call.args[at - 1]
    else:
        old = call.args[at] if at is not None and len(call.args) > at else None
    before = ast.unparse(call)
    value = ast.parse(edit.value, mode="eval").body
    if old is None and not edit.adds:
        return None
    if old is None:
        keyword = (
            edit.keyword[1] if _torch_like(call) and len(edit.keyword) > 1 else edit.keyword[0]
        )
        call.keywords.append(ast.keyword(keyword, value))
    elif named is not None:
        named.value = value
    else:
        call.args[call.args.index(old)] = value
    after = ast.unparse(call)
    return None if after == before else (before, after)


def _is_method(call: ast.Call, edit: Edit, position: int) -> bool:
    """Whether a tensor's own method is called, which lacks the first argument."""
    return len(call.args) == position and all(
        isinstance(one, ast.Constant | ast.UnaryOp) for one in call.args
    )


def _torch_like(call: ast.Call) -> bool:
    """Whether the call's module is torch's, which says `dim` where others say `axis`."""
    return ast.unparse(call.func).split(".")[0] in ("torch", "F", "nn")
