"""RLlib's ModelV2: not a framework but a library over two, so it lends its models another face.

A `TorchModelV2` or `TFModelV2`, RLlib's own or a user's subclass, is called as RLlib calls it, and
gives its outputs by name. It is recorded and its weights are found by torch's or TensorFlow's
adapter. Nothing of ray is imported here: a model's classes are where the model is.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from parity.errors import ModelError

# the framework that runs it: (the module of the base class, the base class)
_BASES = {
    "torch": ("ray.rllib.models.torch.torch_modelv2", "TorchModelV2"),
    "tensorflow": ("ray.rllib.models.tf.tf_modelv2", "TFModelV2"),
}


def recognises(obj: object) -> bool:
    return any(isinstance(obj, base) for base in _bases().values())


def framework(obj: object) -> str:
    """The framework whose operations a model runs.

    Raises:
        ModelError: it is no ModelV2.
    """
    for name, base in _bases().items():
        if isinstance(obj, base):
            return name
    raise ModelError(
        f"{getattr(obj, '__name__', type(obj).__name__)} is no TorchModelV2 or TFModelV2 of RLlib. "
        "A function that calls one is wrapped with framework='torch' or 'tensorflow'."
    )


def prepared(obj: Any) -> Any:
    """The same model, its attributes shared and not copied, with a `__call__` that names outputs.

    It takes what RLlib's own `__call__` takes: an input dict (or the observations alone), the
    state and the sequence lengths. It gives a dict:

    - `logits`: what `forward` returns, (B, num_outputs);
    - `value`: `value_function()` after it, (B,), where the model has one;
    - `state_out`: the recurrent state, where there is one;
    - of a DQN model: `action_scores` (B, actions), with atoms also `support_logits` and
      `probabilities` (B, actions, atoms), with dueling `state_value` (B, atoms).

    Where the input dict has no `is_training`, it is a torch model's own flag, and False in
    TensorFlow, where a ModelV2 has none.
    """
    cls: Any = type(obj)
    if hasattr(cls, "names_outputs"):  # it is one already
        return obj
    model = object.__new__(_face(cls))
    object.__setattr__(model, "__dict__", obj.__dict__)
    return model


def _bases() -> dict[str, Any]:
    return {
        name: getattr(sys.modules[module], base)
        for name, (module, base) in _BASES.items()
        if module in sys.modules
    }


@functools.cache
def _face(cls: Any) -> Any:
    class Face(cls):
        names_outputs = True

        def __call__(self, input_dict: Any, state: Any = None, seq_lens: Any = None) -> Any:
            given = input_dict if isinstance(input_dict, Mapping) else {"obs": input_dict}
            given = {"is_training": getattr(self, "training", False), **given}
            with _forgetful(self):
                logits, state_out = super().__call__(given, list(state or ()), seq_lens)
                return {
                    "logits": logits,
                    **_value(self),
                    "state_out": state_out,
                    **_q_values(self, logits),
                }

    return Face


@contextlib.contextmanager
def _forgetful(model: Any) -> Iterator[None]:
    """Takes back what a forward pass keeps for `value_function` and others."""
    attributes = vars(model)
    before = dict(attributes)
    try:
        yield
    finally:
        attributes.clear()
        attributes.update(before)


def _value(model: Any) -> dict[str, Any]:
    try:
        return {"value": model.value_function()}
    except NotImplementedError:  # ModelV2's own: this model has none
        return {}


def _q_values(model: Any, embedding: Any) -> dict[str, Any]:
    """What DQN makes of the embedding that `forward` gives; what is constant is left out."""
    if not hasattr(model, "get_q_value_distributions"):
        return {}
    scores, *others = model.get_q_value_distributions(embedding)
    found = {"action_scores": scores}
    if len(others) == 4:  # the support, the logits of its atoms twice, their probabilities
        found |= {"support_logits": others[1], "probabilities": others[3]}
    if hasattr(model, "state_value_head") or hasattr(model, "value_module"):
        found["state_value"] = model.get_state_value(embedding)
    return found
