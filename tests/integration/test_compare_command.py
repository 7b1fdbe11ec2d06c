"""`parity compare`: what it compares, its exit codes, what it writes, and what it never leaves."""

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from parity.cli import main

NETS = """
import numpy as np
import parity

WEIGHT = np.random.default_rng(1).normal(size=(7, 3)).astype("float32")


def reference(x):
    return np.tanh(x @ WEIGHT)


def port(x):
    return np.tanh(np.matmul(x, WEIGHT))


def faulty(x):
    return np.tanh(x @ WEIGHT) * np.float32(1.5)


def zeros(x):
    return np.zeros_like(x)


def broken(x):
    raise RuntimeError("the weights were never loaded")


def build():
    return port


def build_wrapped():
    return parity.wrap(faulty, name="built")


class Family:
    port = staticmethod(port)

    @classmethod
    def build(cls, seed=0):
        return cls.port


class Built:
    def __call__(self, x):
        return port(x)


def difference(first, second):
    return first - 2 * second[: len(first)]


def other_way(first, second):
    return 2 * first - second[: len(first)]


def angles(x):
    return np.tanh(x @ WEIGHT[:4])


def speeds_clipped(x):
    return np.tanh(np.clip(x, -9, [9, 0.4, 9, 9]).astype("float32") @ WEIGHT[:4])


def tiles(index):
    return np.random.default_rng(2).normal(size=(16, 3))[index]


def channels_last(x):
    return x.sum(axis=(1, 2))


def channels_first(x):
    return x.sum(axis=(2, 3))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with a module `nets`; what is imported from it is forgotten."""
    (tmp_path / "nets.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


@pytest.fixture
def run(folder, capsys):
    """Runs the command; gives its exit code, stdout and stderr."""

    def run(*words):
        try:
            code = main(words)
        except SystemExit as stop:  # argparse's way to end
            code = stop.code
        return code, *capsys.readouterr()

    return run


# --- verdicts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("models", "code", "verdict"),
    [
        (["nets:reference", "nets:port"], 0, "parity: reference"),
        (["nets:reference", "nets:faulty"], 1, "diverged: reference"),
        (["nets:zeros", "nets:zeros"], 3, "unverified: zeros"),
        (["nets:reference", "nets:port", "nets:faulty"], 1, "diverged: reference"),
        (["nets:reference", "nets:broken"], 3, ""),
    ],
)
def test_the_exit_code_is_the_verdict(run, models, code, verdict):
    found, out, err = run("compare", *models, "--random", "5,7")
    assert found == code
    assert out.startswith(verdict)
    assert bool(err) == (not verdict)


@pytest.mark.parametrize(
    "model", ["nets:build", "nets:Family.port", "nets:Family.build", "nets:Built@numpy"]
)
def test_an_attribute_may_be_dotted_and_may_build_the_model(run, model):
    code, out, _ = run("compare", "nets:reference", model, "--random", "5,7")
    assert (code, out.split(":")[0]) == (0, "parity")


def test_what_is_built_may_be_wrapped(run):
    code, out, _ = run("compare", "nets:reference", "nets:build_wrapped", "--random", "5,7")
    assert code == 1
    assert "against built (numpy)" in out


def test_a_layout_after_the_name(run):
    models = "nets:channels_first", "nets:channels_last@numpy,NHWC"
    assert run("compare", *models, "--random", "3,4,6,5")[0] == 0
    assert run("compare", models[0], "nets:channels_last", "--random", "3,4,6,5")[0] == 1


# --- inputs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arrays", "models", "code"),
    [
        ({"observations": (5, 7)}, ("nets:reference", "nets:port"), 0),
        ({"arr_0": (5, 7), "arr_1": (6, 7)}, ("nets:difference", "nets:difference"), 0),
        ({"second": (6, 7), "first": (5, 7)}, ("nets:difference", "nets:difference"), 0),
        ({"arr_0": (5, 7), "arr_1": (6, 7)}, ("nets:difference", "nets:other_way"), 1),
    ],
    ids=["one of any name", "positional", "named", "positional, differing"],
)
def test_arrays_of_a_file(run, arrays, models, code):
    rng = np.random.default_rng(0)
    np.savez("x.npz", **{name: rng.normal(size=size) for name, size in arrays.items()})
    found, _, err = run("compare", *models, "--inputs", "x.npz")
    assert (found, err) == (code, "")


