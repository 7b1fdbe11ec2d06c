"""A fixed sample of model pairs, and the generator checked against its own truth in NumPy.

`python -m benchmarks.pairs --case SEED --kind KIND` shows the sources and the report of one.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from benchmarks.corpus.pairs.cases import Case, built, case_of_seed, compare, draw_case, placed
from benchmarks.corpus.pairs.faults import FAULTS, Fault
from benchmarks.corpus.pairs.flavours import FLAVOURS
from benchmarks.corpus.pairs.forms import Plan
from benchmarks.corpus.pairs.network import Network, Node

MISSING = [name for name in ("torch", "tensorflow", "chainer") if find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

CLEAN = range(20)
# Found, and placed elsewhere. A strict xfail: when one is fixed, its line here must go.
MISPLACED = {
    "batchnorm_epsilon": "reported at the operation before, which only copies",
    "one_weight_off": "reported at the columns of a convolution written as a product",
    "weight_scale": "reported as another value that is read, half as large",
}
FAULTY = list(enumerate(FAULTS))
FAULTY_PARAMS = [
    pytest.param(seed, kind, id=kind, marks=pytest.mark.xfail(reason=MISPLACED[kind], strict=True))
    if kind in MISPLACED
    else pytest.param(seed, kind, id=kind)
    for seed, kind in FAULTY
]


@pytest.mark.parametrize("seed", CLEAN)
def test_a_correct_pair_gives_parity(seed):
    with built(case_of_seed(seed, "clean")) as pair:
        assert pair.faithful
        report = compare(pair)
    assert report.verdict == "parity", f"{pair.case}\n{report}"
    assert report.coverage.outputs_compared == len(pair.case.networks[0].outputs), (
        f"{pair.case}\n{report}"
    )


@pytest.mark.parametrize(("seed", "kind"), FAULTY_PARAMS)
def test_a_fault_is_found_and_placed(seed, kind):
    with built(case_of_seed(seed, kind)) as pair:
        assert pair.faithful
        assert pair.case.effect > pair.rounding
        report = compare(pair)
        assert report.verdict == "diverged", f"{pair.case}\n{report}"
        assert placed(report, pair), f"{pair.case}\n{report}"


@settings(
    max_examples=40,
    derandomize=True,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(st.randoms(use_true_random=False), st.sampled_from([None, *FAULTS]))
def test_models_compute_what_is_described(random, kind):
    case = draw_case(random, kind)
    with built(case) as pair:
        note(f"{case}\n{pair.reference.path.read_text()}\n{pair.candidate.path.read_text()}")
        assert pair.faithful, pair.rounding


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_changes_outputs_and_one_node(kind):
    cases = [case_of_seed(seed, kind) for seed in range(6)]
    assert any(case.effect > 1e-4 for case in cases)
    for case in cases:
        right, wrong = (case.networks[side] for side in (1 - case.faulty, case.faulty))
        sound = {node.name: node for node in right.nodes}
        changed = {
            node.name
            for node in wrong.nodes
            if node.name not in sound or not same_operation(node, sound[node.name])
        }
        assert case.fault.node in changed
        assert changed <= case.fault.faulty_places


def same_operation(a: Node, b: Node) -> bool:
    """Whether they differ in nothing but the shape, which follows from what they read."""
    unchanged = a.options is b.options and a.weights is b.weights
    return unchanged and (a.kind, a.inputs) == (b.kind, b.inputs)


def test_an_epsilon_that_both_models_fold_into_a_scale_is_another_weight():
    """Neither source has an epsilon then, and the report can only name the numbers."""
    drawn = (case_of_seed(seed, "batchnorm_epsilon") for seed in range(60))
    folded = next(case for case in drawn if case.is_folded)
    name = folded.fault.node
    with built(folded) as pair:
        for model in (pair.reference, pair.candidate):
            source = model.path.read_text()
            assert f"{name}_scale" in source
            assert f"{name}_variance" not in source
    assert folded.causes == ("norm-epsilon", "weight-values")
    for kind in ("weight_scale", "layernorm_epsilon", "bias_missing"):
        assert not case_of_seed(0, kind).is_folded


def test_every_node_has_lines_of_its_own():
    for seed in range(10):
        with built(case_of_seed(seed)) as pair:
            models = (pair.reference, pair.candidate)
            for network, model in zip(pair.case.networks, models, strict=True):
                assert {node.name for node in network.nodes[1:]} <= set(model.nodes.values())


def test_the_sample_covers_every_framework_both_ways():
    plans = [case_of_seed(seed, kind).plans for seed, kind in FAULTY]
    plans += [case_of_seed(seed, "clean").plans for seed in CLEAN]
    assert {reference.flavour for reference, _ in plans} == set(FLAVOURS)
    assert {candidate.flavour for _, candidate in plans} == set(FLAVOURS)
    assert {plan.layout for pair in plans for plan in pair} == {"NCHW", "NHWC", "NCHW in"}


def test_the_same_seed_gives_the_same_case():
    sources = []
    for _ in range(2):
        with built(case_of_seed(3)) as pair:
            sources.append(pair.reference.path.read_text() + pair.candidate.path.read_text())
    assert sources[0] == sources[1]


@pytest.mark.parametrize(
    ("flavour", "read", "said"),
    [("keras functional", "x", True), ("torch", "x", False), ("keras functional", "c", False)],
)
def test_what_keras_leaves_out_is_missing_where_a_value_before_it_is_read(flavour, read, said):
    def node(name, *inputs):
        return Node(name, "tanh", inputs, (4,))

    def network(source):
        nodes = node("x"), node("a", "x"), node("b", "a"), node("c", "x"), node("end", source)
        return Network(2, nodes, {"y": "end"}, True)

    fault = Fault("wrong_source", "end", frozenset(), frozenset(), frozenset({"a", "b"}))
    plans = Plan("torch", "NCHW", 0), Plan(flavour, "NCHW", 0)
    case = Case(0, (network("b"), network(read)), plans, fault, 1)
    assert ("op-missing" in case.causes) == said
    assert "wrong-source" in case.causes
