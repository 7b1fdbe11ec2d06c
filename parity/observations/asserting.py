"""What `assert_parity(..., observations=...)` runs: a search, or the comparison on a saved one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from parity.comparison import compare
from parity.errors import InputError
from parity.model import Inputs, wrap
from parity.observations.batching import accompanied
from parity.observations.saved import load
from parity.observations.search import Found, explained, search, strategy_of


def found_by(
    models: Sequence[Any],
    observations: Any,
    inputs: Inputs,
    formula: Callable[..., Any] | None,
    saved: str | None,
    **options: Any,
) -> Found:
    """Searches for an observation on which models diverge.

    Args:
        models: the reference and its candidates.
        observations: a strategy of inputs, or a space.
        inputs: must be None.
        formula: as for `compare`; it gets each observation that is
            compared in full.
        saved: a file with an observation, which is then the only one.
        options: of `search`.

    Raises:
        ParityError: an argument does not fit.
    """
    if inputs is not None:
        raise InputError("Give inputs= or observations=, not both.")
    if len(models) < 2:
        raise InputError("assert_parity needs two models or more: a reference and its candidates.")
    wrapped = [wrap(model) for model in models]
    full = partial(_compare, wrapped, formula)
    if saved is not None:
        return _on_saved(full, saved)
    strategy = strategy_of(observations)
    return search(wrapped, full, strategy, **options)


def _compare(models: Sequence[Any], formula: Callable[..., Any] | None, inputs: Inputs) -> Any:
    return compare(*models, inputs=inputs, formula=formula)


def _on_saved(full: Any, saved: str) -> Found:
    """The comparison on a saved observation; on a batch with it where alone it proves nothing."""
    observation, *random = load(saved)
    found = explained(observation, full, random)
    batch = accompanied(observation, random[0]) if random else None
    if found.report is None or found.report.verdict != "unverified" or batch is None:
        return found
    return replace(found, report=full(batch))
