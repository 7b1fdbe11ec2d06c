"""Rounding never fails the gate: runs again, threads, another order; with torch and Keras."""

import random
import types

import numpy as np
import pytest

import parity
from parity.baseline.entry import entries_of
from parity.baseline.gate import FACTOR, updated, worse

TESTS = '''
import keras
import numpy as np
import parity
import pytest
import torch

RNG = np.random.default_rng(0)
DEEP = [RNG.normal(size=(96, 96)).astype("float32") * 0.2 for _ in range(16)]
WIDE = [RNG.normal(size=shape).astype("float32") for shape in ((2048, 128), (128, 3))]


def pair(weights):
    """Layers of tanh; where the weights are large, rounding grows from layer to layer."""
    layers = []
    for weight in weights:
        linear = torch.nn.Linear(*weight.shape, bias=False)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(weight.T.copy()))
        layers += [linear, torch.nn.Tanh()]
    port = keras.Sequential(
        [keras.Input((weights[0].shape[0],))]
        + [keras.layers.Dense(w.shape[1], "tanh", use_bias=False) for w in weights]
    )
    port.set_weights(weights)
    return torch.nn.Sequential(*layers), port


def inputs(weights):
    return np.random.default_rng(1).normal(size=(3, weights[0].shape[0])).astype("float32")


@pytest.mark.parametrize("name", ["deep", "wide"])
def test_dense(assert_parity, name):
    weights = {"deep": DEEP, "wide": WIDE}[name]
    assert_parity(*pair(weights), inputs=inputs(weights))


def test_convolution(assert_parity):
    reference = torch.nn.Sequential(torch.nn.Conv2d(16, 32, 3), torch.nn.ReLU())
    kernel = np.random.default_rng(2).normal(size=(3, 3, 16, 32)).astype("float32")
    with torch.no_grad():
        reference[0].weight.copy_(torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy()))
        reference[0].bias.zero_()
    port = keras.Sequential(
        [keras.Input((20, 20, 16)), keras.layers.Conv2D(32, 3, activation="relu")]
    )
    port.set_weights([kernel, np.zeros(32, "float32")])
    inputs = np.random.default_rng(3).normal(size=(2, 16, 20, 20)).astype("float32")
    assert_parity(reference, parity.wrap(port, input_layout="NHWC"), inputs=inputs)
'''
ORDER = """
import os

def pytest_collection_modifyitems(items):
    if os.environ.get("REVERSED"):
        items.reverse()

def pytest_configure():
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
"""
THREADS = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def test_rounding_does_not_fail_it(pytester, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("keras")
    pytester.makepyfile(test_nets=TESTS)
    pytester.makeconftest(ORDER)
    path = pytester.path / "baseline.json"
    for threads, backwards in ((1, ""), (2, "yes")):
        for name in THREADS:
            monkeypatch.setenv(name, str(threads))
        monkeypatch.setenv("REVERSED", backwards)
        words = ["--parity-baseline", str(path)]
        if not path.exists():
            words.append("--parity-update")
        result = pytester.runpytest_subprocess(*words)
        result.assert_outcomes(passed=3)
        assert result.ret == 0
        result.stdout.no_fnmatch_line("*another environment*")
    result.stdout.fnmatch_lines(["*baseline.json: 0 regressions in 3 comparisons"])
    before = path.read_text(encoding="utf-8")
    pytester.runpytest_subprocess("--parity-baseline", str(path), "--parity-update")
    assert path.read_text(encoding="utf-8") == before  # and none is written


@pytest.fixture
def nets():
    """The models of the runs above."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("keras")
    found = types.ModuleType("nets")
    exec(TESTS, vars(found))
    threads = torch.get_num_threads()
    yield found
    torch.set_num_threads(threads)


def split(weights, cuts, torch):
    """The network with each product as two sums, cut anywhere: the rounding of another machine."""
    weights = [torch.from_numpy(weight) for weight in weights]

    def port(x):
        for weight, cut in zip(weights, cuts, strict=True):
            x = torch.tanh(x[:, :cut] @ weight[:cut] + x[:, cut:] @ weight[cut:])
        return x

    return parity.wrap(port, framework="torch")


def entry_of(reference, port, inputs):
    report = parity.compare(reference, port, inputs=inputs)
    [entry] = entries_of(report.to_dict(), "test").values()
    return entry


def test_rounding_does_not_fail_it_in_thirty_runs(nets):
    """Each with sums of its own, with one thread or two, the models in any order."""
    import torch

    chance = random.Random(0)
    weights = {"deep": nets.DEEP[:6], "wide": nets.WIDE}
    models = {name: (nets.pair(found)[0], nets.inputs(found)) for name, found in weights.items()}
    baseline, differences = {}, set()
    for run in range(31):
        torch.set_num_threads(1 + run % 2)
        for name in chance.sample(sorted(models), len(models)):
            reference, inputs = models[name]
            cuts = [chance.randrange(32, 65) for _ in weights[name]]
            now = entry_of(reference, split(weights[name], cuts, torch), inputs)
            assert now.verdict == "parity"
            was = baseline.setdefault(name, now)
            assert worse(name, was, now) == []
            assert updated(was, now, FACTOR) is was
            differences.add(tuple(one.difference for one in now.layers.values()))
    assert len(differences) > 50, "there was no noise, so nothing was tried"


@pytest.mark.parametrize("layer", [0, 8, 15])
def test_what_is_more_than_rounding_fails_it(nets, layer):
    """The same network, of which a layer's weights are off by a thousandth."""
    import torch

    reference, inputs = nets.pair(nets.DEEP)[0], nets.inputs(nets.DEEP)
    cuts = [40] * len(nets.DEEP)
    before = entry_of(reference, split(nets.DEEP, cuts, torch), inputs)
    weights = [*nets.DEEP]
    weights[layer] = weights[layer] * np.float32(1.001)
    now = entry_of(reference, split(weights, cuts, torch), inputs)
    assert "the difference has grown" in {one.what for one in worse("deep", before, now)}
