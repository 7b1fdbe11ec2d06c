"""Distributions that two models return, given by the same parameters before they are compared.

What is compared of a distribution is its law. One library gives a categorical one by logits, the
other by probabilities, and a constant that is added to all logits of a row is no difference. So
operations that make the same parameters of what was given are put behind both models. Where one has
a distribution and the other a class of its own or a tensor, that stands for the parameters.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from parity.diagnosis.replay_check import Outputs, PlainRun
from parity.draws.draw import Reparametrised
from parity.frameworks.distributions import Function, Law, law_of, usual
from parity.outputs.flatten import Outputs as Flat
from parity.site import Site
from parity.tape import Array, Op, Tape, Value


def in_one_law(reference: PlainRun, candidate: PlainRun) -> tuple[PlainRun, PlainRun]:
    """Two models whose distributions are given by the same parameters, as far as they can be."""
    alike = _alike(reference.tape, candidate.tape)
    reference, candidate = (
        plain.made(partial(_tape, changes=changes), partial(_outputs, changes=changes))
        if changes
        else plain
        for plain, changes in zip((reference, candidate), alike.changes, strict=True)
    )
    tape = candidate.tape
    tape = replace(
        tape,
        doubts=[*tape.doubts, *alike.doubts],
        caveats=[*tape.caveats, *alike.caveats],
    )
    return reference, replace(candidate, tape=tape)


def in_law_of(tape: Tape, by: Tape) -> Tape:
    """A tape whose distributions are given by the parameters of another's."""
    return _tape(tape, _alike(by, tape).changes[1])


def are_in_one_law(reference: Tape, candidate: Tape) -> bool:
    """Whether nothing is to be changed for distributions."""
    return not any(_alike(reference, candidate).changes)


@dataclass(frozen=True)
class _Alike:
    """What makes the distributions of two models alike, and what is to be reported of it."""

    changes: tuple[_Changes, _Changes]
    doubts: list[str]
    caveats: list[str]


def _alike(reference: Tape, candidate: Tape) -> _Alike:
    found = _Alike(({}, {}), [], [])
    for one, other in _together(reference, candidate):
        laws = [law for law in (one.law, other.law) if law is not None]
        if not laws:
            continue
        law = usual(laws[0])
        where = f"output {one.path or _ALONE!r}"
        if laws[0].name != laws[-1].name:
            found.doubts.append(
                f"{where} is a distribution of another kind: {laws[0].name} in {reference.model}, "
                f"{laws[-1].name} in {candidate.model}"
            )
        sides = one.called(law, other, reference), other.called(law, one, candidate)
        made = _made(law, *sides)
        both = reference, candidate
        if not all(map(_can_be_made, made, both)):
            continue
        for changes, side, parameters in zip(found.changes, sides, made, strict=True):
            found.doubts.extend(side.doubts)
            if not parameters:
                continue
            first, *rest = side.outputs.values()
            given = {side.below(name): one for name, one in parameters.items()}
            if [*given] != [first, *rest] or any(one.function for one in given.values()):
                changes.update({first: given, **{output: {} for output in rest}})
        if len(laws) == 1 and law.free.keys() & made[0].keys():
            found.caveats.append(
                f"{where} is compared as logits of a {law.name} distribution, which one of the "
                "models returns: a constant that is added to all of a row is no difference"
            )
    return found


# --- what distributions are given by --------------------------------------------------------------

_ALONE = "output"  # the name of what a model returns where it is no structure


