"""Seed 003: the examples of custom models, torch against Keras: parity, and the fault found.

Each is searched with the observations that it gives; a failure is reported on the smallest of them.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import Phase

import parity
from parity.observations.asserting import found_by
from parity.observations.batching import sample

pytest.importorskip("gymnasium")

EXAMPLES = 40
# What is found need not be shrunk to the end, which takes a while for a recurrent network.
QUICK = hypothesis.settings(
    max_examples=200, database=None, derandomize=True, phases=[Phase.generate, Phase.target]
)


@dataclass(frozen=True)
class Example:
    """What its fault is to be reported as.

    Attributes:
        reference, candidate: the lines at which the models diverge.
        cause: its kind and parameters; None where none is known.
    """

    reference: str
    candidate: str
    cause: tuple[str, dict[str, Any]] | None = None


EXPECTED = {
    "parametric_actions": Example(
        "return logits + torch.clamp(torch.log(observation[", "return logits * mask"
    ),
    "autoregressive_actions": Example(
        "torch.cat([features, given], dim=1)", "return ops.zeros_like(first)"
    ),
    "recurrent_padding": Example(
        "packed = pack_padded_sequence(",
        'self.lstm(batch["observations"], initial_state=state)',
    ),
    "batch_norm": Example(
        "self.norm(self.first(observations))",
        "self.norm(self.first(observations), training=training)",
        ("norm-epsilon", {"epsilon": (1e-5, 1e-3)}),
    ),
    "dict_observations": Example(
        'torch.cat([features, observation["speed"], gear], dim=1)',
        "ops.concatenate([gear, image, speed], axis=1)",
        ("concat-order", {}),
    ),
}


def of(name):
    """An example's module, and its observations."""
    module = importlib.import_module(f"examples.{name}")
    return module, module.space() if name == "dict_observations" else module.observations()


def both(module, port, mode="eval"):
    return [parity.wrap(model, mode=mode) for model in (module.torch_net(), port())]


def searched(models, observations):
    settings = {"_hypothesis_internal_use_settings": QUICK}
    return found_by(models, observations, None, None, None, name="seed_003", decorations=settings)


def times_reported(report, name):
    """Whether a report names the place and the cause that an example expects."""
    expected = EXPECTED[name]
    first = report.divergences[0]
    assert expected.reference in first.reference.code
    assert expected.candidate in first.candidate.code
    if expected.cause is not None:
        assert first.cause.confirmed
        assert (first.cause.kind, first.cause.parameters) == expected.cause
    return len(report.divergences)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_port_agrees(assert_parity, name):
    module, observations = of(name)
    assert_parity(*both(module, module.keras_net), observations=observations, max_examples=EXAMPLES)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_fault_is_found(name):
    module, observations = of(name)
    found = searched(both(module, module.keras_net_with_fault), observations)
    assert found.verdict == "diverged" and found.alone
    assert found.on_random.verdict == "diverged"
    assert times_reported(found.on_random, name) == 1
    assert times_reported(found.report, name) == 1


# --- both modes ----------------------------------------------------------------------------------


def test_the_normalisation_agrees_in_training_too(assert_parity):
    module, _ = of("batch_norm")
    models = both(module, module.keras_net, mode="train")
    assert_parity(*models, observations=module.observations(least=2), max_examples=EXAMPLES)


def test_its_fault_is_found_in_training_too():
    module, _ = of("batch_norm")
    models = both(module, module.keras_net_with_fault, mode="train")
    found = searched(models, module.observations(least=2))
    assert found.verdict == "diverged"
    assert times_reported(found.on_random, "batch_norm") == 1


def test_the_modes_do_different_things():
    module, observations = of("batch_norm")
    net = module.torch_net()
    models = [parity.wrap(net), parity.wrap(net, mode="train")]
    assert parity.compare(*models, inputs=sample(observations)[-1]).verdict == "diverged"


# --- the other way round -------------------------------------------------------------------------


def test_the_padded_port_as_the_reference_is_reported_once_too():
    """What replaces the sorted lengths is not always sorted."""
    module, observations = of("recurrent_padding")
    models = both(module, module.keras_net_with_fault)[::-1]
    mixed = [one for one in sample(observations) if list(one["lengths"]) == [3, 6]]
    report = parity.compare(*models, inputs=mixed[0])
    assert report.verdict == "diverged"
    (divergence,) = report.divergences
    assert divergence.candidate.code == "packed = pack_padded_sequence("


# --- which observations show it ------------------------------------------------------------------


def all_legal(observation):
    return observation | {"action_mask": np.ones_like(observation["action_mask"])}


def first_is_zero(observation):
    features, actions = observation
    return features, actions * [0, 1]


def no_padding(observation):
    mask = np.ones_like(observation["mask"])
    return observation | {"mask": mask, "lengths": mask.sum(1).astype(np.int32)}


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("parametric_actions", all_legal),
        ("autoregressive_actions", first_is_zero),
        ("recurrent_padding", no_padding),
    ],
)
def test_some_observations_hide_the_fault_as_the_example_says(name, hidden):
    module, observations = of(name)
    models = both(module, module.keras_net_with_fault)
    large = max(sample(observations), key=lambda one: len(str(one)))
    assert parity.compare(*models, inputs=hidden(large)).verdict == "parity"


def test_what_lies_in_the_padding_matters_to_the_fault_alone():
    module, observations = of("recurrent_padding")
    right, wrong = module.keras_net(), module.keras_net_with_fault()
    episodes = next(one for one in sample(observations) if not one["mask"].all())
    other = np.where(episodes["mask"][..., None], episodes["observations"], np.float32(9))
    for net, same in ((right, True), (wrong, False)):
        h, changed = (
            np.asarray(net(episodes | {"observations": x})["h"])
            for x in (episodes["observations"], other)
        )
        assert np.array_equal(h, changed) == same
