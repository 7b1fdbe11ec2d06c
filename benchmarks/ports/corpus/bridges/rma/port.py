import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"


class Normalizer(chainer.Link):
    def __init__(self, size, eps=1e-8, clip=5.0):
        super().__init__()
        self.eps, self.clip = eps, clip
        self.add_persistent("mean", np.zeros(size, "float32"))
        self.add_persistent("var", np.ones(size, "float32"))

    def forward(self, x):
        shape = x.shape
        mean = F.broadcast_to(self.mean, shape)
        std = F.broadcast_to(F.sqrt(self.var + self.eps), shape)
        return F.clip((x - mean) / std, -self.clip, self.clip)


class MLP(chainer.ChainList):
    def __init__(self, sizes, last=None):
        super().__init__(*[L.Linear(i, o) for i, o in zip(sizes[:-1], sizes[1:])])
        self.last = last

    def forward(self, x):
        links = list(self.children())
        for link in links[:-1]:
            x = F.elu(link(x))
        x = links[-1](x)
        return self.last(x) if self.last else x


class HistoryEncoder(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.Linear(42, 32)
            self.conv0 = L.Convolution1D(32, 32, 8, stride=4)
            self.conv1 = L.Convolution1D(32, 32, 5)
            self.conv2 = L.Convolution1D(32, 32, 5)
            self.fc = L.Linear(96, 8)

    def forward(self, history):
        h = F.relu(self.embed(history, n_batch_axes=2))
        h = F.transpose(h, (0, 2, 1))
        for conv in (self.conv0, self.conv1, self.conv2):
            h = F.leaky_relu(conv(h), slope=0.2)
        return F.tanh(self.fc(h))


class LeggedAgent(chainer.Chain):
    P_GAIN, D_GAIN, SCALE, LIMIT = 20.0, 0.5, 0.25, 23.5

    def __init__(self):
        super().__init__()
        self.add_persistent("stand", np.zeros(12, "float32"))
        with self.init_scope():
            self.norm = Normalizer(30)
            self.privileged = MLP([17, 64, 32, 8], last=F.tanh)
            self.adapter = HistoryEncoder()
            self.base = MLP([50, 128, 64, 12])

    def act(self, obs, previous, z):
        x = self.norm(obs)
        return self.base(F.concat([x, previous, z], axis=1))

    def motors(self, obs, action):
        q, qd = obs[:, 6:18], obs[:, 18:30]
        wanted = F.broadcast_to(self.stand, action.shape) + self.SCALE * action
        tau = self.P_GAIN * (wanted - q) - self.D_GAIN * qd
        return F.clip(tau, -self.LIMIT, self.LIMIT)

    def forward(self, obs, previous, env, past_obs, past_actions):
        z = self.privileged(env)
        window = F.concat([self.norm(past_obs), past_actions], axis=2)
        guess = self.adapter(window)
        expert = self.act(obs, previous, z)
        student = self.act(obs, previous, guess)
        error = F.mean(F.square(guess - z.array), axis=1)
        return self.motors(obs, expert), self.motors(obs, student), error


def make():
    rng = np.random.RandomState(4)
    model = LeggedAgent()
    for p in model.params():
        fan = int(np.prod(p.shape[1:])) if p.ndim > 1 else 0
        p.array[...] = rng.randn(*p.shape) * (1 / np.sqrt(fan) if fan else 0.1)
    model.norm.mean[...] = rng.randn(30) * 0.2
    model.norm.var[...] = rng.uniform(0.5, 2, 30)
    model.stand[...] = rng.uniform(-0.5, 0.5, 12)
    return model


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    draws = (rng.randn(6, 30) * 0.6, rng.randn(6, 12) * 0.5, rng.uniform(-1, 1, (6, 17)),
             rng.randn(6, 50, 30) * 0.6, rng.randn(6, 50, 12) * 0.5)
    return tuple(d.astype("float32") for d in draws)


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}

    def put(link, key):
        link.W.array[...] = sd[key + ".weight"]
        link.b.array[...] = sd[key + ".bias"]

    for link, key in zip(ported.privileged.children(), ("net.0", "net.2", "net.4")):
        put(link, "encoder." + key)
    for link, key in zip(ported.base.children(), ("fc1", "fc2", "mean")):
        put(link, "policy." + key)
    put(ported.adapter.embed, "adapt.embed")
    put(ported.adapter.fc, "adapt.out")
    for i, link in enumerate((ported.adapter.conv0, ported.adapter.conv1, ported.adapter.conv2)):
        put(link, "adapt.convs.%d" % (2 * i))
    ported.norm.mean[...] = sd["obs_mean"]
    ported.norm.var[...] = sd["obs_var"]
    ported.stand[...] = sd["default_pose"]
