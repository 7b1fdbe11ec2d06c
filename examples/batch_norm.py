"""A value network with batch normalisation, which in training does another thing than after it.

Keras's default epsilon is 1e-3, torch's 1e-5: the port with the fault leaves it. Both modes show
it, and the channel of small variance most:

    reference, port = torch_net(), keras_net_with_fault()
    assert_parity(reference, port, observations=observations())
    assert_parity(wrap(reference, mode="train"), wrap(port, mode="train"), observations=...)

In training the statistics are those of the batch, so that it has to be larger than 1.
"""

import numpy as np

from . import quiet_keras

FEATURES, UNITS = 6, 9


def observations(least=1):
    """Batches (B, 6), float32, of `least` observations or more."""
    from hypothesis import strategies as st

    from parity.observations import arrays

    sizes = [size for size in (1, 4, 7) if size >= least]
    return arrays((FEATURES,), low=-1, high=1, batch=st.sampled_from(sizes))


def weights():
    """Of the first layer, the normalisation, and the value: scale, offset, mean and variance."""
    rng = np.random.default_rng(3)
    first = [rng.normal(0, 0.4, (FEATURES, UNITS)), rng.normal(0, 0.1, UNITS)]
    norm = [
        rng.uniform(0.5, 1.5, UNITS),
        rng.normal(0, 0.1, UNITS),
        rng.normal(0, 0.2, UNITS),
        np.geomspace(0.01, 1, UNITS),
    ]
    value = [rng.normal(0, 0.4, (UNITS, 1)), rng.normal(0, 0.1, 1)]
    return [[array.astype("float32") for array in layer] for layer in (first, norm, value)]


def torch_net():
    """The value (B, 1) of each observation."""
    import torch
    from torch import nn

    class Value(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(FEATURES, UNITS)
            self.norm = nn.BatchNorm1d(UNITS)
            self.value = nn.Linear(UNITS, 1)

        def forward(self, observations):
            return self.value(torch.relu(self.norm(self.first(observations))))

    net = Value()
    first, norm, value = weights()
    targets = [
        (net.first.weight, first[0].T),
        (net.first.bias, first[1]),
        (net.norm.weight, norm[0]),
        (net.norm.bias, norm[1]),
        (net.norm.running_mean, norm[2]),
        (net.norm.running_var, norm[3]),
        (net.value.weight, value[0].T),
        (net.value.bias, value[1]),
    ]
    with torch.no_grad():
        for target, array in targets:
            target.copy_(torch.from_numpy(array))
    return net


def keras_net(epsilon=1e-5):
    keras = quiet_keras()
    layers, ops = keras.layers, keras.ops

    class Value(keras.Model):
        def __init__(self):
            super().__init__()
            self.first = layers.Dense(UNITS)
            self.norm = layers.BatchNormalization(epsilon=epsilon)
            self.value = layers.Dense(1)

        def call(self, observations, training=False):
            normal = self.norm(self.first(observations), training=training)
            return self.value(ops.relu(normal))

    net = Value()
    net(np.zeros((1, FEATURES), "float32"))
    for layer, arrays in zip((net.first, net.norm, net.value), weights(), strict=True):
        layer.set_weights(arrays)
    return net


def keras_net_with_fault():
    return keras_net(epsilon=1e-3)
