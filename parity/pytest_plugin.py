"""The pytest plugin: options, hooks and the fixture, in the order of a run.

It imports nothing but pytest until a test compares models. What the hooks do is in
parity/pytest_run/.
"""

from __future__ import annotations

import json
from collections.abc import Generator

import pytest

from parity import __version__, budget
from parity.errors import FrameworkMissing
from parity.pytest_run import items as tests
from parity.pytest_run import validate_options
from parity.pytest_run.asserting import AssertParity, NotParity
from parity.pytest_run.state import COMPARED, SUMMED
from parity.pytest_run.summary_data import Compared, to_text, together
from parity.pytest_run.summary_text import properties
from parity.pytest_run.whole_run import RunReport, RunSummary


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
        "--parity-junit",
        action="store_true",
        help="add what each test compared to its properties in the file of --junit-xml",
    )
    group.addoption(
        "--parity-save",
        metavar="DIR",
        help="write the inputs and outputs of each divergence to a folder of DIR for each test, "
        "as .npz files with scripts that show them",
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
    for name, text in budget.OPTIONS.items():
        group.addoption(f"--parity-{name}", metavar="N", type=float, help=text)
    parser.addini(
        "parity_baseline_factor",
        "by how much a layer's difference may exceed what it was, or its rounding; default 4",
        default="",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[COMPARED] = []
    config.stash[SUMMED] = []


def pytest_report_header() -> str:
    return f"parity: {__version__}"


@pytest.hookimpl(tryfirst=True)  # before xdist starts its workers
def pytest_sessionstart(session: pytest.Session) -> None:
    """Checks what the options name before anything runs."""
    config = session.config
    validate_options.limits(config)
    validate_options.baseline(session)
    if hasattr(config, "workerinput"):  # one of xdist's workers: its controller does all this
        return
    validate_options.require(config)
    paths = validate_options.files(config)
    if paths:
        config.pluginmanager.register(RunReport(paths), "parity-report")
    config.pluginmanager.register(RunSummary(config), "parity-summary")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        tests.lift_deadline(item)


@pytest.fixture(scope="session")  # hypothesis refuses those of a test's scope
def assert_parity(request: pytest.FixtureRequest) -> AssertParity:
    """Fails the test unless the models agree; called as `parity.compare` is."""
    return AssertParity(request.config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    tests.refuse(item)


@pytest.hookimpl(specname="pytest_runtest_call", wrapper=True, tryfirst=True)
def pytest_wrap_decorations(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from tests.wrap(item))


@pytest.hookimpl(specname="pytest_runtest_makereport")
def pytest_skip_where_a_framework_is_missing(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> None:
    """Skips with the reason, whether `assert_parity` raised it or `parity.wrap` before it."""
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, FrameworkMissing):
        outcome: BaseException
        if validate_options.is_required(error.framework, item.config):
            outcome = NotParity(f"{error}\n\n--parity-require names {error.framework}")
        else:
            outcome = pytest.skip.Exception(str(error), _use_item_location=True)
        outcome = outcome.with_traceback(error.__traceback__)
        call.excinfo = pytest.ExceptionInfo.from_exception(outcome)


@pytest.hookimpl(specname="pytest_runtest_makereport", wrapper=True)
def pytest_pass_on_comparisons(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Puts a test's comparisons into its result, which reaches xdist's controller as well."""
    summed = _summed(item) if call.when == "teardown" else []
    if item.config.getoption("--parity-junit"):
        item.user_properties.extend(properties(summed))
    report = yield
    if summed:
        report.parity_compared = to_text(summed)  # type: ignore[attr-defined]
    crash = getattr(report.longrepr, "reprcrash", None)
    if call.excinfo and isinstance(call.excinfo.value, NotParity) and crash is not None:
        # in a CI pytest's summary has this whole, below a report that has said it all
        crash.message = crash.message.partition("\n")[0]
    compared = item.config.stash[COMPARED]
    if compared:
        # as text: xdist sends plain types only
        text = json.dumps([{"test": item.nodeid, **found} for found in compared])
        report.parity = text  # type: ignore[attr-defined]
        item.config.stash[COMPARED] = []
    return report


def _summed(item: pytest.Item) -> list[Compared]:
    """What a test compared, once it is over; many examples of one property as one."""
    found = item.config.stash[SUMMED]
    item.config.stash[SUMMED] = []
    generated = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return together(found) if generated else found
