"""docs/report.md names every key that a report has."""

import re
from pathlib import Path

import numpy as np
import pytest

import parity

DOCUMENTED = set(
    re.findall(r"`(\w+)`", (Path(__file__).parents[2] / "docs" / "report.md").read_text())
)


def keys_of(data):
    """All keys of nested data, except in `versions`, whose keys are the frameworks' own."""
    if isinstance(data, dict):
        for key, item in data.items():
            yield key
            if key != "versions":
                yield from keys_of(item)
    elif isinstance(data, list):
        for item in data:
            yield from keys_of(item)


def diverging_report():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    weight = torch.from_numpy(rng.normal(size=(7, 3)).astype("float32"))
    other = weight.clone()
    other[2, 1] += 0.5

    def reference(x):
        return torch.softmax(torch.tanh(x @ weight), 1)

    def candidate(x):
        return torch.softmax(torch.tanh(x @ other), 1)

    return parity.compare(
        parity.wrap(reference, framework="torch"),
        parity.wrap(candidate, framework="torch"),
        inputs=rng.normal(size=(5, 7)).astype("float32"),
    )


def test_every_key_of_a_report_is_documented():
    keys = set(keys_of(diverging_report().to_dict()))
    assert {"divergences", "frames", "leaves", "relation", "nonfinite_differ"} <= keys
    assert keys <= DOCUMENTED


def test_every_key_of_a_run_is_documented(pytester):
    import json

    pytester.makepyfile(
        """
        import numpy as np

        def test_it(assert_parity):
            assert_parity(np.tanh, np.tanh, inputs=np.arange(1.0, 15.0).reshape(2, 7))
        """
    )
    pytester.runpytest("--parity-report", "run.json").assert_outcomes(passed=1)
    assert set(keys_of(json.loads((pytester.path / "run.json").read_text()))) <= DOCUMENTED
