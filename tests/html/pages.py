"""Pages for the browser, of real comparisons where models can give them; hostile ones by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parity
from tests.html import sample

NUMBERS = ("inf", "-inf", None, 0, 5e-324, 1.7e308)


def dueling() -> dict[str, Any]:
    """The example's networks in torch and Keras, which diverge in a softmax."""
    pytest.importorskip("torch")
    pytest.importorskip("tensorflow")
    from examples import c51_dueling as example

    return parity.compare(
        parity.wrap(example.torch_model(), name="torch"),
        parity.wrap(example.keras_model(), name="Keras"),
        inputs=example.observations(),
    ).to_dict()


def three_way() -> dict[str, Any]:
    """Three models, of which the second is the odd one out."""
    weight = _random(7, 3)
    return parity.compare(
        parity.wrap(lambda x: np.tanh(x @ weight), name="Net"),
        parity.wrap(lambda x: np.tanh(x @ weight * np.float32(1.5)), name="Scaled"),
        parity.wrap(lambda x: np.tanh(np.matmul(x, weight)), name="Port"),
        inputs=_random(5, 7),
    ).to_dict()


def large() -> dict[str, Any]:
    """Networks of 1,200 operations that diverge in the middle."""
    torch = pytest.importorskip("torch")

    def net(middle: Any) -> Any:
        torch.manual_seed(0)
        layers = []
        for at in range(400):  # a linear layer is two operations
            linear = torch.nn.Linear(8, 8)
            torch.nn.init.orthogonal_(linear.weight, 1.5)
            layers += [linear, middle if at == 200 else torch.nn.Tanh()]
        return torch.nn.Sequential(*layers)

    report = parity.compare(
        parity.wrap(net(torch.nn.Tanh()), name="Deep"),
        parity.wrap(net(torch.nn.Softsign()), name="Port"),
        inputs=_random(5, 8),
    )
    assert report.reference.operations >= 1200, report.reference
    assert report.verdict == "diverged"
    return report.to_dict()


def agreeing() -> dict[str, Any]:
    """A run of three comparisons that all agree."""
    reports = [
        parity.compare(net, net, inputs=_random(5, 7)).to_dict()
        for net in (np.tanh, np.sin, np.cos)
    ]
    assert {one["verdict"] for one in reports} == {"parity"}
    return sample.run(*reports)


def hostile() -> dict[str, Any]:
    """A run whose texts are all hostile, and whose numbers are not finite, or the largest."""
    text = " ".join(sample.HOSTILE)
    return sample.run(sample.renamed(sample.report(sample.diverged()), text), _odd_numbers(), text)


def _odd_numbers() -> dict[str, Any]:
    found = sample.diverged()
    for value in NUMBERS:
        part = sample.divergence(residual=value, output_before=value, output_after=value)
        part.update(spread=None, leaves=[])  # which have numbers of their own
        part["cause"].update(residual_before=value, residual_after=value)
        found["divergences"].append(part)
        note = {**found["notes"][0], "residual": value}
        found["notes"].append(note)
        off = {**sample.difference(value, value), "cosine": value}
        off.update(reference=value, candidate=value)
        found["layers"].append(sample.layer("odd", "same", off, rounding=value, local=value))
        found["outputs"].append(sample.output("odd", off))
    return sample.report(found)


def _random(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).normal(size=shape).astype("float32")
