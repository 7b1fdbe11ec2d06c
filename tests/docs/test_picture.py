"""docs/report.svg is what the terminal shows, and asks for nothing from the network."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from tests.docs.walk import ROOT, normalized

_CHARACTER = 12.2  # how wide rich draws one
FILE = ROOT / "docs" / "report.svg"


def shown(svg):
    """The lines of a picture, as text."""
    lines = {}
    for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        at, words = float(text.get("x", 0)), (text.text or "").replace("\xa0", " ").strip("\n")
        lines.setdefault(float(text.get("y", 0)), []).append((at, words))
    return normalized("\n".join(_row(sorted(line)) for _, line in sorted(lines.items())))


def _row(line):
    """The words of a line in their columns: a gap is as many blanks as fit into it."""
    row, end = "", 0.0
    for at, words in line:
        row += " " * round((at - end) / _CHARACTER) * bool(row) + words
        end = at + _CHARACTER * len(words)
    return row


def test_it_is_up_to_date(tmp_path):
    for name in ("torch", "keras"):
        pytest.importorskip(name)
    drawn = tmp_path / "report.svg"
    # in a process of its own: Keras numbers the layers of all models that were built before
    command = [sys.executable, "-m", "benchmarks.picture", "--write", str(drawn)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    again = "run: python -m benchmarks.picture --write docs/report.svg"
    assert shown(drawn.read_text()) == shown(FILE.read_text()), again


def test_what_it_shows_is_read():
    text = shown(FILE.read_text())
    assert "probabilities = ops.softmax(logits, axis=1)" in text
    assert "softmax-axis" in text
    wrong = FILE.read_text().replace("496.0%", "497.0%")
    assert wrong != FILE.read_text()
    assert shown(wrong) != text


def test_it_asks_for_nothing():
    assert not re.search(r"url\((?!#)|@import|<script|<image|href", FILE.read_text())
