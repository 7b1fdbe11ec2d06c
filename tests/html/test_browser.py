"""The pages in headless Chromium: nothing is wrong with them, and what can be used works."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.html import sample
from tests.html.browser import Browser

Pages = Callable[[str], Path]

NAMES = ["dueling", "three_way", "large", "agreeing", "hostile"]
BACKSPACE, TAB, ENTER = "\ue003", "\ue004", "\ue007"  # WebDriver's names for the keys


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("scheme", "width"),
    [("light", 375), ("dark", 375), ("light", 768), ("dark", 1024), ("light", 1440)],
)
def test_nothing_is_wrong_with_a_page(
    browser: Browser, page: Pages, name: str, width: int, scheme: str
) -> None:
    browser.open(page(name), width, scheme)
    assert browser.ground == scheme
    assert browser.problems() == []


# A check that cannot fail checks nothing: what is put into a page, and what is then said.
BROKEN = {
    "console": ("<script>", "<script>console.error('lost');", "console: *lost"),
    "exception": ("<script>", "<script>setTimeout(() => lost());", "console: *lost is not defined"),
    "request": ("<h1>", "<img src='http://127.0.0.1:9/a.png' alt='a'><h1>", "request: *a.png"),
    "style sheet": ("<style>", "<style>@import 'http://127.0.0.1:9/a.css';", "request: *a.css"),
    "overflow": (".divergence {", ".divergence { min-width: 90rem;", "overflow, * pixels"),
    "a table": (
        ".wide {",
        ".layers { min-width: 90rem; } .wide {",
        "sideways: Layers of *, * pixels",
    ),
    "contrast": ("--dim: #555c68", "--dim: #999999", "contrast: *<figcaption"),
    "a drawing": (".chart text { fill: var(--dim)", ".chart text { fill: #aaa", "contrast: *<text"),
    "a name": ('aria-label="Difference', 'data-label="Difference', "axe: svg-img-alt (serious)"),
    "language": ('<html lang="en">', "<html>", "axe: html-has-lang (serious)"),
    "a label": ("<label>Search", "<label></label>", "axe: label (critical)"),
}


@pytest.mark.parametrize(("old", "new", "said"), BROKEN.values(), ids=BROKEN)
def test_what_is_wrong_with_a_page_is_seen(
    browser: Browser, page: Pages, tmp_path: Path, old: str, new: str, said: str
) -> None:
    html = page("three_way").read_text(encoding="utf-8")
    html = re.sub("<meta http-equiv=.*>", "", html)  # the policy forbids all that is put in
    assert old in html
    broken = tmp_path / "page.html"
    broken.write_text(html.replace(old, new), encoding="utf-8")
    browser.open(broken)
    words = [re.escape(word) for word in said.split("*")]
    assert re.search(".*".join(words), "\n".join(browser.problems()))


def test_what_is_wrong_in_the_dark_alone_is_seen(
    browser: Browser, page: Pages, tmp_path: Path
) -> None:
    html = page("three_way").read_text(encoding="utf-8")
    html = re.sub("<meta http-equiv=.*>", "", html)
    broken = tmp_path / "page.html"
    broken.write_text(html.replace("--dim: #a7afbc", "--dim: #555c68"), encoding="utf-8")
    browser.open(broken, scheme="light")
    assert browser.problems() == []
    browser.open(broken, scheme="dark")
    assert any(one.startswith("contrast:") for one in browser.problems())


def test_the_policy_stops_what_gets_in(browser: Browser, page: Pages, tmp_path: Path) -> None:
    """Were a text not escaped, it would still neither run nor ask for anything."""
    html = page("three_way").read_text(encoding="utf-8")
    broken = tmp_path / "page.html"
    hurt = "<script>alert(1)</script><img src=http://127.0.0.1:9/x onerror=alert(2) alt=x>"
    broken.write_text(html.replace("<body>", f"<body>{hurt}"), encoding="utf-8")
    browser.open(broken)
    said = "\n".join(browser.problems())  # an alert would have raised here
    for directive in ("script-src", "img-src"):
        assert re.search(f"console: .*Content Security Policy directive.*{directive}", said)


def test_hostile_text_is_shown_and_makes_no_element(browser: Browser, page: Pages) -> None:
    browser.open(page("hostile"))
    assert not browser.all("img, iframe, [onload], [onerror]") and len(browser.all("script")) == 1
    text = browser.one("#comparisons").text
    for one in ("<script>alert(1)</script>", "{{ 7 * 7 }}", "🔥 ünïcode \\u202e", "long" * 75):
        assert one in text
    assert "long" * 75 in sample.HOSTILE
    # the name's override of direction would turn this around
    assert ", 2 times" in browser.all("article h4")[0].text


# --- the page in use -----------------------------------------------------------------------------


def rows(browser: Browser, table: str) -> list[str]:
    """The rows that are shown of a table's body, in their order, as text."""
    return [one.text for one in browser.shown(f"{table} tbody tr")]


