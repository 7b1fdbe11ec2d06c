"""Observations of environments that a random policy steps, and windows of them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import parity
from parity.errors import FrameworkMissing, InputError, UsageError
from parity.model import flatten_inputs
from parity.observations import rollout, windows

from .laws import holds, minimal

gymnasium = pytest.importorskip("gymnasium")
S = gymnasium.spaces

# The standard set that needs nothing but Gymnasium itself; the rest needs pygame, Box2D or MuJoCo.
STANDARD = [
    "CartPole",
    "Acrobot",
    "MountainCar",
    "MountainCarContinuous",
    "Pendulum",
    "FrozenLake",
    "Taxi",
    "CliffWalking",
    "Blackjack",
]


def newest(name: str) -> str:
    """The id of an environment with its newest version, whichever Gymnasium is installed."""
    specs = [spec for spec in gymnasium.registry.values() if spec.name == name]
    return max(specs, key=lambda spec: spec.version or 0).id


class Recorder(gymnasium.Env):
    """Ends every third step; hands out one array, which it writes into."""

    action_space = S.Discrete(5)

    def __init__(self, space: Any = None) -> None:
        self.observation_space = space or S.Box(-99, 99, (2,))
        self.seeds: list[Any] = []
        self.actions: list[int] = []
        self.closed = False
        self.state = np.zeros(2, "float32")

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.seeds.append(seed)
        self.state[:] = 0
        return self.state, {}

    def step(self, action: Any) -> Any:
        self.actions.append(int(action))
        self.state += 1
        return self.state, 0.0, bool(self.state[0] == 3), False, {}

    def close(self) -> None:
        self.closed = True


class Given(Recorder):
    """Gives one observation after the other of a list."""

    def __init__(self, observations: list[Any]) -> None:
        super().__init__()
        self.left = iter(observations)

    def reset(self, **_: Any) -> Any:
        return next(self.left), {}

    def step(self, action: Any) -> Any:
        return next(self.left), 0.0, False, False, {}


@pytest.mark.parametrize("name", STANDARD)
def test_what_an_environment_gives_is_of_its_space(name: str) -> None:
    name = newest(name)
    space = gymnasium.spec(name).make().observation_space
    found = parity.rollout(name, steps=40, seed=3)
    batch = gymnasium.vector.utils.batch_space(space, 40)
    assert batch.contains(found) or isinstance(space, S.Tuple)
    arrays = flatten_inputs(found).values()
    assert all(len(array) == 40 for array in arrays)
    assert max(len(np.unique(array)) for array in arrays) > 3
    same, other = (parity.rollout(name, steps=40, seed=seed) for seed in (3, 4))
    both = [np.concatenate([array.ravel() for array in flatten_inputs(one).values()])
            for one in (found, same, other)]  # fmt: skip
    assert np.array_equal(both[0], both[1]) and not np.array_equal(both[0], both[2])


def test_episodes_follow_each_other_and_the_seed_is_given_once() -> None:
    env = Recorder()
    found = rollout(env, steps=8, seed=5)
    assert found[:, 0].tolist() == [0, 1, 2, 0, 1, 2, 0, 1]  # copies of what was there
    assert env.seeds[0] == 5 and set(env.seeds[1:]) == {None}
    assert len(set(env.actions)) > 1 and not env.closed


def test_an_environment_that_it_made_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    env = Recorder()
    monkeypatch.setattr(gymnasium, "make", lambda name: env)
    rollout("Recorder-v0", steps=2)
    assert env.closed


def test_dicts_and_tuples_become_batches() -> None:
    one = {"image": np.zeros((4, 3), np.uint8), "rest": (np.int64(2), np.ones(2, "f"))}
    found = rollout(Given([one] * 6), steps=5)
    assert found["image"].shape == (5, 4, 3) and found["image"].dtype == np.uint8
    assert found["rest"][0].shape == (5,) and found["rest"][1].shape == (5, 2)


@pytest.mark.parametrize(
    ("observations", "says"),
    [
        ([np.zeros(2), np.zeros(3), 0], "differ in shape"),
        (["north", "south", ""], "of dtype <U5, not numbers"),
        ([{"a": (1,)}, {"a": (1, 2)}, {}], "observations at a have no fixed shape"),
    ],
)
def test_what_makes_no_batch_is_reported(observations: list[Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        rollout(Given(observations), steps=2)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: rollout("CartPoll-v1"), UsageError, "There is no environment 'CartPoll-v1'"),
        (lambda: rollout("nowhere:Env-v0"), UsageError, "nowhere"),
        (lambda: rollout(7), UsageError, "7 is no environment"),
        (lambda: rollout("CartPole-v1", steps=0), InputError, "steps is 0"),
        (lambda: rollout("CartPole-v1", steps=2.5), InputError, "steps is 2.5"),
        (lambda: rollout("CartPole-v1", seed=-1), InputError, "seed is -1"),
        (lambda: rollout(gymnasium.make_vec("CartPole-v1", 2)), UsageError, "give one of them"),
    ],
)
def test_what_cannot_be_stepped_is_refused(call: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        call()


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(name: str) -> Any:
        raise gymnasium.error.DependencyNotInstalled('run `pip install "gymnasium[box2d]"`')

    monkeypatch.setattr(gymnasium, "make", make)
    with pytest.raises(FrameworkMissing, match=r"LunarLander-v3.*gymnasium\[box2d\]"):
        rollout("LunarLander-v3")
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(FrameworkMissing, match=r'pip install "\.\[rl\]", in the root') as caught:
        rollout("CartPole-v1")
    assert caught.value.framework == "gymnasium"


# --- windows -------------------------------------------------------------------------------------

ROWS = {"x": np.arange(60.0).reshape(20, 3), "n": np.arange(20)}


def test_a_window_is_of_consecutive_rows() -> None:
    seen: set[tuple[int, int]] = set()

    def law(drawn: Any) -> None:
        first = int(drawn["n"][0])
        assert drawn["n"].tolist() == list(range(first, first + len(drawn["n"])))
        assert np.array_equal(drawn["x"], ROWS["x"][drawn["n"]])
        assert len(drawn["n"]) != 3  # as the other axis is
        seen.add((first, len(drawn["n"])))

    holds(law, windows(ROWS), 200)
    assert {size for _, size in seen} == {1, 2, 4, 5, 6, 7, 8, 9}
    assert any(first + size == 20 for first, size in seen)
    assert minimal(windows(ROWS))["n"].tolist() == [0]
    assert minimal(windows(ROWS, batch=4), lambda one: 9 in one["n"])["n"].tolist() == [6, 7, 8, 9]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: windows({"a": np.zeros(2), "b": np.zeros(3)}), r"the shapes \(2,\), \(3,\)"),
        (lambda: windows(np.zeros((0, 3))), r"the shapes \(0, 3\)"),
        (lambda: windows(np.float32(3)), r"the shapes \(\)"),
        (lambda: minimal(windows(np.zeros(4), batch=5)), "up to 4"),
        (lambda: minimal(windows(np.zeros(4), batch=st.just(0))), "batch gave 0"),
    ],
)
def test_what_has_no_windows_is_refused(call: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        call()


def test_a_fault_that_shows_in_life_is_found_and_another_is_not(assert_parity: Any) -> None:
    """A speed beyond 1 is seldom in a rollout of CartPole, an angle beyond its bound never."""
    torch = pytest.importorskip("torch")
    weight = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 3)).astype("f"))
    life = windows(parity.rollout("CartPole-v1", steps=200))

    def policy(x: Any) -> Any:
        return x @ weight

    def clipped(x: Any, most: Any) -> Any:
        return torch.clamp(x, -torch.tensor(most), torch.tensor(most)) @ weight

    def ports(most: Any) -> list[Any]:
        port = lambda x: clipped(x, most)  # noqa: E731
        return [parity.wrap(model, framework="torch") for model in (policy, port)]

    assert_parity(*ports([9.0, 9.0, 0.5, 9.0]), observations=life, max_examples=100)
    with pytest.raises(BaseException, match="diverged"):
        assert_parity(*ports([9.0, 1.0, 9.0, 9.0]), observations=life, max_examples=100)
