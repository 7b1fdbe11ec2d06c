"""ChainerRL's models against PFRL's: every pair that both libraries can construct.

PFRL builds its policies of a network and a head where ChainerRL has a class; its network then has
the layout that PFRL's own examples give it. Weights go by the order of their layers' names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.corpus.scenarios.decompositions import normal
from benchmarks.corpus.scenarios.deeprl import chainerrl, pfrl
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer
from benchmarks.verdict.inputs import ALL

from .subject import Clean

F = chainer.functions
LOW, HIGH = np.array([-2.0, -1.0, 0.5], np.float32), np.array([1.0, 3.0, 2.0], np.float32)
STATE, ACTION = (5, 7), (5, 3)


class Box:
    """What a quadratic Q-function asks of an action space."""

    low, high = LOW, HIGH


def _mlp(out: int, hidden: int = 2) -> pfrl.nn.MLP:
    return pfrl.nn.MLP(7, out, (11,) * hidden)


class _MeanAndVariance(nn.Module):
    """PFRL's form of `FCGaussianPolicy`: a trunk, two layers on it, and a Gaussian."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.Linear(11, 3), nn.Linear(11, 3), nn.Linear(7, 11), nn.Linear(11, 11)]
        )
        self.bound = pfrl.nn.BoundByTanh(LOW, HIGH)
        self.head = pfrl.policies.GaussianHeadWithDiagonalCovariance()

    def forward(self, x):
        mean, variance, first, second = self.layers
        h = torch.relu(second(torch.relu(first(x))))
        return self.head(torch.cat([self.bound(mean(h)), variance(h)], 1))


def _mean_and_variance(model: Any) -> Callable[..., Any]:
    """The parameters of a Gaussian policy, which the two libraries name and store differently."""

    def call(x):
        found = model(x)
        if isinstance(found, torch.distributions.Distribution):
            return {"mean": found.mean, "variance": found.variance}
        return {"mean": found.mean, "variance": found.var}

    return call


def _probabilities(model: Any) -> Callable[..., Any]:
    def call(x):
        found = model(x)
        if isinstance(found, torch.distributions.Distribution):
            return {"probabilities": found.probs, "logits": found.logits}
        return {"probabilities": found.all_prob, "logits": found.all_log_prob}

    return call


def _best(model: Any) -> Callable[..., Any]:
    def call(x):
        found = model(x)
        if isinstance(found, torch.distributions.Distribution):
            return found.mean
        return found.most_probable

    return call


def _quadratic(model: Any) -> Callable[..., Any]:
    return lambda x: {"mu": (v := model(x)).mu, "mat": v.mat, "value": v.v}


def _q_values(model: Any) -> Callable[..., Any]:
    return lambda x: model(x).q_values


def _plain(model: Any) -> Any:
    return model


def _fixed(model: Any) -> Callable[..., Any]:
    """Normalized by what was seen before; a call does not count as seen."""
    return lambda x: model(x, update=False)


q, p = chainerrl.q_functions, pfrl.q_functions
links, policies = chainerrl.links, chainerrl.policies
Built = tuple[
    Callable[[], Any], Callable[[], Any], Callable[[Any], Any], tuple[tuple[int, ...], ...]
]
MODELS: dict[str, Built] = {
    "NIPSDQNHead / SmallAtariCNN": (
        links.NIPSDQNHead, pfrl.nn.SmallAtariCNN, _plain, ((2, 4, 84, 84),)
    ),
    "MLP": (
        lambda: links.MLP(7, 3, (11, 13)), lambda: pfrl.nn.MLP(7, 3, (11, 13)), _plain, (STATE,)
    ),
    "MLPBN": (
        lambda: links.MLPBN(7, 3, (11, 13), normalize_output=True),
        lambda: pfrl.nn.MLPBN(7, 3, (11, 13), normalize_output=True),
        _plain, (STATE,),
    ),
    "Branched": (
        lambda: links.Branched(links.MLP(7, 3, (11,)), links.MLP(7, 2, (13,))),
        lambda: pfrl.nn.Branched(pfrl.nn.MLP(7, 3, (11,)), pfrl.nn.MLP(7, 2, (13,))),
        _plain, (STATE,),
    ),
    "EmpiricalNormalization": (
        lambda: links.EmpiricalNormalization(7, until=1000),
        lambda: pfrl.nn.EmpiricalNormalization(7, until=1000),
        _fixed, (STATE,),
    ),
    "DistributionalFCStateQFunctionWithDiscreteAction": (
        lambda: q.DistributionalFCStateQFunctionWithDiscreteAction(7, 3, 13, -4.0, 9.0, 11, 2),
        lambda: p.DistributionalFCStateQFunctionWithDiscreteAction(7, 3, 13, -4.0, 9.0, 11, 2),
        _q_values, (STATE,),
    ),
    "FCQuadraticStateQFunction": (
        lambda: q.FCQuadraticStateQFunction(7, 3, 11, 2, Box()),
        lambda: p.FCQuadraticStateQFunction(7, 3, 11, 2, Box()),
        _quadratic, (STATE,),
    ),
    "FCSAQFunction": (
        lambda: q.FCSAQFunction(7, 3, 11, 2), lambda: p.FCSAQFunction(7, 3, 11, 2),
        _plain, (STATE, ACTION),
    ),
    "FCBNSAQFunction": (
        lambda: q.FCBNSAQFunction(7, 3, 11, 2), lambda: p.FCBNSAQFunction(7, 3, 11, 2),
        _plain, (STATE, ACTION),
    ),
    "FCBNLateActionSAQFunction": (
        lambda: q.FCBNLateActionSAQFunction(7, 3, 11, 2),
        lambda: p.FCBNLateActionSAQFunction(7, 3, 11, 2),
        _plain, (STATE, ACTION),
    ),
    "FCLateActionSAQFunction": (
        lambda: q.FCLateActionSAQFunction(7, 3, 11, 2),
        lambda: p.FCLateActionSAQFunction(7, 3, 11, 2),
        _plain, (STATE, ACTION),
    ),
    "FCVFunction / MLP": (
        lambda: chainerrl.v_functions.FCVFunction(7, 2, 11), lambda: _mlp(1), _plain, (STATE,)
    ),
    "FCSoftmaxPolicy / SoftmaxCategoricalHead": (
        lambda: policies.FCSoftmaxPolicy(7, 3, 2, 11),
        lambda: nn.Sequential(_mlp(3), pfrl.policies.SoftmaxCategoricalHead()),
        _probabilities, (STATE,),
    ),
    "FCGaussianPolicy / GaussianHeadWithDiagonalCovariance": (
        lambda: policies.FCGaussianPolicy(
            7, 3, 2, 11, LOW, HIGH, bound_mean=True, var_type="diagonal"
        ),
        _MeanAndVariance, _mean_and_variance, (STATE,),
    ),
    "FCGaussianPolicyWithStateIndependentCovariance": (
        lambda: policies.FCGaussianPolicyWithStateIndependentCovariance(
            7, 3, 2, 11, LOW, HIGH, bound_mean=True, var_type="diagonal"
        ),
        lambda: nn.Sequential(
            _mlp(3),
            pfrl.nn.BoundByTanh(LOW, HIGH),
            pfrl.policies.GaussianHeadWithStateIndependentCovariance(3, "diagonal"),
        ),
        _mean_and_variance, (STATE,),
    ),
    "FCGaussianPolicyWithFixedCovariance": (
        lambda: policies.FCGaussianPolicyWithFixedCovariance(7, 3, 0.49, 2, 11),
        lambda: nn.Sequential(_mlp(3), pfrl.policies.GaussianHeadWithFixedCovariance(0.7)),
        _mean_and_variance, (STATE,),
    ),
    "FCDeterministicPolicy / DeterministicHead": (
        lambda: policies.FCDeterministicPolicy(7, 2, 11, 3, LOW, HIGH),
        lambda: nn.Sequential(
            _mlp(3), pfrl.nn.BoundByTanh(LOW, HIGH), pfrl.policies.DeterministicHead()
        ),
        _best, (STATE,),
    ),
    "FCBNDeterministicPolicy / DeterministicHead": (
        lambda: policies.FCBNDeterministicPolicy(7, 2, 11, 3, LOW, HIGH),
        lambda: nn.Sequential(
            pfrl.nn.MLPBN(7, 3, (11, 11)),
            pfrl.nn.BoundByTanh(LOW, HIGH),
            pfrl.policies.DeterministicHead(),
        ),
        _best, (STATE,),
    ),
}  # fmt: skip