def controls(browser: Browser, table: str) -> tuple[Any, ...]:
    """The search, the filter and the order of the table of an id."""
    found = browser.one(f'[data-for="{table.lstrip("#")}"]')
    return tuple(found.find_element("css selector", one) for one in ("input", ".filter", ".order"))


def choose(select: Any, words: str) -> None:
    (option,) = [one for one in select.find_elements("css selector", "option") if one.text == words]
    option.click()


@pytest.mark.parametrize("width", [375, 768, 1024, 1440])
@pytest.mark.parametrize("name", ["dueling", "three_way", "large"])
def test_the_difference_of_each_layer_is_in_view(
    browser: Browser, page: Pages, name: str, width: int
) -> None:
    browser.open(page(name), width)
    ends = browser.run(
        "return [...document.querySelectorAll('.layers tr')].filter(one => one.checkVisibility())"
        ".map(one => one.children[3].getBoundingClientRect()).map(one => [one.left, one.right])"
    )
    assert len(ends) > 1 and all(0 <= left < right <= width for left, right in ends)


@pytest.mark.parametrize("width", [375, 1440])
def test_no_label_of_a_chart_lies_over_another(browser: Browser, page: Pages, width: int) -> None:
    for name in ("dueling", "hostile", "three_way"):
        browser.open(page(name), width)
        for chart in browser.shown(".chart"):
            sides = browser.run(
                "return [...arguments[0].querySelectorAll('text')].map("
                "one => one.getBoundingClientRect()).map(one => [one.top, one.bottom])",
                chart,
            )
            left = sorted(sides[:-2])  # the last two are below the axis
            assert all(a[1] <= b[0] + 1 for a, b in zip(left, left[1:], strict=False)), left


def test_a_test_id_is_broken_where_its_parts_end(browser: Browser, page: Pages) -> None:
    browser.open(page("agreeing"), 375)
    test = browser.all("h2 code")[0]
    assert test.text == "tests/test_it.py::test[0]"
    browser.run("arguments[0].style = 'display: block; width: 11.5ch'", test)
    lines = browser.run(
        "const lines = new Map(), range = document.createRange();"
        "for (const one of arguments[0].childNodes) {"
        "  if (one.nodeType !== 3) continue;"
        "  range.selectNodeContents(one);"
        "  const top = Math.round(range.getBoundingClientRect().top);"
        "  lines.set(top, (lines.get(top) || '') + one.textContent);"
        "} return [...lines.values()]",
        test,
    )
    assert lines == ["tests/test_", "it.py::", "test[0]"]


@pytest.mark.parametrize("width", [375, 1440])
def test_layers_are_searched_filtered_and_ordered(
    browser: Browser, page: Pages, width: int
) -> None:
    browser.open(page("dueling"), width)
    table = f"#{browser.one('.layers').get_attribute('id')}"
    whole = rows(browser, table)
    counted = browser.one(f'[data-for="{table[1:]}"] output')
    search, verdict, order = controls(browser, table)
    assert len(whole) > 8 and counted.text == f"{len(whole)} of {len(whole)}"

    search.send_keys("CONV")  # in either case, and any of the columns
    found = [row for row in whole if "conv" in row.lower()]
    assert 0 < len(found) < len(whole)
    assert rows(browser, table) == found
    assert counted.text == f"{len(found)} of {len(whole)}"
    search.send_keys(" nowhere")  # each word is to be there
    assert rows(browser, table) == []
    search.send_keys(20 * BACKSPACE)
    assert rows(browser, table) == whole

    choose(verdict, "diverged")
    (diverged,) = rows(browser, table)
    assert "✕ diverged" in diverged
    choose(verdict, "all")

    choose(order, "worst first")
    assert rows(browser, table)[0] == diverged != whole[0]
    assert sorted(rows(browser, table)) == sorted(whole)
    choose(order, "as they come")
    assert rows(browser, table) == whole


def test_comparisons_are_filtered_and_lead_to_their_section(browser: Browser, page: Pages) -> None:
    browser.open(page("three_way"))
    _, verdict, _ = controls(browser, "comparisons")
    choose(verdict, "parity")
    (row,) = rows(browser, "#comparisons")
    assert "Port" in row
    link = browser.shown("#comparisons tbody tr th a")[0]
    link.click()
    section = browser.one(browser.anchor)
    assert "Port" in section.text and browser.in_view(section)


