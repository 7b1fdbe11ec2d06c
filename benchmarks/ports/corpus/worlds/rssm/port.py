"""DreamerV3's RSSM in Keras."""
import keras
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
DETER, STOCH, CLASSES, HID, EMBED, ACT = 20, 4, 6, 24, 18, 3


class Block(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.linear = layers.Dense(units, use_bias=False)
        self.norm = layers.LayerNormalization(epsilon=1e-3)

    def call(self, x):
        return self.norm(self.linear(x))


class RSSM(keras.Model):
    def __init__(self, unimix=0.01):
        super().__init__()
        self.unimix = unimix
        self.img_in = Block(HID)
        self.gru = Block(3 * DETER)
        self.img_out = Block(HID)
        self.obs_out = Block(HID)
        self.img_stats = layers.Dense(STOCH * CLASSES)
        self.obs_stats = layers.Dense(STOCH * CLASSES)
        self.start = self.add_weight(shape=(DETER,), name="initial")

    def stats(self, x):
        probs = tf.nn.softmax(tf.reshape(x, (-1, STOCH, CLASSES)))
        probs = (1.0 - self.unimix) * probs + self.unimix / CLASSES
        return tf.math.log(probs)

    def prior(self, deter):
        return self.stats(self.img_stats(tf.nn.silu(self.img_out(deter))))

    def cell(self, x, deter):
        reset, cand, update = tf.split(self.gru(tf.concat([x, deter], -1)), 3, -1)
        cand = tf.tanh(tf.sigmoid(reset) * cand)
        update = tf.sigmoid(update - 1.0)
        return update * cand + (1.0 - update) * deter

    def sample(self, logits):
        flat = tf.reshape(logits, (-1, CLASSES))
        index = tf.random.categorical(flat, 1)[:, 0]
        hard = tf.reshape(tf.one_hot(index, CLASSES), tf.shape(logits))
        probs = tf.nn.softmax(logits)
        return hard + probs - tf.stop_gradient(probs)

    def call(self, embed, action, is_first):
        B, T = embed.shape[0], embed.shape[1]
        start = tf.tile(tf.tanh(self.start)[None], (B, 1))
        mode = tf.one_hot(tf.argmax(self.prior(start), -1), CLASSES)
        start_stoch = tf.reshape(mode, (B, STOCH * CLASSES))
        deter, stoch = start, start_stoch
        deters, stochs, posts, priors = [], [], [], []
        for t in range(T):
            first = is_first[:, t : t + 1]
            deter = deter * (1.0 - first) + start * first
            stoch = stoch * (1.0 - first) + start_stoch * first
            act = action[:, t] * (1.0 - first)
            x = tf.nn.silu(self.img_in(tf.concat([stoch, act], -1)))
            deter = self.cell(x, deter)
            priors.append(self.prior(deter))
            h = tf.nn.silu(self.obs_out(tf.concat([deter, embed[:, t]], -1)))
            post = self.stats(self.obs_stats(h))
            stoch = tf.reshape(self.sample(post), (B, STOCH * CLASSES))
            deters.append(deter)
            stochs.append(stoch)
            posts.append(post)
        post, prior = tf.stack(posts, 1), tf.stack(priors, 1)
        log_post, log_prior = tf.nn.log_softmax(post), tf.nn.log_softmax(prior)
        kl = tf.reduce_sum(tf.exp(log_post) * (log_post - log_prior), axis=[-2, -1])
        loss = tf.reduce_mean(tf.maximum(kl, 1.0))
        return {"deter": tf.stack(deters, 1), "stoch": tf.stack(stochs, 1),
                "prior": prior, "kl": kl, "loss": 0.6 * loss}


def npy(t):
    return t.detach().cpu().numpy()


def dense(layer, linear):
    w = [npy(linear.weight).T]
    if linear.bias is not None:
        w.append(npy(linear.bias))
    layer.set_weights(w)


def norm(layer, ln):
    layer.set_weights([npy(ln.weight), npy(ln.bias)])


def make():
    net = RSSM()
    net(tf.zeros((1, 1, EMBED)), tf.zeros((1, 1, ACT)), tf.ones((1, 1)))
    return net


def load(net, ref):
    for name, its_norm in (("img_in", "img_norm"), ("gru", "gru_norm"),
                           ("img_out", "img_out_norm"), ("obs_out", "obs_out_norm")):
        dense(getattr(net, name).linear, getattr(ref, name))
        norm(getattr(net, name).norm, getattr(ref, its_norm))
    dense(net.img_stats, ref.img_stats)
    dense(net.obs_stats, ref.obs_stats)
    net.start.assign(npy(ref.initial))
