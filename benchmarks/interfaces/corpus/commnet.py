"""CommNet: agents that talk for some rounds.

Interface: a bound method; a dict of a list of agents' observations and a nested dict, an optional
mask of the living; a dict of lists out, one of them of Nones. One side works on lists, the other
on a stack.
"""

import chainer
import chainer.functions as CF
import chainer.links as L
import numpy as np
import torch
from torch import nn

from benchmarks.interfaces.weights import drawn

OBS, HID, ACT = 6, 14, 4


class CommNetChainer(chainer.Chain):
    def __init__(self, rounds=2):
        super().__init__()
        self.rounds = rounds
        with self.init_scope():
            self.encode = L.Linear(OBS + 3, HID)
            self.hh = L.Linear(HID, HID, nobias=True)
            self.comm = L.Linear(HID, HID)
            self.skip = L.Linear(HID, HID, nobias=True)
            self.norm = L.LayerNormalization(HID)
            self.pi = L.Linear(HID, ACT)
            self.vf = L.Linear(HID, 1)

    def act(self, obs, alive=None, temperature=1.0):
        agents = obs["agents"]
        n = len(agents)
        task = obs["global"]["task"]
        h = [CF.tanh(self.encode(CF.concat([a, task], axis=1))) for a in agents]
        if alive is None:
            alive = np.ones((len(task), n), bool)
        m = [alive[:, i : i + 1].astype("float32") for i in range(n)]
        h0, talk = h, None
        for _ in range(self.rounds):
            talk = []
            for i in range(n):
                total = sum(h[j] * CF.broadcast_to(m[j], h[j].shape) for j in range(n) if j != i)
                count = sum(m[j] for j in range(n) if j != i)
                talk.append(total / CF.broadcast_to(np.maximum(count, 1), total.shape))
            h = [
                CF.relu(self.norm(self.hh(h[i]) + self.comm(talk[i]) + self.skip(h0[i])))
                for i in range(n)
            ]
        logits = [CF.log_softmax(self.pi(x) / temperature) for x in h]
        values = CF.concat([self.vf(x) for x in h], axis=1)
        return {"logits": logits, "values": values, "talk": talk, "messages": [None] * n}


class CommNetTorch(nn.Module):
    def __init__(self, rounds=2):
        super().__init__()
        self.rounds = rounds
        self.encode = nn.Linear(OBS + 3, HID)
        self.hidden = nn.Linear(HID, HID, bias=False)
        self.comm = nn.Linear(HID, HID)
        self.skip = nn.Linear(HID, HID, bias=False)
        self.norm = nn.LayerNorm(HID, eps=1e-6)
        self.pi = nn.Linear(HID, ACT)
        self.vf = nn.Linear(HID, 1)

    def act(self, obs, alive=None, temperature=1.0):
        x = torch.stack(list(obs["agents"]), 1)
        n = x.shape[1]
        task = obs["global"]["task"].unsqueeze(1).expand(-1, n, -1)
        h0 = h = torch.tanh(self.encode(torch.cat([x, task], -1)))
        alive = torch.ones(x.shape[:2]) if alive is None else alive.float()
        others = (1 - torch.eye(n)) * alive.unsqueeze(1)
        others = others / others.sum(-1, keepdim=True).clamp_min(1)
        talk = None
        for _ in range(self.rounds):
            talk = others @ h
            h = torch.relu(self.norm(self.hidden(h) + self.comm(talk) + self.skip(h0)))
        logits = torch.log_softmax(self.pi(h) / temperature, -1)
        return {
            "logits": list(logits.unbind(1)),
            "values": self.vf(h).squeeze(-1),
            "talk": list(talk.unbind(1)),
            "messages": [None] * n,
        }


def inputs(seed=0, n=5, agents=3):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype("float32")
    alive = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 1, 1]], bool)[:n]
    return ({"agents": [f(n, OBS) for _ in range(agents)], "global": {"task": f(n, 3)}}, alive)


SIDES = {
    "torch": lambda: drawn(CommNetTorch()).act,
    "chainer": lambda: drawn(CommNetChainer()).act,
}
