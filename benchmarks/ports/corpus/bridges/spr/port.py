import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
N_ACTIONS, STEPS = 6, 3


def minmax(z):
    low = ops.min(z, axis=(1, 2, 3), keepdims=True)
    high = ops.max(z, axis=(1, 2, 3), keepdims=True)
    return (z - low) / (high - low + 1e-5)


def flatten_chw(z):
    return ops.reshape(ops.transpose(z, (0, 3, 1, 2)), (ops.shape(z)[0], -1))


def conv_encoder(name):
    return keras.Sequential([
        layers.Conv2D(12, 5, strides=3, activation="relu"),
        layers.Conv2D(20, 3, strides=2, activation="relu"),
    ], name=name)


class World(layers.Layer):
    """One latent step: z, a -> z'."""

    def __init__(self, **kw):
        super().__init__(**kw)
        self.c1 = layers.Conv2D(24, 3, padding="same")
        self.norm = layers.BatchNormalization(epsilon=1e-5)
        self.c2 = layers.Conv2D(20, 3, padding="same", activation="relu")

    def call(self, z, action):
        h, w = z.shape[1:3]
        onehot = ops.one_hot(action, N_ACTIONS, dtype=z.dtype)
        planes = ops.tile(onehot[:, None, None, :], (1, h, w, 1))
        x = self.c1(ops.concatenate([z, planes], axis=-1))
        x = ops.relu(self.norm(x, training=False))
        return minmax(self.c2(x))


class Dueling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.fa, self.fv = layers.Dense(32), layers.Dense(32)
        self.a, self.v = layers.Dense(N_ACTIONS), layers.Dense(1)

    def call(self, z):
        flat = flatten_chw(z)
        a = self.a(ops.relu(self.fa(flat)))
        v = self.v(ops.relu(self.fv(flat)))
        return v + (a - ops.mean(a, axis=-1, keepdims=True))

    def project(self, z):
        flat = flatten_chw(z)
        return ops.concatenate([self.fa(flat), self.fv(flat)], axis=-1)


class SPRAgent(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = conv_encoder("online_encoder")
        self.dueling = Dueling(name="online_head")
        self.world = World()
        self.predictor = layers.Dense(64)
        self.ema_encoder = conv_encoder("ema_encoder")
        self.ema_dueling = Dueling(name="ema_head")

    def call(self, batch):
        obs, actions, future, nonterminal = batch
        z = minmax(self.encoder(obs))
        q = self.dueling(z)
        masks = ops.cumprod(nonterminal, axis=1)
        steps = []
        for k in range(STEPS):
            z = self.world(z, actions[:, k])
            y = self.predictor(self.dueling.project(z))
            t = minmax(self.ema_encoder(future[:, k]))
            t = self.ema_dueling.project(t)
            y = ops.normalize(y, axis=-1)
            t = ops.normalize(t, axis=-1)
            cosine = ops.sum(y * t, axis=-1)
            steps.append(2.0 - 2.0 * cosine)
        return q, ops.stack(steps, axis=1) * masks


def make():
    keras.utils.set_random_seed(11)
    model = SPRAgent()
    model(inputs(0))
    model.ema_dueling(ops.zeros((1, 5, 5, 20)))
    rng = np.random.RandomState(5)
    for v in model.variables:
        if v.path.endswith("moving_variance"):
            v.assign(rng.uniform(0.5, 1.5, v.shape))
        elif len(v.shape) == 1 and "seed" not in v.path:
            v.assign(v.numpy() + 0.2 * rng.randn(*v.shape))
    return model


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    obs = rng.rand(5, 4, 36, 36).astype("float32").transpose(0, 2, 3, 1)
    actions = rng.randint(0, N_ACTIONS, (5, STEPS)).astype("int64")
    future = rng.rand(5, STEPS, 4, 36, 36).astype("float32").transpose(0, 1, 3, 4, 2)
    nonterminal = np.ones((5, STEPS), "float32")
    nonterminal[1, 1:] = nonterminal[3, 2] = 0
    return obs, actions, future, nonterminal


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}

    def conv(layer, key):
        layer.set_weights([sd[key + ".weight"].transpose(2, 3, 1, 0), sd[key + ".bias"]])

    def dense(layer, key):
        layer.set_weights([sd[key + ".weight"].T, sd[key + ".bias"]])

    for enc, head, pre in ((ported.encoder, ported.dueling, ""), (ported.ema_encoder, ported.ema_dueling, "target_")):
        conv(enc.layers[0], pre + "encoder.0")
        conv(enc.layers[1], pre + "encoder.2")
        for layer, key in ((head.fa, "adv_hidden"), (head.fv, "val_hidden"), (head.a, "adv"), (head.v, "val")):
            dense(layer, pre + "head." + key)
    conv(ported.world.c1, "transition.conv1")
    conv(ported.world.c2, "transition.conv2")
    ported.world.norm.set_weights([sd["transition.bn." + k] for k in ("weight", "bias", "running_mean", "running_var")])
    dense(ported.predictor, "predictor")
