"""Prints how large the page of a comparison of 1,200 operations is, and how long it takes to open.

    python -m benchmarks.page [--rounds 5]

In headless Chromium, from the disk, each time in a new tab: until it is loaded, and until its first
frame is drawn. Needs what the tests in a browser need: chromium, chromium-driver, selenium.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from parity.report.html.render import save
from tests.html.browser import Browser, chromium
from tests.html.pages import large

DRAWN = """
const done = arguments[0];
requestAnimationFrame(() => setTimeout(() => done([
  performance.getEntriesByType("navigation")[0].loadEventEnd, performance.now()
])));
"""


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    if rounds < 1:
        parser.error("--rounds must be 1 or more")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        data = large()
        save(page, data)
        (found,) = data["comparisons"]
        print(
            f"{data['reference']['operations']} operations, {len(found['layers'])} layers: "
            f"{page.stat().st_size / 1e6:.2f} MB"
        )
        with chromium(Path(folder) / "profile") as browser:
            times = [opened(browser, page) for _ in range(rounds)]
    for name, seconds in zip(("loaded", "drawn"), zip(*times, strict=True), strict=True):
        print(f"{name} after {statistics.median(seconds):.2f} s, at most {max(seconds):.2f} s")


def opened(browser: Browser, page: Path) -> list[float]:
    """Seconds from asking for a page until it is loaded, and until it is drawn."""
    browser.driver.switch_to.new_window("tab")
    browser.open(page)
    return [one / 1000 for one in browser.driver.execute_async_script(DRAWN)]


if __name__ == "__main__":
    main()
