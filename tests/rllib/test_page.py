"""The Python of docs/rllib.md runs, on models as it names them.

Runs in an environment of its own: `make rllib`.
"""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

nets = pytest.importorskip("tests.rllib.nets", reason="see `make rllib`", exc_type=ImportError)

import torch  # noqa: E402

PAGE = (Path(__file__).parents[2] / "docs/rllib.md").read_text()
HIDDEN = {"fcnet_hiddens": [24, 16]}
LSTM = {"use_lstm": True, "lstm_cell_size": 16, "fcnet_hiddens": [32]}


def networks(module):
    """A policy and a value network of plain torch, with the module's own layers."""
    encoder = module.encoder.encoder.net
    return (torch.nn.Sequential(encoder, head, *rest) for head, rest in (
        (module.pi.net, ()), (module.vf.net, (torch.nn.Flatten(0),))
    ))  # fmt: skip


def test_its_code_runs_and_finds_parity():
    module = nets.ppo_module(**HIDDEN, vf_share_layers=True)
    policy_network, value_network = networks(module)
    names = {
        "module": module,
        "policy_network": policy_network,
        "value_network": value_network,
        "recurrent": nets.ppo_module(**LSTM, vf_share_layers=True),
        "observations": nets.observations(5, 4),
        "steps": nets.observations(12, 4),
        "sequences": nets.observations(12, 4).reshape(3, 4, 4),
        "h": nets.observations(3, 16),
        "c": -nets.observations(3, 16),
        "lengths": np.full(3, 4, "int32"),
    }
    for short, framework in (("tf", "tensorflow"), ("torch", "torch")):
        names[f"{short}_model"] = nets.build(framework, **HIDDEN)
        names[f"{short}_lstm"] = nets.build(framework, **LSTM)
    verdicts = []
    for code in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        for statement in ast.parse(code).body:
            exec(compile(ast.Module([statement], []), "docs/rllib.md", "exec"), names)
            if ast.unparse(statement).startswith(("report =", "result =")):
                verdicts.append(names[ast.unparse(statement).split()[0]].verdict)
    assert verdicts == [
        "diverged",  # different weights, before they are moved
        "parity",
        "diverged",  # LSTMs with weights of their own
        *["parity"] * 6,
    ]
