"""ChainerRL's networks against PFRL's, both as shipped, with the weights copied by name."""

from __future__ import annotations

import sys
import types

import numpy as np
import torch

from .pair import Pair, Side, chainer


def import_chainerrl():
    """ChainerRL asks for `gym.wrappers.Monitor`, gone since gym 0.23; its models do not use it."""
    import gym.wrappers

    if not hasattr(gym.wrappers, "Monitor"):
        recorder = types.ModuleType("gym.wrappers.monitoring.stats_recorder")
        recorder.StatsRecorder = object
        gym.wrappers.Monitor = object
        sys.modules.setdefault("gym.wrappers.monitoring", types.ModuleType("monitoring"))
        sys.modules.setdefault(recorder.__name__, recorder)
    import chainerrl

    return chainerrl


chainerrl = import_chainerrl()
import pfrl  # noqa: E402  (imports gym, too)

IMAGES = (2, 4, 84, 84)
C51 = (6, 51, -10.0, 10.0)
MODELS = {
    "NatureDQNHead / LargeAtariCNN": (
        chainerrl.links.NatureDQNHead,
        pfrl.nn.LargeAtariCNN,
        (),
        IMAGES,
    ),
    "DuelingDQN": (
        chainerrl.q_functions.DuelingDQN,
        pfrl.q_functions.DuelingDQN,
        (6,),
        IMAGES,
    ),
    "DistributionalDuelingDQN": (
        chainerrl.q_functions.DistributionalDuelingDQN,
        pfrl.q_functions.DistributionalDuelingDQN,
        C51,
        IMAGES,
    ),
    "FCStateQFunctionWithDiscreteAction": (
        chainerrl.q_functions.FCStateQFunctionWithDiscreteAction,
        pfrl.q_functions.FCStateQFunctionWithDiscreteAction,
        (7, 3, 17, 2),
        (5, 7),
    ),
}
# The only pair whose layers have other names: a plain list of links in ChainerRL.
RENAMED = {f"{i}.": f"layers.{i}." for i in range(3)} | {"3.": "output."}


def library_pair(name: str) -> Pair:
    chainer_class, torch_class, arguments, shape = MODELS[name]
    rng = np.random.default_rng(15)
    old, new = chainer_class(*arguments), torch_class(*arguments)
    copied = {}
    for path, parameter in sorted(old.namedparams()):
        if path.endswith("/b"):  # constant as shipped, which would hide a bias on a wrong channel
            parameter.array[...] = rng.normal(scale=0.2, size=parameter.shape)
        copied[_pfrl_name(path, chainer_class)] = torch.from_numpy(parameter.array.copy())
    new.load_state_dict(copied)
    x = rng.normal(size=shape).astype(np.float32)
    layout = "NCHW" if len(shape) == 4 else None
    return Pair(Side("chainer", old, layout), Side("torch", new.eval(), layout), (x,))


def _pfrl_name(path: str, chainer_class: type) -> str:
    name = path.strip("/").replace("/", ".")
    if issubclass(chainer_class, chainer.ChainList):
        name = RENAMED[name[:2]] + name[2:]
    stem, _, kind = name.rpartition(".")
    return f"{stem}.{dict(W='weight', b='bias')[kind]}"
