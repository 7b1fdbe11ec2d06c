"""Deep momentum network (Lim, Zohren, Roberts 2019): LSTM trading rule with turnover costs."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
T, N_ID, HID = 8, 3, 8
SIGMA_TGT, COST = 0.15, 0.05


def ewm(x, halflife):
    """exponentially weighted mean over axis 1, as pandas' ewm(adjust=False)"""
    alpha = 1.0 - 0.5 ** (1.0 / halflife)
    state = x[:, 0]
    out = [state]
    for t in range(1, x.shape[1]):
        state = (1.0 - alpha) * state + alpha * x[:, t]
        out.append(state)
    return ops.stack(out, axis=1)


def macd_signal(prices, short, long):
    macd = (ewm(prices, short) - ewm(prices, long)) / ops.std(prices, axis=1, keepdims=True)
    return macd * ops.exp(-ops.square(macd) / 4.0) / 0.89


def glu(x):
    a, b = ops.split(x, 2, axis=-1)
    return a * ops.sigmoid(b)


def build():
    prices = keras.Input((T + 1,), name="prices", batch_size=5)
    ident = keras.Input((N_ID,), name="ident", batch_size=5)

    returns = prices[:, 1:] / prices[:, :-1] - 1.0
    sigma = ops.sqrt(ewm(ops.square(returns), 3.0) + 1e-6) * 16.0
    macd = macd_signal(prices, 1.5, 4.0)[:, 1:]
    feats = ops.stack([16.0 * returns / sigma, macd, ops.log(sigma)], axis=-1)

    x = layers.Dense(HID, name="embed")(feats)
    static = layers.Dense(HID, use_bias=False, name="static")(ident)
    x = layers.Activation("elu")(x + static[:, None, :])
    h = layers.LSTM(HID, return_sequences=True, name="lstm")(x)
    h = layers.LayerNormalization(name="norm")(h)
    h = x + glu(layers.Dense(2 * HID, name="gate")(h))
    position = layers.Dense(1, activation="tanh", name="position")(h)[..., 0]

    captured = SIGMA_TGT / sigma[:, :-1] * position[:, :-1] * returns[:, 1:]
    scaled = position / sigma
    turnover = SIGMA_TGT * ops.abs(scaled[:, 1:] - scaled[:, :-1])
    net = captured - COST * turnover
    sharpe = ops.mean(net, axis=1, keepdims=True) / ops.std(net, axis=1, keepdims=True) * np.sqrt(252.0)
    return keras.Model([prices, ident], [position, net, sharpe])


def make():
    m = build()
    r = np.random.RandomState(2)
    for w in m.weights:
        v = r.randn(*w.shape) * 0.5
        w.assign(v + 1.0 if w.path.endswith("gamma") else v * 0.8)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    prices = np.exp(np.cumsum(r.randn(5, T + 1) * 0.04 + 0.01, axis=1)).astype("float32")
    ident = np.eye(N_ID, dtype="float32")[[0, 1, 2, 1, 0]]
    return prices, ident
