"""Dueling heads."""

from __future__ import annotations

import torch

from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

X = values(5, 7)
ADVANTAGE, VALUE = tensor(values(7, 6)), tensor(values(7, 1))


def head(centre):
    def q(x):
        h = torch.tanh(x)
        a, v = h @ ADVANTAGE, h @ VALUE
        return v + (a - centre(a, v))

    return q


def mean(a, v):
    return a.mean(1, keepdim=True)


def test_over_the_batch():
    cause = cause_of(head(mean), head(lambda a, v: a.mean(0)), X)
    assert (cause.kind, cause.parameters["axis"]) == ("dueling-mean-axis", (-1, 0))


def test_a_log_softmax_is_no_stream_of_a_value():
    def loss(axis):
        def called(x):
            h = torch.tanh(x) @ ADVANTAGE
            return torch.log_softmax(h - h.max(axis, keepdim=True)[0], -1) + torch.tanh(h)

        return called

    assert cause_of(loss(1), loss(0), X).kind == "reduction-axis"


def test_by_the_maximum():
    cause = cause_of(head(mean), head(lambda a, v: a.max(1, keepdim=True)[0]), X)
    assert (cause.kind, cause.parameters["kind"]) == ("dueling-max-centered", ("mean", "max"))


def test_not_at_all():
    assert kind(head(mean), lambda x: torch.tanh(x) @ VALUE + torch.tanh(x) @ ADVANTAGE, X) == (
        "dueling-not-centered"
    )


def test_a_mean_that_a_softmax_cancels_is_not_surely_missing():
    """Centred over the atoms, before a softmax over them: as if not centred, but it is."""
    advantage, value = tensor(values(7, 12)), tensor(values(7, 3))

    def c51(axis):
        def q(x):
            h = torch.tanh(x)
            a, v = (h @ advantage).view(-1, 4, 3), (h @ value).view(-1, 1, 3)
            return (v + a - a.mean(axis, keepdim=True)).softmax(2)

        return q

    cause = cause_of(c51(1), c51(2), X)
    assert not cause.confirmed or cause.kind == "dueling-mean-axis"
    uncentred = lambda x: (  # noqa: E731
        (torch.tanh(x) @ value).view(-1, 1, 3) + (torch.tanh(x) @ advantage).view(-1, 4, 3)
    ).softmax(2)
    cause = cause_of(c51(1), uncentred, X)
    assert (cause.kind, cause.confirmed) == ("dueling-not-centered", True)


def test_the_mean_of_the_values():
    assert kind(head(mean), head(lambda a, v: v.mean(0, keepdim=True)), X) == "dueling-wrong-tensor"


def test_the_mean_of_the_values_in_the_reference():
    """So too, stated the other way round; and written as the value minus its own mean."""
    cause = cause_of(head(lambda a, v: v.mean(0, keepdim=True)), head(mean), X)
    assert cause.kind == "dueling-wrong-tensor"
    assert cause.parameters == {"centre of": ("value", "advantages")}

    def centred_value(x):
        a, v = torch.tanh(x) @ ADVANTAGE, torch.tanh(x) @ VALUE
        return v - v.mean(0, keepdim=True) + a

    assert kind(centred_value, head(mean), X) == "dueling-wrong-tensor"
    assert kind(head(mean), centred_value, X) == "dueling-wrong-tensor"


def test_another_axis_in_the_reference_and_no_centre_are_no_other_tensor():
    over_all = head(lambda a, v: a.mean((0, 1), keepdim=True))
    assert kind(over_all, head(mean), X) != "dueling-wrong-tensor"

    def uncentred(x):
        a, v = torch.tanh(x) @ ADVANTAGE, torch.tanh(x) @ VALUE
        return v - v.mean(1, keepdim=True) + v + a

    assert kind(uncentred, head(mean), X) != "dueling-wrong-tensor"


def test_a_mean_without_a_value_stream_is_no_dueling_head():
    def centred(axis):
        return lambda x: torch.relu(torch.tanh(x) - torch.tanh(x).mean(axis, keepdim=True))

    assert kind(centred(1), centred(0), X) == "reduction-axis"


def test_the_median_is_another_fault():
    found = kind(head(mean), head(lambda a, v: a.median(1, keepdim=True)[0]), X)
    assert not found.startswith("dueling")


def test_the_sum_of_a_softmax_that_follows_is_no_mean_taken_off():
    advantage, value = tensor(values(7, 12)), tensor(values(7, 3))

    def by_hand(q):
        e = torch.exp(q - q.amax(2, keepdim=True))
        return e / e.sum(2, keepdim=True)

    def centred(x):
        a, v = (torch.tanh(x) @ advantage).view(-1, 4, 3), (torch.tanh(x) @ value).view(-1, 1, 3)
        return by_hand(v + (a - a.mean(1, keepdim=True)))

    def uncentred(x):
        return by_hand(
            (torch.tanh(x) @ value).view(-1, 1, 3) + (torch.tanh(x) @ advantage).view(-1, 4, 3)
        )

    cause = cause_of(centred, uncentred, X)
    assert (cause.kind, cause.confirmed) == ("dueling-not-centered", True)
