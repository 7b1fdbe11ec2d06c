"""RLlib's own models, built as its algorithms build them, and inputs for them.

The one place that knows how RLlib wants its surroundings: Keras 2, and TensorFlow imported first.
"""

import importlib.util
import os
import sys
from typing import Any

if importlib.util.find_spec("ray") is None:
    raise ImportError("RLlib is not installed here, but by `make rllib` in .venv-rllib")
if "tensorflow" in sys.modules and os.environ.get("TF_USE_LEGACY_KERAS") != "1":
    raise ImportError(
        "TensorFlow runs with Keras 3 here, RLlib's models with Keras 2: `make rllib`"
    )
os.environ["TF_USE_LEGACY_KERAS"] = "1"

import gymnasium as gym  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow  # noqa: E402, F401  # before ray.rllib, which else turns eager execution off
from ray.rllib.models import MODEL_DEFAULTS, ModelCatalog  # noqa: E402

FRAMEWORKS = {"tensorflow": "tf2", "torch": "torch"}


def build(
    framework: str, shape: tuple[int, ...] = (4,), outputs: int = 2, base: Any = None, **config: Any
) -> Any:
    """A ModelV2 for observations of `shape`, by `ModelCatalog.get_model_v2`.

    Args:
        framework: `torch` or `tensorflow`.
        outputs: its number of outputs, or that of its embedding where `base` has heads of its own.
        base: the class of DQN's heads for this framework; `heads` in `config` are its arguments.
        config: what differs from RLlib's model defaults.
    """
    heads = config.pop("heads", {})
    return ModelCatalog.get_model_v2(
        gym.spaces.Box(-1.0, 1.0, shape, np.float32),
        gym.spaces.Discrete(2),
        outputs,
        {**MODEL_DEFAULTS, **config},
        FRAMEWORKS[framework],
        "model",
        base,
        **heads,
    )


def dqn(framework: str, shape: tuple[int, ...] = (4,), embedding: int = 32, **config: Any) -> Any:
    """A model with DQN's heads; `heads` in `config` are the arguments of its class."""
    if framework == "torch":
        from ray.rllib.algorithms.dqn.dqn_torch_model import DQNTorchModel as base
    else:
        from ray.rllib.algorithms.dqn.distributional_q_tf_model import (
            DistributionalQTFModel as base,
        )
    return build(framework, shape, embedding, base, **config)


def observations(*shape: int) -> Any:
    return np.random.default_rng(3).uniform(-1, 1, shape).astype("float32")
