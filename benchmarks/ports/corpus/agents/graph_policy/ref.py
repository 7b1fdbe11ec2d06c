"""A graph network policy: attention over incoming edges, a distribution over the nodes of each graph."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
NODE, EDGE, GLOBAL, WIDTH = 6, 4, 3, 16


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, WIDTH), nn.SiLU(), nn.Linear(WIDTH, n_out))


def scatter_sum(values, index, size):
    return torch.zeros((size,) + values.shape[1:]).index_add(0, index, values)


def scatter_softmax(scores, index, size):
    top = torch.full((size,), -torch.inf).scatter_reduce(0, index, scores, "amax")
    weights = torch.exp(scores - top[index])
    return weights / scatter_sum(weights, index, size)[index]


class GraphPolicy(nn.Module):
    def __init__(self, rounds=2):
        super().__init__()
        self.rounds = rounds
        self.node_in = nn.Linear(NODE, WIDTH)
        self.edge_in = nn.Linear(EDGE, WIDTH)
        self.edge_mlp = mlp(3 * WIDTH + GLOBAL, WIDTH)
        self.score = nn.Linear(WIDTH, 1)
        self.node_mlp = mlp(2 * WIDTH + GLOBAL, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.pick = nn.Linear(WIDTH, 1)
        self.value = mlp(WIDTH + GLOBAL, 1)

    def forward(self, nodes, edges, senders, receivers, graph, context):
        count, graphs = nodes.shape[0], context.shape[0]
        n, e = self.node_in(nodes), self.edge_in(edges)
        for _ in range(self.rounds):
            message = torch.cat([e, n[senders], n[receivers], context[graph[receivers]]], dim=1)
            e = e + self.edge_mlp(message)
            attention = scatter_softmax(self.score(e).squeeze(1), receivers, count)
            inbox = scatter_sum(attention.unsqueeze(1) * e, receivers, count)
            n = self.norm(n + self.node_mlp(torch.cat([n, inbox, context[graph]], dim=1)))
        log_policy = torch.log(scatter_softmax(self.pick(n).squeeze(1), graph, graphs))
        size = scatter_sum(torch.ones(count), graph, graphs)
        pooled = scatter_sum(n, graph, graphs) / size.unsqueeze(1)
        value = self.value(torch.cat([pooled, context], dim=1)).squeeze(1)
        return {"log_policy": log_policy, "value": value}


def make():
    torch.manual_seed(60)
    net = GraphPolicy()
    for name, p in net.named_parameters():
        if name == "norm.weight":
            nn.init.uniform_(p, 0.7, 1.3)
        elif name.endswith("bias"):
            nn.init.uniform_(p, -0.3, 0.3)
    return net.eval()


def inputs(seed):
    """Four graphs of 3 to 6 nodes, side by side; every node has an incoming edge."""
    rng = np.random.default_rng(seed)
    graph, senders, receivers, start = [], [], [], 0
    for g, size in enumerate(rng.permutation([3, 4, 5, 6])):
        pairs = [(i, (i + 1) % size) for i in range(size)]
        pairs += [tuple(rng.choice(size, 2, replace=False)) for _ in range(size)]
        graph += [g] * size
        senders += [start + s for s, _ in pairs]
        receivers += [start + r for _, r in pairs]
        start += size
    f = lambda *shape: rng.normal(size=shape).astype(np.float32)
    as_index = lambda items: np.array(items, dtype=np.int64)
    return f(start, NODE), f(len(senders), EDGE), as_index(senders), as_index(receivers), as_index(graph), f(4, GLOBAL)
