"""GTrXL in TensorFlow without Keras, a dict of variables."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
HEADS, MEMORY, LAYERS = 2, 3, 2


def layer_norm(x, gamma, beta):
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * gamma + beta


def positional(length, depth):
    position = np.arange(length)[::-1, None].astype("float32")
    rates = 10000 ** (-np.arange(0, depth, 2).astype("float32") / depth)
    angles = position * rates
    return tf.constant(np.concatenate([np.sin(angles), np.cos(angles)], axis=-1))


class GTrXL(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = {}

    def linear(self, x, name):
        y = tf.tensordot(x, self.w[name + "/kernel"], [[-1], [0]])
        if name + "/bias" in self.w:
            y = y + self.w[name + "/bias"]
        return y

    def gate(self, x, y, name):
        w = lambda part: self.w[f"{name}/{part}/kernel"]
        r = tf.sigmoid(y @ w("Wr") + x @ w("Ur"))
        z = tf.sigmoid(y @ w("Wz") + x @ w("Uz") - self.w[f"{name}/bg"])
        h = tf.tanh(y @ w("Wg") + (r * x) @ w("Ug"))
        return (1.0 - z) * x + z * h

    def heads(self, x):
        depth = x.shape[-1] // HEADS
        return tf.transpose(tf.reshape(x, [-1, x.shape[1], HEADS, depth]), [0, 2, 1, 3])

    def attention(self, q_in, kv_in, name):
        t, s, d = q_in.shape[1], kv_in.shape[1], q_in.shape[2]
        depth = d // HEADS
        q = self.heads(self.linear(q_in, name + "/q"))
        kv = self.heads(self.linear(kv_in, name + "/kv"))
        k, v = tf.split(kv, 2, axis=-1)
        r = self.heads(self.linear(positional(s, d)[None], name + "/r"))
        u = self.w[name + "/u"][:, None, :]
        vb = self.w[name + "/v"][:, None, :]
        logits = tf.matmul(q + u, k, transpose_b=True)
        # entry (i, j) of the position term is at distance (i + s - t) - j
        rel = tf.matmul(q + vb, tf.tile(r, [q.shape[0], 1, 1, 1]), transpose_b=True)
        distance = np.arange(t)[:, None] + (s - t) - np.arange(s)[None, :]
        index = np.clip(s - 1 - distance, 0, s - 1)
        rel = tf.stack([tf.gather(rel[:, :, i], index[i], axis=-1) for i in range(t)], axis=2)
        logits = (logits + rel) / np.sqrt(depth).astype("float32")
        visible = tf.constant(distance >= 0)
        logits = tf.where(visible, logits, -1e9)
        out = tf.matmul(tf.nn.softmax(logits), v)
        out = tf.reshape(tf.transpose(out, [0, 2, 1, 3]), [-1, t, d])
        return self.linear(out, name + "/out")

    def block(self, x, memory, name):
        m = memory.shape[1]
        n = layer_norm(tf.concat([memory, x], 1), self.w[name + "/ln1/g"], self.w[name + "/ln1/b"])
        y = self.attention(n[:, m:], n, name + "/att")
        x = self.gate(x, tf.nn.relu(y), name + "/gate1")
        n = layer_norm(x, self.w[name + "/ln2/g"], self.w[name + "/ln2/b"])
        y = self.linear(tf.nn.relu(self.linear(n, name + "/mlp.0")), name + "/mlp.2")
        return self.gate(x, tf.nn.relu(y), name + "/gate2")

    def __call__(self, obs, memory):
        x = self.linear(obs, "embed")
        memories = []
        for i in range(LAYERS):
            memories.append(tf.concat([memory[i], x], axis=1)[:, -MEMORY:])
            x = self.block(x, memory[i], f"block{i}")
        value = tf.squeeze(self.linear(x, "value"), -1)
        return self.linear(x, "policy"), value, tf.stack(memories)


def make():
    rng = np.random.default_rng(0)
    model = GTrXL()

    def new(name, *shape):
        model.w[name] = tf.Variable(rng.normal(0, 0.2, shape).astype("float32"), name=name)

    d = 16
    for name, a, b in (("embed", 6, d), ("policy", d, 4), ("value", d, 1)):
        new(name + "/kernel", a, b)
        new(name + "/bias", b)
    for i in range(LAYERS):
        block = f"block{i}"
        for part, a, b in (("q", d, d), ("kv", d, 2 * d), ("r", d, d), ("out", d, d)):
            new(f"{block}/att/{part}/kernel", a, b)
        new(f"{block}/att/u", HEADS, d // HEADS)
        new(f"{block}/att/v", HEADS, d // HEADS)
        for gate in ("gate1", "gate2"):
            for part in ("Wr", "Ur", "Wz", "Uz", "Wg", "Ug"):
                new(f"{block}/{gate}/{part}/kernel", d, d)
            new(f"{block}/{gate}/bg", d)
        for part, a, b in (("mlp.0", d, 32), ("mlp.2", 32, d)):
            new(f"{block}/{part}/kernel", a, b)
            new(f"{block}/{part}/bias", b)
        for norm in ("ln1", "ln2"):
            new(f"{block}/{norm}/g", d)
            new(f"{block}/{norm}/b", d)
    return model


def load(model, reference):
    for name, tensor in reference.state_dict().items():
        name = name.replace("blocks.", "block").replace("mlp.", "mlp_")
        name = name.replace(".", "/").replace("mlp_", "mlp.")
        array = tensor.numpy()
        if "/ln" in name:
            name = name.replace("/weight", "/g").replace("/bias", "/b")
        elif name.endswith("/weight"):
            name, array = name.replace("/weight", "/kernel"), array.T
        model.w[name].assign(array)
