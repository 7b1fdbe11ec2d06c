"""`parity.wrap` of RLlib's RLModules: each phase, weights from ModelV2, states, faults found.

Runs in an environment of its own: `make rllib`.
"""

import copy

import numpy as np
import pytest

import parity
from parity.errors import InputError, ModelError
from parity.frameworks import load

nets = pytest.importorskip("tests.rllib.nets", reason="see `make rllib`", exc_type=ImportError)

import tensorflow as tf  # noqa: E402
import torch  # noqa: E402
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModule  # noqa: E402
from ray.rllib.core.rl_module.rl_module import RLModuleSpec  # noqa: E402
from ray.rllib.core.rl_module.torch import TorchRLModule  # noqa: E402

ROWS = nets.observations(5, 4)
HIDDEN = {"fcnet_hiddens": [24, 16]}
LSTM = {"use_lstm": True, "lstm_cell_size": 16, "fcnet_hiddens": [32]}
STATE = {"h": nets.observations(3, 1, 16), "c": -nets.observations(3, 1, 16)}
SEQUENCES = {"obs": nets.observations(3, 4, 4), "state_in": STATE}


def train(module, **given):
    return parity.wrap(module, mode="train", **given)


def outputs(model, inputs):
    tape = load("torch").record(parity.wrap(model), inputs)
    return {name: tape.adapter.to_numpy(tape.recorded[id]) for name, id in tape.outputs.items()}


def causes(report):
    """The layer and the cause of each divergence, at each of its places."""
    return [
        (site.layer, one.cause and one.cause.kind)
        for one in report.divergences
        for site in (one.candidate, *(candidate for _, candidate in one.places))
    ]


# --- what it is called with, and gives -----------------------------------------------------------


def test_a_module_and_its_methods_are_recognised():
    module = nets.ppo_module(**HIDDEN)
    for wrapped in (parity.wrap(module), parity.wrap(module, framework="rllib")):
        assert (wrapped.framework, wrapped.name) == ("torch", "DefaultPPOTorchRLModule")
    for wrapped in (
        parity.wrap(module.forward_exploration),
        parity.wrap(module.forward_exploration, framework="rllib"),
    ):
        assert (wrapped.framework, wrapped.name) == ("torch", "forward_exploration")
    assert parity.wrap(wrapped.obj).obj is wrapped.obj


@pytest.mark.parametrize("phase", ["forward_inference", "forward_exploration", "forward_train"])
def test_each_phase_gives_what_rllib_itself_gets(phase):
    module = nets.ppo_module(**HIDDEN, vf_share_layers=False)
    expected = getattr(module, phase)({"obs": torch.tensor(ROWS)})
    for inputs in (ROWS, {"obs": ROWS}):
        found = outputs(getattr(module, phase), inputs)
        assert set(found) == set(expected)
        for name, tensor in expected.items():
            np.testing.assert_array_equal(found[name], tensor.detach().numpy(), err_msg=name)


def test_a_module_infers_unless_it_trains():
    module = nets.ppo_module(**HIDDEN)
    batch = {"obs": torch.tensor(ROWS)}
    logits = module.forward_inference(batch)["action_dist_inputs"].numpy()
    assert list(outputs(module, ROWS)) == ["action_dist_inputs"]
    np.testing.assert_array_equal(outputs(module, ROWS)["action_dist_inputs"], logits)
    found = outputs(train(module), ROWS)
    assert list(found) == ["action_dist_inputs", "vf_preds"]
    np.testing.assert_array_equal(found["action_dist_inputs"], logits)
    values = module.compute_values(batch).detach().numpy()
    np.testing.assert_array_equal(found["vf_preds"], values)
    np.testing.assert_array_equal(outputs(module.compute_values, ROWS)["output"], values)


