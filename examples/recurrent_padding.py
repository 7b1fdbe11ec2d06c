"""An LSTM over episodes of several lengths, padded to one, that starts from a given state.

The state that comes out is that at each episode's last step, and outputs behind it are zero. The
Keras port with the fault does not tell its LSTM the mask: the state that comes out is that after
the padding, which parts from the right one by whatever lies there.

    assert_parity(torch_net(), keras_net_with_fault(), observations=observations())

Episodes of one length hide it.
"""

import numpy as np

from . import quiet_keras

FEATURES, UNITS, ACTIONS = 3, 5, 4


def observations():
    """Dicts: `observations` (B, T, 3), `lengths` and `mask` of the episodes, `state` of h and c."""
    import gymnasium

    from parity.observations import sequences

    space = gymnasium.spaces.Box(-2, 2, (FEATURES,))
    return sequences(space, batch=2, steps=6, state={"h": UNITS, "c": UNITS})


def weights():
    """Kernels (in, 4 units) and bias, gates in the order i, f, c, o; then those of the policy."""
    rng = np.random.default_rng(2)
    shapes = [(FEATURES, 4 * UNITS), (UNITS, 4 * UNITS), (4 * UNITS,), (UNITS, ACTIONS), (ACTIONS,)]
    return [rng.normal(0, 0.6, shape).astype("float32") for shape in shapes]


def torch_net():
    """`logits` (B, T, 4), zero in the padding, and the new `h` and `c` (B, 5)."""
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(FEATURES, UNITS, batch_first=True)
            self.policy = nn.Linear(UNITS, ACTIONS)

        def forward(self, batch):
            h, c = batch["state"]["h"].unsqueeze(0), batch["state"]["c"].unsqueeze(0)
            packed = pack_padded_sequence(
                batch["observations"], batch["lengths"], batch_first=True, enforce_sorted=False
            )
            hidden, (h, c) = self.lstm(packed, (h, c))
            steps = batch["observations"].shape[1]
            hidden, _ = pad_packed_sequence(hidden, batch_first=True, total_length=steps)
            logits = self.policy(hidden) * batch["mask"].unsqueeze(2)
            return {"logits": logits, "h": h[0], "c": c[0]}

    net = Recurrent()
    kernel, recurrent, bias, policy, policy_bias = map(torch.from_numpy, weights())
    with torch.no_grad():
        net.lstm.weight_ih_l0.copy_(kernel.T)
        net.lstm.weight_hh_l0.copy_(recurrent.T)
        net.lstm.bias_ih_l0.copy_(bias)
        net.lstm.bias_hh_l0.zero_()
        net.policy.weight.copy_(policy.T)
        net.policy.bias.copy_(policy_bias)
    return net


def keras_net(fault=False):
    keras = quiet_keras()
    layers, ops = keras.layers, keras.ops

    class Recurrent(keras.Model):
        def __init__(self):
            super().__init__()
            self.lstm = layers.LSTM(UNITS, return_sequences=True, return_state=True)
            self.policy = layers.Dense(ACTIONS)

        def call(self, batch):
            hidden, h, c = self.run(batch, [batch["state"]["h"], batch["state"]["c"]])
            inside = ops.cast(ops.expand_dims(batch["mask"], 2), "float32")
            return {"logits": self.policy(hidden) * inside, "h": h, "c": c}

        def run(self, batch, state):
            return self.lstm(batch["observations"], mask=batch["mask"], initial_state=state)

    class WithFault(Recurrent):
        def run(self, batch, state):
            return self.lstm(batch["observations"], initial_state=state)

    net = WithFault() if fault else Recurrent()
    zeros = {"observations": np.zeros((1, 2, FEATURES), "float32"), "mask": np.ones((1, 2), bool)}
    net(zeros | {"state": {name: np.zeros((1, UNITS), "float32") for name in "hc"}})
    net.set_weights(weights())
    return net


def keras_net_with_fault():
    return keras_net(fault=True)
