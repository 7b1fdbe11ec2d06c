"""One browser for all tests of a process, and the pages that it opens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from parity.report.html.render import save
from tests.html import pages
from tests.html.browser import Browser, chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of a page by the name of a function of pages.py; each is made once."""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def written(name: str) -> Path:
        path = folder / f"{name}.html"
        save(path, getattr(pages, name)())
        return path

    return written
