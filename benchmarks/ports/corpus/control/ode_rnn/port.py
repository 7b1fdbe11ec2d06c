"""Plain numpy inference of the latent ODE, for the controller that has no torch."""
import numpy as np

FRAMEWORK = "numpy"
HIDDEN, LATENT, OBS = 20, 6, 3


def sigmoid(a):
    return 1.0 / (1.0 + np.exp(-a))


def softplus(a):
    return np.logaddexp(a, 0.0)


class LatentODE:
    shapes = {
        "enc.w0": (20, 24), "enc.b0": (24,), "enc.w1": (24, 24), "enc.b1": (24,), "enc.w2": (24, 20), "enc.b2": (20,),
        "gru.wx": (6, 60), "gru.bx": (60,), "gru.wh": (20, 60), "gru.bh": (60,),
        "q0.w": (20, 12), "q0.b": (12,),
        "dec.w0": (6, 24), "dec.b0": (24,), "dec.w1": (24, 24), "dec.b1": (24,), "dec.w2": (24, 6), "dec.b2": (6,),
        "out.w0": (6, 16), "out.b0": (16,), "out.w1": (16, 3), "out.b1": (3,),
        "log_noise": (3,),
    }

    def __init__(self, rng):
        self.p = {k: rng.normal(0, 0.2, s).astype(np.float32) for k, s in self.shapes.items()}

    def field(self, name, y):
        p = self.p
        a = np.tanh(y @ p[name + ".w0"] + p[name + ".b0"])
        a = softplus(a @ p[name + ".w1"] + p[name + ".b1"])
        return a @ p[name + ".w2"] + p[name + ".b2"]

    def integrate(self, name, y, span, steps=3):
        h = (span / steps)[:, None]
        for _ in range(steps):
            k1 = self.field(name, y)
            k2 = self.field(name, y + h / 2 * k1)
            k3 = self.field(name, y + h / 2 * k2)
            k4 = self.field(name, y + h * k3)
            y = y + h / 6 * (k1 + k4) + h / 3 * (k2 + k3)
        return y

    def gru(self, inp, h):
        p = self.p
        gx = inp @ p["gru.wx"] + p["gru.bx"]
        gh = h @ p["gru.wh"] + p["gru.bh"]
        xr, xz, xn = np.split(gx, 3, axis=1)
        hr, hz, hn = np.split(gh, 3, axis=1)
        r, z = sigmoid(xr + hr), sigmoid(xz + hz)
        n = np.tanh(xn + r * hn)
        return n + z * (h - n)

    def __call__(self, x, mask, times):
        p = self.p
        gaps = np.diff(times, axis=1)
        T = x.shape[1]
        h = np.zeros((x.shape[0], HIDDEN), np.float32)
        # encode backwards in time, from the last sample to the first
        for k in reversed(range(T)):
            if k < T - 1:
                h = self.integrate("enc", h, -gaps[:, k])
            upd = self.gru(np.concatenate([np.where(mask[:, k] > 0, x[:, k], 0), mask[:, k]], axis=-1), h)
            observed = mask[:, k].max(axis=-1) > 0
            h[observed] = upd[observed]
        stats = h @ p["q0.w"] + p["q0.b"]
        mu, std = stats[:, :LATENT], softplus(stats[:, LATENT:]) + 1e-3
        # decode forwards
        traj = np.empty((x.shape[0], T, LATENT), np.float32)
        traj[:, 0] = mu
        for k in range(1, T):
            traj[:, k] = self.integrate("dec", traj[:, k - 1], gaps[:, k - 1])
        pred = np.maximum(traj @ p["out.w0"] + p["out.b0"], 0) @ p["out.w1"] + p["out.b1"]
        sigma2 = np.exp(2 * p["log_noise"])
        ll = -0.5 * (np.square(x - pred) / sigma2 + np.log(2 * np.pi * sigma2))
        ll = np.einsum("btd,btd->b", ll, mask) / np.einsum("btd->b", mask)
        kl = 0.5 * np.sum(mu ** 2 + std ** 2 - 1.0 - 2 * np.log(std), axis=1)
        return pred, mu, std, ll - kl


def make():
    return LatentODE(np.random.default_rng(77))


def load(model, reference):
    sd = {k: v.detach().numpy().copy() for k, v in reference.state_dict().items()}
    p = model.p
    for ours, theirs in (("enc", "enc_ode.net"), ("dec", "dec_ode.net")):
        for i, j in enumerate((0, 2, 4)):
            p[f"{ours}.w{i}"], p[f"{ours}.b{i}"] = sd[f"{theirs}.{j}.weight"].T, sd[f"{theirs}.{j}.bias"]
    p["gru.wx"], p["gru.bx"] = sd["cell.weight_ih"].T, sd["cell.bias_ih"]
    p["gru.wh"], p["gru.bh"] = sd["cell.weight_hh"].T, sd["cell.bias_hh"]
    p["q0.w"], p["q0.b"] = sd["to_q0.weight"].T, sd["to_q0.bias"]
    p["out.w0"], p["out.b0"] = sd["readout.0.weight"].T, sd["readout.0.bias"]
    p["out.w1"], p["out.b1"] = sd["readout.2.weight"].T, sd["readout.2.bias"]
    p["log_noise"] = sd["log_noise"]
