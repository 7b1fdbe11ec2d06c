"""Every space: what is drawn is contained, of its dtypes and shapes, batched as Gymnasium does."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import parity
from parity.errors import FrameworkMissing, InputError
from parity.observations import batch_sizes, floats, ranges

from .draw import spaces
from .laws import arrays_of, form, holds, is_of, minimal

gymnasium = pytest.importorskip("gymnasium")
S = gymnasium.spaces

# Drawing a space three deep and an observation of it takes hypothesis many draws.
deep = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

NESTED = S.Dict(
    image=S.Box(0, 255, (3, 4, 2), np.uint8),
    speed=S.Box(-np.inf, np.inf, (3,)),
    rest=S.Tuple([S.Discrete(4, start=2), S.Sequence(S.Box(-1, 1, (2,)), stack=True)]),
)
SPACES = [
    NESTED,
    S.Text(4),
    S.MultiBinary([2, 3]),
    S.MultiDiscrete([[3, 4], [5, 6]], start=[[-2, 1], [0, 9]]),
    S.Graph(S.Box(-1, 1, (2,)), S.Discrete(3)),
    S.OneOf([S.Discrete(3), S.Box(0, 1, (2,))]),
    S.Box(-(2**63), 2**63 - 1, (3,), np.int64),
    S.Box(0, 2**64 - 1, (3,), np.uint64),
    S.Box(0, 1, (3, 2), np.bool_),
    S.Box(2**60, 2**60 + 5, (9,), np.int64),
    S.Box(2**60, 2**60 + 50, (9,), np.int64),
    S.Box(-1e300, -1e200, (2,), np.float64),
    *[
        S.Box(low, high, (3,), dtype)
        for dtype in (np.float16, np.float32, np.float64)
        for most in [np.finfo(dtype).max]
        for low, high in [(0.95 * most, most), (most, most), (most, np.inf), (-np.inf, -most)]
    ],
    S.Box(-np.inf, np.inf, ()),
    S.Box(-1, 1, (0, 3)),
]


@deep
@given(st.data())
def test_a_space_contains_what_is_drawn(data: st.DataObject) -> None:
    space = data.draw(spaces(S))
    is_of(space, data.draw(parity.observations(space)))


@deep
@given(st.data())
def test_a_space_of_classic_gym_contains_what_is_drawn(data: st.DataObject) -> None:
    space = data.draw(spaces(pytest.importorskip("gym").spaces))
    is_of(space, data.draw(parity.observations(space)))


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_space_contains_each_of_many(space: Any) -> None:
    holds(lambda drawn: is_of(space, drawn), parity.observations(space), 50)


@deep
@given(st.data(), st.integers(1, 4))
def test_a_batch_is_laid_out_as_by_gymnasium(data: st.DataObject, size: int) -> None:
    utils = gymnasium.vector.utils
    space = data.draw(spaces(S, depth=2))
    batch = data.draw(parity.observations(space, batch=size))
    assert utils.batch_space(space, size).contains(batch)
    singles = [data.draw(parity.observations(space)) for _ in range(size)]
    empty = utils.create_empty_array(space, size)
    expected = utils.concatenate(space, singles, empty)
    fixed = [kind for kind in ("Text", "Sequence", "Graph", "OneOf") if kind in str(space)]
    if not fixed:  # lengths of the others differ from one to the next
        assert form(batch) == form(expected)


def test_a_batch_of_things_of_no_fixed_size_is_a_tuple_of_them() -> None:
    space = S.Dict(text=S.Text(3), box=S.Box(-1, 1, (2,)), graph=S.Graph(S.Box(-1, 1, (2,)), None))

    def law(batch: dict[str, Any]) -> None:
        assert batch["box"].shape == (3, 2)
        for name in ("text", "graph"):
            assert isinstance(batch[name], tuple) and len(batch[name]) == 3
            assert all(space[name].contains(one) for one in batch[name])

    holds(law, parity.observations(space, batch=3))


# --- the laws see what breaks them ---------------------------------------------------------------


def test_the_law_sees_values_out_of_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    space = S.Box(-1, 1, (3, 40))
    monkeypatch.setattr(ranges.Range, "at", lambda self, offsets: (offsets * 2).astype("f"))
    with pytest.raises(AssertionError, match="does not contain"):
        holds(lambda drawn: is_of(space, drawn), parity.observations(space))


def test_the_law_sees_another_dtype_and_another_shape() -> None:
    space = S.Box(-1, 1, (3,), np.float64)
    is_of(space, np.zeros(3))
    with pytest.raises(AssertionError, match="float32"):  # which `contains` lets pass
        is_of(space, np.zeros(3, "float32"))
    assert form(np.zeros((2, 3))) != form(np.zeros((3, 2)))


def test_the_law_sees_a_row_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ranges.Range, "shaped", lambda self, values, batch: values.reshape(-1, *self.shape)[1:]
    )
    space = S.Tuple([S.Box(-1, 1, (2,)), S.Discrete(3)])
    batched = gymnasium.vector.utils.batch_space(space, 4)
    with pytest.raises(AssertionError, match="does not contain"):
        holds(lambda drawn: is_of(batched, drawn), parity.observations(space, batch=4))


# --- shrinking -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (S.Box(-np.inf, np.inf, (5,)), [0, 1, -1, 2, -2]),
        (S.Box(-1, 1, (5,)), [0, 1, -1, 0.5, -0.5]),
        (S.Box(0.5, 2, (3,)), [0.5, 1.5, 1]),
        (S.Box(2, np.inf, (3,)), [2, 3, 4]),
        (S.Box(-np.inf, -2, (3,)), [-2, -3, -4]),
        (S.Box(0, 255, (2, 3), np.uint8), [[0, 1, 2], [3, 4, 5]]),
        (S.Box(-1, 1, ()), 0),
        (S.Discrete(4, start=-2), 0),
        (S.Discrete(4, start=3), 3),
        (S.MultiDiscrete([3, 4, 5]), [0, 1, 2]),
        (S.MultiBinary(4), [0, 1, 0, 1]),
        (S.Text(4, charset="xyz"), "x"),
        (S.Sequence(S.Discrete(3)), ()),
        (S.OneOf([S.Discrete(3), S.Box(0, 1, (2,))]), (0, 0)),
    ],
    ids=str,
)
def test_it_shrinks_to_the_simplest_values_in_order(space: Any, expected: Any) -> None:
    found = minimal(parity.observations(space))
    assert np.array_equal(found, expected) if isinstance(found, np.ndarray) else found == expected


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_every_array_shrinks_to_zero_or_an_end_in_its_first_element(space: Any) -> None:
    for array, part in arrays_of(space, minimal(parity.observations(space))):
        if array.size and type(part).__name__ == "Box":
            low, high = part.low.ravel()[0].item(), part.high.ravel()[0].item()
            assert array.ravel()[0] == (0 if low <= 0 <= high else low if low > -1e6 else high)


def test_one_element_shrinks_and_leaves_the_others_simple() -> None:
    floats = parity.observations(S.Box(-9, 9, (4,)))
    found = [minimal(floats, lambda drawn: drawn[2] > 4.2, seed) for seed in range(6)]
    assert all(one[[0, 1, 3]].tolist() == [0, 1, 2] for one in found)
    # 5 is the simplest; shrinking is a descent, and may end at another number of few digits
    assert sum(one[2] == 5 for one in found) >= 4
    assert all(8 * one[2] % 1 == 0 for one in found)
    image = parity.observations(S.Box(0, 255, (3, 3), np.uint8))
    assert minimal(image, lambda drawn: drawn[1, 1] > 100).tolist() == [
        [0, 1, 2],
        [3, 101, 5],
        [6, 7, 8],
    ]


# --- where the values come from ------------------------------------------------------------------

# Hypothesis itself keeps and restores NumPy's global state.
KEPT = {"Generator", "PCG64", "SeedSequence", "BitGenerator", "seed", "get_state", "set_state"}


@pytest.fixture
def no_other_randomness(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **options: Any) -> Any:
        raise RuntimeError("drawn past hypothesis")

    for name in set(np.random.__all__) - KEPT:
        monkeypatch.setattr(np.random, name, refuse)
    monkeypatch.setattr(S.Space, "np_random", property(refuse))
    for kind in {type(space) for space in SPACES}:
        monkeypatch.setattr(kind, "sample", refuse)


@pytest.mark.usefixtures("no_other_randomness")
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_it_draws_through_hypothesis_only(space: Any) -> None:
    holds(lambda drawn: None, parity.observations(space, batch="any"))
    with pytest.raises(RuntimeError, match="drawn past hypothesis"):
        space.sample()


@pytest.mark.usefixtures("no_other_randomness")
def test_values_from_elsewhere_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floats, "spread", lambda within, count, seed: np.random.rand(count))
    with pytest.raises(RuntimeError, match="drawn past hypothesis"):
        holds(lambda drawn: None, parity.observations(S.Box(-1, 1, (9, 9))))


def test_the_same_seed_draws_the_same() -> None:
    def examples(number: int) -> list[str]:
        drawn = []

        @seed(number)
        @settings(max_examples=20, database=None)
        @given(parity.observations(NESTED, batch="any"))
        def run(observation: Any) -> None:
            drawn.append(repr(observation))

        np.random.seed(len(drawn))
        run()
        return drawn

    assert examples(1) == examples(1)
    assert examples(1) != examples(2)


# --- sizes of a batch ----------------------------------------------------------------------------


@given(st.data())
def test_no_batch_is_as_large_as_another_axis(data: st.DataObject) -> None:
    space = data.draw(spaces(S, depth=1))
    size = data.draw(batch_sizes(space))
    singles = [part for part in [space, *getattr(space, "spaces", [])] if hasattr(part, "shape")]
    assert all(size not in (part.shape or ()) for part in singles)
    if type(space).__name__ == "Discrete":
        assert size != space.n


def test_batches_are_of_one_and_more() -> None:
    space = S.Box(-1, 1, (2, 3))
    sizes = set()
    holds(lambda drawn: sizes.add(len(drawn)), parity.observations(space, batch="any"), 200)
    assert {1, 4} < sizes <= {1, 4, 5, 6, 7, 8, 9, 10}
    assert len(minimal(parity.observations(space, batch="any"))) == 1


def test_a_batch_may_be_a_strategy() -> None:
    strategy = parity.observations(S.Discrete(3), batch=st.sampled_from([3, 7]))
    holds(lambda drawn: pytest.fail() if len(drawn) not in (3, 7) else None, strategy)


# --- the entry -----------------------------------------------------------------------------------


def test_the_package_is_the_function() -> None:
    import inspect

    module = importlib.import_module("parity.observations")
    assert parity.observations is module and callable(module)
    assert inspect.signature(parity.observations) == inspect.signature(module.observations)
    assert all(hasattr(module, name) for name in module.__all__)


def test_a_subclass_is_read_as_what_it_is_made_from() -> None:
    class Pixels(S.Box):
        pass

    space = Pixels(0, 255, (3, 3), np.uint8)
    holds(lambda drawn: is_of(space, drawn), parity.observations(space))


# --- messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: parity.observations({"a": 1}), "dict.*Give env.observation_space"),
        (lambda: parity.observations(S.Space()), "a space of your own"),
        (lambda: parity.observations(S.Discrete(3), batch=0), "batch is 0"),
        (lambda: parity.observations(S.Discrete(3), batch=True), "batch is True"),
        (lambda: parity.observations(S.Discrete(3), edges=("tie",)), "no edge 'tie'.*ties"),
        (lambda: parity.observations(S.Discrete(3), max_length=0), "max_length is 0"),
        (lambda: parity.observations.arrays((3,), low=2, high=1), "low is 2 and high is 1"),
        (lambda: parity.observations.arrays((3,), "U4"), "dtype is <U4"),
        (
            lambda: minimal(parity.observations(S.Discrete(3), batch=st.just("2"))),
            "batch gave '2'",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(call: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        call()


def test_without_gymnasium_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(FrameworkMissing, match=r'pip install "\.\[rl\]", in the root') as caught:
        parity.observations("CartPole-v1")
    assert caught.value.framework == "gymnasium"
