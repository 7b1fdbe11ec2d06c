"""RLlib's own models, built as its algorithms build them, and inputs for them.

The one place that knows how RLlib wants its surroundings: Keras 2, and TensorFlow imported first.
"""

import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from types import SimpleNamespace
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
from ray.rllib.algorithms.dqn.dqn_torch_policy import compute_q_values  # noqa: E402
from ray.rllib.algorithms.dqn.torch.default_dqn_torch_rl_module import (  # noqa: E402
    DefaultDQNTorchRLModule,
)
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import (  # noqa: E402
    DefaultPPOTorchRLModule,
)
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig  # noqa: E402
from ray.rllib.models import MODEL_DEFAULTS, ModelCatalog  # noqa: E402
from ray.rllib.models.preprocessors import get_preprocessor  # noqa: E402

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


def sac(framework: str) -> Any:
    """SAC's model for two continuous actions."""
    if framework == "torch":
        from ray.rllib.algorithms.sac.sac_torch_model import SACTorchModel as model
    else:
        from ray.rllib.algorithms.sac.sac_tf_model import SACTFModel as model
    own = {"fcnet_hiddens": [8], "fcnet_activation": "relu"}
    spaces = gym.spaces.Box(-1.0, 1.0, (4,), np.float32), gym.spaces.Box(-1.0, 1.0, (2,))
    return model(*spaces, 4, dict(MODEL_DEFAULTS), "sac", own, own)


def gtrxl(framework: str) -> Any:
    """A transformer of one unit with two outputs and a value, for sequences of four steps."""
    if framework == "torch":
        from ray.rllib.models.torch.attention_net import GTrXLNet as model
    else:
        from ray.rllib.models.tf.attention_net import GTrXLNet as model
    spaces = gym.spaces.Box(-1.0, 1.0, (4,), np.float32), gym.spaces.Discrete(2)
    config = {**MODEL_DEFAULTS, "max_seq_len": 4}
    sizes = {"attention_dim": 16, "head_dim": 8, "position_wise_mlp_dim": 12}
    return model(*spaces, 2, config, "gtrxl", memory_inference=5, memory_training=5, **sizes)


def attention(framework: str) -> Any:
    """A fully connected network with a transformer of one unit behind it."""
    sizes = {"dim": 16, "num_heads": 2, "head_dim": 8, "position_wise_mlp_dim": 16}
    memory = {"memory_inference": 5, "memory_training": 5}
    own = {f"attention_{name}": size for name, size in (sizes | memory).items()}
    return build(framework, use_attention=True, max_seq_len=4, fcnet_hiddens=[12], **own)


def module(base: Any, shape: tuple[int, ...] = (4,), outputs: int = 2, **config: Any) -> Any:
    """An RLModule with `outputs` discrete actions.

    Args:
        base: its class.
        config: what differs from RLlib's defaults, and the class's own settings; `inference_only`;
            `continuous`, for as many continuous actions.
    """
    inference_only = config.pop("inference_only", False)
    continuous = gym.spaces.Box(-1.0, 1.0, (outputs,), np.float32)
    actions = continuous if config.pop("continuous", False) else gym.spaces.Discrete(outputs)
    return base(
        observation_space=gym.spaces.Box(-1.0, 1.0, shape, np.float32),
        action_space=actions,
        inference_only=inference_only,
        model_config={**asdict(DefaultModelConfig()), **config},
    )


def ppo_module(shape: tuple[int, ...] = (4,), outputs: int = 2, **config: Any) -> Any:
    return module(DefaultPPOTorchRLModule, shape, outputs, **config)


def dqn_module(num_atoms: int = 1, **config: Any) -> Any:
    """A dueling one, with the hidden layers of `dqn_scores`."""
    hidden = {"fcnet_hiddens": [16], "fcnet_activation": "relu", "head_fcnet_hiddens": [24]}
    own = {"dueling": True, "double_q": True, "v_min": -10.0, "v_max": 10.0, "epsilon": 0.1}
    return module(DefaultDQNTorchRLModule, num_atoms=num_atoms, **hidden, **own, **config)


def dqn_scores(num_atoms: int = 1) -> Callable[[Any], Any]:
    """What DQN's policy computes from its `TorchModelV2`, under the names of DQN's RLModule.

    The policy, not the model, takes off the mean of the advantages and adds the value.
    """
    heads = {"dueling": True, "num_atoms": num_atoms, "q_hiddens": [24]}
    hidden = {"fcnet_hiddens": [16], "fcnet_activation": "relu", "no_final_linear": True}
    model = dqn("torch", embedding=16, heads=heads, **hidden)
    policy = SimpleNamespace(config={"num_atoms": num_atoms, "dueling": True})

    def scores(observations: Any) -> Any:
        batch = {"obs": observations, "is_training": False}
        values, logits, probabilities, _ = compute_q_values(policy, model, batch)
        atoms = {"qf_logits": logits, "qf_probs": probabilities} if num_atoms > 1 else {}
        return {"qf_preds": values, **atoms}

    return scores


MIXED = gym.spaces.Dict(
    {
        "image": gym.spaces.Box(-1, 1, (42, 42, 3), np.float32),
        "kind": gym.spaces.Discrete(5),
        "place": gym.spaces.Box(-1, 1, (3,), np.float32),
    }
)


