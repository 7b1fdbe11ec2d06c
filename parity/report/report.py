"""The public report: a result that can be shown and written.

A renderer is imported when it is used: whoever only reads the verdict does not wait for them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from parity.atomic import write_json
from parity.result import Result


class Report(Result):
    """What a comparison found. It has no truth value: read `verdict`.

    With several candidates, `divergences` and `layers` are those of the worst comparison;
    `comparisons` holds all.
    """

    def __str__(self) -> str:
        from parity.report.terminal import render

        return render(self)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data; see docs/report.md."""
        from parity.report.as_json import to_dict

        return to_dict(self)

    def save_divergences(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes the inputs and outputs of each divergence, with a script that shows them.

        Returns:
            The scripts, which need NumPy alone; none where the models agree.
        """
        from parity.report.saved import save_divergences

        return save_divergences(self, folder)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as JSON, whole or not at all."""
        write_json(path, self.to_dict())

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as one page that needs no network, whole or not at all."""
        from parity.report.html.render import save

        save(path, self.to_dict())
