"""Weights brought from any framework into any other, each proved by running both."""

from __future__ import annotations

import itertools
import json

import keras
import numpy as np
import pytest
import torch
from keras import layers

import parity
from parity.cli import main
from parity.errors import InputError, UsageError
from parity.weights.files import read_weights
from tests.weights import transfer_models as nets

RNG = np.random.default_rng(11)
PAIRS = list(itertools.permutations(nets.FRAMEWORKS, 2))


def images_of(size):
    return RNG.normal(size=(3, 3, size, size)).astype("f")


def both(makers, source, target, inputs, images=False):
    """The two models with weights of their own, and the inputs as the source takes them."""
    models, last = [], images and inputs.transpose(0, 2, 3, 1)
    for name in (source, target):
        takes_last = images and name == "keras"
        layout = "NHWC" if takes_last else "NCHW"
        models.append(nets.shuffled(makers[name](), last if takes_last else inputs, layout))
    return *models, last if images and source == "keras" else inputs


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_images_with_a_flatten_norms_and_two_heads(source, target):
    given = both(nets.IMAGES, source, target, images_of(11), images=True)
    result = parity.transfer(*given)
    assert result.verdict == "parity" and result.written, str(result.report)
    assert len(result.table.rows) == 20
    assert result.table.left == ((), ())
    permuted = [row for row in result.table.rows if row.done]
    if "keras" in (source, target):
        assert [(row.role, max(row.source_shapes[0])) for row in permuted] == [("kernel", 96)]
        assert "(6,4,4)" in permuted[0].done and "(4,4,6)" in permuted[0].done
    else:
        assert permuted == []


def test_there_and_back_is_bit_exact():
    inputs = images_of(11)
    first, second, given = both(nets.IMAGES, "torch", "keras", inputs, images=True)
    third = nets.shuffled(nets.TorchImages(), inputs)
    parity.transfer(first, second, given)
    parity.transfer(second, third, inputs.transpose(0, 2, 3, 1))
    assert same(nets.contents(first), nets.contents(third))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_separate_trunks_of_the_same_shapes(source, target):
    inputs = RNG.normal(size=(3, 4)).astype("f")
    given = both(nets.TRUNKS, source, target, inputs)
    result = parity.transfer(*given)
    assert result.verdict == "parity"
    assert len(result.table.rows) == 12


@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(nets.LSTMS, 2)))
def test_lstm(source, target):
    given = both(nets.LSTMS, source, target, RNG.normal(size=(3, 5, 4)).astype("f"))
    result = parity.transfer(*given)
    assert result.verdict == "parity"
    two_biases = {source, target} == {"torch", "chainer"}  # which are kept apart
    assert len(result.table.rows) == (10 if two_biases else 8)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_gru(source, target):
    given = both(nets.GRUS, source, target, RNG.normal(size=(3, 5, 4)).astype("f"))
    assert parity.transfer(*given).verdict == "parity"


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_transposed_convolutions(source, target):
    given = both(nets.TRANSPOSED, source, target, images_of(4), images=True)
    assert parity.transfer(*given).verdict == "parity"


@pytest.mark.parametrize("turned", [False, True])
def test_attention_fused_and_split(turned):
    makers = {"torch": nets.TorchAttention, "keras": nets.keras_attention}
    names = list(makers)[:: -1 if turned else 1]
    given = both(makers, *names, RNG.normal(size=(3, 5, 4)).astype("f"))
    result = parity.transfer(*given)
    assert result.verdict == "parity"
    assert {"query kernel", "key kernel", "value kernel"} <= {row.role for row in result.table.rows}


@pytest.mark.parametrize("turned", [False, True])
def test_embeddings_and_convolutions_over_words(turned):
    makers = {"torch": nets.TorchWords, "keras": nets.keras_words}
    names = list(makers)[:: -1 if turned else 1]
    given = both(makers, *names, RNG.integers(0, 7, size=(4, 3)))
    assert parity.transfer(*given).verdict == "parity"


def test_what_is_alike_is_settled_by_running_and_told():
    inputs = RNG.normal(size=(3, 4)).astype("f")
    models = [nets.shuffled(nets.Difference(swapped), inputs) for swapped in (False, True)]
    result = parity.transfer(*models, inputs)
    assert result.verdict == "parity"
    assert any("alike by structure: a.weight and b.weight" in note for note in result.table.notes)
    assert same(nets.contents(models[0]), nets.contents(models[1]))


