"""Divergences on disk: inputs, the outputs of both models, and a script that shows them.

The arrays are plain NumPy (`.npz`, no pickles), and the script needs nothing but NumPy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np

from parity.atomic import write_whole
from parity.findings import Divergence
from parity.result import Comparison, Result
from parity.tape import Site

_SCRIPT = '''\
"""{title}

reference: {reference}
candidate: {candidate}
"""
from pathlib import Path

import numpy as np

saved = np.load(Path(__file__).with_suffix(".npz"), allow_pickle=False)
inputs = [saved[name] for name in saved.files if name.startswith("input_")]
reference, candidate = saved["reference"], saved["candidate"]
print("inputs:", *(array.shape for array in inputs))
print("outputs:", reference.shape, candidate.shape)
if reference.shape == candidate.shape:
    gap = np.abs(reference - candidate)
    print("largest difference:", gap.max(), "at", np.unravel_index(gap.argmax(), gap.shape))
'''


def save_divergences(report: Result, folder: str | os.PathLike[str]) -> list[Path]:
    """Writes each divergence as an .npz file with a script that reads it.

    Args:
        report: of a comparison made in this process.
        folder: made if it is needed and not there; files of the same names are replaced, whole.

    Returns:
        The scripts. Each `NAME.py` lies beside its `NAME.npz`, which holds `input_0`, `input_1`,
        ... (the inputs, in the reference's layout, float64), `reference` and `candidate` (the
        models' outputs; the candidate's in the reference's layout where it has one).
    """
    target = Path(folder)
    written = []
    for name, comparison, divergence in _named(report):
        capture = divergence.capture
        if capture is None:
            continue
        target.mkdir(parents=True, exist_ok=True)
        buffer = BytesIO()
        arrays = {f"input_{index}": array for index, array in enumerate(capture.inputs)}
        np.savez_compressed(
            buffer, allow_pickle=False, reference=capture.reference,
            candidate=capture.candidate, **arrays,
        )  # fmt: skip
        write_whole(target / f"{name}.npz", buffer.getvalue())
        script = _SCRIPT.format(
            title=_in_docstring(f"{report.reference.name} against {comparison.candidate.name}."),
            reference=_in_docstring(_site(divergence.reference)),
            candidate=_in_docstring(_site(divergence.candidate)),
        )
        write_whole(target / f"{name}.py", script.encode())
        written.append(target / f"{name}.py")
    return written


def _named(report: Result) -> Iterator[tuple[str, Comparison, Divergence]]:
    for comparison in report.comparisons:
        stem = re.sub(r"[^A-Za-z0-9_]+", "-", comparison.candidate.name).strip("-") or "candidate"
        for number, divergence in enumerate(comparison.divergences, 1):
            yield f"{stem}-{number}", comparison, divergence


def _site(site: Site) -> str:
    return "  ".join(part for part in (site.op, site.layer, site.source, site.code) if part)


def _in_docstring(text: str) -> str:
    """Text that can neither end a docstring nor hold an escape."""
    return text.replace("\\", "/").replace('"""', "'''").rstrip('"')
