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
from parity.weights.transfer import Transfer  # isort: skip
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
report = parity.compare(tf_lstm, torch_lstm, inputs=batch)
```

Inputs are the observations, RLlib's input dict, or a tuple of input dict, state and sequence
lengths; images lie as RLlib has them, channels last, in both frameworks. `is_training` is the
wrap's `mode` in torch; in TensorFlow, where a model has no such flag, it is False unless the input
dict says otherwise. `framework="torch"` or `"tensorflow"` takes a model as any other callable.

## RLModules

A `TorchRLModule`, of PPO, DQN or another algorithm, or yours, is recognised too. It gives what
`forward_inference` gives, under RLlib's names. With `mode="train"` it gives what `forward_train`
gives and, where it has values, `vf_preds`: `compute_values()` makes them from the `embeddings`, as
in RLlib's learners. A method, such as `module.forward_exploration`, gives what it returns.

```python
report = parity.compare(policy_network, module, inputs=observations)  # any framework's

learner = parity.wrap(module, mode="train")
result = parity.transfer(torch_model, learner, inputs=observations)
report = parity.compare(tf_model, learner, inputs=observations)

report = parity.compare(module.forward_inference, module.forward_exploration, inputs=observations)
report = parity.compare(value_network, module.compute_values, inputs=observations)
```

Inputs are the observations, or a batch with RLlib's columns: `obs`, and for a stateful module
`state_in`. A module with an LSTM takes its steps as (batch, time) and its states as (batch, layers,
units); a ModelV2 takes its steps one row after another. To compare the two, each is wrapped with
inputs of its own, and one in a function that gives outputs of the other's shapes:

```python
def rows(batch):
    found = recurrent.forward_train(batch)
    values = recurrent.compute_values(batch, embeddings=found["embeddings"])
    h, c = found["state_out"]["h"], found["state_out"]["c"]
    return found["action_dist_inputs"].flatten(0, 1), values.flatten(), h[:, 0], c[:, 0]


batch_of_steps = {"obs": sequences, "state_in": {"h": h[:, None], "c": c[:, None]}}
result = parity.transfer(
    parity.wrap(torch_lstm, inputs=batch),
    parity.wrap(rows, framework="torch", inputs=batch_of_steps),
)
```

Outputs are paired by name, or by position where the names share nothing and both have as many: a
ModelV2 (`logits`, `value`) goes with `mode="train"`, a policy network with the default. The
`forward_inference` of DQN gives its greedy actions alone, which are no evidence; its Q-values are
`module.compute_q_values`, and go with those of the old policy, not of its ModelV2, which leaves the
mean of the advantages to the policy. DQN's `forward_exploration` asks for a time step: hand in
`lambda obs: module.forward_exploration({"obs": obs}, t=0)` with `framework="torch"`.

RLlib needs Keras 2, so it has an environment of its own: `make rllib` builds `.venv-rllib` from
`constraints-rllib.txt` and runs `tests/rllib` there.
"""

UNTRIED = """
Not models, so not among these: Adam's epsilon, gradient clipping by variable and by norm. Not to
be built here: `lstm_use_prev_action=True`, for which RLlib hands torch {torch} a NumPy integer as
the size of its LSTM, which that refuses.

Not moved by a transfer: of each `RelativeMultiHeadAttention` in `AttentionWrapper` and `GTrXLNet`
the seven trained tensors, in torch `_input_layernorm` (two), `_qkv_layer`, `_pos_proj`, `_uvar`,
`_vvar` and `_linear_layer`. They are told as left over, the verdict is `diverged`, and the target
stays as it was. The gates, the norms and dense layers behind the attention, and the layers around
it are paired. Were all moved, the two would still differ, by the epsilon of their norms and by the
biases that the dense layers behind the attention have in TensorFlow and not in torch.
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
    yield from heirs()
    yield ""
    yield from names()
    yield ""
    yield from noise()
    yield ""
    yield "# What RLlib's own models compute otherwise"
    yield ""
    yield "In the report's words. The reference is TensorFlow's model, or the old ModelV2;"
    yield "its weights were moved into the other; paths are those of the installed packages."
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
            cells.append(result.verdict if net.draws else moved(result))
        yield f"| {' | '.join(cells)} |"


def moved(result: Transfer) -> str:
    """The verdict and the largest difference of any output."""
    rows = result.report.comparisons[0].outputs
    apart = max((row.difference for row in rows), key=lambda found: found.largest)
    return f"{result.verdict}, {apart.largest:.1e}"


def heirs() -> Iterator[str]:
    yield "## Weights moved from a ModelV2 into PPO's RLModule"
    yield ""
    yield "The same number, of the logits and the value."
    yield ""
    yield "| model | tensors | from TensorFlow | from torch |"
    yield "|---|---|---|---|"
    for name, heir in nets.HEIRS.items():
        cells = [name, str(heir.tensors)]
        for framework in nets.FRAMEWORKS:
            seed()
            new = parity.wrap(heir.new(), mode="train")
            cells.append(moved(parity.transfer(heir.old(framework), new, inputs=heir.inputs)))
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