def mixed(framework: str) -> Any:
    """A ComplexInputNetwork, with a network for each part of `MIXED` observations."""
    own = {"fcnet_hiddens": [8], "post_fcnet_hiddens": [6], "post_fcnet_activation": "relu"}
    space = get_preprocessor(MIXED)(MIXED).observation_space
    actions, config = gym.spaces.Discrete(3), {**MODEL_DEFAULTS, **own}
    return ModelCatalog.get_model_v2(space, actions, 3, config, FRAMEWORKS[framework], "mixed")


def mixed_observations(batch: int) -> Any:
    """What RLlib's preprocessor turns them into: one row for each."""
    MIXED.seed(0)
    flatten = get_preprocessor(MIXED)(MIXED).transform
    return np.stack([flatten(MIXED.sample()) for _ in range(batch)]).astype("float32")


def observations(*shape: int) -> Any:
    return np.random.default_rng(3).uniform(-1, 1, shape).astype("float32")


SEQUENCES = {  # for an LSTM of 16 units: 3 sequences of 4 steps
    "obs": observations(12, 4),
    "state_in_0": observations(3, 16),
    "state_in_1": -observations(3, 16),
    "seq_lens": np.full(3, 4, "int32"),
}
MEMORIES = {  # for a transformer of 16 features that looks back 5 steps
    "obs": observations(12, 4),
    "state_in_0": observations(3, 5, 16),
    "seq_lens": np.full(3, 4, "int32"),
}
IMAGE_SEQUENCES = {**SEQUENCES, "obs": observations(12, 12, 12, 3)}
C51 = {"dueling": True, "num_atoms": 51, "q_hiddens": [24]}
SMALL_FILTERS = [[4, [3, 3], 2], [6, [4, 4], 1]]  # on 12x12 images they end in 3x3


@dataclass(frozen=True)
class Net:
    """A model that both frameworks compute in the same way.

    Attributes:
        make: builds it, given the framework.
        tensors: by framework, how many a transfer moves.
        draws: whether it draws random numbers.
    """

    make: Callable[[str], Any]
    inputs: Any
    tensors: dict[str, int]
    draws: bool = False


def _net(make: Callable[..., Any], inputs: Any, tensors: int, torch: int = 0, **config: Any) -> Net:
    shape = (inputs["obs"] if isinstance(inputs, dict) else inputs).shape[1:]
    counts = {"tensorflow": tensors, "torch": torch or tensors}
    draws = config.get("heads", {}).get("use_noisy", False)
    return Net(partial(make, shape=shape, **config), inputs, counts, draws)


_ROWS, _IMAGES = observations(5, 4), observations(3, 84, 84, 4)
_LSTM = {"use_lstm": True, "lstm_cell_size": 16}
MODELS = {
    "fully connected": _net(build, _ROWS, 8),
    "fully connected, separate value": _net(build, _ROWS, 12, vf_share_layers=False),
    "fully connected, free log std": _net(build, _ROWS, 9, outputs=6, free_log_std=True),
    "vision, 84x84": _net(build, _IMAGES, 10, outputs=4),
    "vision, 84x84, separate value": _net(build, _IMAGES, 16, vf_share_layers=False),
    "vision, 42x42": _net(build, observations(3, 42, 42, 3), 10),
    "LSTM": _net(build, SEQUENCES, 9, 10, fcnet_hiddens=[32], **_LSTM),
    "LSTM over images": _net(build, IMAGE_SEQUENCES, 11, 12, conv_filters=SMALL_FILTERS, **_LSTM),
    "DQN, dueling": _net(dqn, _ROWS, 14, fcnet_hiddens=[16], heads={**C51, "num_atoms": 1}),
    "DQN, dueling, 51 atoms": _net(dqn, _ROWS, 14, fcnet_hiddens=[16], heads=C51),
    "DQN, dueling, 51 atoms, images": _net(dqn, observations(3, 42, 42, 3), 18, heads=C51),
    "DQN, dueling, 51 atoms, noisy": _net(
        dqn, _ROWS, 22, fcnet_hiddens=[16], heads={**C51, "use_noisy": True}
    ),
}


@dataclass(frozen=True)
class Heir:
    """A ModelV2 and the RLModule that computes the same.

    Attributes:
        old: builds the ModelV2, given the framework.
        new: builds the RLModule.
        tensors: how many a transfer moves.
    """

    old: Callable[[str], Any]
    new: Callable[[], Any]
    inputs: Any
    tensors: int


_HIDDEN = {"fcnet_hiddens": [24, 16]}
_FILTERS = [[16, [8, 8], 4], [32, [4, 4], 2], [256, [11, 11], 1]]
_SHARED = {"vf_share_layers": True}
_OWN = {"vf_share_layers": False}
_STACK = (84, 84, 4)
_PLAIN = [*_FILTERS[:2], [*_FILTERS[2], "valid"]]  # where a ModelV2 leaves its padding out
HEIRS = {
    "fully connected": Heir(
        partial(build, **_HIDDEN, **_SHARED), partial(ppo_module, **_HIDDEN, **_SHARED), _ROWS, 8
    ),
    "fully connected, separate value": Heir(
        partial(build, **_HIDDEN, **_OWN), partial(ppo_module, **_HIDDEN, **_OWN), _ROWS, 12
    ),
    "vision, 84x84": Heir(
        partial(build, shape=_STACK, outputs=4, conv_filters=_FILTERS),
        partial(ppo_module, _STACK, 4, conv_filters=_PLAIN),
        _IMAGES,
        10,
    ),
}
