"""What is torch's own: writes in place and through views, modes, scripts, libraries' layers."""

from __future__ import annotations

import copy
import functools
import itertools
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import parity
from parity.errors import ModelError
from parity.frameworks import load
from parity.frameworks.recognise import recognise
from parity.model import wrap
from parity.tape import Tape

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
nn = torch.nn
functional = torch.nn.functional
draw = np.random.default_rng(14)
adapter = load("torch")


def normal(*shape: int) -> np.ndarray:
    return draw.standard_normal(shape).astype("f")


X, SEQUENCE = normal(5, 7), normal(5, 6, 8)
WEIGHT = torch.from_numpy(normal(7, 4))


def record(model: Any, inputs: Any = X, mode: Any = "eval") -> Tape:
    return adapter.record(wrap(model, "torch", mode=mode), inputs)


def recorded(tape: Tape, value: int) -> np.ndarray:
    return tape.adapter.to_numpy(tape.recorded[value])


def arrays(output: Any) -> list[np.ndarray]:
    if isinstance(output, torch.Tensor):
        return [output.detach().numpy()]
    return [array for item in output for array in arrays(item)]


def assert_replays(tape: Tape) -> None:
    """What is read or passed on replays to the bit, and in float64 to its neighbourhood.

    On some machines a kernel rounds an element differently, by where in memory it lies.
    """
    single, double = tape.replay(), tape.replay("float64")
    assert not double.fallbacks
    passed_on = set(tape.outputs.values()) | {value for op in tape.ops for value in op.inputs}
    for value in tape.values:
        producer = tape.producer(value.id)
        if value.id not in passed_on or (producer and producer.kind.startswith("empty")):
            continue  # a kernel's scratch memory
        as_run, again, exact = (
            recorded(tape, value.id), single.array(value.id), double.array(value.id),
        )  # fmt: skip
        if producer is None or producer.static or as_run.dtype.kind != "f":
            assert again.tobytes() == as_run.tobytes(), producer
        else:
            ulps = 4 * np.finfo(as_run.dtype).eps
            scale = np.abs(as_run[np.isfinite(as_run)]).max(initial=0.0)
            np.testing.assert_allclose(again, as_run, rtol=ulps, atol=ulps * scale)
        if as_run.dtype.kind == "f":
            assert exact.dtype == np.float64, producer
            np.testing.assert_allclose(as_run, exact, rtol=1e-4, atol=1e-5)
        else:
            np.testing.assert_array_equal(as_run, exact)


def assert_recorded_is_unrecorded(model: Any, inputs: Any = X) -> Tape:
    """Records, replays, and compares the outputs with a plain call."""
    tensors = inputs if isinstance(inputs, tuple) else (inputs,)
    plain = arrays(model(*(torch.from_numpy(array.copy()) for array in tensors)))
    tape = record(model, inputs)
    assert len(plain) == len(tape.outputs)
    for array, value in zip(plain, tape.outputs.values(), strict=True):
        assert recorded(tape, value).tobytes() == array.tobytes()
    assert_replays(tape)
    return tape


# --- recognise -----------------------------------------------------------------------------------


def test_recognises_modules_their_methods_and_functions() -> None:
    linear = nn.Linear(7, 4)
    for model in (
        linear, nn.Sequential(linear), torch.compile(linear), linear.forward, double,
        lambda x: torch.relu(x), functional.relu,
    ):  # fmt: skip
        assert recognise(model) == "torch"
    assert recognise(torch.relu, "pytorch") == "torch"
    assert not adapter.recognises(np.tanh)


# --- writes --------------------------------------------------------------------------------------


def in_place(x: Any) -> Any:
    h = x * 2
    h += 1
    h.mul_(h).clamp_(max=3)
    h[h < 0.5] = -1.0
    torch.add(h, 1, out=h)
    return h @ WEIGHT


