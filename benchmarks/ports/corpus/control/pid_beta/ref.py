"""Set-point tracking agent: PID features (anti-windup, filtered derivative), Beta policy, twin critic. Keras."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
NJ, DT, TAU, I_MAX = 3, 0.1, 0.3, 0.08
LOW = np.array([-1.0, -2.0, 0.0], np.float32)
HIGH = np.array([1.0, 2.0, 1.5], np.float32)


def mlp(out, name):
    b = lambda: keras.initializers.RandomNormal(stddev=0.2)
    return keras.Sequential([layers.Dense(32, activation="swish", bias_initializer=b()),
                             layers.Dense(24, activation="tanh", bias_initializer=b()),
                             layers.Dense(out, bias_initializer=b())], name=name)


def pid_features(setpoint, meas):
    err = setpoint - meas
    integ = tf.zeros_like(err[:, 0])
    deriv = tf.zeros_like(integ)
    a = DT / (TAU + DT)
    for t in range(err.shape[1]):
        integ = tf.clip_by_value(integ + DT * err[:, t], -I_MAX, I_MAX)
        if t > 0:                                      # derivative on measurement
            raw = -(meas[:, t] - meas[:, t - 1]) / DT
            deriv = (1 - a) * deriv + a * raw
    return tf.concat([err[:, -1], integ, deriv], axis=-1)


class PIDBetaAgent(keras.Model):
    def __init__(self):
        super().__init__()
        self.actor = mlp(2 * NJ, "actor")
        self.q1, self.q2 = mlp(1, "q1"), mlp(1, "q2")
        self.gain = self.add_weight(name="gain", shape=(3 * NJ,), initializer=keras.initializers.RandomUniform(0.5, 2.0))

    def call(self, setpoint, meas, action):
        f = pid_features(setpoint, meas)
        f = tf.math.asinh(f * self.gain)
        ab = 1.0 + tf.nn.softplus(self.actor(f))
        a, b = ab[:, :NJ], ab[:, NJ:]
        span = HIGH - LOW
        x = tf.clip_by_value((action - LOW) / span, 1e-4, 1 - 1e-4)
        log_b = tf.math.lgamma(a) + tf.math.lgamma(b) - tf.math.lgamma(a + b)
        logp = tf.reduce_sum((a - 1) * tf.math.log(x) + (b - 1) * tf.math.log1p(-x) - log_b - tf.math.log(span), -1)
        ent = (log_b - (a - 1) * tf.math.digamma(a) - (b - 1) * tf.math.digamma(b)
               + (a + b - 2) * tf.math.digamma(a + b) + tf.math.log(span))
        mean = LOW + span * a / (a + b)
        fa = tf.concat([f, 2 * x - 1], -1)
        q = tf.minimum(self.q1(fa), self.q2(fa))[:, 0]
        return {"mean": mean, "logp": logp, "entropy": tf.reduce_sum(ent, -1), "q": q}


def make():
    keras.utils.set_random_seed(44)
    m = PIDBetaAgent()
    m(tf.zeros((1, 6, NJ)), tf.zeros((1, 6, NJ)), tf.zeros((1, NJ)))
    return m


def inputs(seed):
    g = np.random.default_rng(seed + 500)
    sp = np.repeat(g.normal(0, 0.25, (7, 1, NJ)), 6, 1)
    y = np.cumsum(g.normal(0, 0.4, (7, 6, NJ)), 1)
    u = LOW + (HIGH - LOW) * g.beta(2, 2, (7, NJ))
    return sp.astype(np.float32), y.astype(np.float32), u.astype(np.float32)
