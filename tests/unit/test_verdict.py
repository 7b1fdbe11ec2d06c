"""Every road to a verdict: parity, diverged, unverified, each with its reason in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parity
from parity.errors import InputError, ModelError
from parity.report.report import Report

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
draw = np.random.default_rng(12)
X = draw.standard_normal((5, 7)).astype("f")
WEIGHT = torch.from_numpy(draw.standard_normal((7, 6)).astype("f"))
OTHER = torch.from_numpy(draw.standard_normal((7, 6)).astype("f"))
SQUARE = torch.from_numpy(draw.standard_normal((6, 6)).astype("f"))


def compare(*models: Callable[..., Any], inputs: Any = X) -> Report:
    return parity.compare(*(parity.wrap(one, framework="torch") for one in models), inputs=inputs)


def dense(x: Any) -> Any:
    return torch.tanh(x @ WEIGHT)


def ops(report: Report) -> list[tuple[str, str]]:
    return [(found.reference.op, found.candidate.op) for found in report.divergences]


# --- parity --------------------------------------------------------------------------------------


def test_parity_has_no_reasons() -> None:
    report = compare(dense, lambda x: 2 * torch.sigmoid(2 * (x @ WEIGHT)) - 1)
    assert report.verdict == "parity" and not report.divergences and not report.worst.reasons
    assert report.coverage.outputs == 1.0


def test_a_constant_baked_elsewhere_is_reported_and_is_parity() -> None:
    factor = torch.from_numpy(draw.uniform(0.3, 3, 6).astype("f"))
    report = compare(
        lambda x: torch.tanh((x @ WEIGHT) * factor), lambda x: torch.tanh(x @ (WEIGHT * factor))
    )
    assert report.verdict == "parity", str(report)
    folded = WEIGHT * factor  # in float32, before the model runs
    report = compare(lambda x: torch.tanh((x @ WEIGHT) * factor), lambda x: torch.tanh(x @ folded))
    assert report.verdict == "parity" and "constant-precision" in str(report)


def test_what_is_no_divergence_as_a_whole_leaves_the_other_rows_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("parity.diagnosis.verdict.agree_as_a_whole", lambda *_: 1e-9)
    monkeypatch.setattr("parity.candidate.close", lambda *given: (given[4], []))
    factor = torch.from_numpy(draw.uniform(0.3, 3, 6).astype("f"))
    folded, off = WEIGHT * factor, SQUARE.clone()
    off[1, 2] += 0.5

    def reference(x: Any) -> Any:
        x = torch.tanh((x @ WEIGHT) * factor)
        return x @ SQUARE

    def port(x: Any) -> Any:
        x = torch.tanh(x @ folded)
        return x @ off

    report = compare(reference, port)
    assert report.verdict == "parity"
    assert [note.kind for note in report.worst.notes] == ["constant-precision", "parameter-differs"]
    verdicts = [row.verdict for row in report.worst.layers]
    assert verdicts == ["constant-precision", "parameter-differs"]


def test_outputs_of_other_layout_but_the_same_axes_are_parity() -> None:
    """Channels of a convolution out in NHWC: every element is there, axis by axis."""
    images = draw.standard_normal((2, 3, 6, 7)).astype("f")
    kernel = torch.from_numpy(draw.standard_normal((4, 3, 2, 2)).astype("f"))

    def net(x: Any) -> Any:
        return torch.tanh(torch.nn.functional.conv2d(x, kernel))

    report = compare(net, lambda x: net(x).permute(0, 2, 3, 1), inputs=images)
    assert report.verdict == "parity"


def test_outputs_whose_axes_changed_places_diverge_where_nothing_says_that_they_are_images() -> (
    None
):
    """A head of (batch, actions, atoms) is no image, nor is what was merely given."""
    weight = torch.from_numpy(draw.standard_normal((7, 3 * 4)).astype("f"))

    def head(x: Any) -> Any:
        return torch.softmax((x @ weight).reshape(-1, 3, 4), -1)

    assert compare(head, lambda x: head(x).transpose(1, 2)).verdict == "diverged"
    images = draw.standard_normal((2, 3, 4, 5)).astype("f")
    report = compare(torch.tanh, lambda x: torch.tanh(x).permute(0, 2, 3, 1), inputs=images)
    assert report.verdict == "diverged"


def test_nan_and_infinity_at_the_same_places_are_parity() -> None:
    holes = X.copy()
    holes[1, 2], holes[3, 3], holes[4, 0] = np.nan, np.inf, -np.inf
    assert compare(lambda x: x * 2 + 1, lambda x: 1 + x + x, inputs=holes).verdict == "parity"


def test_complex_values_are_values() -> None:
    spectrum = lambda x: torch.fft.rfft(x @ WEIGHT)  # noqa: E731
    assert compare(spectrum, lambda x: torch.fft.fft(x @ WEIGHT)[:, :4]).verdict == "parity"
    report = compare(spectrum, lambda x: torch.fft.rfft(x @ WEIGHT).conj().resolve_conj())
    assert report.verdict == "diverged" and len(report.divergences) == 1


# --- diverged ------------------------------------------------------------------------------------


def test_a_divergence_names_both_operations() -> None:
    report = compare(dense, lambda x: torch.sigmoid(x @ WEIGHT))
    assert report.verdict == "diverged" and ops(report) == [("tanh", "sigmoid")]
    assert "1 divergence" in report.worst.reasons


@pytest.mark.parametrize(
    "candidate",
    [
        lambda x: dense(x).sum(1),
        lambda x: dense(x).sum(1, keepdim=True).expand(5, 3),
        lambda x: dense(x).sum(1)[:4, None],
    ],
)
def test_another_shape_is_a_divergence_and_the_search_ends(candidate: Any) -> None:
    """Equal values, but a shape that broadcasts: a loss over (5, 1) and (5,) is another loss."""
    for models in (
        (lambda x: dense(x).sum(1, keepdim=True), candidate),
        (candidate, lambda x: dense(x).sum(1, keepdim=True)),
    ):
        report = compare(*models)
        assert report.verdict == "diverged"
        assert "shape" in report.worst.reasons[0] and "(5, 1)" in report.worst.reasons[0]
        assert len(report.divergences) <= 1


def test_one_tensor_returned_for_two_outputs() -> None:
    """What repairs the one output spoils the other: the search must end all the same."""

    def two(x: Any) -> Any:
        return x @ WEIGHT, x @ OTHER

    def one(x: Any) -> Any:
        return (h := x @ WEIGHT), h

    for models in ((two, one), (one, two)):
        report = compare(*models)
        assert report.verdict == "diverged" and len(report.divergences) == 1


def test_nan_in_the_working_precision_alone_is_a_divergence() -> None:
    """What overflows in float32 and not in float64: the users' values are what counts."""
    large = X.copy() * 100
    report = compare(
        lambda x: torch.softmax(x, 1),
        lambda x: x.exp() / x.exp().sum(1, keepdim=True),
        inputs=large,
    )
    assert report.verdict == "diverged"
    assert any("NaN in one model only" in reason for reason in report.worst.reasons)


