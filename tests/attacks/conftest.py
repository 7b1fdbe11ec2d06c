"""The attacks need three frameworks; without one of them there is nothing to collect here."""

from importlib.util import find_spec

NEEDED = ("torch", "tensorflow", "chainer")

collect_ignore = [] if all(map(find_spec, NEEDED)) else ["test_attacks.py"]
