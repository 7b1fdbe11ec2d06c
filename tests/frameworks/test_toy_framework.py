"""A framework that parity has never seen is one file: it is compared, and takes and gives weights.

`toy.py` holds a small array library and its adapter; nothing else in this repository knows of it.
"""

from __future__ import annotations

import ast
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parity
from parity import frameworks
from parity.cli import main
from parity.frameworks import Registered, load, register, unregister
from tests.frameworks import toy
from tests.frameworks.toy import Arr, Dense, Layer

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
X = np.random.default_rng(4).standard_normal((6, 5)).astype("f")


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register("toy", Registered(module=toy.__name__, adapter=toy.__name__))
    yield
    unregister("toy")


class Reference(torch.nn.Module):  # type: ignore[misc]
    """A policy: two layers, and probabilities minus their mean."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.first, self.second = torch.nn.Linear(5, 8), torch.nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        hidden = torch.tanh(self.first(x))
        logits = self.second(hidden)
        logits = logits - logits.mean(1, keepdim=True)
        return torch.softmax(logits, 1)


class Port(Layer):
    """The same in the toy library; each argument is a place for a fault."""

    def __init__(
        self,
        activation: Callable[[Arr], Arr] = Arr.squash,
        softmax: int = 1,
        mean: int = 1,
        scale: float = 1.0,
        bias: bool = True,
        seed: int | None = None,
    ) -> None:
        own = [one.detach().numpy().copy() for one in Reference().parameters()]
        if seed is not None:
            random = np.random.default_rng(seed)
            own = [random.standard_normal(one.shape).astype("f") for one in own]
        self.first = Dense(own[0].T.copy(), own[1] if bias else None)
        self.second = Dense(own[2].T.copy(), own[3])
        self.activation, self.softmax, self.mean, self.scale = activation, softmax, mean, scale

    def forward(self, x: Arr) -> Arr:  # type: ignore[override]
        x = x if self.scale == 1.0 else x * self.scale
        hidden = self.activation(self.first(x))
        logits = self.second(hidden)
        logits = logits - logits.average(self.mean, keepdims=True)
        return logits.boltzmann(self.softmax)


def transposed() -> Port:
    port = Port()
    weight = port.second.weight
    weight.data = np.ascontiguousarray(weight.data.reshape(4, 8).T)
    return port


# By name: the port, the cause that is confirmed, and what is in the line that is named.
FAULTS: dict[str, tuple[Callable[[], Port], str, str]] = {
    "another activation": (lambda: Port(Arr.ramp), "activation-kind", "self.activation("),
    "no bias": (lambda: Port(bias=False), "bias-missing", "self.first(x)"),
    "softmax over samples": (lambda: Port(softmax=0), "softmax-axis", "boltzmann("),
    "mean over samples": (lambda: Port(mean=0), "reduction-axis", "average("),
    "another scale": (lambda: Port(scale=2.0), "input-scale", "* self.scale"),
    "a weight read in another order": (transposed, "weight-reshaped", "self.second(hidden)"),
}


def test_a_port_is_verified() -> None:
    report = parity.compare(Reference(), Port(), inputs=X)
    assert report.verdict == "parity", str(report)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_at_its_line_and_proved(name: str) -> None:
    made, cause, line = FAULTS[name]
    report = parity.compare(Reference(), made(), inputs=X)
    assert report.verdict == "diverged"
    text = str(report)
    assert f"{cause}, confirmed" in text
    place = text[text.index("Port  ") : text.index(cause)]
    assert line in place


def test_as_a_reference_it_is_compared_too() -> None:
    report = parity.compare(Port(), Reference(), inputs=X)
    assert report.verdict == "parity", str(report)


def test_a_recording_replays_and_leaves_the_model_as_it_was() -> None:
    model = Port()
    before = {path: array.data.copy() for path, array in toy._weights(model).items()}
    tape = load("toy").record(parity.wrap(model), X)
    assert np.array_equal(tape.outputs_of()["output"], model(Arr(X)).data)
    assert tape.outputs_of("float64")["output"].dtype == np.float64
    assert all(np.array_equal(array.data, before[p]) for p, array in toy._weights(model).items())


def test_structures_are_compared() -> None:
    same = parity.structure(Reference(), Port(seed=1), inputs=X)
    assert not same.differences, str(same)
    other = parity.structure(Reference(), Port(Arr.ramp, seed=1), inputs=X)
    assert "1 structural difference" in str(other) and "tanh -> relu" in str(other)
    other = parity.structure(Reference(), Port(softmax=0, seed=1), inputs=X)
    assert "1 structural difference" in str(other) and "softmax, over: 4 -> 6" in str(other)


@pytest.mark.parametrize("as_source", [False, True], ids=["to it", "from it"])
def test_weights_are_transferred(as_source: bool) -> None:
    models = Reference(), Port(seed=5)
    source, target = models[::-1] if as_source else models
    done = parity.transfer(source, target, inputs=X)
    assert done.report is not None and done.report.verdict == "parity", str(done)
    kernel = "IO -> OI" if as_source else "OI -> IO"
    assert str(done).count(kernel) == 2, str(done)  # by what the weights do, not by elimination
    given = models[0](torch.from_numpy(X)).detach().numpy()
    assert np.allclose(given, models[1](Arr(X)).data, atol=1e-6)


PORTS = """
from parity.frameworks import Registered, register
from tests.frameworks import toy

register("toy", Registered(module=toy.__name__, adapter=toy.__name__))


def port(x):
    return x.squash() * 2.0


def reference(x):
    return x.tanh() * 2.0
"""


def test_a_users_module_registers_it_and_the_command_takes_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "toy_ports.py").write_text(PORTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    unregister("toy")  # the module registers it when it is imported
    words = ["toy_ports:reference@torch", "toy_ports:port@toy", "--random", "6,5"]
    assert main(["compare", *words]) == 0, capsys.readouterr().err


def test_no_module_hides_a_function_of_the_package() -> None:
    code = ast.parse(Path(frameworks.__file__).read_text(encoding="utf-8"))
    functions = {node.name for node in code.body if isinstance(node, ast.FunctionDef)}
    assert functions.isdisjoint(one.name for one in pkgutil.iter_modules(frameworks.__path__))


def test_the_page_on_adding_a_framework_shows_this_code() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "adding-a-framework.md").read_text(encoding="utf-8")
    code = Path(toy.__file__).read_text(encoding="utf-8") + Path(__file__).read_text("utf-8")
    excerpts = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(excerpts) >= 5
    for excerpt in excerpts:
        assert excerpt.strip("\n") in code
