import parity  # noqa: F401  (makes chainer importable)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


def gelu(x):
    return 0.5 * x * (1.0 + F.erf(x * float(1 / np.sqrt(2.0))))


def raw(x):
    return x.array if isinstance(x, chainer.Variable) else x


class Block(chainer.Chain):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.scale = 1.0 / float(np.sqrt(d // heads))
        with self.init_scope():
            self.ln_1 = L.LayerNormalization(d, eps=1e-5)
            self.ln_2 = L.LayerNormalization(d, eps=1e-5)
            self.qkv = L.Linear(d, 3 * d)
            self.proj = L.Linear(d, d)
            self.up = L.Linear(d, 4 * d)
            self.down = L.Linear(4 * d, d)

    def __call__(self, x, allowed, b):
        # x is kept flat: (b * t, d)
        t, d = x.shape[0] // b, x.shape[1]
        dh = d // self.heads
        qkv = F.reshape(self.qkv(self.ln_1(x)), (b, t, 3, self.heads, dh))
        qkv = F.transpose(qkv, (2, 0, 3, 1, 4))
        q, k, v = (F.reshape(qkv[i], (b * self.heads, t, dh)) for i in range(3))
        w = F.matmul(q, k, transb=True) * self.scale
        ok = np.repeat(allowed, self.heads, axis=0)
        w = F.where(ok, w, np.full(w.shape, -1e9, "f"))
        y = F.matmul(F.softmax(w, axis=2), v)
        y = F.reshape(F.transpose(F.reshape(y, (b, self.heads, t, dh)), (0, 2, 1, 3)), (b * t, d))
        x = x + self.proj(y)
        return x + self.down(gelu(self.up(self.ln_2(x))))


class DecisionTransformer(chainer.Chain):
    def __init__(self, state_dim=5, act_dim=3, d=16, heads=4, layers=2, max_ep_len=40):
        super().__init__()
        self.d = d
        with self.init_scope():
            self.embed_timestep = L.EmbedID(max_ep_len, d)
            self.embed_return = L.Linear(1, d)
            self.embed_state = L.Linear(state_dim, d)
            self.embed_action = L.Linear(act_dim, d)
            self.embed_ln = L.LayerNormalization(d, eps=1e-5)
            self.blocks = chainer.ChainList(*[Block(d, heads) for _ in range(layers)])
            self.ln_f = L.LayerNormalization(d, eps=1e-5)
            self.predict_state = L.Linear(d, state_dim)
            self.predict_action = L.Linear(d, act_dim)
            self.predict_return = L.Linear(d, 1)

    def __call__(self, states, actions, returns_to_go, timesteps, attention_mask):
        b, n = states.shape[:2]
        te = self.embed_timestep(timesteps)
        toks = [self.embed_return(returns_to_go, n_batch_axes=2) + te,
                self.embed_state(states, n_batch_axes=2) + te,
                self.embed_action(actions, n_batch_axes=2) + te]
        x = self.embed_ln(F.reshape(F.stack(toks, axis=2), (b * n * 3, self.d)))
        mask = raw(attention_mask).astype(bool)
        pad = np.repeat(mask, 3, axis=1)
        allowed = np.tril(np.ones((3 * n, 3 * n), bool))[None] & pad[:, None, :]
        for blk in self.blocks:
            x = blk(x, allowed, b)
        x = F.reshape(self.ln_f(x), (b, n, 3, self.d))
        after_state, after_action = x[:, :, 1], x[:, :, 2]
        m = mask[..., None].astype("f")

        def head(link, z):
            y = link(z, n_batch_axes=2)
            return y * np.broadcast_to(m, y.shape)

        return (head(self.predict_state, after_action),
                F.tanh(head(self.predict_action, after_state)),
                head(self.predict_return, after_action))


def make():
    return DecisionTransformer()


def load(port_model, ref_model):
    sd = {k: v.detach().numpy() for k, v in ref_model.state_dict().items()}

    def lin(link, name):
        link.W.array[...] = sd[name + ".weight"]
        link.b.array[...] = sd[name + ".bias"]

    def ln(link, name):
        link.gamma.array[...] = sd[name + ".weight"]
        link.beta.array[...] = sd[name + ".bias"]

    port_model.embed_timestep.W.array[...] = sd["embed_timestep.weight"]
    for n in ("embed_return", "embed_state", "embed_action", "predict_state", "predict_return"):
        lin(port_model[n], n)
    lin(port_model.predict_action, "predict_action.0")
    ln(port_model.embed_ln, "embed_ln")
    ln(port_model.ln_f, "ln_f")
    for i, blk in enumerate(port_model.blocks):
        p = f"blocks.{i}."
        ln(blk.ln_1, p + "ln_1")
        ln(blk.ln_2, p + "ln_2")
        lin(blk.qkv, p + "qkv")
        lin(blk.proj, p + "proj")
        lin(blk.up, p + "mlp.0")
        lin(blk.down, p + "mlp.2")
