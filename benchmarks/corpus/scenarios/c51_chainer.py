"""The C51 dueling DQN in Chainer, as a user writes it; `faults` switches single lines."""

from __future__ import annotations

from .c51_sizes import ACTIONS, ATOMS, HEAD_SHAPES, SHAPES, Weights, support_for
from .pair import chainer

F, L = chainer.functions, chainer.links


class DuelingHead(chainer.Chain):
    """Advantages (batch, actions * atoms) and values (batch, atoms) to Q (batch, actions)."""

    def __init__(self, faults):
        super().__init__()
        self.faults = faults
        self.add_persistent("support", support_for(faults))

    def forward(self, advantage, value):
        faults = self.faults
        value = F.reshape(value, (-1, 1, ATOMS))
        if "reshape" in faults:
            by_atom = F.reshape(advantage, (-1, ATOMS, ACTIONS))  # fault: reshape
            advantage = F.transpose(by_atom, (0, 2, 1))  # fault: reshape
        else:
            advantage = F.reshape(advantage, (-1, ACTIONS, ATOMS))  # stage: reshape
        if "not-centred" in faults:
            logits = value + advantage  # fault: not-centred
        elif "value-centred" in faults:
            value = value - F.mean(value, 2, keepdims=True)  # fault: value-centred
            logits = value + advantage
        else:
            if "mean-atoms" in faults:
                mean = F.mean(advantage, 2, keepdims=True)  # fault: mean-atoms
            elif "mean-batch" in faults:
                mean = F.mean(advantage, 0, keepdims=True)  # fault: mean-batch
            elif "mean-all" in faults:
                mean = F.mean(advantage, (1, 2), keepdims=True)  # fault: mean-all
            elif "max" in faults:
                mean = F.max(advantage, 1, keepdims=True)  # fault: max
            else:
                mean = F.mean(advantage, 1, keepdims=True)  # stage: mean
            centred = advantage - mean  # stage: centre
            logits = value + centred  # stage: combine
        if "softmax-axis-0" in faults:
            probabilities = F.softmax(logits, axis=0)  # fault: softmax-axis-0
        elif "softmax-axis-1" in faults:
            probabilities = F.softmax(logits, axis=1)  # fault: softmax-axis-1
        else:
            probabilities = F.softmax(logits, axis=2)  # stage: softmax
        weighted = probabilities * self.support  # stage: weigh
        if "expectation-axis" in faults:
            return F.sum(weighted, axis=1)  # fault: expectation-axis
        return F.sum(weighted, axis=2)  # stage: expect


class Branch(chainer.Chain):
    """Two dense streams and the dueling head on the flattened image."""

    def __init__(self, faults):
        super().__init__()
        with self.init_scope():
            for name, (size_out, size_in) in HEAD_SHAPES.items():
                setattr(self, name, L.Linear(size_in, size_out))
            self.head = DuelingHead(faults)

    def forward(self, x):
        advantage = self.advantage(F.relu(self.advantage_hidden(x)))
        value = self.value(F.relu(self.value_hidden(x)))
        return self.head(advantage, value)


class Network(chainer.Chain):
    """Q-values of one branch, or of several by name, on a shared convolutional trunk."""

    def __init__(self, faults):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(4, 12, SHAPES["conv1"][2:], stride=2)
            self.conv2 = L.Convolution2D(12, 9, SHAPES["conv2"][2:])
            self.branches = chainer.ChainList(*(Branch(f) for f in faults))

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.reshape(x, (len(x), -1))
        if len(self.branches) == 1:
            return self.branches[0](x)
        return {f"q{i}": branch(x) for i, branch in enumerate(self.branches)}


def head(faults):
    return DuelingHead(faults)


def network(weights: Weights, faults):
    net = Network(faults)
    for chain, stored in [(net, weights.trunk), *zip(net.branches, weights.heads, strict=True)]:
        for name, (kernel, bias) in stored.items():
            chain[name].W.array[...] = kernel
            chain[name].b.array[...] = bias
    return net
