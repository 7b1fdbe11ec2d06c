"""Files of weights: what each format gives back, what is refused, and that nothing in one runs."""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parity.errors import FileError, FrameworkMissing, ParityError
from parity.frameworks.import_hooks import silence
from parity.weights.files import (
    FORMATS,
    WeightFile,
    read_weights,
    safe_io,
    subprocess_probe,
    write_weights,
)
from parity.weights.files.keras_layers import parse_config

silence()
ml_dtypes = pytest.importorskip("ml_dtypes")
torch = pytest.importorskip("torch")
tensorflow = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
h5py = pytest.importorskip("h5py")
torch.set_num_threads(1)

# Of each format: the file's name, and what its packages are called.
WRITTEN = {
    "npz": ("w.npz", ()),
    "chainer": ("w.npz", ()),
    "torch": ("w.pt", ()),
    "safetensors": ("w.safetensors", ("safetensors",)),
    "keras-h5": ("w.h5", ()),
    "hdf5": ("w.h5", ()),
    "tensorflow": ("w", ()),
}
TYPES = ("float32", "float64", "float16", "int64", "int8", "uint8", "bool")
NAMES = {
    "npz": ("weight", "bias"),
    "chainer": ("0/0/W", "0/0/b"),
    "torch": ("net.0.weight", "net.0.bias"),
    "safetensors": ("net.0.weight", "net.0.bias"),
    "keras-h5": ("conv/kernel:0", "conv/bias:0"),
    "hdf5": ("conv/kernel", "conv/bias"),
    "tensorflow": ("conv/kernel", "conv/bias"),
}


def needs(kind: str) -> None:
    for package in WRITTEN[kind][1]:
        pytest.importorskip(package)


def assert_same(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """The same names, and every bit the same."""
    assert sorted(found) == sorted(expected)
    for name, array in expected.items():
        array, own = np.asarray(array), found[name]
        assert (own.dtype, own.shape) == (array.dtype, array.shape), name
        assert own.tobytes() == array.tobytes(), name


@pytest.fixture(params=WRITTEN)
def kind(request: pytest.FixtureRequest) -> str:
    needs(request.param)
    return str(request.param)


# --- round trips ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TYPES)
def test_every_format_gives_back_every_type(tmp_path: Path, kind: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    first, second = NAMES[kind]
    path = tmp_path / WRITTEN[kind][0]
    block = (rng.standard_normal((4, 3, 2)) * 3).astype(dtype)
    tensors = {
        second: block.transpose(2, 0, 1)[:, ::2],
        first: block,
        f"{second}_0d": block[0, 0, 0],
        f"{second}_none": block[:0],
    }
    write_weights(path, tensors, format=kind)
    found = read_weights(path)
    assert found.format == kind
    assert_same(found, tensors)
    assert set(found.dtypes.values()) == {dtype}
    assert found.shapes == {name: np.shape(tensors[name]) for name in found}
    assert all(found[name].flags.writeable for name in found)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        *((kind, "bfloat16") for kind in WRITTEN if kind not in ("npz", "chainer")),
        *((kind, "float8_e4m3fn") for kind in ("torch", "keras-h5", "hdf5", "tensorflow")),
    ],
)
def test_types_that_numpy_lacks(tmp_path: Path, kind: str, dtype: str) -> None:
    needs(kind)
    values = np.linspace(-3, 3, 12).reshape(3, 4).astype(getattr(ml_dtypes, dtype))
    tensors = {NAMES[kind][0]: values.T, NAMES[kind][1]: values[0, 0]}
    write_weights(tmp_path / WRITTEN[kind][0], tensors, format=kind)
    found = read_weights(tmp_path / WRITTEN[kind][0])
    assert_same(found, tensors)
    assert set(found.dtypes.values()) == {dtype}


