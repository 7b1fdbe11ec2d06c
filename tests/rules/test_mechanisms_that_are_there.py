"""A cause names a mechanism only where one of the models has it: fitting values do not suffice."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from parity.report.report import Report
from tests.rules.pairs import compare, weights

draw = np.random.default_rng(4)


def values(*shape: int) -> np.ndarray:
    return draw.standard_normal(shape).astype("f")


def causes(report: Report) -> set[str]:
    """The kinds of all causes that are reported as confirmed."""
    return {one.cause.kind for one in report.divergences if one.cause and one.cause.confirmed}


def text_of(report: Report) -> str:
    return " ".join(str(report).split())


# --- gates ----------------------------------------------------------------------------------------

CONDITION, FILTERS = weights(5, 20), weights(6, 20)


def gated(z: torch.Tensor) -> torch.Tensor:
    kept, gate = z.chunk(2, 1)
    return torch.tanh(kept) * torch.sigmoid(gate)


def test_two_halves_of_a_filter_are_not_four_gates() -> None:
    def reference(x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return gated(x @ FILTERS + c @ CONDITION)

    def candidate(x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return gated(x @ FILTERS + torch.roll(c @ CONDITION, 10, 1))

    report = compare(reference, candidate, inputs=(values(7, 6), values(7, 5)))
    assert report.divergences
    assert "gate-order" not in text_of(report)


KERNEL, OWN = weights(6, 20), weights(5, 20)
FIRST, SECOND = (np.r_[0:5, 5:10, 10:15, 15:20], np.r_[0:5, 10:15, 5:10, 15:20])


def steps(x: torch.Tensor, order: np.ndarray) -> torch.Tensor:
    kernel, own = KERNEL[:, order], OWN[:, order]
    h = c = torch.zeros(len(x), 5)
    for t in range(x.shape[1]):
        i, f, g, o = (x[:, t] @ kernel + h @ own).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return h


def test_four_blocks_that_are_separated_are_gates() -> None:
    report = compare(lambda x: steps(x, FIRST), lambda x: steps(x, SECOND), inputs=values(7, 4, 6))
    assert causes(report) == {"gate-order"}


# --- values of weights ----------------------------------------------------------------------------

WEIGHT, OTHER, BIAS = weights(6, 12), weights(6, 12), weights(12)
TURNED = np.r_[4:8, 8:12, 0:4]
HEAD = weights(12, 3)


def in_blocks(x: torch.Tensor, order: np.ndarray, bias: torch.Tensor) -> torch.Tensor:
    """A layer whose features are in another order, which the next layer reverts."""
    weight, back = torch.tensor(WEIGHT[:, order].numpy()), torch.tensor(HEAD[order].numpy())
    return torch.tanh(torch.addmm(bias, x, weight)) @ back


def test_a_weight_in_another_order_holds_no_other_values() -> None:
    wrong = torch.tensor(2.5 * BIAS.flip(0).numpy() + 0.5)
    report = compare(
        lambda x: in_blocks(x, np.arange(12), BIAS),
        lambda x: in_blocks(x, TURNED, wrong),
        inputs=values(9, 6),
    )
    assert report.divergences
    assert "(6, 12) (" not in text_of(report)  # none of the kernel's values is said to differ


def test_a_weight_of_another_checkpoint_holds_other_values() -> None:
    report = compare(
        lambda x: torch.addmm(BIAS, x, WEIGHT),
        lambda x: torch.addmm(BIAS, x, OTHER),
        inputs=values(9, 6),
    )
    assert causes(report) == {"weight-values"}
    assert "other numbers in constant of (6, 12) (72 of 72" in text_of(report)


# --- what is added --------------------------------------------------------------------------------

MASK = torch.from_numpy(np.where(values(6, 6) > 0.5, -100.0, 0.0).astype("f"))
SCORES = weights(5, 6)


def scored(x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    scores = x @ SCORES
    if mask is not None:
        scores = scores + mask
    return torch.softmax(scores.reshape(2, 3, 6), -1)


def test_an_addition_of_zeros_is_there() -> None:
    zeros = torch.zeros(6, 6)
    report = compare(lambda x: scored(x, MASK), lambda x: scored(x, zeros), inputs=values(6, 5))
    assert "add is missing" not in text_of(report)
    assert causes(report) == {"branch-missing"}
    assert "adds at test_mechanisms_that_are_there.py" in text_of(report)
    assert "is zero throughout" in text_of(report)


def test_an_addition_that_is_not_there_is_missing() -> None:
    report = compare(lambda x: scored(x, MASK), lambda x: scored(x, None), inputs=values(6, 5))
    assert report.divergences
    assert "zero throughout" not in text_of(report)


# --- log-probabilities ----------------------------------------------------------------------------

MEAN, HALF_LOG_TWO_PI = weights(5, 3), 0.9189385332046727


def log_density(x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
    return -0.5 * (a - torch.tanh(x @ MEAN)) ** 2 - HALF_LOG_TWO_PI


ACTIONS = values(7, 5), values(7, 3)


def test_a_loss_over_the_batch_is_no_sum_of_components() -> None:
    report = compare(
        lambda x, a: (0.7 * log_density(x, a).sum(1) - x[:, 0]).mean(),
        lambda x, a: (0.7 * log_density(x, a).sum(1) - x[:, 0]).sum(),
        inputs=ACTIONS,
    )
    assert "log-prob-reduction" not in text_of(report)
    assert causes(report) == {"reduction-kind"}


def test_components_that_are_averaged_are_log_probabilities() -> None:
    report = compare(
        lambda x, a: log_density(x, a).sum(1),
        lambda x, a: log_density(x, a).mean(1),
        inputs=ACTIONS,
    )
    assert causes(report) == {"log-prob-reduction"}


# --- masks ----------------------------------------------------------------------------------------

START = torch.eye(6)[[2, 0, 5, 3, 3]]
KEPT = torch.from_numpy((values(4, 5) > -0.4).astype("f"))


def restarted(x: torch.Tensor, first: torch.Tensor, start: bool) -> torch.Tensor:
    state = torch.tanh(x) * (1 - first)
    return torch.sigmoid(state + START * first if start else state) @ SQUARE


SQUARE = weights(6, 6)


def test_a_state_that_is_not_set_anew_is_no_mask() -> None:
    first = np.array([[0], [1], [0], [1], [0]], "f")
    report = compare(
        lambda x, first: restarted(x, first, True),
        lambda x, first: restarted(x, first, False),
        inputs=(values(5, 6), first),
    )
    assert report.divergences
    assert "not masked" not in text_of(report)


def test_steps_that_a_product_masks_are_masked() -> None:
    report = compare(
        lambda x: (torch.tanh(x) * KEPT[..., None]).sum(1),
        lambda x: torch.tanh(x).sum(1),
        inputs=values(4, 5, 6),
    )
    assert causes(report) == {"sequence-mask"}


# --- positions ------------------------------------------------------------------------------------

EXPERTS, ROWS = weights(4, 5, 6), weights(4, 6)


def hidden(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.tanh(torch.einsum("nd,edh->neh", x, EXPERTS) + bias)


def test_rows_of_a_bias_are_no_positions() -> None:
    report = compare(
        lambda x: hidden(x, ROWS), lambda x: hidden(x, ROWS.flip(0)), inputs=values(7, 5)
    )
    assert report.divergences
    assert "position" not in text_of(report)


def test_rows_that_are_looked_up_are_positions() -> None:
    reference, candidate = torch.tensor([0, 1, 2, 2, 3]), torch.tensor([0, 1, 1, 2, 3])

    def embedded(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x + torch.nn.functional.embedding(at, ROWS))

    report = compare(
        lambda x: embedded(x, reference), lambda x: embedded(x, candidate), inputs=values(7, 5, 6)
    )
    assert causes(report) == {"position-ids"}
    assert "0, 1, 1, 2, 3 for 0, 1, 2, 2, 3" in text_of(report)


# --- resizing -------------------------------------------------------------------------------------


def test_a_mean_in_place_of_a_chosen_value_is_no_resize() -> None:
    report = compare(
        lambda x, chosen: x.gather(2, chosen),
        lambda x, chosen: x.mean(2, keepdim=True),
        inputs=(values(4, 3, 5), np.zeros((4, 3, 1), np.int64)),
    )
    assert report.divergences
    assert "resize" not in text_of(report)


def resized(x: torch.Tensor, mode: str) -> torch.Tensor:
    corners = True if mode == "bilinear" else None
    return torch.nn.functional.interpolate(x, size=(9, 9), mode=mode, align_corners=corners)


def test_of_formulas_that_give_the_same_none_is_stated() -> None:
    report = compare(
        lambda x: resized(x, "bilinear"),
        lambda x: resized(x, "nearest"),
        inputs=values(2, 3, 8, 8),
    )
    assert causes(report) == {"resize-method"}
    assert "nearest (at coordinates that cannot be distinguished at these sizes)" in text_of(report)
    assert "coordinates: " not in text_of(report)


# --- norms ----------------------------------------------------------------------------------------


def norm(**changed: torch.Tensor) -> torch.nn.BatchNorm2d:
    layer = torch.nn.BatchNorm2d(6).eval()
    torch.manual_seed(3)
    for kept in (*layer.parameters(), layer.running_mean, layer.running_var):
        kept.data = 0.5 + torch.rand(6)
    for name, array in changed.items():
        getattr(layer, name).data = array
    return layer


IMAGES = 3 * values(3, 6, 4, 5) + 1


def test_a_scale_of_ones_is_there() -> None:
    report = parity.compare(norm(), norm(weight=torch.ones(6)), inputs=IMAGES)
    assert "scale False" not in text_of(report)
    assert causes(report) == {"weight-values"}
    assert "its scale (weight) is one throughout" in text_of(report)


def test_a_scale_that_is_not_there_is_missing() -> None:
    bare = torch.nn.BatchNorm2d(6, affine=False).eval()
    whole = norm(bias=torch.zeros(6))
    bare.running_mean.data, bare.running_var.data = whole.running_mean, whole.running_var
    report = parity.compare(whole, bare, inputs=IMAGES)
    assert causes(report) == {"norm-affine-missing"}


@pytest.mark.parametrize(
    "name, fresh, words",
    [
        ("running_mean", torch.zeros(6), "zeros are read in place of running_mean"),
        ("running_var", torch.ones(6), "other numbers in running_var (6 of 6 differ"),
    ],
)
def test_statistics_that_were_not_copied_are_named(
    name: str, fresh: torch.Tensor, words: str
) -> None:
    report = parity.compare(norm(), norm(**{name: fresh}), inputs=IMAGES)
    assert causes(report) == {"weight-values"}
    assert words in text_of(report)


# --- reductions -----------------------------------------------------------------------------------


def test_the_axes_of_a_mean_are_the_candidates() -> None:
    report = compare(
        lambda x: (x * x).flatten(1).sum(1),
        lambda x: (x * x).mean((1, 2, 3)),
        inputs=values(3, 4, 5, 1),
    )
    assert causes(report) == {"reduction-kind"}
    assert "the mean over axis (1, 2, -1); the reference takes the sum over axis -1" in text_of(
        report
    )


def test_what_is_looked_up_is_no_maximum() -> None:
    looked_up = values(4, 3, 5)
    best = looked_up.argmax(2)[..., None]
    report = compare(
        lambda x, at: torch.tanh(x.gather(2, at).squeeze(2)),
        lambda x, at: torch.tanh(x.sum(2)),
        inputs=(looked_up, best),
    )
    assert report.divergences
    assert "the max" not in text_of(report)


def test_a_maximum_is_one() -> None:
    report = compare(
        lambda x: torch.tanh(x.max(2).values),
        lambda x: torch.tanh(x.sum(2)),
        inputs=values(4, 3, 5),
    )
    assert causes(report) == {"reduction-kind"}
    assert "the reference takes the max" in text_of(report)


# --- dilation, without values ---------------------------------------------------------------------


class OverSteps(torch.nn.Module):
    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.layer = torch.nn.Conv1d(5, 6, 2, dilation=dilation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(torch.nn.functional.pad(x.transpose(1, 2), (self.dilation, 0)))


@pytest.mark.parametrize("reference, candidate", [(1, 1), (2, 2), (4, 4), (1, 2), (4, 2)])
def test_a_dilation_over_steps_is_read_of_the_blocks(reference: int, candidate: int) -> None:
    keras = pytest.importorskip("keras")
    layer = keras.layers.Conv1D(6, 2, dilation_rate=candidate, padding="causal")
    model = keras.Sequential([keras.layers.Input((11, 5)), layer])
    report = parity.structure(OverSteps(reference), model, inputs=values(3, 11, 5))
    assert ("dilation" in str(report)) is (reference != candidate)
    if reference != candidate:
        assert f"dilation: {reference} -> {candidate}" in text_of(report)


# --- proofs beside rounded constants --------------------------------------------------------------


@pytest.mark.parametrize("steps", [50, 51])
def test_what_rounding_leaves_at_another_output_is_no_fix_to_make(steps: int) -> None:
    """The support is made in float32, and its sums nearly cancel."""
    reference = torch.from_numpy((-10 + np.arange(51) * np.float32(20 / 50)).astype("f"))
    candidate = torch.from_numpy((-10 + np.arange(51) * np.float32(20 / steps)).astype("f"))
    atoms = weights(5, 51)

    def expected(x: torch.Tensor, support: torch.Tensor) -> dict[str, torch.Tensor]:
        p = torch.softmax(0.1 * x @ atoms, 1)
        return {"p": p, "q": (p * support).sum(1)}

    report = compare(
        lambda x: expected(x, reference), lambda x: expected(x, candidate), inputs=values(7, 5)
    )
    assert causes(report) == ({"support-range"} if steps == 51 else set())


def test_a_division_is_one_however_a_framework_spells_it() -> None:
    """By the root mean square and not by the norm: as if the division behind it were missing."""
    tf = pytest.importorskip("tensorflow")

    def reference(x: torch.Tensor) -> torch.Tensor:
        unit = x / x.square().sum(-1, keepdim=True).sqrt()
        return torch.tanh(unit @ unit.transpose(1, 2) / 6)

    def candidate(x):
        unit = x / tf.sqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True))
        return tf.tanh(tf.matmul(unit, unit, transpose_b=True) / 6)

    x = np.random.default_rng(2).standard_normal((3, 5, 6)).astype("f")
    models = (
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="tensorflow"),
    )
    report = parity.compare(*models, inputs=x)
    assert report.verdict == "diverged" and "op-missing" not in causes(report)
