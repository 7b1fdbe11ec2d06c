"""PopSAN in Chainer."""
import numpy as np
import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
OBS, ACT, EN_POP, DE_POP, HID, STEPS = 5, 3, 6, 4, 24, 5
V_TH, C_DECAY, V_DECAY = 0.5, 0.5, 0.75
ENC_TH = 0.999


class Spike(chainer.FunctionNode):
    """Heaviside forward, rectangular surrogate backward."""

    def __init__(self, th, window=0.5):
        self.th, self.window = th, window

    def forward(self, xs):
        self.retain_inputs((0,))
        return (xs[0] > self.th).astype(np.float32),

    def backward(self, idx, gs):
        v, = self.get_retained_inputs()
        return gs[0] * (abs(v.array - self.th) < self.window).astype(np.float32),


def fire(v, th):
    return Spike(th).apply((v,))[0]


class LIF(chainer.Chain):
    def __init__(self, n_in, n_out):
        super().__init__()
        with self.init_scope():
            self.syn = L.Linear(n_in, n_out)
        self.reset()

    def reset(self):
        self.c = self.v = self.s = None

    def __call__(self, x):
        drive = self.syn(x)
        if self.c is None:
            self.c = drive
            self.v = drive
        else:
            self.c = C_DECAY * self.c + drive
            self.v = V_DECAY * self.v * (1.0 - self.s) + self.c
        self.s = fire(self.v, V_TH)
        return self.s


class PopSAN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.mean = chainer.Parameter(np.zeros((OBS, EN_POP), "f"))
            self.std = chainer.Parameter(np.ones((OBS, EN_POP), "f"))
            self.lif1 = LIF(OBS * EN_POP, HID)
            self.lif2 = LIF(HID, HID)
            self.lif3 = LIF(HID, ACT * DE_POP)
            self.dec_w = chainer.Parameter(np.zeros((ACT, DE_POP), "f"))
            self.dec_b = chainer.Parameter(np.zeros((ACT,), "f"))
            self.log_std = L.Linear(OBS, ACT)

    def stimulate(self, obs):
        x = F.expand_dims(obs, 2)
        mean = F.broadcast_to(self.mean, x.shape[:2] + (EN_POP,))
        var = F.broadcast_to(self.std ** 2, mean.shape)
        d = F.broadcast_to(x, mean.shape) - mean
        act = F.exp(-0.5 * d ** 2 / var)
        return F.reshape(act, (len(obs), -1))

    def __call__(self, obs):
        obs = chainer.as_variable(obs)
        for l in (self.lif1, self.lif2, self.lif3):
            l.reset()
        stim = self.stimulate(obs)
        volt = chainer.Variable(np.zeros(stim.shape, "f"))
        count = 0
        for _ in range(STEPS):
            volt = volt + stim
            s = fire(volt, ENC_TH)
            volt = volt - ENC_TH * s
            count = count + self.lif3(self.lif2(self.lif1(s)))
        rate = F.reshape(count / STEPS, (-1, ACT, DE_POP))
        mu = F.sum(F.scale(rate, self.dec_w, axis=1), axis=2)
        mu = F.bias(mu, self.dec_b)
        log_std = F.clip(self.log_std(obs), -5.0, 2.0)
        return F.tanh(mu), F.exp(log_std)


def make():
    m = PopSAN()
    r = np.random.RandomState(44)
    for p in m.params():
        p.array = (r.randn(*p.shape) * 0.3).astype("f")
    m.std.array = r.uniform(0.4, 0.9, m.std.shape).astype("f")
    return m


def inputs(seed):
    return (np.random.RandomState(seed).randn(6, OBS).astype("f"),)


def load(ported, original):
    n = lambda t: t.detach().numpy().copy()
    ported.mean.array = n(original.encoder.mean)[0]
    ported.std.array = n(original.encoder.std)[0]
    for d, s in ((ported.lif1.syn, original.snn.hidden[0]), (ported.lif2.syn, original.snn.hidden[1]),
                 (ported.lif3.syn, original.snn.out), (ported.log_std, original.log_std)):
        d.W.array, d.b.array = n(s.weight), n(s.bias)
    ported.dec_w.array = n(original.decoder.weight)[:, 0]
    ported.dec_b.array = n(original.decoder.bias)
