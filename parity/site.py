"""Where an operation ran: the layer, and the lines of the user's code."""

from __future__ import annotations

import linecache
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of the user's code that was on the stack when an operation ran."""

    file: str
    line: int
    function: str

    @property
    def code(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Site:
    """Where an operation ran.

    Attributes:
        op: the operation's kind in its framework's words (`aten.convolution`, `Softmax`).
        layer: path of the innermost layer (`features.conv2`, `head/dense_1`, `/net/l1`), or "".
        frames: the user's lines, innermost first; empty where only a framework's code ran.
        stage: "backward" of what differentiates the operation that ran there; "" of that itself.
    """

    op: str
    layer: str
    frames: tuple[Frame, ...] = ()
    stage: str = ""

    @property
    def source(self) -> str:
        """`file:line` of the innermost frame outside the frameworks, or ""."""
        return str(self.frames[0]) if self.frames else ""

    @property
    def described(self) -> str:
        """The operation and where it is; a NumPy function is all one operation, and has no line."""
        where = f"{self.layer} ({self.source})" if self.layer and self.source else ""
        where = where or self.layer or self.source
        if self.stage and where:
            where = f"the {self.stage} pass of {where}"
        return f"{self.op} at {where}" if where else self.op

    @property
    def code(self) -> str:
        """The text of that line, or ""."""
        return self.frames[0].code if self.frames else ""
