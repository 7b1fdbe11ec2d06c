"""The stochastic subjects; importing a module registers its own."""

from . import dropout, layers, policies, sampling, worlds

__all__ = ["dropout", "layers", "policies", "sampling", "worlds"]
