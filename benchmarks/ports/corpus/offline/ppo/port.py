"""PPO loss in torch: vectorised GAE by a triangular matrix, torch.distributions for the policy."""
import torch
from torch import nn
from torch.distributions import Independent, Normal

FRAMEWORK = "torch"


class ActorCritic(nn.Module):
    def __init__(self, obs_dim=6, act_dim=2):
        super().__init__()
        self.actor = nn.Sequential(
            nn.Linear(obs_dim, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, act_dim)
        )
        self.critic = nn.Sequential(nn.Linear(obs_dim, 24), nn.Tanh(), nn.Linear(24, 1))
        self.log_std = nn.Parameter(torch.zeros(act_dim))

    def dist(self, obs):
        base = Normal(self.actor(obs), self.log_std.exp(), validate_args=False)
        return Independent(base, 1, validate_args=False)


class PPO(nn.Module):
    def __init__(self, gamma=0.97, lam=0.9):
        super().__init__()
        self.ac = ActorCritic()
        self.gamma, self.lam = gamma, lam
        self.eps, self.eps_v = 0.2, 0.3

    def advantages(self, rewards, values, cont, last_value):
        """A[t] = sum_s (gamma lam)^(s-t) prod(cont[t:s]) delta[s], as a sum over a matrix."""
        v_next = torch.cat([values[1:], last_value[None]])
        delta = rewards + self.gamma * cont * v_next - values
        steps = rewards.shape[0]
        rows = []
        for t in range(steps):
            alive = torch.cat([torch.ones_like(cont[:1]), cont[t : steps - 1].cumprod(0)])
            decay = (self.gamma * self.lam) ** torch.arange(steps - t).float()
            rows.append((decay[:, None] * alive * delta[t:]).sum(0))
        return torch.stack(rows)

    def forward(self, obs, act, old_logp, old_v, rew, cont, last_v):
        adv = self.advantages(rew, old_v, cont, last_v)
        returns = adv + old_v
        dist = self.ac.dist(obs)
        ratio = torch.exp(dist.log_prob(act) - old_logp)
        norm = (adv - adv.mean()) / (adv.std(unbiased=False) + 1e-2)
        policy_loss = torch.max(-norm * ratio, -norm * ratio.clamp(1 - self.eps, 1 + self.eps))
        v = self.ac.critic(obs).squeeze(-1)
        clipped = old_v + (v - old_v).clamp(-self.eps_v, self.eps_v)
        value_loss = torch.max((v - returns) ** 2, (clipped - returns) ** 2)
        loss = policy_loss.mean() + 0.5 * value_loss.mean() - 0.01 * dist.entropy().mean()
        return adv.flatten(), ratio.flatten(), value_loss.flatten(), loss


def make():
    return PPO()


def load(port, ref):
    actor, critic = port.ac.actor, port.ac.critic
    pairs = [
        (actor[0], ref.net.pi1), (actor[2], ref.net.pi2), (actor[4], ref.net.mu),
        (critic[0], ref.net.v1), (critic[2], ref.net.v2),
    ]
    for mine, theirs in pairs:
        mine.weight.data = torch.tensor(theirs.W.array)
        mine.bias.data = torch.tensor(theirs.b.array)
    port.ac.log_std.data = torch.tensor(ref.net.log_std.array)
