"""LQG in NumPy: Kalman filter along a trajectory, finite horizon LQR gain, saturated control."""
import numpy as np

FRAMEWORK = "numpy"
N, M, P = 4, 2, 3  # state, control, measurement


class LQG:
    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        f = lambda *s: rng.normal(size=s).astype(np.float32)
        self.A = (0.9 * np.eye(N) + 0.15 * f(N, N)).astype(np.float32)
        self.B = 0.5 * f(N, M)
        self.C = f(P, N)
        w, v, q, r = f(N, N), f(P, P), f(N, N), f(M, M)
        self.W = (0.1 * w @ w.T + 0.05 * np.eye(N)).astype(np.float32)
        self.V = (0.2 * v @ v.T + 0.3 * np.eye(P)).astype(np.float32)
        self.Q = (0.5 * q @ q.T + 0.1 * np.eye(N)).astype(np.float32)
        self.R = (0.3 * r @ r.T + 0.5 * np.eye(M)).astype(np.float32)
        self.horizon = 4
        self.limit = 1.2

    def gain(self):
        """Backward Riccati recursion from P = Q."""
        S = self.Q
        for _ in range(self.horizon):
            G = self.R + self.B.T @ S @ self.B
            K = np.linalg.solve(G, self.B.T @ S @ self.A)
            S = self.Q + self.A.T @ S @ (self.A - self.B @ K)
        return K, S

    def __call__(self, measurements, x0, target):
        """measurements (B, T, P), x0 and target (B, N)"""
        K, S = self.gain()
        x = x0
        cov = np.eye(N, dtype=np.float32)
        u = np.zeros((x0.shape[0], M), np.float32)
        controls, innovations, nll = [], [], 0.0
        for t in range(measurements.shape[1]):
            x = x @ self.A.T + u @ self.B.T
            cov = self.A @ cov @ self.A.T + self.W
            y = measurements[:, t] - x @ self.C.T
            inn = self.C @ cov @ self.C.T + self.V
            inv = np.linalg.inv(inn)
            L = cov @ self.C.T @ inv
            x = x + y @ L.T
            IL = np.eye(N, dtype=np.float32) - L @ self.C
            cov = IL @ cov @ IL.T + L @ self.V @ L.T
            quad = np.sum((y @ inv) * y, axis=-1)
            nll = nll + 0.5 * (quad + np.log(np.linalg.det(inn)) + P * np.log(2 * np.pi))
            u = self.limit * np.tanh(-(x - target) @ K.T / self.limit)
            controls.append(u)
            innovations.append(y)
        cost = np.sum((x - target) @ S * (x - target), axis=-1)
        return np.stack(controls, 1), np.stack(innovations, 1), nll.astype(np.float32), cost


def make():
    return LQG()


def inputs(seed):
    rng = np.random.default_rng(seed)
    f = lambda *s: rng.normal(size=s).astype(np.float32)
    return f(3, 5, P), f(3, N), 0.5 * f(3, N)
