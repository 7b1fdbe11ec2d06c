"""A network over graphs.

Interface: a dataclass of nodes, edges and their indices, with a number and a field left at None; a
dict out that holds such a dataclass, and a None. Sums over segments, an optional mask of nodes.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.interfaces.weights import drawn


@dataclass
class Graph:
    nodes: Any  # (N, F)
    edges: Any  # (E, G)
    senders: Any  # (E,)
    receivers: Any  # (E,)
    graph_id: Any  # (N,)
    n_graphs: int = 3
    globals: Any | None = None


FN, FE, D, A = 6, 4, 12, 5


class TorchGN(nn.Module):
    def __init__(self, rounds=2):
        super().__init__()
        self.rounds = rounds
        self.node_in = nn.Linear(FN, D)
        self.edge_in = nn.Linear(FE, D)
        self.message = nn.ModuleList(
            [nn.Sequential(nn.Linear(3 * D, D), nn.SiLU(), nn.Linear(D, D)) for _ in range(rounds)]
        )
        self.update = nn.ModuleList([nn.GRUCell(D, D) for _ in range(rounds)])
        self.gate = nn.Linear(D, 1)
        self.policy = nn.Linear(D, A)
        self.value = nn.Linear(D, 1)

    def forward(self, graph, node_mask=None):
        h = torch.tanh(self.node_in(graph.nodes))
        e = torch.tanh(self.edge_in(graph.edges))
        keep = torch.ones(len(h)) if node_mask is None else node_mask.float()
        for k in range(self.rounds):
            m = self.message[k](torch.cat([h[graph.senders], h[graph.receivers], e], -1))
            m = m * (keep[graph.senders] * keep[graph.receivers]).unsqueeze(-1)
            agg = torch.zeros_like(h).index_add(0, graph.receivers, m)
            h = self.update[k](agg, h)
        weight = torch.exp(self.gate(h)).squeeze(-1) * keep
        total = torch.zeros(graph.n_graphs).index_add(0, graph.graph_id, weight)
        weight = weight / total[graph.graph_id]
        pooled = torch.zeros(graph.n_graphs, D).index_add(
            0, graph.graph_id, weight.unsqueeze(-1) * h
        )
        logits = self.policy(h).masked_fill(keep.unsqueeze(-1) == 0, -1e10)
        return {
            "graph": replace(graph, nodes=h, edges=e),
            "logits": logits,
            "value": self.value(pooled).squeeze(-1),
            "pooled": pooled,
            "aux": None,
        }


class Linear(tf.Module):
    def __init__(self, i, o, name=None):
        super().__init__(name)
        self.w = tf.Variable(tf.random.normal((i, o)) / i**0.5)
        self.b = tf.Variable(tf.random.normal((o,)) * 0.2)

    def __call__(self, x):
        return x @ self.w + self.b


class GRU(tf.Module):
    def __init__(self, d):
        super().__init__()
        self.x, self.h = Linear(d, 3 * d), Linear(d, 3 * d)

    def __call__(self, x, h):
        xr, xz, xn = tf.split(self.x(x), 3, -1)
        hr, hz, hn = tf.split(self.h(h), 3, -1)
        z = tf.sigmoid(xz + hz)
        n = tf.tanh(xn + tf.sigmoid(xr + hr) * hn)
        return n + z * (h - n)


class TFGN(tf.Module):
    def __init__(self, rounds=2):
        super().__init__()
        self.enc_n, self.enc_e = Linear(FN, D), Linear(FE, D)
        self.msg = [(Linear(3 * D, D), Linear(D, D)) for _ in range(rounds)]
        self.gru = [GRU(D) for _ in range(rounds)]
        self.gate, self.pi, self.v = Linear(D, 1), Linear(D, A), Linear(D, 1)

    def __call__(self, graph, node_mask=None):
        h, e = tf.tanh(self.enc_n(graph.nodes)), tf.tanh(self.enc_e(graph.edges))
        n = h.shape[0]
        keep = tf.ones(n) if node_mask is None else tf.cast(node_mask, tf.float32)
        alive = tf.gather(keep, graph.senders) * tf.gather(keep, graph.receivers)
        for (m1, m2), gru in zip(self.msg, self.gru):
            m = m2(
                tf.nn.silu(
                    m1(
                        tf.concat(
                            [tf.gather(h, graph.senders), tf.gather(h, graph.receivers), e], 1
                        )
                    )
                )
            )
            h = gru(tf.math.unsorted_segment_sum(m * alive[:, None], graph.receivers, n), h)
        w = tf.exp(self.gate(h)[:, 0]) * keep
        w = w / tf.gather(tf.math.segment_sum(w, graph.graph_id), graph.graph_id)
        pooled = tf.math.segment_sum(h * w[:, None], graph.graph_id)
        logits = tf.where(keep[:, None] > 0, self.pi(h), -1e10)
        return {
            "graph": replace(graph, nodes=h, edges=e),
            "logits": logits,
            "value": self.v(pooled)[:, 0],
            "pooled": pooled,
            "aux": None,
        }


def inputs():
    r = np.random.default_rng(0)
    f = lambda *s: r.normal(size=s).astype("f")
    gid = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    s = np.array([0, 1, 2, 3, 0, 4, 5, 6, 7, 8, 9, 10, 7, 2])
    t = np.array([1, 2, 3, 0, 2, 5, 6, 4, 8, 9, 10, 7, 9, 0])
    m = np.array([1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1], bool)
    g = Graph(f(11, FN), f(14, FE), s, t, gid)
    return dict(graph=g, node_mask=m)


SIDES = {
    "torch": lambda: drawn(TorchGN()),
    "tensorflow": lambda: drawn(TFGN()),
}