# Names in ChainerRL's files, and PFRL's for the same; what else is there is no weight.
KINDS = {
    "W": "weight", "b": "bias", "gamma": "weight", "beta": "bias",
    "avg_mean": "running_mean", "avg_var": "running_var",
    "var_param": "var_param", "_mean": "_mean", "_var": "_var",
}  # fmt: skip


def library_pair(name: str) -> Pair:
    """ChainerRL's model as the reference, PFRL's with the same weights as the candidate.

    As shipped, biases are zero and statistics 0 and 1, which would be no evidence: all is random.
    """
    build_old, build_new, called, shapes = MODELS[name]
    old, new = build_old(), build_new().eval()
    for module in new.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.eps = 2e-5  # Chainer's; as shipped the two libraries differ
    saved = chainer.serializers.DictionarySerializer()
    saved.save(old)
    olds = sorted((path for path in saved.target if path.rsplit("/")[-1] in KINDS), key=_order)
    tensors = dict(new.named_parameters()) | dict(new.named_buffers())
    news = sorted((path for path in tensors if path.split(".")[-1] in KINDS.values()), key=_order)
    rng = np.random.default_rng(15)
    with torch.no_grad():
        for old_path, new_path in zip(olds, news, strict=True):
            tensor = tensors[new_path]
            spread = 1 / max(1, tensor[0].numel()) ** 0.5 if tensor.ndim > 1 else 0.4
            array = rng.normal(scale=spread, size=tensor.shape).astype(np.float32)
            if old_path.endswith("var"):
                array = rng.uniform(0.5, 2.0, tensor.shape).astype(np.float32)
            if np.shape(saved.target[old_path]) != array.shape:
                raise ValueError(f"{name}: {old_path} is no {new_path} of shape {array.shape}")
            saved.target[old_path] = array
            tensor.copy_(torch.from_numpy(array))
    chainer.serializers.NpzDeserializer(saved.target).load(old)
    inputs = tuple(normal(rng, *shape) for shape in shapes)
    layout = "NCHW" if len(shapes[0]) == 4 else None
    return Pair(Side("chainer", called(old), layout), Side("torch", called(new), layout), inputs)


def _order(path: str) -> tuple[tuple[int, str], ...]:
    """Paths of both libraries sort alike: numbers by size, kinds by PFRL's names."""
    *layers, kind = path.replace("/", ".").split(".")
    parts = [*layers, KINDS.get(kind, kind)]
    return tuple((int(part), "") if part.isdigit() else (10**6, part) for part in parts)


# torch.distributions raises where a deviation is rounded to zero.
FINE = ("normal", "uniform", "sparse", "scale 1e-6", "near-constant", "a constant example")


def pairs() -> Iterator[Clean]:
    for name in MODELS:
        yield Clean(
            f"ChainerRL to PFRL, {name}",
            "ChainerRL and PFRL",
            partial(library_pair, name),
            styles=FINE if "DiagonalCovariance" in name else ALL,
        )
