"""ChainerRL's models and PFRL's for the same: every pair that both libraries construct.

Recurrent models take a sequence of observations from a fresh state; noisy layers get their noise
from outside, the same in both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.corpus.scenarios import deeprl
from benchmarks.corpus.scenarios.deeprl import chainerrl, pfrl
from benchmarks.corpus.scenarios.pair import chainer
from benchmarks.verdict.clean import libraries
from benchmarks.verdict.clean.libraries import (
    _mean_and_variance,
    _mlp,
    _plain,
    _probabilities,
    _q_values,
)

F, L = chainer.functions, chainer.links
links, policies, q, v = (
    chainerrl.links,
    chainerrl.policies,
    chainerrl.q_functions,
    chainerrl.v_functions,
)
p = pfrl.q_functions
IMAGES, STATE, ACTION, SEQUENCE = (2, 4, 84, 84), (5, 7), (5, 3), (3, 5, 7)
Built = tuple[
    Callable[[], Any], Callable[[], Any], Callable[[Any], Any], tuple[tuple[int, ...], ...]
]


def _quantiles(model: Any) -> Callable[..., Any]:
    return lambda x, taus: model(x)(taus).quantiles


def _unrolled(model: Any) -> Callable[..., Any]:
    """A recurrent model over whole sequences (batch, time, features)."""
    if isinstance(model, nn.Module):
        return lambda x: _padded(model(nn.utils.rnn.pack_sequence(list(x)), None)[0])
    if hasattr(model, "n_step_forward"):
        return lambda x: _stacked(model.n_step_forward(list(x), None, "concat")[0], x)

    def stepped(x):
        model.reset_state()
        found = [model(x[:, t]) for t in range(x.shape[1])]
        key = "q_values" if hasattr(found[0], "q_values") else "most_probable"
        return F.stack([getattr(one, key) for one in found], 1)

    return stepped


def _padded(found: Any) -> Any:
    if type(found) is tuple:  # of branches; a packed sequence is one, too
        return tuple(map(_padded, found))
    return nn.utils.rnn.pad_packed_sequence(found, batch_first=True)[0]


def _stacked(found: Any, x: Any) -> Any:
    if isinstance(found, tuple):
        return tuple(_stacked(one, x) for one in found)
    return F.reshape(found, (*x.shape[:2], -1))


def _with_noise(make: Callable[[], Any]) -> Callable[[], Any]:
    """Noisy layers whose noise is given: the same in both libraries, which draw differently."""

    def build():
        model = make()
        for layer in model.modules() if isinstance(model, nn.Module) else model.links():
            if type(layer).__name__ == "FactorizedNoisyLinear":
                layer._eps = _noise
        return model

    return build


def _noise(size: int, dtype: Any, *device: Any) -> Any:
    noise = np.random.default_rng(size).normal(size=size).astype("f")
    return torch.from_numpy(noise) if isinstance(dtype, torch.dtype) else noise


def _noisy(model: Any, convert: Callable[..., Any]) -> Any:
    convert(model, 0.4)
    return model


def _cosines(x: Any, count: int = 64) -> Any:
    """ChainerRL's own takes cosines in NumPy, where no tape follows an input."""
    steps = np.arange(1, count + 1, dtype="f") * np.float32(np.pi)
    wide = F.broadcast_to(F.expand_dims(x, -1), (*x.shape, count))
    return F.cos(wide * np.broadcast_to(steps, wide.shape))


chainerrl.agents.iqn.cosine_basis_functions = _cosines


def _iqn(old: bool) -> Any:
    if old:
        agent = chainerrl.agents.iqn
        psi = chainer.Sequential(L.Linear(7, 11), F.relu)
        phi = chainer.Sequential(agent.CosineBasisLinear(8, 11), F.relu)
        return agent.ImplicitQuantileQFunction(psi, phi, L.Linear(11, 3))
    new = pfrl.agents.iqn
    psi = nn.Sequential(nn.Linear(7, 11), nn.ReLU())
    phi = nn.Sequential(new.CosineBasisLinear(8, 11), nn.ReLU())
    return new.ImplicitQuantileQFunction(psi, phi, nn.Linear(11, 3))


def _recurrent_head(*after: nn.Module) -> nn.Module:
    return pfrl.nn.RecurrentSequential(
        pfrl.nn.MLP(7, 11, (11,)), nn.ReLU(), nn.LSTM(11, 11), nn.Linear(11, 3), *after
    )


