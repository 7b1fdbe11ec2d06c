"""Networks of agents: ChainerRL's, and those that PFRL has for the same.

Weights are copied by name: PFRL is ChainerRL's successor, and stores them alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.strangers.hub import SEED
from benchmarks.strangers.pair import Built, Fault, Pair

_NEEDS = ("chainerrl", "pfrl", "torch", "chainer")
# ChainerRL's names of what is stored, and PFRL's; nothing else is a weight.
_KINDS = {
    "W": "weight", "b": "bias", "gamma": "weight", "beta": "bias",
    "avg_mean": "running_mean", "avg_var": "running_var",
}  # fmt: skip
_IMAGES, _STATE, _ACTION = (2, 4, 84, 84), (5, 7), (5, 3)


class _Bounds:
    """What a quadratic Q-function asks of an action space."""

    def __init__(self) -> None:
        import numpy as np

        self.low, self.high = -np.ones(3, "float32"), np.ones(3, "float32")


def _mlp(links: Any) -> Any:
    return links.MLP(7, 3, (11, 13))


def _normed_mlp(links: Any) -> Any:
    return links.MLPBN(7, 3, (11, 13))


def _nature(links: Any) -> Any:
    return links.NatureDQNHead() if hasattr(links, "NatureDQNHead") else links.LargeAtariCNN()


def _dueling(functions: Any) -> Any:
    return functions.DuelingDQN(6)


def _distributional(functions: Any) -> Any:
    return functions.DistributionalDuelingDQN(6, 51, -10.0, 10.0)


def _quadratic(functions: Any) -> Any:
    return functions.FCQuadraticStateQFunction(7, 3, 11, 2, _Bounds())


def _late_action(functions: Any) -> Any:
    return functions.FCLateActionSAQFunction(7, 3, 11, 2)


def pair(
    name: str,
    make: Callable[[Any], Any],
    shapes: tuple[tuple[int, ...], ...],
    fault: Fault | None = None,
    change: Callable[[Any], None] = lambda net: None,
) -> Pair:
    """A pair; `make` takes either library's module of such networks."""
    build = partial(_built, make, shapes, change)
    return Pair(name, "pfrl", _NEEDS, build, fault)


def _built(make: Any, shapes: tuple[tuple[int, ...], ...], change: Any) -> Built:
    import numpy as np

    from benchmarks.corpus.scenarios.deeprl import chainerrl, pfrl  # imports them on this NumPy

    of_links = make in (_mlp, _normed_mlp, _nature)
    old = make(chainerrl.links if of_links else chainerrl.q_functions)
    new = make(pfrl.nn if of_links else pfrl.q_functions)
    draw = np.random.default_rng(SEED)
    _copied(old, new, draw)
    change(new)
    inputs = tuple(draw.normal(size=shape).astype("float32") for shape in shapes)
    return Built(_called(old), _called(new.eval()), inputs)


def _called(model: Any) -> Any:
    """A Q-function returns an object of its library; the numbers in it are compared."""
    import parity

    if type(model).__name__ in ("DuelingDQN", "DistributionalDuelingDQN"):
        return parity.wrap(lambda x: model(x).q_values, framework=_framework(model))
    if type(model).__name__ == "FCQuadraticStateQFunction":
        return parity.wrap(
            lambda x: {"mu": (found := model(x)).mu, "mat": found.mat, "value": found.v},
            framework=_framework(model),
        )
    return model


def _framework(model: Any) -> str:
    return "chainer" if hasattr(model, "namedparams") else "torch"