def test_a_wrong_map_diverges_and_leaves_the_target_as_it_was(tmp_path):
    given = both(nets.TRUNKS, "torch", "keras", RNG.normal(size=(3, 4)).astype("f"))
    good = parity.transfer(*given)
    good.save_map(tmp_path / "map.json")
    target = nets.shuffled(nets.keras_trunks(), given[2])
    wrong = json.loads((tmp_path / "map.json").read_text())
    hidden = [one for one in wrong["pairs"] if one["source"] in (["v.2.weight"], ["p.2.weight"])]
    hidden[0]["source"], hidden[1]["source"] = hidden[1]["source"], hidden[0]["source"]
    before = nets.contents(target)
    result = parity.transfer(given[0], target, given[2], map=wrong)
    assert result.verdict == "diverged" and not result.written
    assert same(before, nets.contents(target))
    right = parity.transfer(given[0], target, given[2], map=tmp_path / "map.json")
    assert right.verdict == "parity" and not same(before, nets.contents(target))


def test_a_map_that_names_what_is_not_there():
    given = both(nets.TRUNKS, "torch", "keras", RNG.normal(size=(3, 4)).astype("f"))
    entry = {"role": "kernel", "source": ["nowhere"], "target": ["dense/kernel"]}
    with pytest.raises(UsageError, match="has no kernel made of"):
        parity.transfer(*given, map={"pairs": [entry]})
    with pytest.raises(UsageError, match="A map is"):
        parity.transfer(*given, map={"pairs": [{"role": "kernel"}]})


def test_models_of_other_structure_diverge_and_tell_what_is_left():
    inputs = RNG.normal(size=(3, 4)).astype("f")
    source = nets.shuffled(torch.nn.Sequential(torch.nn.Linear(4, 3)), inputs)
    deeper = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Linear(5, 3))
    target = nets.shuffled(deeper, inputs)
    before = nets.contents(target)
    result = parity.transfer(source, target, inputs)
    assert result.verdict == "diverged"
    assert set(result.table.left[1]) >= {"0.weight", "0.bias"}
    assert same(before, nets.contents(target))


def test_the_table_tells_what_copying_by_position_does():
    given = both(nets.IMAGES, "torch", "keras", images_of(11), images=True)
    table = parity.transfer(*given).table
    assert table.by_position == "by position the copy fails at slot 0: (7,1) into (3,3,3,4)"
    assert "OIHW -> HWIO" in str(table) and "| conv_a.weight | (3,3,3,4)" not in str(table)
    assert "| kernel | conv_a.weight | (4,3,3,3) |" in table.to_markdown()
    assert "norm.num_batches_tracked" in table.dead[0]
    sources = [tensor.name for tensor in nets.load("torch").tensors(given[0].obj)]
    targets = [tensor.name for tensor in nets.load("tensorflow").tensors(given[1].obj)]
    pairs = {row.source[0]: row.target[0] for row in table.rows}
    told = [None if at is None else targets[at] for at in table.indices]
    assert told == [pairs.get(name) for name in sources]
    json.dumps(table.to_dict())


def test_inputs_are_drawn_where_a_model_tells_its_shapes():
    inputs = RNG.normal(size=(3, 4)).astype("f")
    source = nets.shuffled(nets.TorchTrunks(), inputs)
    target = nets.shuffled(nets.keras_trunks(), inputs)
    assert parity.transfer(source, target).verdict == "parity"
    with pytest.raises(InputError, match="Neither model tells"):
        parity.transfer(source, nets.shuffled(nets.TorchTrunks(), inputs))


@pytest.mark.parametrize("epsilons", [(2e-3, 1e-5), (1e-5, 2e-3)])
def test_another_epsilon_is_told_and_taken_up_where_asked(epsilons):
    nn = torch.nn
    inputs = RNG.normal(size=(3, 4)).astype("f")
    makers = [lambda e=e: nn.Sequential(nn.BatchNorm1d(4, eps=e)).eval() for e in epsilons]
    source, target = (nets.shuffled(make(), inputs) for make in makers)
    before = nets.contents(target)
    as_it_is = parity.transfer(source, target, inputs)
    assert as_it_is.verdict == "diverged" and same(before, nets.contents(target))
    assert any("epsilon: " in note for note in as_it_is.table.notes)
    assert parity.transfer(source, target, inputs, adapt_variances=True).verdict == "parity"


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.weight = (
            torch.nn.Parameter(torch.ones(3, 4)),
            torch.nn.Parameter(torch.ones(3, 4)),
        )

    def forward(self, x):
        return torch.nn.functional.linear(x, torch.tanh(self.scale) * self.weight)