def test_a_divergence_and_its_row_lead_to_each_other(browser: Browser, page: Pages) -> None:
    browser.open(page("dueling"))
    link = browser.one(".layers .is-diverged a")
    link.click()
    assert browser.anchor == "#divergence"
    assert browser.in_view(browser.one("#divergence"))
    browser.one("#divergence .verdicts a").click()
    row = browser.one(".layers .is-diverged")
    assert browser.anchor == f"#{row.get_attribute('id')}"
    assert browser.in_view(row)


def test_a_deep_link_opens_at_its_row_however_long_the_page(browser: Browser, page: Pages) -> None:
    browser.open(page("large"), anchor="#layer-777")
    row = browser.one("#layer-777")
    assert browser.in_view(row) and "777" in row.text
    assert browser.run("return scrollY") > 10_000


def test_a_deep_link_leads_to_what_is_filtered_away(browser: Browser, page: Pages) -> None:
    browser.open(page("dueling"))
    table = f"#{browser.one('.layers').get_attribute('id')}"
    search, verdict, _ = controls(browser, table)
    search.send_keys("nowhere")
    assert rows(browser, table) == []
    anchor = browser.one(".layers .is-diverged").get_attribute("id")
    browser.run("location.hash = arguments[0]", anchor)
    row = browser.one(f"[id='{anchor}']")
    assert row.is_displayed() and browser.in_view(row)
    assert search.get_attribute("value") == ""


def test_a_deep_link_leads_to_what_is_folded(browser: Browser, page: Pages) -> None:
    browser.open(page("agreeing"))
    row = browser.all("details .layers tbody tr")[-1]
    assert not row.is_displayed()
    browser.open(page("agreeing"), anchor=f"#{row.get_attribute('id')}")
    row = browser.all("details .layers tbody tr")[-1]
    assert row.is_displayed() and browser.in_view(row)


@pytest.mark.parametrize("anchor", ["#nothing", "#%E0%A4%A", "#<script>"])
def test_a_link_that_leads_nowhere_does_no_harm(browser: Browser, page: Pages, anchor: str) -> None:
    browser.open(page("dueling"), anchor=anchor)
    assert browser.problems() == []


def test_keys_lead_from_divergence_to_divergence_and_to_the_search(
    browser: Browser, page: Pages
) -> None:
    browser.open(page("hostile"))
    parts = [one.get_attribute("id") for one in browser.all("article")]
    assert len(parts) > 3
    seen = []
    for key in ("n", "n", "p", "p", "p", "n"):
        browser.focused.send_keys(key)
        seen.append(browser.focused.get_attribute("id"))
        assert browser.in_view(browser.focused)
    assert seen == [parts[0], parts[1], parts[0], parts[-1], parts[-2], parts[-1]]
    browser.focused.send_keys("/")
    assert browser.focused.get_attribute("type") == "search"
    browser.focused.send_keys("n/p")  # there they are letters
    assert browser.focused.get_attribute("value") == "n/p"


def test_the_first_stop_of_the_tabulator_skips_to_the_findings(
    browser: Browser, page: Pages
) -> None:
    browser.open(page("three_way"), 375)
    browser.focused.send_keys(TAB)
    assert browser.focused.text == "To the findings"
    assert browser.focused.rect["x"] >= 0
    browser.focused.send_keys(ENTER)
    assert browser.focused.get_attribute("id") == "main"


def test_without_scripts_all_is_there(browser: Browser, page: Pages) -> None:
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page("three_way"))
        assert browser.shown(".controls, .keys") == []
        assert len(browser.shown("#comparisons tbody tr")) == 2
        assert browser.shown("article") and browser.shown(".layers tbody tr")
        folded = browser.all("section details .layers")[-1]
        assert not folded.is_displayed()
        browser.all("section > details > summary")[-1].click()
        assert folded.is_displayed()
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)


# --- the browser itself --------------------------------------------------------------------------

KILLED = """
import os, sys
from pathlib import Path
from tests.html.browser import chromium

with chromium(Path(sys.argv[1])) as browser:
    print(browser.driver.service.process.pid, flush=True)
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")
@pytest.mark.usefixtures("browser")  # which skips where there is none
def test_a_browser_ends_even_where_the_tests_are_killed(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, check=False)
    assert done.returncode == -9
    end = time.monotonic() + 30
    while running(int(done.stdout)):
        assert time.monotonic() < end, "it is still there"
        time.sleep(0.1)


def running(group: int) -> int:
    """How many processes of a group there are, except those that only wait to be reaped."""
    count = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its, *_ = file.read_text().rpartition(")")[2].split()
            count += int(its) == group and state != "Z"
    return count