def test_no_type_is_lost_silently(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    with pytest.raises(FileError, match="float8_e5m2"):
        write_weights(tmp_path / "w.safetensors", {"w": np.zeros(2, ml_dtypes.float8_e5m2)})
    with pytest.raises(FileError, match="bfloat16.*safetensors"):
        write_weights(tmp_path / "w.npz", {"w": np.zeros(2, ml_dtypes.bfloat16)})
    np.savez(tmp_path / "w.npz", w=np.zeros(2, ml_dtypes.bfloat16), b=np.zeros(2))
    found = read_weights(tmp_path / "w.npz")
    assert list(found) == ["b"]
    assert [(note.kind, note.names) for note in found.notes] == [("object", ("w",))]


name_texts = st.text(
    st.characters(codec="utf-8", exclude_characters="\0/\\:."), min_size=1, max_size=8
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    tensors=st.dictionaries(
        name_texts,
        hnp.arrays(
            st.sampled_from([np.float32, np.float16, np.int64, np.bool_, np.dtype(">f4")]),
            hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_names_and_bits(tmp_path: Path, kind: str, tensors: dict[str, Any]) -> None:
    path = tmp_path / WRITTEN[kind][0]
    tensors = {f"n{name}": array for name, array in tensors.items()}
    write_weights(path, tensors, format=kind)
    native = {n: array.astype(array.dtype.newbyteorder("=")) for n, array in tensors.items()}
    assert_same(read_weights(path), native)


@pytest.mark.parametrize("kind", ["npz", "chainer", "torch", "keras-h5"])
def test_the_order_is_kept(tmp_path: Path, kind: str) -> None:
    names = [f"layer{index}/w" for index in (10, 9, 2, 1, 11)]
    path = tmp_path / WRITTEN[kind][0]
    write_weights(path, {name: np.ones(2, "f") for name in names}, format=kind)
    assert list(read_weights(path)) == names


def test_like_keeps_order_and_all_else(tmp_path: Path, kind: str) -> None:
    first, second = NAMES[kind]
    path, new = tmp_path / WRITTEN[kind][0], tmp_path / ("new" + Path(WRITTEN[kind][0]).suffix)
    write_weights(path, {second: np.zeros(3, "f"), first: np.zeros((2, 2), "f")}, format=kind)
    tensors = {first: np.full((2, 2), 2, "f"), second: np.arange(3, dtype="f8")}
    write_weights(new, tensors, like=path)
    assert list(read_weights(new)) == list(read_weights(path))
    assert_same(read_weights(new), tensors)
    write_weights(path, read_weights(new), like=path)  # in place
    assert_same(read_weights(path), tensors)
    for wrong, why in (
        ({first: tensors[first]}, f"also has.*{second}"),
        ({**tensors, "more": tensors[first]}, "lacks.*more"),
        ({**tensors, second: np.zeros(4)}, r"\(4,\).*\(3,\)"),
    ):
        with pytest.raises(FileError, match=why):
            write_weights(new, wrong, like=path)
    assert_same(read_weights(new), tensors)


def test_what_is_no_number_is_not_written(tmp_path: Path, kind: str) -> None:
    path = tmp_path / WRITTEN[kind][0]
    for thing in (np.array(["a"]), np.array(None), object()):
        with pytest.raises(FileError, match="weights are numbers"):
            write_weights(path, {"w": thing}, format=kind)
    assert list(tmp_path.iterdir()) == []


# --- files that the frameworks write -------------------------------------------------------------


def test_chainer(tmp_path: Path) -> None:
    from parity.frameworks.chainer_numpy import import_chainer

    try:
        chainer = import_chainer()
    except FrameworkMissing:
        pytest.skip("Chainer is not installed")
    links = chainer.links
    chain = chainer.ChainList(
        chainer.Sequential(links.Linear(4, 3), links.BatchNormalization(3)),
        links.Linear(None, 2),  # without a value until it is called
    )
    path = tmp_path / "model.npz"
    chainer.serializers.save_npz(path, chain)
    found = read_weights(path)
    assert found.format == "chainer"
    assert set(found.uninitialised) == {"1/W"}
    assert "1/b" in found and "1/W" not in found
    counters = [note.names for note in found.notes if note.kind == "counter"]
    assert counters == [("0/1/N",)]
    linear = chain[0][0]
    assert found["0/0/W"].tobytes() == linear.W.array.tobytes()
    # written back, it is a file that Chainer reads, with the missing value still missing
    changed = {name: found[name] + found[name].dtype.type(1) for name in found}
    write_weights(path, changed, like=path)
    before = linear.W.array.copy()
    chainer.serializers.load_npz(path, chain)
    assert np.array_equal(linear.W.array, before + 1)
    assert read_weights(path).uninitialised == ("1/W",)


def test_agents_folders(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.mkdir()
    for number, name in enumerate(("model", "optimizer", "target_model")):
        np.savez_compressed(agent / f"{name}.npz", **{"0/W": np.full(2, number, "f")})
    found = read_weights(agent)
    assert (found.part, found.parts) == ("model", ("model", "optimizer", "target_model"))
    assert found["0/W"][0] == 0
    assert read_weights(agent, "target_model")["0/W"][0] == 2
    with pytest.raises(FileError, match="no part 'actor'.*target_model"):
        read_weights(agent, "actor")
    sac = tmp_path / "sac"
    sac.mkdir()
    for name in ("policy", "q_func1"):
        torch.save(torch.nn.Linear(2, 2).state_dict(), sac / f"{name}.pt")
    with pytest.raises(FileError, match="policy, q_func1"):
        read_weights(sac)
    assert list(read_weights(sac, "policy")) == ["weight", "bias"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="no weights"):
        read_weights(tmp_path / "empty")


def test_torch_state_dicts(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    expected = {name: value.numpy() for name, value in model.state_dict().items()}
    path = tmp_path / "model.pt"
    for zipped in (True, False):
        torch.save(model.state_dict(), path, _use_new_zipfile_serialization=zipped)
        found = read_weights(path)
        assert list(found) == list(expected)
        assert_same(found, expected)
        assert [note.names for note in found.notes] == [("1.num_batches_tracked",)]


def test_torch_checkpoints(tmp_path: Path) -> None:
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    path = tmp_path / "checkpoint.pt"
    for key in ("state_dict", "model"):
        state = {f"module.{name}": value for name, value in model.state_dict().items()}
        data = {"epoch": 3, "optimizer": optimizer.state_dict(), key: state, "args": {"lr": 0.1}}
        torch.save(data, path)
        found = read_weights(path)
        assert list(found) == ["module.weight", "module.bias"]
        assert (found.part, found.parts) == (key, ("optimizer", key))
        assert [(note.kind, note.names) for note in found.notes] == [("prefix", ("module.",))]
        assert "state.0.exp_avg" in read_weights(path, "optimizer")
        with pytest.raises(FileError, match="no part 'ema'"):
            read_weights(path, "ema")
    write_weights(path, {name: found[name] * 2 for name in found}, like=path)
    written = torch.load(path, weights_only=True)
    assert written["epoch"] == 3
    assert torch.equal(written["model"]["module.weight"], model.weight * 2)
    assert written["optimizer"]["state"][0]["exp_avg"].equal(
        optimizer.state_dict()["state"][0]["exp_avg"]
    )


def test_torch_parts_without_a_model_are_read_whole(tmp_path: Path) -> None:
    actor, critic = torch.nn.Linear(2, 1), torch.nn.Linear(3, 1)
    both = {"actor": actor.state_dict(), "critic": critic.state_dict()}
    torch.save(both, tmp_path / "w.pt")
    found = read_weights(tmp_path / "w.pt")
    assert list(found) == ["actor.weight", "actor.bias", "critic.weight", "critic.bias"]
    assert list(read_weights(tmp_path / "w.pt", "critic")) == ["weight", "bias"]
    torch.save([actor.weight, {"a": {"b": torch.ones(1)}, "a.b": torch.ones(1)}], tmp_path / "w.pt")
    with pytest.raises(FileError, match=re.escape("'1.a.b'")):
        read_weights(tmp_path / "w.pt")


def test_torch_shared_and_strange_tensors(tmp_path: Path) -> None:
    weight = torch.randn(3, 3)
    data = {
        "embedding": weight,
        "head": weight,
        "turned": weight.T,
        "conj": torch.ones(2, dtype=torch.complex64).conj(),
        "wide": torch.ones(1).expand(4),
        "sparse": weight.to_sparse(),
        "step": 3,
    }
    torch.save(data, tmp_path / "w.pt")
    found = read_weights(tmp_path / "w.pt")
    assert {name: entry.shared for name, entry in found.entries.items() if entry.shared} == {
        "head": "embedding"
    }
    assert_same(found, {name: data[name].resolve_conj().numpy() for name in found})
    assert [note.names for note in found.notes] == [("sparse", "step")]


def keras_model() -> Any:
    """Nested, recurrent, with settings that leave variables out."""
    layers = keras.layers
    inner = keras.Sequential(
        [keras.Input((6, 4)), layers.Conv1D(4, 2, use_bias=False, name="second")], name="inner"
    )
    start = keras.Input((6, 4))
    value = layers.Dense(4, name="zeta")(start)
    value = layers.BatchNormalization(scale=False, name="norm")(inner(value))
    value = layers.Bidirectional(layers.GRU(3), name="both")(value)
    value = layers.Dropout(0.5)(layers.LayerNormalization(name="ln")(value))
    value = layers.Dense(2, name="alpha")(value)
    model = keras.Model(start, value)
    model.compile("sgd", keras.losses.MeanSquaredError())
    for weight in model.weights:
        weight.assign(np.random.default_rng(0).standard_normal(weight.shape).astype(weight.dtype))
    return model


@pytest.mark.parametrize("file", ["m.keras", "m.weights.h5", "m.h5"])
def test_keras_models(tmp_path: Path, file: str) -> None:
    model = keras_model()
    path = tmp_path / file
    (model.save_weights if file.endswith(".weights.h5") else model.save)(path)
    found = read_weights(path)
    own = {weight.path: np.asarray(weight) for weight in model.weights}
    by_label = {label: name for name, label in found.labels.items()}
    if file == "m.weights.h5":  # the names of variables are not in the file, those of layers are
        assert {label.rpartition("/")[0] for label in by_label} == {
            name.rpartition("/")[0] for name in own
        }
    else:
        assert set(by_label) == set(own)
        assert_same({label: found[by_label[label]] for label in own}, own)
        layers = [name for name in dict.fromkeys(label.split("/")[0] for label in by_label)]
        order = ["zeta", "inner", "norm", "both", "ln", "dropout", "alpha"]
        assert [name for name in layers if "seed" not in name] == [
            name for name in order if name in layers
        ]
        assert {layer.kind for layer in found.layers} >= {"Dense", "BatchNormalization"}
    assert found.format == {"m.keras": "keras", "m.h5": "keras-h5"}.get(file, "keras-weights")
    assert "optimizer" in found.parts and "optimizer" not in "".join(found)
    # written back, Keras reads it
    rise = {name: found[name] + found[name].dtype.type(1) for name in found}
    new = tmp_path / f"new-{file}"
    write_weights(new, rise, like=path)
    assert_same(read_weights(new), rise)
    other = keras_model() if file == "m.weights.h5" else keras.models.load_model(new)
    if file == "m.weights.h5":
        other.load_weights(new)
    for source, target in zip(model.weights, other.weights, strict=True):
        assert np.array_equal(
            np.asarray(source) + np.asarray(source).dtype.type(1), np.asarray(target)
        )


def test_a_packed_keras_file(tmp_path: Path) -> None:
    keras_model().save(tmp_path / "m.keras")
    with (
        zipfile.ZipFile(tmp_path / "m.keras") as plain,
        zipfile.ZipFile(tmp_path / "p.keras", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in plain.namelist():
            packed.writestr(name, plain.read(name))
    assert_same(read_weights(tmp_path / "p.keras"), read_weights(tmp_path / "m.keras"))


def test_keras_weights_of_bfloat16(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, dtype="bfloat16")])
    model.save_weights(tmp_path / "m.weights.h5")
    found = read_weights(tmp_path / "m.weights.h5")
    assert set(found.dtypes.values()) == {"bfloat16"}
    kernel = found["layers/dense/vars/0"]
    assert kernel.tobytes() == np.asarray(model.layers[0].kernel).tobytes()


def test_keras_subclassed(tmp_path: Path) -> None:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first = keras.layers.Dense(3, name="called")
            self.rest = [keras.layers.Dense(2), keras.layers.Dense(1)]

        def call(self, x: Any) -> Any:
            for layer in (self.first, *self.rest):
                x = layer(x)
            return x

    model = Net()
    model(np.ones((1, 2), "f"))
    model.save_weights(tmp_path / "m.weights.h5")
    found = read_weights(tmp_path / "m.weights.h5")
    assert found["first/vars/0"].tobytes() == np.asarray(model.first.kernel).tobytes()
    assert found.labels["first/vars/0"] == "called/0"
    assert [layer.name for layer in found.layers][0] == "called"


def test_a_legacy_file_with_long_and_repeated_names(tmp_path: Path) -> None:
    """As Keras 2 writes it: names as bytes, in pieces, and equal in two layers."""
    path = tmp_path / "old.h5"
    layers = [f"layer_{index}" for index in (2, 10, 1)]
    with h5py.File(path, "w") as file:
        root = file.create_group("model_weights")
        root.attrs["layer_names0"] = np.array([name.encode() for name in layers[:2]])
        root.attrs["layer_names1"] = np.array([name.encode() for name in layers[2:]])
        for number, name in enumerate(layers):
            group = root.create_group(name)
            group.attrs["weight_names"] = np.array([b"kernel:0", b"bias:0"])
            group["kernel:0"], group["bias:0"] = np.full(2, number, "f"), np.zeros(1, ">f4")
        config = {"class_name": "Functional", "config": {"layers": [
            {"class_name": "Dense", "config": {"name": "layer_10"}}]}}  # fmt: skip
        file.attrs["model_config"] = json.dumps(config)
    found = read_weights(path)
    assert list(found)[::2] == [f"{name}/kernel:0" for name in layers]
    assert found["layer_10/kernel:0"][0] == 1
    assert found["layer_1/bias:0"].dtype == np.dtype("f4")
    assert [layer.kind for layer in found.layers] == ["", "Dense", ""]
    many = {f"layer_{number}/{'k' * 200}": np.zeros(1) for number in range(400)}
    write_weights(tmp_path / "many.h5", many)
    assert list(read_weights(tmp_path / "many.h5")) == list(many)


class Module(tensorflow.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        self.weight = tensorflow.Variable(np.ones((2, 3), "f"), name="the_weight")
        self.parts = [tensorflow.Variable(float(n), name=f"part{n}") for n in range(11)]
        self.half = tensorflow.Variable(tensorflow.cast([1.5, 2], tensorflow.bfloat16))
        self.step = tensorflow.Variable(np.int64(7))
        self.text = tensorflow.Variable("no number")


def test_tensorflow_checkpoints(tmp_path: Path) -> None:
    checkpoint = tensorflow.train.Checkpoint(net=Module())
    folder = tmp_path / "run"
    for _ in range(2):
        prefix = Path(checkpoint.save(folder / "ckpt"))
    found = read_weights(prefix)
    assert found.labels["net/weight"] == "the_weight"
    parts = [name for name in found if "parts" in name]
    assert parts == [f"net/parts/{n}" for n in range(11)]
    assert found["net/parts/10"] == np.float32(10)
    assert found.dtypes["net/half"] == "bfloat16"
    notes = {note.kind: note.names for note in found.notes}
    assert notes == {"object": ("net/text",), "counter": ("net/step", "save_counter")}
    index = prefix.with_name("ckpt-2.index")
    for other in (folder, index, prefix.with_name("ckpt-2.data-00000-of-00001")):
        assert read_weights(other).path == prefix
    # written back, TensorFlow restores it
    write_weights(prefix, {**found, "net/weight": np.full((2, 3), 5, "f")}, like=prefix)
    fresh = Module()
    tensorflow.train.Checkpoint(net=fresh).restore(str(prefix)).expect_partial()
    assert np.array_equal(fresh.weight.numpy(), np.full((2, 3), 5))
    assert fresh.text.numpy() == b"no number"
    # a state that points out of the folder is not followed
    (folder / "checkpoint").write_text('model_checkpoint_path: "/etc/ckpt-1"\n')
    assert read_weights(folder).path == folder / "ckpt-1"
    (folder / "checkpoint").unlink()
    with pytest.raises(FileError, match="ckpt-1, ckpt-2"):
        read_weights(folder)


def test_saved_models(tmp_path: Path) -> None:
    tensorflow.saved_model.save(Module(), str(tmp_path / "saved"))
    found = read_weights(tmp_path / "saved")
    assert found.labels["weight"] == "the_weight"
    assert found["weight"].shape == (2, 3)
    shutil.rmtree(tmp_path / "saved" / "variables")
    with pytest.raises(FileError):
        read_weights(tmp_path / "saved")


# --- ONNX ----------------------------------------------------------------------------------------


def onnx_model(tensors: Mapping[str, Any]) -> Any:
    onnx = pytest.importorskip("onnx")
    ends = [onnx.helper.make_tensor_value_info(name, 1, [2]) for name in "xy"]
    node = onnx.helper.make_node("Identity", ["x"], ["y"])
    held = [
        onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in tensors.items()
    ]
    return onnx.helper.make_model(onnx.helper.make_graph([node], "g", ends[:1], ends[1:], held))


def test_onnx(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    rng = np.random.default_rng(1)
    tensors = {dtype: (rng.standard_normal((2, 3)) * 3).astype(dtype) for dtype in TYPES}
    tensors |= {"0d": np.float32(3), "none": np.zeros((0, 2), "f")}
    tensors["bf"] = tensors["float32"].astype(ml_dtypes.bfloat16)
    onnx.save(onnx_model({**tensors, "text": np.array(["a"])}), tmp_path / "m.onnx")
    found = read_weights(tmp_path / "m.onnx")
    assert list(found) == list(tensors)
    assert_same(found, tensors)
    assert [note.names for note in found.notes if note.kind == "object"] == [("text",)]
    tensors["float32"] = tensors["float32"] + np.float32(1)
    write_weights(tmp_path / "n.onnx", tensors, like=tmp_path / "m.onnx")
    assert_same(read_weights(tmp_path / "n.onnx"), tensors)
    onnx.checker.check_model(onnx.load(tmp_path / "n.onnx"))


def test_onnx_values_outside_the_file(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    folder = tmp_path / "model"
    folder.mkdir()
    tensors = {"w": np.arange(600, dtype="f").reshape(2, 300), "b": np.arange(500, dtype="f8")}
    onnx.save(
        onnx_model(tensors), folder / "m.onnx", save_as_external_data=True, size_threshold=0,
        location="m.bin",
    )  # fmt: skip
    assert_same(read_weights(folder / "m.onnx"), tensors)
    model = onnx.load(folder / "m.onnx", load_external_data=False)
    shutil.copy(folder / "m.bin", tmp_path / "m.bin")
    (folder / "link.bin").symlink_to(tmp_path / "m.bin")
    for place in ("../m.bin", str(tmp_path / "m.bin"), "link.bin", "", "none.bin"):
        for tensor in model.graph.initializer:
            next(one for one in tensor.external_data if one.key == "location").value = place
        onnx.save(model, folder / "bad.onnx")
        with pytest.raises(FileError, match="no file in the model's folder"):
            read_weights(folder / "bad.onnx")
    (folder / "m.bin").write_bytes(b"short")
    with pytest.raises(FileError, match="too short"):
        read_weights(folder / "m.onnx")


# --- what is hostile, damaged or misnamed --------------------------------------------------------


class Bomb:
    """Unpickled, it makes a file."""

    def __init__(self, sentinel: Path) -> None:
        self.sentinel = sentinel

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.sentinel),)


def test_the_bomb_goes_off_where_pickles_are_run(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Bomb(tmp_path / "sentinel")))
    assert (tmp_path / "sentinel").exists()


def _npz_bomb(path: Path, bomb: Bomb) -> None:
    np.savez(path, allow_pickle=True, w=np.zeros(2), bomb=np.array(bomb, dtype=object))


def _keras_bomb(path: Path, bomb: Bomb) -> None:
    model = keras.Sequential(
        [keras.Input((2,)), keras.layers.Lambda(lambda x: x), keras.layers.Dense(1)]
    )
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    import base64
    import marshal

    code = compile(f"__import__('os').mkdir({str(bomb.sentinel)!r})", "bomb", "exec")
    config["config"]["layers"][1]["config"]["function"]["config"]["code"] = base64.b64encode(
        marshal.dumps(code)
    ).decode()
    members["config.json"] = json.dumps(config).encode()
    members["evil.pkl"] = pickle.dumps(bomb)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


BOMBS: dict[str, Callable[[Path, Bomb], None]] = {
    "w.npz": _npz_bomb,
    "w.pt": lambda path, bomb: torch.save({"w": torch.ones(2), "bomb": bomb}, path),
    "old.pt": lambda path, bomb: torch.save(
        {"w": torch.ones(2), "bomb": bomb}, path, _use_new_zipfile_serialization=False
    ),
    "w.keras": _keras_bomb,
    "w.pkl": lambda path, bomb: path.write_bytes(pickle.dumps(bomb)) and None,
    "pickle.npz": lambda path, bomb: path.write_bytes(pickle.dumps(bomb)) and None,
}


@pytest.mark.parametrize("file", BOMBS)
def test_nothing_in_a_file_is_run(tmp_path: Path, file: str) -> None:
    sentinel = tmp_path / "sentinel"
    BOMBS[file](tmp_path / file, Bomb(sentinel))
    try:
        found = read_weights(tmp_path / file)
    except FileError as error:
        assert "run" in str(error)
    else:
        assert file in ("w.npz", "w.keras")  # they have weights beside the bomb
        assert len(found) > 0
        for name in found:
            found[name]
        assert file != "w.npz" or [note.names for note in found.notes] == [("bomb",)]
    assert not sentinel.exists()


def test_a_bomb_is_no_uninitialised_parameter(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", a=np.array(None), b=np.array([None]), c=np.array({}), d=np.ones(1))
    found = read_weights(tmp_path / "w.npz")
    assert found.uninitialised == ("a",)
    assert {note.kind: note.names for note in found.notes}["object"] == ("b", "c")


def test_programs_and_modules_are_refused(tmp_path: Path) -> None:
    torch.jit.script(torch.nn.Linear(2, 2)).save(tmp_path / "script.pt")
    with pytest.raises(FileError, match="TorchScript.*state_dict"):
        read_weights(tmp_path / "script.pt")
    torch.save(torch.nn.Linear(2, 2), tmp_path / "module.pt")
    with pytest.raises(FileError, match=r"torch\.nn\.modules\.linear\.Linear.*state_dict"):
        read_weights(tmp_path / "module.pt")


def test_archives_that_would_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safe_io, "FREE_BYTES", 2**16)
    zeros = np.zeros(2**20, "f")
    np.savez_compressed(tmp_path / "w.npz", w=zeros)
    torch.save({"w": torch.zeros(1).expand(2**40)}, tmp_path / "w.pt")
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file.create_dataset("w", (2**40,), "f", chunks=(2**10,))
    for name in ("w.npz", "w.pt", "w.h5"):
        with pytest.raises(FileError, match="fill the memory"):
            read_weights(tmp_path / name)
    np.savez(tmp_path / "w.npz", w=zeros)  # as much, and it is there
    assert_same(read_weights(tmp_path / "w.npz"), {"w": zeros})


def test_a_header_that_promises_too_much(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "w.npz", "w") as archive, archive.open("w.npy", "w") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (2**50,)}
        )
    with pytest.raises(FileError, match="too few"):
        read_weights(tmp_path / "w.npz")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "w.npz", "w") as archive:
        archive.writestr("w.npy", b"1")
        archive.writestr("w.npy", b"2")
    with pytest.raises(FileError, match="one name"):
        read_weights(tmp_path / "w.npz")


def test_a_damaged_heap_does_not_hang_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its remaining free space has size 0: the HDF5 library looks for the next object for ever."""
    monkeypatch.setattr(subprocess_probe, "_WALL_SECONDS", 4)
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save(tmp_path / "m.h5")
    data = bytearray((tmp_path / "m.h5").read_bytes())
    heap = data.index(b"GCOL\x01")
    data[heap + 16 : heap + 32] = bytes(16)
    (tmp_path / "m.h5").write_bytes(data)
    with pytest.raises(FileError, match="hangs or fails"):
        read_weights(tmp_path / "m.h5")


def test_the_directory_of_an_archive_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no handle is kept: the file can be replaced, which a later read reports."""
    write_weights(tmp_path / "w.npz", {f"w{n}": np.full(3, n, "f") for n in range(50)})
    opened = []
    real = zipfile.ZipFile.__init__

    def counting(self: Any, *args: Any, **kwargs: Any) -> None:
        opened.append(args)
        real(self, *args, **kwargs)

    monkeypatch.setattr(zipfile.ZipFile, "__init__", counting)
    found = read_weights(tmp_path / "w.npz")
    before = len(opened)
    assert [found[name][0] for name in found] == list(range(50))
    assert len(opened) == before
    (tmp_path / "w.npz").write_bytes(b"another file")
    with pytest.raises(FileError, match=r"w\.npz cannot be read at 'w7'"):
        found["w7"]


def test_a_layer_of_a_name_without_end_is_refused(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="d" * 5000)])
    model.save(tmp_path / "m.keras")
    with pytest.raises(FileError, match="a layer's name has 5000 characters"):
        read_weights(tmp_path / "m.keras")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")
def test_a_child_that_takes_memory_without_end_is_ended(tmp_path: Path) -> None:
    (tmp_path / "hungry.py").write_text(
        "def survey(path, part):\n    return {'error': str(len(bytearray(5 * 2**30)))}\n"
    )
    child = (
        "import parity.weights.files as package; "
        "from parity.weights.files import subprocess_probe; "
        f"package.__path__.append({str(tmp_path)!r}); subprocess_probe._main('hungry', 'm.h5', '')"
    )
    said = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True)
    assert "MemoryError" in json.loads(said.stdout)["error"]


