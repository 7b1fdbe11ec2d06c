"""ChainerRL's and PFRL's own heads by the formulas, and where they do not agree."""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import parity

torch = pytest.importorskip("torch")
if find_spec("chainerrl") is None or find_spec("pfrl") is None:
    pytest.skip("ChainerRL or PFRL is not installed", allow_module_level=True)
from tests.frameworks.chainerrl_stub import import_chainerrl  # noqa: E402

from .checking import same  # noqa: E402

chainerrl = import_chainerrl()
import chainer  # noqa: E402  (what is above makes it importable)
import pfrl  # noqa: E402

draw = np.random.default_rng(3)
SUPPORT = np.linspace(-1.0, 1.0, 5)


def normal(*shape: int) -> Any:
    return draw.normal(size=shape)


# A library's module by the same name, its tensor of an array, and an array of its tensor.
CHAINERRL = SimpleNamespace(
    name="chainerrl",
    action_value=chainerrl.action_value,
    dqn=chainerrl.agents.categorical_dqn,
    iqn=chainerrl.agents.iqn,
    tensor=lambda array: array,
    variable=chainer.Variable,
    array=lambda tensor: getattr(tensor, "array", tensor),
)
PFRL = SimpleNamespace(
    name="pfrl",
    action_value=pfrl.action_value,
    dqn=pfrl.agents.categorical_dqn,
    iqn=pfrl.agents.iqn,
    tensor=torch.tensor,
    variable=torch.tensor,
    array=lambda tensor: tensor.detach().numpy(),
)
each_library = pytest.mark.parametrize("library", [CHAINERRL, PFRL], ids=lambda one: one.name)


@each_library
def test_c51_action_values(library: Any) -> None:
    logits = normal(3, 4, 5)
    powers = np.exp(logits)
    probabilities = powers / powers.sum(-1, keepdims=True)
    value = library.action_value.DistributionalDiscreteActionValue(
        library.variable(probabilities), library.tensor(SUPPORT)
    )
    expected = parity.rl.c51_q(logits, SUPPORT)
    same(library.array(value.q_values), expected)
    same(library.array(value.greedy_actions), expected.argmax(-1))


@each_library
def test_quantile_action_values(library: Any) -> None:
    quantiles = normal(3, 7, 4)  # (batch, quantiles, actions) there; actions come first here
    value = library.action_value.QuantileDiscreteActionValue(library.variable(quantiles))
    same(library.array(value.q_values), parity.rl.quantile_q(quantiles.swapaxes(1, 2)))


@each_library
def test_the_categorical_projection(library: Any) -> None:
    p = draw.dirichlet(np.ones(5), 6)
    rewards, discounts = (
        np.array([0.0, 0.5, -9.0, 9.0, 0.3, -0.2]),
        np.array([1, 1, 0.9, 0.9, 0, 1]),
    )
    moved = rewards[:, None] + discounts[:, None] * SUPPORT
    found = library.dqn._apply_categorical_projection(
        *(library.tensor(array.astype("f")) for array in (moved, p, SUPPORT))
    )
    expected = parity.rl.c51_projection(p, rewards, discounts, SUPPORT)
    np.testing.assert_allclose(library.array(found), expected, atol=1e-6)


@each_library
def test_the_cosines_begin_at_one_there(library: Any) -> None:
    """Equation 4 as printed begins at 0; both libraries were told that 1 was meant."""
    taus = draw.random((3, 4)).astype("f")
    found = library.array(library.iqn.cosine_basis_functions(library.tensor(taus), 8))
    np.testing.assert_allclose(found, parity.rl.cosine_basis(taus, 8, first=1), atol=2e-5)
    assert not np.allclose(found, parity.rl.cosine_basis(taus, 8), atol=0.1)


