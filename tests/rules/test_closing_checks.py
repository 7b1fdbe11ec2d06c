"""Nothing passes before the closing checks: the tape is the model, each difference explained.

Each check is broken once, by editing what it looks at.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.diagnosis.classify import MismatchKind
from parity.numerics.accounting import allowance, excess
from parity.numerics.limits import ACCOUNTED
from parity.report.report import Report
from tests.rules.pairs import FIRST, SECOND, X, compare, draw, network, weights


def reasons(report: Report) -> str:
    return " ".join(report.worst.reasons)


# --- the tape is the model ------------------------------------------------------------------------


def hidden_write(x: torch.Tensor) -> torch.Tensor:
    h = x @ FIRST
    h.detach().numpy()[0] = 3.0
    return torch.softmax(torch.tanh(h) @ SECOND, 1)


def data_exchanged(x: torch.Tensor) -> torch.Tensor:
    h = x @ FIRST
    h.data = torch.from_numpy(np.ones(h.shape, "f"))
    return torch.softmax(torch.tanh(h) @ SECOND, 1)


@pytest.mark.parametrize("port", [hidden_write, data_exchanged])
def test_a_write_that_no_dispatcher_sees_is_no_parity(port: Any) -> None:
    report = compare(network, port)
    assert report.verdict == "unverified"
    assert "does not stand for the model" in reasons(report)


def test_the_first_value_that_differs_is_named() -> None:
    report = compare(network, hidden_write)
    line = hidden_write.__code__.co_firstlineno + 1  # the product whose result is written over
    assert f"mm at {hidden_write.__code__.co_filename}:{line}" in reasons(report)


def test_a_hidden_write_that_makes_a_model_right_is_no_alarm() -> None:
    def right_by_a_hidden_write(x: torch.Tensor) -> torch.Tensor:
        h = 2 * (x @ FIRST)
        h.detach().numpy()[...] /= 2
        return torch.softmax(torch.tanh(h) @ SECOND, 1)

    report = compare(network, right_by_a_hidden_write)
    assert report.verdict == "unverified" and not report.divergences


def test_a_tape_with_one_operation_changed_is_no_parity(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(network, network).verdict == "parity"
    edit_tapes(monkeypatch, lambda op: op.kind == "tanh", torch.ops.aten.sin.default)
    report = compare(network, network)
    assert report.verdict == "unverified" and "does not stand for the model" in reasons(report)


def edit_tapes(monkeypatch: pytest.MonkeyPatch, which: Callable[[Any], bool], func: Any) -> None:
    from parity.inputs import layout_advice

    record = layout_advice.record

    def edited(*arguments: Any) -> Any:
        model, tape = record(*arguments)
        for op in filter(which, tape.ops):
            op.call = dataclasses.replace(op.call, func=func)
        return model, tape

    monkeypatch.setattr("parity.inputs.layout_advice.record", edited)


def test_a_traced_function_counts_as_it_was_traced() -> None:
    tf = pytest.importorskip("tensorflow")
    scale = [2.0]

    @tf.function
    def traced(x: Any) -> Any:
        return tf.tanh(x) * scale[0]

    def port(x: Any) -> Any:
        return traced(x) + 0.0

    port(tf.constant(X))  # the trace keeps the 2
    scale[0] = 3.0
    pair = [parity.wrap(lambda x, k=k: torch.tanh(x) * k, framework="torch") for k in (2.0, 3.0)]
    candidate = parity.wrap(port, framework="tensorflow")
    for reference in pair:  # as called it is 2, and recorded 3
        report = parity.compare(reference, candidate, inputs=X)
        assert report.verdict == "unverified" and "Traced or compiled" in reasons(report)


@pytest.mark.parametrize("off", [np.full(7, 1e-6), np.eye(7)[3] * 1e-5], ids=["all", "one"])
@pytest.mark.parametrize("stale", [True, False])
def test_a_trace_that_is_off_by_a_millionth_is_not_rounded_differently(
    off: Any, stale: bool
) -> None:
    tf = pytest.importorskip("tensorflow")
    scale = [1.7 * np.ones(7, "f"), (1.7 * (1 + off)).astype("f")]
    now = scale[:1]

    @tf.function
    def traced(x: Any) -> Any:
        return tf.tanh(x) * now[0]

    traced(tf.constant(X))
    now[0] = scale[1]
    factor = torch.from_numpy(scale[0 if stale else 1])
    reference = parity.wrap(lambda x: torch.tanh(x) * factor, framework="torch")
    report = parity.compare(reference, traced, inputs=X)
    assert report.verdict == "unverified" and "Traced or compiled" in reasons(report)


@pytest.mark.parametrize("seed", range(3))
def test_a_graph_may_fold_constants_and_reorder_factors(seed: int) -> None:
    """An element of the code may be right by luck, as with the second of these inputs."""
    tf = pytest.importorskip("tensorflow")
    weight = np.random.default_rng(7).standard_normal((12, 4)).astype("f") / 4
    phases = math.pi * torch.arange(1, 13).float()
    x = np.random.default_rng(seed).random(5).astype("f")

    @tf.function
    def cosines(x: Any) -> Any:
        steps = tf.range(1, 13, dtype=tf.float32)
        return tf.cos(x[..., None] * steps * math.pi) @ weight

    reference = parity.wrap(
        lambda x: torch.cos(x[..., None] * phases) @ torch.from_numpy(weight), framework="torch"
    )
    assert parity.compare(reference, cosines, inputs=x).verdict == "parity"


@pytest.mark.parametrize("jit", [False, True], ids=["graph", "XLA"])
def test_a_graph_may_round_as_its_kernels_do(jit: bool) -> None:
    tf = pytest.importorskip("tensorflow")
    first, second = (
        torch.from_numpy(draw.standard_normal(s).astype("f")) for s in ((9, 8), (8, 4))
    )
    x = (draw.standard_normal((6, 9)) + 5).astype("f")

    def model(x: Any) -> Any:
        mean, variance = tf.nn.moments(x, [1], keepdims=True)
        h = tf.tanh((x - mean) * tf.math.rsqrt(variance + 1e-5) @ first.numpy())
        return tf.math.log(1 - tf.tanh(h) ** 2 + 1e-6) @ second.numpy()

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(torch.nn.functional.layer_norm(x, (9,), eps=1e-5) @ first)
        return torch.log(1 - torch.tanh(h) ** 2 + 1e-6) @ second

    candidate = tf.function(model, jit_compile=jit)
    report = parity.compare(parity.wrap(reference, framework="torch"), candidate, inputs=x)
    assert report.verdict == "parity"


def test_a_numpy_reference_that_writes_to_its_input_leaves_the_candidates_as_it_is() -> None:
    x = X.copy()

    def in_place(x: Any) -> Any:
        x *= 2.0
        return np.tanh(x)

    reference = parity.wrap(in_place, framework="numpy")
    right = parity.wrap(lambda x: torch.tanh(2 * x), framework="torch")
    wrong = parity.wrap(torch.tanh, framework="torch")
    assert parity.compare(reference, right, inputs=x).verdict == "parity"
    assert parity.compare(reference, wrong, inputs=x).verdict == "diverged"
    assert np.array_equal(x, X)


# --- the difference is accounted for --------------------------------------------------------------


def columns(factor: float) -> Any:
    def model(x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(x @ FIRST)
        return torch.cat([1e12 * h, factor * (1 + h)], 1)

    return model


def dead_channel(epsilon: float) -> Any:
    def model(x: torch.Tensor) -> Any:
        h = torch.cat([x, 0 * x[:, :1]], 1)
        return torch.rsqrt(h.var(0) + epsilon)

    return model


def one_of_many(step: float) -> Any:
    off = torch.ones(200, 500)
    off[3, 5] += step
    return lambda x: torch.tanh(x) * off


def straight_through(step: float) -> Any:
    def model(x: torch.Tensor) -> Any:
        h = x @ FIRST
        quantised = torch.round(4 * h) / 4
        return torch.tanh((quantised + step) @ SECOND), h + (quantised - h).detach()

    return model


def capped(at: float) -> Any:
    return lambda x: torch.where(x > 0, torch.tanh(x @ weight_7), torch.tensor(at))


weight_7 = weights(7, 7)
MANY = draw.standard_normal((200, 500)).astype("f")
FAMILIES = [
    pytest.param(columns, 1.0, 1.005, X, id="columns of 1 beside columns of 1e12"),
    pytest.param(dead_channel, 1e-12, 1e-11, X, id="an epsilon where a channel is dead"),
    pytest.param(one_of_many, 0.0, 2e-4, MANY, id="one output of many"),
    pytest.param(straight_through, 0.0, 5e-5, X, id="a straight-through estimator"),
    pytest.param(capped, 1e8, 5e8, X, id="large numbers that are no mask"),
    pytest.param(capped, 3e7, 9e7, X, id="large numbers that are no mask, nearer"),
]


@pytest.mark.parametrize(("build", "right", "wrong", "x"), FAMILIES)
def test_what_is_small_beside_the_rest_counts_by_its_own_size(
    build: Any, right: float, wrong: float, x: Any
) -> None:
    assert compare(build(right), build(right), inputs=x).verdict == "parity"
    report = compare(build(right), build(wrong), inputs=x)
    assert report.verdict == "diverged" and len(report.divergences) == 1


def test_without_the_check_it_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parity.diagnosis.closing_checks.exceeding", lambda *_: [])
    monkeypatch.setattr("parity.diagnosis.closing_checks.precision_decides", lambda *_: [])
    assert compare(columns(1.0), columns(1.005)).verdict == "parity"


def test_a_note_with_a_wrong_effect_is_no_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is noted accounts for the outputs only if the reference's value there does."""
    factor = torch.from_numpy(draw.uniform(0.3, 3, 6).astype("f"))
    folded = FIRST * factor

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh((x @ FIRST) * factor) @ SECOND

    def port(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x @ folded) @ SECOND

    assert compare(reference, port).verdict == "parity"  # noted as constant-precision
    off = SECOND.clone()
    off[1, 2] += 0.01
    noted = MismatchKind("constant-precision")
    monkeypatch.setattr("parity.diagnosis.sorted_mismatches.classify", lambda *_: noted)
    report = compare(reference, lambda x: torch.tanh(x @ folded) @ off)
    assert report.verdict != "parity"


