"""The IMPALA core in Keras, batch major."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
A, H, T, B = 4, 24, 6, 5


class KerasCore(keras.Model):
    def __init__(self):
        super().__init__()
        self.fc = layers.Dense(32, activation="relu")
        self.cell = layers.LSTMCell(H, recurrent_activation="sigmoid")
        self.policy = layers.Dense(A)
        self.baseline = layers.Dense(1)
        self.adv = layers.Dense(A)

    def call(self, frame, last_action, reward, done):
        x = self.fc(frame)
        clipped = ops.clip(reward, -1.0, 1.0)
        x = ops.concatenate([x, clipped[..., None], ops.one_hot(last_action, A)], axis=-1)
        keep = 1.0 - ops.cast(done, "float32")
        h = c = ops.zeros((x.shape[0], H))
        outs = []
        for t in range(T):
            nd = keep[:, t : t + 1]
            h = h * nd
            c = c * nd
            out, (h, c) = self.cell(x[:, t], [h, c])
            outs.append(out)
        core = ops.stack(outs, axis=1)
        baseline = self.baseline(core)
        adv = self.adv(core)
        return {"logits": self.policy(core), "baseline": ops.squeeze(baseline, -1),
                "q": baseline + adv - ops.mean(adv, axis=-1, keepdims=True)}


def make():
    net = KerasCore()
    net(np.zeros((B, T, 9), "float32"), np.zeros((B, T), "int64"), np.zeros((B, T), "float32"), np.zeros((B, T), bool))
    return net


def load(net, ref):
    for name in ("fc", "policy", "baseline", "adv"):
        lin = getattr(ref, name)
        getattr(net, name).set_weights([lin.weight.detach().numpy().T, lin.bias.detach().numpy()])
    p = {k: v.detach().numpy() for k, v in ref.core.named_parameters()}
    net.cell.set_weights([p["weight_ih_l0"].T, p["weight_hh_l0"].T, p["bias_ih_l0"] + p["bias_hh_l0"]])
