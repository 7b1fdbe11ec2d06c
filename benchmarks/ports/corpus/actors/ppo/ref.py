"""PPO update quantities in NumPy (Gaussian policy, GAE, clipped losses)."""
import numpy as np

FRAMEWORK = "numpy"
HALF_LOG_2PI = float(0.5 * np.log(2 * np.pi))
CFG = dict(obs=7, act=2, hid=20, gamma=0.98, lam=0.92, clip=0.2, vf=0.5, ent=0.01, obs_clip=2.5)


class PPO:
    def __init__(self, cfg, seed):
        g = np.random.default_rng(seed)
        self.cfg = cfg
        o, a, h = cfg["obs"], cfg["act"], cfg["hid"]

        def lin(i, out, scale=1.0):
            return {"w": (g.normal(size=(i, out)) * scale / np.sqrt(i)).astype("f4"),
                    "b": (0.2 * g.normal(size=out)).astype("f4")}

        self.pi = [lin(o, h), lin(h, h), lin(h, a, 0.5)]
        self.vf = [lin(o, h), lin(h, h), lin(h, 1)]
        self.log_std = (-0.4 + 0.3 * g.normal(size=a)).astype("f4")
        self.obs_mean = (0.5 * g.normal(size=o)).astype("f4")
        self.obs_var = g.uniform(0.3, 1.6, o).astype("f4")

    @staticmethod
    def mlp(layers, x):
        for i, l in enumerate(layers):
            x = x @ l["w"] + l["b"]
            if i < len(layers) - 1:
                x = np.tanh(x)
        return x

    def norm(self, obs):
        c = self.cfg["obs_clip"]
        return np.clip((obs - self.obs_mean) / np.sqrt(self.obs_var + 1e-8), -c, c)

    def __call__(self, obs, actions, rewards, dones, last_obs, last_done, old_logp, old_values):
        cfg = self.cfg
        x = self.norm(obs)
        mean = self.mlp(self.pi, x)
        values = self.mlp(self.vf, x)[..., 0]
        last_value = self.mlp(self.vf, self.norm(last_obs))[..., 0]

        z = (actions - mean) / np.exp(self.log_std)
        logp = (-0.5 * z ** 2 - self.log_std - HALF_LOG_2PI).sum(-1)
        entropy = (0.5 + HALF_LOG_2PI + self.log_std).sum()

        adv = np.zeros_like(rewards)
        gae = np.zeros_like(last_value)
        n = len(rewards)
        for t in reversed(range(n)):
            if t == n - 1:
                cont, nxt = 1.0 - last_done, last_value
            else:
                cont, nxt = 1.0 - dones[t + 1], values[t + 1]
            delta = rewards[t] + cfg["gamma"] * nxt * cont - values[t]
            gae = delta + cfg["gamma"] * cfg["lam"] * cont * gae
            adv[t] = gae
        returns = adv + values

        a = (adv - adv.mean()) / (adv.std() + 1e-8)
        ratio = np.exp(logp - old_logp)
        surr = np.minimum(ratio * a, np.clip(ratio, 1 - cfg["clip"], 1 + cfg["clip"]) * a)
        pg_loss = -surr.mean()
        v_clip = old_values + np.clip(values - old_values, -cfg["clip"], cfg["clip"])
        v_loss = 0.5 * np.maximum((values - returns) ** 2, (v_clip - returns) ** 2).mean()
        loss = pg_loss + cfg["vf"] * v_loss - cfg["ent"] * entropy
        return {"mean": mean, "values": values, "logp": logp, "advantages": adv, "returns": returns,
                "norm_adv": a, "surrogate": surr, "pg_loss": pg_loss, "v_loss": v_loss,
                "entropy": entropy, "loss": loss}


def make():
    return PPO(CFG, 5)


def inputs(seed):
    g = np.random.default_rng(seed)
    T, N, o, a = 8, 4, CFG["obs"], CFG["act"]
    f = lambda x: np.asarray(x, dtype=np.float32)
    act = 0.8 * g.normal(size=(T, N, a))
    dones = g.random((T, N)) < 0.15
    dones[4, 2] = True
    return (f(1.3 * g.normal(size=(T, N, o))), f(act), f(g.normal(size=(T, N))), f(dones),
            f(g.normal(size=(N, o))), f([0, 1, 0, 0]),
            f(-0.9 * (act ** 2).sum(-1) - 1.3 + 0.2 * g.normal(size=(T, N))),
            f(0.5 * g.normal(size=(T, N))))
