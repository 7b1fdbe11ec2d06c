"""A pointer network (Vinyals et al. 2015) that scores given tours, Chainer."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
CITIES, EMBED, HIDDEN, CLIP = 7, 12, 20, 10.0


class Attention(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.w_ref = L.Linear(HIDDEN, HIDDEN)
            self.w_query = L.Linear(HIDDEN, HIDDEN, nobias=True)
            self.v = L.Linear(HIDDEN, 1, nobias=True)

    def forward(self, memory, query):
        keys = self.w_ref(memory, n_batch_axes=2)
        asked = F.broadcast_to(self.w_query(query)[:, None], keys.shape)
        return self.v(F.tanh(keys + asked), n_batch_axes=2)[:, :, 0]


class PointerNetwork(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.Linear(2, EMBED)
            self.encoder = L.StatelessLSTM(EMBED, HIDDEN)
            self.decoder = L.StatelessLSTM(EMBED, HIDDEN)
            self.start = chainer.Parameter(chainer.initializers.Normal(0.5), (1, EMBED))
            self.glimpse = Attention()
            self.pointer = Attention()

    def forward(self, cities, tours):
        batch = cities.shape[0]
        embedded = self.embed(cities, n_batch_axes=2)
        c = h = None
        memory = []
        for t in range(CITIES):
            c, h = self.encoder(c, h, embedded[:, t])
            memory.append(h)
        memory = F.stack(memory, axis=1)
        blocked = np.zeros((batch, CITIES), "f")
        x = F.broadcast_to(self.start, (batch, EMBED))
        chosen, policies = [], []
        for t in range(CITIES):
            c, h = self.decoder(c, h, x)
            attention = F.softmax(self.glimpse(memory, h) - 1e9 * blocked, axis=1)
            query = F.sum(F.broadcast_to(attention[:, :, None], memory.shape) * memory, axis=1)
            logits = CLIP * F.tanh(self.pointer(memory, query))
            log_policy = F.log_softmax(logits - 1e9 * blocked, axis=1)
            city = tours[:, t]
            chosen.append(F.select_item(log_policy, city))
            policies.append(F.exp(log_policy))
            blocked = blocked + np.eye(CITIES, dtype="f")[city]
            x = embedded[np.arange(batch), city]
        return F.stack(chosen, axis=1), F.stack(policies, axis=1)


def make(seed=0):
    np.random.seed(seed)
    net = PointerNetwork()
    for name, p in net.namedparams():
        if name.endswith("/b"):
            p.data[...] = np.random.normal(0, 0.3, p.shape)
        elif name.startswith(("/encoder", "/decoder", "/embed")):
            p.data[...] *= 2.5
        elif name.startswith("/glimpse") or name.endswith(("w_query/W", "w_ref/W")):
            p.data[...] *= 3.0
        elif name == "/pointer/v/W":
            p.data[...] *= 0.5
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    cities = rng.uniform(size=(4, CITIES, 2)).astype("float32")
    tours = np.stack([rng.permutation(CITIES) for _ in range(4)]).astype("int32")
    return cities, tours