def test_rounding_of_a_chaotic_model_is_its_own_measure() -> None:
    deep = [1.6 * weights(7, 7) for _ in range(30)]

    def chaotic(x: torch.Tensor) -> torch.Tensor:
        for weight in deep:
            x = torch.tanh(x @ weight)
        return x

    def otherwise(x: torch.Tensor) -> torch.Tensor:
        for weight in deep:
            x = torch.tanh((weight.T @ x.T).T)
        return x

    assert compare(chaotic, otherwise).verdict == "parity"


def test_the_allowance_is_each_elements_own() -> None:
    exact = np.array([[1e12, 1.0], [2e12, 2.0]])
    ran = exact.astype("f")
    allowed = allowance((ran, exact), (ran, exact))
    nudged = exact * [1.0, 1.001]
    assert excess(exact, exact, allowed).ratio == 0.0
    found = excess(exact, nudged, allowed)
    assert found.ratio > ACCOUNTED and found.count == 2 and found.index[1] == 1


def test_nan_infinity_and_masks_are_values_of_their_own() -> None:
    exact = np.array([np.nan, np.inf, -1e9, 0.5])
    same = np.array([np.nan, np.inf, -np.inf, 0.5])
    allowed = allowance((exact.astype("f"), exact), (same.astype("f"), same))
    assert excess(exact, same, allowed).ratio == 0.0
    for index, other in ((0, 1.0), (1, -np.inf), (2, 0.0)):
        wrong = same.copy()
        wrong[index] = other
        assert excess(exact, wrong, allowed).ratio == np.inf


