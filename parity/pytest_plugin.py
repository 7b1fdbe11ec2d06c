"""The pytest plugin, in the order of a run: options, start, the fixture, its results, the file.

It imports nothing but pytest until a test compares models.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from parity import __version__
from parity.errors import FrameworkMissing, ParityError

if TYPE_CHECKING:
    from parity.baseline.session import Recorder
    from parity.model import Inputs
    from parity.observations.search import Found
    from parity.report.summary import Report

_FILES = ("--parity-report", "--parity-html")  # of the whole run: as JSON, as a page
_COMPARED = pytest.StashKey[list[dict[str, Any]]]()  # by the test that runs now
_RECORDER: pytest.StashKey[Recorder] = pytest.StashKey()  # if reported or gated
_RUNNING = pytest.StashKey["_Running"]()
_DECORATIONS = (
    "_hypothesis_internal_use_settings",
    "_hypothesis_internal_settings_applied",
    "_hypothesis_internal_use_seed",
    "_hypothesis_internal_use_reproduce_failure",
    "hypothesis_explicit_examples",
)  # what hypothesis's decorators leave on a function that is not under @given


class _Running:
    """The test that runs, what hypothesis's decorators left on it, and how often it searches."""

    def __init__(self, item: pytest.Item, decorations: dict[str, Any]) -> None:
        self.item = item
        self.name = getattr(item, "originalname", None) or "observations"
        self.decorations = decorations
        self.searches = 0


class NotParity(pytest.fail.Exception, AssertionError):  # type: ignore[name-defined,misc]
    """The failure of `assert_parity`: an AssertionError that pytest shows as its text alone."""

    __module__ = "builtins"  # pytest's summary then says `NotParity: ...`, as it does of its own

    def __init__(self, text: str) -> None:
        super().__init__(text, pytrace=False)  # type: ignore[call-arg]

    def __str__(self) -> str:
        # pytest shows no notes with an exception like this; hypothesis puts its example there
        return "\n".join([super().__str__(), *getattr(self, "__notes__", ())])


# --- options and start ---------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("parity", "comparing models of several frameworks")
    group.addoption(
        "--parity-report",
        metavar="PATH",
        help="write every comparison of the run to PATH, as JSON",
    )
    group.addoption(
        "--parity-html",
        metavar="PATH",
        help="write every comparison of the run to PATH, as one HTML page",
    )
    group.addoption(
        "--parity-save",
        metavar="DIR",
        help="write what enters each divergence and what comes out to a folder of DIR for each "
        "test, as .npz files with scripts that show them",
    )
    group.addoption(
        "--parity-observation",
        metavar="PATH",
        help="in place of drawing observations, compare on the one in PATH, which --parity-save "
        "wrote; the script beside it gives this option",
    )
    group.addoption(
        "--parity-require",
        metavar="FRAMEWORKS",
        action="append",
        default=[],
        help="names with commas between, as in torch,tensorflow: where one is missing, fail "
        "instead of skipping the tests that need it",
    )

    group.addoption(
        "--parity-baseline",
        metavar="FILE",
        help="fail where a comparison is worse than FILE says it was, is not in it, or is gone",
    )
    group.addoption(
        "--parity-update",
        metavar="all|new",
        nargs="?",
        const="all",
        help="write what the run finds to the file of --parity-baseline, in place of comparing; "
        "--parity-update=new only adds what is not in it",
    )
    parser.addini(
        "parity_baseline_factor",
        "by how much a layer's difference may exceed what it was, or its rounding; default 4",
        default="",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_COMPARED] = []


def pytest_report_header() -> str:
    return f"parity: {__version__}"


@pytest.hookimpl(tryfirst=True)  # before xdist starts its workers
def pytest_sessionstart(session: pytest.Session) -> None:
    """Checks what the options name before anything runs."""
    config = session.config
    _start_baseline(session)
    if hasattr(config, "workerinput"):  # one of xdist's workers: its controller does all this
        return
    if _required(config):
        _require(_required(config))
    paths = {
        option: config.invocation_params.dir / config.getoption(option)
        for option in _FILES
        if config.getoption(option)
    }
    for option, path in paths.items():
        _prepare(option, path)
    if paths:
        config.pluginmanager.register(_RunReport(paths), "parity-report")


