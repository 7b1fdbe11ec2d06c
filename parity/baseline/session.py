"""The gate in a pytest run: `Recorder` in each process, `Gate` where the results arrive."""

from __future__ import annotations

import json
import shlex
from collections.abc import Generator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from _pytest.junitxml import xml_key

from parity.baseline.entry import Acceptance, Entry, add, entries_of, merged
from parity.baseline.file import changing, entry_from, read
from parity.baseline.gate import differing, updated, worse
from parity.errors import FileError
from parity.escape import on_one_line
from parity.format import SEVERITY, count

_COLLECTED = "parity_collected"  # in what xdist's workers hand to their controller
_ROUND = str.maketrans("[]", "()")  # pytest takes what follows a square one for parameters


class Recorder:
    """Names the comparisons of the test that runs now, and knows which may diverge.

    Comparisons of a shared fixture are the fixture's own: which test runs it first depends on the
    order.
    """

    def __init__(self, baseline: Mapping[str, Entry]) -> None:
        self.baseline = baseline
        self._item: pytest.Item | None = None
        self._fixtures: list[str] = []
        self._found: dict[str, dict[str, Entry]] = {}
        self.children: dict[str, list[str]] = {}  # of what was collected whole: files, classes

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._item = item
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        index = f"[{getattr(request, 'param_index', 0)}]" if fixturedef.params else ""
        source = f"{fixturedef.baseid}::{fixturedef.argname}{index}"
        self._found[source] = {}
        self._fixtures.append(source)
        try:
            return (yield)
        finally:
            self._fixtures.pop()

    def note(self, report: Mapping[str, Any]) -> list[str]:
        """Keeps a comparison; the names of its entries."""
        assert self._item is not None
        shared = bool(self._fixtures)
        source = self._fixtures[-1] if shared else self._item.nodeid
        test = getattr(self._item, "obj", None)
        generated = not shared and bool(getattr(test, "is_hypothesis_test", False))
        entries = entries_of(report, source, shared, generated)
        return add(entries, self._found.setdefault(source, {}))

    def accepts(self, report: Mapping[str, Any], names: list[str]) -> bool:
        """Whether all that is not parity in a report is accepted, today and as bad as this."""
        for name, comparison in zip(names, report["comparisons"], strict=True):
            was = self.baseline.get(name)
            if comparison["verdict"] != "parity" and (
                was is None
                or not was.accepts(date.today())
                or SEVERITY[comparison["verdict"]] > SEVERITY[was.verdict]
            ):
                return False
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Puts a test's entries into its result, which reaches xdist's controller as well."""
        report = yield
        if report.when == "teardown":
            found = {
                name: entry.to_dict()
                for collected in self._found.values()
                for name, entry in collected.items()
            }
            # as text: xdist sends plain types only
            sent = {"entries": found, "sources": list(self._found)}
            report.parity_baseline = json.dumps(sent)  # type: ignore[attr-defined]
            self._found = {}
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.passed:
            self.children[report.nodeid] = [child.nodeid for child in report.result or ()]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_COLLECTED] = json.dumps(self.children)


class Gate:
    """Holds a run against the baseline when it is over, or writes the baseline anew."""

    def __init__(
        self,
        given: str,
        path: Path,
        recorder: Recorder,
        update: str | None,
        factor: float,
        root: Path,
    ) -> None:
        self.given = given  # as --parity-baseline names the file
        self.path = path
        self.baseline = recorder.baseline
        self.update = update
        self.factor = factor
        self.root = root
        self.children = recorder.children
        self.tests: dict[str, dict[str, Entry]] = {}  # by test, as fixtures run for many
        self.outcomes: dict[str, str] = {}
        self.sources: set[str] = set()
        self.lines: list[str] = []
        self.failures: dict[str, list[str]] = {}  # by entry

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = report.nodeid
        if report.when == "setup":  # anew, where a plugin runs a failed test again
            self.tests.pop(test, None)
            self.outcomes[test] = "passed"
        if not report.passed and self.outcomes.get(test) != "failed":
            self.outcomes[test] = report.outcome
        sent = getattr(report, "parity_baseline", None)
        if sent is not None:
            found = json.loads(sent)
            self.sources |= set(found["sources"])
            self.tests[test] = {
                name: entry_from(entry, name) for name, entry in found["entries"].items()
            }

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        collected = getattr(node, "workeroutput", {}).get(_COLLECTED, "{}")
        self.children.update(json.loads(collected))

    @pytest.hookimpl(tryfirst=True)  # before the file of --junitxml is written
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.config.option.collectonly:
            return
        found: dict[str, Entry] = {}
        for _, entries in sorted(self.tests.items()):
            for name, entry in entries.items():
                found[name] = merged(found[name], entry) if name in found else entry
        if self.update:
            self._write(found)
        else:
            self._compare(found)
        _add_to_junit(session.config, self.failures)
        if self.failures and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.lines:
            failed = bool(self.failures)
            terminalreporter.section("parity baseline", red=failed, green=not failed)
        for line in self.lines:
            terminalreporter.write_line(on_one_line(line))

    # --- the gate ---

    def _compare(self, found: Mapping[str, Entry]) -> None:
        for name in sorted({*self.baseline, *found}):
            failures = self._failures(name, self.baseline.get(name), found.get(name))
            if failures:
                self.failures[name] = failures
                self.lines += [line for one in failures for line in one.split("\n")]
        pairs = [(self.baseline[name], now) for name, now in found.items() if name in self.baseline]
        self.lines += differing(pairs)
        self._tell_what_is_accepted(found)
        self._tell_what_is_left_out(found)
        self.lines.append(
            f"{self.path}: {count(sum(map(len, self.failures.values())), 'regression')} in "
            f"{count(len(pairs), 'comparison')}"
        )

    def _failures(self, name: str, was: Entry | None, now: Entry | None) -> list[str]:
        """How an entry is worse than it was, a few lines each; [] if it is not."""
        shown, file = on_one_line(name), shlex.quote(self.given)
        if was is not None and now is not None:
            found = worse(name, was, now, self.factor, date.today(), self.given)
            return [str(one) for one in found]
        if now is not None:
            return [
                f"{shown}\n  the baseline has no such entry: was nothing, now {now.verdict}\n"
                f"  `pytest --parity-baseline {file} --parity-update=new` adds it"
            ]
        if was is not None and (why := self._gone(was)):
            return [
                f"{shown}\n  the run made no such comparison: was {was.verdict}, now {why}\n"
                f"  put it back; or, if it is meant, `pytest --parity-baseline {file} "
                f"--parity-update` or `parity baseline prune {file} --report RUN` drops the entry"
            ]
        return []

    def _gone(self, was: Entry) -> str:
        """Why an entry that this run did not make is missing; "" if it was not asked for it."""
        file = was.source.partition("::")[0]
        if not (self.root / file).exists():
            return f"there is no {file}"
        if was.shared and was.source in self.sources:
            return "" if "failed" in self.outcomes.values() else "its fixture ran without it"
        if was.shared:
            base = was.source.rpartition("::")[0]
            # a conftest's may be for tests that this run was not asked for
            asked = (self.root / file).is_file() and self._all_passed(base)
            return "its fixture is not used" if asked else ""
        if was.source in self.outcomes:
            passed = self.outcomes[was.source] == "passed"
            return "its test passed without it" if passed else ""
        return "there is no such test" if self._was_removed(was.source) else ""

    def _was_removed(self, test: str) -> bool:
        """Whether what would hold a test was collected whole, and the test is not in it."""
        holder = test.partition("::")[0]
        while holder in self.children:
            inside = self.children[holder]
            if test in inside:
                return False
            nested = [child for child in inside if test.startswith(f"{child}::")]
            if not nested:
                return True
            holder = nested[0]
        return False

    def _all_passed(self, base: str) -> bool:
        """Whether a file or class was collected whole, and all in it ran and passed."""
        if base not in self.children:
            return False
        return all(
            self.outcomes.get(child) == "passed" or self._all_passed(child)
            for child in self.children[base]
        )

    def _tell_what_is_accepted(self, found: Mapping[str, Entry]) -> None:
        for name, was in sorted(self.baseline.items()):
            now = found.get(name)
            if was.accepted is None or now is None:
                continue
            if now.verdict == "parity":
                self.lines.append(f"no longer needed: the acceptance of {name}, which is parity")
            elif not was.accepted.expired(date.today()):
                self.lines.append(_accepted(was.accepted, name, now))

    def _list_what_may_be_accepted(self, written: Mapping[str, Entry]) -> None:
        """Of what was written and is no parity: whether it is accepted, and else how."""
        different = {name: one for name, one in written.items() if one.verdict != "parity"}
        left = [name for name, one in different.items() if not one.accepts(date.today())]
        for name, one in different.items():
            if name in left:
                self.lines.append(f"written, and not accepted: {name} is {one.verdict}")
            elif one.accepted is not None:
                self.lines.append(_accepted(one.accepted, name, one))
        if left:
            entry = shlex.quote(left[0]) if len(left) == 1 else "ENTRY"
            self.lines.append(
                "  its test fails all the same: fix it; or, to let it pass for a while, "
                f"`parity baseline accept {shlex.quote(self.given)} {entry} --reason WHY "
                "--until DATE`"
            )

    def _tell_what_is_left_out(self, found: Mapping[str, Entry]) -> None:
        left = [was for name, was in self.baseline.items() if name not in found]
        for outcome, why in (("skipped", "were skipped"), ("failed", "failed before")):
            tests = [was for was in left if self.outcomes.get(was.source) == outcome]
            if tests:
                noun = count(len(tests), "entry")
                self.lines.append(f"not compared: {noun} whose tests {why}")
        asked = [was for was in left if was.source not in self.outcomes and not self._gone(was)]
        if asked:
            self.lines.append(f"not compared: {count(len(asked), 'entry')} not asked for")

    # --- writing ---

    def _write(self, found: Mapping[str, Entry]) -> None:
        try:
            with changing(self.path) as entries:
                added, changed, removed, dropped = self._apply(entries, found)
                kept = len(entries) - len(added) - len(changed)
                written = dict(entries)
        except FileError as error:
            self.lines.append(f"the baseline could not be written: {error}")
            self.failures[str(self.path)] = self.lines
            return
        for name in dropped:
            self.lines.append(f"no longer accepted, as it has changed: {name}")
        self._list_what_may_be_accepted({name: written[name] for name in sorted(found)})
        self.lines.append(
            f"{self.path}: {count(len(added), 'entry')} added, {len(changed)} changed, "
            f"{len(removed)} removed, {kept} as they were"
        )

    def _apply(
        self, entries: dict[str, Entry], found: Mapping[str, Entry]
    ) -> tuple[list[str], list[str], list[str], list[str]]:
        """Brings a run's entries into the file's.

        Returns:
            The names of those added, changed, removed, and accepted no longer.
        """
        added = [name for name in found if name not in entries]
        changed, removed, dropped = [], [], []
        if self.update == "all":
            for name in sorted(set(found) - set(added)):
                was = entries[name]
                entries[name] = updated(was, found[name], self.factor)
                changed += [name] if entries[name] != was else []
                dropped += [name] if was.accepted and not entries[name].accepted else []
            removed = [name for name in entries if name not in found and self._gone(entries[name])]
            for name in removed:
                del entries[name]
        for name in added:
            entries[name] = found[name]
        return added, changed, removed, dropped


def _accepted(accepted: Acceptance, name: str, now: Entry) -> str:
    return f"accepted until {accepted.until}: {name} is {now.verdict}: {accepted.reason}"


def load(path: Path, update: str | None) -> dict[str, Entry]:
    """The baseline of a run; one that is to be written need not be there yet."""
    return {} if update and not path.exists() else read(path)


def _add_to_junit(config: pytest.Config, failures: Mapping[str, Sequence[str]]) -> None:
    """Adds a failed test case for each entry that is worse, where the file of --junitxml is wanted.

    No test of its own stands for an entry, and those that ran may all have passed.

    Args:
        failures: the lines about each entry, by its name.
    """
    file = config.stash.get(xml_key, None)
    if file is None:
        return
    for name, found in failures.items():
        report = pytest.TestReport(
            nodeid=name.translate(_ROUND),
            location=(name.partition("::")[0], None, name),
            keywords={},
            outcome="failed",
            longrepr="\n".join(["parity baseline", *found]),
            when="call",
        )
        file.pytest_runtest_logreport(report)
