"""MultiPath++ in raw TensorFlow: functions over a dict of variables."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
TH, HF, P, PF, D, K, TF = 5, 5, 6, 7, 8, 3, 4


def dense(v, name, x):
    return tf.tensordot(x, v[name + "/kernel"], 1) + v[name + "/bias"]


def mlp(v, name, x):
    return dense(v, name + "/1", tf.nn.relu(dense(v, name + "/0", x)))


def lstm(v, name, xs):
    h = c = tf.zeros((xs.shape[0], D))
    for x in tf.unstack(xs, axis=1):
        z = x @ v[name + "/kernel"] + h @ v[name + "/recurrent"] + v[name + "/bias"]
        i, f, g, o = tf.split(z, 4, axis=-1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
    return h


def context_gating(v, name, s, c, valid):
    s = mlp(v, name + "/s", s) * mlp(v, name + "/c", c)[:, None, :]
    if valid is None:
        return s, tf.reduce_max(s, axis=1)
    pooled = tf.reduce_max(tf.where(valid[..., None] > 0, s, -1e9), axis=1)
    return s, pooled


def mcg(v, name, s, c, valid=None):
    for i in range(2):
        s_new, c_new = context_gating(v, f"{name}/{i}", s, c, valid)
        n = i + 1.0
        s = (s * n + s_new) / (n + 1.0)
        c = (c * n + c_new) / (n + 1.0)
    return s, c


def rotate(points, heading):
    cos = tf.cos(heading)[:, None, None]
    sin = tf.sin(heading)[:, None, None]
    x, y = points[..., 0], points[..., 1]
    return tf.stack([cos * x - sin * y, sin * x + cos * y], axis=-1)


class MultiPathPP(tf.Module):
    def __init__(self, variables):
        super().__init__()
        self.v = variables

    def __call__(self, hist, lines, line_valid):
        v = self.v
        b = hist.shape[0]
        h_pos = lstm(v, "pos_lstm", hist)
        h_diff = lstm(v, "diff_lstm", hist[:, 1:] - hist[:, :-1])
        agent = dense(v, "hist_fc", tf.concat([h_pos, h_diff], -1))

        _, road_ctx = mcg(v, "road_mcg", mlp(v, "line_fc", lines), agent, line_valid)
        ctx = agent + road_ctx

        anchors = tf.tile(v["anchors"][None], (b, 1, 1))
        modes, _ = mcg(v, "dec_mcg", anchors, ctx)
        probs = tf.nn.softmax(dense(v, "prob_head", modes)[..., 0])

        out = tf.reshape(dense(v, "traj_head", modes), (b, K, TF, 5))
        xy, log_sigma, rho = tf.split(out, [2, 2, 1], axis=-1)
        xy = tf.cumsum(xy, axis=2)
        sigma = tf.exp(tf.clip_by_value(log_sigma, -3.0, 3.0))
        world = rotate(xy, hist[:, -1, 2]) + hist[:, -1, None, None, :2]
        return probs, world, sigma, tf.tanh(rho)


def make():
    r = np.random.RandomState(55)
    new = lambda *s: tf.Variable((r.randn(*s) * 0.4).astype("float32"))
    v = {}

    def add_dense(name, i, o):
        v[name + "/kernel"], v[name + "/bias"] = new(i, o), new(o)

    def add_mlp(name, i):
        add_dense(name + "/0", i, D)
        add_dense(name + "/1", D, D)

    for k in ("pos_lstm", "diff_lstm"):
        add_dense(k, HF, 4 * D)
        v[k + "/recurrent"] = new(D, 4 * D)
    add_dense("hist_fc", 2 * D, D)
    add_mlp("line_fc", PF)
    for k in ("road_mcg", "dec_mcg"):
        for i in range(2):
            add_mlp(f"{k}/{i}/s", D)
            add_mlp(f"{k}/{i}/c", D)
    v["anchors"] = new(K, D)
    add_dense("prob_head", D, 1)
    add_dense("traj_head", D, TF * 5)
    return MultiPathPP(v)


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 5
    hist = r.randn(B, TH, HF).astype("float32")
    lines = r.randn(B, P, PF).astype("float32")
    valid = (r.rand(B, P) > 0.4).astype("float32")
    valid[:, 0] = 1
    return hist, lines, valid


def load(ported, original):
    sd = {k: t.detach().numpy() for k, t in original.state_dict().items()}
    v = ported.v

    def dense_(name, key):
        v[name + "/kernel"].assign(sd[key + ".weight"].T)
        v[name + "/bias"].assign(sd[key + ".bias"])

    for k in ("pos_lstm", "diff_lstm"):
        v[k + "/kernel"].assign(sd[k + ".weight_ih_l0"].T)
        v[k + "/recurrent"].assign(sd[k + ".weight_hh_l0"].T)
        v[k + "/bias"].assign(sd[k + ".bias_ih_l0"] + sd[k + ".bias_hh_l0"])
    for k in ("hist_fc", "prob_head", "traj_head"):
        dense_(k, k)
    for j in (0, 1):
        dense_(f"line_fc/{j}", f"line_fc.{2 * j}")
        for k in ("road_mcg", "dec_mcg"):
            for i in range(2):
                for s in "sc":
                    dense_(f"{k}/{i}/{s}/{j}", f"{k}.blocks.{i}.mlp_{s}.{2 * j}")
    v["anchors"].assign(sd["anchors"])
