"""Keras 3 port of the ConvLSTM nowcaster, channels last."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"


class PeepholeCell(layers.Layer):
    def __init__(self, units, kernel, **kw):
        super().__init__(**kw)
        self.units = units
        self.from_x = layers.Conv2D(4 * units, kernel, padding="same")
        self.from_h = layers.Conv2D(4 * units, kernel, padding="same", use_bias=False)

    def build(self, shape):
        hw = tuple(shape[1:3])
        self.from_x.build(shape)
        self.from_h.build((None,) + hw + (self.units,))
        self.peep_i = self.add_weight(shape=hw + (self.units,), name="peep_i")
        self.peep_f = self.add_weight(shape=hw + (self.units,), name="peep_f")
        self.peep_o = self.add_weight(shape=hw + (self.units,), name="peep_o")

    def call(self, x, h, c):
        gates = self.from_x(x) + self.from_h(h)
        gi, gf, gc, go = ops.split(gates, 4, axis=-1)
        gi = ops.sigmoid(gi + self.peep_i * c)
        gf = ops.sigmoid(gf + self.peep_f * c)
        new_c = gf * c + gi * ops.tanh(gc)
        go = ops.sigmoid(go + self.peep_o * new_c)
        return go * ops.tanh(new_c), new_c


class Nowcast(keras.Model):
    def __init__(self, units=(6, 8), horizon=2):
        super().__init__()
        self.horizon, self.units = horizon, units
        self.pad = layers.ZeroPadding2D(1)
        self.stem = layers.Conv2D(4, 3, strides=2)
        self.norm = layers.GroupNormalization(groups=2, epsilon=1e-5)
        self.encoder = [PeepholeCell(units[0], 3, name="e1"), PeepholeCell(units[1], 3, name="e2")]
        self.decoder = [PeepholeCell(units[0], 3, name="d1"), PeepholeCell(units[1], 3, name="d2")]
        self.upsample = layers.Conv2DTranspose(6, 4, strides=2, padding="same")
        self.to_frame = layers.Conv2D(1, 1)

    def features(self, frame):
        z = self.norm(self.stem(self.pad(frame)))
        return ops.leaky_relu(z, negative_slope=0.2)

    def run(self, cells, x, states):
        new = []
        for cell, (h, c) in zip(cells, states):
            x, c = cell(x, h, c)
            new.append((x, c))
        return new

    def call(self, video):                         # B T H W 1
        b, steps, height, width = ops.shape(video)[:4]
        states = []
        for u in self.units:
            zero = ops.zeros((b, height // 2, width // 2, u))
            states.append((zero, zero))
        for t in range(steps):
            states = self.run(self.encoder, self.features(video[:, t]), states)
        last = video[:, -1]
        predictions = []
        for _ in range(self.horizon):
            states = self.run(self.decoder, self.features(last), states)
            y = self.upsample(ops.concatenate([states[0][0], states[1][0]], axis=-1))
            y = self.to_frame(ops.leaky_relu(y, negative_slope=0.2))
            p = ops.clip(last, 0.02, 0.98)
            last = ops.sigmoid(y + ops.log(p / (1.0 - p)))
            predictions.append(last)
        return ops.stack(predictions, axis=1)


def make(seed=5):
    m = Nowcast()
    m(np.zeros((1, 4, 16, 16, 1), "float32"))
    r = np.random.default_rng(seed)
    for w in m.weights:
        z = r.standard_normal(w.shape)
        if w.name == "gamma":
            w.assign(1 + 0.2 * z)
        elif len(w.shape) == 4:
            w.assign(z / np.sqrt(np.prod(w.shape[:3])))
        else:
            w.assign(0.3 * z)
    return m


def inputs(seed):
    import importlib.util, os
    spec = importlib.util.spec_from_file_location("convlstm_ref", os.path.join(os.path.dirname(__file__), "ref.py"))
    ref = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ref)
    return (np.ascontiguousarray(ref.inputs(seed)[0].transpose(0, 1, 3, 4, 2)),)


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    conv = lambda k: sd[k].transpose(2, 3, 1, 0)
    ported.stem.set_weights([conv("stem.weight"), sd["stem.bias"]])
    ported.norm.set_weights([sd["stem_norm.weight"], sd["stem_norm.bias"]])
    ported.upsample.set_weights([conv("up.weight"), sd["up.bias"]])
    ported.to_frame.set_weights([conv("head.weight"), sd["head.bias"]])
    for cells, n in ((ported.encoder, "enc"), (ported.decoder, "dec")):
        for i, cell in enumerate(cells):
            p = f"{n}{i + 1}."
            cell.from_x.set_weights([conv(p + "conv_x.weight"), sd[p + "conv_x.bias"]])
            cell.from_h.set_weights([conv(p + "conv_h.weight")])
            for ours, theirs in (("peep_i", "w_ci"), ("peep_f", "w_cf"), ("peep_o", "w_co")):
                getattr(cell, ours).assign(sd[p + theirs].transpose(1, 2, 0))
