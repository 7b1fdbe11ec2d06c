"""DouZero-style agent for DouDizhu: LSTM over past moves, value of every legal action."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
RANKS, MOVES, ACTIONS, H = 15, 15, 4, 16


def encode_cards(counts):
    """[..., 15] card counts -> [..., 60] thermometer matrix, rank-major."""
    levels = torch.arange(1, 5, dtype=counts.dtype)
    planes = (counts.unsqueeze(-1) >= levels).float()
    return planes.flatten(-2)


class LandlordModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3 * 60, H, batch_first=True)
        self.state_norm = nn.LayerNorm(60)
        self.dense1 = nn.Linear(H + 60 + 60, 32)
        self.dense2 = nn.Linear(32, 24)
        self.dense3 = nn.Linear(24, 24)
        self.value = nn.Linear(24, 1)
        self.bid = nn.Linear(H + 60, 4)

    def forward(self, hand, history, actions, legal):
        B = hand.shape[0]
        z = encode_cards(history).reshape(B, MOVES // 3, 3 * 60)
        out, _ = self.lstm(z)
        last = out[:, -1]
        state = self.state_norm(encode_cards(hand))
        context = torch.cat([last, state], dim=-1)
        bids = torch.log_softmax(self.bid(context), dim=-1)
        x = torch.cat([context.unsqueeze(1).expand(-1, ACTIONS, -1), encode_cards(actions)], dim=-1)
        x = torch.relu(self.dense1(x))
        x = torch.relu(self.dense2(x))
        x = x + torch.relu(self.dense3(x))
        values = self.value(x).squeeze(-1)
        values = values.masked_fill(legal < 0.5, -5.0)
        policy = torch.softmax(values / 0.5, dim=-1)
        return values, policy, bids


def make():
    torch.manual_seed(0)
    m = LandlordModel().eval()
    g = torch.Generator().manual_seed(7)
    for n, p in m.named_parameters():
        r = torch.randn(p.shape, generator=g)
        p.data = r * (1.6 / p.shape[-1] ** 0.5) if p.dim() > 1 else (1 + 0.3 * r if "norm.weight" in n else 0.3 * r)
    return m


def inputs(seed):
    rng = np.random.default_rng(seed)
    hand = rng.integers(0, 5, size=(5, RANKS)).astype("float32")
    history = (rng.integers(0, 5, size=(5, MOVES, RANKS)) * (rng.random((5, MOVES, RANKS)) < 0.4)).astype("float32")
    actions = (rng.integers(0, 5, size=(5, ACTIONS, RANKS)) * (rng.random((5, ACTIONS, RANKS)) < 0.3)).astype("float32")
    legal = (rng.random((5, ACTIONS)) < 0.7).astype("float32")
    legal[:, 0] = 1
    return hand, history, actions, legal
