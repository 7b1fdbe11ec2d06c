"""VariBAD in Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"


def dense(units, activation=None):
    return layers.Dense(units, activation=activation)


class BeliefEncoder(layers.Layer):
    def __init__(self, latent=5, hidden=32):
        super().__init__()
        self.hidden = hidden
        self.s, self.a, self.r = dense(16, "relu"), dense(8, "relu"), dense(4, "relu")
        self.rnn = layers.GRU(hidden, return_sequences=True)
        self.to_mean = dense(latent)
        self.to_logvar = dense(latent)

    def call(self, next_obs, action, reward):
        x = ops.concatenate([self.s(next_obs), self.a(action), self.r(reward)], axis=-1)
        h = self.rnn(x)
        h = ops.pad(h, ((0, 0), (1, 0), (0, 0)))
        return self.to_mean(h), self.to_logvar(h)


class VariBAD(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = BeliefEncoder()
        self.d_s, self.d_a = dense(16, "relu"), dense(8, "relu")
        self.d_hidden, self.d_out = dense(32, "relu"), dense(1)
        self.p_s, self.p_b = dense(16, "relu"), dense(16, "relu")
        self.p_hidden, self.p_out = dense(32, "tanh"), dense(2, "tanh")
        self.baseline = dense(1)

    def reconstruct(self, z, next_obs, action):
        steps = action.shape[1]
        e = ops.concatenate([self.d_s(next_obs), self.d_a(action)], axis=-1)
        e = ops.repeat(ops.expand_dims(e, 1), steps + 1, axis=1)
        z = ops.repeat(ops.expand_dims(z, 2), steps, axis=2)
        return ops.squeeze(self.d_out(self.d_hidden(ops.concatenate([z, e], axis=-1))), axis=-1)

    def chained_kl(self, mean, logvar):
        """Each posterior against the one before it, the first against the unit Gaussian."""
        before_mean = ops.pad(mean[:, :-1], ((0, 0), (1, 0), (0, 0)))
        before_logvar = ops.pad(logvar[:, :-1], ((0, 0), (1, 0), (0, 0)))
        ratio = ops.exp(logvar - before_logvar)
        shift = ops.square(mean - before_mean) * ops.exp(-before_logvar)
        return 0.5 * ops.sum(ratio + shift - 1.0 - logvar + before_logvar, axis=-1)

    def call(self, obs, action, reward, noise):
        next_obs = obs[:, 1:]
        mean, logvar = self.encoder(next_obs, action, reward)
        z = mean + ops.exp(logvar / 2) * noise
        predicted = self.reconstruct(z, next_obs, action)
        error = ops.mean(ops.square(predicted - ops.transpose(reward, (0, 2, 1))), axis=-1)
        belief = ops.concatenate([mean[:, :-1], logvar[:, :-1]], axis=-1)
        f = ops.concatenate([self.p_s(obs[:, :-1]), self.p_b(belief)], axis=-1)
        return {"mean": self.p_out(self.p_hidden(f)), "value": ops.squeeze(self.baseline(f), -1),
                "kl": self.chained_kl(mean, logvar), "predicted": predicted, "error": error,
                "mu": mean, "logvar": logvar}


def make(seed=17):
    keras.utils.set_random_seed(seed)
    net = VariBAD()
    net(*[ops.convert_to_tensor(x) for x in inputs(1)])
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    f = lambda *s: rng.normal(size=s).astype("float32")
    return f(4, 7, 7), np.tanh(f(4, 6, 2)), f(4, 6, 1), f(4, 7, 5)


def load(ported, original):
    enc, old = ported.encoder, original.encoder
    for ours, theirs in ((enc.s, old.state), (enc.a, old.action), (enc.r, old.reward),
                         (enc.to_mean, old.mu), (enc.to_logvar, old.logvar),
                         (ported.d_s, original.dec_state), (ported.d_a, original.dec_action),
                         (ported.d_hidden, original.decoder[0]), (ported.d_out, original.decoder[2]),
                         (ported.p_s, original.pi_state), (ported.p_b, original.pi_belief),
                         (ported.p_hidden, original.actor[0]), (ported.p_out, original.actor[2]),
                         (ported.baseline, original.critic)):
        ours.set_weights([theirs.weight.detach().numpy().T, theirs.bias.detach().numpy()])

    def gates(w):   # torch: r, z, n; Keras: z, r, h
        r, z, n = np.split(w.detach().numpy(), 3, axis=0)
        return np.concatenate([z, r, n], axis=0)

    gru = old.gru
    enc.rnn.set_weights([gates(gru.weight_ih_l0).T, gates(gru.weight_hh_l0).T,
                         np.stack([gates(gru.bias_ih_l0), gates(gru.bias_hh_l0)])])
