"""docs/tutorial.md, followed to the letter: every command prints what stands below it."""

import re

import pytest

from tests.docs.walk import ROOT, commands, normalized, walk

PAGE = (ROOT / "docs" / "tutorial.md").read_text()


def test_every_command_prints_what_the_page_says(tmp_path):
    for name in ("torch", "keras"):
        pytest.importorskip(name)
    folder = tmp_path / "port"
    folder.mkdir()
    ran = list(walk(PAGE, folder))
    assert len(ran) >= 10
    for one in ran:
        assert normalized(one.printed) == normalized(one.expected), f"$ {one.command}\n{one.error}"
        if one.command.startswith("parity"):
            assert one.error == ""


PAGES = {
    "right": ("```console\n$ echo 1\n1\n```", True),
    "wrong": ("```console\n$ echo 1\n2\n```", False),
    "silent": ("```console\n$ echo 1\n```", False),
    "a file": ("```python\n# a.py\n1\n```\n```console\n$ cat a.py\n# a.py\n1\n```", True),
    "an exit code": ("```console\n$ false\n$ echo $?\n0\n```", False),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_says_is_compared(tmp_path, name):
    page, holds = PAGES[name]
    folder = tmp_path / "port"
    folder.mkdir()
    same = [normalized(one.printed) == normalized(one.expected) for one in walk(page, folder)]
    assert all(same) == holds


def test_rounding_and_times_are_passed_over_and_nothing_else():
    assert normalized("x 3.4e-07  same\n1 passed in 2.31s") == normalized(
        "x  1.1e-08 same\n1 passed in 0.1s"
    )
    assert normalized("x  3.4e-07        0  same") == normalized("x        0  1.1e-08  same")
    assert normalized("0 of 3") != normalized("1.1e-08 of 3")
    assert normalized("x 3.4e-01") != normalized("x 3.5e-01")
    assert normalized(
        "largest difference 3.43e-07 at (2, 3): 0.058 and 0.058; greedy"
    ) == normalized("largest difference 1.2e-07 at (1, 0): 0.1 and 0.2; greedy")
    assert normalized("at (3, 0): 0.5543815 and 3.607345") == normalized(
        "at (3, 0): 0.5543816 and 3.607344"
    )
    assert normalized("at (3, 0): 0.5543815 and 3.607345") != normalized(
        "at (3, 0): 0.5553815 and 3.607345"
    )


def test_a_block_of_commands_is_split():
    assert commands("$ a b\nx\ny\n$ c\n") == [("a b", "x\ny\n"), ("c", "")]


def test_the_files_it_names_are_the_ones_it_writes():
    written = set(re.findall(r"^```python\n# (\w+\.py)$", PAGE, re.MULTILINE))
    assert written == {"trained.py", "stepped.py", "test_port.py"}
    assert written <= set(re.findall(r"`(\w+\.py)`", PAGE))
