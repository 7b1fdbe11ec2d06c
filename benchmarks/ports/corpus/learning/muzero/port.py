"""MuZero as plain TensorFlow functions over a dictionary of variables.

Planes stay channels-first at the interface; inside, everything is NHWC.
"""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"

CFG = {"planes": 4, "board": 5, "channels": 12, "actions": 6, "support": 10}
BN_EPS = 1e-5


def conv(p, x):
    y = tf.nn.conv2d(x, p["w"], strides=1, padding="SAME")
    return y + p["b"] if "b" in p else y


def norm(p, x):
    return tf.nn.batch_normalization(x, p["mean"], p["var"], p["beta"], p["gamma"], BN_EPS)


def residual(p, x):
    y = tf.nn.relu(norm(p["bn1"], conv(p["conv1"], x)))
    y = norm(p["bn2"], conv(p["conv2"], y))
    return tf.nn.relu(x + y)


def head(p, x):
    y = tf.nn.relu(conv(p["conv"], x))
    y = tf.transpose(y, (0, 3, 1, 2))
    y = tf.reshape(y, (tf.shape(y)[0], -1))
    y = tf.nn.elu(tf.matmul(y, p["fc1"]["w"]) + p["fc1"]["b"])
    return tf.matmul(y, p["fc2"]["w"]) + p["fc2"]["b"]


def unit_range(state):
    low = tf.reduce_min(state, axis=(1, 2, 3), keepdims=True)
    high = tf.reduce_max(state, axis=(1, 2, 3), keepdims=True)
    span = high - low
    return (state - low) / tf.where(span < 1e-5, span + 1e-5, span)


def inverse_h(x, eps=1e-3):
    root = tf.sqrt(1.0 + 4.0 * eps * (tf.abs(x) + 1.0 + eps))
    inner = 2.0 * (tf.abs(x) + 1.0 + eps) / (root + 1.0)  # stable (root - 1) / (2 eps)
    return tf.sign(x) * (tf.square(inner) - 1.0)


def expected_scalar(logits):
    n = CFG["support"]
    atoms = tf.range(-n, n + 1, dtype=logits.dtype)
    return inverse_h(tf.linalg.matvec(tf.nn.softmax(logits, axis=-1), atoms))


def represent(p, observation):
    x = tf.transpose(observation, (0, 2, 3, 1))
    x = tf.nn.relu(norm(p["bn"], conv(p["conv"], x)))
    return unit_range(residual(p["block"], x))


def imagine(p, state, action):
    level = tf.cast(action, state.dtype) / CFG["actions"]
    plane = tf.ones_like(state[..., :1]) * level[:, None, None, None]
    x = tf.concat([state, plane], axis=-1)
    x = tf.nn.relu(norm(p["bn"], conv(p["conv"], x)))
    x = residual(p["block"], x)
    return unit_range(x), head(p["reward"], x)


def predict(p, state):
    log_policy = tf.nn.log_softmax(head(p["policy"], state))
    return log_policy, expected_scalar(head(p["value"], state))


class MuZero(tf.Module):
    def __init__(self):
        super().__init__()
        self.params = initial()

    def __call__(self, observation, actions):
        p = self.params
        root = represent(p["representation"], observation)
        log_policy, value = predict(p, root)
        log_policies, values, rewards = [log_policy], [value], []
        state = root
        for action in tf.unstack(actions, axis=1):
            state, reward = imagine(p["dynamics"], state, action)
            log_policy, value = predict(p, state)
            log_policies.append(log_policy)
            values.append(value)
            rewards.append(expected_scalar(reward))
        return tf.stack(log_policies, 1), tf.stack(values, 1), tf.stack(rewards, 1)


def variable(*shape):
    return tf.Variable(tf.random.normal(shape, stddev=0.1))


def initial():
    c, cells, atoms = CFG["channels"], CFG["board"] ** 2, 2 * CFG["support"] + 1

    def bn():
        return {
            "mean": tf.Variable(tf.zeros(c)), "var": tf.Variable(tf.ones(c)),
            "beta": tf.Variable(tf.zeros(c)), "gamma": tf.Variable(tf.ones(c)),
        }

    def trunk(cin):
        return {
            "conv": {"w": variable(3, 3, cin, c)},
            "bn": bn(),
            "block": {
                "conv1": {"w": variable(3, 3, c, c)}, "bn1": bn(),
                "conv2": {"w": variable(3, 3, c, c)}, "bn2": bn(),
            },
        }

    def mlp(reduced, out):
        return {
            "conv": {"w": variable(1, 1, c, reduced), "b": variable(reduced)},
            "fc1": {"w": variable(reduced * cells, 16), "b": variable(16)},
            "fc2": {"w": variable(16, out), "b": variable(out)},
        }

    return {
        "representation": trunk(CFG["planes"]),
        "dynamics": trunk(c + 1) | {"reward": mlp(4, atoms)},
        "policy": mlp(4, CFG["actions"]),
        "value": mlp(4, atoms),
    }


def make(seed=50):
    tf.random.set_seed(seed)
    return MuZero()


def load(model, reference):
    source = {k: v.detach().numpy() for k, v in reference.state_dict().items()}
    p = model.params

    def put_conv(target, name):
        target["w"].assign(np.transpose(source[name + ".weight"], (2, 3, 1, 0)))
        if "b" in target:
            target["b"].assign(source[name + ".bias"])

    def put_bn(target, name):
        target["gamma"].assign(source[name + ".weight"])
        target["beta"].assign(source[name + ".bias"])
        target["mean"].assign(source[name + ".running_mean"])
        target["var"].assign(source[name + ".running_var"])

    def put_trunk(target, name):
        put_conv(target["conv"], name + ".conv")
        put_bn(target["bn"], name + ".bn")
        for i in ("1", "2"):
            put_conv(target["block"]["conv" + i], f"{name}.block.conv{i}")
            put_bn(target["block"]["bn" + i], f"{name}.block.bn{i}")

    def put_head(target, name):
        put_conv(target["conv"], name + ".conv")
        for fc in ("fc1", "fc2"):
            target[fc]["w"].assign(source[f"{name}.{fc}.weight"].T)
            target[fc]["b"].assign(source[f"{name}.{fc}.bias"])

    put_trunk(p["representation"], "representation")
    put_trunk(p["dynamics"], "dynamics")
    put_head(p["dynamics"]["reward"], "dynamics.reward")
    put_head(p["policy"], "policy")
    put_head(p["value"], "value")
