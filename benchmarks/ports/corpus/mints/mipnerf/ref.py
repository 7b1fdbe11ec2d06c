"""Mip-NeRF (Barron et al. 2021): integrated positional encoding and volume rendering, TF."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
RADIUS = 0.05


def conical_frustum_to_gaussian(d, t0, t1, base_radius):
    mu = (t0 + t1) / 2
    hw = (t1 - t0) / 2
    t_mean = mu + (2 * mu * hw**2) / (3 * mu**2 + hw**2)
    t_var = hw**2 / 3 - (4 / 15) * ((hw**4 * (12 * mu**2 - hw**2)) / (3 * mu**2 + hw**2) ** 2)
    r_var = base_radius**2 * (mu**2 / 4 + (5 / 12) * hw**2 - 4 / 15 * hw**4 / (3 * mu**2 + hw**2))
    mean = d[..., None, :] * t_mean[..., None]
    d_mag_sq = tf.reduce_sum(d**2, axis=-1, keepdims=True)
    d_outer_diag = d**2
    null_outer_diag = 1 - d_outer_diag / d_mag_sq
    t_cov = t_var[..., None] * d_outer_diag[..., None, :]
    xy_cov = r_var[..., None] * null_outer_diag[..., None, :]
    return mean, t_cov + xy_cov


def integrated_pos_enc(mean, cov_diag, max_deg):
    scales = tf.constant([2.0**i for i in range(max_deg)])
    shape = [mean.shape[0], mean.shape[1], -1]
    y = tf.reshape(mean[..., None, :] * scales[:, None], shape)
    y_var = tf.reshape(cov_diag[..., None, :] * scales[:, None] ** 2, shape)
    y = tf.concat([y, y + 0.5 * np.pi], axis=-1)
    y_var = tf.concat([y_var, y_var], axis=-1)
    return tf.exp(-0.5 * y_var) * tf.sin(y)


def pos_enc(x, max_deg):
    scales = tf.constant([2.0**i for i in range(max_deg)])
    xb = tf.reshape(x[..., None, :] * scales[:, None], [x.shape[0], -1])
    four = tf.sin(tf.concat([xb, xb + 0.5 * np.pi], axis=-1))
    return tf.concat([x, four], axis=-1)


def volumetric_rendering(rgb, density, t_vals, dirs):
    t_mids = 0.5 * (t_vals[..., :-1] + t_vals[..., 1:])
    t_dists = t_vals[..., 1:] - t_vals[..., :-1]
    delta = t_dists * tf.norm(dirs, axis=-1, keepdims=True)
    density_delta = density * delta
    alpha = 1 - tf.exp(-density_delta)
    trans = tf.exp(-tf.cumsum(density_delta, axis=-1, exclusive=True))
    weights = alpha * trans
    comp_rgb = tf.reduce_sum(weights[..., None] * rgb, axis=-2)
    acc = tf.reduce_sum(weights, axis=-1)
    distance = tf.reduce_sum(weights * t_mids, axis=-1) / acc
    comp_rgb = comp_rgb + (1.0 - acc[..., None])
    return comp_rgb, distance, weights


class Linear(tf.Module):
    def __init__(self, fin, fout, rng):
        super().__init__()
        self.kernel = tf.Variable((rng.normal(size=(fin, fout)) / np.sqrt(fin)).astype("float32"))
        self.bias = tf.Variable(rng.normal(size=(fout,)).astype("float32") * 0.2)

    def __call__(self, x):
        return tf.matmul(x, self.kernel) + self.bias


class MipNerf(tf.Module):
    def __init__(self, width=16, deg=4, deg_view=2, seed=1):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.deg, self.deg_view = deg, deg_view
        enc, view = 6 * deg, 3 + 6 * deg_view
        self.layers = [Linear(enc, width, rng), Linear(width, width, rng), Linear(width + enc, width, rng)]
        self.density = Linear(width, 1, rng)
        self.bottleneck = Linear(width, width, rng)
        self.view_layer = Linear(width + view, 8, rng)
        self.rgb = Linear(8, 3, rng)

    def mlp(self, x, condition):
        inputs = x
        for i, layer in enumerate(self.layers):
            x = tf.nn.relu(layer(x))
            if i == 1:
                x = tf.concat([x, inputs], axis=-1)
        raw_density = self.density(x)
        x = self.bottleneck(x)
        condition = tf.tile(condition[:, None, :], [1, x.shape[1], 1])
        x = tf.nn.relu(self.view_layer(tf.concat([x, condition], axis=-1)))
        return self.rgb(x), raw_density[..., 0]

    def __call__(self, origins, directions, t_vals):
        mean, cov = conical_frustum_to_gaussian(directions, t_vals[:, :-1], t_vals[:, 1:], RADIUS)
        mean = mean + origins[:, None, :]
        samples_enc = integrated_pos_enc(mean, cov, self.deg)
        viewdirs = directions / tf.norm(directions, axis=-1, keepdims=True)
        viewdirs_enc = pos_enc(viewdirs, self.deg_view)
        raw_rgb, raw_density = self.mlp(samples_enc, viewdirs_enc)
        rgb = tf.sigmoid(raw_rgb)
        rgb = rgb * (1 + 2 * 0.001) - 0.001
        density = tf.nn.softplus(raw_density - 1.0)
        return volumetric_rendering(rgb, density, t_vals, directions)


def make():
    return MipNerf()


def inputs(seed):
    rng = np.random.default_rng(seed)
    origins = rng.normal(size=(6, 3)) * 0.5
    directions = rng.normal(size=(6, 3))
    t_vals = 0.5 + np.cumsum(rng.uniform(0.1, 0.5, size=(6, 8)), axis=-1)
    return origins.astype("float32"), directions.astype("float32"), t_vals.astype("float32")
