"""STEVE targets with plain TensorFlow functions over a dictionary of weights."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
N_OBS, N_ACT, H, DISCOUNT = 11, 3, 3, 0.95
SIZES = {"dyn": (3, 14, 12), "rew": (2, 25, 1), "q": (2, 14, 1)}


def mlp(p, name, x):
    """x (rows, n) through every member: (members, rows, out)."""
    h = tf.nn.silu(tf.einsum("rn,enh->erh", x, p[name + "/w0"]) + p[name + "/b0"])
    h = tf.nn.silu(tf.matmul(h, p[name + "/w1"]) + p[name + "/b1"])
    return tf.matmul(h, p[name + "/w2"]) + p[name + "/b2"]


def dynamics(p, sa):
    """One member for each of the trajectories: (3, B, n) -> (3, B, 12)."""
    h = tf.nn.silu(tf.matmul(sa, p["dyn/w0"]) + p["dyn/b0"])
    h = tf.nn.silu(tf.matmul(h, p["dyn/w1"]) + p["dyn/b1"])
    return tf.matmul(h, p["dyn/w2"]) + p["dyn/b2"]


def actor(p, s):
    h = tf.nn.relu(tf.tensordot(s, p["pi/w0"], 1) + p["pi/b0"])
    return tf.tanh(tf.tensordot(h, p["pi/w1"], 1) + p["pi/b1"])


def everyone(p, name, x, n_traj, batch):
    flat = tf.reshape(x, (n_traj * batch, x.shape[-1]))
    y = tf.reshape(mlp(p, name, flat), (-1, n_traj, batch))
    return tf.transpose(y, (1, 0, 2))


def steve_target(p, reward, next_obs, done):
    batch = next_obs.shape[0]
    m, n, _ = SIZES["dyn"][0], SIZES["rew"][0], SIZES["q"][0]
    state = tf.tile(next_obs[None], (m, 1, 1))
    cont = tf.tile(1.0 - done[None], (m, 1))
    total = tf.tile(reward[None, None], (m, n, 1))
    candidates = []
    for h in range(H + 1):
        action = actor(p, state)
        sa = tf.concat([state, action], -1)
        q = everyone(p, "q", sa, m, batch)
        bootstrap = DISCOUNT ** (h + 1) * cont[:, None] * q
        candidates.append(total[:, :, None, :] + bootstrap[:, None, :, :])
        if h < H:
            out = dynamics(p, sa)
            following = state + out[:, :, :N_OBS]
            r = everyone(p, "rew", tf.concat([sa, following], -1), m, batch)
            total += DISCOUNT ** (h + 1) * cont[:, None] * r
            cont *= tf.sigmoid(-out[:, :, N_OBS])
            state = following
    all_targets = tf.reshape(tf.stack(candidates), (H + 1, -1, batch))
    mean, var = tf.nn.moments(all_targets, axes=[1])
    certainty = 1.0 / (var + 1e-6)
    weights = certainty / tf.reduce_sum(certainty, axis=0, keepdims=True)
    return tf.reduce_sum(weights * mean, axis=0), weights, mean, var


class Target(tf.Module):
    def __init__(self, params):
        super().__init__()
        self.params = {k: tf.Variable(v, dtype=tf.float32, name=k) for k, v in params.items()}

    def __call__(self, reward, next_obs, done):
        return steve_target(self.params, reward, next_obs, done)


def make(seed=9):
    rng = np.random.default_rng(seed)
    params = {}
    for name, (e, i, o) in SIZES.items():
        for k, (a, b) in enumerate([(i, 32), (32, 32), (32, o)]):
            params[f"{name}/w{k}"] = rng.normal(0, a ** -0.5, (e, a, b))
            params[f"{name}/b{k}"] = rng.normal(0, 0.1, (e, 1, b))
    for k, (a, b) in enumerate([(N_OBS, 32), (32, N_ACT)]):
        params[f"pi/w{k}"] = rng.normal(0, a ** -0.5, (a, b))
        params[f"pi/b{k}"] = rng.normal(0, 0.1, b)
    return Target(params)


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    reward = rng.normal(size=7).astype("float32")
    next_obs = rng.normal(size=(7, N_OBS)).astype("float32")
    done = np.array([0, 0, 1, 0, 0, 1, 0], "float32")
    return reward, next_obs, done


def load(ported, original):
    for name, net in (("dyn", original.dynamics), ("rew", original.reward), ("q", original.q)):
        for k in range(3):
            ported.params[f"{name}/w{k}"].assign(net[2 * k].weight.detach().numpy())
            ported.params[f"{name}/b{k}"].assign(net[2 * k].bias.detach().numpy())
    for k in range(2):
        ported.params[f"pi/w{k}"].assign(original.policy[2 * k].weight.detach().numpy().T)
        ported.params[f"pi/b{k}"].assign(original.policy[2 * k].bias.detach().numpy())
