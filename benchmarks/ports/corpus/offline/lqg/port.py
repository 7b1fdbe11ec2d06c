"""Differentiable LQG controller as a torch module."""
import math

import torch
from torch import nn

FRAMEWORK = "torch"


class LQGController(nn.Module):
    def __init__(self, n=4, m=2, p=3, horizon=4, limit=1.2):
        super().__init__()
        self.A = nn.Parameter(torch.eye(n))
        self.B = nn.Parameter(torch.zeros(n, m))
        self.C = nn.Parameter(torch.zeros(p, n))
        self.process_noise = nn.Parameter(torch.eye(n))
        self.sensor_noise = nn.Parameter(torch.eye(p))
        self.state_cost = nn.Parameter(torch.eye(n))
        self.control_cost = nn.Parameter(torch.eye(m))
        self.horizon, self.limit = horizon, limit

    def riccati(self):
        cost_to_go = self.state_cost
        for _ in range(self.horizon):
            sb = cost_to_go @ self.B
            gain = torch.linalg.solve(self.control_cost + self.B.T @ sb, sb.T @ self.A)
            closed = self.A - self.B @ gain
            cost_to_go = (
                self.state_cost
                + closed.T @ cost_to_go @ closed
                + gain.T @ self.control_cost @ gain
            )
        return gain, cost_to_go

    def forward(self, z, x0, goal):
        gain, cost_to_go = self.riccati()
        eye = torch.eye(self.A.shape[0])
        mean, sigma = x0, eye
        u = z.new_zeros(x0.shape[0], self.B.shape[1])
        us, residuals, log_lik = [], [], 0.0
        for obs in z.unbind(dim=1):
            mean = torch.einsum("ij,bj->bi", self.A, mean) + torch.einsum("ij,bj->bi", self.B, u)
            sigma = self.A @ sigma @ self.A.T + self.process_noise
            residual = obs - torch.einsum("ij,bj->bi", self.C, mean)
            s = self.C @ sigma @ self.C.T + self.sensor_noise
            kalman = torch.linalg.solve(s, self.C @ sigma).T
            mean = mean + torch.einsum("ij,bj->bi", kalman, residual)
            sigma = (eye - kalman @ self.C) @ sigma
            white = torch.linalg.solve(s, residual.T).T
            log_det = torch.linalg.slogdet(s)[1]
            maha = (residual * white).sum(dim=1)
            log_lik = log_lik - 0.5 * (maha + log_det + 3 * math.log(2 * math.pi))
            command = (goal - mean) @ gain.T
            u = self.limit * torch.tanh(command / self.limit)
            us.append(u)
            residuals.append(residual)
        error = mean - goal
        cost = torch.einsum("bi,ij,bj->b", error, cost_to_go, error)
        return torch.stack(us, dim=1), torch.stack(residuals, dim=1), -log_lik, cost


def make():
    return LQGController()


def load(port, ref):
    names = {"A": "A", "B": "B", "C": "C", "process_noise": "W", "sensor_noise": "V",
             "state_cost": "Q", "control_cost": "R"}
    for mine, theirs in names.items():
        getattr(port, mine).data = torch.from_numpy(getattr(ref, theirs).copy())
