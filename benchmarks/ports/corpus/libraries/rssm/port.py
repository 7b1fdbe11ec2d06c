"""RSSM in Keras 3 (keras.ops)."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
STOCH, CLASSES, DETER, UNITS, BINS = 4, 6, 20, 24, 21


def signed(f, x):
    return ops.sign(x) * f(ops.abs(x))


def mlp(*extra, units=UNITS):
    bias = keras.initializers.RandomNormal(stddev=0.1)
    net = [layers.Dense(units, bias_initializer=bias), layers.LayerNormalization(epsilon=1e-3), layers.Activation("swish")]
    return keras.Sequential(net + [layers.Dense(n, bias_initializer=bias) for n in extra])


class Cell(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.from_x = layers.Dense(3 * units, use_bias=False)
        self.from_h = layers.Dense(3 * units, use_bias=False)
        self.norm = layers.LayerNormalization(epsilon=1e-3)

    def call(self, x, h):
        parts = self.norm(self.from_x(x) + self.from_h(h))
        r, c, u = ops.split(parts, 3, axis=-1)
        c = ops.tanh(ops.sigmoid(r) * c)
        u = ops.sigmoid(u - 1.0)
        return h + u * (c - h)


class WorldModel(keras.Model):
    def __init__(self, free_nats=2.0, unimix=0.01, gamma=0.95, lam=0.9):
        super().__init__()
        self.free_nats, self.unimix, self.gamma, self.lam = free_nats, unimix, gamma, lam
        self.encoder, self.pre = mlp(), mlp()
        self.cell = Cell(DETER)
        self.prior_net, self.post_net = mlp(STOCH * CLASSES), mlp(STOCH * CLASSES)
        self.reward_net, self.value_net = mlp(BINS), mlp(BINS)
        self.first_deter = self.add_weight(shape=(DETER,), initializer="random_normal", name="first_deter")

    def dist(self, x):
        x = ops.reshape(x, (-1, STOCH, CLASSES))
        uniform = 1.0 / CLASSES
        return self.unimix * uniform + (1.0 - self.unimix) * ops.softmax(x)

    def sample(self, probs):
        hot = ops.one_hot(ops.argmax(probs, -1), CLASSES)
        return ops.reshape(hot, (-1, STOCH * CLASSES))

    def initial(self, batch):
        deter = ops.tile(ops.tanh(self.first_deter)[None], (batch, 1))
        return deter, self.sample(self.dist(self.prior_net(deter)))

    def step(self, state, action, embed, first):
        keep = 1.0 - ops.cast(first, "float32")[:, None]
        start = self.initial(embed.shape[0])
        deter, stoch = [keep * now + (1.0 - keep) * init for now, init in zip(state, start)]
        x = self.pre(ops.concatenate([stoch, action * keep], -1))
        deter = self.cell(x, deter)
        post = self.dist(self.post_net(ops.concatenate([deter, embed], -1)))
        prior = self.dist(self.prior_net(deter))
        return deter, self.sample(post), post, prior

    def divergence(self, post, prior):
        kl = ops.sum(post * (ops.log(post) - ops.log(prior)), axis=(-2, -1))
        return ops.maximum(kl, self.free_nats)

    def decode(self, logits):
        support = ops.linspace(-5.0, 5.0, BINS)
        probs = ops.softmax(logits)
        return signed(ops.expm1, ops.sum(probs * support, -1))

    def lambda_return(self, reward, value):
        last = value[:, -1]
        returns = [last]
        for t in range(reward.shape[1] - 2, -1, -1):
            mixed = value[:, t + 1] + self.lam * (last - value[:, t + 1])
            last = reward[:, t] + self.gamma * mixed
            returns.insert(0, last)
        return ops.stack(returns, 1)

    def call(self, obs, action, is_first):
        embed = self.encoder(signed(ops.log1p, obs))
        state = self.initial(obs.shape[0])
        history = []
        for t in range(obs.shape[1]):
            out = self.step(state, action[:, t], embed[:, t], is_first[:, t])
            state = out[:2]
            history.append(out)
        deter, stoch, post, prior = [ops.stack(seq, 1) for seq in zip(*history)]
        feat = ops.concatenate([deter, stoch], -1)
        reward = self.decode(self.reward_net(feat))
        value = self.decode(self.value_net(feat))
        return {
            "deter": deter,
            "post": ops.log(post),
            "kl": self.divergence(post, prior),
            "reward": reward,
            "returns": self.lambda_return(reward, value),
        }


def make():
    keras.utils.set_random_seed(33)
    model = WorldModel()
    model(np.zeros((2, 2, 9), "float32"), np.zeros((2, 2, 3), "float32"), np.ones((2, 2), bool))
    return model


def load(model, reference):
    arr = lambda p: p.detach().numpy()

    def block(b):
        return [arr(b[0].weight).T, arr(b[0].bias), arr(b[1].weight), arr(b[1].bias)]

    def head(h):
        return block(h[0]) + [arr(h[1].weight).T, arr(h[1].bias)]

    model.encoder.set_weights(block(reference.encoder))
    model.pre.set_weights(block(reference.inp))
    for mine, theirs in (("prior_net", "prior"), ("post_net", "post"), ("reward_net", "reward"), ("value_net", "value")):
        getattr(model, mine).set_weights(head(getattr(reference, theirs)))
    kernel = arr(reference.gru.lin.weight).T
    model.cell.from_x.set_weights([kernel[:UNITS]])
    model.cell.from_h.set_weights([kernel[UNITS:]])
    model.cell.norm.set_weights([arr(reference.gru.norm.weight), arr(reference.gru.norm.bias)])
    model.first_deter.assign(arr(reference.init_deter))
