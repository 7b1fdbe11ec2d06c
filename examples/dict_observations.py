"""Observations of several parts: an image, speeds, and a gear, put together before the policy.

The parts lie in a dict. The Keras port with the fault puts them together in the order of their
names, where the weights were trained on another:

    assert_parity(torch_net(), keras_net_with_fault(), observations=space())
"""

import numpy as np

from . import quiet_keras

FILTERS, GEARS, ACTIONS = 4, 5, 3
HEIGHT, WIDTH = 10, 9
FLAT = FILTERS * (HEIGHT - 2) * (WIDTH - 2)


def space():
    """Images come channels last in both networks, as the environment gives them."""
    from gymnasium import spaces

    return spaces.Dict(
        image=spaces.Box(0, 255, (HEIGHT, WIDTH, 3), np.uint8),
        speed=spaces.Box(-5, 5, (2,)),
        gear=spaces.Discrete(GEARS),
    )


def weights():
    """A kernel (height, width, in, out) and bias; one (in, out) and bias."""
    rng = np.random.default_rng(4)
    shapes = [(3, 3, 3, FILTERS), (FILTERS,), (FLAT + 2 + GEARS, ACTIONS), (ACTIONS,)]
    return [rng.normal(0, 0.2, shape).astype("float32") for shape in shapes]


def torch_net():
    """Logits (B, 3)."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, FILTERS, 3)
            self.policy = nn.Linear(FLAT + 2 + GEARS, ACTIONS)

        def forward(self, observation):
            pixels = observation["image"].permute(0, 3, 1, 2).float() / 255
            # Flattened height first, as Keras does it.
            features = F.relu(self.conv(pixels)).permute(0, 2, 3, 1).flatten(1)
            gear = F.one_hot(observation["gear"].long(), GEARS).float()
            return self.policy(torch.cat([features, observation["speed"], gear], dim=1))

    net = Policy()
    kernel, bias, policy, policy_bias = map(torch.from_numpy, weights())
    with torch.no_grad():
        net.conv.weight.copy_(kernel.permute(3, 2, 0, 1))
        net.conv.bias.copy_(bias)
        net.policy.weight.copy_(policy.T)
        net.policy.bias.copy_(policy_bias)
    return net


def keras_net(fault=False):
    keras = quiet_keras()
    layers, ops = keras.layers, keras.ops

    class Policy(keras.Model):
        def __init__(self):
            super().__init__()
            self.conv = layers.Conv2D(FILTERS, 3, activation="relu")
            self.flatten = layers.Flatten()
            self.policy = layers.Dense(ACTIONS)

        def call(self, observation):
            pixels = ops.cast(observation["image"], "float32") / 255
            features = self.flatten(self.conv(pixels))
            gear = ops.one_hot(observation["gear"], GEARS)
            return self.policy(self.joined(features, observation["speed"], gear))

        def joined(self, image, speed, gear):
            return ops.concatenate([image, speed, gear], axis=1)

    class WithFault(Policy):
        def joined(self, image, speed, gear):
            return ops.concatenate([gear, image, speed], axis=1)

    net = WithFault() if fault else Policy()
    shapes = {"image": (1, HEIGHT, WIDTH, 3), "speed": (1, 2), "gear": (1,)}
    types = {"image": "uint8", "speed": "float32", "gear": "int64"}
    net({name: np.zeros(shape, types[name]) for name, shape in shapes.items()})
    net.set_weights(weights())
    return net


def keras_net_with_fault():
    return keras_net(fault=True)
