"""For every test: one thread, a quiet TensorFlow, hypothesis without deadlines, pytester."""

import os

from hypothesis import settings

from parity.frameworks.quiet import silence

pytest_plugins = ["pytester"]

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's; it must be set before torch is imported
silence()
settings.register_profile("parity", deadline=None)
settings.register_profile("laws", deadline=None, max_examples=500)  # `make laws`
settings.load_profile("parity")
