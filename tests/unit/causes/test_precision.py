"""Constants of too few digits, and half precision."""

from __future__ import annotations

import math

import torch

from tests.unit.causes.told import kind, numbers, tensor, told

X = numbers(6, 7)
FIRST, LAST = tensor(numbers(7, 8)), tensor(numbers(8, 5))


def times(constant):
    return lambda x: torch.sin(torch.tanh(x @ FIRST) * constant)


def plus(constant):
    return lambda x: torch.sin(torch.tanh(x @ FIRST) + constant)


def test_digits():
    cause = told(times(math.pi), times(3.1416), X)
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


def test_half_precision_on_the_way():
    def half(x):
        h = torch.tanh(x @ FIRST).half()
        return (h @ LAST.half()).float()

    cause = told(lambda x: torch.tanh(x @ FIRST) @ LAST, half, X)
    assert (cause.kind, cause.parameters["dtype"]) == ("low-precision", ("float32", "float16"))
