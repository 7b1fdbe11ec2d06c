"""A case: two models of one network, perhaps a fault in one of them, and whether it was placed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from .build import Built, build, laid_out, source_of
from .draw import draw_network
from .evaluate import eventful, outputs, relative_error, sane, sensitivity
from .faults import FAULTS, Fault, causes, plant
from .flavours import FLAVOURS
from .forms import Plan
from .network import Network

SIDES = ("reference", "candidate")


@dataclass(frozen=True)
class Case:
    """Two descriptions, equal but for the fault, and the plans by which they are built."""

    seed: int
    networks: tuple[Network, Network]  # of the reference, of the candidate
    plans: tuple[Plan, Plan]
    fault: Fault | None
    faulty: int  # the side that has the fault

    @property
    def inputs(self) -> np.ndarray:
        return self.networks[0].input_values(self.seed)

    @property
    def effect(self) -> float:
        """By how much the fault changes the outputs, relative to each output's greatest value."""
        right, wrong = self.networks[1 - self.faulty], self.networks[self.faulty]
        return relative_error(outputs(wrong, self.inputs), outputs(right, self.inputs))

    @property
    def is_folded(self) -> bool:
        """Whether the fault is in numbers alone: both models keep it folded into their weights.

        Both sources are what they would be without it, though no described weight is another.
        """
        kinds, weights = zip(
            *(_kinds_and_weights(network) for network in self.networks), strict=True
        )
        if kinds[0] != kinds[1] or weights[0].keys() != weights[1].keys():
            return False
        same = all(np.array_equal(array, weights[1][name]) for name, array in weights[0].items())
        return same and all(
            len({source_of(network, plan) for network in self.networks}) == 1 for plan in self.plans
        )

    @property
    def causes(self) -> tuple[str, ...]:
        """What a report may call the fault.

        Keras leaves out of a functional model what no output needs. If one reads a value before
        the right one, and nothing else reads that, all that shows is the operations it lacks.
        """
        if self.fault is None:
            return ()
        found = causes(self.fault.kind, self.faulty == 0)
        functional = self.plans[self.faulty].flavour == "keras functional"
        if functional and self.fault.kind == "wrong_source" and self._reads_before():
            found += ("op-extra",) if self.faulty == 0 else ("op-missing", "branch-missing")
        return (*found, "weight-values") if self.is_folded else found

    def _reads_before(self) -> bool:
        """Whether the faulty node reads what its right source is made of, and that is unused."""
        right, wrong = self.networks[1 - self.faulty], self.networks[self.faulty]
        pairs = zip(
            right.node(self.fault.node).inputs, wrong.node(self.fault.node).inputs, strict=True
        )
        return all(a == b or (a in self.fault.unused and right.leads(b, a)) for a, b in pairs)

    def __str__(self) -> str:
        side = SIDES[self.faulty]
        fault = f"{self.fault.kind} at {self.fault.node} of the {side}" if self.fault else "clean"
        plans = [f"{plan.flavour} {plan.layout}" for plan in self.plans]
        return f"case {self.seed}: {plans[0]} to {plans[1]}, {fault}"


def _kinds_and_weights(
    network: Network,
) -> tuple[dict[str, str], dict[tuple[str, str], np.ndarray]]:
    """Each node's kind by its name, and its weights by that and their own."""
    nodes = network.nodes
    weights = {(node.name, name): w for node in nodes for name, w in node.weights.items()}
    return {node.name: node.kind for node in nodes}, weights


@dataclass(frozen=True)
class Pair:
    """A case, built."""

    case: Case
    reference: Built
    candidate: Built

    @property
    def faithful(self) -> bool:
        """Whether both models compute their descriptions, but for what rounding explains."""
        bound = max(sensitivity(net, self.case.inputs, draws=5) for net in self.case.networks)
        return self.rounding <= 2**-20 * max(1.0, bound)

    @cached_property
    def rounding(self) -> float:
        """The greatest error of either model against its own description in float64."""
        return max(
            relative_error(built.outputs(self.case.inputs), outputs(network, self.case.inputs))
            for built, network in zip(
                (self.reference, self.candidate), self.case.networks, strict=True
            )
        )