def test_integers_are_equal_or_not() -> None:
    a, b = np.array([1, 2, 3]), np.array([1, 2, 4])
    assert excess(a, a, np.ones(3)).ratio == 0.0 and excess(a, b, np.ones(3)).ratio == np.inf


# --- stored results -------------------------------------------------------------------------------


def test_a_stored_copy_of_the_result_is_no_parity() -> None:
    stored = network(torch.from_numpy(X))
    report = compare(network, lambda x: stored * 1.0)
    assert report.verdict == "diverged" and "in another order they differ" in reasons(report)
    one = compare(network, lambda x: stored[:1] * 1.0, inputs=X[:1])
    assert one.verdict == "unverified" and "a few percent off they differ" in reasons(one)
    whole = np.eye(7, dtype="f")[:1]  # a sample beside which there is none
    kept = network(torch.from_numpy(whole))
    one = compare(network, lambda x: kept * 1.0, inputs=whole)
    assert one.verdict == "unverified" and "more than one sample would show it" in reasons(one)


def test_a_stored_part_of_the_result_is_no_parity() -> None:
    mean = (torch.from_numpy(X) @ FIRST).mean(0)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = x @ FIRST
        return torch.tanh(h - h.mean(0)) @ SECOND

    report = compare(reference, lambda x: torch.tanh(x @ FIRST - mean) @ SECOND)
    assert report.verdict == "diverged"
    assert compare(reference, reference).verdict == "parity"


