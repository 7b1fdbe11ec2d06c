"""Diffusion policy denoiser with the Keras functional API (channels last)."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
HORIZON, ACT, OBS, N_OBS, STEPS, TDIM = 12, 3, 6, 2, 20, 16


def mish(x):
    return x * ops.tanh(ops.softplus(x))


def sinusoid(t):
    half = TDIM // 2
    freq = np.exp(-np.log(10000.) * np.arange(half) / (half - 1)).astype("float32")
    ang = ops.cast(t, "float32")[:, None] * freq
    return ops.concatenate([ops.sin(ang), ops.cos(ang)], axis=-1)


def block(x, width, name):
    x = layers.Conv1D(width, 5, padding="same", name=name + "_conv")(x)
    x = layers.GroupNormalization(4, epsilon=1e-5, name=name + "_gn")(x)
    return mish(x)


def residual(x, cond, width, name):
    film = layers.Dense(2 * width, name=name + "_film")(mish(cond))
    film = ops.expand_dims(film, 1)
    gamma, beta = film[..., :width], film[..., width:]
    h = block(x, width, name + "_a")
    h = gamma * h + beta
    h = block(h, width, name + "_b")
    if x.shape[-1] != width:
        x = layers.Conv1D(width, 1, name=name + "_skip")(x)
    return h + x


def schedule():
    f = np.cos((np.arange(STEPS + 1) / STEPS + 0.008) / 1.008 * np.pi / 2) ** 2
    beta = np.minimum(1 - f[1:] / f[:-1], 0.999)
    abar = np.cumprod(1 - beta)
    prev = np.append(1.0, abar[:-1])
    return [v.astype("float32") for v in (beta, abar, prev)]


def make(seed=1):
    keras.utils.set_random_seed(seed)
    x = keras.Input((HORIZON, ACT), name="actions")
    t = keras.Input((), dtype="int32", name="t")
    obs = keras.Input((N_OBS, OBS), name="obs")
    noise = keras.Input((HORIZON, ACT), name="noise")

    emb = layers.Dense(32, name="t1")(sinusoid(t))
    emb = layers.Dense(16, name="t2")(mish(emb))
    cond = ops.concatenate([emb, layers.Flatten()(obs)], axis=-1)

    a = residual(x, cond, 16, "enc")
    d = layers.ZeroPadding1D(1)(a)
    d = layers.Conv1D(16, 3, strides=2, name="down")(d)
    m = residual(d, cond, 32, "mid")
    u = layers.Conv1DTranspose(16, 4, strides=2, padding="same", name="up")(m)
    y = residual(ops.concatenate([u, a], axis=-1), cond, 16, "dec")
    y = block(y, 16, "fin")
    eps = layers.Conv1D(ACT, 1, name="eps")(y)

    beta, abar, prev = [ops.take(v, t, axis=0)[:, None, None] for v in schedule()]
    x0 = (x - ops.sqrt(1 - abar) * eps) / ops.sqrt(abar)
    x0 = ops.clip(x0, -1., 1.)
    c0 = beta * ops.sqrt(prev) / (1 - abar)
    ct = (1 - prev) * ops.sqrt(1 - beta) / (1 - abar)
    std = ops.sqrt(beta * (1 - prev) / (1 - abar))
    step = c0 * x0 + ct * x
    step = step + ops.where(t > 0, 1., 0.)[:, None, None] * std * noise
    return keras.Model([x, t, obs, noise], [eps, step])


def inputs(seed=0):
    r = np.random.default_rng(seed)
    f = lambda *s: r.normal(size=s).astype(np.float32)
    return f(5, 12, 3), np.array([0, 3, 8, 13, 17], np.int32), f(5, 2, 6), f(5, 12, 3)


def load(ported, original):
    n = lambda p: p.detach().numpy()

    def put(name, m):
        w = n(m.weight)
        w = w.transpose(2, 1, 0) if w.ndim == 3 else w.T if w.ndim == 2 else w
        ported.get_layer(name).set_weights([w, n(m.bias)])

    put("t1", original.time[1])
    put("t2", original.time[3])
    for name, m in (("enc", original.in1), ("mid", original.mid), ("dec", original.out1)):
        put(name + "_a_conv", m.first[0])
        put(name + "_a_gn", m.first[1])
        put(name + "_b_conv", m.second[0])
        put(name + "_b_gn", m.second[1])
        put(name + "_film", m.film[1])
        put(name + "_skip", m.skip)
    put("down", original.down)
    put("up", original.up)
    put("fin_conv", original.final[0][0])
    put("fin_gn", original.final[0][1])
    put("eps", original.final[1])
