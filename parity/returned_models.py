"""Models among what a model returns, as of a meta-learner: known by what they offer."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Returned:
    """What a model that was returned is beside its parameters: its layers and their settings."""

    model: Any


def parameters(thing: Any) -> dict[str, Any] | None:
    """The parameters and buffers of a model by name; None for what is no model."""
    if isinstance(thing, type):
        return None
    if _offers(thing, "named_parameters", "named_buffers"):  # torch
        return {**dict(thing.named_parameters()), **dict(thing.named_buffers())}
    if _offers(thing, "namedparams", "namedlinks"):  # Chainer
        found = {path.strip("/"): one for path, one in thing.namedparams()}
        for path, link in thing.namedlinks():
            for name in getattr(link, "_persistent", ()):
                found[f"{path.strip('/')}/{name}".strip("/")] = getattr(link, name)
        return found
    if _offers(thing, "with_name_scope") or _offers(thing, "get_weights", "get_config"):
        # TensorFlow and Keras; of a layer without the state of its generators
        held: Any = getattr(thing, "weights", None) or getattr(thing, "variables", ())
        own = f"{getattr(thing, 'name', '')}/"  # which Keras counts on with each layer
        return {getattr(one, "path", one.name).removeprefix(own): one for one in held}
    return None


def _offers(thing: Any, *methods: str) -> bool:
    return all(callable(getattr(type(thing), name, None)) for name in methods)
