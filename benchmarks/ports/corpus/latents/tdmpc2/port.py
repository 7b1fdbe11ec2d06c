"""TD-MPC2's latent model in Keras 3."""
import numpy as np
import keras

FRAMEWORK = "tensorflow"
O, A, Z, V, H, BINS, NQ = 10, 4, 32, 8, 48, 21, 5


def build_keras():
    L = keras.layers

    def normed(x, dense, norm, act):
        x = dense(x)
        return act(norm(x))

    def mish(x):
        return x * keras.ops.tanh(keras.ops.softplus(x))

    def simnorm(x):
        g = keras.ops.reshape(x, (-1, Z // V, V))
        g = keras.ops.softmax(g, axis=-1)
        return keras.ops.reshape(g, (-1, Z))

    def two_hot_inv(logits):
        bins = keras.ops.linspace(-10.0, 10.0, BINS)
        x = keras.ops.sum(keras.ops.softmax(logits) * bins, axis=-1, keepdims=True)
        return keras.ops.sign(x) * (keras.ops.exp(keras.ops.abs(x)) - 1)

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            eps = 1e-5
            self.d = {n: L.Dense(k, name=n) for n, k in dict(enc0=H, enc1=Z, dyn0=H, dyn1=Z, rew0=H, rew1=BINS, pi0=H, pi1=2 * A).items()}
            self.n = {n: L.LayerNormalization(epsilon=eps, name=n + "_ln") for n in ("enc0", "enc1", "dyn0", "dyn1", "rew0", "pi0")}
            self.q1 = self.add_weight(shape=(NQ, Z + A, H), name="q1")
            self.q1b = self.add_weight(shape=(NQ, 1, H), name="q1b")
            self.q2 = self.add_weight(shape=(NQ, H, BINS), name="q2")

        def block(self, x, name, act):
            return normed(x, self.d[name], self.n[name], act)

        def call(self, obs, a):
            z = self.block(self.block(obs, "enc0", mish), "enc1", simnorm)
            za = keras.ops.concatenate([z, a], -1)
            zn = self.block(self.block(za, "dyn0", mish), "dyn1", simnorm)
            reward = two_hot_inv(self.d["rew1"](self.block(za, "rew0", mish)))
            mu, log_std = keras.ops.split(self.d["pi1"](self.block(zn, "pi0", mish)), 2, axis=-1)
            log_std = -10.0 + 6.0 * (keras.ops.tanh(log_std) + 1.0)
            x = keras.ops.concatenate([zn, keras.ops.tanh(mu)], -1)
            hidden = mish(keras.ops.einsum("bi,nih->nbh", x, self.q1) + self.q1b)
            q = two_hot_inv(keras.ops.einsum("nbh,nhk->nbk", hidden, self.q2))
            qmin = keras.ops.minimum(q[0], q[1])
            return {"z": zn, "reward": reward, "log_std": log_std, "q_min": qmin, "q_avg": keras.ops.mean(q, axis=0)}

    net = Net()
    net(np.zeros((1, O), "float32"), np.zeros((1, A), "float32"))
    return net


def make():
    return build_keras()


def load(net, ref):
    n = lambda t: t.detach().numpy()
    for name, d in net.d.items():
        lin = getattr(ref, name[:-1])[int(name[-1])]
        d.set_weights([n(lin.weight).T, n(lin.bias)])
        if name in net.n:
            net.n[name].set_weights([n(lin.ln.weight), n(lin.ln.bias)])
    net.q1.assign(n(ref.q1)); net.q1b.assign(n(ref.q1b)); net.q2.assign(n(ref.q2))
