"""The HTML report: whole, self-contained, safe, linked, and of a bounded size."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest

import parity
from parity.errors import FileError
from parity.escape import visible
from parity.report.html.render import render
from parity.report.sentences import WHY_NO_FAULT
from tests.html import sample
from tests.html.parsed import Element, parse

UNVERIFIED = sample.comparison(
    "unverified", reasons=["an output is missing"], layers=[], outputs=[]
)
PAGES = {
    "parity": sample.report(sample.comparison()),
    "diverged": sample.report(sample.diverged()),
    "unverified": sample.report(UNVERIFIED),
    "three-way": sample.report(sample.diverged("A"), sample.comparison(name="B"), odd="A"),
    "run": sample.run(
        sample.report(sample.comparison()),
        "the model raised",
        sample.report(sample.diverged("A"), UNVERIFIED),
    ),
    "empty run": sample.run(),
}
each_page = pytest.mark.parametrize("data", PAGES.values(), ids=PAGES)


def check(html: str) -> Element:
    """What holds for every page."""
    page = parse(html)
    ids = [one.attributes["id"] for one in page.all() if "id" in one.attributes]
    assert len(ids) == len(set(ids)), "an id occurs twice"
    for one in page.all():
        assert not [name for name in one.attributes if name.startswith("on")], one
        assert "style" not in one.attributes  # the policy would block it
        for name in ("src", "href", "action", "data", "srcset", "xlink:href"):
            if name in one.attributes:
                assert name == "href" and one.tag == "a"
                assert one.attributes[name][:1] == "#" and one.attributes[name][1:] in ids
        assert one.attributes.get("aria-labelledby", "main") in ids
        if "data-for" in one.attributes:
            assert page.one("table", id=one.attributes["data-for"])
    assert len(page.all("h1")) == 1
    assert [len(page.all(tag)) for tag in ("header", "main", "footer")] == [1, 1, 1]
    assert not re.search(r"@import|url\(", page.one("style").text)
    assert all(th.attributes.get("scope") in ("row", "col") for th in page.all("th"))
    assert all(table.all("caption") for table in page.all("table"))
    for drawing in page.all("svg"):
        assert drawing.attributes.get("aria-hidden") or drawing.attributes.get("aria-label")
    for path in page.all("path"):
        assert re.fullmatch(r"[MmLHhVvlz0-9 .e-]*", path.attributes["d"]), path.attributes["d"]
    return page


@each_page
def test_every_page_is_whole_and_needs_nothing_else(data: dict[str, Any]) -> None:
    html = render(data)
    check(html)
    assert "http:" not in html and "https:" not in html
    assert html == render(copy.deepcopy(data))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('href="#divergence"', 'href="#nowhere"'),
        ('href="#divergence"', 'href="http://example.com"'),
        ("</main>", ""),
        ("</main>", "</section></main>"),
        ('id="main"', 'id="comparisons"'),
        ("<h2", '<h2 onclick="f()"'),
        ("<h2", "<h1>again</h1><h2"),
        ('scope="col"', ""),
        ("<svg", '<img src="a.png"><svg'),
        ('aria-label="Histogram', 'data-label="Histogram'),
        ("--ground: #fff", "--ground: url(x)"),
        (' d="M', ' d="Mnan '),
    ],
)
def test_a_page_that_breaks_a_rule_is_seen(old: str, new: str) -> None:
    html = render(PAGES["run"])
    assert old in html
    with pytest.raises(AssertionError):
        check(html.replace(old, new, 1))


def test_headings_leave_no_level_out() -> None:
    page = check(render(PAGES["run"]))
    levels = [int(one.tag[1]) for one in page.all() if re.fullmatch("h[1-6]", one.tag)]
    assert levels[0] == 1 and 5 in levels
    assert all(later <= earlier + 1 for earlier, later in zip(levels, levels[1:], strict=False))


@pytest.mark.parametrize("text", sample.HOSTILE)
@pytest.mark.parametrize("name", ["diverged", "three-way", "run"])
def test_text_stays_text(name: str, text: str) -> None:
    plain, hostile = parse(render(PAGES[name])), check(render(sample.renamed(PAGES[name], text)))
    for tag in ("script", "style", "img", "section", "tr"):
        assert len(hostile.all(tag)) == len(plain.all(tag))
    assert hostile.one("script").text == plain.one("script").text
    seen = visible(text)
    where = [one for one in hostile.all("td") + hostile.all("th") if seen in one.text]
    assert len(where) > 10
    assert seen in hostile.one("h1").text or name == "run"
    assert not [one for one in hostile.all() if "49" in one.text and text.startswith("{{")]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u202eb", "a\\u202eb"),
        ("\x00\x07\x1b[31m", "\\x00\\x07\\x1b[31m"),
        ("\ud800\x85\ufeff", "\\ud800\\x85\\ufeff"),
        ("two\n\tlines", "two\n\tlines"),
        ("👩\u200d🔬 שלום é", "👩\u200d🔬 שלום é"),
    ],
)
def test_what_turns_or_hides_text_is_seen(text: str, seen: str) -> None:
    html = render(sample.report(sample.comparison(reasons=[text])))
    assert f"<li>{seen}</li>" in html
    html.encode()


@pytest.mark.parametrize("value", ["inf", "-inf", None, 0, 0.0, 5e-324, 1.7e308])
def test_any_number_can_be_drawn(value: Any) -> None:
    found = sample.diverged()
    found["divergences"][0].update(residual=value, output_before=value, output_after=value)
    found["divergences"][0]["cause"].update(residual_before=value, residual_after=value)
    found["notes"][0]["residual"] = value
    for row in found["layers"] + found["outputs"]:
        if row["difference"] is not None:
            row["difference"].update(dict.fromkeys(["largest", "relative", "cosine"], value))
            row["difference"].update(reference=value, candidate=value)
    for row in found["layers"]:
        row.update(rounding=value, local=value)
    found["divergences"][0]["spread"]["map"]["largest"][0][0] = abs(value or 0) if value == 0 else 1
    html = render(sample.report(found))
    check(html)
    assert not re.search(r'(?:d|x|y)="[^"]*(?:nan|inf)|\bnan\b', html)


def test_a_policy_lets_only_the_pages_own_script_and_style_run() -> None:
    import base64
    import hashlib

    page = parse(render(PAGES["diverged"]))
    policy = page.all("meta")[1].attributes["content"]
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.one(tag).text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_deep_links_are_of_the_layers_names_and_distinct() -> None:
    names = ["encoder.0", "encoder.0", "encoder.0-2", "a/b", "a b", "🔥", "", "x" * 300, "x" * 301]
    rows = [sample.layer(name, reference="") for name in names]
    page = check(render(sample.report(sample.comparison(layers=rows))))
    ids = [row.attributes["id"] for row in page.all("tr") if "id" in row.attributes]
    assert ids == [
        *("layer-encoder.0", "layer-encoder.0-2", "layer-encoder.0-2-2"),
        *("layer-a-b", "layer-a-b-2", "layer", "layer-2"),
        *("layer-" + "x" * 60, "layer-" + "x" * 60 + "-2"),
    ]


def test_layers_stand_side_by_side_in_the_order_of_the_data_flow() -> None:
    page = parse(render(PAGES["diverged"]))
    rows = page.one("table", kind="layers").one("tbody").all("tr")
    cells = [[one.text.strip() for one in row.children if isinstance(one, Element)] for row in rows]
    assert [cell[:3] for cell in cells] == [
        ["✓ same", "conv", "conv"],
        ["○ unmatched", "of_reference", "–"],
        ["○ unmatched", "–", "of_candidate"],
        ["✕ diverged", "probabilities", "probabilities"],
        ["↳ inherited", "head", "head"],
    ]
    # the frontier leads to its divergence, and back; the worst comes first when asked for
    assert rows[3].all("a")[0].attributes["href"] == "#divergence"
    links = page.one("article").all("a")
    assert f"#{rows[3].attributes['id']}" in [one.attributes["href"] for one in links]
    assert [row.attributes["data-rank"] for row in rows] == ["4", "1", "2", "0", "3"]


def test_each_output_has_its_verdict_and_what_heads_share_is_said() -> None:
    trunk = {"outputs": ["logits", "value"], "layers": ["body"], "tensors": ["w", "<b>"]}
    alone = {**trunk, "outputs": ["logits"]}
    heads = {
        "reference": {"trunks": [trunk], "equal": 0},
        "candidate": {"trunks": [alone], "equal": 0},
    }
    outputs = [sample.output("logits"), {**sample.output("value"), "verdict": "diverged"}]
    found = sample.comparison("diverged", outputs=outputs, heads=heads)
    page = parse(render(sample.report(found)))
    rows = page.one("table", kind="outputs").one("tbody").all("tr")
    assert [row.all("td")[0].text for row in rows] == ["parity", "diverged"]
    lines = [one.text for one in page.one("ul", kind="heads").all("li")]
    assert lines[0] == "heads: logits parity, value diverged"
    assert lines[1].endswith("logits and value share 2 tensors of body")
    assert "shares what the other does not" in lines[-1]


def test_a_divergence_shows_both_lines_the_proof_and_the_edit() -> None:
    part = parse(render(PAGES["diverged"])).one("article")
    text = re.sub(r"\s+", " ", part.text)
    for words in (
        *("inputs agree", "outputs differ by 25.0% of their size", "2 times", "/nets/net.py:7"),
        *("softmax-axis, confirmed", "the sums are not 1", "kernel has the same values as w"),
        *("before2.5e-01", "after0", "on 4 inputs", "Random numbers are drawn here"),
        *("- f(x, axis=1)", "+ f(x, axis=-1)", "/nets/net.py:3 in forward"),
    ):
        assert words in text, words
    assert "not proved" not in text
    assert [code.text for code in part.all("code")][:2] == ["y = f(x)"] * 2
    shades = [one.attributes["class"] for one in part.one(kind="map").all("path")]
    # a NaN on one side, the largest, and 0.4 of it
    assert shades == ["shade-0", "shade-1", "shade-2"] * 2


def test_a_note_has_the_reason_that_the_terminal_gives() -> None:
    notes = check(render(PAGES["diverged"])).one("main").text
    assert f"; {WHY_NO_FAULT['constant-precision']}" in notes


def test_what_differs_alike_in_many_places_is_reported_once() -> None:
    step = {"kind": "parameter", "step": "batch norm", "name": "epsilon", "text": "epsilon: 1 -> 2"}
    found = sample.diverged()
    found["structure"] = [
        {**step, "reference": sample.site(layer=f"a{at}"), "candidate": sample.site(layer="b")}
        for at in [*range(14), 13]
    ]
    found["structure"].append({**found["structure"][0], "text": "epsilon: 1 -> 3"})
    shown = check(render(sample.report(found))).one("ul", kind="structure")
    items = [one for one in shown.children if isinstance(one, Element)]
    assert [" ".join(one.text.split()) for one in items] == [
        "batch norm, epsilon: 1 -> 2, 15 times, at a0 | b, a1 | b, a2 | b and 11 more "
        + "".join(f"a{at} | b" for at in range(14)),
        "batch norm, epsilon: 1 -> 3 a0 | b",
    ]
    assert len(items[0].one("details").all("li")) == 14


def test_the_layout_of_a_shape_is_said_where_it_is_another() -> None:
    found = sample.diverged()
    shapes = {"shapes": [[5, 4, 3, 2], [5, 3, 2, 4]], "order": "NHWC"}
    found["divergences"] = [sample.divergence(), sample.divergence(**shapes)]
    same, other = (one.text for one in check(render(sample.report(found))).all("article"))
    assert "softmax, (5, 3)" in same and "Softmax, (5, 3)" in same and "axes are" not in same
    assert "softmax, (5, 4, 3, 2)" in other and "Softmax, (5, 3, 2, 4), axes NHWC" in other
    assert "axes are numbered as in Net, (5, 4, 3, 2)" in other


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([[0.5] * 3] * 4, "By axis 0 and axis 1 at once it is 5.0e-01 everywhere."),
        ([[0.5, 0.4, 0.3]] * 4, "it is 3.0e-01 to 5.0e-01 everywhere."),
        ([["inf"] * 3] * 4, "it is ∞ everywhere."),
        ([[0.5, 0.1, 0.3]] * 4, ""),
    ],
)
def test_a_map_of_one_tone_is_reported_in_words(cells: list[Any], words: str) -> None:
    found = sample.diverged()
    measured = found["divergences"][0]["spread"]
    measured["map"]["largest"] = cells
    measured["axes"][0]["largest"] = [0.5] * 5
    part = check(render(sample.report(found))).one("article")
    assert words in part.text and bool(part.all(kind="map")) == (not words)
    assert "The largest difference, 5.0e-01, is the same all along axis 0 (size 5)." in part.text
    assert "Along axis 0" not in part.text and "Along axis 1" in part.text


def test_labels_of_the_depth_do_not_overlap() -> None:
    verdicts = [(0.0, 0.0), (1e-7, 2e-7), (3.0, 0.0), ("inf", 1e-7)]
    rows = [
        sample.layer("a", found=sample.difference(off), rounding=floor) for off, floor in verdicts
    ]
    page = check(render(sample.report(sample.comparison(layers=rows))))
    labels = [
        (float(one.attributes["y"]), one.text)
        for one in page.one(kind="chart").all("text")
        if one.text not in ("first layer", "last layer")
    ]
    assert [label for _, label in sorted(labels)] == [
        "∞",
        "1e1",
        "1e-1",
        "1e-3",
        "1e-5",
        "1e-7",
        "0",
    ]
    heights = sorted(height for height, _ in labels)
    # 22 is the size of the type on a telephone
    assert min(b - a for a, b in zip(heights, heights[1:], strict=False)) > 22


def test_what_is_unexplained_says_so() -> None:
    closest = {"kind": "epsilon", "summary": "another epsilon", "share": 0.4}
    found = sample.diverged()
    found["divergences"] = [
        sample.divergence(cause=None, closest=closest, spread=None, reconverges=False, shapes=None),
        sample.divergence(cause=None, output_after=3.0),
    ]
    first, second = check(render(sample.report(found))).all("article")
    assert "unexplained; closest is epsilon (another epsilon), which removes 40%" in first.text
    assert "Nothing downstream agrees again" in first.text
    assert "With that value alone substituted the outputs differ more" in second.text
    assert "instead of by 200.0% of their size." in second.text


def test_formulas_that_are_not_proved_describe_the_place() -> None:
    stated = ["formula: a + b -> a", "a: the <result> of add, (4)"]
    closest = {"kind": "different-formula", "summary": "another", "share": 1, "evidence": stated}
    found = sample.diverged()
    found["divergences"] = [sample.divergence(cause=None, closest=closest)]
    (shown,) = check(render(sample.report(found))).all("article")
    assert "unexplained; what is computed there, which may not be what is wrong:" in shown.text
    assert all(line in shown.text for line in stated)


def test_a_run_lists_all_comparisons_and_why_one_is_missing() -> None:
    page = check(render(PAGES["run"]))
    rows = page.one("table", id="comparisons").one("tbody").all("tr")
    assert [row.attributes["data-verdict"] for row in rows] == [
        *("parity", "error", "diverged", "unverified"),
    ]
    assert [row.attributes["data-rank"] for row in rows] == ["3", "1", "0", "2"]
    assert "the model raised" in rows[1].text
    assert "diverged" in page.one("h1").text and "4 comparisons" in page.one("h1").text
    assert "1 diverged, 1 error, 1 unverified, 1 parity" in page.one("header").text
    # what agrees is folded; what does not is open
    folded = [bool(section.all("details", open="")) for section in page.all("section")]
    assert "Layers, outputs, coverage" in page.all("section")[0].text and not any(folded)
    assert "Layers, outputs, coverage" not in page.all("section")[2].text


def test_a_name_may_be_broken_where_its_parts_end() -> None:
    found = sample.run(sample.report(sample.comparison()))
    found["comparisons"][0]["test"] = "tests/test_x.py::Test::test_y[a<b/c]"
    html = render(found)
    check(html)
    parts = ("tests/", "test_", "x.py::", "Test::", "test_", "y[", "a&lt;b/", "c]")
    assert html.count(f"<code>{'<wbr>'.join(parts)}</code>") == 1


def test_an_empty_run_says_so() -> None:
    assert "No comparison was made." in check(render(PAGES["empty run"])).one("header").text


def test_1200_layers_take_less_than_two_megabytes() -> None:
    rows = [
        sample.layer(f"resnet.stage{at // 100}.block{at}.convolution_2d", found=sample.difference())
        for at in range(1200)
    ]
    rows[700]["verdict"] = "diverged"
    cells = [[(7 * i + j) % 11 / 11 for j in range(64)] for i in range(64)]
    measured = {**sample.spread(), "map": {"axes": [0, 1], "largest": cells}}
    found = sample.diverged()
    found["layers"] = rows
    found["divergences"] = [sample.divergence(f"d{at}", spread=measured) for at in range(12)]
    region = [sample.site("op", f"resnet.{at}") for at in range(1200)]
    found["divergences"][0]["candidate_region"] = region
    html = render(sample.report(found))
    check(html)
    assert len(html.encode()) < 2_000_000


def test_the_page_of_a_real_comparison_of_1200_operations_is_as_small(page: Any) -> None:
    assert page("large").stat().st_size < 2_000_000


def test_a_run_of_hundreds_shows_the_layers_of_what_does_not_agree() -> None:
    agreeing = sample.report(sample.comparison(layers=[sample.layer(f"l{i}") for i in range(20)]))
    html = render(sample.run(*[agreeing] * 150, sample.report(sample.diverged())))
    page = check(html)
    assert len(page.one("table", id="comparisons").all("tr")) == 1 + 151
    shown = [bool(one.all("table", kind="layers")) for one in page.all("section")]
    assert shown == [True] * 100 + [False] * 50 + [True]


def test_each_divergence_leads_to_the_row_where_it_ends() -> None:
    places = [("a", "diverged"), ("b", "inherited"), ("a", "diverged"), ("c", "same")]
    rows = [sample.layer(name, verdict) for name, verdict in places]
    found = sample.diverged()
    found["layers"] = rows
    parts = [sample.divergence(name) for name in ("a", "a", "b", "net.py:7")]
    for part in parts:
        part["candidate_region"] = []
    parts[3]["candidate"] = sample.site("add")  # of no layer: its line's name
    found["layers"].append(sample.layer("net.py:7", "diverged"))
    found["divergences"] = parts
    articles = check(render(sample.report(found))).all("article")
    links = [[a.attributes["href"] for a in one.all("a")][1:] for one in articles]
    assert links == [["#layer-a"], ["#layer-a-2"], [], ["#layer-net.py-7"]]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ([], "no parity report"),
        ({"schema": 2}, "no parity report"),
        ({"schema": 3, "comparisons": []}, "schema is 3; this parity reads up to 2"),
        ({"schema": 2, "comparisons": [{}]}, "cannot be read .KeyError"),
        ({"schema": 2, "comparisons": [7]}, "cannot be read .TypeError"),
        (sample.report({**sample.diverged(), "layers": [{}]}), "cannot be read .KeyError"),
        (sample.report({**sample.diverged(), "notes": 7}), "cannot be read .TypeError"),
    ],
)
def test_what_is_no_report_is_refused(data: Any, why: str) -> None:
    with pytest.raises(FileError, match=why):
        render(data)


def test_a_report_from_before_the_drawings_were_added_renders() -> None:
    data = copy.deepcopy(PAGES["diverged"])
    del data["comparisons"][0]["divergences"][0]["spread"]
    del data["comparisons"][0]["divergences"][0]["places"]
    for row in data["comparisons"][0]["layers"]:
        del row["rounding"]
    check(render(data))


def test_a_cause_that_is_not_proved_says_so_and_why() -> None:
    page = copy.deepcopy(PAGES["diverged"])
    found = page["comparisons"][0]["divergences"][0]["cause"]
    found.update(confirmed=False, unproved="the fix alone leaves a difference")
    text = re.sub(r"\s+", " ", parse(render(page)).one("article").text)
    assert "softmax-axis, consistent with the evidence, not proved: softmax over" in text
    assert "Not proved: the fix alone leaves a difference." in text and "confirmed" not in text


def test_a_fault_of_several_layers_lists_its_places() -> None:
    text = re.sub(r"\s+", " ", parse(render(PAGES["diverged"])).one("article").text)
    assert "The same at 1 more" in text and "block.1" in text


def test_the_samples_have_the_keys_of_a_real_report() -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).standard_normal((5, 7)).astype("f")
    report = parity.compare(
        parity.wrap(lambda x: torch.softmax(torch.tanh(x) @ torch.ones(7, 3), 1), "torch"),
        parity.wrap(lambda x: torch.softmax(torch.tanh(x) @ torch.ones(7, 3), 0), "torch"),
        inputs=x,
    )
    (real,), (made,) = report.to_dict()["comparisons"], PAGES["diverged"]["comparisons"]
    check(render(report.to_dict()))
    assert made.keys() == real.keys()
    for name in ("divergences", "layers", "outputs"):
        assert made[name][0].keys() == real[name][0].keys()
    for name in ("cause", "spread", "candidate"):
        assert made["divergences"][0][name].keys() == real["divergences"][0][name].keys()
    assert made["outputs"][0]["decisions"].keys() == real["outputs"][0]["decisions"].keys()
    assert made["outputs"][0]["difference"].keys() == real["outputs"][0]["difference"].keys()
