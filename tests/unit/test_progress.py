"""The phases of a comparison, as a listener hears them; nobody listening costs nothing."""

import subprocess
import sys

import numpy as np
import pytest

import parity
from parity import progress
from parity.progress import Step, listening

INPUTS = np.random.default_rng(0).normal(size=(5, 7)).astype("float32")


def heard(*candidates, reference=np.tanh):
    steps = []
    with listening(steps.append):
        parity.compare(reference, *candidates, inputs=INPUTS)
    return steps


def test_the_phases_come_in_their_order_and_grow_to_the_whole():
    steps = heard(np.tanh, np.sin)
    names = [step.phase.split()[0] for step in steps if step.share is not None]
    first = list(dict.fromkeys(names))
    assert first == [
        "recording", "replaying", "matching", "locating", "explaining", "running", "measuring",
    ]  # fmt: skip
    assert {"matching tanh #2", "matching sin"} <= {step.phase for step in steps}
    shares = [step.share for step in steps]
    assert shares[0] == 0 and shares[-1] == 1
    assert shares == sorted(shares)


def test_operations_are_reported_within_a_phase():
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(*(torch.nn.Tanh() for _ in range(40)))
    steps = heard(net, reference=net)
    replaying = [step for step in steps if step.phase.startswith("replaying")]
    assert len(replaying) > 20
    assert len({step.share for step in replaying}) > 20
    assert len([step for step in steps if step.phase.startswith("matching")]) > 20


def test_a_long_program_reports_a_hundred_steps_and_no_more():
    steps = []
    with listening(steps.append):
        phases = progress.Phases(1.0)
    phases.begin("matching", 1.0)
    after = phases.operations(5_000)
    for _ in range(5_000):
        after()
    assert len(steps) == 101


def test_many_faults_are_reported_one_by_one_and_the_bar_goes_on():
    """Where models diverge often, most of the work is locating and explaining."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layers = [torch.nn.Linear(7, 7) for _ in range(12)]
    for layer in layers:
        torch.nn.init.orthogonal_(layer.weight, 1.5)

    def net(*curves):
        return torch.nn.Sequential(*(part for layer in layers for part in (layer, *curves)))

    steps = heard(net(torch.nn.Tanh()), reference=net(torch.nn.Softsign()))
    shares = [step.share for step in steps]
    assert shares == sorted(shares) and shares[-1] == 1
    for phase in ("locating", "explaining"):
        reported = [step.share for step in steps if step.phase.startswith(phase)]
        assert len(set(reported)) == 13 and reported[-1] - reported[0] > 0.05


def test_a_phase_that_turns_out_longer_takes_from_the_rest_and_goes_not_back():
    steps = []
    with listening(steps.append):
        phases = progress.Phases(4.0)
    phases.begin("recording", 1.0)
    phases.begin("locating", 1.0)
    phases.reach(0.5, more=1.0, later=2.0)  # half of 2, before 2 planned and 2 more
    phases.reach(0.1)
    phases.begin("explaining", 1.0, more=2.0)
    phases.begin("measuring", 1.0)
    phases.end()
    assert [step.share for step in steps] == pytest.approx(
        [0, 1 / 4, 3 / 8, 3 / 8, 1 / 2, 7 / 8, 1]
    )


def test_a_listener_hears_nothing_afterwards_even_where_the_job_failed():
    steps = []
    with pytest.raises(parity.ParityError), listening(steps.append):
        progress.say("loading")
        parity.compare(np.tanh, lambda: None, inputs=INPUTS)
    before = len(steps)
    assert steps[0] == Step("loading", None)
    progress.say("unheard")
    parity.compare(np.tanh, np.tanh, inputs=INPUTS)
    assert len(steps) == before


def test_with_nobody_listening_an_operation_costs_nothing(monkeypatch):
    """However many operations there are, it is asked who listens, and that is all."""
    torch = pytest.importorskip("torch")
    asked = []

    class Nobody:
        def get(self):
            asked.append(1)

    monkeypatch.setattr(progress, "_LISTENER", Nobody())
    counts = []
    for layers in (2, 60):
        net = torch.nn.Sequential(*(torch.nn.Tanh() for _ in range(layers)))
        asked.clear()
        parity.compare(net, net, inputs=INPUTS)
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 10
    assert progress.Phases(1.0).operations(1_000) is None


def test_a_comparison_imports_no_rich():
    code = (
        "import sys, numpy as np, parity, parity.progress\n"
        "parity.compare(np.tanh, np.tanh, inputs=np.arange(1.0, 15.0))\n"
        "assert 'rich' not in sys.modules\n"
        "import parity.report.bar\n"
        "assert 'rich' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