def test_positional_arrays_keep_their_order_beyond_ten(folder):
    from parity.inputs.arrays import read_inputs

    np.savez("x.npz", *[np.full(2, number) for number in range(12)])
    assert [array[0] for array in read_inputs("x.npz")] == list(range(12))


def test_an_npy_file(run, folder):
    np.save("x.npy", np.random.default_rng(0).normal(size=(5, 7)))
    assert run("compare", "nets:reference", "nets:port", "--inputs", "x.npy")[0] == 0


def test_random_inputs_are_signed_distinct_and_repeatable():
    from parity.inputs.arrays import random_inputs

    drawn = random_inputs(["5,7"], seed=3)
    assert drawn.dtype == np.float32
    assert drawn.min() < 0 < drawn.max()
    assert len(np.unique(drawn)) == drawn.size
    np.testing.assert_array_equal(drawn, random_inputs(["5,7"], seed=3))
    assert (drawn != random_inputs(["5,7"], seed=4)).all()


def test_several_random_inputs_positional_and_named(run):
    models = "nets:difference", "nets:difference"
    assert run("compare", *models, "--random", "5,7", "--random", "6,7")[0] == 0
    assert run("compare", *models, "--random", "second=6,7", "--random", "first=5,7")[0] == 0
    # swapped: 5 rows cannot be taken from 6
    assert run("compare", *models, "--random", "second=5,7", "--random", "first=6,7")[0] == 3


# --- what is written -----------------------------------------------------------------------------


def test_the_report_is_written_as_json(run, folder):
    assert run("compare", "nets:reference", "nets:faulty", "--random", "5,7", "--json", "r.json")[0]
    assert json.loads((folder / "r.json").read_text())["verdict"] == "diverged"


@pytest.mark.parametrize(
    "words", [["nets:broken", "--random", "5,7"], ["nets:port", "--inputs", "x"]]
)
def test_an_error_leaves_the_folder_and_an_earlier_report_as_they_were(run, folder, words):
    (folder / "r.json").write_text("earlier")
    before = {*os.listdir(folder), "__pycache__"}
    assert run("compare", "nets:reference", *words, "--json", "r.json")[0] in (2, 3)
    assert {*os.listdir(folder), "__pycache__"} == before
    assert (folder / "r.json").read_text() == "earlier"


# --- the terminal --------------------------------------------------------------------------------


def test_no_colour_where_stdout_is_no_terminal(run):
    assert "\x1b" not in run("compare", "nets:reference", "nets:faulty", "--random", "5,7")[1]


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_on_a_terminal_unless_it_is_declined(run, monkeypatch, variables, coloured):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    out = run("compare", "nets:reference", "nets:faulty", "--random", "5,7")[1]
    assert ("\x1b[" in out) == coloured


def process(words, folder, **options):
    code = "import sys; from parity.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def test_a_reader_that_stops_reading_is_no_error(folder):
    running = process(["compare", "nets:reference", "nets:faulty", "--random", "5,7"], folder)
    running.stdout.close()
    assert running.stderr.read() == b""
    assert running.wait() == 1


def test_tensorflow_logs_nothing(folder):
    pytest.importorskip("tensorflow")
    (folder / "tensors.py").write_text("import tensorflow as tf\ndef net(x): return tf.tanh(x)\n")
    (folder / "arrays.py").write_text("import numpy as np\ndef net(x): return np.tanh(x)\n")
    running = process(["compare", "arrays:net", "tensors:net", "--random", "5,7"], folder)
    out, err = running.communicate()
    assert (running.returncode, err) == (0, b"")
    assert out.startswith(b"parity")


def test_warnings_of_the_users_own_module_are_shown(folder):
    (folder / "noisy.py").write_text(
        "import sys\nfrom nets import *\nprint('mind', file=sys.stderr)"
    )
    running = process(["compare", "nets:reference", "noisy:port", "--random", "5,7"], folder)
    assert running.communicate()[1] == b"mind\n"


