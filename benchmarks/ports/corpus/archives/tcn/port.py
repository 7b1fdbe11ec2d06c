"""The recogniser in TensorFlow: log-mel front end, weight-normalised causal TCN, CTC log-softmax."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
FFT, HOP, MELS = 64, 16, 10


def mel_filters():
    hz = np.linspace(0, 4000, FFT // 2 + 1)
    to_mel = lambda f: 2595 * np.log10(1 + f / 700)
    points = 700 * (10 ** (np.linspace(0, to_mel(4000), MELS + 2) / 2595) - 1)
    up = (hz[:, None] - points[:-2]) / (points[1:-1] - points[:-2])
    down = (points[2:] - hz[:, None]) / (points[2:] - points[1:-1])
    return np.maximum(0, np.minimum(up, down)).astype("float32")


class TFRecogniser(tf.Module):
    def __init__(self):
        super().__init__()
        self.mel = tf.constant(mel_filters())

    def conv(self, x, gvb, dilation):
        g, v, bias = gvb
        norm = tf.sqrt(tf.reduce_sum(tf.square(v), axis=(0, 1), keepdims=True))
        w = v * g / norm
        pad = [[0, 0], [2 * dilation, 0], [0, 0]]
        return tf.nn.conv1d(tf.pad(x, pad), w, 1, "VALID", dilations=dilation) + bias

    def block(self, x, p):
        y = tf.nn.relu(self.conv(x, p["conv1"], p["dilation"]))
        y = tf.nn.relu(self.conv(y, p["conv2"], p["dilation"]))
        skip = x @ p["skip"][0] + p["skip"][1] if "skip" in p else x
        return tf.nn.relu(y + skip)

    def __call__(self, wave):
        wave = tf.pad(wave, [[0, 0], [FFT // 2, FFT // 2]], "REFLECT")
        window = tf.signal.hann_window(FFT, periodic=True)
        frames = tf.signal.frame(wave, FFT, HOP) * window
        spec = tf.signal.rfft(frames)
        power = tf.square(tf.abs(spec))
        logmel = tf.math.log(tf.maximum(power @ self.mel, 1e-5))
        mean = tf.reduce_mean(logmel, 1, keepdims=True)
        n = logmel.shape[1] - 1
        std = tf.sqrt(tf.reduce_sum(tf.square(logmel - mean), 1, keepdims=True) / n)
        y = (logmel - mean) / (std + 1e-3)
        for p in self.blocks:
            y = self.block(y, p)
        return tf.nn.log_softmax(y @ self.out[0] + self.out[1])


def make():
    return TFRecogniser()


def load(net, ref):
    blocks = []
    for i, b in enumerate((ref.block1, ref.block2)):
        p = {"dilation": 2**i}
        for name in ("conv1", "conv2"):
            conv = getattr(b, name)
            w = conv.parametrizations.weight
            p[name] = [tf.Variable(a) for a in (w.original0.detach().numpy().reshape(-1), w.original1.detach().numpy().transpose(2, 1, 0), conv.bias.detach().numpy())]
        if b.skip is not None:
            p["skip"] = [tf.Variable(b.skip.weight.detach().numpy()[:, :, 0].T), tf.Variable(b.skip.bias.detach().numpy())]
        blocks.append(p)
    net.blocks = blocks
    net.out = [tf.Variable(ref.out.weight.detach().numpy().T), tf.Variable(ref.out.bias.detach().numpy())]