@pytest.mark.parametrize("how", ["soft", "external", "raw", "virtual", "loop"])
def test_hdf5_does_not_lead_out_of_the_file(tmp_path: Path, how: str) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["secret"] = np.ones(3)
    (tmp_path / "secret").write_bytes(bytes(24))
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file["own"] = np.ones(3)
        if how == "soft":
            file["w"] = h5py.SoftLink("/own")
        elif how == "external":
            file["w"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "secret")
        elif how == "raw":
            file.create_dataset("w", (3,), "f8", external=[(str(tmp_path / "secret"), 0, 24)])
        elif how == "virtual":
            layout = h5py.VirtualLayout((3,), "f8")
            layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "secret", (3,))
            file.create_virtual_dataset("w", layout)
        else:
            file["group/again"] = file["/"]
    with pytest.raises(FileError, match="refused"):
        read_weights(tmp_path / "w.h5")


def test_torch_containers_that_hold_themselves(tmp_path: Path) -> None:
    data: dict[str, Any] = {}
    data["model"] = data
    torch.save(data, tmp_path / "w.pt")
    with pytest.raises(FileError, match="holds itself"):
        read_weights(tmp_path / "w.pt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"hello", "no known kind"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        (b"\x93NUMPY\x01\x00", "single array"),
        (b"PK\x03\x04", "cut off"),
        (b"\x89HDF\r\n\x1a\n", "cut off"),
        (b"PK\x05\x06" + bytes(18), "without members"),
    ],
)
@pytest.mark.parametrize("suffix", [".npz", ".pt", ".h5", ".keras", ".safetensors", ""])
def test_files_that_hold_no_weights(
    tmp_path: Path, content: bytes, message: str, suffix: str
) -> None:
    path = tmp_path / f"w{suffix}"
    path.write_bytes(content)
    with pytest.raises(FileError, match=message) as raised:
        read_weights(path)
    assert str(path) in str(raised.value)


