"""Rounding never fails the gate: runs again, threads, another order; with torch and Keras."""

import pytest

TESTS = '''
import keras
import numpy as np
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


@pytest.mark.parametrize("name", ["deep", "wide"])
def test_dense(assert_parity, name):
    weights = {"deep": DEEP, "wide": WIDE}[name]
    inputs = np.random.default_rng(1).normal(size=(3, weights[0].shape[0])).astype("float32")
    assert_parity(*pair(weights), inputs=inputs)


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
    import parity

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
    for threads, backwards in ((1, ""), (1, ""), (2, "yes"), (2, "")):
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
