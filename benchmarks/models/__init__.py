"""The pairs of models that are timed: the same network in torch and in Keras, with equal weights.

Each module has `torch_model()`, `keras_model()`, `inputs_for_torch()`, `inputs_for_keras()` (NumPy
arrays), and `pair()`, which gives all four.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before a model's module imports TensorFlow
