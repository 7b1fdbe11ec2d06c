"""Runs RLlib's own models through the tool and tells what it finds, as Markdown.

    python -m benchmarks.rllib [--write docs/rllib.md]

Needs the environment of `make rllib`. Weights and inputs are seeded.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from tests.rllib import nets  # first: it sets TensorFlow up as RLlib needs it

from parity.weights.inventory import inventory  # isort: skip
import parity  # isort: skip
import ray  # isort: skip
import tensorflow as tf  # isort: skip
import torch  # isort: skip
from tests.rllib.differences import DIFFERENCES, Difference, observed  # isort: skip

COMMAND = "python -m benchmarks.rllib --write docs/rllib.md"

USE = """
A `TFModelV2` or `TorchModelV2`, RLlib's own or yours, is recognised; `framework="rllib"` says so
too. It is called as RLlib calls it, and gives its outputs by name: `logits`, `value`
(`value_function()` after `forward()`), `state_out`, and of DQN's models `action_scores`,
`support_logits`, `probabilities` and `state_value`.

```python
import tensorflow  # before ray, with TF_USE_LEGACY_KERAS=1 in the environment

import parity

report = parity.compare(tf_model, torch_model, inputs=observations)
result = parity.transfer(tf_model, torch_model, inputs=observations)

batch = {"obs": steps, "state_in_0": h, "state_in_1": c, "seq_lens": lengths}
report = parity.compare(tf_model, torch_model, inputs=batch)
```

Inputs are the observations, RLlib's input dict, or a tuple of input dict, state and sequence
lengths; images lie as RLlib has them, channels last, in both frameworks. `is_training` is the
wrap's `mode` in torch; in TensorFlow, where a model has no such flag, it is False unless the input
dict says otherwise. `framework="torch"` or `"tensorflow"` takes a model as any other callable.

RLlib needs Keras 2, so it has an environment of its own: `make rllib` builds `.venv-rllib` from
`constraints-rllib.txt` and runs `tests/rllib` there.
"""

UNTRIED = """
Not models, so not among these: Adam's epsilon, gradient clipping by variable and by norm. Not to
be built here: `lstm_use_prev_action=True`, for which RLlib hands torch {torch} a NumPy integer as
the size of its LSTM, which that refuses. Not moved by a transfer: the relative attention of
`AttentionWrapper` and `GTrXLNet` (its gates, norms and dense layers are), and the free log standard
deviation of `free_log_std=True`, which enters no operation; both are told as left over.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rllib", description=__doc__)
    parser.add_argument("--write", metavar="FILE", type=Path)
    file = parser.parse_args().write
    text = "".join(f"{line}\n" for line in page())
    if file:
        file.write_text(text)
    else:
        print(text, end="")


def page() -> Iterator[str]:
    yield "# RLlib"
    yield USE
    yield "# What was run"
    yield ""
    yield f"Printed by `{COMMAND}` with ray {ray.__version__},"
    yield f"TensorFlow {tf.__version__} with Keras 2, torch {torch.__version__}."
    yield ""
    yield from transfers()
    yield ""
    yield from names()
    yield ""
    yield from noise()
    yield ""
    yield "# What RLlib's own models compute otherwise"
    yield ""
    yield "In the report's words. The reference is TensorFlow's model; its weights were moved into"
    yield "torch's; paths are those of the installed packages."
    for difference in DIFFERENCES:
        yield from section(difference)
    yield ""
    yield from left_over()
    yield ""
    yield "# What is not here"
    yield UNTRIED.format(torch=torch.__version__).rstrip()


def transfers() -> Iterator[str]:
    yield "## Weights moved both ways"
    yield ""
    yield "The number is the largest difference of any output, in float32. Noise is drawn by each"
    yield "model for itself; the verdict is of both under the same."
    yield ""
    yield "| model | tensors in TensorFlow, torch | TensorFlow to torch | torch to TensorFlow |"
    yield "|---|---|---|---|"
    for name, net in nets.MODELS.items():
        cells = [name, f"{net.tensors['tensorflow']}, {net.tensors['torch']}"]
        for way in (("tensorflow", "torch"), ("torch", "tensorflow")):
            seed()
            result = parity.transfer(*map(net.make, way), inputs=net.inputs)
            rows = result.report.comparisons[0].outputs
            apart = max((row.difference for row in rows), key=lambda found: found.largest)
            cells.append(result.verdict + ("" if net.draws else f", {apart.largest:.1e}"))
        yield f"| {' | '.join(cells)} |"


def names() -> Iterator[str]:
    yield "## Names that collide"
    yield ""
    seed()
    model = nets.attention("tensorflow")
    found = inventory(model, nets.MEMORIES)
    kept = len(model.variables(as_dict=True))
    yield f"`AttentionWrapper` in TensorFlow holds {len(found.items)} variables; RLlib's own"
    yield f"`model.variables(as_dict=True)` keeps {kept}. `parity.inventory` says which names are"
    yield "taken more than once:"
    yield ""
    yield from (f"- `{name}`" for name in found.collisions)


def noise() -> Iterator[str]:
    yield "## Noisy layers start otherwise"
    yield ""
    seed()
    heads = {**nets.C51, "use_noisy": True}
    layers = nets.dqn("torch", heads=heads).advantage_module.dueling_A_0.w.detach().numpy()
    (weights,) = [
        variable.numpy()
        for name, variable in nets.dqn("tensorflow", heads=heads).variables(as_dict=True).items()
        if name.endswith("action_value.hidden_0_fc_w:0")
    ]
    yield "Weights moved, both agree under the same noise. What they are made with differs: the"
    yield f"weights of the first noisy layer, {layers.shape}, go from {layers.min():.3f} to"
    yield f"{layers.max():.3f} in torch, and from {weights.min():.3f} to {weights.max():.3f} in"
    yield "TensorFlow."


def left_over() -> Iterator[str]:
    yield "## GTrXL: what only one of the two holds, or a transfer cannot move"
    yield ""
    seed()
    models = (parity.wrap(nets.gtrxl(one), name=one) for one in ("tensorflow", "torch"))
    table = parity.transfer(*models, inputs=nets.MEMORIES).table
    for framework, left in zip((table.source, table.target), table.left, strict=True):
        yield f"- left over in {framework}:"
        yield from (f"  - `{name}`" for name in left)


def section(difference: Difference) -> Iterator[str]:
    _, _, _, told = observed(difference)
    yield ""
    yield f"## {difference.title}"
    yield ""
    yield f"Built with {difference.built}."
    yield ""
    yield "```text"
    yield from (line.rstrip() for line in told.split("\n\n\n")[0].splitlines())
    yield "```"


def seed() -> None:
    tf.keras.utils.set_random_seed(0)
    torch.manual_seed(0)


if __name__ == "__main__":
    main()
