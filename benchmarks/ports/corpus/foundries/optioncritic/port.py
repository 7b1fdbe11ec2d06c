"""Option-critic in PyTorch; frames come in NCHW."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class OptionCritic(nn.Module):
    def __init__(self, options=4, actions=5, temperature=0.7):
        super().__init__()
        self.temperature = temperature
        self.conv1 = nn.Conv2d(3, 8, kernel_size=6, stride=4)
        self.conv2 = nn.Conv2d(8, 12, kernel_size=3, stride=2)
        self.fc = nn.Linear(192, 40)
        self.q_head = nn.Linear(40, options)
        self.term_head = nn.Linear(40, options)
        self.option_w = nn.Parameter(torch.zeros(options, 40, actions))
        self.option_b = nn.Parameter(torch.zeros(options, actions))

    def encode(self, frames):
        x = frames.float() / 255
        x = F.relu(self.conv1(x))
        x = F.pad(x, (0, 1, 0, 1))  # TF's SAME at stride 2 pads on the far side only
        x = F.relu(self.conv2(x))
        x = x.permute(0, 2, 3, 1).flatten(1)  # the original flattens height, width, channel
        return F.relu(self.fc(x))

    def forward(self, frames, option):
        option = option.long()
        state = self.encode(frames)
        q = self.q_head(state)
        terminate = torch.sigmoid(self.term_head(state))
        index = option.unsqueeze(1)
        q_current = q.gather(1, index).squeeze(1)
        beta = terminate.gather(1, index).squeeze(1)

        logits = torch.bmm(state.unsqueeze(1), self.option_w[option]).squeeze(1)
        logits = (logits + self.option_b[option]) / self.temperature
        log_pi = F.log_softmax(logits, dim=1)
        pi = log_pi.exp()
        entropy = -(pi * log_pi).sum(1)

        greedy = q.max(dim=1).values
        utility = q_current + beta * (greedy - q_current)
        v = 0.9 * greedy + 0.1 * q.mean(1)
        advantage = q_current - v
        termination_loss = beta * (advantage + 0.02)
        return {
            "q": q,
            "pi": pi,
            "beta": beta,
            "entropy": entropy,
            "utility": utility,
            "termination_loss": termination_loss,
        }


def make(seed=4):
    torch.manual_seed(seed)
    net = OptionCritic()
    with torch.no_grad():
        for p in net.parameters():
            p.normal_(0, 0.15)
    return net.eval()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    frames = r.integers(0, 256, size=(8, 34, 34, 3)).astype("uint8")
    option = r.integers(0, 4, size=8).astype("int32")
    return np.ascontiguousarray(frames.transpose(0, 3, 1, 2)), option


def load(ported, original):
    def t(variable):
        return torch.from_numpy(variable.numpy())

    with torch.no_grad():
        for conv, kernel, bias in (
            (ported.conv1, original.k1, original.b1),
            (ported.conv2, original.k2, original.b2),
        ):
            conv.weight.copy_(t(kernel).permute(3, 2, 0, 1))
            conv.bias.copy_(t(bias))
        for linear, w, b in (
            (ported.fc, original.w3, original.b3),
            (ported.q_head, original.w_q, original.b_q),
            (ported.term_head, original.w_beta, original.b_beta),
        ):
            linear.weight.copy_(t(w).T)
            linear.bias.copy_(t(b))
        ported.option_w.copy_(t(original.w_pi))
        ported.option_b.copy_(t(original.b_pi))
