"""What the options name is checked before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from parity import budget
from parity.errors import FrameworkMissing, ParityError
from parity.pytest_run.state import FILES, RECORDER

_FACTOR = "parity_baseline_factor"


def limits(config: pytest.Config) -> None:
    """Says so where a budget is none."""
    for name in budget.OPTIONS:
        if not budget.is_one(config.getoption(f"--parity-{name}")):
            raise pytest.UsageError(f"--parity-{name}: give a positive number.")


def baseline(session: pytest.Session) -> None:
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
    if not name and not any(map(config.getoption, FILES)):
        return
    from parity.baseline import session as gate
    from parity.baseline.gate import factor_of

    path = config.invocation_params.dir / name if name else None
    try:
        accepted = gate.load(path, update) if path is not None else {}
        factor = factor_of(config.getini(_FACTOR), _FACTOR)
    except ParityError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[RECORDER] = recorder = gate.Recorder(accepted)
    config.pluginmanager.register(recorder, "parity-recorder")
    if path is not None and not hasattr(config, "workerinput"):
        held = gate.Gate(name, path, recorder, update, factor, config.rootpath)
        config.pluginmanager.register(held, "parity-baseline")


def files(config: pytest.Config) -> dict[str, Path]:
    """The files that the run is to write, by option; their folders are there afterwards."""
    paths = {
        option: config.invocation_params.dir / config.getoption(option)
        for option in FILES
        if config.getoption(option)
    }
    for option, path in paths.items():
        _prepare(option, path)
    return paths


def _prepare(option: str, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise pytest.UsageError(f"{option}: {error}") from None
    if path.is_dir():
        raise pytest.UsageError(f"{option}: {path} is a folder; name a file.")


def _required(config: pytest.Config) -> list[str]:
    options = config.getoption("--parity-require")
    return [name for option in options for name in option.split(",") if name]


def require(config: pytest.Config) -> None:
    """Imports the frameworks of `--parity-require`, for one that is there may be broken."""
    names = _required(config)
    if not names:
        return
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


def is_required(framework: str, config: pytest.Config) -> bool:
    from parity.frameworks import load

    for name in _required(config):
        try:
            load(name)
        except FrameworkMissing as missing:
            if missing.framework == framework:
                return True
    return False
