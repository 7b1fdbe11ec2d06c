"""Recordings: what is read from each kind of file, and that nothing in them is executed."""

from __future__ import annotations

import json
import pickle
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parity.errors import FileError, FrameworkMissing, InputError, ParityError, UsageError
from parity.observations import recorded

X = np.random.default_rng(0).normal(size=(10, 4)).astype("float32")
N = np.arange(10)


class Trap:
    """Says so when it is unpickled."""

    def __reduce__(self) -> Any:
        return exec, ("import sys; sys.sprung = True",)


def sprung() -> bool:
    return bool(vars(sys).pop("sprung", False))


@pytest.fixture(autouse=True)
def nothing_is_unpickled() -> Any:
    yield
    assert not sprung()


def test_the_trap_works() -> None:
    pickle.loads(pickle.dumps(Trap()))
    assert sprung()


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def sample_batch(first: int, last: int) -> dict[str, Any]:
    """As RLlib's JsonWriter writes it, columns uncompressed."""
    return {
        "type": "SampleBatch",
        "obs": X[first:last].tolist(),
        "actions": [0] * (last - first),
        "dones": [False] * (last - first),
    }


# --- arrays --------------------------------------------------------------------------------------


def test_an_array_for_each_part(tmp_path: Path) -> None:
    np.savez(tmp_path / "life.npz", image=X, gear=N)
    found = recorded(tmp_path / "life.npz", steps=3)
    assert found.keys() == {"image", "gear"} and found["gear"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(found["image"], X[:3])
    assert recorded(tmp_path / "life.npz")["image"].shape == (10, 4)


def test_arrays_of_objects_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "life.npz", obs=np.array([Trap()], object), allow_pickle=True)
    with pytest.raises(UsageError, match="holds Python objects"):
        recorded(tmp_path / "life.npz")


# --- RLlib's JSON --------------------------------------------------------------------------------


def test_batches_of_many_steps(tmp_path: Path) -> None:
    file = lines(tmp_path / "output_0.json", sample_batch(0, 4), sample_batch(4, 10))
    found = recorded(file)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(recorded(file, steps=5), X[:5])


def test_a_record_for_each_step_as_todays_rllib_writes_it(tmp_path: Path) -> None:
    steps = [{"eps_id": "a", "obs": row.tolist(), "rewards": 1.0} for row in X]
    np.testing.assert_array_equal(recorded(lines(tmp_path / "a.json", *steps)), X)


def test_observations_in_dicts(tmp_path: Path) -> None:
    whole = {"type": "SampleBatch", "obs": {"x": X.tolist(), "in": {"n": N.tolist()}}}
    step = {"obs": {"x": X[0].tolist(), "in": {"n": 7}}}
    found = recorded(lines(tmp_path / "a.json", whole, step))
    assert found["x"].shape == (11, 4) and found["in"]["n"].tolist() == [*N, 7]
    assert found["x"].dtype == np.float32 and found["in"]["n"].dtype == np.int64


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    lines(tmp_path / "output_1.json", sample_batch(4, 10))
    lines(tmp_path / "output_0.json", sample_batch(0, 4))
    (tmp_path / "notes.txt").write_text("these are ours")
    np.testing.assert_array_equal(recorded(tmp_path), X)


def test_of_several_policies_one_is_named(tmp_path: Path) -> None:
    batches = {"a": {"obs": X.tolist()}, "b": {"obs": (2 * X).tolist()}}
    whole = {"type": "MultiAgentBatch", "count": 10, "policy_batches": batches}
    file = lines(tmp_path / "a.json", whole)
    np.testing.assert_array_equal(recorded(file, policy="b"), 2 * X)
    with pytest.raises(UsageError, match="'a', 'b' were recorded; name one"):
        recorded(file)
    single = whole | {"policy_batches": {"a": batches["a"]}}
    np.testing.assert_array_equal(recorded(lines(file, single)), X)


# As RLlib 2.60 packs it where lz4 is installed: base64 of lz4 of a pickle.
PACKED = (
    "BCJNGGhA0QAAAAAAAAB9zAAAAFKABZXGAAEA8hqME251bXB5Ll9jb3JlLm51bWVyaWOUjAtfZnJvbWJ1ZmZlcpSTlCiW"
)


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"type": "SampleBatch", "obs": PACKED}, "line 1: .*pickle.*output_compress_columns"),
        ({"obs": {"x": PACKED}}, "packed as a pickle"),
        ({"type": "SampleBatch", "actions": [1]}, "no column 'obs', but: type, actions"),
        ([1, 2], "a record is list"),
        ({"type": "SampleBatch", "obs": []}, "holds no observations"),
        ({"type": "SampleBatch", "obs": 3}, "cannot be read as RLlib's JSON"),
        ({"type": "SampleBatch", "obs": {"a": [1, 2], "b": [1]}}, "cannot be read"),
    ],
)
def test_what_is_no_batch_is_reported(tmp_path: Path, record: Any, says: str) -> None:
    with pytest.raises(FileError, match=says):
        recorded(lines(tmp_path / "a.json", record))


@pytest.mark.parametrize("text", ["{", "\x00\x01", "[" * 100_000, '{"obs": [1, 2]'])
def test_what_is_no_json_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FileError, match=r"a\.json cannot be read as RLlib's JSON"):
        recorded(tmp_path / "a.json")