def test_the_content_determines_the_format(tmp_path: Path) -> None:
    for kind in ("npz", "torch", "keras-h5"):
        write_weights(tmp_path / "w.weights", {"a/w": np.ones(2)}, format=kind)
        shutil.copy(tmp_path / "w.weights", tmp_path / "w.onnx")
        assert FORMATS[read_weights(tmp_path / "w.weights").format].module == FORMATS[kind].module
        note = read_weights(tmp_path / "w.onnx").notes[-1]
        assert note.kind == "suffix" and "is named as ONNX" in note.text


def test_no_such_file_or_format(tmp_path: Path) -> None:
    tensors = {"w": np.ones(1)}
    with pytest.raises(FileError, match="There is no file"):
        read_weights(tmp_path / "none.npz")
    with pytest.raises(FileError, match="does not say which format"):
        write_weights(tmp_path / "w.ckpt", tensors)
    with pytest.raises(FileError, match="Unknown format 'pickle'"):
        write_weights(tmp_path / "w", tensors, format="pickle")
    with pytest.raises(FileError, match="no folder"):
        write_weights(tmp_path / "none" / "w.npz", tensors)
    with pytest.raises(FileError, match="vars/0"):
        write_weights(tmp_path / "w.weights.h5", tensors)
    for name in ("w.keras", "w.onnx"):
        with pytest.raises(FileError, match="like="):
            write_weights(tmp_path / name, tensors)
    write_weights(tmp_path / "w.npz", tensors)
    with pytest.raises(FileError, match="cannot show how"):
        write_weights(tmp_path / "w.pt", tensors, like=tmp_path / "w.npz")


