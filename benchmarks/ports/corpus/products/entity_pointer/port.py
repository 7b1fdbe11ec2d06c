"""TF port, plain tf.Module and raw ops; lidar is channels-last here."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
N_ENT, F_ENT, F_SELF, LIDAR, D, HEADS, MOVES = 6, 5, 4, 12, 16, 4, 5

SHAPES = {
    "ray_k": (3, 1, 6), "ray_b": (6,),
    "self_w": (F_SELF + 6 * LIDAR // 2, D), "self_b": (D,),
    "ent_w": (F_ENT + D, D), "ent_b": (D,),
    "q_w": (D, D), "q_b": (D,), "k_w": (D, D), "k_b": (D,), "v_w": (D, D), "v_b": (D,),
    "o_w": (D, D), "o_b": (D,), "post_w": (D, D), "post_b": (D,), "gamma": (D,), "beta": (D,),
    "core_w": (2 * D, D), "core_b": (D,), "move_w": (D, MOVES), "move_b": (MOVES,),
    "pq_w": (D, D), "pk_w": (D, D), "pk_b": (D,), "val_w": (D, 1), "val_b": (1,),
}


class EntityAgent(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.p = {k: tf.Variable(rng.normal(0, 0.1, s).astype(np.float32), name=k) for k, s in SHAPES.items()}

    def lin(self, x, name):
        return tf.tensordot(x, self.p[name + "_w"], 1) + self.p[name + "_b"]

    def layer_norm(self, x):
        mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, var, self.p["beta"], self.p["gamma"], 1e-5)

    def attend(self, x, mask):
        b = tf.shape(x)[0]
        split = lambda t: tf.reshape(t, (b, N_ENT, HEADS, D // HEADS))
        q, k, v = split(self.lin(x, "q")), split(self.lin(x, "k")), split(self.lin(x, "v"))
        logits = tf.einsum("bqhd,bkhd->bhqk", q, k) * (D // HEADS) ** -0.5
        logits += (1.0 - mask[:, None, None, :]) * -1e9
        w = tf.nn.softmax(logits)
        mixed = tf.einsum("bhqk,bkhd->bqhd", w, v)
        return self.lin(tf.reshape(mixed, (b, N_ENT, D)), "o")

    def __call__(self, self_obs, lidar, entities, present):
        mask = tf.cast(present, tf.float32)
        padded = tf.concat([lidar[:, -1:], lidar, lidar[:, :1]], axis=1)
        rays = tf.nn.relu(tf.nn.conv1d(padded, self.p["ray_k"], 1, "VALID") + self.p["ray_b"])
        rays = tf.reduce_max(tf.reshape(rays, (-1, LIDAR // 2, 2, 6)), axis=2)
        rays = tf.reshape(tf.transpose(rays, (0, 2, 1)), (-1, 6 * LIDAR // 2))
        me = tf.nn.relu(self.lin(tf.concat([self_obs, rays], 1), "self"))
        tiled = tf.repeat(me[:, None, :], N_ENT, axis=1)
        ents = tf.nn.relu(self.lin(tf.concat([entities, tiled], 2), "ent"))
        ents = self.layer_norm(ents + self.lin(self.attend(ents, mask), "post"))
        pooled = tf.einsum("bnd,bn->bd", ents, mask)
        pooled = pooled / tf.reduce_sum(mask, axis=1, keepdims=True)
        core = tf.tanh(self.lin(tf.concat([me, pooled], 1), "core"))
        query = core @ self.p["pq_w"]
        scores = tf.einsum("bnd,bd->bn", self.lin(ents, "pk"), query) / np.sqrt(D).astype("float32")
        scores = tf.where(mask > 0.5, scores, -1e9)
        target = tf.nn.softmax(scores, axis=-1)
        return self.lin(core, "move"), target, tf.squeeze(self.lin(core, "val"), -1)


def make():
    return EntityAgent(np.random.RandomState(8))


def load(model, reference):
    sd = {k: v.detach().numpy() for k, v in reference.state_dict().items()}
    p = model.p
    p["ray_k"].assign(sd["lidar_conv.weight"].transpose(2, 1, 0))
    p["ray_b"].assign(sd["lidar_conv.bias"])
    for mine, theirs in [("self", "self_fc"), ("ent", "ent_fc"), ("o", "attn.out_proj"), ("post", "post"),
                         ("core", "core"), ("move", "move"), ("pk", "ptr_k"), ("val", "value")]:
        p[mine + "_w"].assign(sd[theirs + ".weight"].T)
        p[mine + "_b"].assign(sd[theirs + ".bias"])
    for name, w, b in zip("qkv", np.split(sd["attn.in_proj_weight"], 3), np.split(sd["attn.in_proj_bias"], 3)):
        p[name + "_w"].assign(w.T)
        p[name + "_b"].assign(b)
    p["pq_w"].assign(sd["ptr_q.weight"].T)
    p["gamma"].assign(sd["norm.weight"])
    p["beta"].assign(sd["norm.bias"])


def inputs(seed):
    rng = np.random.RandomState(100 + seed)
    b = 5
    self_obs = rng.randn(b, F_SELF).astype(np.float32)
    lidar = rng.rand(b, 1, LIDAR).astype(np.float32) * 2
    ents = rng.randn(b, N_ENT, F_ENT).astype(np.float32)
    present = rng.rand(b, N_ENT) < 0.6
    present[:, 0] = True
    present[0, -1] = False
    return self_obs, np.ascontiguousarray(lidar.transpose(0, 2, 1)), ents, present
