"""Damaged files of every kind that parity reads: a clear error or a correct read, and no harm.

    python -m benchmarks.damaged [--files 1000] [--kind history] [--seed 0]

Each kind is written once, and read again and again with a damage of its own: cut off, bytes that
were changed, put in or taken out; in JSON also numbers of hundreds of digits, values of another
type, keys that are gone; in a history also rows and tables of others. What raises anything but a
`FileError` is a fault, and is printed; so are the slowest read and the memory at its peak.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

Damage = Callable[[Path, bytes, random.Random], None]


@dataclass(frozen=True)
class Kind:
    """Files that parity reads.

    Attributes:
        name: of the file, or what all its files begin with.
        write: makes it at a path.
        read: reads all of it, as a user's command or call does.
        damages: that any of this kind may have, besides those of bytes.
    """

    name: str
    write: Callable[[Path], None]
    read: Callable[[Path], object]
    damages: tuple[Damage, ...] = ()


# --- damages -------------------------------------------------------------------------------------


def in_bytes(path: Path, data: bytes, draw: random.Random) -> None:
    """Cuts the file off, or changes, inserts or takes out bytes."""
    way = draw.randrange(4)
    if way == 0:
        path.write_bytes(data[: draw.randrange(len(data))])
        return
    changed = bytearray(data)
    for _ in range(draw.choice((1, 2, 16))):
        at = draw.randrange(len(changed) or 1)
        if way == 1:
            changed[at : at + 1] = draw.randbytes(1)
        elif way == 2:
            changed[at:at] = draw.randbytes(draw.choice((1, 2, 8)))
        else:
            del changed[at : at + draw.choice((1, 2, 8))]
    path.write_bytes(changed)


_STRANGE = (None, True, "", "x", [], {}, [[]], -1, 0, 1e308, 2**63, "inf", float("nan"))
_LONG = ("1" * 400, "-" + "9" * 5000, "1" * 310 + ".5", "1e999", "1e-999")


def in_json(path: Path, data: bytes, draw: random.Random) -> None:
    """Puts another value, or a number of hundreds of digits, where one stands; or drops a key."""
    tree = json.loads(data)
    places = list(_places(tree))
    holder, key = draw.choice(places)
    if draw.random() < 0.3 and isinstance(holder, dict):
        del holder[key]
        path.write_text(json.dumps(tree))
        return
    mark = "the number that stands here"
    long = draw.random() < 0.5
    holder[key] = mark if long else draw.choice(_STRANGE)
    path.write_text(json.dumps(tree).replace(f'"{mark}"', draw.choice(_LONG)))


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        yield tree, key
        if isinstance(value, (dict, list)):
            yield from _places(value)


_ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT"
_STATEMENTS = (
    "UPDATE runs SET revision = x'00ff'",
    "UPDATE runs SET added = x'05'",
    "UPDATE comparisons SET name = x'00ff'",
    "UPDATE comparisons SET entry = x'00ff'",
    "UPDATE comparisons SET entry = CAST(x'00ff' AS TEXT), name = CAST(x'ff' AS TEXT)",
    "UPDATE comparisons SET entry = '[' || entry || ']'",
    "UPDATE comparisons SET run = 'x' WHERE run = 1",
    "ALTER TABLE runs ADD COLUMN more TEXT",
    "ALTER TABLE runs DROP COLUMN added",
    "DROP TABLE comparisons",
    f"DROP TABLE runs; CREATE VIEW runs AS {_ENDLESS} x AS number, 'r' AS revision, 'd' AS added, "
    "'p' AS parity FROM n",
    f"DROP TABLE comparisons; CREATE VIEW comparisons AS {_ENDLESS} x AS run, 'c' AS name, "
    "'{}' AS entry FROM n",
    "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM comparisons; END",
)


def in_tables(path: Path, data: bytes, draw: random.Random) -> None:
    """Rows of other types, tables of other columns, views that have no end."""
    path.write_bytes(data)
    database = sqlite3.connect(path)
    database.executescript(draw.choice(_STATEMENTS))
    database.close()


def in_entries(path: Path, data: bytes, draw: random.Random) -> None:
    """An entry of a history as any JSON may be."""
    path.write_bytes(data)
    database = sqlite3.connect(path)
    (entry,) = database.execute("SELECT entry FROM comparisons").fetchone()
    place = path.with_suffix(".json")
    in_json(place, entry.encode(), draw)
    database.execute("UPDATE comparisons SET entry = ?", (place.read_text(),))
    database.commit()
    database.close()
    place.unlink()


# --- kinds ---------------------------------------------------------------------------------------


def kinds() -> dict[str, Kind]:
    """All kinds whose packages are installed."""
    json_too = (in_json, in_json)
    found = {
        "report": Kind("report.json", _write_report, _read_report, json_too),
        "run": Kind("run.json", _write_run, _read_report, json_too),
        "run for a history": Kind("run.json", _write_run, _add_to_history, json_too),
        "baseline": Kind("baseline.json", _write_baseline, _read_baseline, json_too),
        "history": Kind("h.sqlite", _write_history, _read_history, (in_tables, in_entries)),
        "observation": Kind("observation.npz", _write_observation, _read_observation),
    }
    for form, name in _WEIGHTS.items():
        found[f"weights: {form}"] = Kind(name, _writer(form), _read_weights)
    return found


_WEIGHTS = {
    "npz": "w.npz",
    "chainer": "w.npz",
    "torch": "w.pt",
    "old torch": "w.pt",
    "safetensors": "w.safetensors",
    "keras-h5": "w.h5",
    "hdf5": "w.h5",
    "keras": "w.keras",
    "tensorflow": "w",
    "onnx": "w.onnx",
}


def _report() -> dict[str, Any]:
    import parity

    x = np.random.default_rng(0).normal(size=(5, 7)).astype("f")
    weight = np.random.default_rng(1).normal(size=(7, 3)).astype("f")
    report = parity.compare(
        parity.wrap(lambda x: np.tanh(x @ weight), name="net"),
        parity.wrap(lambda x: np.tanh(1.5 * (x @ weight)), name="port"),
        inputs=x,
    )
    return report.to_dict()


def _run() -> dict[str, Any]:
    import parity

    made = {
        "test": "test_a.py::test_port",
        "error": None,
        "entries": ["test_a.py::test_port: net -> port"],
        "report": _report(),
    }
    return {"schema": 2, "parity": parity.__version__, "comparisons": [made]}


def _write_report(path: Path) -> None:
    path.write_text(json.dumps(_report()))


def _write_run(path: Path) -> None:
    path.write_text(json.dumps(_run()))


def _entries() -> Any:
    from parity.baseline.entry import entries_of

    return entries_of(_report(), "test_a.py::test_port")


def _write_baseline(path: Path) -> None:
    from parity.baseline.file import to_text

    path.write_text(to_text(_entries()), encoding="utf-8")


def _write_history(path: Path) -> None:
    from parity.history.store import add

    for revision in ("v1", "v2"):
        add(path, revision, "0", _entries())


def _write_observation(path: Path) -> None:
    from parity.observations.saved import save

    inputs = {"a": np.ones(3), "b": (np.zeros(2), None)}
    made = save(path.parent / "saved", "test_a.py::test", path.parent, inputs, None)
    path.write_bytes(made.with_suffix(".npz").read_bytes())


def _writer(form: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        from parity.weights.files import write_weights

        names = ("0/0/W", "0/0/b") if form == "chainer" else ("net/kernel", "net/bias")
        tensors = {name: np.arange(6, dtype="f") for name in names}
        if form == "keras":
            import keras

            keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]).save(path)
        elif form == "onnx":
            import onnx

            held = [onnx.numpy_helper.from_array(array, name) for name, array in tensors.items()]
            onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "net", [], [], held)), path)
        elif form == "old torch":
            import torch

            state = {name: torch.from_numpy(array) for name, array in tensors.items()}
            torch.save(state, path, _use_new_zipfile_serialization=False)
        else:
            write_weights(path, tensors, format=form)

    return write


def _read_report(path: Path) -> object:
    from parity.report.html.render import render
    from parity.report.schema import read

    return render(read(path, ""))


def _add_to_history(path: Path) -> object:
    from parity.history.run import read
    from parity.history.store import add

    history = path.with_name("made.sqlite")
    version, entries = read(path)
    try:
        add(history, "v1", version, entries)
        return _read_history(history)
    finally:
        history.unlink(missing_ok=True)


def _read_baseline(path: Path) -> object:
    from parity.baseline.file import read, to_text

    return to_text(read(path))


def _read_history(path: Path) -> object:
    from parity.history.render import Shown
    from parity.history.store import reading

    with reading(path) as history:
        return Shown(history, "", "", None, 10.0).text()


def _read_observation(path: Path) -> object:
    from parity.observations.saved import load

    return load(path)


def _read_weights(path: Path) -> object:
    from parity.weights.files import read_weights

    found = read_weights(path)
    return [found[name].sum() for name in found]


# --- runs ----------------------------------------------------------------------------------------


def outcome(kind: Kind, path: Path) -> str:
    """Reads a damaged file.

    Returns:
        "read", "refused", or what was raised that is no clear error.
    """
    from parity.errors import ParityError

    try:
        kind.read(path)
    except ParityError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:80]}"
    return "read"


def runs(kind: Kind, folder: Path, files: int, seed: int) -> Iterator[tuple[str, float]]:
    """The outcomes of a kind's damaged files, and the seconds that each took."""
    draw = random.Random(f"{kind.name} {seed}")
    path = folder / kind.name
    kind.write(path)
    whole = {one: one.read_bytes() for one in sorted(folder.iterdir()) if one.is_file()}
    kind.read(path)
    for _ in range(files):
        for other in folder.iterdir():  # as SQLite's journal
            if other.is_file():
                other.unlink()
        for one, data in whole.items():
            one.write_bytes(data)
        damaged = draw.choice(list(whole))
        draw.choice((in_bytes, *kind.damages))(damaged, whole[damaged], draw)
        started = time.perf_counter()
        yield outcome(kind, path), time.perf_counter() - started


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--files", type=int, default=1000, help="of each kind")
    options.add_argument("--kind", default="", help="only those whose name has this in it")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    faults = 0
    print(f"{'kind':24}{'read':>7}{'refused':>9}{'faults':>8}{'slowest':>10}{'peak':>10}")
    for name, kind in kinds().items():
        if given.kind not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = list(runs(kind, Path(folder), given.files, given.seed))
        counts = Counter(one for one, _ in found)
        wrong = counts.total() - counts["read"] - counts["refused"]
        faults += wrong
        whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)  # some are read in a child
        peak = max(resource.getrusage(one).ru_maxrss for one in whose) // 1024
        slowest = max(seconds for _, seconds in found)
        print(
            f"{name:24}{counts['read']:7}{counts['refused']:9}{wrong:8}{slowest:8.2f} s{peak:7} MB",
            flush=True,
        )
        for text, count in counts.most_common():
            if text not in ("read", "refused"):
                print(f"    {count} times {text}")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