@pytest.mark.parametrize("package", ["torch", "safetensors", "h5py", "tensorflow"])
def test_a_package_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    import importlib.util
    import sys

    monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    kind = {"h5py": "keras-h5"}.get(package, package)
    with pytest.raises(FrameworkMissing, match=f"{package} is not installed.*pip install"):
        write_weights(tmp_path / "w", {"w": np.ones(1)}, format=kind)
    assert list(tmp_path.iterdir()) == []


# --- cut and flipped files -----------------------------------------------------------------------


def _damaged(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.4:
        return data[: rng.randrange(len(data))]
    flipped = bytearray(data)
    for _ in range(rng.choice((1, 2, 16))):
        flipped[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(flipped)


def _sources(folder: Path, kind: str) -> WeightFile:
    tensors = {
        f"{name}{n}": np.arange(6, dtype="f") for name in NAMES.get(kind, "ab") for n in "12"
    }
    if kind == "keras":
        keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]).save(folder / "w.keras")
        return read_weights(folder / "w.keras")
    if kind == "onnx":
        pytest.importorskip("onnx").save(onnx_model(tensors), folder / "w.onnx")
        return read_weights(folder / "w.onnx")
    if kind == "old torch":
        state = {name: torch.from_numpy(array) for name, array in tensors.items()}
        torch.save(state, folder / "w.pt", _use_new_zipfile_serialization=False)
        return read_weights(folder / "w.pt")
    needs(kind)
    write_weights(folder / WRITTEN[kind][0], tensors, format=kind)
    return read_weights(folder / WRITTEN[kind][0])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [*WRITTEN, "keras", "onnx", "old torch"])