def test_a_fault_of_parity_itself_is_not_taken_for_a_divergence(run, monkeypatch):
    monkeypatch.setattr("parity.candidate.match", lambda *_: 1 / 0)
    code, _, err = run("compare", "nets:reference", "nets:port", "--random", "5,7")
    assert code == 3
    assert "ZeroDivisionError" in err
    assert "fault of parity itself" in err


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["compare", "--help"]])
def test_help_and_version_import_neither_numpy_nor_a_framework(words):
    code = (
        "import sys; from parity.cli import main\n"
        f"try: main({words!r})\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "heavy = {'numpy', 'torch', 'tensorflow', 'keras', 'chainer', 'rich'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr


def test_the_package_is_the_command_too():
    done = subprocess.run(
        [sys.executable, "-m", "parity", "--version"], capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.startswith("parity ")


# --- damaged files, for the messages see tests/messages ------------------------------------------


def damaged_files(folder):
    """Files that are no arrays, each in its own way."""
    array = np.random.default_rng(0).normal(size=(5, 7)).astype("float32")
    np.savez(folder / "good.npz", array)
    good = (folder / "good.npz").read_bytes()
    flipped = bytearray(good)
    with zipfile.ZipFile(folder / "good.npz") as archive:
        flipped[archive.infolist()[0].header_offset + 200] ^= 255
    np.savez(folder / "objects.npz", np.array([{"a": 1}], dtype=object))
    np.savez(folder / "none.npz")
    contents = {
        "cut.npz": good[:120],
        "flipped.npz": bytes(flipped),
        "text.npz": b"not arrays at all",
        "empty.npz": b"",
        "cut.npy": b"\x93NUMPY\x01\x00v\x00{'descr'",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [*contents, "objects.npz", "none.npz"]


def test_a_damaged_file_is_one_message_that_names_it(run, folder):
    for name in damaged_files(folder):
        code, out, err = run("compare", "nets:reference", "nets:port", "--inputs", name)
        assert (code, out) == (2, ""), name
        assert err.startswith(f"parity: {name} "), err
        assert len(err.splitlines()) == 1
        assert "Save plain arrays with numpy.savez." in err
        assert "allow_pickle=`" not in err


# --- inputs from life ----------------------------------------------------------------------------


def test_an_environment_gives_the_inputs(run):
    pytest.importorskip("gymnasium")
    models = ["nets:angles", "nets:speeds_clipped", "--env", "CartPole-v1"]
    assert run("compare", "nets:tiles", "nets:tiles", "--env", "FrozenLake-v1")[0] == 0
    assert run("compare", *models, "--seed", "1")[0] == 1
    assert "output 'output' (64, 3)" in run("compare", *models)[1]
    assert "output 'output' (5, 3)" in run("compare", *models, "--steps", "5")[1]


def test_an_environment_of_the_users_own(run, folder):
    pytest.importorskip("gymnasium")
    (folder / "own.py").write_text(
        "import gymnasium\n"
        "from gymnasium.envs.classic_control import CartPoleEnv\n"
        "gymnasium.register('Own-v0', CartPoleEnv)\n"
    )
    assert run("compare", "nets:angles", "nets:angles", "--env", "own:Own-v0")[0] == 0


def test_what_rllib_recorded_gives_the_inputs(run, folder):
    rows = np.random.default_rng(0).normal(size=(6, 4)).tolist()
    (folder / "batches").mkdir()
    batch = json.dumps({"type": "SampleBatch", "obs": rows})
    (folder / "batches" / "output_0.json").write_text(batch)
    models = ["nets:angles", "nets:speeds_clipped", "--inputs"]
    code, out, _ = run("compare", *models, "batches")
    assert code == 1 and "output 'output' (6, 3)" in out
    _, out, _ = run("compare", *models, "batches/output_0.json", "--steps", "4")
    assert "output 'output' (4, 3)" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--env", "CartPoll-v1"], "There is no environment 'CartPoll-v1'"),
        (["--env", "CartPole-v1", "--random", "5,7"], "not allowed with argument"),
        (["--env", "CartPole-v1", "--steps", "0"], "--steps: give 1 or more."),
        (["--random", "5,7", "--steps", "3"], "--steps: only with --env or --inputs."),
        (["--inputs", "none.json"], "There is no file none.json"),
    ],
)
def test_inputs_that_cannot_be_had_are_a_usage_error(run, words, says):
    pytest.importorskip("gymnasium")
    code, _, err = run("compare", "nets:angles", "nets:angles", *words)
    assert code == 2 and says in err
