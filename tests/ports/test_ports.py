"""Ports written without sight of this project: a sample; all of them: `benchmarks.ports`."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("tensorflow")
pytest.importorskip("chainer")

from benchmarks.ports.port import Port, ports  # noqa: E402

PORTS = ports()
SETS = ("agents", "products", "libraries", "papers")
# Those of the other sets, and two that take long, are compared by the benchmark alone.
LARGE = ("libraries/graph_sac", "libraries/rssm")
SAMPLED = [port for port in PORTS if port.name.split("/")[0] in SETS and port.name not in LARGE]
FAULTS = [(port, name) for port in SAMPLED for name in port.faults]


def test_the_corpus_is_whole() -> None:
    assert len(PORTS) == 620
    assert sum(len(port.faults) for port in PORTS) == 2480


@pytest.mark.parametrize("port", SAMPLED[::6], ids=lambda port: port.name)
def test_a_right_port_is_parity(port: Port) -> None:
    report = port.compared()
    assert report.verdict == "parity", str(report)


@pytest.mark.parametrize(
    ("port", "fault"), FAULTS[::16], ids=[f"{port.name}-{name}" for port, name in FAULTS[::16]]
)
def test_a_fault_is_found_and_what_is_confirmed_is_true(port: Port, fault: str) -> None:
    report = port.compared(fault)
    assert report.verdict == "diverged"
    for comparison in report.comparisons:
        for one in comparison.divergences:
            if one.cause is not None and one.cause.confirmed:
                assert one.cause.kind in port.faults[fault].true_causes, one.cause.summary


def test_what_is_flattened_beside_an_attention_is_no_pairing_of_rotary_positions() -> None:
    (port,) = (port for port in PORTS if port.name == "meadows/netvlad")

    (divergence,) = port.compared("f2").divergences

    assert divergence.cause is not None
    assert divergence.cause.kind == "flatten-order"


def test_choices_that_are_read_as_features_are_no_mask() -> None:
    """An agent's choice of this step for that of the last one, which is zeros at first."""
    (port,) = (port for port in PORTS if port.name == "towers/qtran")
    report = port.compared("f1")
    assert report.verdict == "diverged"
    assert "mask" not in " ".join(one.cause.kind for one in report.divergences if one.cause)


def test_two_values_that_both_models_have_are_no_proof_beside_what_restores_all() -> None:
    (port,) = (port for port in PORTS if port.name == "wells/cswm")
    causes = [one.cause for one in port.compared("f1").divergences if one.cause]
    assert causes and not [one.kind for one in causes if one.confirmed]


def test_a_dueling_mean_over_all_is_one_though_the_states_value_cancels(monkeypatch) -> None:
    (port,) = (port for port in PORTS if port.name == "wharves/qplex")

    def kinds() -> list[str | None]:
        return [one.cause and one.cause.kind for one in port.compared("f4").divergences]

    assert kinds() == ["dueling-mean-axis"]
    monkeypatch.setattr(
        "parity.diagnosis.cut_search.CutSearch._larger_cut", lambda self, found: None
    )
    assert kinds() != ["dueling-mean-axis"]
