"""Constants of too few digits, and half precision."""

from __future__ import annotations

import math

import torch

from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

X = values(6, 7)
FIRST, LAST = tensor(values(7, 8)), tensor(values(8, 5))


def times(constant):
    return lambda x: torch.sin(torch.tanh(x @ FIRST) * constant)


def plus(constant):
    return lambda x: torch.sin(torch.tanh(x @ FIRST) + constant)


def test_digits():
    cause = cause_of(times(math.pi), times(3.1416), X)
    assert cause.kind == "constant-precision"
    assert cause.parameters["constant"][1] == 3.1416
    assert kind(plus(0.9189385332), plus(0.919), X) == "constant-precision"
    assert kind(times(3.1416), times(math.pi), X) == "constant-precision"


def test_half_precision_of_a_constant():
    for dtype in (torch.float16, torch.bfloat16):
        rounded = float(torch.tensor(5.4321).to(dtype))
        assert kind(times(5.4321), times(rounded), X) == "constant-precision"


def test_another_constant_is_not_a_rounded_one():
    assert kind(times(3.14159), times(3.1522), X) != "constant-precision"
    for one, other in ((3.0, 3.01), (3.01, 3.0), (0.56, 0.57), (5.1, 5.2), (0.71, 0.72)):
        # one unit of the last digit, which float64 may make a little less
        assert kind(times(one), times(other), X) != "constant-precision", (one, other)


def test_half_precision_on_the_way():
    def half(x):
        h = torch.tanh(x @ FIRST).half()
        return (h @ LAST.half()).float()

    cause = cause_of(lambda x: torch.tanh(x @ FIRST) @ LAST, half, X)
    assert (cause.kind, cause.parameters["dtype"]) == ("low-precision", ("float32", "float16"))


def test_a_format_that_is_narrower_than_the_weights():
    """A model in float16 says that it is, and not that it keeps some of it in eight bits."""
    first, last = FIRST.half(), LAST.half()

    def whole(x):
        return torch.tanh(x.half() @ first) @ last

    def cached(x):
        h = torch.tanh(x.half() @ first)
        kept = h[:, :4].to(torch.float8_e4m3fn).half()
        return torch.cat([kept, h[:, 4:]], 1) @ last

    def in_single(x):
        return torch.tanh(x @ FIRST) @ LAST

    for reference in (whole, in_single):
        cause = cause_of(reference, cached, X)
        assert cause.kind == "low-precision"
        assert "float8_e4m3fn" in cause.parameters["dtype"][1]