def _start_baseline(session: pytest.Session) -> None:
    """Starts the gate; a run's report alone needs but the names of its entries."""
    config = session.config
    name, update = config.getoption("--parity-baseline"), config.getoption("--parity-update")
    if update not in (None, "all", "new"):
        raise pytest.UsageError(
            f"--parity-update: {update!r} is neither all nor new. Write --parity-update=all, or "
            "name the tests before it."
        )
    if update and not name:
        raise pytest.UsageError("--parity-update: name the file with --parity-baseline FILE.")
    if not name and not any(map(config.getoption, _FILES)):
        return
    from parity.baseline import session as baseline

    path = config.invocation_params.dir / name if name else None
    try:
        accepted = baseline.load(path, update) if path is not None else {}
        factor = baseline.factor_of(config.getini("parity_baseline_factor"))
    except ParityError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[_RECORDER] = recorder = baseline.Recorder(accepted)
    config.pluginmanager.register(recorder, "parity-recorder")
    if path is not None and not hasattr(config, "workerinput"):
        gate = baseline.Gate(path, recorder, update, factor, config.rootpath)
        config.pluginmanager.register(gate, "parity-baseline")


def _required(config: pytest.Config) -> list[str]:
    options = config.getoption("--parity-require")
    return [name for option in options for name in option.split(",") if name]


def _prepare(option: str, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"{option}: {error}") from None
    if path.is_dir():
        raise pytest.UsageError(f"{option}: {path} is a folder; name a file.")


