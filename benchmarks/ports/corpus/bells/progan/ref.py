"""Progressive GAN discriminator (Karras et al. 2018), channels last, raw variables."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
ALPHA, GROUP = 0.3, 4
CH = {16: 4, 8: 6, 4: 8}


class Discriminator(tf.Module):
    def __init__(self, seed=31):
        super().__init__()
        self.rng = np.random.RandomState(seed)
        self.p = {}
        for res in (16, 8):
            self.add(f"fromrgb{res}", (1, 1, 3, CH[res]))
            self.add(f"conv0_{res}", (3, 3, CH[res], CH[res]))
            self.add(f"conv1_{res}", (3, 3, CH[res], CH[res // 2]))
        self.add("conv_4", (3, 3, CH[4] + 1, CH[4]))
        self.add("dense0", (16 * CH[4], 12))
        self.add("dense1", (12, 2))

    def add(self, name, shape):
        self.p[name + "/w"] = tf.Variable(self.rng.randn(*shape).astype("float32"), name=name + "_w")
        self.p[name + "/b"] = tf.Variable(0.3 * self.rng.randn(shape[-1]).astype("float32"), name=name + "_b")

    def weight(self, name, gain=np.sqrt(2)):
        w = self.p[name + "/w"]
        fan_in = np.prod(w.shape[:-1])
        return w * np.float32(gain / np.sqrt(fan_in))

    def conv(self, x, name):
        x = tf.nn.conv2d(x, self.weight(name), 1, "SAME")
        return tf.nn.leaky_relu(x + self.p[name + "/b"], 0.2)

    def minibatch_stddev(self, x):
        n, h, w, c = x.shape
        y = tf.reshape(x, [GROUP, -1, h, w, c])
        y -= tf.reduce_mean(y, axis=0, keepdims=True)
        y = tf.reduce_mean(tf.square(y), axis=0)
        y = tf.sqrt(y + 1e-8)
        y = tf.reduce_mean(y, axis=[1, 2, 3], keepdims=True)
        y = tf.tile(y, [GROUP, h, w, 1])
        return tf.concat([x, y], axis=3)

    def __call__(self, img):
        x = self.conv(img, "fromrgb16")
        x = self.conv(self.conv(x, "conv0_16"), "conv1_16")
        x = tf.nn.avg_pool2d(x, 2, 2, "VALID")
        small = tf.nn.avg_pool2d(img, 2, 2, "VALID")
        y = self.conv(small, "fromrgb8")
        x = y + (x - y) * ALPHA
        x = self.conv(self.conv(x, "conv0_8"), "conv1_8")
        x = tf.nn.avg_pool2d(x, 2, 2, "VALID")
        x = self.minibatch_stddev(x)
        x = self.conv(x, "conv_4")
        x = tf.reshape(x, [x.shape[0], -1])
        x = tf.matmul(x, self.weight("dense0")) + self.p["dense0/b"]
        x = tf.nn.leaky_relu(x, 0.2)
        return tf.matmul(x, self.weight("dense1", gain=1.0)) + self.p["dense1/b"]


def make():
    return Discriminator()


def inputs(seed):
    r = np.random.RandomState(seed)
    return ((r.randn(8, 3, 16, 16) * np.linspace(0.2, 3, 8)[:, None, None, None]).astype("float32").transpose(0, 2, 3, 1),)