# --- unverified ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (lambda x: {"q": dense(x), "value": dense(x).sum(1)}, lambda x: {"q": dense(x)}),
        (lambda x: (dense(x), x @ OTHER), lambda x: (dense(x),)),
        (lambda x: dense(x), lambda x: (dense(x), x @ OTHER)),
    ],
)
def test_a_missing_output_is_reported_by_name(reference: Any, candidate: Any) -> None:
    for models in ((reference, candidate), (candidate, reference)):
        report = compare(*models)
        assert report.verdict == "unverified"
        assert any("is missing in" in reason for reason in report.worst.reasons)
        assert "is missing in" in str(report) and report.coverage.outputs < 1


def test_a_fault_beside_a_missing_output_is_found() -> None:
    report = compare(
        lambda x: {"q": dense(x), "v": x @ OTHER}, lambda x: {"q": torch.sigmoid(x @ WEIGHT)}
    )
    assert report.verdict == "diverged" and ops(report) == [("tanh", "sigmoid")]
    assert any("'v'" in reason for reason in report.worst.reasons)


def test_outputs_without_values_to_speak_of() -> None:
    report = compare(lambda x: dense(x).argmax(1) % 2, lambda x: dense(x).argmax(1) % 2)
    assert report.verdict == "unverified" and "distinct values" in str(report)


@pytest.mark.parametrize("model", [lambda x: WEIGHT, lambda x: torch.tanh(WEIGHT) * 2])
def test_outputs_that_no_input_reaches(model: Any) -> None:
    """Two models that return a table of weights agree whatever they are given."""
    report = compare(model, lambda x: model(x))
    assert report.verdict == "unverified" and "depends on the inputs" in str(report)


def test_the_reason_stands_beside_divergences_too() -> None:
    report = compare(dense, lambda x: torch.sigmoid(x @ WEIGHT), inputs=np.ones((5, 7), "f"))
    assert report.verdict == "diverged"
    assert any("every input is constant" in reason for reason in report.worst.reasons)


# --- what is asked for ---------------------------------------------------------------------------


def test_comparisons_that_cannot_be_made_are_refused() -> None:
    model = parity.wrap(dense, framework="torch")
    with pytest.raises(InputError, match="two models or more"):
        parity.compare(model, inputs=X)
    with pytest.raises(InputError, match="No inputs"):
        parity.compare(model, model)
    with pytest.raises(InputError, match="is empty"):
        parity.compare(model, model, inputs=X[:0])
    with pytest.raises(InputError, match="hold no arrays"):
        parity.compare(model, model, inputs=())
    with pytest.raises(ModelError, match="test_verdict.py"):
        parity.compare(model, model, inputs=X[:, :3])


def test_the_odd_one_out() -> None:
    def same(x: Any) -> Any:
        return 2 * torch.sigmoid(2 * (x @ WEIGHT)) - 1

    def wrong(x: Any) -> Any:
        return torch.sigmoid(x @ WEIGHT)

    assert compare(dense, same, wrong).odd_one_out == "wrong"
    assert compare(wrong, same, dense).odd_one_out == "wrong"
    assert compare(dense, same, same).odd_one_out is None
    assert compare(dense, wrong).odd_one_out is None
    report = compare(dense, same, wrong)
    assert [found.verdict for found in report.comparisons] == ["parity", "diverged"]
    assert report.verdict == "diverged" and report.divergences


def test_models_of_one_name_are_distinguished() -> None:
    report = compare(dense, dense, dense)
    names = [report.reference.name, *(found.candidate.name for found in report.comparisons)]
    assert len(set(names)) == 3 and all("dense" in name for name in names)


def test_a_model_with_inputs_of_its_own() -> None:
    own = parity.wrap(lambda x: torch.tanh(x.t() @ WEIGHT), framework="torch", inputs=X.T)
    assert parity.compare(parity.wrap(dense, "torch"), own, inputs=X).verdict == "parity"
    other = parity.wrap(dense, framework="torch", inputs=X[::-1].copy())
    report = parity.compare(parity.wrap(dense, "torch"), other, inputs=X)
    assert report.verdict != "parity"


def test_swapped_squares_are_distinguished() -> None:
    report = compare(lambda x: dense(x) @ SQUARE, lambda x: dense(x) @ SQUARE.t())
    assert report.verdict == "diverged"
