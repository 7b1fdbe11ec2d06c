"""Ids of the page's parts, which links lead to."""

from __future__ import annotations

import re
from collections import Counter

_LONGEST_SLUG = 60


class Ids:
    """Ids that are unique on the page, and the same whenever the same report is rendered."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._counts: Counter[str] = Counter()  # of each name, so that a thousand take no longer

    def take(self, kind: str, name: str = "") -> str:
        slug = re.sub(r"[^A-Za-z0-9_.]+", "-", name)[:_LONGEST_SLUG].strip("-")
        stem = "-".join(part for part in (kind, slug) if part)
        self._counts[stem] += 1
        found = stem if self._counts[stem] == 1 else f"{stem}-{self._counts[stem]}"
        while found in self._taken:
            self._counts[stem] += 1
            found = f"{stem}-{self._counts[stem]}"
        self._taken.add(found)
        return found
