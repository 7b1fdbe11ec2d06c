"""TorchBeast-like IMPALA core: LSTM over an unroll with resets; dueling R2D2 head too."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
A, H, T, B = 4, 24, 6, 5


class TorchCore(nn.Module):
    def __init__(self, obs=9):
        super().__init__()
        self.fc = nn.Linear(obs, 32)
        self.core = nn.LSTM(32 + A + 1, H, 1)
        self.policy = nn.Linear(H, A)
        self.baseline = nn.Linear(H, 1)
        self.adv = nn.Linear(H, A)

    def forward(self, frame, last_action, reward, done):
        # (B, T, ..) -> time major
        x = F.relu(self.fc(frame.transpose(0, 1)))
        one_hot = F.one_hot(last_action.transpose(0, 1), A).float()
        clipped = torch.clamp(reward.transpose(0, 1), -1, 1).unsqueeze(-1)
        core_input = torch.cat([x, clipped, one_hot], dim=-1)
        notdone = (~done.transpose(0, 1)).float()
        state = tuple(torch.zeros(1, frame.shape[0], H) for _ in range(2))
        outputs = []
        for inp, nd in zip(core_input.unbind(), notdone.unbind()):
            nd = nd.view(1, -1, 1)
            state = tuple(nd * s for s in state)
            out, state = self.core(inp.unsqueeze(0), state)
            outputs.append(out)
        core = torch.cat(outputs).transpose(0, 1)
        baseline = self.baseline(core)
        adv = self.adv(core)
        return {"logits": self.policy(core), "baseline": baseline.squeeze(-1),
                "q": baseline + adv - adv.mean(-1, keepdim=True)}


def make():
    torch.manual_seed(5)
    return TorchCore().eval()


def inputs(seed):
    r = np.random.default_rng(seed + 15)
    done = r.random((B, T)) < 0.3
    done[0, 2] = done[3, 4] = True
    return (r.normal(size=(B, T, 9)).astype("float32"), r.integers(0, A, (B, T)).astype("int64"),
            (2 * r.normal(size=(B, T))).astype("float32"), done)
