"""S4D in TensorFlow with raw variables, sequences kept as (batch, length, channels)."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
B, L, DIN, H, NST, LAYERS, NC = 4, 16, 3, 8, 8, 2, 5


def s4d_kernel(p, length):
    dt = tf.exp(p["log_dt"])
    A = tf.complex(-tf.exp(p["log_A_real"]), p["A_imag"])
    C = tf.complex(p["C_re"], p["C_im"])
    dtA = A * tf.cast(dt, tf.complex64)[:, None]
    steps = tf.cast(tf.range(length), tf.complex64)
    C = C * (tf.exp(dtA) - 1.0) / A
    return 2.0 * tf.math.real(tf.reduce_sum(C[..., None] * tf.exp(dtA[..., None] * steps), axis=1))


def causal_fft_conv(u, k, length):
    n = 2 * length
    u_f = tf.signal.rfft(tf.transpose(u, (0, 2, 1)), fft_length=[n])
    k_f = tf.signal.rfft(k, fft_length=[n])
    y = tf.signal.irfft(u_f * k_f, fft_length=[n])[..., :length]
    return tf.transpose(y, (0, 2, 1))


def s4d_layer(p, u):
    k = s4d_kernel(p, u.shape[1])
    y = causal_fft_conv(u, k, u.shape[1]) + u * p["D"]
    y = tf.nn.gelu(y, approximate=False)
    y = tf.matmul(y, p["w_out"]) + p["b_out"]
    a, b = tf.split(y, 2, axis=-1)
    return a * tf.sigmoid(b)


def layer_norm(x, scale, offset):
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * scale + offset


class S4Model(tf.Module):
    def __init__(self, seed=4):
        super().__init__()
        r = np.random.RandomState(seed)

        def v(name, *shape, base=0.0, s=0.4):
            return tf.Variable((base + s * r.randn(*shape)).astype("float32"), name=name)
        self.w_enc, self.b_enc = v("w_enc", DIN, H), v("b_enc", H)
        self.w_dec, self.b_dec = v("w_dec", H, NC), v("b_dec", NC)
        self.layers = []
        for i in range(LAYERS):
            self.layers.append({
                "log_dt": v(f"log_dt{i}", H, base=-1.5), "log_A_real": v(f"log_A_real{i}", H, NST // 2, base=-0.7, s=0.2),
                "A_imag": v(f"A_imag{i}", H, NST // 2, base=3.0), "C_re": v(f"C_re{i}", H, NST // 2),
                "C_im": v(f"C_im{i}", H, NST // 2), "D": v(f"D{i}", H), "w_out": v(f"w_out{i}", H, 2 * H),
                "b_out": v(f"b_out{i}", 2 * H), "scale": v(f"scale{i}", H, base=1.0, s=0.2), "offset": v(f"offset{i}", H)})

    def __call__(self, x):
        x = tf.matmul(x, self.w_enc) + self.b_enc
        for p in self.layers:
            z = s4d_layer(p, x)
            x = layer_norm(z + x, p["scale"], p["offset"])
        x = tf.reduce_mean(x, axis=1)
        return tf.matmul(x, self.w_dec) + self.b_dec


def make():
    return S4Model()


def inputs(seed):
    return (np.random.RandomState(seed).randn(B, L, DIN).astype("float32"),)


def load(p, o):
    n = lambda t: t.detach().numpy()
    p.w_enc.assign(n(o.encoder.weight).T)
    p.b_enc.assign(n(o.encoder.bias))
    p.w_dec.assign(n(o.decoder.weight).T)
    p.b_dec.assign(n(o.decoder.bias))
    for d, s, m in zip(p.layers, o.s4_layers, o.norms):
        for k in ("log_dt", "log_A_real", "A_imag"):
            d[k].assign(n(getattr(s.kernel, k)))
        d["C_re"].assign(n(s.kernel.C)[..., 0])
        d["C_im"].assign(n(s.kernel.C)[..., 1])
        d["D"].assign(n(s.D))
        d["w_out"].assign(n(s.output_linear[0].weight)[:, :, 0].T)
        d["b_out"].assign(n(s.output_linear[0].bias))
        d["scale"].assign(n(m.weight))
        d["offset"].assign(n(m.bias))
