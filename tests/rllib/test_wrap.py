"""`parity.wrap` of RLlib's models: outputs by name, as RLlib calls them, the model left as it was.

Runs in an environment of its own: `make rllib`.
"""

import numpy as np
import pytest

import parity
from parity.errors import ModelError
from parity.frameworks import load

nets = pytest.importorskip("tests.rllib.nets", reason="see `make rllib`", exc_type=ImportError)

import tensorflow as tf  # noqa: E402
import torch  # noqa: E402
from ray.rllib.models.tf.tf_modelv2 import TFModelV2  # noqa: E402
from ray.rllib.models.torch.torch_modelv2 import TorchModelV2  # noqa: E402

BOTH = ("tensorflow", "torch")


def outputs(model, inputs):
    wrapped = parity.wrap(model)
    tape = load(wrapped.framework).record(wrapped, inputs)
    return {name: tape.adapter.to_numpy(tape.recorded[id]) for name, id in tape.outputs.items()}


@pytest.mark.parametrize("framework", BOTH)
def test_a_modelv2_is_recognised_and_its_framework_records_it(framework):
    model = nets.build(framework)
    for wrapped in (parity.wrap(model), parity.wrap(model, framework="rllib")):
        assert wrapped.framework == framework
        assert wrapped.name == "FullyConnectedNetwork"


@pytest.mark.parametrize("framework", BOTH)
def test_outputs_are_what_rllib_itself_gets(framework):
    model = nets.build(framework, use_lstm=True, lstm_cell_size=8, fcnet_hiddens=[16])
    batch = {
        "obs": nets.observations(6, 4),
        "state_in_0": nets.observations(2, 8),
        "state_in_1": -nets.observations(2, 8),
        "seq_lens": np.array([3, 3], "int32"),
    }
    found = outputs(model, batch)
    tensor = torch.tensor if framework == "torch" else tf.constant
    native = {name: tensor(array) for name, array in batch.items()}
    logits, state = model({"obs": native["obs"]}, [native["state_in_0"], native["state_in_1"]],
                          native["seq_lens"])  # fmt: skip
    value = model.value_function()
    expected = {"logits": logits, "value": value, "state_out/0": state[0], "state_out/1": state[1]}
    assert list(found) == list(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], load(framework).to_numpy(array), err_msg=name)
    # the same, as RLlib's three arguments
    given = (
        {"obs": batch["obs"]},
        (batch["state_in_0"], batch["state_in_1"]),
        batch["seq_lens"],
    )
    for name, array in outputs(model, given).items():
        np.testing.assert_array_equal(array, found[name], err_msg=name)


@pytest.mark.parametrize("framework", BOTH)
def test_a_dqn_model_gives_its_heads_too(framework):
    heads = {"dueling": True, "num_atoms": 5, "q_hiddens": [8]}
    found = outputs(nets.dqn(framework, heads=heads), nets.observations(3, 4))
    assert {name: array.shape for name, array in found.items()} == {
        "logits": (3, 32),
        "value": (3,),
        "action_scores": (3, 2),
        "support_logits": (3, 2, 5),
        "probabilities": (3, 2, 5),
        "state_value": (3, 5),
    }
    plain = nets.dqn(framework, heads={"dueling": False, "num_atoms": 1, "q_hiddens": [8]})
    assert list(outputs(plain, nets.observations(3, 4))) == ["logits", "value", "action_scores"]


@pytest.mark.parametrize("framework", BOTH)
def test_the_model_stays_the_users_own(framework):
    model = nets.build(framework)
    before = type(model), dict(vars(model))
    parity.compare(model, model, inputs=nets.observations(3, 4))
    assert (type(model), dict(vars(model))) == before
    assert isinstance(model(_native(framework), [], None), tuple)  # RLlib's own call, unchanged


def _native(framework):
    observations = nets.observations(3, 4)
    return {
        "obs": torch.tensor(observations) if framework == "torch" else tf.constant(observations)
    }


def test_what_is_wrapped_already_is_taken_as_it_is():
    wrapped = parity.wrap(nets.build("torch"))
    assert parity.wrap(wrapped.obj).obj is wrapped.obj


def test_the_framework_by_its_own_name_takes_a_model_as_it_is():
    wrapped = parity.wrap(nets.build("torch"), framework="torch")
    tape = load("torch").record(wrapped, {"obs": nets.observations(3, 4)})
    assert list(tape.outputs) == ["0"]  # (logits, []): no value


def test_what_is_no_modelv2_is_refused_with_what_to_do():
    with pytest.raises(
        ModelError, match="is no TorchModelV2, TFModelV2 or TorchR.*framework='torch'"
    ):
        parity.wrap(torch.nn.Linear(2, 2), framework="rllib")
    with pytest.raises(ModelError, match=r"<lambda> is no TorchModelV2, .*framework='torch'"):
        parity.wrap(lambda rows: rows, framework="rllib")


class _OwnTorch(TorchModelV2, torch.nn.Module):
    """A user's own: no value, dropout where RLlib says that it trains."""

    def __init__(self, *arguments):
        TorchModelV2.__init__(self, *arguments)
        torch.nn.Module.__init__(self)
        self.layer = torch.nn.Linear(4, 2)

    def forward(self, input_dict, state, seq_lens):
        out = self.layer(input_dict["obs"])
        return torch.zeros_like(out) if input_dict["is_training"] else out, state


class _OwnTensorFlow(TFModelV2):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.parts = {0: [tf.keras.layers.Dense(2)]}  # as ComplexInputNetwork holds its nets
        self.parts[0][0].build((None, 4))

    def forward(self, input_dict, state, seq_lens):
        out = self.parts[0][0](input_dict["obs"])
        return tf.zeros_like(out) if input_dict["is_training"] else out, state


def test_a_users_own_models_of_both_frameworks():
    models = [own(None, None, 2, {"_disable_preprocessor_api": True}, "own")
              for own in (_OwnTensorFlow, _OwnTorch)]  # fmt: skip
    result = parity.transfer(*models, inputs=nets.observations(3, 4))
    assert result.verdict == "parity", result.report
    assert [row.target for row in result.table.rows] == [("layer.weight",), ("layer.bias",)]
    assert list(outputs(models[1], nets.observations(3, 4))) == ["logits"]
    training = parity.wrap(models[1], mode="train")
    tape = load("torch").record(training, nets.observations(3, 4))
    assert not tape.recorded[tape.outputs["logits"]].any()
    parity.wrap(models[1])
    models[1].layer.weight.data *= 2  # the face's weights are the model's own
    assert parity.compare(*models, inputs=nets.observations(3, 4)).verdict == "diverged"
