"""IMPALA's deep residual torso with an LSTM core, as in TorchBeast."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
NUM_ACTIONS = 6


class ImpalaNet(nn.Module):
    def __init__(self, in_channels=3, size=24, hidden=40):
        super().__init__()
        self.feat_convs = []
        self.resnet1 = []
        self.resnet2 = []
        for num_ch in [8, 12]:
            feats_convs = [
                nn.Conv2d(in_channels, num_ch, kernel_size=3, stride=1, padding=1),
                nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
            ]
            self.feat_convs.append(nn.Sequential(*feats_convs))
            in_channels = num_ch
            for i in range(2):
                block = nn.Sequential(
                    nn.ReLU(),
                    nn.Conv2d(in_channels, num_ch, kernel_size=3, stride=1, padding=1),
                    nn.ReLU(),
                    nn.Conv2d(in_channels, num_ch, kernel_size=3, stride=1, padding=1),
                )
                (self.resnet1 if i == 0 else self.resnet2).append(block)
        self.feat_convs = nn.ModuleList(self.feat_convs)
        self.resnet1 = nn.ModuleList(self.resnet1)
        self.resnet2 = nn.ModuleList(self.resnet2)
        self.fc = nn.Linear(12 * (size // 4) ** 2, hidden)
        self.core = nn.LSTM(hidden + NUM_ACTIONS + 1, 32)
        self.policy = nn.Linear(32, NUM_ACTIONS)
        self.baseline = nn.Linear(32, 1)

    def forward(self, frame, reward, done, last_action, h0, c0):
        T, B = frame.shape[:2]
        x = torch.flatten(frame, 0, 1)
        x = x.float() / 255.0
        for i, fconv in enumerate(self.feat_convs):
            x = fconv(x)
            res_input = x
            x = self.resnet1[i](x)
            x = x + res_input
            res_input = x
            x = self.resnet2[i](x)
            x = x + res_input
        x = F.relu(x)
        x = x.reshape(T * B, -1)
        x = F.relu(self.fc(x))

        one_hot = F.one_hot(last_action.reshape(T * B), NUM_ACTIONS).float()
        clipped_reward = torch.clamp(reward, -1, 1).reshape(T * B, 1)
        core_input = torch.cat([x, clipped_reward, one_hot], dim=-1)
        core_input = core_input.view(T, B, -1)
        notdone = (~done).float()
        core_output = []
        state = (h0.unsqueeze(0), c0.unsqueeze(0))
        for inp, nd in zip(core_input.unbind(), notdone.unbind()):
            nd = nd.view(1, -1, 1)
            state = tuple(nd * s for s in state)
            output, state = self.core(inp.unsqueeze(0), state)
            core_output.append(output)
        core_output = torch.flatten(torch.cat(core_output), 0, 1)
        logits = self.policy(core_output).view(T, B, NUM_ACTIONS)
        baseline = self.baseline(core_output).view(T, B)
        return logits, baseline, state[0][0], state[1][0]


def make():
    torch.manual_seed(11)
    return ImpalaNet()


def inputs(seed):
    rng = np.random.default_rng(seed)
    T, B = 4, 3
    frame = rng.integers(0, 256, size=(T, B, 3, 24, 24)).astype("uint8")
    reward = rng.normal(scale=1.5, size=(T, B)).astype("float32")
    done = np.array([[0, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 0]], dtype=bool)
    last_action = rng.integers(0, NUM_ACTIONS, size=(T, B)).astype("int64")
    h0 = (0.3 * rng.normal(size=(B, 32))).astype("float32")
    c0 = rng.normal(size=(B, 32)).astype("float32")
    return frame, reward, done, last_action, h0, c0
