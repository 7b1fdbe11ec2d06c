"""G2ANet in raw TensorFlow: a dict of variables and plain functions."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
N, OBS, H, ATT, A = 4, 8, 12, 8, 5

SHAPES = {
    "enc/w": (OBS, H), "enc/b": (H,),
    "cell/wi": (H, 3 * H), "cell/wh": (H, 3 * H), "cell/bi": (3 * H,), "cell/bh": (3 * H,),
    "fw/wi": (2 * H, 3 * H), "fw/wh": (H, 3 * H), "fw/bi": (3 * H,), "fw/bh": (3 * H,),
    "bw/wi": (2 * H, 3 * H), "bw/wh": (H, 3 * H), "bw/bi": (3 * H,), "bw/bh": (3 * H,),
    "hard/w": (2 * H, 2), "hard/b": (2,),
    "q/w": (H, ATT), "k/w": (H, ATT), "v/w": (H, ATT), "v/b": (ATT,),
    "dec/w": (H + ATT, A), "dec/b": (A,),
}
OTHERS = [[j for j in range(N) if j != i] for i in range(N)]


def gru_cell(p, name, x, h):
    gi = tf.matmul(x, p[name + "/wi"]) + p[name + "/bi"]
    gh = tf.matmul(h, p[name + "/wh"]) + p[name + "/bh"]
    ir, iz, inn = tf.split(gi, 3, axis=-1)
    hr, hz, hn = tf.split(gh, 3, axis=-1)
    r = tf.sigmoid(ir + hr)
    z = tf.sigmoid(iz + hz)
    n = tf.tanh(inn + r * hn)
    return (1.0 - z) * n + z * h


def bi_gru(p, steps):
    zero = tf.zeros([tf.shape(steps[0])[0], H])
    h, forward = zero, []
    for x in steps:
        h = gru_cell(p, "fw", x, h)
        forward.append(h)
    h, backward = zero, []
    for x in reversed(steps):
        h = gru_cell(p, "bw", x, h)
        backward.append(h)
    backward = backward[::-1]
    return [tf.concat([f, b], -1) for f, b in zip(forward, backward)]


class G2ANet(tf.Module):
    def __init__(self, seed=5):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.p = {k: tf.Variable((rng.normal(size=s) * 0.3).astype("float32"), name=k.replace("/", "_"))
                  for k, s in SHAPES.items()}

    def __call__(self, obs, hidden, avail):
        p = self.p
        B = obs.shape[0]
        x = tf.nn.relu(tf.matmul(tf.reshape(obs, [-1, OBS]), p["enc/w"]) + p["enc/b"])
        h = gru_cell(p, "cell", x, tf.reshape(hidden, [-1, H]))
        agents = tf.reshape(h, [B, N, H])

        other = tf.gather(agents, OTHERS, axis=1)                          # [B, N, N-1, H]
        me = tf.tile(agents[:, :, None], [1, 1, N - 1, 1])
        pair = tf.reshape(tf.concat([me, other], -1), [B * N, N - 1, 2 * H])
        g = tf.stack(bi_gru(p, tf.unstack(pair, axis=1)), axis=1)
        logits = tf.matmul(g, p["hard/w"]) + p["hard/b"]
        hard = tf.reshape(tf.nn.softmax(logits / 0.5, axis=-1)[..., 1], [B, N, N - 1])

        q = tf.reshape(tf.matmul(h, p["q/w"]), [B, N, ATT])
        k = tf.reshape(tf.matmul(h, p["k/w"]), [B, N, ATT])
        v = tf.reshape(tf.nn.relu(tf.matmul(h, p["v/w"]) + p["v/b"]), [B, N, ATT])
        k_other = tf.gather(k, OTHERS, axis=1)
        v_other = tf.gather(v, OTHERS, axis=1)
        score = tf.einsum("bia,bija->bij", q, k_other) / np.sqrt(ATT).astype("float32")
        soft = tf.nn.softmax(score, axis=-1)
        weight = soft * hard
        message = tf.einsum("bij,bija->bia", weight, v_other)
        qs = tf.matmul(tf.concat([agents, message], -1), p["dec/w"]) + p["dec/b"]
        qs = tf.where(avail > 0, qs, -3.0)
        return qs, agents, weight


def make():
    return G2ANet()


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    p = ported.p
    for mine, theirs in (("enc", "encoding"), ("hard", "hard_encoding"), ("v", "v"), ("dec", "decoding")):
        p[mine + "/w"].assign(sd[theirs + ".weight"].T)
        p[mine + "/b"].assign(sd[theirs + ".bias"])
    p["q/w"].assign(sd["q.weight"].T)
    p["k/w"].assign(sd["k.weight"].T)
    for mine, pre, suf in (("cell", "h.", ""), ("fw", "hard_bi_gru.", "_l0"), ("bw", "hard_bi_gru.", "_l0_reverse")):
        p[mine + "/wi"].assign(sd[pre + "weight_ih" + suf].T)
        p[mine + "/wh"].assign(sd[pre + "weight_hh" + suf].T)
        p[mine + "/bi"].assign(sd[pre + "bias_ih" + suf])
        p[mine + "/bh"].assign(sd[pre + "bias_hh" + suf])


def inputs(seed):
    rng = np.random.default_rng(seed)
    avail = (rng.random((4, N, A)) < 0.8).astype("float32")
    avail[..., 0] = 1
    return (rng.normal(size=(4, N, OBS)).astype("float32"),
            (rng.normal(size=(4, N, H)) * 0.5).astype("float32"), avail)
