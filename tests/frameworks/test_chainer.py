"""What is particular to the Chainer adapter; what all adapters share is in test_contract.py."""

from __future__ import annotations

import inspect
import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pkg_resources", reason="Chainer needs setuptools<81")
import parity
from parity.frameworks.chainer_numpy import import_chainer  # noqa: E402

chainer = import_chainer()
import chainer.functions as F  # noqa: E402
import chainer.links as L  # noqa: E402
from chainer.link_hooks import SpectralNormalization  # noqa: E402

from parity.errors import ModelError  # noqa: E402
from parity.frameworks import chainer as adapter  # noqa: E402
from parity.frameworks.recognise import recognise  # noqa: E402
from parity.model import wrap  # noqa: E402
from parity.tape import Op, Tape  # noqa: E402

from .chainer_functions import CASES, arguments  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
draw = np.random.default_rng(3)


def normal(*shape: int) -> np.ndarray:
    return draw.standard_normal(shape).astype("f")


def record(model: Any, inputs: Any, **options: Any) -> Tape:
    return adapter.record(wrap(model, "chainer", **options), inputs)


def kinds(tape: Tape) -> list[str]:
    return [op.kind for op in tape.ops]


def op_of(tape: Tape, kind: str) -> Op:
    return next(op for op in tape.ops if op.kind == kind)


def leaves(tape: Tape) -> dict[str, str]:
    return {value.name: value.kind for value in tape.values if value.op < 0}