def test_steps_of_several_shapes_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="differ in shape"):
        recorded(lines(tmp_path / "a.json", {"obs": [1.0]}, {"obs": [1.0, 2.0]}))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no.json", "There is no file"),
        ("no.npz", "There is no file"),
        ("empty", "holds neither .json nor .parquet"),
        ("both", "holds both"),
    ],
)
def test_what_is_not_there_is_reported(tmp_path: Path, name: str, says: str) -> None:
    for folder, files in {"empty": [], "both": ["a.json", "a.parquet"]}.items():
        (tmp_path / folder).mkdir()
        for file in files:
            (tmp_path / folder / file).touch()
    with pytest.raises(UsageError, match=says):
        recorded(tmp_path / name)


def test_no_steps_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="steps is 0"):
        recorded(tmp_path, steps=0)


# --- RLlib's Parquet -----------------------------------------------------------------------------


def write_parquet(path: Path, column: Any, kind: Any = None, **metadata: str) -> Path:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    array = arrow.array(column, kind)
    known = {f"ARROW:extension:{name}": value for name, value in metadata.items()}
    schema = arrow.schema([arrow.field("obs", array.type, metadata=known or None)])
    parquet.write_table(arrow.table([array], schema=schema), path)
    return path


def test_a_row_for_each_step(tmp_path: Path) -> None:
    file = write_parquet(tmp_path / "a.parquet", X.tolist())
    np.testing.assert_array_equal(recorded(file), X)
    np.testing.assert_array_equal(recorded(tmp_path, steps=2), X[:2])


def test_rays_tensors_get_their_shape_back(tmp_path: Path) -> None:
    named = {"name": "ray.data.arrow_tensor_v2", "metadata": "[2, 2]"}
    file = write_parquet(tmp_path / "a.parquet", X.tolist(), **named)
    np.testing.assert_array_equal(recorded(file), X.reshape(10, 2, 2))


@pytest.mark.parametrize(
    ("column", "metadata", "says"),
    [
        ([PACKED], {}, "packed as a pickle"),
        ([pickle.dumps(Trap())], {}, "packed as a pickle"),
        ([[1.0]], {"name": "arrow.py_extension_type", "metadata": "x"}, "without one shape"),
        (
            [[1.0]],
            {"name": "ray.data.arrow_tensor", "metadata": pickle.dumps(Trap(), 0).decode()},
            "shape of the column 'obs' is packed as a pickle",
        ),
    ],
)
def test_pickles_in_parquet_are_refused(
    tmp_path: Path, column: Any, metadata: Any, says: str
) -> None:
    with pytest.raises(FileError, match=says):
        recorded(write_parquet(tmp_path / "a.parquet", column, **metadata))


def test_what_is_no_parquet_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(FileError, match="cannot be read as Parquet"):
        recorded(tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="There is no file"):
        recorded(tmp_path / "b.parquet")


def test_an_old_pyarrow_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = types.ModuleType("pyarrow")
    old.__version__ = "14.0.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyarrow", old)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", types.ModuleType("pyarrow.parquet"))
    with pytest.raises(FrameworkMissing, match="pyarrow>=14.0.1"):
        recorded(tmp_path / "a.parquet")


# --- Minari --------------------------------------------------------------------------------------


class MinariStub(types.ModuleType):
    """The two calls that are made from it; from one data set, in two episodes."""

    def load_dataset(self, name: str, download: bool = True) -> Any:
        assert not download
        if name != "rig/test-v0":
            raise FileNotFoundError(f"Dataset {name} not found locally")
        parts = [{"x": X[first:last], "n": (N[first:last],)} for first, last in ((0, 4), (4, 10))]
        episodes = [types.SimpleNamespace(observations=part) for part in parts]
        return types.SimpleNamespace(iterate_episodes=lambda: iter(episodes))


def test_the_episodes_of_a_data_set_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minari", MinariStub("minari"))
    found = recorded("minari:rig/test-v0")
    np.testing.assert_array_equal(found["x"], X)
    assert found["n"][0].tolist() == N.tolist()
    assert recorded("minari:rig/test-v0", steps=5)["x"].shape == (5, 4)
    with pytest.raises(UsageError, match="minari download other-v0"):
        recorded("minari:other-v0")


def test_a_data_set_of_minaris_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari")
    gymnasium = pytest.importorskip("gymnasium")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    episodes = [
        minari.data_collector.EpisodeBuffer(
            id=number,
            observations=rows,
            actions=np.zeros(len(rows) - 1, int),
            rewards=[1.0] * (len(rows) - 1),
            terminations=[False] * (len(rows) - 1),
            truncations=[False] * (len(rows) - 2) + [True],
            infos=None,
        )
        for number, rows in enumerate((X[:4], X[4:]))
    ]
    spaces = gymnasium.spaces
    data = minari.create_dataset_from_buffers(
        "test/cart-v0",
        buffer=episodes,
        observation_space=spaces.Box(-np.inf, np.inf, (4,)),
        action_space=spaces.Discrete(2),
    )
    assert data.total_episodes == 2
    np.testing.assert_array_equal(recorded("minari:test/cart-v0"), X)
    with pytest.raises(UsageError, match="minari download test/none-v0"):
        recorded("minari:test/none-v0")


@pytest.mark.parametrize(
    ("package", "source", "says"),
    [
        ("pyarrow.parquet", "a.parquet", "pip install pyarrow"),
        ("minari", "minari:a-v0", r"pip install 'minari\[hdf5\]'"),
    ],
)
def test_what_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, package: str, source: str, says: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(FrameworkMissing, match=says) as caught:
        recorded(source)
    assert isinstance(caught.value, ParityError) and package.startswith(caught.value.framework)
