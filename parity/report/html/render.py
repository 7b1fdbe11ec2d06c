"""The report as one HTML page: no network, no file beside it, readable without JavaScript.

It is made from the JSON report's data, so a saved file renders as well as a fresh comparison. What
the page holds is put together in view.py; how it looks is templates/.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, TemplateError
from markupsafe import Markup

from parity import __version__
from parity.atomic import write_whole
from parity.errors import FileError
from parity.escape import visible
from parity.report import sentences as say
from parity.report.html.view import mark, page
from parity.report.schema import MALFORMED, READ, SCHEMA, current

# After / :: _ [ and a point, but for that of net.py
_BREAKS = re.compile(r"(?:(?<=[/_\[.])|(?<=::))(?![/_\[.:]|py\b|$)")


def render(data: Any) -> str:
    """The page of a report, or of a whole run.

    Args:
        data: what `Report.to_dict()` gives, or what `--parity-report` writes, as `json.loads` does.

    Raises:
        FileError: it is neither, or of a schema that this version does not know.
    """
    _check(data)
    style, script = _asset("style.css"), _asset("page.js")
    policy = f"default-src 'none'; style-src {_allow(style)}; script-src {_allow(script)}"
    try:
        template = _templates().get_template("page.html.jinja")
        shown = page(current(data))
        return template.render(
            page=shown, version=__version__, style=style, script=script, policy=policy
        )
    except (*MALFORMED, TemplateError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise FileError(
            f"The report cannot be read ({reason}). Write it again, with the version of parity "
            "that is installed here."
        ) from error


def save(path: str | os.PathLike[str], data: Any) -> None:
    """Writes the page, whole or not at all; the arguments are those of `render`."""
    write_whole(path, render(data).encode())


def _check(data: Any) -> None:
    if not isinstance(data, dict) or not isinstance(data.get("comparisons"), list):
        raise FileError(
            "This is no parity report: it has no comparisons. Name a file that report.save, "
            "--json or --parity-report wrote."
        )
    if data.get("schema") not in READ:
        raise FileError(
            f"The report's schema is {data.get('schema')!r}; this parity reads up to "
            f"{SCHEMA}. Render it "
            "with the version of parity that wrote it."
        )


def _shown(value: Any) -> Any:
    """A name as it can be seen; what is no text, and the page's own, as it is."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def breakable(name: str) -> Markup:
    """A name, escaped, that a narrow page may break after its separators, not within its words."""
    return Markup("<wbr>").join(_BREAKS.split(visible(str(name))))


@cache
def _templates() -> Environment:
    found = Environment(
        loader=PackageLoader("parity.report.html"),
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(breakable=breakable, mark=mark)
    found.globals.update(no_line=say.sentence(say.NO_LINE), random=say.sentence(say.RANDOM))
    return found


def _asset(name: str) -> Markup:
    """A file of the page's own, which needs no escaping."""
    return Markup((files(__package__) / "templates" / name).read_text(encoding="utf-8"))


def _allow(text: str) -> str:
    """The policy's word for this text alone: whatever else were a script would not run."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