def _require(names: list[str]) -> None:
    """Imports the frameworks, for one that is there may be broken."""
    from parity.frameworks import load

    problems = []
    for name in names:
        try:
            load(name)
        except ParityError as error:
            problems.append(str(error))
        except Exception as error:
            problems.append(f"{name} cannot be imported: {type(error).__name__}: {error}")
    if problems:
        raise pytest.UsageError("\n  ".join(["--parity-require:", *problems]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Lifts hypothesis's default deadline of 200 ms from tests that compare models.

    A deadline watches the tested code; here it would watch how long comparing takes. One that
    somebody chose is kept.
    """
    for item in items:
        if "assert_parity" in getattr(item, "fixturenames", ()):
            test = getattr(item, "function", None)
            settings = getattr(test, "_hypothesis_internal_use_settings", None)
            if settings and settings.deadline == settings.get_profile("default").deadline:
                lifted = type(settings)(parent=settings, deadline=None)
                test._hypothesis_internal_use_settings = lifted  # type: ignore[union-attr]


# --- the fixture ---------------------------------------------------------------------------------


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
        observations: Any = None,
        max_examples: int | None = None,
    ) -> Report:
        """Fails the test unless the models agree; takes what `parity.compare` takes.

        Args:
            observations: in place of inputs a strategy of hypothesis that draws them, or a space of
                Gymnasium: the models are to agree on every one; see docs/observations-search.md.
            max_examples: how many, in place of what hypothesis's profile says.

        Returns:
            The report, whose verdict is `"parity"`; or another one that the file of
            `--parity-baseline` accepts.

        Raises:
            NotParity: they part, or too little could be compared, or a model raised.
            FrameworkMissing: skips the test, or fails it under `--parity-require`.
        """
        __tracebackhide__ = True
        from parity.comparison import compare

        if observations is not None:
            models = (reference, *candidates)
            return self._search(models, observations, inputs, formula, max_examples)
        try:
            report = compare(reference, *candidates, inputs=inputs, formula=formula)
        except FrameworkMissing as error:
            self._note(None, str(error))
            raise
        except ParityError as error:
            self._note(None, str(error))
            raise NotParity(f"{error}\n\n{_called_from(2)}") from None
        accepted = self._note(report)
        if report.verdict != "parity" and not accepted:
            raise NotParity(f"{report}\n{self._save(report)}\n{_called_from(2)}")
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
        from parity.observations.telling import tell

        saved = self._config.getoption("--parity-observation")
        if saved:
            saved = str(self._config.invocation_params.dir / saved)
        test = self._config.stash.get(_RUNNING, None)
        if test is None:
            raise NotParity(
                f"observations= belongs in a test, not in a fixture.\n\n{_called_from(3)}"
            )
        test.searches += 1
        key = f"{test.item.nodeid} {test.searches}"
        try:
            found = found_by(
                models, observations, inputs, formula, max_examples, saved,
                test.name, key, test.decorations,
            )  # fmt: skip
        except FrameworkMissing as error:
            self._note(None, str(error))
            raise
        except ParityError as error:
            told = "\n".join([str(error), *getattr(error, "__notes__", ())])  # hypothesis's own
            self._note(None, told)
            raise NotParity(f"{told}\n\n{_called_from(3)}") from None
        for report in (found.report, found.on_random):
            if report is not None:
                self._note(report)
        if found.report is None or found.report.verdict != "parity":
            raise NotParity(f"{tell(found)}\n{self._save_found(found)}\n{_called_from(3)}")
        return found.report

    def _save_found(self, found: Found) -> str:
        """Writes the observation and the divergences where `--parity-save` says; what it wrote."""
        target = self._target()
        if target is None or found.observation is None:
            return ""
        from parity.observations.saved import save

        test = self._config.stash[_RUNNING].item.nodeid
        root = self._config.rootpath
        try:
            script = save(target, test, root, found.observation, found.random)
            written = [script]
            if found.report is not None:
                written += found.report.save_divergences(target)
            if found.on_random is not None:
                written += found.on_random.save_divergences(target / "random")
        except OSError as error:
            return f"\n--parity-save: {target} could not be written: {error}\n"
        return f"\nsaved: {', '.join(map(str, written))}\n"

    def _save(self, report: Report) -> str:
        """Writes the divergences where `--parity-save` says; the line that tells so.

        Hypothesis runs its smallest failing example last, so that is what stays.
        """
        target = self._target()
        if target is None or not report.divergences:
            return ""
        try:
            written = report.save_divergences(target)
        except OSError as error:
            return f"\n--parity-save: {target} could not be written: {error}\n"
        return f"\nsaved: {', '.join(map(str, written))}\n"

    def _target(self) -> Path | None:
        """The test's own folder below the one of `--parity-save`."""
        folder = self._config.getoption("--parity-save")
        if not folder:
            return None
        test = os.environ.get("PYTEST_CURRENT_TEST", "test").rsplit(" ", 1)[0]
        found: Path = self._config.invocation_params.dir / folder / re.sub(r"[^\w.-]+", "-", test)
        return found

    def _note(self, report: Report | None, error: str | None = None) -> bool:
        """Keeps a comparison for the run's report, or why there was none.

        Returns:
            Whether the baseline accepts what is not parity in it.
        """
        recorder = self._config.stash.get(_RECORDER, None)
        if recorder is None:
            return False
        data = report.to_dict() if report is not None else None
        names = recorder.note(data) if data is not None else []
        if any(map(self._config.getoption, _FILES)):
            found = {"error": error, "entries": names, "report": data}
            self._config.stash[_COMPARED].append(found)
        return data is not None and recorder.accepts(data, names)


@pytest.fixture(scope="session")  # hypothesis refuses those of a test's scope
def assert_parity(request: pytest.FixtureRequest) -> AssertParity:
    """Fails the test unless the models agree; called as `parity.compare` is."""
    return AssertParity(request.config)


def _called_from(depth: int) -> str:
    """The test's line, as pytest ends a traceback."""
    from parity.report.terminal import relative

    frame = sys._getframe(depth)
    return f"{relative(f'{frame.f_code.co_filename}:{frame.f_lineno}')}: NotParity"


_UNITTEST = """\
assert_parity is a pytest fixture, and a unittest.TestCase gets no fixtures as arguments.
Let the class fetch it, and call self.assert_parity(...):

    @pytest.fixture(autouse=True)
    def fetch_assert_parity(self, assert_parity):
        self.assert_parity = assert_parity

Or write the test as a plain function, or in a class that is no TestCase."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Says what a `missing 1 required positional argument` of a TestCase means."""
    unittest = sys.modules.get("unittest")
    owner = getattr(item, "cls", None)
    if unittest is None or owner is None or not issubclass(owner, unittest.TestCase):
        return
    asked = "assert_parity" in inspect.signature(item.function).parameters  # type: ignore[attr-defined]
    marks = item.iter_markers("usefixtures")
    marked = any("assert_parity" in mark.args for mark in marks)
    if asked or marked and not hasattr(item.instance, "assert_parity"):  # type: ignore[attr-defined]
        pytest.fail(_UNITTEST, pytrace=False)


@pytest.hookimpl(specname="pytest_runtest_call", wrapper=True, tryfirst=True)
def pytest_lend_decorations(item: pytest.Item) -> Generator[None, object, object]:
    """Hands hypothesis's decorators of a test to the search that it runs.

    Hypothesis refuses them on a test without @given; so it does here where no search was run.
    """
    function = getattr(item, "function", None)
    left = getattr(function, "__dict__", {})
    lent = {}
    if "assert_parity" in getattr(item, "fixturenames", ()) and "hypothesis" not in left:
        lent = {name: left[name] for name in _DECORATIONS if name in left}
    item.config.stash[_RUNNING] = test = _Running(item, lent)
    for name in lent:
        delattr(function, name)
    try:
        result = yield
    finally:
        del item.config.stash[_RUNNING]
        for name, decoration in lent.items():
            setattr(function, name, decoration)
    if lent and not test.searches:
        pytest.fail(_POINTLESS, pytrace=False)
    return result


_POINTLESS = """\
@settings, @seed, @example and @reproduce_failure do nothing here: the test is not under @given, and
draws no observations. Call assert_parity(..., observations=strategy), or take them off."""


# --- results -------------------------------------------------------------------------------------


@pytest.hookimpl(specname="pytest_runtest_makereport")
def pytest_skip_where_a_framework_is_missing(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> None:
    """Skips with the reason, whether `assert_parity` met it or `parity.wrap` before it."""
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, FrameworkMissing):
        outcome: BaseException
        if _is_required(error.framework, item.config):
            outcome = NotParity(f"{error}\n\n--parity-require names {error.framework}")
        else:
            outcome = pytest.skip.Exception(str(error), _use_item_location=True)
        outcome = outcome.with_traceback(error.__traceback__)
        call.excinfo = pytest.ExceptionInfo.from_exception(outcome)


def _is_required(framework: str, config: pytest.Config) -> bool:
    from parity.frameworks import load

    for name in _required(config):
        try:
            load(name)
        except FrameworkMissing as missing:
            if missing.framework == framework:
                return True
    return False


@pytest.hookimpl(specname="pytest_runtest_makereport", wrapper=True)
def pytest_hand_on_comparisons(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Puts a test's comparisons into its result, which reaches xdist's controller as well."""
    report = yield
    crash = getattr(report.longrepr, "reprcrash", None)
    if call.excinfo and isinstance(call.excinfo.value, NotParity) and crash is not None:
        # in a CI pytest's summary has this whole, below a report that has said it all
        crash.message = crash.message.partition("\n")[0]
    compared = item.config.stash[_COMPARED]
    if compared:
        # as text: xdist sends plain types only
        text = json.dumps([{"test": item.nodeid, **found} for found in compared])
        report.parity = text  # type: ignore[attr-defined]
        item.config.stash[_COMPARED] = []
    return report


class _RunReport:
    """Collects the comparisons of all tests, and writes the files that the options name."""

    SCHEMA = 1

    def __init__(self, paths: dict[str, Path]) -> None:
        self.paths = paths
        self.compared: list[dict[str, Any]] = []
        self.problems: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.compared += json.loads(getattr(report, "parity", "[]"))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Writes the files, whether the tests passed, failed or were interrupted."""
        # workers finish in any order; a test's own comparisons stay in theirs
        self.compared.sort(key=lambda found: found["test"])
        run = {"schema": self.SCHEMA, "parity": __version__, "comparisons": self.compared}
        for option, path in self.paths.items():
            try:
                self._write(option, path, run)
            except (OSError, ParityError) as error:
                self.problems[option] = str(error)
                session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def _write(self, option: str, path: Path, run: dict[str, Any]) -> None:
        if option == "--parity-html":
            from parity.report.html.render import save

            save(path, run)
        else:
            from parity.report.summary import write_json

            write_json(path, run)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        count = len(self.compared)
        noun = "comparison" if count == 1 else "comparisons"
        for option, path in self.paths.items():
            if option in self.problems:
                line = f"parity: {option} could not be written: {self.problems[option]}"
                terminalreporter.write_line(line, red=True)
            else:
                terminalreporter.write_line(f"parity: {count} {noun} written to {path}")
