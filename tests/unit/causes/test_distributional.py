"""Distributional heads: support, expectation, order of atoms, fractions."""

from __future__ import annotations

import torch

from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

X = values(4, 7)
LOGITS = tensor(values(7, 3 * 5))


def probabilities(x):
    return (x @ LOGITS).view(-1, 3, 5).softmax(-1)


def expectation(support):
    return lambda x: (probabilities(x) * support).sum(-1)


def test_the_range_is_solved_for():
    cause = cause_of(
        expectation(torch.linspace(-10, 10, 5)), expectation(torch.linspace(-10, 2.5, 5)), X
    )
    assert cause.kind == "support-range"
    assert cause.parameters["range"] == ((-10.0, 10.0), (-10.0, 2.5))


def test_the_range_of_a_support_that_is_computed_in_a_product():
    def candidate(x):
        return probabilities(x) @ (torch.arange(5) * 0.5)

    cause = cause_of(lambda x: probabilities(x) @ torch.linspace(-1, 1, 5), candidate, X)
    assert (cause.kind, cause.parameters["range"]) == ("support-range", ((-1.0, 1.0), (0.0, 2.0)))


def test_the_other_way_round():
    z = torch.linspace(-3, 10, 5)
    assert kind(expectation(z), expectation(z.flip(0)), X) == "support-order"


def test_the_axis_of_the_expectation():
    z = torch.linspace(-3, 10, 5)
    cause = cause_of(expectation(z), lambda x: (probabilities(x) * z).sum(1), X)
    assert (cause.kind, cause.parameters["axis"]) == ("expectation-axis", (-1, 1))


def test_atoms_before_actions():
    def candidate(x):
        return (x @ LOGITS).view(-1, 5, 3).softmax(1).transpose(1, 2)

    assert kind(probabilities, candidate, X) == "atoms-actions-order"


def test_fractions():
    z = values(4, 5)
    steps = torch.arange(5.0)

    def loss(fractions):
        return lambda z: ((fractions - (z < 0).float()).abs() * z.abs()).mean(-1)

    cause = cause_of(loss((steps + 0.5) / 5), loss((steps + 1) / 5), z)
    assert cause.kind == "quantile-fractions"
    assert cause.parameters["fractions"] == ("(i + 0.5) / n", "(i + 1) / n")


def test_uneven_atoms_are_no_range():
    found = kind(
        expectation(torch.linspace(-10, 10, 5)), expectation(torch.linspace(-3, 3, 5) ** 3), X
    )
    assert not found.startswith("support")


def test_the_axis_of_as_many_distributions_as_atoms():
    logits, z = tensor(values(7, 25)), torch.linspace(-3, 10, 5)

    def model(axis):
        def run(x):
            p = (x @ logits).view(-1, 5, 5).softmax(-1)
            weighed = p * z.view(*(5 if i == axis else 1 for i in range(3)))
            return weighed.sum(axis)

        return run

    cause = cause_of(model(2), model(1), X)
    assert (cause.kind, cause.parameters["axis"]) == ("expectation-axis", (-1, 1))


def test_probabilities_exchanged_without_a_support_are_no_expectation():
    logits = tensor(values(7, 25))

    def other(x):
        return (x @ logits).view(-1, 5, 5).softmax(-1).transpose(1, 2) * 2

    cause = kind(lambda x: (x @ logits).view(-1, 5, 5).softmax(-1) * 2, other, X)
    assert cause != "expectation-axis"


def test_fractions_of_which_only_an_embedding_is_read():
    multiples = torch.arange(1.0, 6.0)

    def model(offset):
        def run(z):
            fractions = (torch.arange(7.0) + offset) / 7
            return z[:, None] * torch.cos(multiples * fractions[:, None])

        return run

    cause = cause_of(model(0.5), model(0.0), values(4, 5))
    assert cause.kind == "quantile-fractions"
    assert cause.parameters["fractions"] == ("(i + 0.5) / n", "i / n")


def test_the_axis_of_an_expectation_whose_kernel_reads_rows():
    """A product with the support sees rows of atoms, whatever the axes before it were."""
    logits, z = tensor(values(7, 25)), torch.linspace(-3, 10, 5)

    def probabilities_of(x):
        return (x @ logits).view(-1, 5, 5).softmax(-1)

    cause = cause_of(
        lambda x: probabilities_of(x) @ z, lambda x: (probabilities_of(x) * z[:, None]).sum(1), X
    )
    assert (cause.kind, cause.parameters["axis"]) == ("expectation-axis", (-1, 1))
