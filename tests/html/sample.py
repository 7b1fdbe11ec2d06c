"""Reports as data, as docs/report.md has them, for pages that no real models would give."""

from __future__ import annotations

from typing import Any

HOSTILE = (
    "<script>alert(1)</script>",
    "</style><script>alert(2)</script>",
    "\"onload=alert(3) x='",
    "'><img src=http://evil.example/x onerror=alert(4)>",
    "{{ 7 * 7 }}{% raw %}",
    "]]><!-- &lt;script&gt;",
    "🔥 ünïcode \u202e\x07 \ud800",
    "long" * 75,
)


def site(op: str = "relu", layer: str = "", source: str = "/nets/net.py:7") -> dict[str, Any]:
    frames = [{"file": "/nets/net.py", "line": line, "function": "forward"} for line in (7, 3)]
    site = {"op": op, "layer": layer, "source": source, "code": "y = f(x)", "frames": frames}
    return {**site, "stage": ""}


def difference(relative: Any = 3e-7, largest: Any = 1e-6) -> dict[str, Any]:
    return {
        "largest": largest,
        "relative": relative,
        "cosine": 1.0,
        "index": [0, 2],
        "reference": 1.5,
        "candidate": 1.25,
        "nonfinite_differ": 0,
        "unequal": 3,
        "size": 15,
    }


def layer(name: str, verdict: str = "same", found: Any = ..., **changed: Any) -> dict[str, Any]:
    return {
        "reference": name,
        "candidate": name,
        "reference_shape": [5, 3],
        "candidate_shape": [5, 3],
        "order": "same",
        "difference": difference() if found is ... else found,
        "verdict": verdict,
        "local": 1e-7,
        "inherited": 0.0,
        "amplified": None,
        "rounding": 2e-7,
        **changed,
    }


def spread() -> dict[str, Any]:
    return {
        "shape": [5, 3],
        "values": {"edges": [0, 1, 2], "reference": [9, 6], "candidate": [1, 14]},
        "differences": {"edges": [-1, 0, 1], "counts": [0, 15]},
        "axes": [
            {"size": 5, "largest": [0.0, 0.0, 0.5, "inf", 0.0]},
            {"size": 3, "largest": [0.0, 0.5, "inf"]},
        ],
        "map": {"axes": [0, 1], "largest": [[0, 0, 0], [0, 0, 0], [0, 0.5, 0.2], [0, 0, "inf"]]},
    }


def divergence(name: str = "", **changed: Any) -> dict[str, Any]:
    return {
        "reference": site("softmax", name),
        "candidate": site("Softmax", name),
        "residual": 0.25,
        "reference_region": [site("softmax", name)],
        "candidate_region": [site("Softmax", name), site("add", "other")],
        "shapes": [[5, 3], [5, 3]],
        "order": "same",
        "leaves": [{"reference": "w", "candidate": "kernel", "relation": "arranged"}],
        "reconverges": True,
        "random": [False, True],
        "detail": "",
        "cause": cause(),
        "closest": None,
        "output_before": 2.0,
        "output_after": 1e-7,
        "times": 2,
        "places": [[site("softmax", f"{name}.next"), site("Softmax", "block.1")]],
        "spread": spread(),
        **changed,
    }


def cause() -> dict[str, Any]:
    return {
        "kind": "softmax-axis",
        "summary": "softmax over axis 1",
        "parameters": {"axis": [-1, [1, "inf", None]]},
        "confirmed": True,
        "residual_before": 0.25,
        "residual_after": 0.0,
        "inputs": 4,
        "evidence": ["the sums are not 1"],
        "edit": ["f(x, axis=1)", "f(x, axis=-1)"],
        "alternatives": [],
        "unproved": "",
    }


def output(name: str = "output", found: Any = ..., decisions: bool = True) -> dict[str, Any]:
    choices = {"greedy": 0.4, "ties": 1, "margin": None, "top3": 0.6, "sampled": None}
    return {
        "name": name,
        "verdict": "parity",
        "reference_shape": [5, 3],
        "candidate_shape": [5, 3],
        "difference": difference() if found is ... else found,
        "decisions": choices if decisions else None,
        "is_gradient": False,
    }


def comparison(verdict: str = "parity", name: str = "Port", **changed: Any) -> dict[str, Any]:
    return {
        "candidate": {"name": name, "framework": "tensorflow", "operations": 9},
        "verdict": verdict,
        "reasons": [],
        "divergences": [],
        "notes": [],
        "caveats": [],
        "structure": [],
        "layers": [layer("conv"), layer("head")],
        "outputs": [output()],
        "heads": {side: {"trunks": [], "equal": 0} for side in ("reference", "candidate")},
        "by_formula": None,
        "coverage": {
            "values": 0.5,
            "outputs": 1.0,
            "reference_values": 2,
            "reference_matched": 1,
            "candidate_values": 2,
            "candidate_matched": 1,
            "outputs_compared": 1,
            "outputs_total": 1,
        },
        **changed,
    }


def diverged(name: str = "Port") -> dict[str, Any]:
    note = {
        "kind": "constant-precision",
        "reference": site("mul"),
        "candidate": site("Mul"),
        "residual": 1e-8,
        "detail": "",
    }
    step = {"kind": "parameter", "step": "softmax", "name": "over", "text": "over: 3 -> 5"}
    rows = [
        layer("conv"),
        layer("of_reference", "unmatched", None, candidate="", candidate_shape=None),
        layer("of_candidate", "unmatched", None, reference="", reference_shape=None),
        layer("probabilities", "diverged", difference(0.5, 0.5)),
        layer("head", "inherited", difference(0.7, 0.7)),
    ]
    return comparison(
        "diverged",
        name,
        reasons=["1 divergence"],
        divergences=[divergence("probabilities")],
        notes=[note],
        caveats=["a hook was not seen"],
        structure=[{**step, "reference": site(), "candidate": None}],
        layers=rows,
    )


def report(*comparisons: dict[str, Any], odd: str | None = None) -> dict[str, Any]:
    verdicts = [one["verdict"] for one in comparisons]
    return {
        "schema": 2,
        "verdict": min(verdicts, key=["diverged", "unverified", "parity"].index),
        "odd_one_out": odd,
        "reference": {"name": "Net", "framework": "torch", "operations": 8},
        "comparisons": list(comparisons),
        "versions": {"torch": {"torch": "2.13", "threads": "1"}},
        "seconds": 0.5,
    }


def run(*reports: dict[str, Any] | str) -> dict[str, Any]:
    """A run with a test for each report; text stands for why there is none."""
    found = [
        {
            "test": f"tests/test_it.py::test[{at}]",
            "error": one if isinstance(one, str) else None,
            "report": None if isinstance(one, str) else one,
        }
        for at, one in enumerate(reports)
    ]
    return {"schema": 2, "parity": "0.1.0", "comparisons": found}


def renamed(data: Any, text: str) -> Any:
    """The same data with a text put after every text that a model may bring, keys included."""
    kept = {"verdict", "relation", "kind", "schema", "residual", "relative", "largest", "framework"}
    if isinstance(data, dict):
        return {
            key + text if key in ("axis", "threads") else key: one
            if key in kept
            else renamed(one, text)
            for key, one in data.items()
        }
    if isinstance(data, list):
        return [renamed(one, text) for one in data]
    return data + text if isinstance(data, str) and data != "inf" else data
