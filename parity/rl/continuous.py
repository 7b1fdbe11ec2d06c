"""Action distributions over numbers: Gaussians, their mixtures, a single point.

The rule of parity/rl/distributions.py holds: parameters are (batch..., actions), the last axis is
the event, and logarithms of densities are summed over it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parity.errors import InputError
from parity.rl.arrays import expect_axes, expect_shape, floats, log_sum_exp
from parity.rl.distributions import Categorical, Distribution, NoClosedForm
from parity.tape import Array

_LOG_2PI = float(np.log(2 * np.pi))


class DiagonalGaussian(Distribution):
    """Independent Gaussians.

    Args:
        mean, std: (batch..., actions). A network's log-std or variance is for the caller to turn
            into a standard deviation.
    """

    def __init__(self, mean: Any, std: Any) -> None:
        self.mean, self.std = positive("mean", mean, "std", std, first_too=False)
        self.batch_shape, self.event_shape = self.mean.shape[:-1], self.mean.shape[-1:]

    def log_prob(self, action: Any) -> Array:
        found: Array = gaussian_log_density(self._action(action), self.mean, self.std).sum(-1)
        return found

    def entropy(self) -> Array:
        found: Array = (0.5 + 0.5 * _LOG_2PI + np.log(self.std)).sum(-1)
        return found

    def kl(self, other: DiagonalGaussian) -> Array:
        other = self._like(other)
        ratio = (self.std / other.std) ** 2
        far = ((self.mean - other.mean) / other.std) ** 2
        found: Array = 0.5 * (ratio + far - 1 - np.log(ratio)).sum(-1)
        return found

    def mode(self) -> Array:
        return self.mean

    def sample(self, noise: Any) -> Array:
        """The mean plus std * noise, with unit Gaussian noise (batch..., actions)."""
        found: Array = self.mean + self.std * self._action(noise, "noise")
        return found


def gaussian_log_density(x: Array, mean: Array, std: Array) -> Array:
    found: Array = -0.5 * (((x - mean) / std) ** 2 + _LOG_2PI) - np.log(std)
    return found


class Deterministic(Distribution):
    """One action with probability 1, as a deterministic policy gives it.

    A point has no density: these are its probabilities, 0 nats of entropy among them.

    Args:
        action: (batch..., actions).
    """

    def __init__(self, action: Any) -> None:
        self.action = floats("action", action)
        expect_axes("action", self.action, 1, "(batch..., actions)")
        self.batch_shape, self.event_shape = self.action.shape[:-1], self.action.shape[-1:]

    def log_prob(self, action: Any) -> Array:
        """0 for the action itself, -inf for any other."""
        return np.where((self._action(action) == self.action).all(-1), 0.0, -np.inf)

    def entropy(self) -> Array:
        return np.zeros(self.batch_shape)

    def kl(self, other: Deterministic) -> Array:
        """0 from the same action, inf from any other."""
        return -self.log_prob(self._like(other).action)

    def mode(self) -> Array:
        return self.action

    def sample(self, noise: Any = None) -> Array:
        """The action, whatever the noise."""
        return self.action


class GaussianMixture(Distribution):
    """A mixture of diagonal Gaussians.

    Args:
        logits: of the components, (batch..., components).
        means, stds: (batch..., components, actions).
    """

    def __init__(self, logits: Any, means: Any, stds: Any) -> None:
        self.means, self.stds = positive("means", means, "stds", stds, first_too=False)
        expect_axes("means", self.means, 2, "(batch..., components, actions)")
        logits = floats("logits", logits)
        expect_shape("logits", logits, self.means.shape[:-1], "(batch..., components) of means")
        self.weights = Categorical(logits)
        self.batch_shape, self.event_shape = logits.shape[:-1], self.means.shape[-1:]

    def log_prob(self, action: Any) -> Array:
        each = gaussian_log_density(self._action(action)[..., None, :], self.means, self.stds).sum(
            -1
        )
        return log_sum_exp(self.weights.logs + each)

    def entropy(self) -> Array:
        """There is no closed form.

        Raises:
            NoClosedForm: always.
        """
        raise NoClosedForm(f"{_MIXTURE} entropy; take the mean of -log_prob over samples.")

    def kl(self, other: GaussianMixture) -> Array:
        """There is no closed form.

        Raises:
            NoClosedForm: always.
        """
        raise NoClosedForm(
            f"{_MIXTURE} KL; take the mean of the difference of log_prob over samples of the first."
        )

    def mean(self) -> Array:
        """The expected action."""
        found: Array = (self.weights.probabilities[..., None] * self.means).sum(-2)
        return found

    def mode(self) -> Array:
        """There is no closed form, nor one convention.

        Raises:
            NoClosedForm: always.
        """
        raise NoClosedForm(
            f"{_MIXTURE} mode; mean() is the expected action, and the heaviest component's mean "
            "means[weights.mode()]."
        )

    def sample(self, noise: tuple[Any, Any]) -> Array:
        """Of two noises: uniform (batch...) for the component, unit Gaussian for the action."""
        component = self.weights.sample(noise[0])[..., None, None]
        mean = np.take_along_axis(self.means, component, -2)[..., 0, :]
        std = np.take_along_axis(self.stds, component, -2)[..., 0, :]
        found: Array = mean + std * self._action(noise[1], "noise")
        return found


_MIXTURE = "a mixture of Gaussians has no closed form of its"


def positive(
    name: str, one: Any, other_name: str, other: Any, *, first_too: bool
) -> tuple[Array, Array]:
    """Two parameters of one shape, the second positive, or both."""
    a, b = floats(name, one), floats(other_name, other)
    expect_axes(name, a, 1, "(batch..., actions)")
    expect_shape(other_name, b, a.shape, f"the shape of {name}")
    for label, array in ((name, a), (other_name, b))[not first_too :]:
        if (array <= 0).any():
            raise InputError(f"{label} must be positive; the least is {array.min():g}.")
    return a, b
