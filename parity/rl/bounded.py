"""Action distributions over numbers between bounds: squashed Gaussians and beta distributions.

The rule of parity/rl/distributions.py holds: parameters are (batch..., actions), the last axis is
the event, and logarithms of densities are summed over it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.errors import InputError
from parity.rl.arrays import floats, softplus
from parity.rl.continuous import DiagonalGaussian, gaussian_log_density, positive
from parity.rl.distributions import Distribution, NoClosedForm, uniform_noise
from parity.rl.special import beta_quantile, digamma, log_beta
from parity.tape import Array


class SquashedGaussian(Distribution):
    """tanh of independent Gaussians, moved to [low, high].

    Haarnoja et al. 2018, "Soft Actor-Critic" (arXiv:1801.01290), appendix C. log(1 - tanh(u)^2) is
    taken as 2 (log 2 - u - softplus(-2 u)), which is exact where tanh(u) rounds to 1.

    Args:
        mean, std: of the Gaussian, (batch..., actions).
        low, high: bounds of the actions, numbers or (actions,).
    """

    def __init__(self, mean: Any, std: Any, low: Any = -1.0, high: Any = 1.0) -> None:
        self.base = DiagonalGaussian(mean, std)
        self.batch_shape, self.event_shape = self.base.batch_shape, self.base.event_shape
        self.low, self.high = _bounds(low, high, self.event_shape)

    def log_prob(self, action: Any) -> Array:
        """Of an action; -inf on the bounds, where the density is 0, and beyond.

        Libraries clip there instead and give some finite number. Near the bounds an action no
        longer shows where it came from; `log_prob_before` does.
        """
        action = self._action(action)
        below, above = action - self.low, self.high - action
        inside = (below > 0) & (above > 0)
        with np.errstate(all="ignore"):
            before = np.where(inside, 0.5 * (np.log(below) - np.log(above)), 0.0)
        logs = np.where(inside, self._log_density(before), -np.inf)
        found: Array = np.where(np.isnan(action), np.nan, logs).sum(-1)
        return found

    def log_prob_before(self, before: Any) -> Array:
        """Of the action that comes of `before`, (batch..., actions), the Gaussian's own draw."""
        found: Array = self._log_density(self._action(before, "before")).sum(-1)
        return found

    def _log_density(self, before: Array) -> Array:
        slope = 2 * (np.log(2) - before - softplus(-2 * before))
        scale = np.log((self.high - self.low) / 2)
        found: Array = gaussian_log_density(before, self.base.mean, self.base.std) - slope - scale
        return found

    def entropy(self) -> Array:
        """There is no closed form.

        Raises:
            NoClosedForm: always.
        """
        raise NoClosedForm(
            "a squashed Gaussian has no entropy in closed form; take the mean of -log_prob over "
            "samples, or base.entropy() for the Gaussian before the tanh, which is another number."
        )

    def kl(self, other: SquashedGaussian) -> Array:
        """That of the two Gaussians: one and the same tanh on both changes nothing."""
        other = self._like(other)
        if (self.low != other.low).any() or (self.high != other.high).any():
            raise InputError("kl needs two squashed Gaussians with the same bounds.")
        return self.base.kl(other.base)

    def mode(self) -> Array:
        """The squashed mean, which greedy policies take.

        It is the median. The density's maximum is elsewhere, and for a wide Gaussian at a bound.
        """
        return self._squash(self.base.mean)

    def sample(self, noise: Any) -> Array:
        """The squashed sample, with unit Gaussian noise (batch..., actions)."""
        return self._squash(self.base.sample(noise))

    def _squash(self, before: Array) -> Array:
        found: Array = self.low + (self.high - self.low) * (np.tanh(before) + 1) / 2
        return found


class Beta(Distribution):
    """Independent beta distributions, moved to [low, high].

    Chou et al. 2017, "Improving Stochastic Policy Gradients in Continuous Control with Deep RL
    using the Beta Distribution".

    Args:
        alpha, beta: positive, (batch..., actions).
        low, high: bounds of the actions, numbers or (actions,).
    """

    def __init__(self, alpha: Any, beta: Any, low: Any = 0.0, high: Any = 1.0) -> None:
        self.alpha, self.beta = positive("alpha", alpha, "beta", beta, first_too=True)
        self.batch_shape, self.event_shape = self.alpha.shape[:-1], self.alpha.shape[-1:]
        self.low, self.high = _bounds(low, high, self.event_shape)

    def log_prob(self, action: Any) -> Array:
        """Of an action; -inf beyond the bounds, and on them the limit, which may be infinite."""
        action = self._action(action)
        wide = self.high - self.low
        below, above = (action - self.low) / wide, (self.high - action) / wide
        with np.errstate(all="ignore"):
            # a factor of power 0 is 1, on a bound too
            left = np.where(self.alpha == 1, 0 * below, (self.alpha - 1) * np.log(below))
            right = np.where(self.beta == 1, 0 * above, (self.beta - 1) * np.log(above))
            logs = left + right - log_beta(self.alpha, self.beta) - np.log(wide)
        found: Array = np.where((below < 0) | (above < 0), -np.inf, logs).sum(-1)
        return found

    def entropy(self) -> Array:
        a, b = self.alpha, self.beta
        parts = (a - 1) * digamma(a) + (b - 1) * digamma(b) - (a + b - 2) * digamma(a + b)
        found: Array = (log_beta(a, b) - parts + np.log(self.high - self.low)).sum(-1)
        return found

    def kl(self, other: Beta) -> Array:
        other = self._like(other)
        if (self.low != other.low).any() or (self.high != other.high).any():
            raise InputError("kl needs two beta distributions with the same bounds.")
        a, b = self.alpha, self.beta
        logs = log_beta(other.alpha, other.beta) - log_beta(a, b)
        moments = (a - other.alpha) * digamma(a) + (b - other.beta) * digamma(b)
        both = (other.alpha - a + other.beta - b) * digamma(a + b)
        found: Array = (logs + moments + both).sum(-1)
        return found

    def mode(self) -> Array:
        """The density's maximum; a bound where it rises to it, the middle where it has none.

        With both parameters below 1 both bounds are infinite maxima, and the lower one is given.
        """
        a, b = self.alpha, self.beta
        with np.errstate(all="ignore"):
            inner = (a - 1) / (a + b - 2)
        highest = np.where((a > 1) & (b > 1), inner, np.where((a > 1) | (b < 1), 1.0, 0.0))
        highest = np.where((a < 1) & (b < 1), 0.0, highest)
        highest = np.where((a == 1) & (b == 1), 0.5, highest)
        found: Array = self.low + (self.high - self.low) * highest
        return found

    def sample(self, noise: Any) -> Array:
        """Quantiles at uniform noise (batch..., actions).

        Libraries draw from gamma distributions instead; no noise gives the same numbers there.
        """
        uniform = uniform_noise(noise, self.alpha.shape)
        share = beta_quantile(uniform, self.alpha, self.beta)
        found: Array = self.low + (self.high - self.low) * share
        return found


def _bounds(low: Any, high: Any, event_shape: tuple[int, ...]) -> tuple[Array, Array]:
    a, b = floats("low", low), floats("high", high)
    for name, array in (("low", a), ("high", b)):
        if array.shape not in ((), event_shape):
            raise InputError(f"{name} has shape {array.shape}; expected () or {event_shape}.")
    a, b = np.broadcast_to(a, event_shape), np.broadcast_to(b, event_shape)
    if not ((a < b) & np.isfinite(b - a)).all():
        raise InputError("low must be below high, and both finite.")
    return a, b
