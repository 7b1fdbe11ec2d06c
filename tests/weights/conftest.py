"""A module with a net in torch and the same in Keras, as the command names them."""

import pytest

MODULE = """
import keras, torch
from keras import layers

def source():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2))

def target():
    hidden = layers.Dense(6, activation="tanh", name="a")
    return keras.Sequential([layers.Input((4,)), hidden, layers.Dense(2, name="b")])

def other():
    return keras.Sequential([layers.Input((4,)), layers.Dense(6), layers.Dense(2)])

TARGET = target()

def broken():
    raise RuntimeError("no such thing")
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    name = f"nets_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name
