"""Draws by Python's `random`, or by a framework that is not recorded, are seen all the same."""

import contextlib
import random
from random import random as coin

import numpy as np
import pytest
from numpy.random import random as uniform

import parity

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).normal(size=(64, 5)).astype(np.float32)
W = torch.linspace(-1, 1, 20).reshape(5, 4)
V = W.numpy()
OWN = random.Random(3)


def greedy(x):
    return np.tanh(x @ V).max(1)


def explores(draw, often, scale=1.0):
    """A port that takes a random action as often as stated, and else the best."""

    def port(x):
        q = torch.tanh(x @ W)
        best = q.argmax(1).tolist()
        actions = [int(4 * draw()) if draw() < often else one for one in best]
        return scale * q[torch.arange(len(x)), torch.tensor(actions)]

    return port


def verdict(reference, port):
    models = parity.wrap(reference, framework="numpy"), parity.wrap(port, framework="torch")
    report = parity.compare(*models, inputs=X)
    return report.verdict, " ".join(report.comparisons[0].reasons)


@pytest.mark.parametrize(
    "draw", [lambda: random.random(), lambda: coin(), OWN.random], ids=["module", "name", "own"]
)
def test_a_port_that_hardly_ever_explores_is_no_parity(draw):
    random.seed(5)
    found, reasons = verdict(greedy, explores(draw, 0.0))
    assert found == "unverified"
    assert "draws with random" in reasons


def drops_layers(drops):
    """A port that drops layers in training alone, as `drops` decides by whether it is."""

    def port(x):
        q = torch.tanh(x @ W)
        return q.min(1).values if drops(False) else q.max(1).values

    return port


@pytest.mark.parametrize(
    "draw",
    [lambda: random.random(), lambda: random.randint(0, 3), lambda: np.random.uniform(0, 1)],
    ids=["random", "randint", "numpy"],
)
def test_a_number_that_is_never_read_leads_to_nothing(draw):
    def drops(training):
        number = draw()
        return training and number < 0.1

    assert verdict(greedy, drops_layers(drops)) == ("parity", "")


def asked_in_vain():
    number = random.random()
    with contextlib.suppress(TypeError):
        return number < 0.0
    return False


@pytest.mark.parametrize(
    "reads",
    [
        lambda: random.random() < 0.0,
        lambda: np.random.uniform(0, 1) < 0.0,
        lambda: not isinstance(random.random(), float),
        lambda: torch.full((), random.random()) < 0.0,
        lambda: random.sample(range(9), 2) == [9, 9],
        asked_in_vain,
    ],
    ids=["compared", "of numpy", "its class", "given to the framework", "no number", "in vain"],
)
def test_a_number_that_is_read_may_lead_to_anything(reads):
    assert verdict(greedy, drops_layers(lambda training: reads()))[0] == "unverified"


def test_another_framework_draws():
    def reference(x):
        return greedy(x) + np.float32(0) * float(torch.rand(()))

    found, reasons = verdict(reference, lambda x: torch.tanh(x @ W).max(1).values)
    assert found == "unverified"
    assert "draws with torch" in reasons


def test_what_libraries_draw_for_themselves_is_none_of_the_models():
    keras = pytest.importorskip("keras")

    def reference(x):
        keras.initializers.RandomNormal()  # takes its seed from `random`
        return greedy(x)

    assert verdict(reference, lambda x: torch.tanh(x @ W).max(1).values)[0] == "parity"


def by_coins(x, scale=1.0):
    q = np.tanh(x @ V)
    coins = [random.random() < 0.5 for _ in x]
    actions = [
        random.randrange(4) if one else best for one, best in zip(coins, q.argmax(1), strict=True)
    ]
    return scale * q[np.arange(len(x)), actions]


def test_other_draws_are_no_divergence():
    random.seed(5)
    assert verdict(by_coins, explores(random.random, 0.5))[0] == "unverified"


def test_what_no_draw_explains_is_one():
    random.seed(5)
    assert verdict(by_coins, explores(random.random, 0.5, 60.0))[0] == "diverged"


def test_python_draws_as_before_afterwards():
    before = {name: item for name, item in vars(random).items() if callable(item)}
    verdict(greedy, explores(lambda: coin(), 0.1))
    assert all(getattr(random, name) is item for name, item in before.items())
    assert coin.__module__ != "parity.draws.host"
    assert globals()["coin"] is coin is before["random"]


def test_numpys_functions_are_seen_by_another_name():
    found, reasons = verdict(greedy, explores(lambda: uniform(), 0.0))
    assert found == "unverified"
    assert "numpy.random.random" in reasons


def test_categories_that_are_drawn_of_what_was_drawn_before():
    """TensorFlow's own kernel is then given draws; reading them to record it is no excuse."""
    tf = pytest.importorskip("tensorflow")
    weights = np.random.default_rng(5).standard_normal((13, 6)).astype("f")
    x = np.random.default_rng(6).standard_normal((8, 7)).astype("f")

    def reference(x):
        drawn = torch.zeros(len(x), 6)
        for _ in range(2):
            logits = torch.cat([x, drawn], -1) @ torch.from_numpy(weights)
            drawn = torch.distributions.OneHotCategorical(logits=logits).sample()
        return logits + drawn

    def candidate(x, scale=1.0):
        drawn = tf.zeros((8, 6))
        for _ in range(2):
            logits = tf.concat([x, drawn], -1) @ weights
            drawn = tf.one_hot(tf.random.categorical(scale * logits, 1)[:, 0], 6)
        return logits + drawn

    def compared(model):
        first = parity.wrap(reference, framework="torch")
        return parity.compare(first, parity.wrap(model, framework="tensorflow"), inputs=x)

    right = compared(candidate)
    assert right.verdict == "parity", right.comparisons[0].reasons
    assert compared(lambda x: candidate(x, 3.0)).verdict == "diverged"
