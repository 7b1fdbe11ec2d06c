"""Action distributions over choices, in float64: what a policy's logits mean.

One rule for all: parameters are (batch..., event...), where the batch are states and the event is
one action. `log_prob`, `entropy` and `kl` give one number for each state, `batch_shape`; actions
have shape `batch_shape + event_shape`. `sample` draws nothing: it is given the noise, so that two
frameworks can be given the same. Numbers are natural logarithms.

Continuous actions are in parity/rl/continuous.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parity.errors import InputError
from parity.rl.arrays import (
    expect_axes,
    expect_shape,
    floats,
    integers,
    log_softmax,
    softplus,
)
from parity.tape import Array


class NoClosedForm(InputError):
    """A quantity has no formula for this distribution; the message says what can be had instead."""


class Distribution(ABC):
    """An action distribution.

    Attributes:
        batch_shape: of the states.
        event_shape: of one action; () for a single choice.
    """

    batch_shape: tuple[int, ...]
    event_shape: tuple[int, ...]

    @abstractmethod
    def log_prob(self, action: Any) -> Array:
        """Of one action for each state, `batch_shape + event_shape`: a density if continuous."""

    @abstractmethod
    def entropy(self) -> Array:
        """In nats; differential if continuous."""

    @abstractmethod
    def kl(self, other: Any) -> Array:
        """KL(self, other), of the other distribution from this one; of its own kind and shape."""

    @abstractmethod
    def mode(self) -> Array:
        """The action that a greedy policy takes; of equals the first."""

    def _action(self, action: Any, name: str = "action") -> Array:
        array = floats(name, action)
        shape = self.batch_shape + self.event_shape
        expect_shape(name, array, shape, f"batch {self.batch_shape} and event {self.event_shape}")
        return array

    def _like(self, other: Any) -> Any:
        if type(other) is not type(self):
            raise InputError(f"kl needs another {type(self).__name__}, not {type(other).__name__}.")
        if (other.batch_shape, other.event_shape) != (self.batch_shape, self.event_shape):
            raise InputError(
                f"kl needs a batch {self.batch_shape} and an event {self.event_shape}; the other "
                f"has {other.batch_shape} and {other.event_shape}."
            )
        return other


def uniform_noise(noise: Any, shape: tuple[int, ...]) -> Array:
    """Checked noise of [0, 1)."""
    array = floats("noise", noise)
    expect_shape("noise", array, shape, "one uniform number for each draw")
    if (array < 0).any() or (array >= 1).any():
        raise InputError("noise must be uniform in [0, 1); numbers outside were given.")
    return array


def _times(probabilities: Array, logs: Array) -> Array:
    """Probabilities times logarithms; nothing times -inf is nothing."""
    with np.errstate(invalid="ignore"):
        found: Array = np.where(probabilities == 0, 0.0, probabilities * logs)
    return found


class Categorical(Distribution):
    """One of several choices, with the softmax of the logits as probabilities.

    Args:
        logits: (batch..., choices); -inf forbids a choice.
    """

    def __init__(self, logits: Any) -> None:
        logits = floats("logits", logits)
        expect_axes("logits", logits, 1, "(batch..., choices)")
        if np.isneginf(logits).all(-1).any():
            raise InputError("logits forbid every choice of a state: all of a row are -inf.")
        self.logs = log_softmax(logits)
        self.probabilities: Array = np.exp(self.logs)
        self.batch_shape, self.event_shape = logits.shape[:-1], ()

    def log_prob(self, action: Any) -> Array:
        chosen = integers("action", self._action(action), self.logs.shape[-1])
        return np.take_along_axis(self.logs, chosen[..., None], -1)[..., 0]

    def entropy(self) -> Array:
        found: Array = -_times(self.probabilities, self.logs).sum(-1)
        return found

    def kl(self, other: Categorical) -> Array:
        other = self._like(other)
        choices = other.logs.shape[-1]
        if choices != self.logs.shape[-1]:
            raise InputError(f"kl of {self.logs.shape[-1]} choices from {choices} choices.")
        with np.errstate(invalid="ignore"):  # -inf - -inf, where the probability is 0
            difference = self.logs - other.logs
        found: Array = _times(self.probabilities, difference).sum(-1)
        return found

    def mode(self) -> Array:
        found: Array = self.logs.argmax(-1)
        return found

    def sample(self, noise: Any) -> Array:
        """The first choice whose cumulative probability is above the noise, uniform (batch...)."""
        uniform = uniform_noise(noise, self.batch_shape)
        below = self.probabilities.cumsum(-1) <= uniform[..., None]
        choices = self.logs.shape[-1]
        # the sum may end below 1 by rounding; the last choice that is allowed takes the rest
        last = choices - 1 - (self.probabilities > 0)[..., ::-1].argmax(-1)
        found: Array = np.minimum(below.sum(-1), last)
        return found


class MultiCategorical(Distribution):
    """Several independent choices at once: gymnasium's MultiDiscrete.

    Args:
        logits: of all choices, one after another, (batch..., sum of sizes).
        sizes: how many choices each has; an action is (batch..., len(sizes)).
    """

    def __init__(self, logits: Any, sizes: Sequence[int]) -> None:
        logits = floats("logits", logits)
        expect_axes("logits", logits, 1, "(batch..., sum of sizes)")
        if not sizes or min(sizes) < 1 or sum(sizes) != logits.shape[-1]:
            raise InputError(
                f"logits have shape {logits.shape}; sizes {tuple(sizes)} must be positive and add "
                f"up to {logits.shape[-1]}."
            )
        parts = np.split(logits, np.cumsum(sizes)[:-1], axis=-1)
        self.parts = tuple(Categorical(part) for part in parts)
        self.batch_shape, self.event_shape = logits.shape[:-1], (len(sizes),)

    def log_prob(self, action: Any) -> Array:
        columns = np.moveaxis(self._action(action), -1, 0)
        return _sum(part.log_prob(one) for part, one in zip(self.parts, columns, strict=True))

    def entropy(self) -> Array:
        return _sum(part.entropy() for part in self.parts)

    def kl(self, other: MultiCategorical) -> Array:
        other = self._like(other)
        return _sum(part.kl(one) for part, one in zip(self.parts, other.parts, strict=True))

    def mode(self) -> Array:
        return np.stack([part.mode() for part in self.parts], -1)

    def sample(self, noise: Any) -> Array:
        """As `Categorical.sample`, with uniform noise (batch..., len(sizes))."""
        uniform = uniform_noise(noise, self.batch_shape + self.event_shape)
        columns = np.moveaxis(uniform, -1, 0)
        return np.stack([p.sample(one) for p, one in zip(self.parts, columns, strict=True)], -1)


def _sum(arrays: Any) -> Array:
    found: Array = np.sum(list(arrays), axis=0)
    return found


class Bernoulli(Distribution):
    """Independent yes-or-no choices: gymnasium's MultiBinary.

    Args:
        logits: (batch..., choices): log p / (1 - p). An action is (batch..., choices) of 0 and 1.
    """

    def __init__(self, logits: Any) -> None:
        self.logits = floats("logits", logits)
        expect_axes("logits", self.logits, 1, "(batch..., choices)")
        self.batch_shape, self.event_shape = self.logits.shape[:-1], self.logits.shape[-1:]
        self._yes, self._no = -softplus(-self.logits), -softplus(self.logits)

    def log_prob(self, action: Any) -> Array:
        chosen = integers("action", self._action(action), 2)
        found: Array = np.where(chosen == 1, self._yes, self._no).sum(-1)
        return found

    def entropy(self) -> Array:
        parts = _times(np.exp(self._yes), self._yes) + _times(np.exp(self._no), self._no)
        found: Array = -parts.sum(-1)
        return found

    def kl(self, other: Bernoulli) -> Array:
        other = self._like(other)
        with np.errstate(invalid="ignore"):
            yes, no = self._yes - other._yes, self._no - other._no
        found: Array = (_times(np.exp(self._yes), yes) + _times(np.exp(self._no), no)).sum(-1)
        return found

    def mode(self) -> Array:
        """1 where it is the likelier; 0 where both are equally likely."""
        return (self.logits > 0).astype(np.int64)

    def sample(self, noise: Any) -> Array:
        """1 where uniform noise (batch..., choices) is below the probability of 1."""
        uniform = uniform_noise(noise, self.logits.shape)
        return (uniform < np.exp(self._yes)).astype(np.int64)


class Autoregressive(Distribution):
    """Two actions, the second chosen with the first known: p(a, b) = p(a) p(b | a).

    Args:
        first: the distribution of a.
        second: gives the distribution of b for an array of a, (batch...) with a's event.

    The event is that of both: actions and noise are pairs (of a, of b). `event_shape` is a's alone,
    b's may hang on a.
    """

    def __init__(self, first: Distribution, second: Callable[[Array], Distribution]) -> None:
        self.first, self.second = first, second
        self.batch_shape, self.event_shape = first.batch_shape, first.event_shape

    def given(self, first: Array) -> Distribution:
        """The distribution of the second action for each state's first."""
        found = self.second(first)
        if found.batch_shape != self.batch_shape:
            raise InputError(
                f"the second action's distribution has batch {found.batch_shape}; expected "
                f"{self.batch_shape}, one for each first action."
            )
        return found

    def log_prob(self, action: tuple[Any, Any]) -> Array:
        first, second = action
        return self.first.log_prob(first) + self.given(np.asarray(first)).log_prob(second)

    def entropy(self) -> Array:
        """H(a) + sum of p(a) H(b | a), exact for a categorical first action.

        Raises:
            NoClosedForm: the first action is another distribution.
        """
        return self.first.entropy() + self._expect(lambda a: self.given(a).entropy())

    def kl(self, other: Autoregressive) -> Array:
        """The chain rule: KL of the first, and the expected KL of the second.

        Raises:
            NoClosedForm: the first action is no `Categorical`.
        """
        other = self._like(other)
        later = self._expect(lambda a: self.given(a).kl(other.given(a)))
        return self.first.kl(other.first) + later

    def mode(self) -> Any:
        """The greedy pair: the first's mode, and the second's given it.

        It need not be the likeliest pair.
        """
        first = self.first.mode()
        return first, self.given(first).mode()

    def sample(self, noise: tuple[Any, Any]) -> Any:
        """Both actions, each with the noise that its own distribution takes."""
        drawn: Any = self.first
        first = drawn.sample(noise[0])
        then: Any = self.given(first)
        return first, then.sample(noise[1])

    def _expect(self, of: Callable[[Array], Array]) -> Array:
        if not isinstance(self.first, Categorical):
            raise NoClosedForm(
                "an expectation over the first action is exact for a Categorical alone; for "
                f"{type(self.first).__name__} take the mean over samples."
            )
        choices = self.first.logs.shape[-1]
        each = [of(np.full(self.batch_shape, choice)) for choice in range(choices)]
        found: Array = _times(self.first.probabilities, np.stack(each, -1)).sum(-1)
        return found
