"""What goes wrong is reported, the target stays as it was, and no file is half written."""

from __future__ import annotations

import importlib.util
import json
import sys

import numpy as np
import pytest
import torch

import parity
from parity.cli import main
from parity.errors import FileError, InputError, UsageError
from parity.weights import transfer as transfers
from parity.weights import trial_runs, writing
from parity.weights.saving import save
from tests.weights import transfer_models as nets

INPUTS = np.random.default_rng(4).normal(size=(3, 4)).astype("f")


@pytest.fixture
def weights(module, tmp_path):
    """The source's file, whole."""
    source = __import__(module).source()
    save(parity.wrap(source), tmp_path / "model.npz")
    return tmp_path / "model.npz"


def listing(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "__pycache__")


def interrupt(*_args, **_options):
    raise KeyboardInterrupt


@pytest.mark.parametrize("moment", ["compare", "_put", "tabulate"])
def test_an_interrupted_run_leaves_the_target_and_the_folder(module, tmp_path, monkeypatch, moment):
    target = __import__(module).TARGET
    before, files = [w.numpy() for w in target.weights], listing(tmp_path)
    module_of = {"compare": trial_runs, "_put": writing, "tabulate": transfers}
    monkeypatch.setattr(module_of[moment], moment, interrupt)
    code = main(["transfer", f"{module}:source", f"{module}:TARGET", "-o", "out.keras"])
    assert code == 130 and listing(tmp_path) == files
    same = [np.array_equal(a, w.numpy()) for a, w in zip(before, target.weights, strict=True)]
    assert all(same) or moment == "tabulate"  # by then it is proved and done


def test_an_interrupt_in_the_midst_of_writing_puts_all_back(monkeypatch):
    source, target, inputs = nets.both(nets.TRUNKS, "torch", "keras", INPUTS)
    before, put, calls = nets.contents(target), writing._put, []

    def counted(*arguments):
        calls.append(arguments)
        if len(calls) == 5:
            raise KeyboardInterrupt
        put(*arguments)

    monkeypatch.setattr(writing, "_put", counted)
    with pytest.raises(KeyboardInterrupt):
        parity.transfer(source, target, inputs)
    assert all(map(np.array_equal, before, nets.contents(target)))


