"""Names as they can be seen: what would move the cursor, turn text or give an order is escaped.

Names of models, layers, tensors and files are whatever somebody wrote. A terminal obeys the escape
sequences in them, a text's direction turns at an override, and GitHub's runner takes a line of a
job's output that begins with `::error` for an order. Here is the one place where that ends.
"""

from __future__ import annotations

import re

# Controls but tabs and line ends, controls of direction, and halves of surrogates, which have no
# UTF-8. Joiners stay: emoji are made with them.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069"
    r"\ufeff\ud800-\udfff]"
)
_LINE_ENDS = re.compile(r"[\t\n\r]")
# https://docs.github.com/actions/reference/workflow-commands-for-github-actions, and the old form
_ORDERS = re.compile(
    r":(?=:(?:error|warning|notice|debug|(?:end)?group|echo|add-mask|add-path|add-matcher"
    r"|remove-matcher|stop-commands|save-state|set-output|set-env)\b)|#(?=#\[)",
    re.IGNORECASE,
)


def visible(text: str) -> str:
    """Text with what hides, turns or ends other text as its escape; tabs and line ends stay."""
    return _UNSEEN.sub(_escape, text)


def for_terminal(text: str) -> str:
    """Text of several lines for a terminal or a job's log: nor are there returns, or orders."""
    return _ORDERS.sub(_escape, visible(text).replace("\r", "\\r"))


def on_one_line(text: str) -> str:
    """A name for a terminal or a log, which neither ends its line nor begins another."""
    return for_terminal(_LINE_ENDS.sub(_escape, text))


def _escape(found: re.Match[str]) -> str:
    if found[0] in ":#":
        return f"\\x{ord(found[0]):02x}"
    return ascii(found[0])[1:-1]