def quantile_losses() -> tuple[Any, Any]:
    """ChainerRL's and PFRL's loss of IQN, as functions of predictions, targets, probabilities."""

    def in_chainerrl(quantiles: Any, targets: Any, taus: Any) -> Any:
        each = chainerrl.agents.iqn.compute_eltwise_huber_quantile_loss(
            quantiles, targets, taus.array
        )
        return chainer.functions.sum(each, axis=(1, 2)) / targets.shape[1]

    def in_pfrl(quantiles: Any, targets: Any, taus: Any) -> Any:
        each = pfrl.agents.iqn.compute_eltwise_huber_quantile_loss(quantiles, targets, taus)
        return each.mean(2).sum(1)

    return (
        parity.wrap(in_chainerrl, framework="chainer"),
        parity.wrap(in_pfrl, framework="torch"),
    )


def test_by_the_book_pfrls_iqn_loss_is_right_and_chainerrls_is_not() -> None:
    """ChainerRL 0.8 weighs a target above the quantile by 1 - tau, the paper and PFRL by tau."""
    inputs = tuple(array.astype("f") for array in (normal(5, 4), normal(5, 6), draw.random((5, 4))))
    report = parity.compare(*quantile_losses(), inputs=inputs, formula=parity.rl.iqn_loss)
    assert (report.verdict, report.by_formula.right) == ("diverged", "candidate")
    quantiles, targets, taus = inputs
    library = quantile_losses()[0].obj(*map(chainer.Variable, inputs)).array
    mirrored = parity.rl.iqn_loss(quantiles, targets, 1 - taus.astype("f8"))
    np.testing.assert_allclose(library, mirrored, rtol=1e-5)


def test_noisy_layers_under_the_same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = normal(7).astype("f")
    layer = pfrl.nn.FactorizedNoisyLinear(torch.nn.Linear(4, 3))
    monkeypatch.setattr(torch, "normal", lambda **given: torch.from_numpy(noise))
    x = normal(5, 4).astype("f")
    weights = [p.detach().numpy() for p in (*layer.mu.parameters(), *layer.sigma.parameters())]
    expected = parity.rl.noisy_linear_factorised(x, *weights, noise[:4], noise[4:])
    np.testing.assert_allclose(layer(torch.from_numpy(x)).detach(), expected, atol=1e-6)


def test_chainerrls_distributions() -> None:
    given = chainerrl.distribution
    logits, other = normal(5, 4), normal(5, 4)
    actions = draw.integers(0, 4, 5)
    formula, library = parity.rl.Categorical(logits), given.SoftmaxDistribution(logits)
    same(library.log_prob(actions).array, formula.log_prob(actions))
    same(library.entropy.array, formula.entropy())
    same(
        library.kl(given.SoftmaxDistribution(other)).array, formula.kl(parity.rl.Categorical(other))
    )
    mean, std, action = normal(5, 2), np.exp(normal(5, 2)), normal(5, 2)
    gauss, library = parity.rl.DiagonalGaussian(mean, std), given.GaussianDistribution(mean, std**2)
    same(library.log_prob(action).array, gauss.log_prob(action))
    same(library.entropy.array, gauss.entropy())
    squashed = given.SquashedGaussianDistribution(mean, std**2)
    inside = np.tanh(action)
    found = parity.rl.SquashedGaussian(mean, std).log_prob(inside)
    np.testing.assert_allclose(squashed.log_prob(inside).array, found, rtol=1e-9)


def test_saturated_actions_there_and_by_the_formula() -> None:
    """On a bound the density is 0. ChainerRL gives NaN there, torch NaN."""
    with np.errstate(all="ignore"):
        library = chainerrl.distribution.SquashedGaussianDistribution(
            np.zeros((1, 1)), np.ones((1, 1))
        )
        assert np.isnan(library.log_prob(np.ones((1, 1))).array).all()
    formula = parity.rl.SquashedGaussian([[0.0]], [[1.0]])
    same(formula.log_prob([[1.0]]), [-np.inf])
    D = torch.distributions
    plain = D.TransformedDistribution(D.Normal(torch.zeros(1), torch.ones(1)), D.TanhTransform())
    assert plain.log_prob(torch.ones(1)).isnan().all()
    # a sample of u = 20 is 1.0 exactly; only what it was before determines its density
    before = np.array([[20.0]])
    assert np.tanh(before) == 1.0
    assert np.isfinite(formula.log_prob_before(before)).all()