# --- rules ----------------------------------------------------------------------------------------


def one_pass(factor: float) -> Any:
    def model(x: torch.Tensor) -> torch.Tensor:
        return factor * ((x * x).mean(1) - x.mean(1) ** 2)

    return model


def test_a_factor_that_rounding_covers_is_no_rounding() -> None:
    x = (1000 + 1e-3 * draw.standard_normal((16, 8))).astype("f")
    assert compare(one_pass(1.0), one_pass(1.0), inputs=x).verdict == "parity"
    assert compare(one_pass(1.0), one_pass(2.0), inputs=x).verdict == "diverged"
    stable = compare(one_pass(1.0), lambda x: x.var(1, unbiased=False), inputs=x)
    assert stable.verdict == "unverified" and "loses fewer digits" in reasons(stable)
    report = compare(one_pass(1.0), lambda x: 2 * x.var(1, unbiased=False), inputs=x)
    assert report.verdict == "diverged"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn])
@pytest.mark.parametrize("what", ["weight", "activation"])
def test_a_cast_to_a_narrow_format_on_the_way_is_a_divergence(dtype: Any, what: str) -> None:
    def port(x: torch.Tensor) -> torch.Tensor:
        if what == "weight":
            h = torch.tanh(x @ FIRST.to(dtype).float())
        else:
            h = torch.tanh(x @ FIRST).to(dtype).float()
        return torch.softmax(h @ SECOND, 1)

    report = compare(network, port)
    (found,) = report.divergences
    assert found.candidate.frames[0].function == "port" and "rounds" in found.detail


def test_a_table_in_half_precision_that_both_models_share_is_no_cast() -> None:
    table = weights(4).half()
    port = lambda x: network(x) * table.float()  # noqa: E731
    assert compare(port, lambda x: table.float() * network(x)).verdict == "parity"


def test_a_graph_that_treats_zeros_differently_diverges_on_the_inputs_that_have_them() -> None:
    tf = pytest.importorskip("tensorflow")
    weight = FIRST.numpy()
    x = X.copy()
    x[2:4] = 0.0

    def masked(x: Any) -> Any:
        keep = tf.cast(tf.reduce_any(x != 0, 1, keepdims=True), x.dtype)
        return tf.tanh(x @ weight + 1) * keep

    signature = tf.TensorSpec(x.shape, tf.float32)
    graph = tf.function(masked).get_concrete_function(signature)
    reference = parity.wrap(lambda x: torch.tanh(x @ FIRST + 1), framework="torch")
    assert parity.compare(reference, graph, inputs=X).verdict == "parity"
    assert parity.compare(reference, graph, inputs=x).verdict == "diverged"
