"""Kalman filter with missing observations and clipped innovations, followed by an RTS smoother (NumPy)."""
import numpy as np

FRAMEWORK = "numpy"

N, M = 4, 2


class KalmanSmoother:
    def __init__(self, F, B, H, Q, R, x0, P0, clip=2.0):
        self.F, self.B, self.H, self.Q, self.R, self.x0, self.P0 = (
            np.asarray(a, np.float32) for a in (F, B, H, Q, R, x0, P0))
        self.clip = np.float32(clip)

    def filter_one(self, y, u, seen):
        x, P = self.x0, self.P0
        ll = np.float32(0)
        xp, Pp, xf, Pf = [], [], [], []
        for t in range(len(y)):
            if t > 0:
                x = self.F @ x + self.B @ u[t - 1]
                P = self.F @ P @ self.F.T + self.Q
            xp.append(x)
            Pp.append(P)
            if seen[t]:
                S = self.H @ P @ self.H.T + self.R
                sd = np.sqrt(np.diag(S))
                v = np.clip(y[t] - self.H @ x, -self.clip * sd, self.clip * sd)
                K = P @ self.H.T @ np.linalg.inv(S)
                x = x + K @ v
                A = np.eye(N, dtype=np.float32) - K @ self.H
                P = A @ P @ A.T + K @ self.R @ K.T
                ll = ll - np.float32(0.5) * (v @ np.linalg.solve(S, v) + np.linalg.slogdet(S)[1]
                                             + np.float32(M * np.log(2 * np.pi)))
            xf.append(x)
            Pf.append(P)
        return xp, Pp, xf, Pf, ll

    def smooth_one(self, xp, Pp, xf, Pf):
        xs, Ps = list(xf), list(Pf)
        for t in range(len(xf) - 2, -1, -1):
            G = Pf[t] @ self.F.T @ np.linalg.inv(Pp[t + 1])
            xs[t] = xf[t] + G @ (xs[t + 1] - xp[t + 1])
            Ps[t] = Pf[t] + G @ (Ps[t + 1] - Pp[t + 1]) @ G.T
        return np.stack(xs), np.stack(Ps)

    def __call__(self, y, u, observed):
        out = {"filtered": [], "smoothed": [], "cov": [], "loglik": []}
        for b in range(len(y)):
            xp, Pp, xf, Pf, ll = self.filter_one(y[b], u[b], observed[b])
            xs, Ps = self.smooth_one(xp, Pp, xf, Pf)
            for key, value in zip(out, (np.stack(xf), xs, Ps, ll)):
                out[key].append(value)
        return {k: np.stack(v).astype(np.float32) for k, v in out.items()}


def make():
    rng = np.random.default_rng(99)

    def spd(n, scale):
        a = rng.normal(size=(n, n))
        return scale * (a @ a.T / n + 0.5 * np.eye(n))

    q = np.linalg.qr(rng.normal(size=(N, N)))[0]
    return KalmanSmoother(F=0.9 * q + 0.05 * rng.normal(size=(N, N)), B=0.5 * rng.normal(size=(N, 1)),
                          H=rng.normal(size=(M, N)), Q=spd(N, 0.2), R=spd(M, 0.3),
                          x0=rng.normal(size=N), P0=spd(N, 0.8))


def inputs(seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(0, 1.5, (4, 9, M))
    y[rng.random((4, 9)) < 0.2] *= 4  # outliers
    observed = rng.random((4, 9)) < 0.7
    return {"y": y.astype(np.float32), "u": rng.normal(size=(4, 9, 1)).astype(np.float32), "observed": observed}
