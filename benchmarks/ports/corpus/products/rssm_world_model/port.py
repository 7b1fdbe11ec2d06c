"""RSSM world model, Keras, NHWC."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
T, ACT, DET, STO, EMB = 4, 3, 20, 6, 24
FREE_NATS = 1.5


def mlp(hidden, out):
    return keras.Sequential([layers.Dense(hidden, activation="elu"), layers.Dense(out)])


class WorldModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential([
            layers.Conv2D(6, 4, strides=2, padding="same", activation="elu"),
            layers.ZeroPadding2D(1),
            layers.Conv2D(8, 3, strides=2, activation="elu"),
            layers.Flatten(),
            layers.Dense(EMB),
        ])
        self.decoder = keras.Sequential([
            layers.Dense(4 * 4 * 8, activation="elu"),
            layers.Reshape((4, 4, 8)),
            layers.Conv2DTranspose(6, 4, strides=2, padding="same", activation="elu"),
            layers.Conv2DTranspose(3, 4, strides=2, padding="same"),
        ])
        self.pre_gru = layers.Dense(DET, activation="elu")
        self.gru = layers.GRUCell(DET)
        self.prior_net = mlp(16, 2 * STO)
        self.post_net = mlp(16, 2 * STO)
        self.reward_net = mlp(16, 1)

    def gaussian(self, stats):
        mean, raw = ops.split(stats, 2, axis=-1)
        return mean, ops.softplus(raw) + 0.1

    def kl(self, post, prior):
        (qm, qs), (pm, ps) = post, prior
        kl = ops.log(ps / qs) + (ops.square(qs) + ops.square(qm - pm)) / (2.0 * ops.square(ps)) - 0.5
        return ops.maximum(ops.sum(kl, axis=-1), FREE_NATS)

    def call(self, image, action, is_first):
        obs = ops.cast(image, "float32") / 255.0 - 0.5
        batch = ops.shape(obs)[0]
        embed = ops.reshape(self.encoder(ops.reshape(obs, (-1, 16, 16, 3))), (batch, T, EMB))
        h = ops.zeros((batch, DET))
        z = ops.zeros((batch, STO))
        feats, kls = [], []
        for t in range(T):
            cont = 1.0 - is_first[:, t:t + 1]
            h = h * cont
            za = ops.concatenate([z, action[:, t]], axis=-1) * cont
            h, _ = self.gru(self.pre_gru(za), [h])
            prior = self.gaussian(self.prior_net(h))
            post = self.gaussian(self.post_net(ops.concatenate([h, embed[:, t]], axis=-1)))
            z = post[0]
            kls.append(self.kl(post, prior))
            feats.append(ops.concatenate([h, z], axis=-1))
        feat = ops.stack(feats, axis=1)
        recon = ops.reshape(self.decoder(ops.reshape(feat, (-1, DET + STO))), ops.shape(obs))
        nll = ops.sum(ops.square(recon - obs), axis=(2, 3, 4)) / 2.0
        return {
            "feat": feat,
            "kl": ops.stack(kls, axis=1),
            "image_nll": nll,
            "reward": self.reward_net(feat)[..., 0],
        }


def make():
    keras.utils.set_random_seed(77)
    m = WorldModel()
    m(np.zeros((1, T, 16, 16, 3), "float32"), np.zeros((1, T, ACT), "float32"), np.zeros((1, T), "float32"))
    return m


def load(model, reference):
    sd = {k: v.detach().numpy() for k, v in reference.state_dict().items()}
    enc = [l for l in model.encoder.layers if l.weights]
    dec = [l for l in model.decoder.layers if l.weights]
    conv = lambda n: [sd[n + ".weight"].transpose(2, 3, 1, 0), sd[n + ".bias"]]
    dense = lambda n: [sd[n + ".weight"].T, sd[n + ".bias"]]
    enc[0].set_weights(conv("encoder.c1"))
    enc[1].set_weights(conv("encoder.c2"))
    w, b = dense("encoder.fc")
    enc[2].set_weights([w.reshape(8, 4, 4, EMB).transpose(1, 2, 0, 3).reshape(128, EMB), b])
    w, b = dense("decoder.fc")
    dec[0].set_weights([w.reshape(-1, 8, 4, 4).transpose(0, 2, 3, 1).reshape(-1, 128),
                        b.reshape(8, 4, 4).transpose(1, 2, 0).reshape(128)])
    dec[1].set_weights(conv("decoder.d1"))
    dec[2].set_weights(conv("decoder.d2"))
    model.pre_gru.set_weights(dense("rssm.inp"))

    def zrh(x):
        r, z, n = np.split(x, 3, axis=0)
        return np.concatenate([z, r, n], axis=0)

    model.gru.set_weights([
        zrh(sd["rssm.cell.weight_ih"]).T, zrh(sd["rssm.cell.weight_hh"]).T,
        np.stack([zrh(sd["rssm.cell.bias_ih"]), zrh(sd["rssm.cell.bias_hh"])])])
    for net, name in [(model.prior_net, "rssm.prior"), (model.post_net, "rssm.post"), (model.reward_net, "reward")]:
        net.layers[0].set_weights(dense(name + ".0"))
        net.layers[1].set_weights(dense(name + ".2"))


def inputs(seed):
    rng = np.random.RandomState(seed + 40)
    b = 3
    image = rng.randint(0, 256, size=(b, T, 3, 16, 16)).astype(np.float32)
    action = np.eye(ACT, dtype=np.float32)[rng.randint(0, ACT, size=(b, T))]
    is_first = np.zeros((b, T), np.float32)
    is_first[:, 0] = 1
    is_first[0, 2] = 1
    is_first[1, 3] = 1
    return np.ascontiguousarray(image.transpose(0, 1, 3, 4, 2)), action, is_first