def test_damaged_files_give_arrays_or_a_clear_error(tmp_path: Path, kind: str) -> None:
    """Formats with checksums notice it; others may not, but nothing else may result."""
    _sources(tmp_path, kind)
    files = {file: file.read_bytes() for file in tmp_path.iterdir()}
    path = next(iter(files)) if len(files) == 1 else tmp_path / WRITTEN[kind][0]
    rng = random.Random(kind)
    refused = 0
    # an HDF5 file is looked at by a process of its own, which takes its time to start
    cases = 25 if h5py.is_hdf5(path) or kind == "keras" else 100
    for _ in range(cases):
        damaged = rng.choice(sorted(files))
        damaged.write_bytes(_damaged(files[damaged], rng))
        try:
            found = read_weights(path)
            for name in found:
                assert isinstance(found[name], np.ndarray)
        except ParityError as error:
            refused += 1
            assert str(path) in str(error)
        damaged.write_bytes(files[damaged])
    assert refused >= 0.3 * cases  # the cut ones, at least
    assert len(read_weights(path)) > 0


# --- whole or not at all -------------------------------------------------------------------------


class Interrupted(BaseException):
    """As Ctrl-C."""


class Interrupting(dict[str, Any]):
    """Tensors of which the second cannot be had."""

    def items(self) -> Any:
        for number, item in enumerate(super().items()):
            if number:
                raise Interrupted
            yield item


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / WRITTEN[kind][0]
    old = {NAMES[kind][0]: np.ones(3, "f"), NAMES[kind][1]: np.ones(2, "f")}
    write_weights(path, old, format=kind)
    files = {file: file.read_bytes() for file in tmp_path.iterdir()}
    new = Interrupting({name: array + 1 for name, array in old.items()})
    for like in (None, path):
        with pytest.raises(Interrupted):
            write_weights(path, new, format=kind, like=like)
        assert {file: file.read_bytes() for file in tmp_path.iterdir()} == files


