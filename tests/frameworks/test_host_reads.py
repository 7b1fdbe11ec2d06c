"""Values that Python takes out of a model: followed where they come back unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.frameworks.chainer_numpy import import_chainer
from parity.host_reads import HostReads
from parity.recorder import Recorder
from parity.result import Comparison
from parity.tape import Tape

tf = pytest.importorskip("tensorflow")
F = import_chainer().functions

draw = np.random.default_rng(0)
X = draw.standard_normal((16, 8)).astype("f")
W = draw.standard_normal((8, 8)).astype("f")
SHIFT = 100.0  # which takes bits from a float32: the number that is read has few left
Scale = Callable[[Any], Any]


def in_torch(scale: Scale) -> Any:
    def model(x: Any) -> Any:
        h = torch.tanh(x @ torch.from_numpy(W))
        return torch.softmax(h * scale((h.abs() + SHIFT).mean() - SHIFT), -1)

    return parity.wrap(model, "torch")


def in_tensorflow(scale: Scale) -> Any:
    def model(x: Any) -> Any:
        h = tf.tanh(x @ tf.constant(W))
        return tf.nn.softmax(h * scale(tf.reduce_mean(tf.abs(h) + SHIFT) - SHIFT))

    return parity.wrap(model, "tensorflow")


def in_chainer(scale: Scale) -> Any:
    def model(x: Any) -> Any:
        h = F.tanh(F.matmul(x, W))
        return F.softmax(h * scale(F.mean(F.absolute(h))))

    return parity.wrap(model, "chainer")


def compared(candidate: Any, reference: Any = None) -> Comparison:
    return parity.compare(reference or LIVE, candidate, inputs=X).comparisons[0]


LIVE = in_torch(lambda s: s)
READ: dict[str, tuple[Callable[[Scale], Any], Scale]] = {
    "torch item": (in_torch, lambda s: s.item()),
    "torch float": (in_torch, lambda s: float(s)),
    "torch tolist": (in_torch, lambda s: s.tolist()),
    "torch numpy": (in_torch, lambda s: torch.from_numpy(np.array(s.numpy()))),
    "torch tensor of it": (in_torch, lambda s: torch.tensor(s.item())),
    "tensorflow float": (in_tensorflow, lambda s: float(s)),
    "tensorflow numpy": (in_tensorflow, lambda s: s.numpy()),
    "tensorflow array": (in_tensorflow, lambda s: tf.constant(np.asarray(s))),
}


@pytest.mark.parametrize("name", READ)
def test_a_number_that_comes_back_is_the_value_it_was_read_of(name: str) -> None:
    build, scale = READ[name]
    for found in (compared(build(scale)), compared(LIVE, build(scale))):
        assert found.verdict == "parity" and not found.caveats
    assert compared(build(lambda s: scale(1.01 * s))).verdict == "diverged"


COMPUTED: dict[str, tuple[Callable[[Scale], Any], Scale]] = {
    "torch": (in_torch, lambda s: 1.7 * s.item()),
    "tensorflow": (in_tensorflow, lambda s: 1.7 * float(s)),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_what_python_computes_is_judged_on_these_inputs(name: str) -> None:
    build, scale = COMPUTED[name]
    reference = in_torch(lambda s: 1.7 * s)
    found = compared(build(scale), reference)
    assert found.verdict == "unverified"
    assert "numbers that Python made of the model's values" in found.reasons[0]
    assert f"{__file__}:" in found.caveats[0]
    assert compared(build(lambda s: 1.01 * scale(s)), reference).verdict == "diverged"


@pytest.mark.parametrize("read", [lambda s: float(s.array), lambda s: float(s.data)])
def test_chainers_arrays_are_seen_to_be_read(read: Scale) -> None:
    plain = parity.wrap(
        lambda x: (lambda h: torch.softmax(h * h.abs().mean(), -1))(
            torch.tanh(x @ torch.from_numpy(W))
        ),
        "torch",
    )
    found = compared(in_chainer(read), plain)
    assert found.verdict == "parity" and f"{__file__}:" in found.caveats[0]
    assert compared(in_chainer(lambda s: 1.01 * read(s)), plain).verdict == "diverged"


def test_a_number_that_a_person_wrote_is_no_number_of_the_hosts() -> None:
    """An epsilon after a read is what it is: a fault in it is found as anywhere."""

    def model(epsilon: float) -> Any:
        def run(x: Any) -> Any:
            h = x * (x * x).mean().item()
            return h / (h.var(-1, keepdim=True) + epsilon).sqrt()

        return parity.wrap(run, "torch")

    assert compared(model(1e-5), model(1e-5)).verdict == "parity"
    found = compared(model(1e-5), model(1.1e-5))
    assert found.verdict == "diverged" and not found.caveats


def test_an_epsilon_that_the_format_swallows_is_no_fault() -> None:
    """`float(t) + 1e-5` is `t` in float32 where `t` is large: other inputs distinguish them."""

    def reference(x: Any) -> Any:
        return (x - x.mean()) / (x.std(correction=0) + 1e-5)

    def port(x: Any) -> Any:
        deviation = float(tf.math.reduce_std(x)) + 1e-5
        return (x - float(tf.reduce_mean(x))) / deviation

    models = parity.wrap(reference, "torch"), parity.wrap(port, "tensorflow")
    for inputs in (X, 1000 * X + 50000):
        assert parity.compare(*models, inputs=inputs).verdict == "parity"


def test_short_numbers_are_not_taken_for_what_was_read() -> None:
    """A mask's mean may be 0.5, and so may a constant: on other inputs they differ."""
    reads = HostReads()
    reads.note(7, np.float32(0.5).reshape(()), "net.py:3")
    reads.note(8, np.float32(0.3).reshape(()), "net.py:4")
    assert reads.scalar(0.5) is None and reads.scalar(float(np.float32(0.3))) == 8
    assert reads.value(np.asarray(np.float32(0.5)), "float32") is None
    reads.note(9, np.float32(50125.73).reshape(()), "net.py:5")  # large, and not short
    assert reads.scalar(float(np.float32(50125.73))) == 9


