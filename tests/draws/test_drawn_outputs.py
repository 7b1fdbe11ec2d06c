"""What random draws change is measured: that they lead to an output does not say that they show."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from parity.diagnosis.random_outputs import drawn_outputs
from parity.inputs.preprocessing import record

tf = pytest.importorskip("tensorflow")

X = np.random.default_rng(0).standard_normal((6, 5)).astype("f")
W = np.random.default_rng(1).standard_normal((5, 4)).astype("f")


def drawn(model, framework="torch"):
    return drawn_outputs(record(parity.wrap(model, framework=framework), (X,)))


def head(x):
    return torch.tanh(x @ torch.from_numpy(W))


def shuffled_and_put_back(x):
    order = torch.randperm(len(x))
    return head(x[order])[torch.argsort(order)]


def coins(x, rate):
    return head(x) * (torch.rand(6, 1) >= rate)


SHOWN = {
    "noise": lambda x: head(x) + 1e-3 * torch.randn(6, 4),
    "a coin that is seldom tails": lambda x: coins(x, 1e-4),
    "dropout at a small rate": lambda x: torch.nn.functional.dropout(head(x), 1e-4),
    "a rare category": lambda x: head(x) + torch.multinomial(torch.tensor([1e-5, 1.0]), 1),
    "a shuffle": lambda x: head(x)[torch.randperm(6)],
    "a rare coin beside another draw": lambda x: torch.where(
        torch.rand(1) < 1e-3, head(x)[:1, torch.randint(0, 4, (1,))], head(x)[:1, :1]
    ),
    "a member": lambda x: head(x) * torch.arange(1.0, 9)[torch.randint(0, 8, (1,))],
}
HIDDEN = {
    "noise of size zero": lambda x: head(x) + 0 * torch.randn(6, 4),
    "a rate of zero": lambda x: coins(x, 0.0),
    "dropout at a rate of zero": lambda x: torch.nn.functional.dropout(head(x), 0.0),
    "a shuffle that is undone": shuffled_and_put_back,
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_a_draw_changes_is_drawn(name) -> None:
    assert drawn(SHOWN[name]) == {"output"}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_no_draw_changes_is_not(name) -> None:
    assert drawn(HIDDEN[name]) == set()


def test_each_output_by_itself() -> None:
    assert drawn(lambda x: {"h": head(x), "noise": head(x) + torch.randn(6, 4)}) == {"noise"}


def test_tensorflows_draws() -> None:
    def model(x):
        h = tf.tanh(tf.matmul(x, W))
        return {"none": h + 0 * tf.random.normal((6, 4)), "some": h + tf.random.normal((6, 4))}

    assert drawn(model, "tensorflow") == {"some"}


def test_a_stale_trace_shows_behind_idle_draws() -> None:
    class Scaled:
        def __init__(self, traced_before):
            self.scale = 1.0
            self.run = tf.function(lambda h: h * self.scale + 0.0 * tf.random.normal((6, 4)))
            if traced_before:
                self.run(tf.zeros((6, 4)))
            self.scale = 1.1

        def __call__(self, x):
            return self.run(tf.tanh(tf.matmul(x, W)))

    def verdict(stale):
        sides = parity.wrap(lambda x: 1.1 * head(x), framework="torch"), Scaled(stale)
        candidate = parity.wrap(sides[1].__call__, framework="tensorflow")
        return parity.compare(sides[0], candidate, inputs=X).verdict

    assert verdict(False) == "parity"
    assert verdict(True) != "parity"


def test_what_was_kept_shows_behind_idle_draws() -> None:
    kept = float(head(torch.from_numpy(X)).abs().max())

    def port(stored):
        def model(x):
            h = head(x)
            return h / (kept if stored else h.abs().amax()) + 0 * torch.randn(6, 4)

        return parity.wrap(model, framework="torch")

    assert parity.compare(port(False), port(False), inputs=X).verdict == "parity"
    assert parity.compare(port(False), port(True), inputs=X).verdict != "parity"


def test_a_loss_that_is_cut_off_at_zero_is_drawn() -> None:
    """Far out it is always cut off."""

    def loss(x):
        h = head(x)
        noise = torch.randn(h.shape)
        return torch.relu((8 * noise * h - noise**2 / 2).mean())

    torch.manual_seed(4)  # its opposite is cut off too
    assert drawn(loss) == {"output"}
