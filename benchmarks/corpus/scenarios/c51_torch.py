"""The C51 dueling DQN in torch, as a user writes it; `faults` switches single lines."""

from __future__ import annotations

import torch
from torch import nn

from .c51_sizes import ACTIONS, ATOMS, HEAD_SHAPES, SHAPES, Weights, support_for


class DuelingHead(nn.Module):
    """Advantages (batch, actions * atoms) and values (batch, atoms) to Q (batch, actions)."""

    def __init__(self, faults):
        super().__init__()
        self.faults = faults
        self.register_buffer("support", torch.from_numpy(support_for(faults)))

    def forward(self, advantage, value):
        faults = self.faults
        value = value.reshape(-1, 1, ATOMS)
        if "reshape" in faults:
            by_atom = advantage.reshape(-1, ATOMS, ACTIONS)  # fault: reshape
            advantage = by_atom.transpose(1, 2)  # fault: reshape
        else:
            advantage = advantage.reshape(-1, ACTIONS, ATOMS)  # stage: reshape
        if "not-centred" in faults:
            logits = value + advantage  # fault: not-centred
        elif "value-centred" in faults:
            value = value - value.mean(2, keepdim=True)  # fault: value-centred
            logits = value + advantage
        else:
            if "mean-atoms" in faults:
                mean = advantage.mean(2, keepdim=True)  # fault: mean-atoms
            elif "mean-batch" in faults:
                mean = advantage.mean(0, keepdim=True)  # fault: mean-batch
            elif "mean-all" in faults:
                mean = advantage.mean((1, 2), keepdim=True)  # fault: mean-all
            elif "max" in faults:
                mean = advantage.amax(1, keepdim=True)  # fault: max
            else:
                mean = advantage.mean(1, keepdim=True)  # stage: mean
            centred = advantage - mean  # stage: centre
            logits = value + centred  # stage: combine
        if "softmax-axis-0" in faults:
            probabilities = torch.softmax(logits, 0)  # fault: softmax-axis-0
        elif "softmax-axis-1" in faults:
            probabilities = torch.softmax(logits, 1)  # fault: softmax-axis-1
        else:
            probabilities = torch.softmax(logits, -1)  # stage: softmax
        weighted = probabilities * self.support  # stage: weigh
        if "expectation-axis" in faults:
            return weighted.sum(1)  # fault: expectation-axis
        return weighted.sum(-1)  # stage: expect


class Branch(nn.Module):
    """Two dense streams and the dueling head on the flattened image."""

    def __init__(self, faults):
        super().__init__()
        for name, (size_out, size_in) in HEAD_SHAPES.items():
            self.add_module(name, nn.Linear(size_in, size_out))
        self.head = DuelingHead(faults)

    def forward(self, x):
        advantage = self.advantage(torch.relu(self.advantage_hidden(x)))
        value = self.value(torch.relu(self.value_hidden(x)))
        return self.head(advantage, value)


class Network(nn.Module):
    """Q-values of one branch, or of several by name, on a shared convolutional trunk."""

    def __init__(self, faults):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 12, SHAPES["conv1"][2:], stride=2)
        self.conv2 = nn.Conv2d(12, 9, SHAPES["conv2"][2:])
        self.branches = nn.ModuleList(Branch(f) for f in faults)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        x = x.flatten(1)
        if len(self.branches) == 1:
            return self.branches[0](x)
        return {f"q{i}": branch(x) for i, branch in enumerate(self.branches)}


def head(faults):
    return DuelingHead(faults)


@torch.no_grad()
def network(weights: Weights, faults):
    net = Network(faults)
    layers = [(net, weights.trunk), *zip(net.branches, weights.heads, strict=True)]
    for module, stored in layers:
        for name, (kernel, bias) in stored.items():
            module.get_submodule(name).weight.copy_(torch.from_numpy(kernel))
            module.get_submodule(name).bias.copy_(torch.from_numpy(bias))
    return net.eval()