def test_the_module_stays_the_users_own():
    module = nets.ppo_module(**HIDDEN)
    module.eval()
    before = type(module), dict(vars(module))
    for one in (module, train(module), module.forward_train):
        parity.compare(one, one, inputs=ROWS)
        assert (type(module), dict(vars(module))) == before
        assert not any(layer.training for layer in module.modules())


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_unrecorded_it_gives_the_same_bits(mode):
    wrapped = parity.wrap(nets.ppo_module(**HIDDEN), mode=mode)
    recorded = outputs(wrapped, ROWS)
    for name, array in load("torch").plain(wrapped)(ROWS).items():
        np.testing.assert_array_equal(array, recorded[name], err_msg=name)


def test_observations_are_drawn_from_its_space(assert_parity):
    old, new = nets.build("torch", **HIDDEN), nets.ppo_module(**HIDDEN, vf_share_layers=True)
    parity.transfer(old, train(new), inputs=ROWS)
    assert_parity(old, train(new), observations=new.observation_space, max_examples=20)
    with torch.no_grad():
        new.vf.net.mlp[0].bias += 0.1
    with pytest.raises(AssertionError, match=r"vf\.net\.mlp\.0"):
        assert_parity(old, train(new), observations=new.observation_space, max_examples=20)


class _Own(TorchRLModule):
    """A user's own: dropout, a column of its own, and a table that has no entry."""

    def setup(self):
        self.layer = torch.nn.Linear(4, self.action_space.n)
        self.table = {}

    def _forward(self, batch):
        hidden = torch.dropout(batch["obs"] * batch["scale"], 0.5, self.training)
        if self.model_config.get("looked_up"):
            return self.table["nothing"]
        return {"action_dist_inputs": self.layer(hidden)}


def test_a_users_own_module():
    module, plain = nets.module(_Own), torch.nn.Linear(4, 2)
    batch = {"obs": ROWS, "scale": 2 * np.ones((5, 1), "float32")}
    plain.load_state_dict(module.layer.state_dict())
    report = parity.compare(parity.wrap(plain, inputs=2 * ROWS), parity.wrap(module, inputs=batch))
    assert report.verdict == "parity", report
    calm, noisy = outputs(module, batch), outputs(train(module), batch)
    assert (calm["action_dist_inputs"] != noisy["action_dist_inputs"]).any()
    module.layer.bias.data *= 2  # the face's weights are the module's own
    report = parity.compare(parity.wrap(plain, inputs=2 * ROWS), parity.wrap(module, inputs=batch))
    assert causes(report) == [("layer", "bias-doubled")], report


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "inputs", "words"),
    [
        (
            nets.ppo_module,
            {"observations": ROWS},
            r"reads the column 'obs'; its batch has 'observations'\. Give inputs=\{'obs': ...\}\.$",
        ),
        (
            lambda: nets.ppo_module(**LSTM, vf_share_layers=True),
            SEQUENCES["obs"],
            r"the column 'state_in'; its batch has 'obs'\. Give inputs=\{'obs': ..., 'state_in': "
            r"...\}, with h \(batch, 1, 16\), c \(batch, 1, 16\)\.",
        ),
        (
            lambda: nets.ppo_module(**LSTM, vf_share_layers=False),
            SEQUENCES["obs"],
            r"with actor/h \(batch, 1, 16\), .*, critic/c \(batch, 1, 16\)\.",
        ),
        (lambda: train(nets.dqn_module()), ROWS, r"'new_obs'; .*'new_obs': ...\}\.$"),
    ],
)
def test_a_missing_column_is_named(make, inputs, words):
    with pytest.raises(InputError, match=words):
        parity.compare(make(), make(), inputs=inputs)


def test_what_a_module_itself_lacks_is_reported_as_what_it_raised():
    module = nets.module(_Own, looked_up=True)
    batch = {"obs": ROWS, "scale": ROWS[:, :1]}
    with pytest.raises(
        ModelError, match=r"_Own #1 \(torch\) raised KeyError: 'nothing'\n.*test_rl_module"
    ):
        parity.compare(module, module, inputs=batch)
    lean = nets.ppo_module(**HIDDEN, vf_share_layers=True, inference_only=True)
    assert list(outputs(lean, ROWS)) == ["action_dist_inputs"]
    with pytest.raises(ModelError, match="forward_train` on an inference_only module"):
        outputs(train(lean), ROWS)
    with pytest.raises(ModelError, match="'DefaultDQNTorchRLModule' object has no attribute '_tar"):
        outputs(train(nets.dqn_module()), {"obs": ROWS, "new_obs": ROWS})


