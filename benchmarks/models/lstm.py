"""One LSTM layer in torch and Keras, batch 16, 64 steps: many small operations on one side.

Torch holds the gates as i, f, g, o in rows, with two biases; Keras as i, f, c, o in columns, with
one bias. g and c are the same gate.
"""

import keras
import numpy as np
import torch
from keras import layers
from torch import nn

BATCH, STEPS, FEATURES, UNITS = 16, 64, 48, 96


def pair():
    return torch_model(), keras_model(), inputs_for_torch(), inputs_for_keras()


class Encoder(nn.Module):
    """All hidden states (batch, steps, units), and nothing else, as Keras gives them."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(FEATURES, UNITS, batch_first=True)

    def forward(self, sequence):
        hidden, _ = self.lstm(sequence)
        return hidden


@torch.no_grad()
def torch_model():
    net = Encoder()
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    for name, drawn in zip(names, draw_weights(), strict=True):
        getattr(net.lstm, name).copy_(torch.from_numpy(drawn))
    return net.eval()


def keras_model():
    net = keras.Sequential(
        [layers.Input((STEPS, FEATURES)), layers.LSTM(UNITS, return_sequences=True)]
    )
    from_input, from_hidden, input_bias, hidden_bias = draw_weights()
    net.layers[0].set_weights([from_input.T, from_hidden.T, input_bias + hidden_bias])
    return net


def inputs_for_torch():
    rng = np.random.default_rng(1)
    return rng.normal(size=(BATCH, STEPS, FEATURES)).astype(np.float32)


def inputs_for_keras():
    return inputs_for_torch()


def draw_weights():
    """Weights from the input and from the hidden state, and a bias for each, in torch's order."""
    rng = np.random.default_rng(0)
    gates = 4 * UNITS
    shapes = [(gates, FEATURES), (gates, UNITS), (gates,), (gates,)]
    return [rng.normal(0, 1 / np.sqrt(UNITS), shape).astype(np.float32) for shape in shapes]