def through_views(x: Any) -> Any:
    h = x * 2
    columns = h[:, 1:3]
    columns.mul_(3)
    h.t()[0] = 7.0
    h.view(-1)[-1] = columns[0, 0]
    return h + 1, columns, h.sum(0)


def read_before_and_after(x: Any) -> Any:
    h = x.clone()
    before = h[1:3].sum(1)
    view = h[2:4]
    h[2] *= 5
    return before, h[1:3].sum(1), view * 1.0


def slices_in_a_loop(x: Any) -> Any:
    out = torch.zeros(5, 7)
    for column in range(7):
        out[:, column] = x[:, column] * (column + 1)
        out[0, : column + 1] += 0.5
    return out @ WEIGHT


def overlapping_writes(x: Any) -> Any:
    h = torch.zeros(7, 7)
    h[:5] = x
    h[3:, 2:] += 1.5
    h.diagonal().fill_(0.25)
    h.as_strided((3,), (8,), 1).mul_(2)
    return h


def through_data(x: Any) -> Any:
    h = x * 2
    h.data.add_(1)
    h.detach()[1:].mul_(3)
    return h * 3


def scattered(x: Any) -> Any:
    index = torch.tensor([[0, 2, 4]]).expand(5, 3)
    h = torch.zeros(5, 7).scatter_(1, index, x[:, :3])
    h.index_add_(1, torch.tensor([1, 2]), x[:, 5:])
    h.index_put_((torch.tensor([0, 1]), torch.tensor([3, 3])), torch.tensor([1.5, 2.5]))
    return h.masked_fill_(h == 0, -0.5)


WRITERS = [
    in_place, through_views, read_before_and_after, slices_in_a_loop, overlapping_writes,
    through_data, scattered,
]  # fmt: skip


@pytest.mark.parametrize("model", WRITERS)
def test_writes_become_values(model: Callable[[Any], Any]) -> None:
    tape = assert_recorded_is_unrecorded(model)
    assert all(not set(op.outputs) & set(op.inputs) for op in tape.ops)


@pytest.mark.parametrize("model", WRITERS)
def test_a_replay_carries_a_change_through_every_write(model: Callable[[Any], Any]) -> None:
    """Another input substituted on the tape gives what the model computes from that input."""
    tape, other = record(model), X + np.sign(X) * np.float32(0.05)
    (value,) = tape.inputs.values()
    run = tape.replay(replaced={value: other})
    plain = arrays(model(torch.from_numpy(other.copy())))
    for array, output in zip(plain, tape.outputs.values(), strict=True):
        np.testing.assert_allclose(run.array(output), array, rtol=1e-5, atol=1e-6)


def test_a_model_that_writes_to_its_input_leaves_the_users_alone() -> None:
    inputs = X.copy()
    tape = record(lambda x: x.mul_(2) + 1, inputs)
    np.testing.assert_array_equal(inputs, X)
    (value,) = tape.inputs.values()
    np.testing.assert_array_equal(recorded(tape, value), X)
    (output,) = tape.outputs.values()
    np.testing.assert_array_equal(recorded(tape, output), X * 2 + 1)
    assert_replays(tape)


def in_place_written_out(x: Any) -> Any:
    h = torch.clamp((2 * x + 1) ** 2, max=3)
    return (torch.where(h < 0.5, torch.tensor(-1.0), h) + 1) @ WEIGHT


def slices_written_out(x: Any) -> Any:
    out = x * torch.arange(1, 8)
    late = 0.5 * torch.arange(7, 0, -1)  # for the first row's column c, in 7 - c steps
    return torch.cat([out[:1] + late, out[1:]]) @ WEIGHT


@pytest.mark.parametrize(
    ("model", "twin"),
    [(in_place, in_place_written_out), (slices_in_a_loop, slices_written_out)],
)
def test_a_model_of_writes_is_at_parity_with_one_without(model: Any, twin: Any) -> None:
    report = parity.compare(wrap(model, "torch"), wrap(twin, "torch"), inputs=X)
    assert report.verdict == "parity", str(report)


