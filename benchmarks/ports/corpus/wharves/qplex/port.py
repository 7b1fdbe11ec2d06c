"""QPLEX in PyTorch; the K kernels of the lambda net are one batched layer."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
AGENTS, OBS, ACTIONS, STATE, KERNELS = 3, 10, 5, 16, 4


class DuelingAgent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(OBS + AGENTS, 24), nn.LeakyReLU())
        self.advantage = nn.Linear(24, ACTIONS)
        self.value = nn.Linear(24, 1)

    def forward(self, obs):
        ident = torch.eye(AGENTS).expand(obs.size(0), -1, -1)
        h = self.body(torch.cat([obs, ident], dim=-1))
        a = self.advantage(h)
        return self.value(h) + a - a.mean(dim=-1, keepdim=True)


class SIWeight(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(STATE, KERNELS)
        self.agent = nn.Linear(STATE, KERNELS * AGENTS)
        self.action = nn.Linear(STATE + AGENTS * ACTIONS, KERNELS * AGENTS)

    def forward(self, state, actions):
        joint = torch.cat([state, actions.flatten(1)], -1)
        key = self.key(state).abs() + 1e-10
        agent = torch.sigmoid(self.agent(state)).view(-1, KERNELS, AGENTS)
        action = torch.sigmoid(self.action(joint)).view(-1, KERNELS, AGENTS)
        return (key.unsqueeze(-1) * agent * action).sum(dim=1)


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.agents = DuelingAgent()
        self.hyper_w = nn.Sequential(nn.Linear(STATE, 20), nn.ReLU(), nn.Linear(20, AGENTS))
        self.hyper_v = nn.Sequential(nn.Linear(STATE, 20), nn.ReLU(), nn.Linear(20, AGENTS))
        self.si = SIWeight()

    def forward(self, obs, state, actions, avail):
        q = self.agents(obs)
        idx = actions.argmax(-1, keepdim=True)
        taken = q.gather(-1, idx).squeeze(-1)
        greedy = q.masked_fill(avail == 0, -9999.0).amax(-1)
        w = self.hyper_w(state).abs() + 1e-10
        v = self.hyper_v(state)
        taken, greedy = w * taken + v, w * greedy + v
        adv = (taken - greedy).detach()
        v_tot = taken.sum(-1)
        a_tot = ((self.si(state, actions) - 1) * adv).sum(-1)
        return v_tot + a_tot, v_tot, greedy.sum(-1)


def make(seed=9):
    torch.manual_seed(seed)
    m = Mixer()
    for p in m.parameters():
        nn.init.normal_(p, std=1.3 / p.shape[1] ** 0.5 if p.dim() > 1 else 0.2)
    return m.eval()


def inputs(seed=0):
    r = np.random.RandomState(seed)
    avail = (r.rand(6, AGENTS, ACTIONS) < 0.6).astype("f")
    act = r.randint(0, ACTIONS, (6, AGENTS))
    onehot = np.eye(ACTIONS, dtype="f")[act]
    return r.randn(6, AGENTS, OBS).astype("f"), r.randn(6, STATE).astype("f"), onehot, np.maximum(avail, onehot)


@torch.no_grad()
def load(ported, o):
    def put(lin, *links):
        lin.weight.copy_(torch.from_numpy(np.concatenate([l.W.array for l in links])))
        lin.bias.copy_(torch.from_numpy(np.concatenate([l.b.array for l in links])))
    a = ported.agents
    put(a.body[0], o.agent.l1), put(a.advantage, o.agent.adv), put(a.value, o.agent.val)
    put(ported.hyper_w[0], o.w1), put(ported.hyper_w[2], o.w2)
    put(ported.hyper_v[0], o.v1), put(ported.hyper_v[2], o.v2)
    put(ported.si.key, *o.lam.keys), put(ported.si.agent, *o.lam.agents), put(ported.si.action, *o.lam.actions)
