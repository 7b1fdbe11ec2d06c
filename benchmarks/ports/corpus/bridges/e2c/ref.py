"""Embed to Control (Watter et al., 2015) in Chainer: locally linear latent dynamics."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
N_X, N_Z, N_U = 144, 5, 3


class Encoder(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(N_X, 48)
            self.bn1 = L.BatchNormalization(48)
            self.l2 = L.Linear(48, 48)
            self.mean = L.Linear(48, N_Z)
            self.ln_var = L.Linear(48, N_Z)

    def forward(self, x):
        h = F.relu(self.bn1(self.l1(x)))
        h = F.relu(self.l2(h))
        return self.mean(h), self.ln_var(h)


class Transition(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.h1 = L.Linear(N_Z, 32)
            self.h2 = L.Linear(32, 32)
            self.v = L.Linear(32, N_Z)
            self.r = L.Linear(32, N_Z)
            self.B = L.Linear(32, N_Z * N_U)
            self.o = L.Linear(32, N_Z)

    def forward(self, z):
        batch = z.shape[0]
        h = F.relu(self.h1(z))
        h = F.relu(self.h2(h))
        outer = F.matmul(F.expand_dims(self.v(h), 2), F.expand_dims(self.r(h), 1))
        eye = np.broadcast_to(np.eye(N_Z, dtype="f"), (batch, N_Z, N_Z))
        return eye + outer, F.reshape(self.B(h), (batch, N_Z, N_U)), self.o(h)


class Decoder(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(N_Z, 48)
            self.l2 = L.Linear(48, N_X)

    def forward(self, z):
        return self.l2(F.relu(self.l1(z)))


def bernoulli_nll(x, logits):
    return F.sum(F.softplus(logits) - x * logits, axis=1)


def kl_full_to_diagonal(mean0, cov0, mean1, ln_var1):
    """KL(N(mean0, cov0) || N(mean1, diag(exp(ln_var1)))) per sample."""
    var1 = F.exp(ln_var1)
    eye = np.eye(N_Z, dtype="f")[None]
    diagonal = F.sum(cov0 * F.broadcast_to(eye, cov0.shape), axis=2)
    trace = F.sum(diagonal / var1, axis=1)
    maha = F.sum(F.square(mean1 - mean0) / var1, axis=1)
    logdet0 = F.log(F.batch_det(cov0))
    logdet1 = F.sum(ln_var1, axis=1)
    return 0.5 * (trace + maha - N_Z + logdet1 - logdet0)


class E2C(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.encoder = Encoder()
            self.transition = Transition()
            self.decoder = Decoder()

    def forward(self, x, u, x_next, noise):
        with chainer.using_config("train", False):
            mean, ln_var = self.encoder(x)
            mean_next, ln_var_next = self.encoder(x_next)
        z = mean + noise * F.exp(0.5 * ln_var)
        A, B, o = self.transition(z)
        drift = F.matmul(A, F.expand_dims(mean, 2))
        control = F.matmul(B, F.expand_dims(u, 2))
        pred_mean = F.squeeze(drift + control, 2) + o
        var = F.expand_dims(F.exp(ln_var), 1)
        cov = F.matmul(A * F.broadcast_to(var, A.shape), A, transb=True)
        kl_prior = 0.5 * F.sum(F.exp(ln_var) + mean ** 2 - 1 - ln_var, axis=1)
        kl_next = kl_full_to_diagonal(pred_mean, cov, mean_next, ln_var_next)
        now = bernoulli_nll(x, self.decoder(z))
        logits_next = self.decoder(pred_mean)
        return F.sigmoid(logits_next), now + bernoulli_nll(x_next, logits_next) + kl_prior, kl_next


def make():
    rng = np.random.RandomState(9)
    model = E2C()
    for name, p in sorted(model.namedparams()):
        if p.ndim == 2:
            p.array[...] = rng.randn(*p.shape) / np.sqrt(p.shape[1])
        else:
            p.array[...] = rng.randn(*p.shape) * 0.2 + (1.0 if name.endswith("gamma") else 0.0)
    for link in (model.transition.v, model.transition.r):
        link.W.array *= 0.3
    model.encoder.bn1.avg_mean[...] = rng.randn(48) * 0.3
    model.encoder.bn1.avg_var[...] = rng.uniform(0.5, 1.6, 48)
    return model


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    x = rng.rand(6, N_X).astype("f")
    x_next = np.clip(x + 0.2 * rng.randn(6, N_X), 0, 1).astype("f")
    return x, rng.uniform(-1, 1, (6, N_U)).astype("f"), x_next, rng.randn(6, N_Z).astype("f")