def test_a_write_that_fails_at_its_end_leaves_the_old_file(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / WRITTEN[kind][0]
    tensors = {NAMES[kind][0]: np.ones(3, "f")}
    write_weights(path, tensors, format=kind)
    files = {file: file.read_bytes() for file in tmp_path.iterdir()}

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FileError, match="cannot be written.*No space left"):
        write_weights(path, {NAMES[kind][0]: np.zeros(3, "f")}, format=kind)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == files


def test_arrays_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    """The headers state shapes; an array that is not asked for may even be damaged."""
    many = 10_000
    write_weights(tmp_path / "w.npz", {"good": np.ones(many), "bad": np.full(many, 7.0)})
    data = (tmp_path / "w.npz").read_bytes()
    last = data.rindex(np.float64(7).tobytes())
    (tmp_path / "w.npz").write_bytes(data[:last] + bytes(8) + data[last + 8 :])
    found = read_weights(tmp_path / "w.npz")
    assert found.shapes == {"good": (many,), "bad": (many,)}
    assert found["good"][0] == 1
    with pytest.raises(FileError, match="'bad'.*CRC"):
        found["bad"]


# --- large directories and configs ---------------------------------------------------------------


def test_the_directory_of_an_archive_of_many_arrays_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, path = 20_000, tmp_path / "many.npz"
    with path.open("wb") as file, zipfile.ZipFile(file, "w") as archive:
        np.save(tmp_path / "one.npy", np.arange(6, dtype="f").reshape(2, 3))
        one = (tmp_path / "one.npy").read_bytes()
        for number in range(count):
            archive.writestr(f"layer{number}/W.npy", one)
    opened: list[object] = []
    original = zipfile.ZipFile._RealGetContents
    monkeypatch.setattr(
        zipfile.ZipFile,
        "_RealGetContents",
        lambda archive: opened.append(archive) or original(archive),
    )
    found = read_weights(path)
    assert len(found) == count and found["layer7/W"].shape == (2, 3)
    assert len(opened) <= 3  # once to see what it is; not once for each array


