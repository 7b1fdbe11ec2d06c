"""COMA: floored policy, critic over joint actions, counterfactual advantage, TD(lambda) targets."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
B, T, N, A, OBS, STATE = 3, 5, 3, 4, 8, 10
GAMMA, LAMBDA, EPSILON = 0.97, 0.8, 0.1


class COMA(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor_in = nn.Linear(OBS, 20)
        self.actor_norm = nn.GroupNorm(4, 20)
        self.actor_out = nn.Linear(20, A)
        self.critic_1 = nn.Linear(STATE + OBS + A * N + N, 32)
        self.critic_2 = nn.Linear(32, 32)
        self.critic_3 = nn.Linear(32, A)

    def policy(self, obs, avail):
        hidden = self.actor_in(obs)
        hidden = self.actor_norm(hidden.reshape(-1, 20)).reshape(hidden.shape)
        logits = self.actor_out(torch.nn.functional.gelu(hidden))
        logits = logits.masked_fill(avail == 0, float("-inf"))
        probs = torch.softmax(logits, dim=-1)
        count = avail.sum(dim=-1, keepdim=True)
        return (1 - EPSILON) * probs + EPSILON * avail / count

    def q_values(self, state, obs, joint):
        rows = []
        for agent in range(N):
            others = joint.clone()
            others[:, :, agent] = 0
            one_hot = torch.zeros(B, T, N)
            one_hot[:, :, agent] = 1
            x = torch.cat([state, obs[:, :, agent], others.flatten(2), one_hot], dim=-1)
            x = torch.relu(self.critic_1(x))
            x = torch.relu(self.critic_2(x))
            rows.append(self.critic_3(x))
        return torch.stack(rows, dim=2)

    def forward(self, obs, state, actions, avail, reward, done):
        joint = nn.functional.one_hot(actions, A).float()
        pi = self.policy(obs, avail)
        q = self.q_values(state, obs, joint)
        taken = q.gather(3, actions.unsqueeze(-1)).squeeze(-1)
        baseline = (pi * q).sum(dim=-1)
        advantage = taken - baseline
        target = torch.zeros(B, T, N)
        target[:, -1] = taken[:, -1] * (1 - done[:, -1:])
        for t in reversed(range(T - 1)):
            mixed = LAMBDA * target[:, t + 1] + (1 - LAMBDA) * taken[:, t + 1]
            target[:, t] = reward[:, t, None] + GAMMA * (1 - done[:, t, None]) * mixed
        td = target - taken
        log_pi = torch.log(pi.gather(3, actions.unsqueeze(-1)).squeeze(-1))
        entropy = -(pi * torch.log(pi + 1e-8)).sum(-1)
        normed = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        return q, pi, td, -(normed * log_pi).mean() - 0.01 * entropy.mean()


def make():
    torch.manual_seed(3)
    net = COMA()
    with torch.no_grad():
        net.actor_norm.weight.uniform_(0.5, 1.5)
        net.actor_norm.bias.normal_(0, 0.3)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    f = lambda *s: rng.normal(size=s).astype("float32")
    avail = (rng.uniform(size=(B, T, N, A)) < 0.7).astype("float32")
    actions = rng.integers(0, A, (B, T, N))
    np.put_along_axis(avail, actions[..., None], 1, axis=-1)
    done = (rng.uniform(size=(B, T)) < 0.2).astype("float32")
    return f(B, T, N, OBS), f(B, T, STATE), actions, avail, f(B, T), done
