"""How fast running statistics move in training: compared beside the weights, which do not tell.

Torch gives the share of the new batch, 0.1; Keras and Chainer that of the old value, 0.9. Both are
one thing here.
"""

from __future__ import annotations

from parity.frameworks import load
from parity.weights.element_index import Addresses
from parity.weights.pairing import Pairing


def other_momenta(
    source: Addresses, target: Addresses, found: Pairing, frameworks: tuple[str, str]
) -> list[str]:
    """Sentences on norms that compute the same in inference and differ in training."""
    told = []
    kept = [{t.name: t.kept for t in side.tensors} for side in (source, target)]
    for pair in found.pairs:
        if pair.role != "running mean" or pair.source is None:
            continue
        ours, theirs = kept[0][pair.source_names[0]], kept[1][pair.target_names[0]]
        if ours is None or theirs is None or abs(ours - theirs) < 1e-6:
            continue
        words = [
            f"{old:g} ({load(framework).momentum(old)} in {framework})"
            for old, framework in zip((ours, theirs), frameworks, strict=True)
        ]
        told.append(
            f"momentum: of its old value a batch leaves {words[0]} in the source, {words[1]} in "
            f"the target, at {' + '.join(pair.target_names)}; in inference it plays no part"
        )
    return told
