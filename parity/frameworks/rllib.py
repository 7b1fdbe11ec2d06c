"""RLlib's models: not a framework but a library over two, so it wraps its models.

A `TorchModelV2`, `TFModelV2` or `TorchRLModule`, RLlib's own or a user's subclass, is called as
RLlib calls it, and gives its outputs by name. It is recorded and its weights are found by torch's
or TensorFlow's adapter. Nothing of ray is imported here: a model's classes are where the model is.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator, Mapping
from types import MethodType
from typing import Any

import numpy as np

from parity.errors import InputError, ModelError
from parity.model import flatten_inputs

# the base class: (its module, the framework that runs its models)
_MODULE = "TorchRLModule"
_BASES = {
    "TorchModelV2": ("ray.rllib.models.torch.torch_modelv2", "torch"),
    "TFModelV2": ("ray.rllib.models.tf.tf_modelv2", "tensorflow"),
    _MODULE: ("ray.rllib.core.rl_module.torch.torch_rl_module", "torch"),
}


def recognises(obj: object) -> bool:
    return _base(obj) is not None


def framework(obj: object) -> str:
    """The framework whose operations a model runs.

    Raises:
        ModelError: it is none of RLlib's.
    """
    base = _base(obj)
    if base is None:
        raise ModelError(
            f"{getattr(obj, '__name__', type(obj).__name__)} is no TorchModelV2, TFModelV2 or "
            "TorchRLModule of RLlib. A function that calls one is wrapped with framework='torch' "
            "or 'tensorflow'; of a MultiRLModule hand in one: modules['default_policy']."
        )
    return _BASES[base][1]


def prepared(obj: Any) -> Any:
    """The same model, its attributes shared and not copied, called with what RLlib calls it with.

    A ModelV2 takes an input dict (or the observations alone), the state and the sequence lengths.
    It gives a dict:

    - `logits`: what `forward` returns, (B, num_outputs);
    - `value`: `value_function()` after it, (B,), where the model has one;
    - `state_out`: the recurrent state, where there is one;
    - of a DQN model: `action_scores` (B, actions), with atoms also `support_logits` and
      `probabilities` (B, actions, atoms), with dueling `state_value` (B, atoms).

    Where the input dict has no `is_training`, it is a torch model's own flag, and False in
    TensorFlow, where a ModelV2 has none.

    An RLModule takes a batch (or the observations alone). It gives what `forward_inference` gives;
    where it trains what `forward_train` gives, with `vf_preds`, (B,) or (B, T), in place of the
    `embeddings` that `compute_values()` makes them from, as the learners of RLlib call it. A method
    of an RLModule, such as `module.forward_exploration`, gives what it returns.
    """
    if hasattr(obj, "names_outputs"):  # it is one already
        return obj
    owner, method = (obj.__self__, obj.__name__) if isinstance(obj, MethodType) else (obj, "")
    cls: Any = type(owner)
    face = _module_face(cls, method) if _base(obj) == _MODULE else _face(cls)
    if _base(obj) != _MODULE:
        _unpack_once(owner)
    model = object.__new__(face)
    object.__setattr__(model, "__dict__", owner.__dict__)
    return model


def _base(obj: object) -> str | None:
    """The class of RLlib's that a model is of, or the module that a method is of."""
    for name, (home, _) in _BASES.items():
        model = obj.__self__ if name == _MODULE and isinstance(obj, MethodType) else obj
        if home in sys.modules and isinstance(model, getattr(sys.modules[home], name)):
            return name
    return None


# --- ModelV2 -----------------------------------------------------------------------------------


def _unpack_once(model: Any) -> None:
    """Has RLlib make what it unpacks flat observations with, as a policy does when it is made.

    RLlib makes and keeps that at a model's first call, with samples of the space that it only
    takes types from: in a run they would be random draws whose effect is unknown.
    """
    space = getattr(model, "obs_space", None)
    space = getattr(space, "original_space", space)
    if hasattr(space, "spaces"):  # several parts
        home: Any = sys.modules["ray.rllib.models.modelv2"]
        rows = np.zeros((1, *home.get_preprocessor(space)(space).shape), "float32")
        home.restore_original_dimensions(rows, space, "numpy")


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


# --- RLModule ----------------------------------------------------------------------------------


@functools.cache
def _module_face(cls: Any, method: str) -> Any:
    class Face(cls):
        names_outputs = True

        def forward(self, batch: Any, **asked: Any) -> Any:
            given = dict(batch) if isinstance(batch, Mapping) else {"obs": batch}
            with _forgetful(self), _columns_named(self, given):
                if method:
                    return getattr(super(), method)(given, **asked)
                if self.training:
                    return _with_values(self, given, super().forward_train(given, **asked))
                return _policy_first(super().forward_inference(given, **asked))

    Face.__name__ = cls.__name__  # in what torch raises of a missing attribute
    return Face


def _with_values(module: Any, batch: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    if not hasattr(module, "compute_values") or "vf_preds" in found:
        return _policy_first(found)
    values = module.compute_values(batch, embeddings=found.get("embeddings"))
    others = {name: item for name, item in found.items() if name != "embeddings"}
    return _policy_first({"vf_preds": values, **others})


def _policy_first(found: dict[str, Any]) -> dict[str, Any]:
    """The outputs in the order of other models': those that share no names are paired by it."""
    return {**{name: found[name] for name in ("action_dist_inputs",) if name in found}, **found}


@contextlib.contextmanager
def _columns_named(module: Any, batch: Mapping[str, Any]) -> Iterator[None]:
    """Says of a column that is missing what the batch has, and what a state looks like."""
    try:
        yield
    except KeyError as error:
        columns = vars(sys.modules["ray.rllib.core.columns"].Columns).values()
        missing = [name for name in error.args if name in columns and name not in batch]
        if not missing:  # a lookup of the model's own
            raise
        state = flatten_inputs(module.get_initial_state()) if "state_in" in missing else {}
        shapes = [
            f"{path} ({', '.join(map(str, ('batch', *one.shape)))})" for path, one in state.items()
        ]
        asked = ", ".join(f"{name!r}: ..." for name in dict.fromkeys(["obs", *missing]))
        raise InputError(
            f"{type(module).__name__} reads the column {missing[0]!r}; its batch has "
            f"{', '.join(map(repr, batch))}. Give inputs={{{asked}}}"
            + (f", with {', '.join(shapes)}." if shapes else ".")
        ) from error
