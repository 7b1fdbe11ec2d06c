"""The classes of differences: what is noted, and what of the same size is an alarm."""

import copy

import numpy as np
import pytest
import torch

import parity

random = np.random.default_rng(0)


def compare(reference, candidate, inputs):
    sides = [
        side if isinstance(side, torch.nn.Module) else parity.wrap(side, framework="torch")
        for side in (reference, candidate)
    ]
    return parity.compare(*sides, inputs=inputs)


def kinds(report):
    return {note.kind for note in report.worst.notes}


def layer_norm(epsilon):
    def normalise(x):
        centred = x - x.mean(1, keepdim=True)
        return centred / torch.sqrt((centred * centred).mean(1, keepdim=True) + epsilon)

    return normalise


def test_an_epsilon_that_hides_in_large_inputs_is_found_on_small_ones():
    inputs = 10 * random.normal(size=(5, 64)).astype("float32")  # variance 100: 5e-9 of the size
    report = compare(layer_norm(1e-6), layer_norm(2e-6), inputs)

    assert report.verdict == "diverged"
    assert "1,000 times smaller" in report.divergences[0].detail


def test_without_the_second_look_it_would_hide(monkeypatch):
    monkeypatch.setattr("parity.diagnosis.classify.amplified", lambda *_: "")
    inputs = 10 * random.normal(size=(5, 64)).astype("float32")
    assert compare(layer_norm(1e-6), layer_norm(2e-6), inputs).verdict == "parity"


def test_a_folded_constant_is_noted_and_no_alarm():
    scale = random.normal(size=7)
    inputs = random.normal(size=(5, 7)).astype("float32")
    reference, candidate = (
        torch.from_numpy((scale * factor).astype("float32")) for factor in (1.0, 1 / 3)
    )
    report = compare(
        lambda x: torch.tanh(x * reference), lambda x: torch.tanh(x * candidate * 3), inputs
    )

    assert report.verdict == "parity"
    assert kinds(report) == {"constant-precision"}


def test_a_one_pass_variance_with_a_large_mean_loses_digits():
    inputs = (30 + 0.01 * random.normal(size=(5, 1000))).astype("float32")
    two = lambda x: x.var(1, unbiased=False)  # noqa: E731
    one = lambda x: (x * x).mean(1) - x.mean(1) ** 2  # noqa: E731
    by_sums = lambda x: ((x * x).sum(1) - x.sum(1) ** 2 / 1000) / 1000  # noqa: E731

    assert compare(one, by_sums, inputs).verdict == "parity"
    report = compare(two, one, inputs)
    assert report.verdict == "unverified" and "loses fewer digits" in report.worst.reasons[0]
    assert compare(two, lambda x: x.var(1, unbiased=True), inputs).verdict == "diverged"


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(7, 11), torch.nn.Tanh(), torch.nn.Linear(11, 3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_model_in_half_precision_is_noted_with_the_effect(dtype):
    net = network()
    half = copy.deepcopy(net).to(dtype)
    inputs = random.normal(size=(5, 7)).astype("float32")

    for report in (compare(net, half, inputs), compare(half, net, inputs)):
        assert report.verdict == "parity", str(report)
        assert "low-precision" in kinds(report)


def test_a_cast_on_the_way_and_rounded_weights_are_alarms():
    net = network()
    inputs = random.normal(size=(5, 7)).astype("float32")

    def casting(x):
        return net[2](net[1](net[0](x)).bfloat16().float())

    report = compare(net, casting, inputs)
    assert report.verdict == "diverged"
    assert "bfloat16" in report.divergences[0].detail

    rounded = copy.deepcopy(net)
    with torch.no_grad():
        for parameter in rounded.parameters():
            parameter.copy_(parameter.half().float())
    report = compare(net, rounded, inputs)
    assert report.verdict == "diverged"
    (found,) = report.divergences  # one cause in both layers
    assert (found.candidate.layer, found.places[0][1].layer) == ("0", "2")


@pytest.mark.parametrize("values", [(-np.inf, -1e9), (float(np.finfo("f").min), -1e8)])
@pytest.mark.parametrize("softmax", [True, False])
def test_a_mask_may_be_written_differently_but_must_hide_the_same(values, softmax):
    hidden = torch.from_numpy(random.random((5, 9)) < 0.4)
    leaking = hidden.clone()
    leaking[tuple(hidden.nonzero()[3])] = False
    inputs = random.normal(size=(5, 9)).astype("float32")

    def masked(mask, value):
        def logits(x):
            x = x.masked_fill(mask, value)
            return torch.softmax(x, 1) if softmax else x

        return logits

    assert compare(masked(hidden, values[0]), masked(hidden, values[1]), inputs).verdict == "parity"
    report = compare(masked(hidden, values[0]), masked(leaking, values[1]), inputs)
    assert report.verdict == "diverged"


@pytest.mark.parametrize("hidden", [-1e9, -2.4e38, torch.finfo(torch.float32).min, -torch.inf])
@pytest.mark.parametrize("added", [True, False])
def test_a_mask_that_hides_little_is_no_rounding_of_one_that_hides(hidden, added):
    """In float32 the difference of the two may be infinite, and in float64 merely huge."""
    inputs = random.normal(size=(4, 2, 5, 5)).astype("float32")
    future = torch.triu(torch.ones(5, 5), 1).bool()

    def hide(value):
        if added:
            addend = torch.zeros(5, 5).masked_fill(future, value)
            return lambda x: torch.softmax(0.7 * x + addend, -1)
        return lambda x: torch.softmax((0.7 * x).masked_fill(future, value), -1)

    for sides in ((-5.0, hidden), (hidden, -5.0)):
        report = compare(*map(hide, sides), inputs)
        assert report.verdict == "diverged", str(report)
    assert compare(hide(hidden), hide(-torch.inf), inputs).verdict == "parity"


def test_each_layer_distinguishes_its_own_error_from_what_it_inherits():
    torch.manual_seed(1)
    layers = [layer for _ in range(12) for layer in (torch.nn.Linear(24, 24), torch.nn.Tanh())]
    net = torch.nn.Sequential(*layers)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(4)
    other = copy.deepcopy(net)
    with torch.no_grad():
        other[10].weight[3] *= 1.01
    inputs = random.normal(size=(6, 24)).astype("float32")
    report = compare(net, other, inputs)

    assert [found.candidate.layer for found in report.divergences] == ["10"]
    rows = {row.candidate: row for row in report.layers}
    assert rows["10"].local > 1e-4
    assert all(row.local < 1e-5 for name, row in rows.items() if name not in ("10", "-"))
    assert rows["16"].difference.relative > 1e-4  # inherited, and not its own
    assert rows["16"].inherited > 1e-4


def test_the_null_distribution_judges_where_there_is_no_float64():
    tf = pytest.importorskip("tensorflow")
    images = random.normal(size=(3, 2, 8, 12)).astype("float32")

    def area(x):
        return tf.image.resize(x, (4, 6), method="area")

    def pooled(x):
        return torch.nn.functional.avg_pool2d(x, 2)

    def both(candidate):
        wrapped = parity.wrap(candidate, framework="tensorflow", input_layout="NHWC")
        return parity.compare(parity.wrap(pooled, framework="torch"), wrapped, inputs=images)

    report = both(lambda x: tf.nn.tanh(area(x)) * 0 + area(x))
    assert report.verdict == "parity", str(report)
    assert both(lambda x: area(x) * 1.0001).verdict == "diverged"
