"""Over the other axis of a symmetric matrix a softmax is the transpose: it is no layout."""

from __future__ import annotations

import numpy as np
import torch

import parity
from parity.diagnosis.causes._masks import _is_hidden_by
from parity.operation import Op
from parity.site import Site
from tests.unit.causes.compared_pairs import Values, tensor

values = Values()
NODES, BATCH, WIDTH = 7, 4, 5
X = values(BATCH, NODES, WIDTH)
EMBEDDED = tensor(values(NODES, 3))
KERNELS = [tensor(values(3, WIDTH, n)) for n in (WIDTH, 6)]


class Graph(torch.nn.Module):
    """A convolution over learned neighbours, by Chebyshev polynomials."""

    def __init__(self, kernel, axis):
        super().__init__()
        self.axis = axis
        self.embedded, self.kernel = torch.nn.Parameter(EMBEDDED), torch.nn.Parameter(kernel)

    def forward(self, x):
        near = torch.softmax(torch.relu(self.embedded @ self.embedded.T), self.axis)
        powers = [torch.eye(NODES), near]
        powers.append(2 * near @ powers[-1] - powers[-2])
        mixed = torch.einsum("knm,bmc->bnkc", torch.stack(powers), x)
        return torch.tanh(torch.einsum("bnkc,kco->bno", mixed, self.kernel))


def test_no_mask_is_one_place_off():
    models = [torch.nn.Sequential(*(Graph(one, axis) for one in KERNELS)) for axis in (1, 0)]
    report = parity.compare(*models, inputs=X)
    assert report.verdict == "diverged"
    kinds = {one.cause.kind for one in report.divergences if one.cause and one.cause.confirmed}
    assert "softmax-axis" in kinds or "axis-order" in kinds
    assert "mask-shift" not in str(report)


def test_what_is_made_of_an_identity_matrix_hides_nothing():
    product = Op(0, "einsum", (0, 1), (2,), Site("einsum", ""), word="einsum")
    same = np.eye(NODES)
    assert _is_hidden_by(product, same)
    assert not _is_hidden_by(product, np.stack([same, 2 * same - values(NODES, NODES)]))
