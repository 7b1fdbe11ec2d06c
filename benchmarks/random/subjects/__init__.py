"""The stochastic subjects; importing a module registers its own."""

from . import choices, dropout, dropout_inside, layers, policies, sampling, worlds

__all__ = ["choices", "dropout", "dropout_inside", "layers", "policies", "sampling", "worlds"]
