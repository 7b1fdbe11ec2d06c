"""Reference formulas of reinforcement learning in NumPy float64, each written as in its paper.

Plain functions of arrays, for `parity.compare(..., formula=...)` and for tests; see docs/rl.md.
"""

from __future__ import annotations

from parity.rl.bounded import Beta, SquashedGaussian
from parity.rl.continuous import Deterministic, DiagonalGaussian, GaussianMixture
from parity.rl.distributional import (
    c51_loss,
    c51_projection,
    c51_q,
    c51_support,
    cosine_basis,
    iqn_embedding,
    iqn_loss,
    quantile_huber_loss,
    quantile_midpoints,
    quantile_q,
)
from parity.rl.distributions import (
    Autoregressive,
    Bernoulli,
    Categorical,
    Distribution,
    MultiCategorical,
    NoClosedForm,
)
from parity.rl.heads import dueling_q, factorised_noise, noisy_linear, noisy_linear_factorised
from parity.rl.methods import methods
from parity.rl.targets import (
    double_q_target,
    gae,
    lambda_returns,
    n_step_returns,
    q_target,
    vtrace,
)

__all__ = [
    "Autoregressive",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Deterministic",
    "DiagonalGaussian",
    "Distribution",
    "GaussianMixture",
    "MultiCategorical",
    "NoClosedForm",
    "SquashedGaussian",
    "c51_loss",
    "c51_projection",
    "c51_q",
    "c51_support",
    "cosine_basis",
    "double_q_target",
    "dueling_q",
    "factorised_noise",
    "gae",
    "iqn_embedding",
    "iqn_loss",
    "lambda_returns",
    "methods",
    "n_step_returns",
    "noisy_linear",
    "noisy_linear_factorised",
    "q_target",
    "quantile_huber_loss",
    "quantile_midpoints",
    "quantile_q",
    "vtrace",
]
