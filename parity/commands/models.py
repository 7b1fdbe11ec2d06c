"""The models that words of the command line name."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import Any

from parity.errors import ModelError, ParityError, UsageError
from parity.frameworks import FRAMEWORKS, LIBRARIES, aliases
from parity.inputs.binding import signature_of
from parity.model import Model, wrap
from parity.progress import say

_LAYOUTS = ("NCHW", "NHWC")
_MODES = ("eval", "train")
FORM = "package.module:attribute, with @NHWC or @framework after it where needed"


def load_model(text: str) -> Model:
    """The model that a word of the command line names.

    Args:
        text: `package.module:attribute`; the attribute may be dotted, and is a model, or a class
            or function that builds one without arguments. After an `@` come, separated by commas,
            what `parity.wrap` takes: a layout, a framework, a mode.

    Raises:
        UsageError: it names nothing that is there.
        ModelError: its module, or what builds the model, raised.
    """
    check_name(text)
    place, _, words = text.partition("@")
    say(f"loading {place}")
    thing = _find(place)
    options = _options(text, words)  # its module may have registered a framework
    if _builds(thing):
        try:
            thing = thing()
        except ParityError:
            raise
        except (Exception, SystemExit) as error:
            raise ModelError(f"{place}() {_raised(error)}") from error
        if not isinstance(thing, Model) and not callable(thing):
            raise UsageError(
                f"{place}() returned {type(thing).__name__}, which is no model. "
                "Name a model, or a function of no arguments that builds one."
            )
    elif inspect.isclass(thing):
        raise UsageError(
            f"{place} is a class that needs arguments{_needed(thing)}. Name an instance of it, or "
            "a function of no arguments that returns one."
        )
    return wrap(thing, **options)


def check_name(text: str) -> None:
    """Refuses what names no model, before anything is imported.

    Raises:
        UsageError: it is not of the form that names a model, or a file's path.
    """
    place = text.partition("@")[0]
    _refuse_path(place)
    name, _, attribute = place.partition(":")
    if not name or not attribute:
        raise UsageError(f"{text!r} names no model: models are named as {FORM}.")


def _options(text: str, words: str) -> dict[str, Any]:
    """What stands after the `@`."""
    found: dict[str, Any] = {}
    for word in filter(None, words.split(",")):
        if word.upper() in _LAYOUTS:
            found["input_layout"] = word.upper()
        elif word in _MODES:
            found["mode"] = word
        elif word in (*FRAMEWORKS, *LIBRARIES, *aliases()):
            found["framework"] = word
        else:
            known = ", ".join((*FRAMEWORKS, *LIBRARIES, *_LAYOUTS, *_MODES))
            raise UsageError(f"{text}: after @ stands {word!r}; known are {known}.")
    return found


def _find(place: str) -> Any:
    """The object at `package.module:attribute`."""
    name, _, attribute = place.partition(":")
    thing = _import(name)
    for step in attribute.split("."):
        try:
            thing = getattr(thing, step)
        except AttributeError:
            owner = name if inspect.ismodule(thing) else type(thing).__name__
            raise UsageError(
                f"{place}: {owner} has no attribute {step!r}.{_similar(step, thing)}"
            ) from None
    return thing


def _refuse_path(place: str) -> None:
    """Says how a model is named, where a script or a file of weights is given in its place.

    Raises:
        UsageError: it is the path of a file, or a module of this folder without an attribute.
    """
    from parity.weights.files import FORMATS

    name, _, attribute = place.partition(":")
    suffixes = tuple(end for kind in FORMATS.values() for end in kind.suffixes)
    path = Path(name)
    if not attribute and path.suffix != ".py" and (path.is_file() or name.endswith(suffixes)):
        raise UsageError(
            f"{place} names a file, and models are named as package.module:attribute. Name a "
            "function of no arguments that builds the model and loads the file; or bring its "
            f"weights into a model: `parity transfer {place} package.module:attribute`."
        )
    if path.suffix != ".py" and "/" not in name and os.sep not in name:
        path = Path(f"{name.replace('.', os.sep)}.py")
        if attribute or not path.is_file():
            return
    script = path.with_suffix(".py")
    if not script.is_file():
        raise UsageError(f"{place}: there is no file {script}; models are named as {FORM}.")
    module = os.path.relpath(script.with_suffix("")).replace(os.sep, ".")
    there = ""
    if module.startswith("."):
        module, there = script.stem, f", and run parity in {script.resolve().parent}"
    if attribute:
        raise UsageError(
            f"{place}: a module is named without folders and .py. Write {module}:{attribute}"
            f"{there}."
        )
    ways = " or ".join(f"{module}:{one}" for one in _defined(script)[:5] or ["attribute"])
    raise UsageError(f"{place} names a module, and not the model in it. Write {ways}{there}.")


def _defined(script: Path) -> list[str]:
    """What a script defines at its top level and gives a name without an underscore before it."""
    try:
        body = ast.parse(script.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return []
    found = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.append(node.name)
        elif isinstance(node, ast.Assign):
            found += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [name for name in dict.fromkeys(found) if not name.startswith("_")]


def search_here() -> None:
    """Modules are searched in the working directory first."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _import(name: str) -> Any:
    search_here()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise UsageError(
                f"There is no module {error.name!r}, neither here ({os.getcwd()}) nor installed."
            ) from None
        raise ModelError(f"{name}: importing it {_raised(error)}") from error
    except (Exception, SystemExit) as error:
        raise ModelError(f"{name}: importing it {_raised(error)}") from error


def _builds(thing: object) -> bool:
    """Whether `thing` is a class or function that can be called with no arguments at all."""
    if not (inspect.isroutine(thing) or inspect.isclass(thing) or isinstance(thing, partial)):
        return False
    signature = signature_of(thing)
    if signature is None:
        return False
    optional: list[object] = [inspect.Parameter.VAR_KEYWORD]
    if inspect.isclass(thing):  # a function of any number of arguments is one over tensors
        optional.append(inspect.Parameter.VAR_POSITIONAL)
    return all(
        one.default is not one.empty or one.kind in optional
        for one in signature.parameters.values()
    )


def _needed(thing: Any) -> str:
    """The arguments that a class cannot be built without, after a colon, where it says so."""
    signature = signature_of(thing)
    parameters = signature.parameters.values() if signature is not None else ()
    kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    names = [one.name for one in parameters if one.default is one.empty and one.kind not in kinds]
    return f": {', '.join(names)}" if names else ""


def _raised(error: BaseException) -> str:
    """`raised ValueError: ...`, and the user's line."""
    text = f"raised {type(error).__name__}: {str(error).strip() or 'no message'}"
    own = str(Path(__file__).resolve().parents[1]) + os.sep
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((own, "<frozen")) and "site-packages" not in frame.filename
    ]
    if frames:
        text += f"\n  at {frames[-1].filename}:{frames[-1].lineno}: {frames[-1].line}"
    return text


def _similar(name: str, thing: object) -> str:
    import difflib

    close = difflib.get_close_matches(name, [item for item in dir(thing) if item[0] != "_"], n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