def test_of_several_modules_one_is_asked_for():
    spec = RLModuleSpec(nets.DefaultPPOTorchRLModule, *_spaces(nets.ppo_module()))
    modules = MultiRLModule(rl_module_specs={"default_policy": spec})
    with pytest.raises(ModelError, match=r"MultiRLModule is no .*modules\['default_policy'\]"):
        parity.wrap(modules, framework="rllib")
    assert parity.wrap(modules["default_policy"]).framework == "torch"


def _spaces(module):
    return module.observation_space, module.action_space


# --- against other models ------------------------------------------------------------------------


@pytest.mark.parametrize("framework", nets.FRAMEWORKS)
@pytest.mark.parametrize("name", nets.HEIRS)
def test_weights_move_between_a_modelv2_and_its_heir(name, framework):
    heir = nets.HEIRS[name]
    old, new = heir.old(framework), train(heir.new())
    assert parity.compare(old, new, inputs=heir.inputs).verdict == "diverged"
    for source, target in ((old, new), (train(heir.new()), heir.old(framework))):
        result = parity.transfer(source, target, inputs=heir.inputs)
        assert result.verdict == "parity", result.report
        assert len(result.table.rows) == heir.tensors
        assert result.table.left == ((), ())
    with torch.no_grad():
        new.obj.vf.net.mlp[0].bias.fill_(0.5)
    assert causes(parity.compare(old, new, inputs=heir.inputs))[0][0] == "vf.net.mlp.0"


def test_a_free_log_standard_deviation_moves_too():
    """An RLModule clamps it, to bounds that no ModelV2 has."""
    old = nets.build("torch", outputs=6, free_log_std=True, **HIDDEN)
    old._append_free_log_std.log_std.data.copy_(torch.tensor([0.3, -0.2, 0.1]))
    new = nets.ppo_module(outputs=3, continuous=True, free_log_std=True, **HIDDEN)
    result = parity.transfer(old, train(new), inputs=ROWS)
    assert result.verdict == "parity", result.report
    assert result.table.left == ((), ("pi.log_std_clip_param_const",))
    assert new.pi.log_std.tolist() == old._append_free_log_std.log_std.tolist()


def test_weights_move_to_a_modelv2_with_an_lstm_where_shapes_are_made_alike():
    """A ModelV2 has its steps in one row after another, an RLModule as (batch, time)."""
    module = nets.ppo_module(**LSTM, vf_share_layers=True)

    def rows(batch):
        found = module.forward_train(batch)
        values = module.compute_values(batch, embeddings=found["embeddings"])
        h, c = found["state_out"]["h"], found["state_out"]["c"]
        return found["action_dist_inputs"].flatten(0, 1), values.flatten(), h[:, 0], c[:, 0]

    flat = {
        "obs": SEQUENCES["obs"].reshape(12, 4),
        "state_in_0": STATE["h"][:, 0],
        "state_in_1": STATE["c"][:, 0],
        "seq_lens": np.full(3, 4, "int32"),
    }
    new = parity.wrap(rows, framework="torch", inputs=SEQUENCES)
    for framework in nets.FRAMEWORKS:
        old = parity.wrap(nets.build(framework, **LSTM), inputs=flat)
        result = parity.transfer(old, new)
        assert result.verdict == "parity", result.report


def test_a_plain_torch_module_and_a_keras_model():
    dense = tf.keras.layers.Dense
    keras = tf.keras.Sequential([dense(24, "tanh"), dense(16, "tanh"), dense(2)])
    keras.build((None, 4))
    plain = torch.nn.Sequential(
        torch.nn.Linear(4, 24), torch.nn.Tanh(), torch.nn.Linear(24, 16), torch.nn.Tanh(),
        torch.nn.Linear(16, 2),
    )  # fmt: skip
    for other in (keras, plain):
        module = nets.ppo_module(**HIDDEN)
        assert parity.transfer(other, module, inputs=ROWS).verdict == "parity"
        assert parity.transfer(module, other, inputs=ROWS).verdict == "parity"
        with torch.no_grad():
            module.pi.net.mlp[0].weight.mul_(2)
        report = parity.compare(other, module, inputs=ROWS)
        assert causes(report) == [("pi.net.mlp.0", "weight-scale")], report


