"""RND agent network, Chainer."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"


def same_pad(x, k, s):
    """TensorFlow's SAME padding: the odd pixel goes to the bottom and to the right."""
    pads = []
    for n in x.shape[2:]:
        total = max((-(-n // s) - 1) * s + k - n, 0)
        pads.append((total // 2, total - total // 2))
    return F.pad(x, [(0, 0), (0, 0)] + pads, 'constant', constant_values=0.)


class Trunk(chainer.Chain):
    def __init__(self, in_ch):
        super().__init__()
        with self.init_scope():
            self.conv0 = L.Convolution2D(in_ch, 16, 8, stride=4)
            self.conv1 = L.Convolution2D(16, 24, 4, stride=2)
            self.conv2 = L.Convolution2D(24, 24, 3, stride=1)

    def __call__(self, x):
        for conv, k, s in ((self.conv0, 8, 4), (self.conv1, 4, 2), (self.conv2, 3, 1)):
            x = F.leaky_relu(conv(same_pad(x, k, s)), slope=0.2)
        x = F.transpose(x, (0, 2, 3, 1))       # Keras flattens channels last
        return F.reshape(x, (len(x), -1))


class Target(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.trunk = Trunk(1)
            self.out = L.Linear(None, 32)

    def __call__(self, x):
        return self.out(self.trunk(x))


class Predictor(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.trunk = Trunk(1)
            self.fc1 = L.Linear(None, 64)
            self.fc2 = L.Linear(64, 64)
            self.out = L.Linear(64, 32)

    def __call__(self, x):
        h = F.relu(self.fc1(self.trunk(x)))
        h = F.relu(self.fc2(h))
        return self.out(h)


class RNDAgent(chainer.Chain):
    def __init__(self, side=36, n_actions=5):
        super().__init__()
        with self.init_scope():
            self.target = Target()
            self.predictor = Predictor()
            self.trunk = Trunk(2)
            self.fc = L.Linear(None, 64)
            self.extra = L.Linear(64, 64)
            self.pi = L.Linear(64, n_actions)
            self.v_ext = L.Linear(64, 1)
            self.v_int = L.Linear(64, 1)
        self.add_persistent('obs_mean', np.zeros((1, side, side), 'f'))
        self.add_persistent('obs_var', np.ones((1, side, side), 'f'))
        self.add_persistent('ret_var', np.ones((), 'f'))

    def bonus(self, frames):
        x = frames[:, -1:]
        x = (x - self.obs_mean) / np.sqrt(self.obs_var + 1e-8)
        x = F.clip(x, -5., 5.)
        diff = self.predictor(x) - self.target(x).array
        return F.mean(diff ** 2, axis=1) / float(np.sqrt(self.ret_var + 1e-8))

    def __call__(self, frames):
        h = F.relu(self.fc(self.trunk(frames / 255.)))
        hv = h + F.relu(self.extra(h))
        ve, vi = self.v_ext(hv), self.v_int(hv)
        mix = 2. * F.squeeze(ve, 1) + F.squeeze(vi, 1)
        return self.bonus(frames), self.pi(h), ve, vi, mix


def make(seed=1):
    np.random.seed(seed)
    net = RNDAgent()
    net(*inputs(0))
    for name, p in net.namedparams():
        if name.endswith('/b'):
            p.array[...] = np.random.normal(0, 0.1, p.shape)
    net.obs_mean[...] = np.random.uniform(90, 150, net.obs_mean.shape)
    net.obs_var[...] = np.random.uniform(1500, 5000, net.obs_var.shape)
    net.ret_var[...] = 0.8
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, (4, 36, 36, 2)).astype(np.float32)
    return (np.ascontiguousarray(x.transpose(0, 3, 1, 2)),)


def load(ported, original):
    def put(link, name):
        k, b = original.get_layer(name).get_weights()
        link.W.array[...] = k.transpose(3, 2, 0, 1) if k.ndim == 4 else k.T
        link.b.array[...] = b

    for trunk, prefix in ((ported.target.trunk, "target"), (ported.predictor.trunk, "pred"), (ported.trunk, "policy")):
        for i in range(3):
            put(trunk["conv%d" % i], "%s_conv%d" % (prefix, i))
    for link, name in ((ported.target.out, "target_out"), (ported.predictor.fc1, "pred_fc1"),
                       (ported.predictor.fc2, "pred_fc2"), (ported.predictor.out, "pred_out"),
                       (ported.fc, "policy_fc"), (ported.extra, "value_extra"), (ported.pi, "logits"),
                       (ported.v_ext, "v_ext"), (ported.v_int, "v_int")):
        put(link, name)
    mean, var = original.get_layer("whiten").get_weights()
    ported.obs_mean[...] = mean.transpose(2, 0, 1)
    ported.obs_var[...] = var.transpose(2, 0, 1)
    ported.ret_var[...] = original.get_layer("reward_scale").get_weights()[0]