def case_of_seed(seed: int, kind: str = "any") -> Case:
    """The case of a seed.

    Args:
        seed: Everything follows from it.
        kind: A kind of fault, "clean", or "any": then one in three is clean, and the kinds of
            fault are equally frequent.
    """
    random = Random(seed)
    if kind == "any":
        kind = "clean" if random.random() < 1 / 3 else random.choice(list(FAULTS))
    return draw_case(random, None if kind == "clean" else kind, seed)


def draw_case(random: Random, kind: str | None, seed: int = 0) -> Case:
    """A case with this kind of fault, or none; every choice is `random`'s."""
    while True:  # until the network drawn is sane and has a place for the fault
        network = draw_network(random)
        planted = plant(kind, network, random) if kind else (network, None)
        if not planted or not eventful(network, network.input_values(seed)):
            continue
        if all(sane(net, net.input_values(seed)) for net in (network, planted[0])):
            break
    wrong, fault = planted
    faulty = random.randint(0, 1)
    networks = (wrong, network) if faulty == 0 else (network, wrong)
    return Case(seed, networks, (_plan(random), _plan(random)), fault, faulty)


def _plan(random: Random) -> Plan:
    flavour = FLAVOURS[random.choice(list(FLAVOURS))]
    return Plan(flavour.name, random.choice(flavour.layouts), random.getrandbits(32))


@contextmanager
def built(case: Case) -> Iterator[Pair]:
    """The case's two models, their sources in a folder that is gone afterwards."""
    prepare_frameworks()
    with TemporaryDirectory(prefix="pairs") as folder:
        models = []
        for network, plan, side in zip(case.networks, case.plans, SIDES, strict=True):
            name = f"{side}_{plan.flavour.replace(' ', '_')}_{case.seed}.py"
            models.append(build(network, plan, Path(folder) / name))
        yield Pair(case, *models)


def prepare_frameworks() -> None:
    """One torch thread, a quiet TensorFlow, and a Chainer that imports."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    import torch

    from parity.frameworks.chainer_numpy import import_chainer

    torch.set_num_threads(1)
    import_chainer()


def compare(pair: Pair) -> Any:
    """The report of `parity` on a pair, each layout stated as a user would state it."""
    import parity

    def wrapped(built: Built) -> Any:
        options = {"framework": "tensorflow"} if built.plan.flavour == "tensorflow" else {}
        if pair.case.inputs.ndim == 4:
            options["input_layout"] = "NHWC" if built.plan.layout == "NHWC" else "NCHW"
        return parity.wrap(built.model, **options)

    inputs = laid_out(pair.case.inputs, pair.reference.plan)
    return parity.compare(wrapped(pair.reference), wrapped(pair.candidate), inputs=inputs)


def placed(report: Any, pair: Pair) -> bool:
    """Whether the report's first divergence is at the faulty node, on both sides."""
    if not report.divergences:
        return False
    fault, first = pair.case.fault, report.divergences[0]
    sound_places = fault.sound_places
    if pair.case.plans[pair.case.faulty].flavour == "keras functional":
        sound_places |= fault.unused  # Keras leaves out what no output needs: they diverge there
    sites = (first.reference, first.candidate)
    for side, (model, site) in enumerate(zip((pair.reference, pair.candidate), sites, strict=True)):
        places = fault.faulty_places if side == pair.case.faulty else sound_places
        if not places & nodes_of(site, model):
            return False
    return True


def nodes_of(site: Any, model: Built) -> set[str]:
    """The nodes that a site names: by its source line, else by the path of its layer."""
    source = re.fullmatch(r"(.*):(\d+)", getattr(site, "source", None) or "")
    if source and Path(source[1]).name == model.path.name:
        node = model.nodes.get(int(source[2]))
        if node:
            return {node}
    names = set(model.nodes.values())
    segments = re.split(r"[/.]", getattr(site, "layer", None) or "")
    return {name for name in names if any(s == name or s.startswith(f"{name}_") for s in segments)}