@pytest.mark.parametrize("share", [True, False])
def test_another_activation_is_found(share):
    tanh = nets.ppo_module(**HIDDEN, vf_share_layers=share)
    relu = nets.ppo_module(**HIDDEN, vf_share_layers=share, fcnet_activation="relu")
    relu.load_state_dict(tanh.state_dict())
    found = causes(parity.compare(tanh, relu, inputs=ROWS))
    name = "encoder.encoder" if share else "encoder.actor_encoder"
    assert found == [(f"{name}.net.mlp.{one}", "activation-kind") for one in (1, 3)]


@pytest.mark.parametrize("share", [True, False])
def test_state_goes_in_and_comes_out(share):
    module = nets.ppo_module(**LSTM, vf_share_layers=share)
    parts = (
        {"h", "c"} if share else {f"{one}/{part}" for one in ("actor", "critic") for part in STATE}
    )
    batch = SEQUENCES if share else {**SEQUENCES, "state_in": {"actor": STATE, "critic": STATE}}
    for one, first in (
        (module, ["action_dist_inputs"]),
        (train(module), ["action_dist_inputs", "vf_preds"]),
    ):
        found = list(outputs(one, batch))
        assert found[: len(first)] == first
        assert set(found[len(first) :]) == {f"state_out/{part}" for part in parts}
    other = nets.ppo_module(**LSTM, vf_share_layers=share)
    assert parity.transfer(train(module), train(other), inputs=batch).verdict == "parity"
    faulty = copy.deepcopy(module)
    encoder = faulty.encoder.encoder if share else faulty.encoder.actor_encoder
    with torch.no_grad():
        encoder.lstm.bias_hh_l0.mul_(2)
    found = causes(parity.compare(module, faulty, inputs=batch))
    name = "encoder.encoder" if share else "encoder.actor_encoder"
    assert [layer for layer, _ in found] == [f"{name}.lstm"]


def test_the_q_values_of_dqn_are_those_of_its_old_policy():
    module = nets.dqn_module()
    scores = parity.wrap(nets.dqn_scores(), framework="torch")
    result = parity.transfer(scores, module.compute_q_values, inputs=ROWS)
    assert result.verdict == "parity", result.report
    assert len(result.table.rows) == 10
    with torch.no_grad():
        module.af.net.mlp[2].bias += torch.tensor([0.0, 0.5])
    report = parity.compare(scores, module.compute_q_values, inputs=ROWS)
    assert [layer for layer, _ in causes(report)] == ["af.net.mlp.2"]


def test_greedy_actions_alone_are_no_evidence():
    """DQN's `forward_inference` gives nothing else; a fault that turns no action is not passed."""
    module = nets.dqn_module()
    assert list(outputs(module, ROWS)) == ["actions"]
    faulty = copy.deepcopy(module)
    with torch.no_grad():
        faulty.vf.net.mlp[2].bias += 1.0
    assert parity.compare(module, faulty, inputs=ROWS).verdict == "unverified"
    report = parity.compare(module.compute_q_values, faulty.compute_q_values, inputs=ROWS)
    assert [layer for layer, _ in causes(report)] == ["vf.net.mlp.2"]


def test_dqn_trains_with_its_target_networks():
    module = nets.dqn_module()
    module.make_target_networks()
    found = outputs(train(module), {"obs": ROWS, "new_obs": ROWS + 1})
    assert list(found) == ["qf_preds", "qf_next_preds", "qf_target_next_preds"]
    target = found["qf_target_next_preds"]  # whose networks start as copies
    np.testing.assert_allclose(found["qf_next_preds"], target, atol=1e-6)
