"""What RLlib's own models compute differently in torch and TensorFlow: how each is built.

The tests say what the report must find, `benchmarks.rllib` writes it to docs/rllib.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ray
import tensorflow as tf
import torch
from ray.rllib.utils import tf_utils, torch_utils

import parity
from parity.errors import ModelError
from parity.result import Structure
from tests.rllib import nets

_ROOT, _PACKAGES = Path(__file__).resolve().parents[2], Path(ray.__file__).parents[1]
LOWEST = np.finfo("float32").min
MASKED = np.array([[1, 2, LOWEST], [3, LOWEST, 0.5], [0.25, 1, -2]], "float32")
PADDED = {**nets.SEQUENCES, "seq_lens": np.array([4, 2, 3], "int32")}
DQN = {"dueling": True, "num_atoms": 1, "q_hiddens": [24]}


@dataclass(frozen=True)
class Difference:
    """One of RLlib's own differences.

    Attributes:
        title: what it is about.
        built: how, for people.
        run: gives the report, a `Structure`, or raises what a model raises.
        verdict: what the report must say; "structure" for a `Structure`, "raises" for an error.
        found: the causes it must name, in the order of the report; or words of the message.
        place: of the first divergence, the candidate's file; or "".
    """

    title: str
    built: str
    run: Callable[[], Any]
    verdict: str
    found: tuple[str, ...] = ()
    place: str = ""


def moved(make: Callable[..., Any], inputs: Any, **config: Any) -> Any:
    """The report after TensorFlow's weights were moved into torch's model."""
    models = (parity.wrap(make(one, **config), name=name) for one, name in NAMES.items())
    return parity.transfer(*models, inputs=inputs).report


def headless(outputs: int, **config: Any) -> Any:
    """Of a fully connected network whose last hidden layer gives the outputs."""
    rows = nets.observations(5, 4)
    return moved(nets.build, rows, outputs=outputs, no_final_linear=True, **config)


NAMES = {"tensorflow": "TensorFlow", "torch": "torch"}


def functions(reference: Any, candidate: Any, inputs: Any) -> Any:
    wrapped = [
        parity.wrap(function, framework=framework, name=name)
        for function, (framework, name) in zip((reference, candidate), NAMES.items(), strict=True)
    ]
    return parity.compare(*wrapped, inputs=inputs)


def dueling_means() -> Any:
    return functions(
        lambda scores: tf_utils.reduce_mean_ignore_inf(scores, 1),
        lambda scores: torch_utils.reduce_mean_ignore_inf(scores, 1),
        MASKED,
    )


def temperatures() -> Any:
    """SAC's `alpha * log pi`, after training has moved `log_alpha` to -2."""
    models = {one: nets.sac(one) for one in NAMES}
    models["tensorflow"].log_alpha.assign(-2.0)
    with torch.no_grad():
        models["torch"].log_alpha.fill_(-2.0)
    return functions(
        lambda log_pi: models["tensorflow"].alpha * log_pi,
        lambda log_pi: torch.exp(models["torch"].log_alpha) * log_pi,
        nets.observations(5),
    )


def transformers() -> Any:
    models = [parity.wrap(nets.gtrxl(one), name=name) for one, name in NAMES.items()]
    return parity.structure(*models, inputs=nets.MEMORIES)


def dueling_atoms() -> Any:
    """DQN with five atoms: its ModelV2 with its policy's formula, and its RLModule."""
    module = nets.dqn_module(num_atoms=5)

    def estimates(rows: Any) -> Any:
        found = module.compute_q_values({"obs": rows})
        return {name: tensor for name, tensor in found.items() if name != "atoms"}

    scores = nets.dqn_scores(num_atoms=5)
    wrapped = (
        parity.wrap(function, framework="torch", name=name)
        for name, function in (("ModelV2", scores), ("RLModule", estimates))
    )
    return parity.transfer(*wrapped, inputs=nets.observations(5, 4)).report


IMAGES = nets.observations(3, 84, 84, 4)
POST = {"post_fcnet_hiddens": [64], "post_fcnet_activation": "relu", "shape": (84, 84, 4)}
NARROW = [[8, [1, 1], 2], [16, [5, 5], 1]]

