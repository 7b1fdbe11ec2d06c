"""The gate's rules: each is broken once, and reported in the right words; rounding breaks none."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

import parity
from parity.baseline.entry import Acceptance, Entry, Layer, add, entries_of
from parity.baseline.gate import differing, elsewhere, updated, worse

WAS = Entry(
    source="test_a.py::test_port",
    shared=False,
    verdict="unverified",
    environment={"machine": {"processor": "x86_64"}, "torch": {"torch": "2.5.0"}},
    coverage={"values": 0.9, "outputs": 1.0},
    decisions={"q": 0.75},
    layers={
        "l1 | dense": Layer("same", 1e-6, 2e-6),
        "l2 | dense#2": Layer("diverged", 1e-2, 1e-7),
    },
)
TORCH = {"machine": {"processor": "x86_64"}, "torch": {"torch": "2.6.0"}}


def with_layer(entry, name, **changes):
    layer = replace(entry.layers[name], **changes)
    return replace(entry, layers={**entry.layers, name: layer})


BROKEN = {
    "the verdict": (
        replace(WAS, verdict="diverged"),
        "the verdict is worse: was unverified, now diverged",
    ),
    "a layer grows": (
        with_layer(WAS, "l1 | dense", difference=9e-6),
        "the difference has grown at l1 | dense: was 1.0e-06 (0.5 times its rounding), "
        "now 9.0e-06 (4.5 times its rounding)",
    ),
    "a diverged layer grows": (
        with_layer(WAS, "l2 | dense#2", difference=5e-2),
        "the difference has grown at l2 | dense#2: was 1.0e-02",
    ),
    "a layer gets infinite": (
        with_layer(WAS, "l2 | dense#2", difference=float("inf")),
        "the difference has grown at l2 | dense#2: was 1.0e-02 (1e+05 times its rounding), now inf",
    ),
    "a layer in less precision": (
        with_layer(WAS, "l1 | dense", difference=5e-4, rounding=1e-3),
        "the difference has grown at l1 | dense",
    ),
    "another layer parts": (
        with_layer(WAS, "l1 | dense", verdict="diverged"),
        "the models diverge at l1 | dense: was same, now diverged",
    ),
    "a layer vanishes": (
        replace(WAS, layers={"l1 | dense": WAS.layers["l1 | dense"]}),
        "a layer has vanished at l2 | dense#2: was matched, now without a partner",
    ),
    "coverage of values": (
        replace(WAS, coverage={"values": 0.8, "outputs": 1.0}),
        "fewer values are compared: was 90%, now 80%",
    ),
    "coverage of outputs": (
        replace(WAS, coverage={"values": 0.9, "outputs": 0.5}),
        "fewer outputs are compared: was 100%, now 50%",
    ),
    "decisions": (
        replace(WAS, decisions={"q": 0.7}),
        "fewer greedy actions agree at output q: was 75%, now 70%",
    ),
    "no decisions": (
        replace(WAS, decisions={}),
        "no greedy actions are compared at output q: was 75%, now no table of choices",
    ),
}


@pytest.mark.parametrize(("now", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_reported(now, words):
    [failure] = worse("entry", WAS, now)
    assert str(failure).startswith("entry\n")
    assert words in str(failure)
    assert "`" in failure.advice


def test_the_advice_names_the_file():
    now, _ = BROKEN["a layer vanishes"]
    [failure] = worse("entry", WAS, now, file="my baseline.json")
    assert "`pytest --parity-baseline 'my baseline.json' --parity-update`" in failure.advice
    was = replace(WAS, accepted=Acceptance("upstream bug", "2026-12-31"))
    [failure] = worse("entry", was, was, today=date(2027, 1, 1), file="b.json")
    assert "`parity baseline accept b.json ENTRY " in failure.advice


def test_what_is_the_same_or_better_is_no_failure():
    better = replace(
        with_layer(WAS, "l2 | dense#2", verdict="same", difference=1e-8),
        verdict="parity",
        coverage={"values": 1.0, "outputs": 1.0},
        decisions={"q": 1.0},
    )
    assert worse("entry", WAS, WAS) == worse("entry", WAS, better) == []
    assert worse("entry", better, WAS)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ((1e-6, 2e-6), (7.9e-6, 2e-6)),  # 4 times the rounding
        ((0.0, 0.0), (1.8e-6, 1e-7)),  # values that came out equal by luck
        ((1e-7, 2e-7), (3e-6, 4e-6)),  # few values whose rounding was small by luck
    ],
)
def test_rounding_is_let_pass(was, now):
    before = with_layer(WAS, "l1 | dense", difference=was[0], rounding=was[1])
    after = with_layer(WAS, "l1 | dense", difference=now[0], rounding=now[1])
    assert worse("entry", before, after) == []


def test_the_factor_moves_the_bound():
    now = with_layer(WAS, "l2 | dense#2", difference=3e-2)
    assert worse("entry", WAS, now) == []
    [failure] = worse("entry", WAS, now, factor=2.0)
    assert "at most 2.0e-02 is let pass, 2 times" in failure.advice


def test_elsewhere_only_what_does_not_depend_on_rounding_is_compared():
    differing_run = replace(with_layer(WAS, "l1 | dense", difference=1.0), environment=TORCH)
    differing_run = replace(differing_run, coverage={"values": 0.1, "outputs": 1.0})
    assert worse("entry", WAS, differing_run) == []
    assert elsewhere(WAS, differing_run) == ["torch: 2.5.0 -> 2.6.0"]
    text = "\n".join(differing([(WAS, differing_run), (WAS, WAS)]))
    assert "1 comparison of the baseline was made in another environment" in text
    assert "torch: 2.5.0 -> 2.6.0" in text
    assert "not compared: differences" in text
    for rule in ("the verdict", "a layer vanishes", "coverage of outputs", "decisions"):
        now, words = BROKEN[rule]
        [failure] = worse("entry", WAS, replace(now, environment=TORCH))
        assert words in str(failure)


def test_of_generated_inputs_the_verdict_alone_counts():
    drawn = replace(WAS, generated=True, layers={}, coverage={}, decisions={})
    assert worse("entry", drawn, drawn) == []
    [failure] = worse("entry", drawn, replace(drawn, verdict="diverged"))
    assert failure.what == "the verdict is worse"
    found = {}
    for verdict in ("parity", "diverged", "parity"):
        assert add({"entry": replace(drawn, verdict=verdict)}, found) == ["entry"]
    assert found["entry"].verdict == "diverged"


def test_calls_of_one_test_with_the_same_models_get_a_number():
    found = {}
    assert [add({"entry": WAS}, found) for _ in range(3)] == [
        ["entry"],
        ["entry (2)"],
        ["entry (3)"],
    ]


def test_an_acceptance_ends_the_day_after_its_last():
    was = replace(WAS, accepted=Acceptance("upstream bug", "2026-12-31"))
    assert worse("entry", was, was, today=date(2026, 12, 31)) == []
    [failure] = worse("entry", was, was, today=date(2027, 1, 1))
    assert "an acceptance has expired: was accepted until 2026-12-31 (upstream bug)" in str(failure)
    assert "parity baseline accept" in failure.advice
    agreeing = replace(was, verdict="parity")
    assert worse("entry", was, agreeing, today=date(2027, 1, 1)) == []


def test_an_update_keeps_what_only_rounding_has_changed():
    noise = with_layer(WAS, "l1 | dense", difference=2e-6, rounding=1.5e-6)
    assert updated(WAS, noise, 4.0) is WAS
    better = with_layer(WAS, "l2 | dense#2", difference=1e-4)
    for now in (better, replace(WAS, environment=TORCH), *(now for now, _ in BROKEN.values())):
        assert updated(WAS, now, 4.0) == now
    assert updated(None, noise, 4.0) is noise


def test_an_update_keeps_an_acceptance_only_of_what_is_no_worse():
    was = replace(WAS, accepted=Acceptance("upstream bug", "2026-12-31"))
    better = with_layer(WAS, "l2 | dense#2", difference=1e-4)
    assert updated(was, better, 4.0).accepted == was.accepted
    assert updated(was, replace(better, verdict="parity"), 4.0).accepted is None
    for now, _ in BROKEN.values():
        assert updated(was, now, 4.0).accepted is None


# --- from reports --------------------------------------------------------------------------------


def row(reference, candidate):
    difference = {"relative": 1.234e-7, "nonfinite_differ": 0}
    return {
        "reference": reference,
        "candidate": candidate,
        "verdict": "same" if reference and candidate else "unmatched",
        "difference": difference,
        "rounding": 2e-7,
    }


def layers_of(rows, framework="tensorflow"):
    report = {
        "reference": {"name": "net", "framework": "torch"},
        "versions": {"torch": {"torch": "2", "threads": "1"}, framework: {framework: "3"}},
        "comparisons": [
            {
                "candidate": {"name": "port", "framework": framework},
                "verdict": "parity",
                "coverage": {"values": 1.0, "outputs": 1.0},
                "outputs": [],
                "layers": rows,
            }
        ],
    }
    [(name, entry)] = entries_of(report, "test_a.py::test").items()
    assert name == "test_a.py::test: net -> port"
    assert "threads" not in entry.environment["torch"]
    return entry.layers


def test_names_hold_no_running_numbers_of_keras_and_no_lines():
    first = layers_of([row("l1", "dense"), row("nets.py:12", "f/dense_1"), row("l3", "")])
    later = layers_of([row("l1", "dense_7"), row("nets.py:31", "f_2/dense_9"), row("l3", "")])
    assert first == later
    assert list(first) == ["l1 | dense#1", "nets.py | f/dense#2"]
    assert first["l1 | dense#1"].difference == 1.2e-7


def test_names_of_other_frameworks_stay_and_equal_ones_get_a_number():
    rows = [row("l1", "dense_7"), row("a.py:1", "b.py:1"), row("a.py:2", "b.py:9")]
    assert list(layers_of(rows, "chainer")) == ["l1 | dense_7", "a.py | b.py", "a.py | b.py (2)"]


def test_no_difference_that_is_rounding_exceeds_the_rounding_of_its_layer():
    """The bound of the gate is a triangle: what the two are off from values that are equal."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    layers = [
        layer for _ in range(12) for layer in (torch.nn.Linear(64, 64, bias=False), torch.nn.Tanh())
    ]
    net = torch.nn.Sequential(*layers)
    weights = [2 * rng.normal(size=(64, 64)).astype("float32") / 8 for _ in range(12)]
    with torch.no_grad():
        for layer, weight in zip(layers[::2], weights, strict=True):
            layer.weight.copy_(torch.from_numpy(weight))

    def port(x):
        for weight in weights:
            x = torch.tanh(
                (x[:, None, ::2] * weight[:, ::2]).sum(-1) + x[:, 1::2] @ weight[:, 1::2].T
            )
        return x

    weights = [torch.from_numpy(weight) for weight in weights]
    inputs = rng.normal(size=(3, 64)).astype("float32")
    report = parity.compare(net, parity.wrap(port, framework="torch"), inputs=inputs)
    assert report.verdict == "parity"
    rows = [row for row in report.layers if row.difference is not None]
    assert rows and all(row.difference.relative <= row.rounding * 1.01 for row in rows)
    assert max(row.difference.relative for row in rows) > 1e-6  # chaos: a fixed bound would alarm
    assert max(row.rounding for row in rows) < 1e-2
