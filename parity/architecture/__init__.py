"""Structure without values: what two models are made of, for models whose weights are not shared.

Each tape becomes named steps (dense, convolution, batch norm, relu, ...) with the parameters that
it states, joined by the data flow. Operations that no step is known for stay loose: they may be
anything, so a step is reported missing only where the other model has no loose operations in its
place that this one has not. A parameter that one side does not state is never a difference.
"""

from parity.architecture.differences import structural_differences

__all__ = ["structural_differences"]
