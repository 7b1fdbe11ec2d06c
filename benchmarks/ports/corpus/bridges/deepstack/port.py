import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
HANDS, CARDS, BUCKETS, WIDTH = 36, 9, 20, 50


def free_hands(board):
    deck = np.arange(HANDS)
    cards = tf.constant(np.stack([deck // 4, (5 * deck + 1) % CARDS], -1))
    clash = tf.equal(cards[None], tf.cast(board, cards.dtype)[:, None, None])
    return 1.0 - tf.cast(tf.reduce_any(clash, axis=-1), tf.float32)


def to_distribution(ranges, free):
    ranges = ranges * free[:, tf.newaxis, :]
    return ranges / tf.maximum(tf.reduce_sum(ranges, -1, keepdims=True), 1e-8)


def hidden(params, name, x):
    y = tf.linalg.matmul(x, params[name]["kernel"]) + params[name]["bias"]
    return tf.nn.relu(y) - params[name]["alpha"] * tf.nn.relu(-y)


def counterfactual_net(params, pot, p1, p2):
    x = tf.concat([pot[:, None], p1, p2], axis=1)
    for name in ("h0", "h1", "h2"):
        x = hidden(params, name, x)
    y = tf.matmul(x, params["out"]["kernel"]) + params["out"]["bias"]
    v1, v2 = tf.split(y, 2, axis=1)
    error = tf.reduce_sum(v1 * p1, 1, keepdims=True) + tf.reduce_sum(v2 * p2, 1, keepdims=True)
    return v1 - error / 2.0, v2 - error / 2.0


def strategy_from(regrets, legal):
    plus = tf.nn.relu(regrets) * legal
    total = tf.reduce_sum(plus, -1, keepdims=True)
    fallback = legal / tf.reduce_sum(legal, -1, keepdims=True)
    return tf.where(total > 1e-6, plus / tf.maximum(total, 1e-6), fallback)


def solve(params, ranges, pot, board, regrets, legal):
    free = free_hands(board)
    ranges = to_distribution(ranges, free)
    member = tf.nn.softmax(4.0 * tf.gather(params["cluster"], board), axis=-1)
    buckets = tf.matmul(ranges, member)
    v1, v2 = counterfactual_net(params, pot / 100.0, buckets[:, 0], buckets[:, 1])
    values = tf.matmul(tf.stack([v1, v2], axis=1), member, transpose_b=True)
    values = values * free[:, None]

    legal = legal[:, None, :]
    sigma = strategy_from(regrets, legal)
    mine = values[:, 0]
    q = tf.stack([-0.5 * tf.ones_like(mine), 1.5 * mine, 2.0 * mine], axis=-1)
    q = q * (pot[:, None, None] / 100.0) * free[..., None]
    own = tf.reduce_sum(sigma * q, axis=-1)
    updated = tf.nn.relu(regrets + q - own[..., None]) * legal
    reach = sigma * ranges[:, 0][..., None]
    reach = reach / tf.maximum(tf.reduce_sum(reach, axis=1, keepdims=True), 1e-8)
    return values, own, updated, reach


def make():
    rng = np.random.RandomState(13)
    f = lambda *s: tf.Variable((rng.randn(*s) / np.sqrt(s[0])).astype("float32"))
    params = {"cluster": tf.Variable(rng.randn(CARDS, HANDS, BUCKETS).astype("float32"))}
    width = 1 + 2 * BUCKETS
    for name in ("h0", "h1", "h2"):
        params[name] = {"kernel": f(width, WIDTH), "bias": f(WIDTH),
                        "alpha": tf.Variable(rng.uniform(0.1, 0.3, WIDTH).astype("float32"))}
        width = WIDTH
    params["out"] = {"kernel": f(width, 2 * BUCKETS), "bias": f(2 * BUCKETS)}

    def model(*batch):
        return solve(params, *batch)

    model.params = params
    return model


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    ranges = rng.dirichlet(np.full(HANDS, 0.4), (6, 2)).astype("float32")
    pot = rng.uniform(20, 180, 6).astype("float32")
    board = rng.randint(0, CARDS, 6).astype("int64")
    regrets = (rng.randn(6, HANDS, 3) * 0.5).astype("float32")
    legal = np.ones((6, 3), "float32")
    legal[1, 2] = legal[4, 0] = 0
    return ranges, pot, board, regrets, legal


def load(ported, original):
    w = {k: v.numpy() for k, v in original.weights.items()}
    ported.params["cluster"].assign(w["cluster"])
    for i in range(3):
        layer = ported.params[f"h{i}"]
        layer["kernel"].assign(w[f"layer{i}.W"].T)
        layer["bias"].assign(w[f"layer{i}.b"])
        layer["alpha"].assign(w[f"layer{i}.slope"])
    ported.params["out"]["kernel"].assign(w["out.W"].T)
    ported.params["out"]["bias"].assign(w["out.b"])