def test_what_is_read_without_being_the_models_is_nothing() -> None:
    def model(x: Any) -> Any:
        return x * torch.from_numpy(W).sum().item() * 1.23456789

    found = compared(parity.wrap(model, "torch"), parity.wrap(model, "torch"))
    assert found.verdict == "parity" and not found.caveats


def test_methods_are_put_back() -> None:
    before = torch.Tensor.numpy, torch.Tensor.tolist
    compared(in_torch(lambda s: s.item()))
    assert (torch.Tensor.numpy, torch.Tensor.tolist) == before
    assert "numpy" not in vars(torch.Tensor) and "tolist" not in vars(torch.Tensor)


# --- broken once ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["torch item", "tensorflow float"])
def test_numbers_that_stay_as_they_were_would_alarm(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recorder, "host_read", lambda *_: None)
    build, scale = READ[name]
    assert compared(build(scale)).verdict == "diverged"


def test_numbers_of_python_that_are_not_distinguished_would_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Tape, "is_baked", lambda *_: False)
    build, scale = COMPUTED["torch"]
    assert compared(build(scale), in_torch(lambda s: 1.7 * s)).verdict == "diverged"


def test_constants_in_bfloat16_can_be_looked_at() -> None:
    """NumPy has no bfloat16, so it takes an operation to read one, which is not the model's."""

    def model(x: Any) -> Any:
        h = tf.cast(x, tf.bfloat16) * tf.constant(W[0], tf.bfloat16)
        return h * float(tf.reduce_mean(h))

    found = compared(parity.wrap(model, "tensorflow"), parity.wrap(model, "tensorflow"))
    assert found.verdict == "parity"


def test_a_mask_that_numpy_made_from_rounding_is_no_divergence() -> None:
    """In float64 the reference's mask is another, while that of the candidate stays as it was."""

    def reference(rounded: bool, scale: float = 1.0) -> Any:
        def model(x: Any) -> Any:
            h = torch.tanh(x @ torch.from_numpy(W))
            mask = (h + SHIFT) - SHIFT > h if rounded else h > 0.1
            return torch.where(mask, h, (1 + 1e-5) * h) * scale

        return parity.wrap(model, "torch")

    def port(rounded: bool) -> Any:
        def model(x: Any) -> Any:
            h = F.tanh(F.matmul(x, W))
            difference = np.array(
                ((h + SHIFT) - SHIFT - h).array.tolist(), "f"
            )  # not followed from here on
            mask = difference > 0 if rounded else h.array > 0.1
            return F.where(mask, h, (1 + 1e-5) * h)

        return parity.wrap(model, "chainer")

    assert compared(port(False), reference(False)).verdict == "parity"
    assert compared(port(True), reference(True)).verdict == "unverified"
    assert compared(port(False), reference(False, 1.01)).verdict == "diverged"
    assert compared(port(True), reference(True, 1.01)).verdict == "diverged"
