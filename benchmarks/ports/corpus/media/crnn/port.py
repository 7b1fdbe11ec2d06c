"""CRNN: convs, a bidirectional GRU and log-probabilities for CTC, in Keras layers (NHWC)."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
H = 20


class KCRNN(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv1 = layers.Conv2D(8, 3, padding="same", activation="relu")
        self.conv2 = layers.Conv2D(16, 3, padding="same")
        self.bn = layers.BatchNormalization(epsilon=1e-5)
        self.pool1 = layers.MaxPool2D(2)
        self.pool2 = layers.MaxPool2D((2, 1))
        self.fw = layers.GRU(H, return_sequences=True)
        self.bw = layers.GRU(H, return_sequences=True, go_backwards=True)
        self.out = layers.Dense(12)

    def call(self, img):
        x = self.pool1(self.conv1(img))
        x = self.pool2(ops.relu(self.bn(self.conv2(x))))
        b, h, w, c = x.shape
        x = ops.transpose(x, (0, 2, 3, 1))
        x = ops.reshape(x, (b, w, c * h))
        back = self.bw(x)
        back = ops.flip(back, axis=1)
        both = [self.fw(x), back]
        y = ops.concatenate(both, axis=-1)
        return ops.transpose(ops.log_softmax(self.out(y), axis=-1), (1, 0, 2))


def make():
    net = KCRNN()
    net(np.zeros((3, 16, 24, 1), "float32"))
    return net


def load(net, ref):
    def g(t):
        return t.detach().numpy()

    for k in ("conv1", "conv2"):
        m = getattr(ref, k)
        getattr(net, k).set_weights([g(m.weight).transpose(2, 3, 1, 0), g(m.bias)])
    net.bn.set_weights([g(ref.bn.weight), g(ref.bn.bias), g(ref.bn.running_mean), g(ref.bn.running_var)])
    net.out.set_weights([g(ref.out.weight).T, g(ref.out.bias)])
    for layer, suffix in ((net.fw, ""), (net.bw, "_reverse")):
        def order(a):  # torch r, z, n -> keras z, r, n
            r, z, n = np.split(a, 3, axis=0)
            return np.concatenate([z, r, n], axis=0)
        p = {k: g(getattr(ref.rnn, f"{k}_l0{suffix}")) for k in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
        layer.set_weights([order(p["weight_ih"]).T, order(p["weight_hh"]).T,
                           np.stack([order(p["bias_ih"]), order(p["bias_hh"])])])
