"""The table of frameworks that a described network can be built in."""

from __future__ import annotations

from .forms_chainer import CHAINER
from .forms_keras import KERAS, KERAS_FUNCTIONAL
from .forms_tensorflow import TENSORFLOW
from .forms_torch import TORCH

FLAVOURS = {
    flavour.name: flavour for flavour in (TORCH, KERAS, KERAS_FUNCTIONAL, TENSORFLOW, CHAINER)
}