DIFFERENCES = [
    Difference(
        "VisionNetwork with one layer after its convolutions: torch omits the activation",
        '`post_fcnet_hiddens=[64], post_fcnet_activation="relu", vf_share_layers=False`',
        lambda: moved(nets.build, IMAGES, vf_share_layers=False, **POST),
        "diverged",
        ("activation-missing",),
        "models/torch/misc.py",
    ),
    Difference(
        "FullyConnectedNetwork without a last linear layer: the value is read elsewhere",
        "`no_final_linear=True, vf_share_layers=True, fcnet_hiddens=[16, 16]`, 16 outputs",
        lambda: headless(16, vf_share_layers=True, fcnet_hiddens=[16, 16]),
        "diverged",
        ("wrong-source",),
        "models/torch/misc.py",
    ),
    Difference(
        "DQN with layer norms: a different epsilon in each stream",
        "`DistributionalQTFModel` and `DQNTorchModel` with `dueling=True, add_layer_norm=True`",
        lambda: moved(
            nets.dqn,
            nets.observations(5, 4),
            fcnet_hiddens=[16],
            heads={**DQN, "add_layer_norm": True},
        ),
        "diverged",
        ("norm-epsilon",),  # in two places
        "dqn/dqn_torch_model.py",
    ),
    Difference(
        "VisionNetwork with a filter narrower than its stride: torch crops where TensorFlow pads",
        f"`conv_filters={NARROW}` on 10x10 images",
        lambda: moved(
            nets.build, nets.observations(3, 10, 10, 3), shape=(10, 10, 3), conv_filters=NARROW
        ),
        "diverged",
        ("padding-asymmetry",),
        "models/torch/misc.py",
    ),
    Difference(
        "LSTM over sequences with padding: TensorFlow stops at a sequence's end, torch does not",
        "`use_lstm=True, lstm_cell_size=16, fcnet_hiddens=[32]`, three sequences of 4, 2 and 3 "
        "steps, padded to 4",
        lambda: moved(nets.build, PADDED, use_lstm=True, lstm_cell_size=16, fcnet_hiddens=[32]),
        "diverged",
        ("unexplained",),
        "torch/recurrent_net.py",
    ),
    Difference(
        "The mean of the advantages where actions are masked",
        "`reduce_mean_ignore_inf(scores, 1)` of `tf_utils` and of `torch_utils`, masked actions "
        "at `float32.min`",
        dueling_means,
        "diverged",
        ("unexplained",),
        "utils/torch_utils.py",
    ),
    Difference(
        "SAC's temperature: TensorFlow computes it once, when the model is made",
        "`model.alpha * log_pi` of `SACTFModel`, `exp(model.log_alpha) * log_pi` of "
        "`SACTorchModel`, with `log_alpha` at -2",
        temperatures,
        "diverged",
        ("input-scale",),
    ),
    Difference(
        "GTrXL: a different epsilon, and a ReLU on torch's logits",
        "`GTrXLNet` with two outputs, one unit; compared without weights (`parity.structure`)",
        transformers,
        "structure",
        ("epsilon: 0.001 -> 1e-05", "relu stands after dense where the reference has none"),
    ),
    Difference(
        "DQN without hidden layers of its own: torch has no layer for the state's value",
        "`dueling=True, q_hiddens=[]`",
        lambda: moved(nets.dqn, nets.observations(5, 4), heads={**DQN, "q_hiddens": []}),
        "diverged",
        ("unexplained",),
    ),
    Difference(
        "DQN's RLModule, dueling with atoms: one value for all atoms, the ModelV2 has one each",
        "`compute_q_values` of DQN's torch policy, and of `DefaultDQNTorchRLModule`, with "
        "`dueling=True, num_atoms=5`; the one value, added to all atoms alike, drops out of their "
        "softmax",
        dueling_atoms,
        "diverged",
        ("unexplained",),
        "core/models/torch/primitives.py",
    ),
    Difference(
        "VisionNetwork with layers after its convolutions and a shared value: torch raises",
        '`post_fcnet_hiddens=[64], post_fcnet_activation="relu", vf_share_layers=True`',
        lambda: moved(nets.build, IMAGES, vf_share_layers=True, **POST),
        "raises",
        ("IndexError", "models/torch/visionnet.py"),
    ),
    Difference(
        "FullyConnectedNetwork without a last linear layer, with a value of its own: torch raises",
        "`no_final_linear=True, vf_share_layers=False, fcnet_hiddens=[16, 12]`, 8 outputs",
        lambda: headless(8, vf_share_layers=False, fcnet_hiddens=[16, 12]),
        "raises",
        ("mat1 and mat2", "models/torch/"),
    ),
    Difference(
        "VisionNetwork as features (no outputs of its own) on 64x64 images: torch raises",
        "`num_outputs=None`, the default filters",
        lambda: moved(nets.build, nets.observations(2, 64, 64, 3), shape=(64, 64, 3), outputs=None),
        "raises",
        ("mat1 and mat2", "models/torch/"),
    ),
]


def observed(difference: Difference) -> tuple[str, tuple[str, ...], str, str]:
    """What the tool says: verdict, causes (or words), the candidate's first file, all of it."""
    tf.keras.utils.set_random_seed(0)  # Python's, NumPy's and TensorFlow's
    torch.manual_seed(0)
    try:
        report = difference.run()
    except ModelError as error:
        text = str(error).replace(f"{_PACKAGES}{os.sep}", "")
        return "raises", (text,), "", text
    with _among_packages():
        text = str(report).replace(f"{_ROOT}{os.sep}", "")
    if isinstance(report, Structure):
        return "structure", tuple(one.text for one in report.differences), "", text
    found = report.divergences
    causes = tuple(one.cause.kind if one.cause else "unexplained" for one in found)
    place = str(found[0].candidate.source) if found else ""
    return report.verdict, causes, place, text


@contextmanager
def _among_packages() -> Iterator[None]:
    """Reports show paths below the current folder without it."""
    before = os.getcwd()
    os.chdir(_PACKAGES)
    try:
        yield
    finally:
        os.chdir(before)
