"""WaveNet: gated dilated causal convolutions over mu-law codes, in Keras (NTC)."""
import keras
import tensorflow as tf

FRAMEWORK = "tensorflow"


class KLayer(keras.layers.Layer):
    def __init__(self, c, s, i):
        super().__init__()
        d = 2**i
        padding = "causal"
        self.filter = keras.layers.Conv1D(c, 2, dilation_rate=d, padding=padding)
        self.gate = keras.layers.Conv1D(c, 2, dilation_rate=d, padding=padding)
        self.res, self.skip = keras.layers.Conv1D(c, 1), keras.layers.Conv1D(s, 1)

    def call(self, x):
        f, g = self.filter(x), self.gate(x)
        z = tf.tanh(f) * tf.sigmoid(g)
        r = self.res(z)
        out = x + r
        return out, self.skip(z)


class KWaveNet(keras.Model):
    def __init__(self, codes=32, c=24, s=24, depth=4):
        super().__init__()
        self.embed = keras.layers.Embedding(codes, c)
        self.stem = keras.layers.Conv1D(c, 2, padding="causal")
        self.dilated = [KLayer(c, s, i) for i in range(depth)]
        self.out1, self.out2 = keras.layers.Conv1D(s, 1, activation="relu"), keras.layers.Conv1D(codes, 1)

    def call(self, codes):
        x = self.stem(self.embed(codes))
        skips = []
        for layer in self.dilated:
            x, skip = layer(x)
            skips.append(skip)
        y = self.out2(self.out1(tf.nn.relu(tf.add_n(skips))))
        return tf.nn.log_softmax(y, axis=-1)


def make():
    net = KWaveNet()
    net(tf.zeros((1, 40), tf.int32))
    return net


def load(net, ref):
    def conv(mine, theirs):
        mine.set_weights([theirs.weight.detach().numpy().transpose(2, 1, 0), theirs.bias.detach().numpy()])

    net.embed.set_weights([ref.embed.weight.detach().numpy()])
    conv(net.stem, ref.stem), conv(net.out1, ref.out1), conv(net.out2, ref.out2)
    for mine, theirs in zip(net.dilated, ref.layers):
        for n in ("filter", "gate", "res", "skip"):
            conv(getattr(mine, n), getattr(theirs, n))
