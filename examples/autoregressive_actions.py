"""An action of two parts, the second drawn given the first: P(a1, a2) = P(a1) P(a2 | a1).

The log-probability of given actions takes one pass. The Keras port with the fault feeds the second
head a zero in the place of the first action, as one may who copies what is used to draw that one:

    assert_parity(torch_net(), keras_net_with_fault(), observations=observations())

Where the first action is 0 in all of a batch, the two agree.
"""

import numpy as np

from . import quiet_keras

FEATURES, SECOND = 6, 3


def observations():
    """Tuples of features (B, 6), float32, and actions (B, 2), int64: of 2 and of 3."""
    from hypothesis import strategies as st

    from parity.observations import arrays

    def batch(size):
        actions = arrays((2,), "int64", low=[0, 0], high=[1, SECOND - 1], batch=size)
        return st.tuples(arrays((FEATURES,), low=-2, high=2, batch=size), actions)

    return st.sampled_from([1, 4, 5]).flatmap(batch)


def weights():
    """Kernels (in, out) and biases: of the first head, the second's hidden layer, the second."""
    rng = np.random.default_rng(1)
    shapes = [(FEATURES, 2), (2,), (FEATURES + 1, 8), (8,), (8, SECOND), (SECOND,)]
    return [rng.normal(0, 0.7, shape).astype("float32") for shape in shapes]


def torch_net():
    """`logits1` (B, 2), `logits2` (B, 3), `log_probability` (B,)."""
    import torch
    from torch import nn
    from torch.distributions import Categorical

    class Autoregressive(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(FEATURES, 2)
            self.hidden = nn.Linear(FEATURES + 1, 8)
            self.second = nn.Linear(8, SECOND)

        def forward(self, features, actions):
            logits1 = self.first(features)
            given = actions[:, :1].float()
            hidden = torch.tanh(self.hidden(torch.cat([features, given], dim=1)))
            logits2 = self.second(hidden)
            one = Categorical(logits=logits1).log_prob(actions[:, 0])
            other = Categorical(logits=logits2).log_prob(actions[:, 1])
            return {"logits1": logits1, "logits2": logits2, "log_probability": one + other}

    net = Autoregressive()
    with torch.no_grad():
        for parameter, array in zip(net.parameters(), weights(), strict=True):
            parameter.copy_(torch.from_numpy(array.T))
    return net


def keras_net(fault=False):
    keras = quiet_keras()
    layers, ops = keras.layers, keras.ops

    def log_probability(logits, action):
        chosen = ops.one_hot(action, logits.shape[1])
        return ops.sum(chosen * ops.log_softmax(logits), axis=1)

    class Autoregressive(keras.Model):
        def __init__(self):
            super().__init__()
            self.first = layers.Dense(2)
            self.hidden = layers.Dense(8, activation="tanh")
            self.second = layers.Dense(SECOND)

        def call(self, features, actions):
            logits1 = self.first(features)
            given = self.given(ops.cast(actions[:, :1], "float32"))
            hidden = self.hidden(ops.concatenate([features, given], axis=1))
            logits2 = self.second(hidden)
            one = log_probability(logits1, actions[:, 0])
            other = log_probability(logits2, actions[:, 1])
            return {"logits1": logits1, "logits2": logits2, "log_probability": one + other}

        def given(self, first):
            return first

    class WithFault(Autoregressive):
        def given(self, first):
            return ops.zeros_like(first)

    net = WithFault() if fault else Autoregressive()
    net(np.zeros((1, FEATURES), "float32"), np.zeros((1, 2), "int64"))
    net.set_weights(weights())
    return net


def keras_net_with_fault():
    return keras_net(fault=True)
