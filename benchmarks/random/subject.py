"""What a stochastic subject is: forms in several frameworks, and the faults that each can have.

A form is built right, or with one fault, on lines that end in `# here`: there a divergence has to
be reported. Each fault changes the distribution of the outputs by construction, whatever is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import parity

from .ops import OPS

Array = Any
# Builds a model: random numbers for its weights, the batch, and a fault or "".
Form = Callable[[np.random.Generator, int, str], Any]


@dataclass(frozen=True)
class Subject:
    """Models of several frameworks that compute one random function.

    Attributes:
        forms: by name; a name begins with the framework.
        pairs: of names of forms, the reference first.
        faults: what the candidate may have wrong.
        shape: of one sample of the input.
    """

    name: str
    forms: dict[str, Form]
    pairs: Sequence[tuple[str, str]]
    faults: Sequence[str]
    shape: tuple[int, ...]

    def built(self, form: str, seed: int, batch: int, fault: str = "") -> Any:
        """A form as parity takes it; one seed gives all forms the same weights."""
        framework = form.split("-")[0]
        model = self.forms[form](np.random.default_rng(seed), batch, fault)
        keras = framework == "keras"
        return parity.wrap(
            model,
            framework="tensorflow" if keras else framework,
            mode="train",
            name=f"{self.name} {form}",
        )

    def inputs(self, seed: int, batch: int) -> Array:
        return np.random.default_rng([seed, 9]).normal(size=(batch, *self.shape)).astype("f")


SUBJECTS: list[Subject] = []


def weights(random: np.random.Generator, *shape: int, scale: float = 0.5) -> Array:
    return random.normal(scale=scale, size=shape).astype("f")


def formula(
    name: str,
    write: Callable[..., Any],
    frameworks: str,
    faults: str,
    shape: tuple[int, ...] = (8,),
    more: dict[str, Form] | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
) -> None:
    """Registers a subject whose forms are one formula in several frameworks.

    Args:
        write: gets the framework's functions, weights' random numbers, batch and fault, and gives
            the model.
        frameworks: separated by blanks; each is held against the next, and the last against the
            first.
        more: forms of their own.
    """

    def form(framework: str) -> Form:
        return lambda random, batch, fault: write(OPS[framework](), random, batch, fault)

    names = frameworks.split()
    forms = {framework: form(framework) for framework in names}
    forms.update(more or {})
    names = list(forms)
    around = list(zip(names, [*names[1:], names[0]], strict=True)) if len(names) > 1 else []
    SUBJECTS.append(Subject(name, forms, pairs or around, faults.split(), shape))
