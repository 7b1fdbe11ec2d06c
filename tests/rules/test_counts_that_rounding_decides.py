"""Models that hold the number of what they pick, where rounding decides how many that are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from parity.errors import ReplayError
from parity.frameworks.chainer import chainer
from parity.inputs.preprocessing import record
from parity.matching.counts import with_counts_as_ran
from parity.tape import Adapter

F = chainer.functions
# h / 3 * 3 is h for some of its elements, and for others in float64
ROWS = np.random.default_rng(0).normal(size=(40, 6)).astype("f4")


def in_torch(scale: float = 1.0) -> Callable[[Any], Any]:
    def model(h: Any) -> Any:
        kept = torch.nonzero(h / 3 * 3 == h)
        return (torch.full((len(kept),), scale) * h[kept[:, 0], kept[:, 1]]).mean(0, keepdim=True)

    return model


def by_mask_in_torch(scale: float = 1.0) -> Callable[[Any], Any]:
    def model(h: Any) -> Any:
        kept = h[h / 3 * 3 == h]
        return (kept.reshape(kept.shape[0], 1) * scale).mean(0)

    return model


def in_tensorflow(scale: float = 1.0) -> Callable[[Any], Any]:
    def model(h: Any) -> Any:
        kept = tf.gather_nd(h, tf.where(tf.equal(h / 3 * 3, h)))
        return tf.reduce_mean(tf.reshape(kept, [len(kept), 1]) * scale, 0)

    return model


# Chainer picks by what the host computes, which is one constant in every replay
MODELS = {
    "torch": in_torch,
    "torch, by a mask": by_mask_in_torch,
    "tensorflow": in_tensorflow,
}


def built(port: str, scale: float = 1.0) -> Any:
    return parity.wrap(MODELS[port](scale), framework=port.split(",")[0])


def compared(reference: str, candidate: str, scale: float = 1.0) -> parity.Report:
    return parity.compare(built(reference), built(candidate, scale), inputs=ROWS)


def test_rounding_decides_on_these_rows() -> None:
    wide = ROWS.astype(np.float64)
    assert (ROWS / np.float32(3) * np.float32(3) == ROWS).sum() != (wide / 3 * 3 == wide).sum()


@pytest.mark.parametrize("candidate", MODELS)
@pytest.mark.parametrize("reference", MODELS)
def test_models_that_hold_the_count_are_unverified(reference: str, candidate: str) -> None:
    report = compared(reference, candidate)
    assert report.verdict == "unverified", str(report)
    assert "how many values it picks may be decided by rounding" in report.worst.reasons[-1]


@pytest.mark.parametrize("candidate", MODELS)
@pytest.mark.parametrize("reference", MODELS)
def test_what_they_do_with_it_is_still_compared(reference: str, candidate: str) -> None:
    report = compared(reference, candidate, scale=1.25)
    assert report.verdict == "diverged", str(report)
    assert "scale" in report.worst.divergences[0].candidate.code


def assigned_in_torch(scale: float) -> Callable[[Any], Any]:
    def model(h: Any) -> Any:
        h, mask = h.clone(), h / 3 * 3 == h
        h[mask] = scale * torch.linspace(0, 1, int(mask.sum()))
        return h

    return model


def rescaled_in_torch(scale: float) -> Callable[[Any], Any]:
    def model(h: Any) -> Any:
        h, mask = h.clone(), h / 3 * 3 == h
        h[mask] = h[mask] * torch.full((int(mask.sum()),), scale)
        return h

    return model


def assigned_in_tensorflow(scale: float) -> Callable[[Any], Any]:
    def model(h: Any) -> Any:
        at = tf.where(tf.equal(h / 3 * 3, h))
        return tf.tensor_scatter_nd_update(h, at, scale * tf.linspace(0.0, 1.0, len(at)))

    return model


ASSIGNED = [
    ("torch", assigned_in_torch, assigned_in_torch),
    ("torch", rescaled_in_torch, rescaled_in_torch),
    ("tensorflow", assigned_in_tensorflow, assigned_in_torch),
]


@pytest.mark.parametrize(("framework", "reference", "candidate"), ASSIGNED)
def test_as_many_are_assigned_as_are_picked(
    framework: str, reference: Callable[..., Any], candidate: Callable[..., Any]
) -> None:
    one = parity.wrap(reference(1.0), framework=framework)
    for scale, verdict in ((1.0, "unverified"), (1.25, "diverged")):
        other = parity.wrap(candidate(scale), framework="torch")
        report = parity.compare(one, other, inputs=ROWS)
        assert report.verdict == verdict, str(report)
    assert parity.structure(one, other, inputs=ROWS).differences is not None


THREE = np.float32(3)


def picked_by_the_host(h: Any) -> Any:
    return F.get_item(h, h.array / THREE * THREE == h.array)


def picked_by_indices_of_the_host(h: Any) -> Any:
    return F.get_item(h, np.nonzero(h.array / THREE * THREE == h.array))


PICKED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "torch": ("torch", lambda h: torch.tanh(h[h / 3 * 3 == h])),
    "torch, by the host": (
        "torch",
        lambda h: torch.tanh(h[torch.from_numpy(h.numpy() / THREE * THREE == h.numpy())]),
    ),
    "tensorflow": ("tensorflow", lambda h: tf.tanh(tf.boolean_mask(h, tf.equal(h / 3 * 3, h)))),
    "numpy": ("numpy", lambda h: np.tanh(h[h / THREE * THREE == h])),
    "chainer": ("chainer", lambda h: F.tanh(picked_by_the_host(h))),
    "chainer, indices": (
        "chainer",
        lambda h: F.tanh(picked_by_indices_of_the_host(h)),
    ),
}


HOSTS = {"torch, by the host", "chainer", "chainer, indices"}


def picking(port: str, change: Callable[[Any], Any] = lambda found: found) -> parity.Model:
    framework, model = PICKED[port]
    return parity.wrap(lambda h: change(model(h)), framework=framework)


@pytest.mark.parametrize("candidate", PICKED)
@pytest.mark.parametrize("reference", PICKED)
def test_what_one_model_picks_by_the_host_is_no_divergence(reference: str, candidate: str) -> None:
    report = parity.compare(picking(reference), picking(candidate), inputs=ROWS)
    if (reference in HOSTS) == (candidate in HOSTS):
        assert report.verdict == "parity", str(report)
    else:
        assert report.verdict == "unverified", str(report)
        assert "how many values are picked is decided by rounding" in report.worst.reasons[0]


@pytest.mark.parametrize("candidate", PICKED)
@pytest.mark.parametrize("reference", ["torch", "chainer"])
def test_a_fault_behind_what_is_picked_is_seen(reference: str, candidate: str) -> None:
    faulty = picking(candidate, lambda found: found * 1.25)
    report = parity.compare(picking(reference), faulty, inputs=ROWS)
    # the rounding of a list that is longer in float64 by as much in both is not known
    known = reference in HOSTS or candidate in HOSTS
    assert report.verdict == ("diverged" if known else "unverified"), str(report)


def test_what_a_kernel_leaves_for_a_backward_pass_is_not_counted() -> None:
    """The fused LSTM's differs in float64, and no operation reads it."""
    torch.manual_seed(0)
    layer = torch.nn.LSTM(6, 5, batch_first=True)
    models = [
        parity.wrap(lambda x, by=scale: layer(x)[0] * by, framework="torch")
        for scale in (1.0, 1.25)
    ]
    report = parity.compare(*models, inputs=ROWS.reshape(4, 10, 6))
    assert report.worst.reasons == ("1 divergence",)


class Broken:
    def __init__(self, adapter: Adapter) -> None:
        self.cast, self.to_numpy, self.from_numpy = (
            getattr(adapter, verb) for verb in ("cast", "to_numpy", "from_numpy")
        )

    def execute(self, *_: object) -> None:
        raise ReplayError("broken whatever it picks")


def test_another_failure_is_raised_as_it_was() -> None:
    tape = record(built("torch"), ROWS)
    tape = replace(tape, adapter=cast(Adapter, Broken(tape.adapter)))
    with pytest.raises(ReplayError, match="of the first replay"):
        with_counts_as_ran(tape, ReplayError("of the first replay"))
