"""One result in the forms in which frameworks and people return it: nothing has to be rewritten."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import parity
from parity.frameworks.chainer_numpy import import_chainer
from parity.result import Comparison

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
chainer = import_chainer()

random = np.random.default_rng(8)
X = random.standard_normal((5, 4)).astype("f")
Q, H, C = (random.standard_normal((4, 3)).astype("f") for _ in range(3))
Form = Callable[..., Any]


class Torch(torch.nn.Module):
    form: Form

    def __init__(self) -> None:
        super().__init__()
        self.q, self.h, self.c = (torch.nn.Parameter(torch.tensor(one)) for one in (Q, H, C))

    def forward(self, x: Any) -> Any:
        return self.form(torch.tanh(x @ self.q), torch.sigmoid(x @ self.h), torch.exp(x @ self.c))


class Keras(keras.Model):
    form: Form

    def __init__(self) -> None:
        super().__init__()
        given = ({"kernel_initializer": keras.initializers.Constant(one)} for one in (Q, H, C))
        kinds = zip(("tanh", "sigmoid", "exponential"), given, strict=True)
        self.heads = [keras.layers.Dense(3, kind, use_bias=False, **own) for kind, own in kinds]

    def call(self, x: Any) -> Any:
        return self.form(*(head(x) for head in self.heads))


class Plain(tf.Module):
    form: Form

    def __init__(self) -> None:
        super().__init__()
        self.q, self.h, self.c = (tf.Variable(one) for one in (Q, H, C))

    def __call__(self, x: Any) -> Any:
        return self.form(tf.tanh(x @ self.q), tf.sigmoid(x @ self.h), tf.exp(x @ self.c))


class Chain(chainer.Chain):
    form: Form

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.q, self.h, self.c = (chainer.Parameter(one) for one in (Q, H, C))

    def forward(self, x: Any) -> Any:
        f = chainer.functions
        heads = (f.matmul(x, one) for one in (self.q, self.h, self.c))
        return self.form(
            *(kind(y) for kind, y in zip((f.tanh, f.sigmoid, f.exp), heads, strict=True))
        )


MODELS = {kind: kind() for kind in (Torch, Keras, Plain, Chain)}
SIDES = [(Torch, Keras), (Plain, Torch), (Keras, Chain), (Chain, Plain)]


def compared(sides: tuple[Any, Any], reference: Form, candidate: Form) -> Comparison:
    models = [MODELS[kind] for kind in sides]
    for model, form in zip(models, (reference, candidate), strict=True):
        model.form = form
    return parity.compare(*models, inputs=X).comparisons[0]


class State(NamedTuple):
    h: Any
    c: Any


class Cell(NamedTuple):
    """The same in another port."""

    h: Any
    c: Any


@dataclass
class Step:
    q: Any
    state: Any
    mask: Any = None


class Output:
    def __init__(self, q: Any, state: Any) -> None:
        self.q, self.state = q, state


class Answer:
    def __init__(self, q: Any, state: Any) -> None:
        self.q, self.state = q, state


Named = types.SimpleNamespace

# pairs of forms in which nothing is ambiguous
FORMS: dict[str, tuple[Form, Form]] = {
    "one and a tuple of one": (lambda q, h, c: q, lambda q, h, c: (q,)),
    "one and a dict of one": (lambda q, h, c: [q], lambda q, h, c: {"q": q}),
    "one and None beside": (lambda q, h, c: q, lambda q, h, c: (q, None)),
    "a state and a list of it": (lambda q, h, c: (q, h), lambda q, h, c: (q, [h])),
    "a state and a dict of it": (lambda q, h, c: (q, h), lambda q, h, c: (q, {"h": h})),
    "named, and in a tuple": (
        lambda q, h, c: {"q": q, "state": h},
        lambda q, h, c: {"q": q, "state": (h,)},
    ),
    "all in a tuple": (
        lambda q, h, c: {"q": q, "state": h},
        lambda q, h, c: ({"state": h, "q": q},),
    ),
    "all in a dict": (lambda q, h, c: State(q, h), lambda q, h, c: {"out": {"c": h, "h": q}}),
    "(h, c) and [h, c]": (lambda q, h, c: (q, (h, c)), lambda q, h, c: [q, [h, c]]),
    "(h, c) beside": (lambda q, h, c: (q, (h, c)), lambda q, h, c: (q, h, c)),
    "(h, c) by name": (lambda q, h, c: (q, (h, c)), lambda q, h, c: (q, {"h": h, "c": c})),
    "(h, c) by name in a dict": (
        lambda q, h, c: {"q": q, "state": (h, c)},
        lambda q, h, c: {"q": q, "state": State(h, c)},
    ),
    "a record beside": (lambda q, h, c: (q, State(h, c)), lambda q, h, c: (q, h, c)),
    "a record or a dict": (
        lambda q, h, c: Step(q, (h, c)),
        lambda q, h, c: Named(q=q, state=[h, c]),
    ),
    "names beside": (
        lambda q, h, c: {"q": q, "state": {"h": h, "c": c}},
        lambda q, h, c: {"c": c, "h": h, "q": q},
    ),
    "a tuple and a dict": (lambda q, h, c: (q, h, c), lambda q, h, c: {"pi": q, "h": h, "c": c}),
    "None by name": (
        lambda q, h, c: {"q": q, "aux": None, "h": h},
        lambda q, h, c: {"q": q, "h": h},
    ),
    "None at the end": (lambda q, h, c: (q, h, None), lambda q, h, c: (q, h)),
    "None in a state": (lambda q, h, c: (q, (h, None)), lambda q, h, c: (q, h)),
    "two records": (lambda q, h, c: (q, State(h, c)), lambda q, h, c: (q, Cell(h, c))),
    "an object and a dict": (lambda q, h, c: Output(q, h), lambda q, h, c: {"q": q, "state": h}),
    "an object and another": (lambda q, h, c: Output(q, h), lambda q, h, c: Answer(q, h)),
    "an object and a record": (lambda q, h, c: Output(q, [h]), lambda q, h, c: Step(q, h)),
}


@pytest.mark.parametrize("sides", SIDES, ids=lambda sides: sides[0].__name__)
@pytest.mark.parametrize("forms", FORMS.values(), ids=FORMS)
def test_what_is_one_thing_is_compared_as_one(sides: Any, forms: tuple[Form, Form]) -> None:
    found = compared(sides, *(forms if SIDES.index(sides) % 2 else forms[::-1]))
    assert (found.verdict, found.reasons) == ("parity", ())


# pairs in which something differs, or may
OTHERS: dict[str, tuple[Form, Form, str]] = {
    "h and c exchanged": (lambda q, h, c: (q, (h, c)), lambda q, h, c: (q, c, h), "diverged"),
    "another in a list": (lambda q, h, c: (q, h), lambda q, h, c: (q, [c]), "diverged"),
    "a name for another": (
        lambda q, h, c: {"q": q, "state": {"h": h, "c": c}},
        lambda q, h, c: {"q": q, "h": c, "c": h},
        "diverged",
    ),
    "another order of names": (
        lambda q, h, c: (q, (h, c)),
        lambda q, h, c: (q, {"c": c, "h": h}),
        "unverified",
    ),
    "a text beside": (lambda q, h, c: (q, [h]), lambda q, h, c: (q, [h, "gru"]), "unverified"),
    "another text": (
        lambda q, h, c: (q, (h, "lstm")),
        lambda q, h, c: {"q": q, "state": [h, "gru"]},
        "diverged",
    ),
    "None in another place": (
        lambda q, h, c: (q, None, h),
        lambda q, h, c: (q, h, None),
        "unverified",
    ),
    "a number is a key": (lambda q, h, c: {3: q, 5: h}, lambda q, h, c: (q, {5: h}), "unverified"),
    "one more": (lambda q, h, c: (q, [h]), lambda q, h, c: (q, [h, c]), "unverified"),
    "an axis that the user made": (
        lambda q, h, c: (q, h[:, 0]),
        lambda q, h, c: (q, h[:, :1]),
        "diverged",
    ),
    "a first axis that the user made": (
        lambda q, h, c: (q, h),
        lambda q, h, c: (q, h[None]),
        "diverged",
    ),
}


@pytest.mark.parametrize("sides", SIDES, ids=lambda sides: sides[0].__name__)
@pytest.mark.parametrize("forms", OTHERS.values(), ids=OTHERS)
def test_what_may_be_two_things_is_no_parity(sides: Any, forms: tuple[Form, Form, str]) -> None:
    *pair, verdict = forms
    assert compared(sides, *(pair if SIDES.index(sides) % 2 else pair[::-1])).verdict == verdict


def test_the_report_says_what_was_paired_by_its_place() -> None:
    found = compared((Torch, Keras), lambda q, h, c: (q, h), lambda q, h, c: (q, [h]))
    assert found.caveats == ("outputs are paired by their places: '1' of Torch is '1/0' of Keras",)
    assert [row.name for row in found.outputs] == ["0", "1"]


def test_what_has_no_counterpart_says_what_to_write() -> None:
    found = compared((Torch, Keras), lambda q, h, c: (q, None, h), lambda q, h, c: (q, h))
    assert "name them alike in a dict" in found.reasons[-1]
