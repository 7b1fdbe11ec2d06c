"""Settings and classes of the objects that models return, where the two give them other names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from parity.code_owners import is_users_class
from parity.diagnosis.class_checks import told_apart
from parity.diagnosis.other_outputs import equal
from parity.frameworks import FRAMEWORKS, aliases
from parity.outputs.objects import Setting
from parity.tape import Tape


def renamed_settings(reference: Tape, candidate: Tape) -> list[str]:
    """Settings of one model that the other has not, under any name: are they the same?

    One that has another name in the port, as a number of steps, may be the same or not. As many
    come in one order; of more values those of the other model are some.
    """
    found = []
    for kind in (str, bool, (int, float)):
        first, second = (
            {
                name: leaf.value
                for name, leaf in one.other_outputs.items()
                if isinstance(leaf, Setting) and isinstance(leaf.value, kind)
                if kind is bool or not isinstance(leaf.value, bool)
                if name not in other.other_outputs and name not in other.outputs
            }
            for one, other in ((reference, candidate), (candidate, reference))
        )
        if not _may_be_the_same(list(first.values()), list(second.values())):
            found.append(
                f"{_listed(first)} of {reference.model} and {_listed(second)} of {candidate.model} "
                "have no name in common, and differ: if they say the same, give them the same names"
            )
    return found


def _may_be_the_same(first: Sequence[Any], second: Sequence[Any]) -> bool:
    if len(first) == len(second):
        return all(map(equal, first, second))
    fewer, more = sorted((first, second), key=len)
    # texts of only one model, as its name, say nothing of the other's
    return any(isinstance(one, (str, bool)) for one in more) or all(
        any(equal(one, other) for other in more) for one in fewer
    )


def classes_of_one_module(reference: Tape, candidate: Tape) -> list[str]:
    """Objects that hold the same by name and are of two classes: these may be all the difference.

    A port has classes of its own. Where both models use those of one module, and code of it
    distinguishes them, as a push and a pull, which of them it is says something, unless the one's
    name is the other's and a word. So do two distributions of one library, of which the one may sum
    over its events.
    """
    found = []
    for path in reference.classes.keys() & candidate.classes.keys():
        classes = reference.classes[path], candidate.classes[path]
        first, second = (one.__name__ for one in classes)
        place = f"output {path!r}" if path else "the output"
        if _are_of_one_library(*classes):
            found.append(
                f"{place} is of class {first} in {reference.model} and of class "
                f"{second} in {candidate.model}: what their methods give, as a "
                "probability, is not compared. Return distributions of one class, or what you need "
                "of them"
            )
            continue
        words = [_words(one) for one in classes]
        one_module = classes[0].__module__ == classes[1].__module__
        if not (one_module and words[0] - words[1] and words[1] - words[0]):
            continue
        if _below(reference, path) == _below(candidate, path) and told_apart(*classes):
            found.append(
                f"{place} is a {first} in {reference.model} and a "
                f"{second} in {candidate.model}, and code of {classes[0].__module__} "
                "distinguishes the two: what their classes say is not compared. Return an object "
                "of one class"
            )
    return found


def _are_of_one_library(reference: type, candidate: type) -> bool:
    both = reference, candidate
    packages = {one.__module__.partition(".")[0] for one in both}
    return reference is not candidate and len(packages) == 1 and not any(map(is_users_class, both))


def _words(cls: type) -> set[str]:
    """The words of a class's name, without those of frameworks and their initials."""
    titles = (word for one in FRAMEWORKS.values() for word in re.findall("[A-Z][a-z]+", one.title))
    frameworks = {word.lower() for word in (*FRAMEWORKS, *aliases(), *titles)}
    initials = {word[0] for word in frameworks}
    name = re.sub(rf"^[{''.join(initials).upper()}](?=[A-Z])", "", cls.__name__)  # TS, and KS
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    return {word.lower() for word in words} - frameworks - initials


def _below(tape: Tape, path: str) -> list[str]:
    """The names of what an object shows."""
    prefix = f"{path}/" if path else ""
    return sorted(one for one in (*tape.outputs, *tape.other_outputs) if one.startswith(prefix))


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in settings.items())