def test_a_file_that_cannot_be_read_to_its_end_puts_all_back(module, weights, monkeypatch):
    target, put, calls = __import__(module).TARGET, writing._put, []
    before = [w.numpy() for w in target.weights]

    def counted(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise FileError("model.npz cannot be read")
        put(*arguments)

    monkeypatch.setattr(writing, "_put", counted)
    with pytest.raises(FileError, match="cannot be read"):
        parity.transfer(weights, target)
    assert len(calls) == 3
    assert all(np.array_equal(a, w.numpy()) for a, w in zip(before, target.weights, strict=True))


@pytest.mark.parametrize("output", ["out.keras", "out.weights.h5", "out.npz"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("no space left")])
def test_a_save_that_breaks_off_leaves_the_old_file(
    module, tmp_path, monkeypatch, capsys, output, error
):
    (tmp_path / output).write_text("old")
    files = listing(tmp_path)

    def broken(self, path, *_, **__):
        with open(path, "w") as file:
            file.write("half")
        raise error

    monkeypatch.setattr("keras.Model.save", broken)
    monkeypatch.setattr("keras.Model.save_weights", broken)
    monkeypatch.setattr("keras.Sequential.save", broken, raising=False)
    monkeypatch.setattr("parity.weights.files.npz.write", lambda place, *_: broken(None, place))
    code = main(["transfer", f"{module}:source", f"{module}:target", "-o", output])
    assert code == (130 if error is KeyboardInterrupt else 3)
    assert listing(tmp_path) == files and (tmp_path / output).read_text() == "old"
    if code == 3:
        assert f"{output} cannot be written (OSError: no space left)" in capsys.readouterr().err


@pytest.mark.parametrize("with_model", [False, True])
@pytest.mark.parametrize("damage", ["cut off", "one byte"])
def test_a_damaged_file(module, weights, tmp_path, capsys, damage, with_model):
    raw = bytearray(weights.read_bytes())
    if damage == "cut off":
        raw = raw[: len(raw) // 2]
    else:  # in the last array: all others can be read before
        raw[raw.rindex(b"NUMPY") + 130] ^= 0xFF
    weights.write_bytes(raw)
    target, files = __import__(module).TARGET, listing(tmp_path)
    before = [w.numpy() for w in target.weights]
    words = ["--source-model", f"{module}:source"] if with_model else []
    code = main(["transfer", "model.npz", f"{module}:TARGET", "-o", "out.npz", *words])
    printed = capsys.readouterr().err
    assert code == 3 and "model.npz" in printed and "damaged, cut off" in printed
    assert listing(tmp_path) == files
    same = [np.array_equal(a, w.numpy()) for a, w in zip(before, target.weights, strict=True)]
    assert all(same)


def test_a_framework_that_is_missing(module, tmp_path, monkeypatch, capsys):
    target = __import__(module).target()
    target.save(tmp_path / "model.keras")
    monkeypatch.delitem(sys.modules, "h5py", raising=False)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "h5py" else find(name, *a)
    )
    code = main(["transfer", "model.keras", f"{module}:source", "--random", "3,4"])
    assert code == 3
    assert "h5py is not installed. Install it with: pip install h5py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "target", "more", "code", "message"),
    [
        ("none.npz", "{}:target", [], 2, "There is no file 'none.npz'; a model is named as"),
        ("{}", "{}:target", [], 2, "a model is named as package.module:attribute"),
        ("{}:nothing", "{}:target", [], 2, "has no attribute 'nothing'"),
        ("{}:source", "nowhere:target", [], 2, "There is no module 'nowhere'"),
        ("{}:source", "{}", [], 2, "names a module, and not the model in it. Write "),
        ("{}:broken", "{}:target", [], 3, "broken() raised RuntimeError: no such thing"),
        ("{}:source", "{}:target", ["--map", "none.json"], 2, "none.json cannot be read as a map"),
        ("{}:source", "{}:target", ["-o", "out.xyz"], 2, "does not say which format"),
        ("{}:target", "{}:source", ["-o", "out.keras"], 2, "is no Keras model"),
        ("{}:source", "{}:target", ["-o", "none/out.npz"], 2, "--output: there is no folder none"),
        ("{}:source", "{}:target", ["--source-model", "{}:source"], 2, "only for a file"),
        ("model.npz", "{}:target", ["--source-model", "{}:nothing"], 2, "no attribute 'nothing'"),
        ("{}:source", "{}:target", ["--random", "3,5"], 3, "raised RuntimeError"),
    ],
)
def test_words_that_name_what_is_not_there(
    module, weights, tmp_path, capsys, source, target, more, code, message
):
    files = listing(tmp_path)
    words = [word.format(module) for word in (source, target, *more)]
    assert main(["transfer", *words]) == code
    printed = capsys.readouterr()
    assert message in printed.err and printed.out == ""
    assert listing(tmp_path) == files


def test_a_model_for_the_source_is_for_files_only():
    source = torch.nn.Linear(4, 3)
    with pytest.raises(InputError, match="source_model: only for a file"):
        parity.transfer(source, torch.nn.Linear(4, 3), INPUTS, source_model=source)


def test_a_disk_without_room_is_reported_before_anything_is_changed(monkeypatch):
    source, target, inputs = nets.both(nets.TRUNKS, "torch", "keras", INPUTS)
    before = nets.contents(target)

    def full(*_args, **_options):
        raise OSError("No space left on device")

    monkeypatch.setattr(transfers.np, "save", full)
    with pytest.raises(FileError, match="could not be kept in .*: No space left on device"):
        parity.transfer(source, target, inputs)
    assert all(map(np.array_equal, before, nets.contents(target)))


def test_a_map_decides_for_a_file_too(module, weights, tmp_path, capsys):
    words = ["transfer", "model.npz", f"{module}:TARGET"]
    target = __import__(module).TARGET
    assert main([*words, "--save-map", "map.json"]) == 3
    kernel = target.weights[0].numpy()
    pairs = json.loads((tmp_path / "map.json").read_text())["pairs"]
    target.set_weights([np.zeros(w.shape) for w in target.weights])
    (tmp_path / "map.json").write_text(json.dumps({"pairs": pairs[:1]}))
    assert main([*words, "--map", "map.json"]) == 3
    assert np.array_equal(target.weights[0].numpy(), kernel)
    assert not any(np.any(w.numpy()) for w in target.weights[1:])
    assert "left over in model.npz" in capsys.readouterr().out
    for change, message in [
        ({"source": ["nowhere"]}, "the file has no tensor nowhere"),
        ({"source": ["2.weight"]}, r"2.weight \(2, 6\) does not fit"),
        ({"target": ["nowhere"]}, "the target has no kernel made of"),
    ]:
        with pytest.raises(UsageError, match=message):
            parity.transfer(weights, target, map={"pairs": [{**pairs[0], **change}]})