MORE: dict[str, Built] = {
    "Sequence of NatureDQNHead": (
        lambda: links.Sequence(
            links.NatureDQNHead(), L.Linear(512, 9), chainerrl.action_value.DiscreteActionValue
        ),
        lambda: nn.Sequential(
            pfrl.nn.LargeAtariCNN(), nn.Linear(512, 9), p.DiscreteActionValueHead()
        ),
        _q_values, (IMAGES,),
    ),
    "MLPBN, outputs as they are": (
        lambda: links.MLPBN(7, 3, (11, 13)), lambda: pfrl.nn.MLPBN(7, 3, (11, 13)),
        _plain, (STATE,),
    ),
    "MLPBN, inputs as they are": (
        lambda: links.MLPBN(7, 3, (11,), normalize_input=False),
        lambda: pfrl.nn.MLPBN(7, 3, (11,), normalize_input=False),
        _plain, (STATE,),
    ),
    "SingleModelStateQFunctionWithDiscreteAction": (
        lambda: q.SingleModelStateQFunctionWithDiscreteAction(links.MLP(7, 3, (11,))),
        lambda: p.SingleModelStateQFunctionWithDiscreteAction(pfrl.nn.MLP(7, 3, (11,))),
        _q_values, (STATE,),
    ),
    "SingleModelVFunction / MLP": (
        lambda: v.SingleModelVFunction(links.MLP(7, 1, (11,))), lambda: pfrl.nn.MLP(7, 1, (11,)),
        _plain, (STATE,),
    ),
    "GaussianHeadWithStateIndependentCovariance": (
        lambda: policies.GaussianHeadWithStateIndependentCovariance(3, "diagonal"),
        lambda: pfrl.policies.GaussianHeadWithStateIndependentCovariance(3, "diagonal"),
        _mean_and_variance, (ACTION,),
    ),
    "FCGaussianPolicyWithStateIndependentCovariance, one variance": (
        lambda: policies.FCGaussianPolicyWithStateIndependentCovariance(7, 3, 2, 11),
        lambda: nn.Sequential(
            _mlp(3),
            pfrl.policies.GaussianHeadWithStateIndependentCovariance(3, "spherical"),
        ),
        _mean_and_variance, (STATE,),
    ),
    "SoftmaxPolicy / SoftmaxCategoricalHead": (
        lambda: policies.SoftmaxPolicy(links.MLP(7, 3, (11,))),
        lambda: nn.Sequential(pfrl.nn.MLP(7, 3, (11,)), pfrl.policies.SoftmaxCategoricalHead()),
        _probabilities, (STATE,),
    ),
    "CosineBasisLinear": (
        lambda: chainerrl.agents.iqn.CosineBasisLinear(8, 11),
        lambda: pfrl.agents.iqn.CosineBasisLinear(8, 11),
        _plain, ((5, 6),),
    ),
    "ImplicitQuantileQFunction": (
        lambda: _iqn(True), lambda: _iqn(False), _quantiles, (STATE, (5, 6)),
    ),
    "FactorizedNoisyLinear, noise given": (
        _with_noise(lambda: links.FactorizedNoisyLinear(L.Linear(7, 3))),
        _with_noise(lambda: pfrl.nn.FactorizedNoisyLinear(nn.Linear(7, 3))),
        _plain, (STATE,),
    ),
    "to_factorized_noisy, noise given": (
        _with_noise(lambda: _noisy(links.MLP(7, 3, (11, 13)), links.to_factorized_noisy)),
        _with_noise(lambda: _noisy(pfrl.nn.MLP(7, 3, (11, 13)), pfrl.nn.to_factorized_noisy)),
        _plain, (STATE,),
    ),
    "FCLSTMStateQFunction / RecurrentSequential": (
        lambda: q.FCLSTMStateQFunction(7, 3, 11, 1), _recurrent_head, _unrolled, (SEQUENCE,),
    ),
    "StatelessRecurrentSequential / RecurrentSequential, LSTM": (
        lambda: links.StatelessRecurrentSequential(
            links.MLP(7, 11, (11,)), F.relu, L.NStepLSTM(1, 11, 11, 0), L.Linear(11, 3)
        ),
        _recurrent_head, _unrolled, (SEQUENCE,),
    ),
    "FCLSTMDeterministicPolicy / RecurrentSequential": (
        lambda: policies.FCLSTMDeterministicPolicy(7, 1, 11, 3, libraries.LOW, libraries.HIGH),
        lambda: _recurrent_head(pfrl.nn.BoundByTanh(libraries.LOW, libraries.HIGH)),
        _unrolled, (SEQUENCE,),
    ),
    "StatelessRecurrentBranched / RecurrentBranched": (
        lambda: links.StatelessRecurrentBranched(
            *(
                links.StatelessRecurrentSequential(L.NStepLSTM(1, 7, 11, 0), L.Linear(11, size))
                for size in (3, 2)
            )
        ),
        lambda: pfrl.nn.RecurrentBranched(
            *(
                pfrl.nn.RecurrentSequential(nn.LSTM(7, 11), nn.Linear(11, size))
                for size in (3, 2)
            )
        ),
        _unrolled, (SEQUENCE,),
    ),
    "StatelessRecurrentSequential / RecurrentSequential, GRU": (
        lambda: links.StatelessRecurrentSequential(
            L.Linear(7, 11), L.NStepGRU(1, 11, 11, 0), L.Linear(11, 3)
        ),
        lambda: pfrl.nn.RecurrentSequential(nn.Linear(7, 11), nn.GRU(11, 11), nn.Linear(11, 3)),
        _unrolled, (SEQUENCE,),
    ),
}  # fmt: skip
PAIRS: dict[str, Built] = {
    **{
        name: (lambda o=old, a=args: o(*a), lambda n=new, a=args: n(*a), _plain, (shape,))
        for name, (old, new, args, shape) in deeprl.MODELS.items()
    },
    **libraries.MODELS,
    **MORE,
}


def library_pair(name: str) -> tuple[Any, Any, Any]:
    """ChainerRL's model and PFRL's, each with weights of its own, and inputs for both."""
    import parity
    from tests.weights.transfer_models import shuffled

    build_old, build_new, called, shapes = PAIRS[name]
    old, new = build_old(), build_new()
    if isinstance(new, nn.Module):
        new.eval()
        for module in new.modules():
            if isinstance(module, nn.BatchNorm1d):
                module.eps = 2e-5  # Chainer's; as shipped the two libraries differ
    rng = np.random.default_rng(15)
    inputs = tuple(rng.normal(size=shape).astype("f") for shape in shapes)
    given = inputs if len(inputs) > 1 else inputs[0]
    wrapped = [
        parity.wrap(called(model), framework=framework)
        for model, framework in ((old, "chainer"), (new, "torch"))
    ]
    for model in wrapped:
        shuffled(model, given)
    return *wrapped, given
