"""The fixture's call: it compares, keeps what it found for the run, and fails the test."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from parity.errors import FrameworkMissing, ParityError, UsageError
from parity.escape import for_terminal
from parity.pytest_run.state import COMPARED, FILES, RECORDER, RUNNING, SUMMED
from parity.pytest_run.summary_data import compared_of, failed

if TYPE_CHECKING:
    from parity.model import Inputs
    from parity.observations.search import Found
    from parity.report.report import Report


class NotParity(pytest.fail.Exception, AssertionError):  # type: ignore[name-defined,misc]
    """The failure of `assert_parity`: an AssertionError that pytest shows as its text alone."""

    __module__ = "builtins"  # pytest's summary then says `NotParity: ...`, as it does of its own

    def __init__(self, text: str) -> None:
        super().__init__(for_terminal(text), pytrace=False)  # type: ignore[call-arg]

    def __str__(self) -> str:
        # pytest shows no notes with an exception like this; hypothesis puts its example there
        return "\n".join([super().__str__(), *getattr(self, "__notes__", ())])


def _called_from(depth: int) -> str:
    """The test's line, as pytest ends a traceback."""
    from parity.format import relative

    frame = sys._getframe(depth)
    return f"{relative(f'{frame.f_code.co_filename}:{frame.f_lineno}')}: NotParity"


class AssertParity:
    """What the fixture returns. It keeps nothing from call to call: hypothesis calls it often."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def __repr__(self) -> str:
        return "assert_parity"  # hypothesis prints it among a failing example's arguments

    def __call__(
        self,
        reference: Any,
        *candidates: Any,
        inputs: Inputs = None,
        formula: Callable[..., Any] | None = None,
        gradients: bool = False,
        observations: Any = None,
        max_examples: int | None = None,
        seconds: float | None = None,
        gigabytes: float | None = None,
    ) -> Report:
        """Fails the test unless the models agree; takes what `parity.compare` takes.

        Args:
            observations: in place of inputs a strategy of hypothesis that draws them, or a space of
                Gymnasium: the models are to agree on every one; see docs/observations-search.md.
            max_examples: how many, in place of what hypothesis's profile says.
            seconds, gigabytes: in place of what `--parity-seconds` and `--parity-gigabytes` say.

        Returns:
            The report, whose verdict is `"parity"`; or another one that the file of
            `--parity-baseline` accepts.

        Raises:
            NotParity: they diverge, or too little could be compared, or a model raised.
            FrameworkMissing: skips the test, or fails it under `--parity-require`.
        """
        __tracebackhide__ = True
        from parity.budget import limits

        models = reference, *candidates
        option = self._config.getoption
        with (
            limits(option("--parity-seconds"), option("--parity-gigabytes")),
            limits(seconds, gigabytes),
        ):
            try:
                if observations is None:
                    return self._compare(models, inputs, formula, gradients)
                if gradients:
                    raise UsageError("gradients= goes with inputs=, not with observations=.")
                return self._search(models, observations, inputs, formula, max_examples)
            except ParityError as error:
                text = "\n".join([str(error), *getattr(error, "__notes__", ())])  # hypothesis's
                self._note(None, text)
                if isinstance(error, FrameworkMissing):
                    raise
                raise NotParity(f"{text}\n\n{_called_from(2)}") from None

    def _compare(
        self,
        models: Sequence[Any],
        inputs: Inputs,
        formula: Callable[..., Any] | None,
        gradients: bool,
    ) -> Report:
        """One comparison."""
        __tracebackhide__ = True
        from parity.comparison import compare

        report = compare(*models, inputs=inputs, formula=formula, gradients=gradients)
        accepted = self._note(report)
        if report.verdict != "parity" and not accepted:
            raise NotParity(f"{report}\n{self._saved(report.save_divergences)}\n{_called_from(3)}")
        return report

    def _search(
        self,
        models: Any,
        observations: Any,
        inputs: Inputs,
        formula: Callable[..., Any] | None,
        max_examples: int | None,
    ) -> Report:
        """The comparison on every observation; see parity/observations/search.py."""
        __tracebackhide__ = True
        from parity.observations.asserting import found_by
        from parity.observations.search_text import describe

        saved = self._config.getoption("--parity-observation")
        if saved:
            saved = str(self._config.invocation_params.dir / saved)
        test = self._config.stash.get(RUNNING, None)
        if test is None:
            raise NotParity(
                f"observations= belongs in a test, not in a fixture.\n\n{_called_from(3)}"
            )
        test.searches += 1
        started = time.perf_counter()
        key = f"{test.item.nodeid} {test.searches}"
        found = found_by(
            models, observations, inputs, formula, saved, max_examples=max_examples,
            name=test.name, key=key, decorations=test.decorations,
        )  # fmt: skip
        seconds = time.perf_counter() - started
        why = str(found.error) if found.error else None
        self._note(found.report, why, examples=found.examples, seconds=seconds)
        if found.on_random is not None:
            self._note(found.on_random)
        if found.report is None or found.report.verdict != "parity":
            raise NotParity(
                f"{describe(found)}\n{self._saved(partial(self._write, found))}\n{_called_from(3)}"
            )
        return found.report

    def _write(self, found: Found, folder: Path) -> list[Path]:
        """Writes what a search found: the observation, and the divergences on it."""
        if found.observation is None:
            return []
        from parity.observations.saved import save

        test = self._config.stash[RUNNING].item.nodeid
        script = save(folder, test, self._config.rootpath, found.observation, found.random)
        written = [script]
        if found.report is not None:
            written += found.report.save_divergences(folder)
        if found.on_random is not None:
            written += found.on_random.save_divergences(folder / "random")
        return written

    def _saved(self, write: Callable[[Path], list[Path]]) -> str:
        """Writes to the test's own folder below that of `--parity-save`; the line that says so.

        Hypothesis runs its smallest failing example last, so that is what stays.
        """
        folder = self._config.getoption("--parity-save")
        if not folder:
            return ""
        test = os.environ.get("PYTEST_CURRENT_TEST", "test").rsplit(" ", 1)[0]
        target = self._config.invocation_params.dir / folder / re.sub(r"[^\w.-]+", "-", test)
        try:
            written = write(target)
        except OSError as error:
            return f"\n--parity-save: {target} could not be written: {error}\n"
        return f"\nsaved: {', '.join(map(str, written))}\n" if written else ""

    def _note(self, report: Report | None, error: str | None = None, **searched: Any) -> bool:
        """Keeps a comparison for the run's summary and files, or why there was none.

        Args:
            searched: how many `examples` hypothesis ran for it, and in how many `seconds`.

        Returns:
            Whether the baseline accepts what is not parity in it.
        """
        recorder = self._config.stash.get(RECORDER, None)
        accepted = False
        if recorder is not None:
            data = report.to_dict() if report is not None else None
            names = recorder.note(data) if data is not None else []
            accepted = data is not None and recorder.accepts(data, names)
            if any(map(self._config.getoption, FILES)):
                found = {"error": error, "entries": names, "report": data}
                self._config.stash[COMPARED].append(found)
        summed = [failed(error or "")] if report is None else compared_of(report, accepted)
        summed[0] = replace(summed[0], **searched)
        self._config.stash[SUMMED] += summed
        return accepted
