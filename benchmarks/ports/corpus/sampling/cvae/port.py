"""The trajectory CVAE in Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"


class Sampling(layers.Layer):
    def __init__(self, seed=1):
        super().__init__()
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(self, z_mean, z_log_var):
        batch = ops.shape(z_mean)[0]
        dim = ops.shape(z_mean)[1]
        epsilon = keras.random.normal(shape=(batch, dim), seed=self.seed_generator)
        return z_mean + ops.exp(0.5 * z_log_var) * epsilon


class CVAE(keras.Model):
    def __init__(self, dim=4, latent=6, units=20, beta=0.5):
        super().__init__()
        self.beta = beta
        self.enc_rnn = layers.LSTM(units)
        self.z_mean = layers.Dense(latent)
        self.z_log_var = layers.Dense(latent)
        self.sampling = Sampling()
        self.dec_init = layers.Dense(units, activation="tanh")
        self.dec_rnn = layers.GRU(units, return_sequences=True)
        self.dec_out = layers.Dense(dim)

    def encode(self, traj, cond):
        tiled = ops.repeat(cond[:, None, :], ops.shape(traj)[1], axis=1)
        h = self.enc_rnn(ops.concatenate([traj, tiled], axis=-1))
        return self.z_mean(h), self.z_log_var(h)

    def decode(self, z, cond, traj):
        h0 = self.dec_init(ops.concatenate([z, cond], axis=-1))
        start = ops.zeros_like(traj[:, :1])
        shifted = ops.concatenate([start, traj[:, :-1]], axis=1)
        tiled = ops.repeat(z[:, None, :], ops.shape(traj)[1], axis=1)
        hs = self.dec_rnn(ops.concatenate([shifted, tiled], axis=-1), initial_state=h0)
        return self.dec_out(hs)

    def call(self, traj, cond):
        z_mean, z_log_var = self.encode(traj, cond)
        z = self.sampling(z_mean, z_log_var)
        recon = self.decode(z, cond, traj)
        recon_loss = ops.mean(ops.sum(ops.square(recon - traj), axis=(1, 2)))
        kl = -0.5 * (1 + z_log_var - ops.square(z_mean) - ops.exp(z_log_var))
        kl = ops.sum(kl, axis=-1)
        loss = recon_loss + self.beta * ops.mean(kl)
        return {"recon": recon, "mu": z_mean, "logvar": z_log_var, "kl": kl, "loss": loss}


def make():
    keras.utils.set_random_seed(0)
    model = CVAE()
    model(np.zeros((1, 7, 4), "float32"), np.zeros((1, 3), "float32"))
    return model


def _dense(layer, linear):
    layer.set_weights([linear.weight.detach().numpy().T, linear.bias.detach().numpy()])


def _gru_gates(array):
    """torch has r, z, n; Keras z, r, h."""
    r, z, n = np.split(array, 3)
    return np.concatenate([z, r, n])


def load(model, reference):
    lstm = {k: v.detach().numpy() for k, v in reference.encoder.rnn.named_parameters()}
    model.enc_rnn.set_weights([
        lstm["weight_ih_l0"].T,
        lstm["weight_hh_l0"].T,
        lstm["bias_ih_l0"] + lstm["bias_hh_l0"],
    ])
    _dense(model.z_mean, reference.encoder.mu)
    _dense(model.z_log_var, reference.encoder.logvar)
    _dense(model.dec_init, reference.decoder.init)
    gru = {k: _gru_gates(v.detach().numpy()) for k, v in reference.decoder.rnn.named_parameters()}
    biases = np.stack([gru["bias_ih_l0"], gru["bias_hh_l0"]])
    model.dec_rnn.set_weights([gru["weight_ih_l0"].T, gru["weight_hh_l0"].T, biases])
    _dense(model.dec_out, reference.decoder.out)
