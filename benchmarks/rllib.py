"""Runs RLlib's own models through the tool and states what it finds, as Markdown.

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
A `TFModelV2` or `TorchModelV2`, RLlib's own or yours, is recognised automatically, or with
`framework="rllib"`. It is called as RLlib calls it, and returns its outputs by name: `logits`,
`value` (`value_function()` after `forward()`) and `state_out`. DQN's models also return
`action_scores`, `support_logits`, `probabilities` and `state_value`.

```python
import tensorflow  # before ray, with TF_USE_LEGACY_KERAS=1 in the environment

import parity

report = parity.compare(tf_model, torch_model, inputs=observations)
result = parity.transfer(tf_model, torch_model, inputs=observations)

batch = {"obs": steps, "state_in_0": h, "state_in_1": c, "seq_lens": lengths}
report = parity.compare(tf_lstm, torch_lstm, inputs=batch)
```

Inputs are the observations, RLlib's input dict, or a tuple of input dict, state and sequence
lengths. Images are channels last in both frameworks, as in RLlib. In torch, `is_training`
follows the `mode` given to `parity.wrap`; in TensorFlow, where models have no such flag, it is
False unless the input dict sets it. With `framework="torch"` or `"tensorflow"` a model is
called like any other callable.

## RLModules

A `TorchRLModule`, of PPO, DQN or another algorithm, or your own, is recognised too. Its outputs
are those of `forward_inference`, under RLlib's names. With `mode="train"` they are those of
`forward_train` and, where it has values, `vf_preds`, which `compute_values()` makes from the
`embeddings`, as in RLlib's learners. A method, such as `module.forward_exploration`, can be
compared too.

```python
report = parity.compare(policy_network, module, inputs=observations)  # any framework's

learner = parity.wrap(module, mode="train")
result = parity.transfer(torch_model, learner, inputs=observations)
report = parity.compare(tf_model, learner, inputs=observations)

report = parity.compare(module.forward_inference, module.forward_exploration, inputs=observations)
report = parity.compare(value_network, module.compute_values, inputs=observations)
```

Inputs are the observations, or a batch with RLlib's columns: `obs`, and for a stateful module
`state_in`. A module with an LSTM takes its steps as (batch, time) and its states as (batch,
layers, units); a ModelV2 takes its steps as consecutive rows. To compare the two, wrap each
with inputs of its own, and one in a function that returns outputs of the other's shapes:

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

Outputs are paired by name, or by position where they share no names and are equally many. So
compare a ModelV2 (`logits`, `value`) with `mode="train"`, and a policy network with the
default.

For DQN:

- `forward_inference` returns only greedy actions, which prove nothing. The Q-values are
  `module.compute_q_values`. Compare them with those of the old policy, not of its ModelV2,
  which leaves the mean of the advantages to the policy.
- `forward_exploration` needs a time step: pass
  `lambda obs: module.forward_exploration({"obs": obs}, t=0)` with `framework="torch"`.

RLlib needs Keras 2, so it has an environment of its own: `make rllib` builds `.venv-rllib` from
`constraints-rllib.txt` and runs `tests/rllib` there.
"""

UNTRIED = """
Adam's epsilon and gradient clipping by variable and by norm are not parts of a model, and are
not compared. `lstm_use_prev_action=True` cannot be built here: RLlib passes torch {torch} a
NumPy integer as the size of its LSTM, which torch refuses.

A transfer does not move the seven trained tensors of each `RelativeMultiHeadAttention` in
`AttentionWrapper` and `GTrXLNet`: in torch `_input_layernorm` (two), `_qkv_layer`, `_pos_proj`,
`_uvar`, `_vvar` and `_linear_layer`. They are listed as left over, the verdict is `diverged`,
and the target stays as it was. The gates, the norms and dense layers after the attention, and
the layers around it are paired. Even with all of them moved the two would differ, by the
epsilon of their norms and by the biases that the dense layers after the attention have only in
TensorFlow.
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
    yield "# What RLlib's own models compute differently"
    yield ""
    yield "As the report prints it. The reference is TensorFlow's model, or the old ModelV2, and"
    yield "its weights were transferred to the other. Paths are those of the installed packages."
    for difference in DIFFERENCES:
        yield from section(difference)
    yield ""
    yield from left_over()
    yield ""
    yield "# What was not compared or transferred"
    yield UNTRIED.format(torch=torch.__version__).rstrip()


def transfers() -> Iterator[str]:
    yield "## Weights transferred both ways"
    yield ""
    yield "The number is the largest difference of any output, in float32. Noisy models draw"
    yield "their own noise; the verdict is for both under the same noise."
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
    largest = max((row.difference for row in rows), key=lambda found: found.largest)
    return f"{result.verdict}, {largest.largest:.1e}"


def heirs() -> Iterator[str]:
    yield "## Weights transferred from a ModelV2 to PPO's RLModule"
    yield ""
    yield "The same number, for the logits and the value."
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
    yield "used more than once:"
    yield ""
    yield from (f"- `{name}`" for name in found.collisions)


def noise() -> Iterator[str]:
    yield "## Noisy layers are initialised differently"
    yield ""
    seed()
    heads = {**nets.C51, "use_noisy": True}
    layers = nets.dqn("torch", heads=heads).advantage_module.dueling_A_0.w.detach().numpy()
    (weights,) = [
        variable.numpy()
        for name, variable in nets.dqn("tensorflow", heads=heads).variables(as_dict=True).items()
        if name.endswith("action_value.hidden_0_fc_w:0")
    ]
    yield "With transferred weights both agree under the same noise. Initial values differ: the"
    yield f"weights of the first noisy layer, {layers.shape}, range from {layers.min():.3f} to"
    yield f"{layers.max():.3f} in torch, and from {weights.min():.3f} to {weights.max():.3f} in"
    yield "TensorFlow."


def left_over() -> Iterator[str]:
    yield "## GTrXL: tensors that only one model has, or that a transfer cannot move"
    yield ""
    seed()
    models = (parity.wrap(nets.gtrxl(one), name=one) for one in ("tensorflow", "torch"))
    table = parity.transfer(*models, inputs=nets.MEMORIES).table
    for framework, left in zip((table.source, table.target), table.left, strict=True):
        yield f"- left over in {framework}:"
        yield from (f"  - `{name}`" for name in left)


def section(difference: Difference) -> Iterator[str]:
    _, _, _, text = observed(difference)
    yield ""
    yield f"## {difference.title}"
    yield ""
    yield f"Built with {difference.built}."
    yield ""
    yield "```text"
    yield from (line.rstrip() for line in text.split("\n\n\n")[0].splitlines())
    yield "```"


def seed() -> None:
    tf.keras.utils.set_random_seed(0)
    torch.manual_seed(0)


if __name__ == "__main__":
    main()