class ChainerScaled(nets.chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.one = nets.chainer.Parameter(np.ones((3, 4), "f"))
            self.two = nets.chainer.Parameter(np.ones((3, 4), "f"))

    def forward(self, x):
        return nets.F.linear(x, nets.F.tanh(self.two) * self.one)


def test_a_kernel_that_is_computed_from_two_tensors():
    inputs = RNG.normal(size=(3, 4)).astype("f")
    source, target = (nets.shuffled(make(), inputs) for make in (Scaled, ChainerScaled))
    result = parity.transfer(source, target, inputs)
    assert result.verdict == "parity"
    rows = {row.role: (row.source, row.target) for row in result.table.rows}
    assert rows["kernel (mul)"] == (("weight",), ("/one",))
    assert rows["kernel (mul tanh)"] == (("scale",), ("/two",))


class Shifted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.shift, self.scale, self.table = (
            torch.nn.Parameter(torch.ones(shape)) for shape in ((4, 1, 1), (4, 1, 1), (5, 5))
        )

    def forward(self, x):
        return torch.tanh(x * self.scale + self.shift) + self.table


class ChainerShifted(nets.chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            for name, shape in (("a", (5, 5)), ("b", (4,)), ("c", (4,))):
                setattr(self, name, nets.chainer.Parameter(np.ones(shape, "f")))

    def forward(self, x):
        F = nets.F
        scale, shift = (F.broadcast_to(p[:, None, None], x.shape) for p in (self.c, self.b))
        return F.tanh(x * scale + shift) + F.broadcast_to(self.a, x.shape)


@pytest.mark.parametrize("turned", [False, True])
def test_scales_and_shifts_that_belong_to_no_layer(turned):
    inputs = RNG.normal(size=(3, 4, 5, 5)).astype("f")
    models = [nets.shuffled(make(), inputs) for make in (Shifted, ChainerShifted)]
    result = parity.transfer(*models[:: -1 if turned else 1], inputs)
    assert result.verdict == "parity", str(result)
    assert [row.role for row in result.table.rows] == ["scale", "shift", "shift"]


def test_inventory_tells_roles_sharing_and_dead_tensors():
    model = nets.TorchTrunks()
    model.p[2].weight = model.v[2].weight
    model.unused = torch.nn.Linear(2, 2)
    found = parity.inventory(model, RNG.normal(size=(3, 4)).astype("f"))
    items = {item.names[0]: item for item in found.items}
    assert items["v.2.weight"].names == ("v.2.weight", "p.2.weight")
    assert items["v.0.weight"].roles == ("kernel",) and items["v.0.bias"].roles == ("bias",)
    assert items["unused.weight"].dead and not items["v.0.weight"].dead
    assert "v.2.weight = p.2.weight" in str(found)


def test_inventory_tells_of_names_that_collide():
    inputs = layers.Input((4,))
    inner = [
        keras.Sequential([layers.Input((4,)), layers.Dense(4, name="d")], name=f"s{n}")
        for n in (1, 2)
    ]
    for model in inner:
        model.layers[0].kernel._path = "same/kernel"
    found = parity.inventory(keras.Model(inputs, inner[1](inner[0](inputs))))
    assert len(found.items) == 4
    assert found.collisions == ("same/kernel",)


# --- RLlib's default vision network, and a file of ChainerRL's Nature DQN -------------------------


class TorchVision(torch.nn.Module):
    def __init__(self):
        super().__init__()
        nn = torch.nn
        self.logits = nn.Conv2d(16, 4, 1)
        convs = [nn.Conv2d(4, 8, 8, 4), nn.Conv2d(8, 12, 4, 2), nn.Conv2d(12, 16, 9)]
        self.convs = nn.ModuleList(convs)
        self.value = nn.Linear(16, 1)

    def forward(self, x):
        for conv in self.convs:
            x = torch.relu(conv(x))
        return self.logits(x).flatten(1), self.value(x.flatten(1))


def trunk():
    inputs = h = layers.Input((84, 84, 4))
    for filters, size, stride in ((8, 8, 4), (12, 4, 2), (16, 9, 1)):
        h = layers.Conv2D(filters, size, strides=stride, activation="relu")(h)
    return inputs, h


def test_the_default_vision_network_whose_lists_are_ordered_differently():
    inputs, h = trunk()
    logits = layers.Flatten()(layers.Conv2D(4, 1)(h))
    target = keras.Model(inputs, [logits, layers.Dense(1)(layers.Flatten()(h))])
    source = nets.shuffled(TorchVision(), RNG.normal(size=(2, 4, 84, 84)).astype("f"))
    result = parity.transfer(source, parity.wrap(target, input_layout="NHWC"))
    assert result.verdict == "parity"
    assert result.table.indices == (6, 7, 0, 1, 2, 3, 4, 5, 8, 9)
    told = "by position the copy fails at slot 0: (1,1,16,4) into (8,8,4,8)"
    assert result.table.by_position == told
    assert result.table.left == ((), ())


class ChainerHead(nets.chainer.ChainList):
    def __init__(self):
        L = nets.L
        super().__init__(
            L.Convolution2D(4, 8, 8, stride=4),
            L.Convolution2D(8, 12, 4, stride=2),
            L.Convolution2D(12, 12, 3),
            L.Linear(12 * 7 * 7, 20),
        )

    def forward(self, x):
        for layer in self:
            x = nets.F.relu(layer(x))
        return x


def nature():
    return nets.chainer.Sequential(ChainerHead(), nets.L.Linear(20, 9))


def keras_nature():
    inputs = h = layers.Input((84, 84, 4))
    for filters, size, stride in ((8, 8, 4), (12, 4, 2), (12, 3, 1)):
        h = layers.Conv2D(filters, size, strides=stride, activation="relu")(h)
    h = layers.Dense(20, activation="relu", name="first")(layers.Flatten()(h))
    model = keras.Model(inputs, layers.Dense(9, name="last")(h))
    return parity.wrap(model, input_layout="NHWC")


@pytest.fixture
def saved(tmp_path):
    images = RNG.normal(size=(64, 4, 84, 84)).astype("f")
    source = nets.shuffled(nature(), images[:2])
    nets.chainer.serializers.save_npz(tmp_path / "model.npz", source.obj)
    return source.obj, tmp_path / "model.npz", images


def test_a_file_alone_is_converted_and_not_called_proved(saved):
    model, path, images = saved
    target = keras_nature()
    result = parity.transfer(path, target)
    assert result.verdict == "unverified" and result.report is None
    assert any("not proved" in note for note in result.table.notes)
    permuted = [row for row in result.table.rows if "permuted" in row.done]
    assert [row.source for row in permuted] == [("0/3/W",)] and "(7,7,12)" in permuted[0].done
    ours, theirs = model(images).array, target.obj(images.transpose(0, 2, 3, 1)).numpy()
    assert (ours.argmax(1) == theirs.argmax(1)).all()
    np.testing.assert_allclose(ours, theirs, atol=1e-5 * np.abs(ours).max())


def test_a_file_with_its_model_is_proved(saved):
    _, path, _ = saved
    result = parity.transfer(path, keras_nature(), source_model=nature())
    assert result.verdict == "parity"
    assert len(result.table.rows) == 10


def test_a_file_that_contradicts_the_model_is_told(saved):
    _, path, _ = saved
    with np.load(path) as loaded:
        arrays = dict(loaded)
    arrays["0/2/W"] = np.zeros((12, 12, 4, 4), "f")
    arrays["1/W"] = np.zeros((20, 9), "f")
    np.savez(path, **arrays)
    result = parity.transfer(path, keras_nature())
    told = " ".join(result.table.notes)
    assert "0/2/W is (12, 12, 4, 4)" in told and "takes only (12, 12, 3, 3)" in told
    assert "1/W is (20, 9), where last/kernel takes only (9, 20)" in told


# --- the command ---------------------------------------------------------------------------------

MODULE = """
import keras, torch
from keras import layers

def source():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2))

def target():
    hidden = layers.Dense(6, activation="tanh", name="a")
    return keras.Sequential([layers.Input((4,)), hidden, layers.Dense(2, name="b")])

def other():
    return keras.Sequential([layers.Input((4,)), layers.Dense(6), layers.Dense(2)])
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    name = f"nets_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


@pytest.mark.parametrize("output", ["out.keras", "out.weights.h5", "out.npz", "out.safetensors"])
def test_the_command_writes_the_target(module, tmp_path, capsys, output):
    assert main(["transfer", f"{module}:source", f"{module}:target", "-o", output]) == 0
    assert "parity: 4 tensors" in capsys.readouterr().out
    written = read_weights(tmp_path / output)
    torch.manual_seed(3)
    kernel = torch.nn.Linear(4, 6).weight.detach().numpy().T
    assert any(np.array_equal(array, kernel) for array in written.values())
    assert sorted(path.name for path in tmp_path.iterdir() if "out" in path.name) == [output]


def test_the_command_writes_nothing_where_the_two_diverge(module, tmp_path, capsys):
    code = main(["transfer", f"{module}:source", f"{module}:other", "-o", "out.npz"])
    assert code == 1 and not (tmp_path / "out.npz").exists()
    assert "the target is left as it was" in capsys.readouterr().out


def test_the_command_saves_a_map_and_takes_it_back(module, tmp_path):
    words = ["transfer", f"{module}:source", f"{module}:target"]
    assert main([*words, "--save-map", "map.json", "--json", "result.json"]) == 0
    assert main([*words, "--map", "map.json"]) == 0
    assert json.loads((tmp_path / "result.json").read_text())["verdict"] == "parity"


def test_the_command_lists_tensors(module, capsys):
    assert main(["weights", f"{module}:source", "--random", "3,4"]) == 0
    assert "0.weight  (6,4)" in capsys.readouterr().out
