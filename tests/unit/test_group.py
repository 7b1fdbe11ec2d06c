"""Which divergences are reported as one."""

from __future__ import annotations

from dataclasses import replace

from parity.diagnosis.deduplicate import merge
from parity.findings import Cause, Divergence
from parity.tape import Frame, Site


def site(layer, line=0, function="forward"):
    frames = (Frame("net.py", line, function),) if line else ()
    return Site("op", layer, frames)


def divergence(reference, candidate, kind=None, **parameters):
    cause = Cause(kind, "", parameters, True, 1.0, 0.0, 4) if kind else None
    return Divergence(reference, candidate, 1.0, cause=cause)


def merged(*divergences):
    return [(d.cause.kind if d.cause else None, d.times) for d in merge(divergences)]


def test_one_line_in_a_loop_is_one():
    here = site("", 3), site("", 7)
    assert merged(*(divergence(*here, "softmax-axis", axis=(-1, 0)) for _ in range(5))) == [
        ("softmax-axis", 5)
    ]


def test_other_parameters_are_another_divergence():
    here = site("", 3), site("", 7)
    first = divergence(*here, "softmax-axis", axis=(-1, 0))
    second = divergence(*here, "softmax-axis", axis=(-1, 1))
    assert merged(first, second) == [("softmax-axis", 1)] * 2


def test_one_fault_in_two_lines_on_both_sides_is_one_with_two_places():
    first = divergence(site("", 3), site("", 7), "softmax-axis", axis=(-1, 0))
    second = divergence(site("", 4), site("", 8), "softmax-axis", axis=(-1, 0))
    (found,) = merge([first, second])
    assert found.times == 2
    assert found.places == ((second.reference, second.candidate),)


def test_one_fault_in_two_layers_has_two_places_though_the_other_side_is_a_loop():
    first = divergence(site("blocks.0", 3), site("", 7), "softmax-axis", axis=(-1, 0))
    second = divergence(site("blocks.1", 3), site("", 7), "softmax-axis", axis=(-1, 0))
    (found,) = merge([first, second, second])
    assert (found.reference, found.times) == (first.reference, 3)
    assert found.places == ((second.reference, second.candidate),)


def test_what_is_not_confirmed_keeps_its_place():
    first = divergence(site("blocks.0", 3), site("", 7), "softmax-axis", axis=(-1, 0))
    second = divergence(site("blocks.1", 3), site("", 8), "softmax-axis", axis=(-1, 0))
    doubted = replace(second, cause=replace(second.cause, confirmed=False))
    assert merged(first, doubted) == [("softmax-axis", 1)] * 2


def test_the_gates_of_a_cell_are_one_over_its_lines():
    first = divergence(site("", 3), site("", 7), "gate-order")
    second = divergence(site("", 4), site("", 8), "gate-order")
    assert merged(first, second) == [("gate-order", 2)]
    other = divergence(site("", 4), site("", 8, "another"), "gate-order")
    (found,) = merge([first, replace(other, reference=site("", 4, "another"))])
    assert [candidate for _, candidate in found.places] == [other.candidate]


def test_what_a_fault_leaves_elsewhere_in_its_layer_is_an_echo():
    here = site("lstm", 3), site("cell", 7)
    sure = divergence(*here, "gate-order")
    assert merged(sure, divergence(*here)) == [("gate-order", 2)]
    assert merged(divergence(*here), sure) == [("gate-order", 2)]
    assert merged(sure, divergence(*here, "wrong-source", source=("a", "b"))) == [("gate-order", 2)]


def test_hints_that_do_not_agree_are_no_cause():
    here = site("lstm", 3), site("cell", 7)
    hints = divergence(*here, "wrong-source", source=("a", "b")), divergence(*here, "op-extra")
    assert merged(*hints) == [(None, 2)]


def test_a_hint_that_is_confirmed_of_several_steps_is_the_cause_of_the_call():
    here = site("lstm", 3), site("cell", 7)
    hint = divergence(*here, "wrong-source", source=("a", "b"))
    assert merged(hint, hint, divergence(*here)) == [("wrong-source", 3)]
    assert merged(hint, divergence(*here)) == [(None, 2)]
    assert merged(hint, hint, divergence(*here, "op-extra")) == [(None, 3)]


def test_an_unexplained_line_outside_layers_is_kept_beside_an_explained_one():
    here = site("", 3), site("", 7)
    assert merged(divergence(*here, "softmax-axis", axis=(-1, 0)), divergence(*here)) == [
        ("softmax-axis", 1),
        (None, 1),
    ]


def test_what_has_no_place_is_never_put_together():
    nowhere = site(""), site("")
    assert merged(divergence(*nowhere), divergence(*nowhere)) == [(None, 1)] * 2
