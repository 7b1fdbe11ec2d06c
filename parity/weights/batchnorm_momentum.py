"""How fast running statistics move in training, which the weights do not show.

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
    notes = []
    kept = [{t.name: t.kept for t in side.tensors} for side in (source, target)]
    for pair in found.pairs:
        if pair.role != "running mean" or pair.source is None:
            continue
        source_kept, target_kept = kept[0][pair.source_names[0]], kept[1][pair.target_names[0]]
        if source_kept is None or target_kept is None or abs(source_kept - target_kept) < 1e-6:
            continue
        words = [
            f"{old:g} ({load(framework).TRAITS.weights.momentum(old)} in {framework})"
            for old, framework in zip((source_kept, target_kept), frameworks, strict=True)
        ]
        notes.append(
            f"momentum: of its old value a batch leaves {words[0]} in the source, {words[1]} in "
            f"the target, at {' + '.join(pair.target_names)}; in inference it plays no part"
        )
    return notes
