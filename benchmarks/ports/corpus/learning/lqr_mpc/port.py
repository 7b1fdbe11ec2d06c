"""The MPC policy in NumPy, for the controller on the robot (no deep-learning framework there)."""
import numpy as np

FRAMEWORK = "numpy"

N_X, N_U = 4, 2


def affine(params, x):
    return x @ params["w"] + params["b"]


def apply(matrix, vector):
    """Batched matrix times vector."""
    return np.einsum("...ij,...j->...i", matrix, vector)


class MPC:
    def __init__(self, horizon=6, dt=0.2, u_max=0.6, reg=1e-2):
        self.horizon, self.dt, self.u_max, self.reg = horizon, dt, u_max, reg
        self.params = {}

    def linear_model(self, context):
        p = self.params
        h = np.tanh(affine(p["dyn"], context))
        a = self.dt * affine(p["a"], h).reshape(-1, N_X, N_X) + np.eye(N_X, dtype=h.dtype)
        b = self.dt * affine(p["b"], h).reshape(-1, N_X, N_U)
        return a, b, self.dt * affine(p["c"], h)

    def stage_cost(self, context, goal):
        p = self.params
        n = N_X + N_U
        h = np.maximum(affine(p["cost"], context), 0)
        low = np.tril(affine(p["factor"], h).reshape(-1, n, n))
        hess = low @ low.swapaxes(-1, -2) + 0.5 * np.eye(n, dtype=h.dtype)
        grad = affine(p["linear"], h) - apply(hess[:, :, :N_X], goal)
        return hess, grad

    def terminal_cost(self, goal):
        weight = np.exp(self.params["log_terminal"])
        return np.broadcast_to(np.diag(weight), (len(goal), N_X, N_X)), -weight * goal

    def riccati(self, a, b, f, hess, grad, vxx, vx):
        ab = np.concatenate([a, b], axis=2)
        ab_t = ab.swapaxes(1, 2)
        xs, us = slice(0, N_X), slice(N_X, N_X + N_U)
        damping = self.reg * np.eye(N_U, dtype=a.dtype)
        policy = []
        for _ in range(self.horizon):
            q2 = hess + ab_t @ vxx @ ab
            q1 = grad + apply(ab_t, apply(vxx, f) + vx)
            right = np.concatenate([q2[:, us, xs], q1[:, us, None]], axis=2)
            gains = -np.linalg.solve(q2[:, us, us] + damping, right)
            big, small = gains[..., :N_X], gains[..., N_X]
            big_t = big.swapaxes(1, 2)
            cross = q2[:, xs, us] @ big
            vxx = q2[:, xs, xs] + cross + cross.swapaxes(1, 2) + big_t @ q2[:, us, us] @ big
            vxx = (vxx + vxx.swapaxes(1, 2)) / 2
            vx = q1[:, xs] + apply(q2[:, xs, us], small) + apply(big_t, q1[:, us] + apply(q2[:, us, us], small))
            policy.append((big, small))
        return policy[::-1]

    def __call__(self, context, x0, goal):
        a, b, f = self.linear_model(context)
        hess, grad = self.stage_cost(context, goal)
        vxx, vx = self.terminal_cost(goal)
        policy = self.riccati(a, b, f, hess, grad, vxx, vx)

        states = [x0]
        controls = []
        cost = np.zeros(len(x0), x0.dtype)
        for big, small in policy:
            x = states[-1]
            u = apply(big, x) + small
            u = np.clip(u, -self.u_max, self.u_max)
            tau = np.concatenate([x, u], axis=1)
            cost += np.einsum("bi,bij,bj->b", tau, hess, tau) / 2 + np.sum(grad * tau, axis=1)
            states.append(apply(a, x) + apply(b, u) + f)
            controls.append(u)
        end = states[-1]
        cost += np.einsum("bi,bij,bj->b", end, vxx, end) / 2 + np.sum(vx * end, axis=1)
        return np.stack(controls, 1), np.stack(states, 1), cost


def make(seed=50):
    return MPC()


def load(model, reference):
    def take(linear):
        return {"w": linear.weight.detach().numpy().T.copy(), "b": linear.bias.detach().numpy().copy()}

    dynamics, cost = reference.dynamics, reference.cost
    model.params = {
        "dyn": take(dynamics.body[0]),
        "a": take(dynamics.to_a),
        "b": take(dynamics.to_b),
        "c": take(dynamics.to_c),
        "cost": take(cost.hidden),
        "factor": take(cost.factor),
        "linear": take(cost.linear),
        "log_terminal": cost.log_terminal.detach().numpy().copy(),
    }
