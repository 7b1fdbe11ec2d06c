"""Settings and classes of the objects that models return, where the two give them other names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from parity.code_owners import is_users_class
from parity.diagnosis.class_checks import told_apart
from parity.diagnosis.other_outputs import equal
from parity.frameworks import FRAMEWORKS, aliases
from parity.objects import Setting
from parity.tape import Tape


def renamed_settings(reference: Tape, candidate: Tape) -> list[str]:
    """Settings of one model that the other has not, under any name: are they the same?

    One that has another name in the port, as a number of steps, may be the same or not. As many
    come in one order; of more numbers those of the other model are some.
    """
    found = []
    for kind in (str, bool, (int, float)):
        ours, theirs = (
            {
                name: leaf.value
                for name, leaf in one.other_outputs.items()
                if isinstance(leaf, Setting) and isinstance(leaf.value, kind)
                if kind is bool or not isinstance(leaf.value, bool)
                if name not in other.other_outputs and name not in other.outputs
            }
            for one, other in ((reference, candidate), (candidate, reference))
        )
        if not _may_be_the_same(list(ours.values()), list(theirs.values())):
            found.append(
                f"{_listed(ours)} of {reference.model} and {_listed(theirs)} of {candidate.model} "
                "have no name in common, and differ: if they say the same, give them the same names"
            )
    return found


def _may_be_the_same(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    if len(ours) == len(theirs):
        return all(map(equal, ours, theirs))
    fewer, more = sorted((ours, theirs), key=len)
    # texts of only one model, as its name, say nothing of the other's
    return any(isinstance(one, (str, bool)) for one in more) or all(
        any(equal(one, other) for other in more) for one in fewer
    )


def classes_of_one_module(reference: Tape, candidate: Tape) -> list[str]:
    """Objects that hold the same by name and are of two classes: these may be all the difference.

    A port has classes of its own. Where both models use those of one module, and code of it tells
    them apart, as a push and a pull, which of them it is says something, unless the one's name is
    the other's and a word. So do two distributions of one library, of which the one may sum over
    its events.
    """
    found = []
    for path in reference.classes.keys() & candidate.classes.keys():
        ours, theirs = reference.classes[path], candidate.classes[path]
        if _are_of_one_library(ours, theirs):
            found.append(
                f"{_place(path)} is of class {ours.__name__} in {reference.model} and of class "
                f"{theirs.__name__} in {candidate.model}: what their methods give, as a "
                "probability, is not compared. Return distributions of one class, or what you need "
                "of them"
            )
            continue
        names = [_words(one) for one in (ours, theirs)]
        if ours.__module__ != theirs.__module__:
            continue
        if not (names[0] - names[1] and names[1] - names[0]):
            continue
        if _below(reference, path) == _below(candidate, path) and told_apart(ours, theirs):
            found.append(
                f"{_place(path)} is a {ours.__name__} in {reference.model} and a "
                f"{theirs.__name__} in {candidate.model}, and code of {ours.__module__} tells the "
                "two apart: what their classes say is not compared. Return an object of one class"
            )
    return found


def _place(path: str) -> str:
    return f"output {path!r}" if path else "the output"


def _are_of_one_library(ours: type, theirs: type) -> bool:
    package = ours.__module__.partition(".")[0]
    librarys = not is_users_class(ours) and not is_users_class(theirs)
    return ours is not theirs and librarys and theirs.__module__.partition(".")[0] == package


def _words(cls: type) -> set[str]:
    """The words of a class's name, without those of frameworks and their initials."""
    frameworks = _words_of_frameworks()
    initials = {word[0] for word in frameworks}
    name = re.sub(rf"^[{''.join(initials).upper()}](?=[A-Z])", "", cls.__name__)  # TS, and KS
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    return {word.lower() for word in words} - frameworks - initials


def _words_of_frameworks() -> set[str]:
    titles = (word for one in FRAMEWORKS.values() for word in re.findall("[A-Z][a-z]+", one.title))
    return {word.lower() for word in (*FRAMEWORKS, *aliases(), *titles)}


def _below(tape: Tape, path: str) -> list[str]:
    """The names of what an object shows."""
    prefix = f"{path}/" if path else ""
    return sorted(one for one in (*tape.outputs, *tape.other_outputs) if one.startswith(prefix))


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in settings.items())