def _copied(old: Any, new: Any, draw: Any) -> None:
    """ChainerRL's weights, moved off what they start as, in PFRL's model."""
    import torch
    from chainer import serializers

    saved = serializers.DictionarySerializer()
    saved.save(old)
    target = saved.target
    olds = sorted((path for path in target if path.rsplit("/")[-1] in _KINDS), key=_order)
    tensors = dict(new.named_parameters()) | dict(new.named_buffers())
    news = sorted((one for one in tensors if one.split(".")[-1] in _KINDS.values()), key=_order)
    with torch.no_grad():
        for path, name in zip(olds, news, strict=True):
            array = target[path]
            if path.endswith("avg_var"):
                array = draw.uniform(0.5, 1.5, array.shape)
            elif array.std() == 0:
                array = array + draw.normal(0, 0.1, array.shape)
            target[path] = array.astype("float32")
            tensors[name].copy_(torch.from_numpy(target[path]))
    serializers.NpzDeserializer(target).load(old)


def _order(path: str) -> tuple[tuple[int, str], ...]:
    """Both libraries' paths sort alike: numbers by size, kinds by PFRL's names."""
    *layers, kind = path.replace("/", ".").split(".")
    parts = [*layers, _KINDS.get(kind, kind)]
    return tuple((int(part), "") if part.isdigit() else (10**6, part) for part in parts)


# --- what is done to PFRL's networks --------------------------------------------------------------


def _chainers_epsilon(net: Any) -> None:
    for layer in net.modules():
        if type(layer).__name__ == "BatchNorm1d":
            layer.eps = 2e-5


def _activation(name: str, attribute: str, net: Any) -> None:
    import torch

    setattr(net, attribute, getattr(torch.nn.functional, name))


def _other_support(net: Any) -> None:
    import torch

    net.z_values = torch.linspace(-12.0, 10.0, 51)


def _permuted_features(net: Any) -> None:
    """The layer behind the flatten, as if it had been trained on channels last."""
    import torch

    layer = net.a_stream.hidden_layers[0]
    with torch.no_grad():
        kernel = layer.weight.reshape(512, 64, 7, 7).permute(0, 2, 3, 1).reshape(512, 3136)
        layer.weight.copy_(kernel.clone())


PAIRS = [
    pair("mlp", _mlp, (_STATE,)),
    pair("mlp-norms", _normed_mlp, (_STATE,), change=_chainers_epsilon),
    pair("nature-dqn", _nature, (_IMAGES,)),
    pair("dueling-dqn", _dueling, (_IMAGES,)),
    pair("distributional-dueling-dqn", _distributional, (_IMAGES,)),
    pair("quadratic-q", _quadratic, (_STATE,)),
    pair("late-action-q", _late_action, (_STATE, _ACTION)),
    pair(
        "mlp-norms-own-epsilon", _normed_mlp, (_STATE,),
        Fault(
            "torch's epsilon, 1e-5; Chainer has 2e-5", ("norm-epsilon",),
            ("bn_input", "input_bn", "hidden_layers.0", "/bn"),
        ),
    ),
    pair(
        "mlp-activation", _mlp, (_STATE,),
        Fault(
            "nonlinearity is elu, not relu", ("activation-kind",),
            ("hidden_layers.0", "hidden_layers/0", "relu", "elu"),
        ),
        partial(_activation, "elu", "nonlinearity"),
    ),
    pair(
        "nature-dqn-activation", _nature, (_IMAGES,),
        Fault(
            "activation is leaky_relu, not relu", ("activation-kind", "leaky-slope"),
            ("relu", "leaky_relu"),
        ),
        partial(_activation, "leaky_relu", "activation"),
    ),
    pair(
        "distributional-dueling-dqn-support", _distributional, (_IMAGES,),
        Fault(  # which is a tensor of the model's
            "the support starts at -12, not -10", ("support-range", "weight-values"),
            ("mul", "sum"),
        ),
        _other_support,
    ),
    pair(
        "dueling-dqn-flatten", _dueling, (_IMAGES,),
        Fault(
            "one layer behind the flatten has its kernel in the order of channels last",
            ("flatten-order",), ("a_stream",),
        ),
        _permuted_features,
    ),
]  # fmt: skip
