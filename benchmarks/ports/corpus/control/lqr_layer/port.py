"""torch port of the LQR policy. Works on the homogeneous state [x; 1], so the Riccati sweep has no linear terms."""
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


def block(a, b, c, d):
    return torch.cat([torch.cat([a, b], dim=-1), torch.cat([c, d], dim=-1)], dim=-2)


class LQRPolicy(nn.Module):
    def __init__(self, nx=4, nu=2, nctx=6, hidden=32, horizon=6, u_max=1.0):
        super().__init__()
        self.nx, self.nu, self.horizon, self.u_max = nx, nu, horizon, u_max
        self.trunk = nn.Sequential(nn.Linear(2 * nx + nctx, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.ELU())
        self.q_head = nn.Linear(hidden, nx)
        self.r_head = nn.Linear(hidden, nu)
        self.qf_head = nn.Linear(hidden, nx)
        self.A_res = nn.Parameter(torch.randn(nx, nx))
        self.B = nn.Parameter(torch.randn(nx, nu))
        self.c = nn.Parameter(torch.randn(nx))

    def dynamics(self, n):
        nx, nu = self.nx, self.nu
        A = torch.eye(nx) + 0.5 * self.A_res
        Az = block(A, self.c[:, None], torch.zeros(1, nx), torch.ones(1, 1))
        Bz = torch.cat([self.B, torch.zeros(1, nu)])
        return Az.expand(n, -1, -1), Bz.expand(n, -1, -1)

    @staticmethod
    def tracking_cost(q, goal):
        Q = torch.diag_embed(q)
        lin = -(q * goal)[:, :, None]
        const = (q * goal.pow(2)).sum(-1)[:, None, None]
        return block(Q, lin, lin.mT, const)

    def forward(self, x0, goal, ctx):
        n = x0.shape[0]
        feat = self.trunk(torch.cat((x0, goal, ctx), dim=1))
        q, qf = F.softplus(self.q_head(feat)), F.softplus(self.qf_head(feat))
        r = F.softplus(self.r_head(feat)) + 0.05
        Az, Bz = self.dynamics(n)
        Qz, Qfz = self.tracking_cost(q, goal), self.tracking_cost(qf, goal)
        R = torch.diag_embed(r)

        V = Qfz
        gains = []
        for t in reversed(range(self.horizon)):
            BtV = Bz.mT @ V
            K = torch.linalg.solve(R + BtV @ Bz, BtV @ Az)
            V = Qz + Az.mT @ V @ (Az - Bz @ K)
            gains.append(K)
        gains.reverse()

        z = torch.cat([x0, torch.ones(n, 1)], dim=1)[:, :, None]
        quad = lambda M, w: (w.mT @ M @ w).reshape(n)
        states, actions, cost = [z], [], x0.new_zeros(n)
        for K in gains:
            u = (-K @ z).clamp(-self.u_max, self.u_max)
            cost = cost + quad(Qz, z) + quad(R, u)
            z = Az @ z + Bz @ u
            states.append(z)
            actions.append(u)
        cost = 0.5 * (cost + quad(Qfz, z))
        xs = torch.stack(states, dim=1)[:, :, : self.nx, 0]
        us = torch.stack(actions, dim=1).squeeze(-1)
        return us, xs, cost


def make():
    torch.manual_seed(21)
    return LQRPolicy().eval()


@torch.no_grad()
def load(model, reference):
    def dense(dst, kernel, bias):
        dst.weight.copy_(torch.tensor(kernel.T))
        dst.bias.copy_(torch.tensor(bias))

    dense(model.trunk[0], *reference.h1.get_weights())
    dense(model.trunk[2], *reference.h2.get_weights())
    k, b = reference.cost.get_weights()
    nx, nu = model.nx, model.nu
    dense(model.q_head, k[:, :nx], b[:nx])
    dense(model.r_head, k[:, nx:nx + nu], b[nx:nx + nu])
    dense(model.qf_head, k[:, nx + nu:], b[nx + nu:])
    model.A_res.copy_(torch.tensor(reference.A.numpy()))
    model.B.copy_(torch.tensor(reference.B.numpy()))
    model.c.copy_(torch.tensor(reference.c.numpy()))
