"""Inputs of any type that NumPy and torch have: taken as they are, or refused clearly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parity

X = np.random.default_rng(0).standard_normal((4, 3))
FRAMEWORKS = ("torch", "tensorflow", "chainer", "numpy")


def model(framework: str, factor: float = 2.0) -> parity.Model:
    if framework == "torch":
        torch = pytest.importorskip("torch")
        return parity.wrap(lambda x: torch.tanh(x.float() * factor), framework="torch")
    if framework == "tensorflow":
        tf = pytest.importorskip("tensorflow")
        return parity.wrap(
            lambda x: tf.tanh(tf.cast(x, tf.float32) * factor), framework="tensorflow"
        )
    if framework == "chainer":
        functions = pytest.importorskip("chainer.functions")
        return parity.wrap(
            lambda x: functions.tanh(functions.cast(x, "float32") * np.float32(factor)),
            framework="chainer",
        )
    return parity.wrap(lambda x: np.tanh(x.astype("f") * np.float32(factor)), framework="numpy")


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i4", ">u2", "<f2"])
def test_the_order_of_bytes_is_no_matter(framework: str, dtype: str) -> None:
    inputs = (3 * X).astype(dtype)
    assert parity.compare(model("numpy"), model(framework), inputs=inputs).verdict == "parity"
    wrong = parity.compare(model("numpy"), model(framework, 2.1), inputs=inputs)
    assert wrong.verdict == "diverged"


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    "inputs",
    [
        np.array([["2026-01-01"] * 3] * 4, "M8[D]"),
        np.ones((4, 3), "m8[s]"),
        np.zeros(4, [("a", "f4"), ("b", "i4")]),
        np.array([["a", "b"]]),
        np.array([[None, 1.0]]),
    ],
    ids=["dates", "durations", "records", "texts", "objects"],
)
def test_what_is_no_number_is_refused(framework: str, inputs: Any) -> None:
    one = model(framework)
    with pytest.raises(parity.ParityError, match="Give arrays of numbers, dense"):
        parity.compare(one, one, inputs=inputs)


@pytest.mark.parametrize("framework", ["torch", "tensorflow"])
@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble])
def test_longer_numbers_than_a_framework_has_are_refused(framework: str, dtype: Any) -> None:
    one = model(framework)
    with pytest.raises(parity.ParityError, match="give inputs as float64"):
        parity.compare(one, one, inputs=X.astype(dtype))


def test_sparse_and_quantised_inputs_are_refused() -> None:
    torch = pytest.importorskip("torch")
    one = model("torch")
    for inputs in (
        torch.eye(3).to_sparse(),
        torch.eye(3).to_sparse_csr(),
        torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.qint8),
    ):
        with pytest.raises(parity.ParityError, match="inputs make no array"):
            parity.compare(one, one, inputs=inputs)


@pytest.mark.parametrize("dequantised", [False, True])
def test_quantised_tensors_are_compared_by_their_values(dequantised: bool) -> None:
    torch = pytest.importorskip("torch")
    kernel = torch.from_numpy(np.random.default_rng(1).standard_normal((3, 2)).astype("f"))

    def rounded(scale: float) -> parity.Model:
        def run(x: Any) -> Any:
            found = torch.quantize_per_tensor(x.float() @ kernel, scale, 0, torch.qint8)
            return found.dequantize() if dequantised else found

        return parity.wrap(run, framework="torch")

    assert parity.compare(rounded(0.1), rounded(0.1), inputs=X).verdict == "parity"
    assert parity.compare(rounded(0.1), rounded(0.13), inputs=X).verdict == "diverged"


def test_a_module_quantised_after_training_is_compared() -> None:
    torch = pytest.importorskip("torch")
    quantization, calibration = torch.ao.quantization, torch.from_numpy(X.astype("f"))

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.enter, self.leave = quantization.QuantStub(), quantization.DeQuantStub()
            self.first, self.last = torch.nn.Linear(3, 5), torch.nn.Linear(5, 2)

        def forward(self, x: Any) -> Any:
            return self.leave(self.last(torch.relu(self.first(self.enter(x)))))

    def quantised(scale: float) -> Any:
        net = Net().eval()
        net.qconfig = quantization.get_default_qconfig(torch.backends.quantized.engine)
        quantization.prepare(net, inplace=True)
        net(scale * calibration)
        return quantization.convert(net)

    one = quantised(1.0)
    assert parity.compare(one, one, inputs=X).verdict == "parity"
    assert parity.compare(one, quantised(1.0), inputs=X).verdict == "parity"
    assert parity.compare(one, quantised(1.5), inputs=X).verdict == "diverged"
    assert parity.compare(Net().eval(), one, inputs=X).verdict == "diverged"


@pytest.mark.parametrize("layout", ["jagged", "strided"])
@pytest.mark.parametrize("form", ["alone", "in a list", "in a dict"])
def test_nested_inputs_are_refused(layout: str, form: str) -> None:
    torch = pytest.importorskip("torch")
    nested = torch.nested.nested_tensor(
        [torch.ones(2, 3), torch.ones(4, 3)], layout=getattr(torch, layout)
    )
    inputs = {"alone": nested, "in a list": [nested], "in a dict": {"x": nested}}[form]
    with pytest.raises(parity.ParityError, match="rows of several lengths; pad them"):
        parity.compare(model("torch"), model("torch"), inputs=inputs)


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_a_sparse_parameter_is_read(layout: str) -> None:
    torch = pytest.importorskip("torch")

    def graph(entry: float) -> Any:
        class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                weights = torch.eye(3) * torch.tensor([1.0, 2.0, entry])
                self.adjacency = torch.nn.Parameter(getattr(weights, layout)())

            def forward(self, x: Any) -> Any:
                return torch.tanh(torch.sparse.mm(self.adjacency, x.T))

        return Model()

    inputs = X.astype("f")
    assert parity.compare(graph(3.0), graph(3.0), inputs=inputs).verdict == "parity"
    assert parity.compare(graph(3.0), graph(3.2), inputs=inputs).verdict == "diverged"
