"""NumPy ports that draw: their generators give float64, and their results are float32."""

import numpy as np
import pytest

import parity

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)

REFERENCES = {
    "uniform": lambda h: h + torch.empty(h.shape).uniform_(-0.1, 0.1),
    "gumbel": lambda h: h - torch.log(-torch.log(torch.rand(h.shape))),
    "dropout": lambda h: torch.nn.functional.dropout(h, 0.2),
}
PORTS = {
    "uniform": lambda h, k: h + np.random.uniform(-0.1 * k, 0.1 * k, h.shape),
    "gumbel": lambda h, k: h + k * np.random.gumbel(size=h.shape),
    "dropout": lambda h, k: h * (np.random.random(h.shape) < 0.8) / (0.8 * k),
}


@pytest.mark.parametrize("kind", PORTS)
@pytest.mark.parametrize(("scale", "verdict"), [(1.0, "parity"), (1.01, "diverged")])
def test_noise_of_another_generator_is_the_references(kind, scale, verdict):
    def reference(x):
        return REFERENCES[kind](torch.tanh(x @ torch.from_numpy(W)))

    def port(x):
        return PORTS[kind](np.tanh(x @ W), scale).astype(np.float32)

    models = parity.wrap(reference, framework="torch"), parity.wrap(port, framework="numpy")
    assert parity.compare(*models, inputs=X).verdict == verdict