def assert_replays(tape: Tape) -> None:
    """Bit for bit as recorded; in float64 all float64, near, and no operation left behind."""
    run, wide = tape.replay(), tape.replay("float64")
    assert not wide.fallbacks
    for value in tape.values:
        recorded, again, exact = tape.recorded[value.id], run.array(value.id), wide.array(value.id)
        assert again.dtype == recorded.dtype == value.dtype and again.shape == value.shape
        assert again.tobytes() == recorded.tobytes(), tape.producer(value.id)
        if recorded.dtype.kind == "f":
            assert exact.dtype == np.float64
            np.testing.assert_allclose(recorded, exact, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(recorded, exact)


class Mixed(chainer.Chain):
    """Convolution, batch normalisation, an LSTM with a state, and a dueling head."""

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(2, 3, (3, 2))
            self.norm = L.BatchNormalization(3)
            self.lstm = L.LSTM(None, 7)
            self.heads = chainer.ChainList(L.Linear(7, 1), L.Linear(7, 5))
        self.support = np.linspace(-1, 1, 5, dtype="f")
        self.norm.avg_mean[...] = normal(3)
        self.norm.avg_var[...] = 1 + normal(3) ** 2

    def forward(self, x: Any) -> Any:
        h = self.lstm(F.relu(self.norm(self.conv(x))))
        value, advantage = (head(h) for head in self.heads)
        advantage = advantage - F.broadcast_to(F.mean(advantage, 1, keepdims=True), advantage.shape)
        q = F.broadcast_to(value, advantage.shape) + advantage
        return {"q": q, "expected": F.sum(F.softmax(q) * self.support, 1)}


IMAGES = normal(4, 2, 6, 5)

# --- recognise ---------------------------------------------------------------------------------


def test_recognises_links_their_methods_and_chainers_functions() -> None:
    class Old(chainer.Function):
        def forward(self, inputs: Any) -> Any:
            return (inputs[0] * 2,)

    def function(x: Any) -> Any:
        return F.relu(x)

    for model in (
        L.Linear(2, 3), Mixed(), chainer.ChainList(L.Linear(2, 3)), chainer.Sequential(F.relu),
        Mixed().forward, F.relu, Old(),
    ):  # fmt: skip
        assert recognise(model) == "chainer"
    assert not adapter.recognises(function) and not adapter.recognises(np.tanh)


# --- record ------------------------------------------------------------------------------------


def test_layers_lines_and_leaves() -> None:
    tape = record(Mixed(), IMAGES)
    layers = {op.kind: op.site.layer for op in tape.ops}
    assert layers["Convolution2DFunction"] == "/conv"
    assert layers["FixedBatchNormalization"] == "/norm"
    assert [op.site.layer for op in tape.ops if op.kind == "LinearFunction"] == [
        "/lstm/upward", "/heads/0", "/heads/1",
    ]  # fmt: skip
    assert layers["Softmax"] == ""
    assert op_of(tape, "Softmax").site.code == (
        'return {"q": q, "expected": F.sum(F.softmax(q) * self.support, 1)}'
    )
    # a library's link is called from the user's line
    assert op_of(tape, "LSTM").site.code == "h = self.lstm(F.relu(self.norm(self.conv(x))))"
    assert op_of(tape, "Convolution2DFunction").attributes["sy"] == 1
    assert op_of(tape, "Softmax").attributes == {"axis": 1}
    found = leaves(tape)
    assert found["/conv/W"] == found["/heads/1/b"] == "parameter"
    assert found["/norm/avg_mean"] == found["/norm/avg_var"] == "buffer"
    assert found["/support"] == "constant" and found["0"] == "input"
    assert list(tape.outputs) == ["q", "expected"] and not tape.caveats
    assert_replays(tape)


def test_links_that_a_function_or_an_object_holds_are_named() -> None:
    body, heads = Mixed(), [L.Linear(5, 2), L.Linear(5, 3)]

    class Agent:
        def __init__(self) -> None:
            self.net = body

        def act(self, x: Any) -> Any:
            return self.net(x)["q"]

    second = Agent()
    second.net = L.Convolution2D(2, 3, 2)

    def function(x: Any) -> Any:
        return [head(body(x)["q"]) for head in heads]

    tape = record(Agent().act, IMAGES)
    assert op_of(tape, "LSTM").site.layer == "/net/lstm" and "/net/conv/W" in leaves(tape)

    def both(x: Any, first: Any = Agent(), second: Any = second) -> Any:  # noqa: B008
        return first.act(x), second.net(x)

    tape = record(body.forward, IMAGES)  # a link's own method: as the link itself
    assert op_of(tape, "LSTM").site.layer == "/lstm" and "/conv/W" in leaves(tape)
    tape = record(both, IMAGES)
    assert {"/first/net/conv", "/second/net"} <= {op.site.layer for op in tape.ops}
    tape = record(function, IMAGES)
    assert {"/body/conv", "/heads/0", "/heads/1"} <= {op.site.layer for op in tape.ops}
    assert "/heads/1/W" in leaves(tape)


def test_links_in_a_plain_attribute_are_named() -> None:
    class Net(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [L.Linear(3, 4), L.Linear(4, 5)]

        def forward(self, x: Any) -> Any:
            for block in self.blocks:
                x = F.tanh(block(x))
            return x

    tape = record(Net(), normal(2, 3))
    assert [op.site.layer for op in tape.ops if op.kind == "LinearFunction"] == [
        "/blocks/0", "/blocks/1",
    ]  # fmt: skip


def test_sequential_and_method_calls() -> None:
    tape = record(chainer.Sequential(L.Linear(3, 4), F.relu, L.Linear(4, 2)), normal(5, 3))
    assert [op.site.layer for op in tape.ops] == ["/0", "", "/1"]
    assert_replays(tape)


def test_arrays_are_known_by_identity() -> None:
    def model(x: Any) -> Any:
        h = F.tanh(x)
        again = chainer.Variable(h.array)  # as many a target network does
        return F.sum(again * 2, 1) + F.sum(F.dropout(h.array), 1)

    tape = record(model, normal(3, 4))
    assert kinds(tape) == ["Tanh", "MulConstant", "Sum", "Sum", "Add"]
    assert not any(op.static for op in tape.ops)
    assert leaves(tape) == {"0": "input"}


def test_roles() -> None:
    def model(x: Any) -> Any:
        h = F.reshape(F.transpose(F.concat((x, x[:, ::-1]))), (-1, 2))
        return F.softmax(F.dropout(F.cast(h, "float32"), 0.4))

    roles = {op.kind: op.role for op in record(model, normal(4, 3), mode="train").ops}
    assert roles == {
        "GetItem": "move", "Concat": "move", "Transpose": "move", "Reshape": "move",
        "numpy.random.rand": "random", "Dropout": "compute", "Softmax": "compute",
    }  # fmt: skip


def test_a_function_of_the_users_that_draws_or_moves_by_name_only() -> None:
    class Pad(chainer.FunctionNode):
        def forward(self, inputs: Any) -> Any:
            return (inputs[0] + np.random.standard_normal(inputs[0].shape).astype("f"),)

    class Tile(chainer.FunctionNode):
        def forward(self, inputs: Any) -> Any:
            return (inputs[0] * 3,)

    tape = record(lambda x: Tile().apply(Pad().apply((x,)))[0], normal(2, 3))
    assert [op.role for op in tape.ops] == ["random", "compute", "compute"]
    assert_replays(tape)


def test_noise_from_numpy_is_a_draw() -> None:
    tape = record(lambda x: F.gumbel_softmax(x), normal(2, 3))
    assert tape.ops[0].role == "random" and not tape.caveats
    assert_replays(tape)


def test_arrays_computed_outside_chainer_are_said() -> None:
    def model(x: Any) -> Any:
        doubled = np.array(x.array.tolist(), "f") * 2
        return F.relu(doubled)

    tape = record(model, normal(2, 3))
    assert "outside Chainer's functions" in tape.caveats[0] and f"{__file__}:" in tape.caveats[0]
    assert "numbers that Python made" in tape.caveats[1] and f"{__file__}:" in tape.caveats[1]


def test_nodes_hold_arrays_of_the_tape() -> None:
    def model(x: Any, mask: Any) -> Any:
        return F.where(mask, x, -x)

    x, mask = normal(2, 3), np.array([[True, False, True], [False, True, True]])
    tape = record(model, {"x": x, "mask": mask})
    flipped = tape.replay(replaced={tape.inputs["mask"]: ~mask})
    np.testing.assert_array_equal(flipped.array(tape.outputs["output"]), np.where(mask, -x, x))


def test_old_style_functions() -> None:
    class Scale(chainer.Function):
        def __init__(self, factor: float) -> None:
            self.factor = factor

        def forward(self, inputs: Any) -> Any:
            self.retain_inputs((0,))
            return inputs[0] * inputs[0].dtype.type(self.factor), inputs[0] + 1

    def model(x: Any) -> Any:
        return Scale(2.5)(F.tanh(x))

    tape = record(model, normal(2, 3))
    op = op_of(tape, "Scale")
    assert op.attributes == {"factor": 2.5} and op.site.code == "return Scale(2.5)(F.tanh(x))"
    assert_replays(tape)


def test_static_graphs_are_seen_through() -> None:
    class Net(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.dense = L.Linear(3, 4)

        @chainer.static_graph
        def __call__(self, x: Any) -> Any:
            return F.relu(self.dense(x))

    assert kinds(record(Net(), normal(2, 3), mode="train")) == ["LinearFunction", "ReLU"]


def test_inputs_take_the_models_dtype() -> None:
    dense = L.Linear(3, 2)
    tape = record(dense, np.arange(6).reshape(2, 3) / 7)
    assert tape.values[0].dtype == "float32"
    embed = L.EmbedID(5, 2)
    assert record(embed, np.array([1, 4])).values[0].dtype == "int64"
    with chainer.using_config("dtype", np.float64):
        assert record(L.Linear(3, 2), normal(2, 3)).values[0].dtype == "float64"


def test_named_inputs_go_by_the_forward_of_a_link() -> None:
    class Two(chainer.Chain):
        def forward(self, obs: Any, action: Any) -> Any:
            return F.concat((obs, action))

    class Dict(chainer.Chain):
        def forward(self, batch: Any) -> Any:
            return F.concat((batch["obs"], batch["action"]))

    inputs = {"action": normal(2, 1), "obs": normal(2, 3)}
    for model in (Two(), Dict()):
        assert record(model, inputs).recorded[2].shape == (2, 4)


# --- nothing changes ---------------------------------------------------------------------------


def state_of(link: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"hooks": list(chainer.get_function_hooks())}
    for path, parameter in link.namedparams():
        found[path] = parameter.array.tobytes()
        found[path + ".grad"] = parameter.grad.tobytes()
    for path, below in link.namedlinks():
        found[path + " attributes"] = {
            key: item.tobytes() if isinstance(item, np.ndarray) else item
            for key, item in vars(below).items()
        }
    found["numpy"] = np.random.get_state()[1].tobytes(), np.random.get_state()[2:]
    found["python"] = random.getstate()
    found["config"] = chainer.config.train, chainer.config.enable_backprop
    found["apply"] = chainer.FunctionNode.apply
    return found


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_recording_leaves_the_model_as_it_was(mode: str) -> None:
    net = Mixed()
    net(IMAGES)  # initialises what waits for a shape
    net.add_link("noise", chainer.Sequential(lambda h: F.dropout(h, 0.3)))
    net.lstm.reset_state()
    np.random.seed(3)
    before = state_of(net)
    tape = record(lambda x: net.noise(net(x)["q"]), IMAGES, mode=mode)
    assert state_of(net) == before
    with chainer.using_config("train", mode == "train"):
        plain = net.noise(net(IMAGES)["q"])
    assert plain.array.tobytes() == tape.recorded[tape.outputs["output"]].tobytes()
    assert_replays(tape)


def test_an_error_leaves_everything_as_it_was() -> None:
    net = Mixed()
    net(IMAGES)
    net.lstm.reset_state()
    before = state_of(net)
    with pytest.raises(ModelError):
        record(net, normal(4, 3, 6, 5), mode="train")
    assert state_of(net) == before


def test_the_first_call_initialises() -> None:
    net = chainer.Sequential(L.Linear(None, 3), L.BatchNormalization(axis=0))
    tape = record(net, normal(4, 2))
    assert net[0].W.array is not None and net[1].avg_mean is not None
    assert "/0/W" in leaves(tape) and "/1/avg_var" in leaves(tape)
    assert_replays(tape)


def test_link_hooks_run_and_stay() -> None:
    dense = L.Linear(3, 4)
    dense.add_hook(SpectralNormalization())
    x = normal(2, 3)
    before = state_of(dense)
    tape = record(dense, x)
    assert state_of(dense) == before and list(dense.local_link_hooks) == ["SpectralNormalization"]
    with chainer.using_config("train", False):
        assert dense(x).array.tobytes() == tape.recorded[tape.outputs["output"]].tobytes()
    assert "/W" in leaves(tape)
    assert_replays(tape)


# --- replay ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_every_function_replays_and_has_a_float64(case: str) -> None:
    def model(x: Any, y: Any, image: Any, positive: Any, square: Any, labels: Any) -> Any:
        return CASES[case](
            SimpleNamespace(x=x, y=y, image=image, positive=positive, square=square, labels=labels)
        )

    tape = record(model, arguments())
    assert_replays(tape)


@pytest.mark.parametrize(
    "link",
    [
        lambda: L.BatchNormalization(3),
        lambda: L.BatchRenormalization(3),
        lambda: L.DecorrelatedBatchNormalization(4, 2),
    ],
)
def test_batch_statistics_replay_from_what_they_were(link: Any) -> None:
    link = link()
    image = normal(3, 4 if isinstance(link, L.DecorrelatedBatchNormalization) else 3, 5, 2)
    tape = record(link, image, mode="train")
    assert_replays(tape)
    assert_replays(tape)  # the first replay changed nothing that the second reads


def test_sequences() -> None:
    for link in (L.NStepLSTM(2, 3, 4, 0.0), L.NStepBiGRU(1, 3, 4, 0.0)):
        tape = record(lambda a, b, link=link: link(None, None, [a, b])
                      if isinstance(link, L.NStepLSTM) else link(None, [a, b]),
                      (normal(5, 3), normal(2, 3)))  # fmt: skip
        assert_replays(tape)
        assert {op.site.layer for op in tape.ops} == {"/link"}


def test_attention_by_hand() -> None:
    query, key, value = (L.Linear(4, 6, nobias=True) for _ in range(3))

    def attention(x: Any) -> Any:
        flat = F.reshape(x, (-1, 4))
        q, k, v = (F.reshape(link(flat), (2, 5, 2, 3)) for link in (query, key, value))
        q, k, v = (F.transpose(item, (0, 2, 1, 3)) for item in (q, k, v))
        weights = F.softmax(F.matmul(q, k, transb=True) / 3**0.5, axis=3)
        return F.reshape(F.transpose(F.matmul(weights, v), (0, 2, 1, 3)), (2, 5, 6))

    tape = record(attention, normal(2, 5, 4))
    assert {"/query", "/key", "/value"} <= {op.site.layer for op in tape.ops}
    assert_replays(tape)


def test_a_cast_to_float32_has_a_float64() -> None:
    tape = record(lambda x: F.cast(F.cast(x, np.float16), np.float32), normal(2, 3))
    wide = tape.replay("float64")
    np.testing.assert_array_equal(wide.array(tape.outputs["output"]), tape.recorded[0])


def test_a_function_without_float64_runs_as_recorded() -> None:
    class Narrow(chainer.FunctionNode):
        def forward(self, inputs: Any) -> Any:
            return (np.tanh(inputs[0].astype("f")),)

    tape = record(lambda x: Narrow().apply((x * 2,))[0] * 2, normal(2, 3))
    wide = tape.replay("float64")
    assert [op.kind for op in wide.fallbacks] == ["Narrow"]
    assert wide.array(tape.outputs["output"]).dtype == np.float64


# --- outputs -----------------------------------------------------------------------------------


def test_nested_outputs() -> None:
    def model(x: Any) -> Any:
        return x * 2, {"a": [F.tanh(x), None], "b": np.arange(3)}, 0.5

    assert list(record(model, normal(2, 3)).outputs) == ["0", "1/a/0", "1/b", "2"]


def test_chainerrls_networks_and_action_values() -> None:
    from .chainerrl_stub import import_chainerrl

    rl = import_chainerrl()
    head = record(
        rl.links.NatureDQNHead(n_input_channels=2, n_output_channels=5), normal(3, 2, 84, 84)
    )
    assert op_of(head, "LinearFunction").site.layer == "/3"
    assert_replays(head)
    # ChainerRL's own code counts as the user's: its line, then the one here that called it
    assert "chainerrl" in op_of(head, "LinearFunction").site.frames[0].file
    dueling = record(rl.q_functions.DuelingDQN(3, n_input_channels=2), normal(2, 2, 84, 84))
    assert list(dueling.outputs) == ["q_values"]
    assert_replays(dueling)
    c51 = rl.q_functions.DistributionalDuelingDQN(3, 5, -1.0, 1.0, n_input_channels=2)
    tape = record(c51, normal(2, 2, 84, 84))
    assert set(tape.outputs) == {"z_values", "q_values", "q_dist"}
    assert leaves(tape)["/z_values"] == "buffer"
    assert_replays(tape)


def test_action_values_have_the_names_that_pfrls_have() -> None:
    torch = pytest.importorskip("torch")
    pfrl = pytest.importorskip("pfrl.action_value")
    from parity.outputs.flatten import flatten

    from .chainerrl_stub import import_chainerrl

    rl = import_chainerrl().action_value
    array, support = normal(2, 3, 5), normal(5)
    for name, arguments_ in {
        "DiscreteActionValue": (array[:, :, 0],),
        "DistributionalDiscreteActionValue": (array, support),
        "QuantileDiscreteActionValue": (array,),
    }.items():
        in_chainer = getattr(rl, name)(*(chainer.Variable(array) if i == 0 else array
                                   for i, array in enumerate(arguments_)))  # fmt: skip
        in_torch = getattr(pfrl, name)(*(torch.tensor(array) for array in arguments_))
        one = flatten(in_chainer, lambda item: isinstance(item, chainer.Variable))
        two = flatten(in_torch, torch.is_tensor)
        assert set(one) == set(two) and "q_values" in one


def test_q_values_computed_on_demand_are_recorded() -> None:
    from .chainerrl_stub import import_chainerrl

    value = import_chainerrl().action_value.QuantileDiscreteActionValue
    tape = record(lambda x: value(F.tanh(x)), normal(2, 3, 5))
    assert set(tape.outputs) == {"quantiles", "q_values"} and kinds(tape) == ["Tanh", "Mean"]


# --- errors ------------------------------------------------------------------------------------


def test_models_elsewhere_than_on_numpy_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = L.Linear(3, 2)
    monkeypatch.setattr(type(dense), "xp", property(lambda self: object()))
    with pytest.raises(ModelError, match=r"model\.to_device\('@numpy'\)"):
        record(dense, normal(2, 3))


def test_an_error_names_the_users_line() -> None:
    def model(x: Any) -> Any:
        return F.reshape(x, (4, 4))

    with pytest.raises(ModelError, match="InvalidType") as caught:
        record(model, normal(2, 3))
    first = inspect.getsourcelines(model)[1]
    assert f"{__file__}:{first + 1}: return F.reshape(x, (4, 4))" in str(caught.value)


def test_a_model_without_arrays_is_refused() -> None:
    with pytest.raises(ModelError, match="returned no Variables but NoneType"):
        record(lambda x: None, normal(2, 3))


def test_versions() -> None:
    found = adapter.versions()
    assert found["chainer"] == "7.8.1" and found["use_ideep"] == "never" and found["dtype"]


class OwnNorm(chainer.Chain):
    """A normalisation of the user's, with statistics and without a decay."""

    def __init__(self) -> None:
        super().__init__()
        self.add_persistent("avg_mean", np.float32([0.5, -1, 2]))
        self.add_persistent("avg_var", np.float32([1, 2, 3]))

    def forward(self, x: Any) -> Any:
        return (x - self.avg_mean) / chainer.functions.sqrt(
            chainer.Variable(self.avg_var) + np.float32(1e-5)
        )


def test_statistics_of_a_link_without_a_decay_are_moved() -> None:
    source, target = OwnNorm(), OwnNorm()
    target.avg_mean[...], target.avg_var[...] = 0, 1
    x = np.random.default_rng(4).standard_normal((4, 3)).astype("f")
    done = parity.transfer(parity.wrap(source, inputs=x), parity.wrap(target, inputs=x))
    assert done.verdict == "parity", done
    np.testing.assert_array_equal(target.avg_mean, source.avg_mean)
