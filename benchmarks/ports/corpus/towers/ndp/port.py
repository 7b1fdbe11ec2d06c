"""Neural dynamic policies as TensorFlow modules."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
OBS, DOF, BASIS, HID, STEPS = 9, 3, 6, 20, 5
AX, AZ, DT = 1.0, 25.0, 0.1
BZ = AZ / 4.0


class Dense(tf.Module):
    def __init__(self, rng, nin, nout, name=None):
        super().__init__(name)
        self.kernel = tf.Variable((0.3 * rng.randn(nin, nout)).astype("float32"), name="kernel")
        self.bias = tf.Variable((0.2 * rng.randn(nout)).astype("float32"), name="bias")

    def __call__(self, x):
        return tf.tensordot(x, self.kernel, 1) + self.bias


class LayerNorm(tf.Module):
    def __init__(self, rng, n, name=None):
        super().__init__(name)
        self.gamma = tf.Variable((1 + 0.2 * rng.randn(n)).astype("float32"), name="gamma")
        self.beta = tf.Variable((0.2 * rng.randn(n)).astype("float32"), name="beta")

    def __call__(self, x):
        mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, var, self.beta, self.gamma, 1e-5)


class DMP(tf.Module):
    def __init__(self):
        super().__init__()
        centres = np.exp(-AX * np.linspace(0, 1, BASIS))
        self.centres = tf.constant(centres, tf.float32)
        self.widths = tf.constant(BASIS ** 1.5 / centres / AX, tf.float32)
        # the phase does not depend on the data
        self.phase = np.cumprod(np.full(STEPS, 1.0 - AX * DT))

    def forcing(self, x, w):
        psi = tf.exp(-self.widths * tf.square(x - self.centres))
        return tf.linalg.matvec(w, psi) / tf.reduce_sum(psi) * x

    def __call__(self, goal, w, y0, dy0):
        y, dy = y0, dy0
        path, speed = [], []
        for x in self.phase.astype("float32"):
            force = self.forcing(x, w) * (goal - y0)
            acc = AZ * (BZ * (goal - y) - dy) + force
            dy = dy + DT * acc
            y = y + DT * dy
            path.append(y)
            speed.append(dy)
        return tf.stack(path, axis=1), tf.stack(speed, axis=1)


class NDPPolicy(tf.Module):
    def __init__(self):
        super().__init__()
        rng = np.random.RandomState(7)
        self.fc1 = Dense(rng, OBS + DOF, HID)
        self.norm = LayerNorm(rng, HID)
        self.fc2 = Dense(rng, HID, HID)
        self.goal = Dense(rng, HID, DOF)
        self.weights = Dense(rng, HID, DOF * BASIS)
        self.dmp = DMP()
        self.log_std = tf.Variable((0.2 * rng.randn(DOF)).astype("float32"))
        self.gain = tf.Variable((0.2 * rng.randn(2, DOF)).astype("float32"))
        self.vf = Dense(rng, HID + DOF, 1)

    def __call__(self, obs, y0, dy0):
        z = tf.tanh(self.norm(self.fc1(tf.concat([obs, y0], axis=-1))))
        z = z + tf.nn.relu(self.fc2(z))
        goal = y0 + self.goal(z)
        w = 20.0 * tf.reshape(self.weights(z), [-1, DOF, BASIS])
        path, speed = self.dmp(goal, w, y0, dy0)
        kp, kd = tf.unstack(tf.math.softplus(self.gain))
        torque = kp * (path - y0[:, None]) + kd * (speed - dy0[:, None])
        std = tf.broadcast_to(tf.exp(tf.clip_by_value(self.log_std, -3.0, 0.5)), tf.shape(torque))
        tiled = tf.tile(z[:, None], [1, STEPS, 1])
        value = self.vf(tf.concat([tiled, path], axis=-1))
        return torque, std, value, path


def make():
    return NDPPolicy()


def inputs(seed):
    r = np.random.RandomState(seed)
    return (r.randn(6, OBS).astype("float32"), r.randn(6, DOF).astype("float32"),
            (0.4 * r.randn(6, DOF)).astype("float32"))


def load(ported, original):
    for name in ("fc1", "fc2", "goal", "weights", "vf"):
        src, dst = getattr(original, name), getattr(ported, name)
        dst.kernel.assign(src.weight.detach().numpy().T)
        dst.bias.assign(src.bias.detach().numpy())
    ported.norm.gamma.assign(original.ln.weight.detach().numpy())
    ported.norm.beta.assign(original.ln.bias.detach().numpy())
    ported.log_std.assign(original.log_std.detach().numpy())
    ported.gain.assign(original.gain.detach().numpy())
