"""What a model kept of the inputs that it was made with shows on other samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import parity
from parity import comparison
from parity.inputs.preprocessing import plain
from tests.rules.pairs import FIRST, X, compare

GIVEN = torch.from_numpy(X)
MASK = GIVEN > 0
LENGTHS = (GIVEN > 0).sum(1).clamp(min=1).tolist()
LARGEST = torch.tanh(GIVEN @ FIRST).abs().amax()


def masked(x):
    return torch.where(x > 0, x, 0) @ FIRST


def by_a_kept_mask(x):
    return torch.where(MASK, x, 0) @ FIRST


def first_of_each(x):
    return torch.stack(
        [row[:length].sum() for row, length in zip(x, (x > 0).sum(1).clamp(min=1), strict=True)]
    )


def by_kept_lengths(x):
    return torch.stack([row[:length].sum() for row, length in zip(x, LENGTHS, strict=True)])


def scaled(x):
    h = torch.tanh(x @ FIRST)
    return h / h.abs().amax()


def by_a_kept_scale(x):
    return torch.tanh(x @ FIRST) / LARGEST


PAIRS = [(masked, by_a_kept_mask), (first_of_each, by_kept_lengths), (scaled, by_a_kept_scale)]


@pytest.mark.parametrize(("right", "kept"), PAIRS, ids=["mask", "lengths", "scale"])
def test_what_is_kept_is_no_parity(right, kept) -> None:
    assert compare(right, right).verdict == "parity"
    for report in (compare(right, kept), compare(kept, right)):
        assert report.verdict == "diverged"
        assert "in another order" in " ".join(report.comparisons[0].reasons)


def test_where_no_sample_stands_by_itself_it_is_unverified() -> None:
    def model(kept):
        def called(x):
            weights = MASK if kept else x > 0
            return scaled(x).sum(0) * weights.sum()

        return called

    assert compare(model(False), model(False)).verdict == "parity"
    assert compare(model(False), model(True)).verdict == "unverified"


def test_a_single_number_of_all_samples_is_not_by_sample() -> None:
    def model(kept):
        return lambda x: (by_a_kept_scale if kept else scaled)(x).square().sum()

    assert compare(model(False), model(False)).verdict == "parity"
    assert compare(model(False), model(True)).verdict == "unverified"


def test_a_list_of_kept_places_has_another_length_elsewhere() -> None:
    places = torch.nonzero(GIVEN[:, 0] > 0)[:, 0]

    def model(kept):
        return lambda x: torch.tanh(x @ FIRST)[places if kept else x[:, 0] > 0]

    assert compare(model(False), model(True)).verdict != "parity"


def test_an_output_that_other_samples_have_not_is_no_crash() -> None:
    def model(scale):
        def called(x):
            h = scale(x)
            return {"h": h, "first": h[0]} if x[0, 0] == X[0, 0] else {"h": h}

        return called

    assert compare(model(scaled), model(scaled)).verdict == "parity"
    assert compare(model(scaled), model(by_a_kept_scale)).verdict != "parity"


def test_half_of_the_samples_may_be_too_few() -> None:
    def whitened(x):
        centred = x - x.mean(0)
        return centred @ torch.linalg.inv(centred.T @ centred)

    def port(x):
        centred = x - x.mean(0)
        return torch.linalg.solve(centred.T @ centred, centred.T).T

    samples = torch.randn((14, 7), generator=torch.Generator().manual_seed(1)).numpy()
    assert compare(whitened, port, inputs=samples).verdict == "parity"


def test_a_model_that_refuses_another_order_is_judged_by_what_it_takes() -> None:
    def sorted_only(x):
        if bool((x[:, 0].diff() < 0).any()):
            raise ValueError("times go back")
        return torch.tanh(x @ FIRST)

    ordered = X[X[:, 0].argsort()]
    assert compare(sorted_only, sorted_only, inputs=ordered).verdict == "parity"


def test_an_output_may_have_another_size_on_other_samples() -> None:
    def model(x):
        return torch.tanh(x @ FIRST)[x[:, 0] > 0]

    def port(x):
        return torch.tanh(torch.masked_select(x, x[:, :1] > 0).reshape(-1, 7) @ FIRST)

    assert compare(model, port).verdict == "parity"


def test_random_draws_are_no_other_samples() -> None:
    def noisy(x):
        return torch.tanh(x @ FIRST) + torch.randn(5, 6)

    def beside(kept):
        return lambda x: (noisy(x), masked(x) if not kept else by_a_kept_mask(x))

    assert compare(noisy, noisy).verdict == "parity"
    assert compare(beside(False), beside(False)).verdict == "parity"
    assert compare(beside(False), beside(True)).verdict == "diverged"


def test_inputs_of_ones_own_may_have_their_samples_elsewhere() -> None:
    own = parity.wrap(lambda x: masked(x.T), framework="torch", inputs=X.T)
    assert parity.compare(parity.wrap(masked, "torch"), own, inputs=X).verdict == "parity"
    same = parity.wrap(by_a_kept_mask, framework="torch", inputs=X.astype("d"))
    assert parity.compare(parity.wrap(masked, "torch"), same, inputs=X).verdict == "diverged"


def test_without_other_samples_it_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    found = comparison.plain_run
    monkeypatch.setattr(comparison, "plain_run", lambda *given: replace(found(*given), orders=()))
    assert compare(masked, by_a_kept_mask).verdict == "parity"


def test_a_sample_that_is_mostly_rounding_is_none_that_was_kept() -> None:
    """Alone in a batch its rounding shows, which the other samples hide."""
    sure = [[10.719445, 0.06404226, 0.01049001, -0.05356694], [10.768815, 0.1304, 0.0947081, -0.07]]
    logits = np.array([*sure, [-1.3, -0.6, 0.04, -2.3], [-0.2, -1.2, -0.7, -0.5]], np.float32)

    def reference(x: np.ndarray) -> np.ndarray:
        shifted = x - x.max(1, keepdims=True)
        logp = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
        return -(np.exp(logp) * logp).sum(1)

    def port(x: torch.Tensor) -> torch.Tensor:
        return torch.distributions.Categorical(logits=x).entropy()

    report = parity.compare(
        parity.wrap(reference, framework="numpy"),
        parity.wrap(port, framework="torch"),
        inputs=logits,
    )
    assert report.verdict == "parity", str(report)


def test_a_number_of_samples_shows_on_fewer() -> None:
    def mean(count):
        return lambda x: torch.tanh(x @ FIRST).sum(0) / (count or len(x))

    assert compare(mean(None), mean(None)).verdict == "parity"
    assert compare(mean(None), mean(len(X))).verdict == "unverified"


def test_a_model_that_is_built_for_its_batch_size_is_compared_on_that_size() -> None:
    def laid_out(*shape):
        return lambda x: torch.tanh(x @ FIRST).reshape(*shape)

    six = np.concatenate([X, X[:1] / 2])
    assert compare(laid_out(-1, 6), laid_out(6, -1), inputs=six).verdict == "parity"


def test_a_length_shows_on_the_steps_of_a_single_sequence() -> None:
    sequence = X.reshape(1, -1, 5) * (np.arange(X.size // 5) < 4)[None, :, None]

    def model(length):
        return lambda x: x[:, : length or int((x != 0).any(2).sum())].mean(1)

    assert compare(model(None), model(None), inputs=sequence).verdict == "parity"
    assert compare(model(None), model(4), inputs=sequence).verdict == "unverified"


def test_a_list_that_was_kept_is_no_parity() -> None:
    def model(lengths):
        return lambda x: (masked(x), lengths or (x > 0).sum(1).tolist())

    assert compare(model(None), model(None)).verdict == "parity"
    assert compare(model(None), model((GIVEN > 0).sum(1).tolist())).verdict == "diverged"


def test_a_list_that_the_host_made_from_draws_differs_in_every_run() -> None:
    def model(x):
        noise = torch.rand(5)
        return masked(x) + noise[:, None], noise.numpy().tolist()

    assert compare(model, model).verdict != "diverged"


def test_a_name_that_was_kept_is_no_parity() -> None:
    def model(name):
        def called(x):
            h = torch.tanh(x @ FIRST)
            return h, name or "abcdef"[int(h.sum(0).argmax())]

        return called

    assert compare(model(None), model(None)).verdict == "parity"
    assert compare(model(None), model(model(None)(GIVEN)[1])).verdict == "unverified"


def test_a_scale_that_was_kept_beside_noise_is_no_parity() -> None:
    def model(scale):
        return lambda x: scale(x) + 0.01 * torch.randn(5, 6)

    assert compare(model(scaled), model(scaled)).verdict == "parity"
    assert compare(model(scaled), model(by_a_kept_scale)).verdict == "unverified"


def test_a_number_of_samples_shows_beside_noise_on_fewer() -> None:
    def noisy(count):
        def model(x):
            h = torch.tanh(x @ FIRST)
            return h - h.sum(0) / (count or len(x)) + 1e-3 * torch.randn(h.shape)

        return model

    assert compare(noisy(0), noisy(0)).verdict == "parity"
    assert compare(noisy(0), noisy(len(X))).verdict != "parity"


# What every part of the batch has, as the largest of clipped observations.
CLIPPED = np.clip(4 * X, -3, 3)


def by_the_largest(x):
    return (x / x.abs().amax()) @ FIRST, x.abs().amax()


def by_three(x):
    return (x / 3.0) @ FIRST, x.abs().amax()


def test_a_number_that_is_held_and_computed_is_unverified() -> None:
    assert (np.abs(CLIPPED) == 3).any(1).all()
    for pair in ((by_the_largest, by_three), (by_three, by_the_largest)):
        report = compare(*pair, inputs=CLIPPED)
        assert report.verdict == "unverified"
        assert "holds the number 3" in " ".join(report.comparisons[0].reasons)


def test_a_number_that_is_computed_besides_is_no_alarm() -> None:
    for model in (by_the_largest, by_three):
        assert compare(model, model, inputs=CLIPPED).verdict == "parity"


def test_each_half_of_the_samples_is_run_as_it_is_and_filled_up_only_where_that_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[int] = []

    def watched(model, as_called=True):
        run = plain(model, as_called)
        return lambda x: ran.append(len(x)) or run(x)

    monkeypatch.setattr("parity.diagnosis.replay_check.plain", watched)

    def any_number(x):
        return torch.tanh(x @ FIRST)

    def as_many(x):
        return torch.tanh(x.reshape(5, 7) @ FIRST)

    assert compare(any_number, any_number).verdict == "parity"
    assert sorted(ran) == [2, 2, 3, 3, 5, 5]
    ran.clear()
    assert compare(any_number, as_many).verdict == "parity"
    assert ran.count(5) == 2 + 4  # both halves of both, once one was refused
