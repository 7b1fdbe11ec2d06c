"""Actions whose set and meaning the observation tells: a mask, and an embedding of each of them.

The network turns the state of the pole into an intent; an action is worth the product of the
intent with its embedding, and illegal ones get the least float. The Keras port with the fault
multiplies by the mask instead, so that an illegal action is worth 0, and often the most:

    assert_parity(torch_net(), keras_net_with_fault(), observations=observations())

All actions legal, the two agree.
"""

import numpy as np

from . import quiet_keras

ACTIONS, EMBEDDING = 7, 2


def observations():
    """Dicts of batches: `cart` (B, 4), `avail_actions` (B, 7, 2), `action_mask` (B, 7), float32."""
    from hypothesis import strategies as st

    from parity.observations import action_masks, arrays

    def batch(size):
        return st.fixed_dictionaries(
            {
                "cart": arrays((4,), low=-3, high=3, batch=size),
                "avail_actions": arrays((ACTIONS, EMBEDDING), low=-1, high=1, batch=size),
                "action_mask": action_masks(ACTIONS, size, dtype="float32"),
            }
        )

    return st.sampled_from([1, 3, 5]).flatmap(batch)


def weights():
    """Kernels (in, out) and biases of the two dense layers."""
    rng = np.random.default_rng(0)
    shapes = [(4, 16), (16,), (16, EMBEDDING), (EMBEDDING,)]
    return [rng.normal(0, 0.5, shape).astype("float32") for shape in shapes]


def torch_net():
    """Logits (B, 7) of the actions."""
    import torch
    from torch import nn

    class ParametricActions(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(4, 16)
            self.intent = nn.Linear(16, EMBEDDING)

        def forward(self, observation):
            hidden = torch.tanh(self.hidden(observation["cart"]))
            intent = self.intent(hidden).unsqueeze(1)
            logits = (observation["avail_actions"] * intent).sum(dim=2)
            least = torch.finfo(torch.float32).min
            return logits + torch.clamp(torch.log(observation["action_mask"]), min=least)

    net = ParametricActions()
    with torch.no_grad():
        for parameter, array in zip(net.parameters(), weights(), strict=True):
            parameter.copy_(torch.from_numpy(array.T))
    return net


def keras_net(fault=False):
    """The same, as RLlib's documentation writes it."""
    keras = quiet_keras()
    layers, ops = keras.layers, keras.ops

    class ParametricActions(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden = layers.Dense(16, activation="tanh")
            self.intent = layers.Dense(EMBEDDING)

        def call(self, observation):
            hidden = self.hidden(observation["cart"])
            intent = ops.expand_dims(self.intent(hidden), 1)
            logits = ops.sum(observation["avail_actions"] * intent, axis=2)
            return self.masked(logits, observation["action_mask"])

        def masked(self, logits, mask):
            return logits + ops.maximum(ops.log(mask), np.finfo("float32").min)

    class WithFault(ParametricActions):
        def masked(self, logits, mask):
            return logits * mask

    net = WithFault() if fault else ParametricActions()
    net(example())
    net.set_weights(weights())
    return net


def keras_net_with_fault():
    return keras_net(fault=True)


def example():
    """One observation, with which Keras makes the variables."""
    shapes = {"cart": (1, 4), "avail_actions": (1, ACTIONS, EMBEDDING), "action_mask": (1, ACTIONS)}
    return {name: np.ones(shape, "float32") for name, shape in shapes.items()}
