"""N-BEATS with a trend and a seasonality stack, served by hand in NumPy."""
import numpy as np

FRAMEWORK = "numpy"
B, H, DEG = 20, 6, 3  # backcast, horizon, polynomial degree


class NumpyNBeats:
    def __init__(self):
        self.w = {}
        self.trend = [self.polynomial(B), self.polynomial(H)]
        self.season = [self.fourier(B), self.fourier(H)]

    def polynomial(self, size):
        t = np.arange(size, dtype=np.float32)
        t = t / np.float32(size)
        return np.stack([t**i for i in range(DEG + 1)])

    def fourier(self, size):
        t = np.arange(size, dtype=np.float32) / np.float32(size)
        g = np.outer(np.arange(1, H // 2 + 1), t).astype(np.float32) * np.float32(2 * np.pi)
        return np.concatenate([np.cos(g), np.sin(g)])

    def linear(self, x, name):
        return np.matmul(x, self.w[name + ".weight"].T) + self.w[name + ".bias"]

    def __call__(self, series):
        scale = np.max(np.abs(series), axis=1, keepdims=True) + np.float32(1e-8)
        residual = series / scale
        forecast = 0
        for i in range(4):
            h = residual
            for j in range(3):
                h = self.linear(h, f"blocks.{i}.fc.{j}")
                h = np.maximum(h, 0)
            theta = self.linear(h, f"blocks.{i}.basis.theta")
            tb, tf = np.split(theta, 2, axis=-1)
            back, fore = self.trend if i < 2 else self.season
            forecast = forecast + tf @ fore
            residual = residual - tb @ back
        return forecast * scale, residual


def make():
    return NumpyNBeats()


def load(net, ref):
    net.w = {k: v.numpy().copy() for k, v in ref.state_dict().items()}
