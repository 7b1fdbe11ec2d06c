"""Writes docs/report.svg: what the terminal shows of the example in torch and Keras.

python -m benchmarks.picture [--write docs/report.svg]
"""

from __future__ import annotations

import io
import os
import re
import sys

from benchmarks.pages import write

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def picture() -> str:
    """Writes docs/report.svg from a comparison."""
    import parity
    from examples import c51_dueling
    from parity.frameworks.import_hooks import silence_imports

    silence_imports()
    report = parity.compare(
        parity.wrap(c51_dueling.torch_model(), name="torch"),
        parity.wrap(c51_dueling.keras_model(), name="Keras"),
        inputs=c51_dueling.observations(),
    )
    return drawn(report, "parity compare")


def drawn(report: object, title: str) -> str:
    """A report as the terminal shows it, as SVG that asks for nothing from the network."""
    from rich._export_format import CONSOLE_SVG_FORMAT
    from rich.console import Console

    from parity.report.terminal import WIDTH, parts

    console = Console(
        file=io.StringIO(), width=WIDTH, record=True, force_terminal=True, highlight=False,
        color_system="truecolor", legacy_windows=False,
    )  # fmt: skip
    for part in parts(report):  # type: ignore[arg-type]
        console.print(part)
    plain = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    svg = console.export_svg(title=title, code_format=plain, unique_id="parity")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


if __name__ == "__main__":
    sys.exit(write("benchmarks.picture", picture))
