"""One C51 dueling DQN written for torch, Keras and Chainer; the Keras one has a fault to be found.

The three hold the same weights and get the same observations, so their Q-values should agree:

    parity compare examples.c51_dueling:torch_model examples.c51_dueling:keras_model \
        examples.c51_dueling:chainer_model --inputs observations.npz

Each framework is imported by the function that needs it, so one may be missing.
"""

import contextlib
import os

import numpy as np

from . import weights


def observations(batch=5):
    """Stacked frames, scaled to [-1, 1), as torch and Chainer want them: (batch, 4, 84, 84)."""
    rng = np.random.default_rng(1)
    return rng.uniform(-1, 1, size=(batch, 4, 84, 84)).astype(np.float32)


def torch_model():
    from .torch_net import C51DuelingDQN

    net = C51DuelingDQN()
    weights.load_into_torch(net, weights.draw())
    return net.eval()


def keras_model():
    """The network with the fault, wrapped, for its images are NHWC."""
    import parity

    with silent_tensorflow():
        from .keras_net import C51DuelingDQN

    net = C51DuelingDQN()
    weights.load_into_keras(net, weights.draw())
    return parity.wrap(net, input_layout="NHWC")


def chainer_model():
    from parity.frameworks.chainer_numpy import import_chainer

    import_chainer()  # Chainer 7.8.1 alone does not import on NumPy 2
    from .chainer_net import C51DuelingDQN

    net = C51DuelingDQN()
    weights.load_into_chainer(net, weights.draw())
    return net


@contextlib.contextmanager
def silent_tensorflow():
    """Keeps the log lines away that TensorFlow writes when it is imported.

    TensorFlow 2.21 writes some before it reads TF_CPP_MIN_LOG_LEVEL, so that alone does not do.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    stderr = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