def calls_of(function: Callable[..., Any], *arguments: Any) -> int:
    """How many Python functions it calls: work that no clock has to measure."""
    calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function(*arguments)
    finally:
        sys.setprofile(before)
    return calls


def wide(count: int) -> dict[str, Any]:
    layer = {"class_name": "Dense", "config": {"name": "dense", "units": 4, "use_bias": True}}
    return {"class_name": "Sequential", "config": {"name": "net", "layers": [layer] * count}}


def deep(count: int) -> dict[str, Any]:
    found = wide(1)
    for _ in range(count):
        found = {"class_name": "Sequential", "config": {"name": "net", "layers": [found]}}
    return found


@pytest.mark.parametrize(("config", "count"), [(wide, 1_000), (deep, 100)])
def test_a_config_is_read_in_as_many_steps_as_it_has_layers(
    config: Callable[[int], Any], count: int
) -> None:
    once, twice = (calls_of(parse_config, config(n)) for n in (count, 2 * count))
    assert twice <= 2.5 * once


@pytest.mark.parametrize("config", [wide(1_500), deep(120)])
def test_a_file_with_a_large_config_is_read(tmp_path: Path, config: Any) -> None:
    net = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    net.save(tmp_path / "small.keras")
    large = tmp_path / "large.keras"
    with zipfile.ZipFile(tmp_path / "small.keras") as small, zipfile.ZipFile(large, "w") as other:
        for name in small.namelist():
            written = json.dumps(config) if name == "config.json" else small.read(name)
            other.writestr(name, written)
    assert sorted(one.shape for one in read_weights(large).entries.values()) == [(3,), (4, 3)]
