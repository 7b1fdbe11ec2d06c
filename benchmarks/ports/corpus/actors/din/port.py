import numpy as np

FRAMEWORK = "numpy"
BN_EPS = 2e-5


def sigmoid(x):
    return 0.5 * (np.tanh(0.5 * x) + 1)


def batch_norm(x, stats):
    y = (x - stats["mean"]) / np.sqrt(stats["var"] + BN_EPS)
    return y * stats.get("gamma", 1) + stats.get("beta", 0)


def dice(x, p):
    gate = sigmoid(batch_norm(x, p["bn"]))
    return x * (gate + p["alpha"] * (1 - gate))


def linear(x, p):
    return np.matmul(x, p["W"].T) + p["b"]


class DIN:
    """Inference only. All weights live in one nested dict."""

    def __init__(self):
        self.p = {}

    def attend(self, query, keys, lengths):
        p = self.p["attention"]
        q = np.repeat(query[:, None], keys.shape[1], axis=1)
        feats = np.concatenate([q, keys, q - keys, q * keys], axis=-1)
        hidden = dice(linear(feats, p["l1"]), p["act"])
        scores = linear(hidden, p["l2"])[..., 0]
        valid = np.arange(keys.shape[1]) < lengths[:, None]
        scores = scores * valid
        return scores, np.einsum("bn,bnd->bd", scores, keys)

    def cross(self, x0):
        xl = x0
        for w, b in zip(self.p["cross_w"], self.p["cross_b"]):
            xl = x0 * (xl @ w)[:, None] + b + xl
        return xl

    def deep(self, x):
        x = dice(linear(x, self.p["fc1"]), self.p["dice1"])
        return dice(linear(x, self.p["fc2"]), self.p["dice2"])

    def __call__(self, user, item, cate, hist_items, hist_cates, hist_len, dense):
        p = self.p
        target = np.hstack([p["item"][item], p["cate"][cate]])
        hist = np.concatenate([p["item"][hist_items], p["cate"][hist_cates]], -1)
        scores, interest = self.attend(target, hist, hist_len)
        x0 = np.hstack([p["user"][user], target, interest, batch_norm(dense, p["dense_bn"])])
        logit = linear(np.hstack([self.cross(x0), self.deep(x0)]), p["out"])[:, 0]
        return {"scores": scores, "interest": interest, "logit": logit, "ctr": sigmoid(logit)}


def make():
    return DIN()


def load(port_model, ref_model):
    def lin(link):
        return {"W": link.W.array.copy(), "b": link.b.array.copy()}

    def bn(link):
        d = {"mean": link.avg_mean.copy(), "var": link.avg_var.copy()}
        for k in ("gamma", "beta"):
            if hasattr(link, k) and getattr(link, k) is not None:
                d[k] = getattr(link, k).array.copy()
        return d

    def dc(link):
        return {"bn": bn(link.bn), "alpha": link.alpha.array.copy()}

    r = ref_model
    port_model.p = {
        "user": r.user.W.array.copy(), "item": r.item.W.array.copy(), "cate": r.cate.W.array.copy(),
        "attention": {"l1": lin(r.attention.l1), "act": dc(r.attention.act), "l2": lin(r.attention.l2)},
        "dense_bn": bn(r.dense_bn),
        "cross_w": r.cross_w.array.copy(), "cross_b": r.cross_b.array.copy(),
        "fc1": lin(r.fc1), "dice1": dc(r.dice1), "fc2": lin(r.fc2), "dice2": dc(r.dice2),
        "out": lin(r.out),
    }
