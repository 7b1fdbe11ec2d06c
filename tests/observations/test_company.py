"""Observations put together, drawn anew, and kept on disk."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import parity
from parity.observations.batching import accompanied, companies, fingerprint, redrawn, sample
from parity.observations.saved import load, save

FLOATS = arrays(np.float32, (2, 3), elements=st.floats(-2, 2, width=32))


def ones(*shape):
    return np.ones(shape, np.float32)


def test_a_sample_is_the_same_each_time_and_leaves_hypothesis_alone():
    first, second = sample(FLOATS), sample(FLOATS)
    assert list(map(fingerprint, first)) == list(map(fingerprint, second))
    assert len(first) > 10


def test_a_company_is_of_distinct_observations_of_one_shape():
    found = [ones(2, 3), ones(2, 3), 2 * ones(2, 3), 3 * ones(2, 3), ones(2, 5)]
    batch, single = companies(found)
    assert batch.shape == (6, 3)
    assert sorted(np.unique(batch)) == [1, 2, 3]
    assert single.shape == (2, 3)


def test_no_more_than_eight_rows_but_one_observation_is_never_cut():
    assert companies([value * ones(3, 2) for value in range(9)])[0].shape == (6, 2)
    assert companies([ones(20, 2), 2 * ones(20, 2)])[0].shape == (20, 2)


@pytest.mark.parametrize(
    "observation",
    [np.float32(3), (ones(2, 3), ones(4, 3)), {"x": ones(2), "n": np.int64(4)}],
    ids=["no axis", "other lengths", "one without"],
)
def test_what_cannot_be_put_together_stays_by_itself(observation):
    assert companies([parity.model.as_arrays(observation)] * 2) == [observation]


def test_others_follow_an_observation_of_their_kind():
    both = accompanied({"x": ones(1, 3)}, {"x": 2 * ones(2, 3)})
    np.testing.assert_array_equal(both["x"][:, 0], [1, 2, 2])
    assert accompanied(ones(1, 3), ones(1, 4)) is None
    assert accompanied(ones(1, 3), ones(1, 3).astype("f8")) is None
    assert accompanied(np.float32(1), np.float32(2)) is None


def test_random_inputs_are_distinct_and_stay_where_the_strategy_was():
    observation = {"x": 0 * ones(1, 4), "index": np.array([[0]])}
    seen = [{"x": np.array([[-1.5, 9, 0, 0]], "f"), "index": np.array([[5]])}]
    random = redrawn(observation, seen, 8)
    assert random["x"].shape == (8, 4) and random["x"].dtype == np.float32
    assert len(np.unique(random["x"])) == 32
    assert -1.5 <= random["x"].min() < -1 and 2 < random["x"].max() <= 3
    assert set(np.unique(random["index"])) == {0, 5}
    assert redrawn(observation, seen, None)["x"].shape == (1, 4)


def test_random_inputs_keep_what_belongs_together():
    """Columns of actions keep to their bounds, and masks to the lengths."""

    def episodes(*lengths):
        mask = np.arange(4) < np.array(lengths)[:, None]
        actions = np.array([[index % 2, 5] for index in range(len(lengths))])
        return {"mask": mask, "lengths": np.array(lengths), "actions": actions, "x": 0 * ones(2, 3)}

    seen = [episodes(4, 3), episodes(1, 2), episodes(3, 3)]
    random = redrawn(episodes(4, 4), seen, 8)
    assert (random["mask"].sum(1) == random["lengths"]).all()
    assert set(random["lengths"]) == {1, 2, 3, 4}
    assert random["actions"].shape == (8, 2)
    assert set(random["actions"][:, 0]) == {0, 1} and (random["actions"][:, 1] == 5).all()
    other = redrawn({"actions": np.array([[0, 5, 0]])}, [{"actions": np.array([[7]])}], 8)
    assert set(other["actions"].ravel()) == {0, 5, 7}  # none of its shape was seen


def test_random_inputs_leave_what_is_constant():
    assert (redrawn(ones(1, 4), [ones(1, 4)], 8) == 1).all()


def test_what_is_saved_is_read_as_it_was(tmp_path):
    observation = {"obs": (ones(2, 3), np.array([1, 2])), 4: np.array(True)}
    save(tmp_path / "new", "test_it.py::test[a b]", tmp_path, observation, 2 * ones(1))
    loaded, random = load(tmp_path / "new" / "observation.npz")
    assert loaded.keys() == observation.keys()
    np.testing.assert_array_equal(loaded["obs"][0], ones(2, 3))
    assert loaded["obs"][1].dtype == np.int64 and loaded[4].dtype == bool
    np.testing.assert_array_equal(random, [2])


@pytest.mark.parametrize("damage", ["cut", "empty", "other", "missing", "pickle"])
def test_a_damaged_file_is_reported(tmp_path, damage):
    path = tmp_path / "observation.npz"
    save(tmp_path, "test_it.py::test", tmp_path, ones(2), None)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:99])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "other":
        np.savez(path, x=ones(2))
    elif damage == "missing":
        path.unlink()
    else:
        np.savez(path, structure=np.array([{}, 1], object), allow_pickle=True)
    with pytest.raises(parity.ParityError, match="holds no observation that parity saved"):
        load(path)


def test_a_name_with_quotes_stays_text(tmp_path):
    script = save(tmp_path, 'test_it.py::test["""; import os #\\]', tmp_path, ones(2), None)
    (line,) = [line for line in script.read_text().splitlines() if line.startswith("TEST = ")]
    assert ast.literal_eval(line.removeprefix("TEST = ")) == 'test_it.py::test["""; import os #\\]'
    ast.parse(script.read_text())


def test_what_a_model_gets_as_it_is_distinguishes_observations():
    one, other = ({"x": ones(1, 3), "greedy": greedy} for greedy in (True, False))
    assert fingerprint(one) != fingerprint(other)
    assert accompanied(one, other) is None
    assert accompanied(one, one)["greedy"] is True
    assert redrawn(one, [other], rows=4)["x"].shape == (4, 3)


def test_what_a_model_gets_as_it_is_is_kept_on_disk(tmp_path):
    given = {"x": ones(1, 3), "greedy": True, "how": ("sum", None, 0.5, 3)}
    save(tmp_path, "test_x.py::test", tmp_path, given, None)
    [found] = load(tmp_path / "observation.npz")
    assert {name: found[name] for name in ("greedy", "how")} == {
        "greedy": True,
        "how": ("sum", None, 0.5, 3),
    }