def test_an_activation_in_place() -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(7, 6), nn.ReLU(inplace=True), nn.Linear(6, 4))
    tape = assert_recorded_is_unrecorded(model)
    values = {op.kind: op.outputs[0] for op in tape.ops[:3]}
    assert (recorded(tape, values["addmm"]) < 0).any()
    assert (recorded(tape, values["relu"]) >= 0).all()


# --- modes and state -----------------------------------------------------------------------------


class Stateful(nn.Module):
    """Statistics, a counter, dropout, and a module that is called twice."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.dense, self.shared = nn.Linear(7, 6), nn.Linear(6, 6)
        self.norm, self.drop = nn.BatchNorm1d(6, momentum=None), nn.Dropout(0.4)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Any) -> Any:
        self.steps += 1
        h = self.norm(self.dense(x))
        return self.drop(self.shared(torch.tanh(self.shared(h))))


def state_of(model: Any) -> dict[str, Any]:
    return {
        **{name: tensor.clone() for name, tensor in model.state_dict().items()},
        "identity": [id(tensor) for tensor in (*model.parameters(), *model.buffers())],
        "flags": [module.training for module in model.modules()],
        "hooks": [
            [dict(hooks) for hooks in (module._forward_hooks, module._forward_pre_hooks)]
            for module in model.modules()
        ],
        "requires": [parameter.requires_grad for parameter in model.parameters()],
        "random": torch.get_rng_state(),
    }  # fmt: skip


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for name, before in one.items():
        after = other[name]
        assert torch.equal(before, after) if isinstance(before, torch.Tensor) else before == after


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_state_flags_hooks_and_random_state_are_as_before(mode: str) -> None:
    model, seen = Stateful(), itertools.count()  # which no one can put back
    model.norm.eval()  # a frozen layer in a training model
    model.dense.register_forward_hook(lambda module, args, output: print(next(seen)))
    for _ in range(2):
        before = state_of(model)
        tape = record(model, mode=mode)
        assert_same(before, state_of(model))
        assert_replays(tape)
        assert_same(before, state_of(model))
    assert next(seen) == 2  # the users' hooks run


def test_train_mode_is_what_a_training_call_gives() -> None:
    model = Stateful()
    twin = copy.deepcopy(model)
    torch.manual_seed(3)
    with torch.no_grad():
        plain = twin.train()(torch.from_numpy(X)).numpy()
    torch.manual_seed(3)
    tape = record(model, mode="train")
    (output,) = tape.outputs.values()
    assert recorded(tape, output).tobytes() == plain.tobytes()
    drawn = [op for op in tape.ops if op.role == "random"]
    assert [op.site.layer for op in drawn] == ["drop"]
    assert (
        model.steps == 0
        and twin.steps == 1
        and not torch.equal(model.norm.running_mean, twin.norm.running_mean)
    )


def test_gradients_are_untouched_and_not_needed() -> None:
    model = Stateful().eval()
    model(torch.from_numpy(X)).sum().backward()
    before = [parameter.grad.clone() for parameter in model.parameters()]
    record(model)
    for parameter, gradient in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter.grad, gradient)
    assert torch.is_grad_enabled()
    with torch.inference_mode():
        assert_replays(record(model))


def test_a_gradient_is_an_output_like_any_other() -> None:
    def gradient(x: Any) -> Any:
        x = x.requires_grad_()
        return torch.autograd.grad((torch.tanh(x @ WEIGHT) ** 2).sum(), x)[0]

    def by_hand(x: Any) -> Any:
        h = torch.tanh(x @ WEIGHT)
        return (2 * h * (1 - h * h)) @ WEIGHT.t()

    report = parity.compare(wrap(gradient, "torch"), wrap(by_hand, "torch"), inputs=X)
    assert report.verdict == "parity", str(report)


def test_a_module_called_twice_has_one_weight_and_two_operations() -> None:
    tape = record(Stateful())
    twice = [op for op in tape.ops if op.kind == "addmm" and op.site.layer == "shared"]
    assert len(twice) == 2
    names = [value.name for value in tape.values if value.kind == "parameter"]
    assert sorted(names) == sorted(set(names)) and "shared.weight" in names


def test_a_weight_tied_under_two_names_is_one_value() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.out = nn.Embedding(9, 7), nn.Linear(7, 9, bias=False)
            self.out.weight = self.embed.weight

        def forward(self, x: Any) -> Any:
            return self.out(self.embed(x))

    tape = assert_recorded_is_unrecorded(Tied(), np.array([[1, 5, 8], [0, 3, 2]]))
    assert [value.name for value in tape.values if value.kind == "parameter"] == ["embed.weight"]


# --- compiled, scripted, lazy --------------------------------------------------------------------


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_scripted_models_are_refused_with_advice() -> None:
    linear = nn.Linear(7, 4)
    scripted = [
        torch.jit.script(linear),
        torch.jit.trace(linear, torch.ones(2, 7)),
        torch.jit.script(double),
        nn.Sequential(linear, torch.jit.script(nn.Linear(4, 3))),
    ]
    for model in scripted:
        with pytest.raises(ModelError, match="scripted"):
            record(model)


def test_compiled_models_run_eagerly() -> None:
    model = nn.Sequential(nn.Linear(7, 6), nn.Tanh())
    compiled = torch.compile(model)
    tape, plain = record(compiled), record(model)
    assert [op.kind for op in tape.ops] == [op.kind for op in plain.ops]
    (one,), (other,) = tape.outputs.values(), plain.outputs.values()
    assert recorded(tape, one).tobytes() == recorded(plain, other).tobytes()
    assert all(op.site.layer.endswith(("0", "1")) for op in tape.ops)
    function = record(torch.compile(lambda x: torch.tanh(x) * 2))
    assert [op.kind for op in function.ops] == ["tanh", "mul"]


def test_recording_does_not_import_the_compiler() -> None:
    """It takes a second or more, and would be most of a first comparison."""
    code = (
        "import sys, numpy, torch, parity\n"
        "double = parity.wrap(lambda x: x * 2, 'torch')\n"
        "parity.compare(double, double, inputs=numpy.arange(12, dtype='f').reshape(3, 4))\n"
        "assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_lazy_models_are_refused_with_advice() -> None:
    model = nn.Sequential(nn.LazyLinear(4), nn.ReLU())
    with pytest.raises(ModelError, match="Call the model once"):
        record(model)
    model(torch.from_numpy(X))
    assert_replays(record(model))


def test_a_model_that_is_not_run_under_the_default_dtype() -> None:
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        tape = record(nn.Linear(7, 4).to(dtype))
        (value,) = tape.inputs.values()
        assert tape.values[value].dtype == str(dtype).removeprefix("torch.")
        (output,) = tape.outputs.values()
        assert tape.replay("float64").array(output).dtype == np.float64


def test_autocast_is_seen_and_undone_in_float64() -> None:
    linear = nn.Linear(7, 4)

    def model(x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return linear(x).float()

    tape = record(model)
    assert {value.dtype for value in tape.values} == {"float32", "bfloat16"}
    (output,) = tape.outputs.values()
    exact = X.astype("d") @ linear.weight.detach().double().numpy().T + linear.bias.detach().double().numpy()  # noqa: E501  # fmt: skip
    np.testing.assert_allclose(tape.replay("float64").array(output), exact, rtol=1e-12)
    assert not torch.is_autocast_enabled("cpu")


# --- layers of the library -----------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        mask = torch.ones(6, 6).triu(1).bool()
        return self.attention(x, x, x, attn_mask=mask)


LIBRARY = {
    "LSTM": lambda: nn.LSTM(8, 5, num_layers=2, bidirectional=True, batch_first=True),
    "LSTM time first": lambda: nn.LSTM(8, 5),
    "LSTM projected": lambda: nn.LSTM(8, 5, proj_size=3, batch_first=True),
    "GRU": lambda: nn.GRU(8, 5, num_layers=2, bidirectional=True),
    "RNN": lambda: nn.RNN(8, 5, nonlinearity="relu", batch_first=True),
    "attention": Attention,
    "encoder": lambda: nn.TransformerEncoderLayer(8, 2, 11, batch_first=True),
    "encoder, norm first": lambda: nn.TransformerEncoderLayer(8, 4, 11, 0.2, norm_first=True),
    "decoder": lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 11), 2),
    "weight norm": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(8, 5)),
    "group norm": lambda: nn.Sequential(nn.Conv1d(6, 4, 3), nn.GroupNorm(2, 4), nn.GELU()),
    "bilinear": lambda: nn.Upsample(scale_factor=2.0, mode="linear"),
}


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("grad", [True, False], ids=["grad", "no grad"])
@pytest.mark.parametrize("name", LIBRARY)
def test_layers_of_the_library_record_and_replay(name: str, grad: bool) -> None:
    """Without gradients attention takes a fused kernel: another program, recorded as such."""
    torch.manual_seed(5)
    model = LIBRARY[name]().eval()
    inputs = (SEQUENCE, SEQUENCE[:, ::-1].copy()) if name == "decoder" else SEQUENCE
    with torch.set_grad_enabled(grad):
        assert_recorded_is_unrecorded(model, inputs)


def test_an_lstm_is_at_parity_with_its_cell_in_a_loop() -> None:
    torch.manual_seed(6)
    layer, cell = nn.LSTM(8, 5, batch_first=True), nn.LSTMCell(8, 5)
    for own, other in zip(cell.parameters(), layer.parameters(), strict=True):
        own.data.copy_(other.data)

    def loop(x: Any) -> Any:
        state = (torch.zeros(5, 5), torch.zeros(5, 5))
        outputs = []
        for step in range(6):
            state = cell(x[:, step], state)
            outputs.append(state[0])
        return torch.stack(outputs, 1)

    reference = wrap(lambda x: layer(x)[0], "torch", name="layer")
    report = parity.compare(reference, wrap(loop, "torch"), inputs=SEQUENCE)
    assert report.verdict == "parity", str(report)


# --- what holds the modules ----------------------------------------------------------------------

BODY, HEADS = nn.Linear(7, 6), [nn.Linear(6, 3), nn.Linear(6, 2)]


def reads_globals(x: Any) -> Any:
    h = BODY(x).relu()
    return [head(h) for head in HEADS]


class Agent:
    """As an agent of a library: a plain object that holds its networks."""

    def __init__(self) -> None:
        self.net, self.target = nn.Sequential(nn.Linear(7, 6), nn.Dropout(0.9)), nn.Linear(6, 3)

    def __call__(self, x: Any) -> Any:
        return self.target(self.net(x))

    def act(self, x: Any) -> Any:
        return self(x).argmax(1)


def layers_of(tape: Tape) -> list[str]:
    return [op.site.layer for op in tape.ops if op.kind == "addmm"]


def test_modules_are_named_by_what_holds_them() -> None:
    agent, local = Agent(), nn.Linear(7, 4)
    assert layers_of(record(reads_globals)) == ["BODY", "HEADS.0", "HEADS.1"]
    assert layers_of(record(lambda x: local(x))) == ["local"]
    assert layers_of(record(agent)) == layers_of(record(agent.act)) == ["net.0", "target"]
    assert layers_of(record(lambda x: agent(x))) == ["agent.net.0", "agent.target"]
    assert layers_of(record(functools.partial(agent))) == ["net.0", "target"]


def test_held_modules_run_in_the_mode_asked_for() -> None:
    agent = Agent()
    assert agent.net[1].training
    for model in (agent, agent.act, lambda x: agent(x)):
        assert not any(op.role == "random" for op in record(model).ops)
        assert any(op.role == "random" for op in record(model, mode="train").ops)
    assert agent.net[1].training


# --- outputs -------------------------------------------------------------------------------------

Heads = namedtuple("Heads", ["q", "value"])


@dataclass
class Step:
    q: Any
    value: Any


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda h: torch.distributions.Categorical(logits=h), ["logits"]),
        (lambda h: torch.distributions.Categorical(probs=h.softmax(1)), ["probs"]),
        (lambda h: torch.distributions.Normal(h, h.exp()), ["loc", "scale"]),
        (
            lambda h: torch.distributions.Independent(torch.distributions.Normal(h, h.exp()), 1),
            ["base_dist/loc", "base_dist/scale"],
        ),
        (lambda h: Heads(h, h.sum(1)), ["q", "value"]),
        (lambda h: Step(h, {"mean": h.mean(1)}), ["q", "value/mean"]),
        (lambda h: [h, None, (h * 2,)], ["0", "2/0"]),
        (lambda h: h.max(1), ["0", "1"]),
    ],
)
def test_outputs_of_every_structure(make: Callable[[Any], Any], names: list[str]) -> None:
    tape = record(lambda x: make(x @ WEIGHT))
    found = list(tape.outputs)
    assert found == names
    assert_replays(tape)
    other = wrap(lambda x: make(torch.mm(x, WEIGHT)), "torch")
    report = parity.compare(wrap(lambda x: make(x @ WEIGHT), "torch"), other, inputs=X)
    assert report.verdict == "parity", str(report)


def test_what_python_makes_of_numbers_that_it_read_is_no_evidence() -> None:
    """`2 * t.item()` leaves torch: it does not depend on the inputs any more, as far as is seen."""
    assert_recorded_is_unrecorded(lambda x: x * x.sum().item())

    def verdict(factor: float) -> str:
        model = wrap(lambda x: {"loss": (x @ WEIGHT).sum().item() * factor}, "torch")
        return parity.compare(model, model, inputs=X).verdict

    assert verdict(1) == "parity"  # the number that was read is the value it was read from
    assert verdict(0.3) == "unverified"


@pytest.mark.parametrize(
    ("given", "most", "least"),
    [
        ((), torch.finfo(torch.float32).max, torch.finfo(torch.float32).min),
        ((0.0, 7.0, -8.0), 7, -8),
    ],
)
def test_infinities_become_in_float64_what_they_became(
    given: tuple[float, ...], most: float, least: float
) -> None:
    x = np.array([[np.inf, -np.inf, 1.0]], np.float32)
    tape = record(lambda x: torch.nan_to_num(x, *given), x)
    for precision in (None, "float64"):
        found = tape.replay(precision).array(tape.outputs["output"])
        np.testing.assert_array_equal(found, [[most, least, 1.0]])


def test_bits_in_float64_are_those_that_were_recorded() -> None:
    tape = record(lambda x: (x.view(torch.int32) & ~0xFFFF).view(torch.float32))
    (output,) = tape.outputs.values()
    cut = (X.view(np.int32) & ~0xFFFF).view(np.float32)
    np.testing.assert_array_equal(tape.replay("float64").array(output), cut)


def test_a_replay_leaves_the_recording_of_gradients_as_it_was() -> None:
    tape = record(lambda x: torch.tanh(x @ WEIGHT.clone().requires_grad_()))
    for on in (True, False):
        with torch.set_grad_enabled(on):
            found = tape.replay("float64").native[next(iter(tape.outputs.values()))]
            assert torch.is_grad_enabled() is on and not found.requires_grad


def test_complex_values_replay_in_float64() -> None:
    filters = torch.randn(4, dtype=torch.complex64, generator=torch.Generator().manual_seed(7))
    tape = record(lambda x: torch.fft.irfft(torch.fft.rfft(x) * filters, n=7))
    double = tape.replay("float64")
    assert not double.fallbacks
    for value in tape.values:
        assert double.array(value.id).dtype in (np.float64, np.complex128)
