"""Rainbow's network in Chainer, after ChainerRL: distributional dueling DQN with factorised noisy layers."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import initializers

FRAMEWORK = "chainer"
ACTIONS, ATOMS, V_MIN, V_MAX = 4, 11, -5.0, 5.0


class FactorizedNoisyLinear(chainer.Chain):
    def __init__(self, in_size, out_size, sigma_scale=0.4):
        super().__init__()
        self.in_size, self.out_size = in_size, out_size
        with self.init_scope():
            self.mu = L.Linear(in_size, out_size, initial_bias=initializers.Uniform(1 / np.sqrt(in_size)))
            self.sigma = L.Linear(
                in_size,
                out_size,
                initialW=initializers.Constant(sigma_scale / np.sqrt(in_size)),
                initial_bias=initializers.Constant(sigma_scale / np.sqrt(in_size)),
            )
        spread = np.random.uniform(0.7, 1.3, self.sigma.W.shape).astype("f")  # as after training
        self.sigma.W.array *= spread

    def _eps(self, shape):
        r = chainer.Variable(self.xp.random.standard_normal(shape).astype("f"))
        return r / F.sqrt(F.absolute(r))  # sign(r) * sqrt(|r|)

    def __call__(self, x):
        eps_x = self._eps((self.in_size,))
        eps_y = self._eps((self.out_size,))
        w = self.mu.W + self.sigma.W * F.matmul(eps_y[:, None], eps_x[None])
        b = self.mu.b + self.sigma.b * eps_y
        return F.linear(x, w, b)


class Rainbow(chainer.Chain):
    def __init__(self):
        super().__init__()
        self.z_values = np.linspace(V_MIN, V_MAX, ATOMS, dtype="f")
        bias = initializers.Normal(0.1)
        with self.init_scope():
            self.conv1 = L.Convolution2D(2, 8, 4, stride=2, initial_bias=bias)
            self.conv2 = L.Convolution2D(8, 8, 3, stride=1, initial_bias=bias)
            self.main = FactorizedNoisyLinear(200, 32)
            self.a_stream = FactorizedNoisyLinear(16, ACTIONS * ATOMS)
            self.v_stream = FactorizedNoisyLinear(16, ATOMS)

    def __call__(self, x):
        h = F.relu(self.conv1(x / np.float32(255)))
        h = F.relu(self.conv2(h))
        h = F.relu(self.main(F.reshape(h, (h.shape[0], -1))))
        h_a, h_v = F.split_axis(h, 2, axis=-1)
        ya = F.reshape(self.a_stream(h_a), (-1, ACTIONS, ATOMS))
        mean = F.sum(ya, axis=1, keepdims=True) / ACTIONS
        ya, mean = F.broadcast(ya, mean)
        ya -= mean
        ys = F.reshape(self.v_stream(h_v), (-1, 1, ATOMS))
        ya, ys = F.broadcast(ya, ys)
        probs = F.softmax(ya + ys, axis=2)
        z = F.broadcast_to(self.z_values, probs.shape)
        q = F.sum(probs * z, axis=2)
        return probs, q


def make():
    np.random.seed(7)
    return Rainbow()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, size=(6, 2, 16, 16)).astype("float32")