@dataclass(frozen=True)
class _Given:
    """A distribution that a model returns, or what it has instead.

    Attributes:
        place: where it is; of a distribution that is wrapped where the wrapper is.
        path: below which its parameters are.
        outputs: the names of its outputs, by parameter.
        law: of a distribution of a library.
        doubts: why it may be something else than it is taken for.
    """

    place: str
    path: str
    outputs: Mapping[str, str]
    law: Law | None = None
    doubts: Sequence[str] = ()

    def called(self, law: Law, other: _Given, tape: Tape) -> _Given:
        """The same with a law's names; a tensor without one is what it looks like, or the other."""
        names, others = (one.named(one.law or law) for one in (self, other))
        unnamed = len(names) == 1 and not law.parameters & names.keys()
        if not unnamed or (law.looks is None and len(others) > 1):
            return replace(self, outputs=names)
        [output], [name, *_] = names.values(), others
        doubts = []
        if law.looks is not None:
            name = law.looks(tape.adapter.to_numpy(tape.recorded[tape.outputs[output]]))
            if name not in others:
                doubts.append(
                    f"output {output!r} of {tape.model} may be the probabilities of a {law.name} "
                    f"distribution or its logits: return it by its name, as in {{{name!r}: x}}"
                )
        return replace(self, path=self.place, outputs={name: output}, doubts=doubts)

    def named(self, law: Law) -> dict[str, str]:
        """Its outputs by the names of a law; of two names of one parameter the first."""
        found: dict[str, str] = {}
        for name, output in self.outputs.items():
            usual = law.called.get(name, name)
            found[name if usual in found else usual] = output
        return found

    def below(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name


def _together(reference: Tape, candidate: Tape) -> Iterable[tuple[_Given, _Given]]:
    """What both models have at one place, or in one order where they have no place in common."""
    places = {*_distributions(reference), *_distributions(candidate)}
    first, second = (_given(tape, places) for tape in (reference, candidate))
    if not first.keys() & second.keys() and len(first) == len(second):
        return zip(first.values(), second.values(), strict=True)
    return [(first[place], second[place]) for place in first if place in second]


def _distributions(tape: Tape) -> dict[str, Law]:
    """The laws of a model's distributions, by place."""
    laws = ((path, law_of(cls)) for path, cls in tape.classes.items())
    return {_place(path, tape): law for path, law in laws if law is not None}


def _place(path: str, tape: Tape) -> str:
    """Where the wrapper of a distribution is, as `Independent`; its own path where it has none."""
    above, _, name = path.rpartition("/")
    return above if name == "base_dist" and above in tape.classes else path


def _given(tape: Tape, places: Iterable[str]) -> dict[str, _Given]:
    """The outputs of a model by place, those of a distribution together."""
    found: dict[str, _Given] = {}
    laws = _distributions(tape)
    for output in tape.outputs:
        path, _, name = output.rpartition("/")
        path = _place(path, tape)
        if output == _ALONE or output in places:
            place, path, name = "" if output == _ALONE else output, output, ""
        else:
            place = path if path in places else output
        known = found.get(place, _Given(place, path, {}, laws.get(place)))
        found[place] = replace(known, outputs={**known.outputs, name: output})
    return found


# --- what they are given by -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Made:
    """An output that is made of others; without a function it is the only one of them.

    Attributes:
        kind: what the operation is called that makes it.
    """

    sources: tuple[str, ...]
    function: Function | None = None
    kind: str = ""

    def call(self) -> Reparametrised:
        function = self.function
        assert function is not None
        return Reparametrised(
            lambda *arrays: [function(*(one.astype("float64") for one in arrays))]
        )

    def of(self, arrays: Sequence[Array], dtype: str) -> Array:
        """The parameter, as precise as what it is made of; NumPy has no bfloat16."""
        [found] = self.call()(arrays, [_made_dtype(dtype)])
        return found


def _made_dtype(dtype: str) -> str:
    return dtype if dtype.startswith("float") else "float32"


_Changes = dict[str, dict[str, _Made]]  # by name of an output what comes in its place, by name


def _made(
    law: Law, reference: _Given, candidate: _Given
) -> tuple[dict[str, _Made], dict[str, _Made]]:
    """The parameters by which both are given; none where they have nothing in common.

    Those are what both give, and what can be made of both where they give other ones.
    """
    shared = [name for name in reference.outputs if name in candidate.outputs]
    made: tuple[dict[str, _Made], dict[str, _Made]] = {}, {}
    given = set(shared)
    for name, ways in law.made.items():
        if not {name, *itertools.chain(*ways)}.isdisjoint(shared):
            given.add(name)
            continue
        one, other = _of(law, name, reference), _of(law, name, candidate)
        if one is None or other is None:
            continue
        given.add(name)
        made[0][name], made[1][name] = one, other
    for parameters, side in zip(made, (reference, candidate), strict=True):
        for name in shared:
            function = law.free.get(name)
            kind = "" if function is None else function.__name__
            parameters[name] = _Made((side.outputs[name],), function, kind)
        if parameters or side.law is not None:
            parameters.update(_rest(law, side, given, parameters))
    return made


def _rest(
    law: Law, side: _Given, given: set[str], parameters: Mapping[str, _Made]
) -> dict[str, _Made]:
    """What else is given; of a library's distribution not what states the same in another way."""
    read = {source for made in parameters.values() for source in made.sources}
    again: set[str] = set()
    for name in given if side.law is not None else ():
        for sources in law.made.get(name, ()):
            if side.outputs.keys() >= set(sources):
                again.update(sources)
    return {
        name: _Made((output,))
        for name, output in side.outputs.items()
        if output not in read and name not in again | given
    }


def _of(law: Law, name: str, side: _Given) -> _Made | None:
    """How a parameter is made of those that are given."""
    if name in side.outputs:
        return _Made((side.outputs[name],))
    for sources, function in law.made[name].items():
        if side.outputs.keys() >= set(sources):
            kind = function.__name__
            if law.looks is None:
                kind += f" of {' and '.join(sources)}"
            return _Made(tuple(side.outputs[one] for one in sources), function, kind)
    return None


def _can_be_made(parameters: Mapping[str, _Made], tape: Tape) -> bool:
    """Whether outputs that only stand for a distribution have the shapes of its parameters."""
    try:
        for made in parameters.values():
            if made.function is not None:
                made.of(_recorded(made, tape), "float64")
    except ValueError:  # NumPy's, of axes and matrices as well
        return False
    return True


def _recorded(made: _Made, tape: Tape) -> list[Array]:
    values = (tape.outputs[source] for source in made.sources)
    return [tape.adapter.to_numpy(tape.recorded[value]) for value in values]


# --- the models that are given so -----------------------------------------------------------------

_T = TypeVar("_T")


def _in_place(outputs: Mapping[str, _T], changes: _Changes) -> dict[str, _Made]:
    """All outputs that there are then, in their order."""
    return {
        name: made
        for output in outputs
        for name, made in changes.get(output, {output: _Made((output,))}).items()
    }


def _outputs(outputs: Outputs, changes: _Changes) -> Outputs:
    """The outputs of a run, those of distributions given by other parameters."""
    if not outputs.keys() >= changes.keys():
        return outputs  # other ones than were recorded, which is reported elsewhere
    found = Flat()
    if isinstance(outputs, Flat):
        found.others, found.classes = outputs.others, outputs.classes
    for name, made in _in_place(outputs, changes).items():
        arrays = [outputs[source] for source in made.sources]
        if made.function is None:
            found[name] = arrays[0]
        else:
            found[name] = made.of(arrays, arrays[0].dtype.name)
    return found


def _tape(tape: Tape, changes: _Changes) -> Tape:
    """A tape with operations behind it that make the parameters of its distributions."""
    ops, values, recorded = [*tape.ops], [*tape.values], dict(tape.recorded)
    outputs: dict[str, int] = {}
    made_by = _in_place(tape.outputs, changes)
    for name, made in made_by.items():
        sources = tuple(tape.outputs[source] for source in made.sources)
        if made.function is None:
            outputs[name] = sources[0]
            continue
        array = made.of(_recorded(made, tape), values[sources[0]].dtype)
        value = Value(len(values), "computed", array.shape, array.dtype.name, op=len(ops))
        recorded[value.id] = tape.adapter.from_numpy(array)
        producer = tape.producer(sources[0])
        site = replace(producer.site if producer else Site("", ""), op=made.kind)
        static = not any(map(tape.is_live, sources))
        ops.append(
            Op(len(ops), made.kind, sources, (value.id,), site, call=made.call(), static=static)
        )
        values.append(value)
        outputs[name] = value.id
    by_value = {name for name, made in made_by.items() if tape.by_value >= {*made.sources}}
    numbers = {
        name: tape.numbers[made.sources[0]]
        for name, made in made_by.items()
        if made.sources[0] in tape.numbers
    }
    return replace(
        tape,
        ops=ops,
        values=values,
        recorded=recorded,
        outputs=outputs,
        by_value=frozenset(by_value),
        numbers=numbers,
    )
