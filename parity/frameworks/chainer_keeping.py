"""Chainer: links, variables, optimizers and their rules, all of which hold plain arrays."""

from __future__ import annotations

from typing import Any

from parity.frameworks.chainer_numpy import import_chainer
from parity.keeping.leaf import Put, StateRules

chainer = import_chainer()


def holders() -> tuple[type, ...]:
    optimizers = chainer.Optimizer, chainer.optimizer.UpdateRule, chainer.optimizer.Hyperparameter
    return (chainer.Link, chainer.Variable, chainer.Function, *optimizers)


def makes(owner: Any, name: Any, before: Any, now: Any) -> bool:
    """What was not yet initialised stays as the first call made it."""
    if isinstance(owner, chainer.Parameter) and before in (None, [None]):
        return name in ("_data", 0)  # the array, and the place in the list that holds it
    if isinstance(owner, chainer.Link) and name in owner._persistent:
        return before is None
    return isinstance(now, (chainer.Link, chainer.Parameter))


def fills(owner: Any) -> bool:
    return isinstance(owner, chainer.Parameter)  # an LSTM's biases, with its weights


def settings() -> list[Put]:
    configs = vars(chainer.config._local), vars(chainer.global_config)
    before = [(place, dict(place)) for place in (*configs, chainer.get_function_hooks())]

    def put_back() -> None:
        for place, held in before:
            if place != held:
                place.clear()
                place.update(held)

    return [put_back]


STATE = StateRules(holders=holders, settings=settings, makes=makes, fills=fills)
