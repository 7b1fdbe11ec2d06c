"""Models whose forward, or whose caller, sets a context: they are what they are outside it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import parity

X = np.random.default_rng(0).normal(size=(6, 7, 8)).astype("f4")
D = torch.distributions

LAYERS: dict[str, Callable[[], nn.Module]] = {
    "attention": lambda: nn.MultiheadAttention(8, 2, batch_first=True, dropout=0.1),
    "transformer": lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
    "gru": lambda: nn.GRU(8, 8, num_layers=2, batch_first=True, dropout=0.1),
    "lstm": lambda: nn.LSTM(8, 8, batch_first=True),
    "batch norm": lambda: nn.BatchNorm1d(7),
    "convolution": lambda: nn.Conv1d(7, 7, 3),
    "dropout": lambda: nn.Dropout(0.3),
    "alpha dropout": lambda: nn.AlphaDropout(0.3),
    "rrelu": lambda: nn.RReLU(),
}
FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "channels dropped": lambda h: F.dropout1d(h, 0.3, training=False),
    "attention by hand": lambda h: F.scaled_dot_product_attention(h, h, h),
    "einsum": lambda h: torch.einsum("bij,bkj->bik", h, h),
    "one hot": lambda h: F.one_hot(h.argmax(-1), 8) * h,
    "pad and chunk": lambda h: F.pad(
        torch.cat([*h.chunk(2, -1), h.std(-1, keepdim=True)], -1), (1, 1)
    ),
    "noise": lambda h: h + 0.5 * torch.randn_like(h),
    "normal": lambda h: D.Normal(h, 0.5).rsample(),
    "categorical": lambda h: F.one_hot(D.Categorical(logits=3 * h).sample(), 8) * h,
    "gumbel": lambda h: F.gumbel_softmax(h, tau=0.7),
    "order": lambda h: h[torch.randperm(6)],
}
DRAWN_IN_TRAINING = ("attention", "transformer", "dropout", "alpha dropout", "rrelu", "batch norm")


class Net(nn.Module):
    def __init__(self, kind: str, scale: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.scale = nn.Linear(8, 8), scale
        self.layer = LAYERS[kind]() if kind in LAYERS else FUNCTIONS[kind]
        self.given = 3 if kind == "attention" else 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self.layer(*[self.first(x)] * self.given)
        return (made[0] if isinstance(made, tuple) else made) * self.scale


class Within(nn.Module):
    def __init__(self, net: nn.Module, context: Callable[[], Any]) -> None:
        super().__init__()
        self.net, self.context = net, context

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with self.context():
            return self.net(x)


class Checkpointed(nn.Module):
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(self.net, x, use_reentrant=False)


class Called(Checkpointed):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(self.net, dict(self.net.named_parameters()), (x,))


CONTEXTS: dict[str, Callable[[nn.Module], nn.Module]] = {
    "no_grad": lambda net: Within(net, torch.no_grad),
    "enable_grad": lambda net: Within(net, torch.enable_grad),
    "detect_anomaly": lambda net: Within(net, torch.autograd.detect_anomaly),
    "fork_rng": lambda net: Within(net, torch.random.fork_rng),
    "autocast off": lambda net: Within(net, lambda: torch.autocast("cpu", enabled=False)),
    "checkpoint": Checkpointed,
    "functional_call": Called,
    "frozen": lambda net: net.requires_grad_(False),
}

pytestmark = pytest.mark.filterwarnings("ignore:Anomaly Detection")


def verdicts(
    kind: str, context: Callable[[nn.Module], nn.Module], mode: str, around: Any = None
) -> tuple[str, str]:
    """The verdicts of a right port and of one whose result is scaled."""
    found = []
    for scale in (1.0, 1.2):
        models = [parity.wrap(one, mode=mode) for one in (Net(kind), context(Net(kind, scale)))]
        with around or contextlib.nullcontext():
            found.append(parity.compare(*models, inputs=X).verdict)
    return found[0], found[1]


@pytest.mark.parametrize("kind", [*LAYERS, *FUNCTIONS])
def test_in_inference_mode(kind: str) -> None:
    for mode in ("eval", "train")[: 1 + (kind in DRAWN_IN_TRAINING)]:
        inside = verdicts(kind, lambda net: Within(net, torch.inference_mode), mode)
        assert inside == ("parity", "diverged"), (mode, inside)


@pytest.mark.parametrize("kind", ["attention", "gru", "dropout", "categorical"])
def test_called_in_inference_mode(kind: str) -> None:
    found = verdicts(kind, lambda net: net, "eval", torch.inference_mode())
    assert found == ("parity", "diverged")


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("kind", ["lstm", "dropout", "rrelu"])
def test_in_other_contexts(kind: str, context: str) -> None:
    mode = "train" if kind == "dropout" else "eval"
    assert verdicts(kind, CONTEXTS[context], mode) == ("parity", "diverged")


class Encoder(nn.Module):
    """Padded sequences, which a frozen Transformer nests."""

    def __init__(self, shift: int = 0) -> None:
        super().__init__()
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder, self.shift = nn.TransformerEncoder(layer, 2), shift

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        padding = torch.arange(x.shape[1]) >= lengths[:, None] + self.shift
        h = self.encoder(x, src_key_padding_mask=padding)
        return h.masked_fill(padding[..., None], 0).sum(1)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_transformer_with_padding_that_nothing_trains() -> None:
    inputs = X, np.array([7, 3, 4, 2, 5, 6])
    frozen = Encoder().requires_grad_(False)
    assert parity.compare(Encoder(), frozen, inputs=inputs).verdict == "parity"
    wrong = Encoder(shift=-1).requires_grad_(False)
    report = parity.compare(Encoder(), wrong, inputs=inputs)
    assert report.verdict == "diverged"
    assert "padding = " in report.worst.divergences[0].candidate.code


class Dropping(nn.Module):
    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.drop, self.norm = nn.Linear(8, 8), nn.Dropout(0.5), nn.BatchNorm1d(7)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.drop(self.first(x))) * self.scale


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_an_exported_module_has_the_mode_in_which_it_was_exported(mode: str) -> None:
    def exported(net: nn.Module) -> nn.Module:
        return torch.export.export(net.train(mode == "train"), (torch.from_numpy(X),)).module()

    def compared(net: nn.Module, mode: str) -> str:
        return parity.compare(parity.wrap(Dropping(), mode=mode), net, inputs=X).verdict

    assert compared(exported(Dropping()), mode) == "parity"
    assert compared(exported(Dropping(1.1)), mode) == "diverged"
    assert compared(exported(Dropping()), {"eval": "train", "train": "eval"}[mode]) == "diverged"
