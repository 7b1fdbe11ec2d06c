"""Weights brought from any framework into any other, each proved by running both."""

from __future__ import annotations

import itertools
import json
import re

import keras
import numpy as np
import pytest
import tensorflow
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


def same(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_images_with_a_flatten_norms_and_two_heads(source, target):
    given = nets.both(nets.IMAGES, source, target, images_of(11), images=True)
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
    first, second, given = nets.both(nets.IMAGES, "torch", "keras", inputs, images=True)
    third = nets.shuffled(nets.TorchImages(), inputs)
    parity.transfer(first, second, given)
    parity.transfer(second, third, inputs.transpose(0, 2, 3, 1))
    assert same(nets.contents(first), nets.contents(third))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_separate_trunks_of_the_same_shapes(source, target):
    inputs = RNG.normal(size=(3, 4)).astype("f")
    given = nets.both(nets.TRUNKS, source, target, inputs)
    result = parity.transfer(*given)
    assert result.verdict == "parity"
    assert len(result.table.rows) == 12


@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(nets.LSTMS, 2)))
def test_lstm(source, target):
    given = nets.both(nets.LSTMS, source, target, RNG.normal(size=(3, 5, 4)).astype("f"))
    result = parity.transfer(*given)
    assert result.verdict == "parity"
    two_biases = {source, target} == {"torch", "chainer"}  # which are kept separate
    assert len(result.table.rows) == (10 if two_biases else 8)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_gru(source, target):
    given = nets.both(nets.GRUS, source, target, RNG.normal(size=(3, 5, 4)).astype("f"))
    assert parity.transfer(*given).verdict == "parity"


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_transposed_convolutions(source, target):
    given = nets.both(nets.TRANSPOSED, source, target, images_of(4), images=True)
    assert parity.transfer(*given).verdict == "parity"


@pytest.mark.parametrize("turned", [False, True])
def test_attention_fused_and_split(turned):
    makers = {"torch": nets.TorchAttention, "keras": nets.keras_attention}
    names = list(makers)[:: -1 if turned else 1]
    given = nets.both(makers, *names, RNG.normal(size=(3, 5, 4)).astype("f"))
    result = parity.transfer(*given)
    assert result.verdict == "parity"
    assert {"query kernel", "key kernel", "value kernel"} <= {row.role for row in result.table.rows}


@pytest.mark.parametrize("turned", [False, True])
def test_embeddings_and_convolutions_over_words(turned):
    makers = {"torch": nets.TorchWords, "keras": nets.keras_words}
    names = list(makers)[:: -1 if turned else 1]
    given = nets.both(makers, *names, RNG.integers(0, 7, size=(4, 3)))
    assert parity.transfer(*given).verdict == "parity"


def one_pixel_nets():
    """The last layers as convolutions of one pixel, and as dense ones behind a flatten."""
    torch.manual_seed(3)
    convolutions = torch.nn.Sequential(
        torch.nn.Conv2d(3, 6, 4), torch.nn.ReLU(), torch.nn.Conv2d(6, 5, 1), torch.nn.Tanh(),
        torch.nn.Conv2d(5, 2, 1), torch.nn.Flatten())  # fmt: skip
    dense = keras.Sequential([
        keras.Input((4, 4, 3)), layers.Conv2D(6, 4, activation="relu"), layers.Flatten(),
        layers.Dense(5, activation="tanh"), layers.Dense(2)])  # fmt: skip
    return convolutions, parity.wrap(dense, input_layout="NHWC")


@pytest.mark.parametrize("turned", [False, True])
def test_convolutions_of_one_pixel_and_dense_layers(turned):
    convolutions, dense = one_pixel_nets()
    convolutions = parity.wrap(convolutions, input_layout="NCHW")
    source, target = (dense, convolutions) if turned else (convolutions, dense)
    inputs = images_of(4).transpose(0, 2, 3, 1) if turned else images_of(4)
    result = parity.transfer(source, target, inputs=inputs)
    assert result.verdict == "parity", str(result.report)
    assert result.table.left == ((), ()) and len(result.table.rows) == 6
    layouts = {row.layout for row in result.table.rows if row.role == "kernel"}
    assert layouts == ({"HWIO -> OIHW", "IO -> OIHW"} if turned else {"OIHW -> HWIO", "OIHW -> IO"})


def test_a_file_of_convolutions_of_one_pixel(tmp_path):
    convolutions, _ = one_pixel_nets()
    path = tmp_path / "source.npz"
    np.savez(path, **{name: value.numpy() for name, value in convolutions.state_dict().items()})
    target, _ = one_pixel_nets()
    with torch.no_grad():
        for value in target.parameters():
            value.zero_()
    result = parity.transfer(path, target, inputs=images_of(4))
    assert result.table.left == ((), ())
    assert same(convolutions.state_dict().values(), target.state_dict().values())


def test_what_is_alike_is_settled_by_running_and_reported():
    inputs = RNG.normal(size=(3, 4)).astype("f")
    models = [nets.shuffled(nets.Difference(swapped), inputs) for swapped in (False, True)]
    result = parity.transfer(*models, inputs)
    assert result.verdict == "parity"
    assert any("alike by structure: a.weight and b.weight" in note for note in result.table.notes)
    assert same(nets.contents(models[0]), nets.contents(models[1]))


def test_a_wrong_map_diverges_and_leaves_the_target_as_it_was(tmp_path):
    given = nets.both(nets.TRUNKS, "torch", "keras", RNG.normal(size=(3, 4)).astype("f"))
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
    given = nets.both(nets.TRUNKS, "torch", "keras", RNG.normal(size=(3, 4)).astype("f"))
    entry = {"role": "kernel", "source": ["nowhere"], "target": ["dense/kernel"]}
    with pytest.raises(UsageError, match="has no kernel made of"):
        parity.transfer(*given, map={"pairs": [entry]})
    with pytest.raises(UsageError, match="pair 1 is {'role': 'kernel'}. A map is"):
        parity.transfer(*given, map={"pairs": [{"role": "kernel"}]})
    with pytest.raises(UsageError, match="pair 1 is"):  # one name, where a list is asked for
        parity.transfer(*given, map={"pairs": [{**entry, "source": "v.0.weight"}]})


def test_a_map_in_toml(tmp_path):
    source, target, inputs = nets.both(
        nets.TRUNKS, "torch", "keras", RNG.normal(size=(3, 4)).astype("f")
    )
    pairs = parity.transfer(source, target, inputs).pairing.to_map()["pairs"]
    text = "".join(
        f"[[pairs]]\nrole = '{one['role']}'\nsource = {one['source']}\ntarget = {one['target']}\n\n"
        for one in pairs
    )
    (tmp_path / "map.toml").write_text(text)
    fresh = nets.shuffled(nets.keras_trunks(), inputs)
    result = parity.transfer(source, fresh, inputs, map=tmp_path / "map.toml")
    assert len(result.table.rows) == 12
    assert result.verdict == "parity"
    (tmp_path / "map.toml").write_text(text.replace("[[pairs]]", "[[pairs"))
    with pytest.raises(UsageError, match="map.toml cannot be read as a map"):
        parity.transfer(source, fresh, inputs, map=tmp_path / "map.toml")
    with pytest.raises(UsageError, match="none.toml cannot be read as a map"):
        parity.transfer(source, fresh, inputs, map=tmp_path / "none.toml")


def test_models_of_other_structure_diverge_and_what_is_left_is_reported():
    inputs = RNG.normal(size=(3, 4)).astype("f")
    source = nets.shuffled(torch.nn.Sequential(torch.nn.Linear(4, 3)), inputs)
    deeper = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Linear(5, 3))
    target = nets.shuffled(deeper, inputs)
    before = nets.contents(target)
    result = parity.transfer(source, target, inputs)
    assert result.verdict == "diverged"
    assert set(result.table.left[1]) >= {"0.weight", "0.bias"}
    assert same(before, nets.contents(target))


def test_the_table_shows_what_copying_by_position_does():
    given = nets.both(nets.IMAGES, "torch", "keras", images_of(11), images=True)
    table = parity.transfer(*given).table
    assert table.by_position == "by position the copy fails at slot 0: (7,1) into (3,3,3,4)"
    assert "OIHW -> HWIO" in str(table) and "| conv_a.weight | (3,3,3,4)" not in str(table)
    assert "| kernel | conv_a.weight | (4,3,3,3) |" in table.to_markdown()
    assert "norm.num_batches_tracked" in table.dead[0]
    sources = [tensor.name for tensor in nets.load("torch").tensors(given[0].obj)]
    targets = [tensor.name for tensor in nets.load("tensorflow").tensors(given[1].obj)]
    pairs = {row.source[0]: row.target[0] for row in table.rows}
    partners = [None if at is None else targets[at] for at in table.indices]
    assert partners == [pairs.get(name) for name in sources]
    json.dumps(table.to_dict())


def test_inputs_are_drawn_where_a_model_states_its_shapes():
    inputs = RNG.normal(size=(3, 4)).astype("f")
    source = nets.shuffled(nets.TorchTrunks(), inputs)
    target = nets.shuffled(nets.keras_trunks(), inputs)
    assert parity.transfer(source, target).verdict == "parity"
    with pytest.raises(InputError, match="Neither .* nor .* states the shape"):
        parity.transfer(source, nets.shuffled(nets.TorchTrunks(), inputs))


@pytest.mark.parametrize("epsilons", [(2e-3, 1e-5), (1e-5, 2e-3)])
def test_another_epsilon_is_reported_and_taken_up_where_asked(epsilons):
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
    assert rows["kernel (multiply)"] == (("weight",), ("/one",))
    assert rows["kernel (multiply tanh)"] == (("scale",), ("/two",))


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


def test_the_inventory_states_roles_sharing_and_dead_tensors():
    model = nets.TorchTrunks()
    model.p[2].weight = model.v[2].weight
    model.unused = torch.nn.Linear(2, 2)
    found = parity.inventory(model, RNG.normal(size=(3, 4)).astype("f"))
    items = {item.names[0]: item for item in found.items}
    assert items["v.2.weight"].names == ("v.2.weight", "p.2.weight")
    assert items["v.0.weight"].roles == ("kernel",) and items["v.0.bias"].roles == ("bias",)
    assert items["unused.weight"].dead and not items["v.0.weight"].dead
    assert "v.2.weight = p.2.weight" in str(found)


class TwoHeads(torch.nn.Module):
    def __init__(self, value_trunk=None):
        super().__init__()
        self.trunk, self.pi, self.v = (torch.nn.Linear(*s) for s in ((4, 6), (6, 3), (6, 1)))
        self.value_trunk = value_trunk or self.trunk

    def forward(self, x):
        value = self.v(torch.tanh(self.value_trunk(x)))
        return {"logits": self.pi(torch.tanh(self.trunk(x))), "value": value[:, 0]}


def test_the_inventory_states_what_each_output_depends_on_and_shares():
    found = parity.inventory(TwoHeads(), RNG.normal(size=(3, 4)).astype("f"))
    table = str(found).split("\n\n")[2].splitlines()
    assert [re.split("  +", line) for line in table] == [
        ["output", "has alone", "shares"],
        ["logits", "2 tensors of pi", "2 tensors of trunk with value"],
        ["value", "2 tensors of v", "2 tensors of trunk with logits"],
    ]
    data = json.loads(json.dumps(found.to_dict()))
    assert data["outputs"] == ["logits", "value"]
    assert data["heads"]["trunks"][0] == {
        "outputs": ["logits", "value"],
        "layers": ["trunk"],
        "tensors": ["trunk.weight", "trunk.bias"],
    }


def test_the_inventory_states_outputs_that_share_nothing():
    model = TwoHeads(torch.nn.Linear(4, 6))
    text = str(parity.inventory(model, np.ones((3, 4), "f")))
    assert "value   4 tensors of value_trunk, v  nothing" in text
    assert "not shared" not in text
    model.value_trunk.load_state_dict(model.trunk.state_dict())
    text = str(parity.inventory(model, np.ones((3, 4), "f")))
    assert "equal in several outputs, not shared: 2 tensors" in text


def test_inventory_of_one_output_needs_no_table_of_them():
    found = parity.inventory(torch.nn.Linear(4, 6), np.ones((3, 4), "f"))
    assert found.outputs == ("output",)
    assert "shares" not in str(found)


def test_the_inventory_states_names_that_collide():
    inputs = layers.Input((4,))
    inner = [
        keras.Sequential([layers.Input((4,)), layers.Dense(4, name="d")], name=f"s{n}")
        for n in (1, 2)
    ]
    for model in inner:
        model.layers[0].kernel._path = "same/kernel"
    found = parity.inventory(keras.Model(inputs, inner[1](inner[0](inputs))))
    assert len(found.items) == 4
    assert found.collisions == {"same/kernel": 2}
    assert "2 are called same/kernel; a dict of weights by name keeps 3 of 4" in str(found)


class Colliding(keras.layers.Layer):
    """Two weights of one name, as RLlib's GRUGate has six."""

    def build(self, shape):
        self.gate = self.add_weight(shape=(shape[-1], shape[-1]), name="w")
        self.own = self.add_weight(shape=(shape[-1], shape[-1]), name="w")
        self.own._path = self.gate._path

    def call(self, x):
        return keras.ops.sigmoid(x @ self.gate) * keras.ops.tanh(x @ self.own)


def test_weights_of_one_name_are_distinguished():
    class Gated(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.own, self.gate = torch.nn.Linear(5, 5, False), torch.nn.Linear(5, 5, False)

        def forward(self, x):
            return torch.sigmoid(self.gate(x)) * torch.tanh(self.own(x))

    source, target = keras.Sequential([keras.Input((5,)), Colliding()]), Gated()
    result = parity.transfer(source, target, inputs=RNG.normal(size=(3, 5)).astype("f"))
    assert result.verdict == "parity", str(result)
    assert result.table.left == ((), ())


class LayerNormOfKeras2(keras.layers.Layer):
    """Keras 2 norms a row as the channel of one image, and scales and shifts it afterwards."""

    def __init__(self, epsilon):
        super().__init__()
        self.epsilon = epsilon

    def build(self, shape):
        self.gamma = self.add_weight(shape=(shape[-1],), name="gamma")
        self.beta = self.add_weight(shape=(shape[-1],), name="beta")

    def call(self, x):
        rows, width = x.shape
        found, *_ = tensorflow.compat.v1.nn.fused_batch_norm(
            tensorflow.reshape(x, (1, rows, width, 1)), tensorflow.ones(rows),
            tensorflow.zeros(rows), epsilon=self.epsilon, data_format="NCHW")  # fmt: skip
        return tensorflow.reshape(found, x.shape) * self.gamma + self.beta


@pytest.mark.parametrize("epsilon", [1e-5, 1e-3])
def test_the_layer_norm_of_keras_2(epsilon):
    inputs = RNG.normal(size=(3, 7)).astype("f")
    norm = keras.Sequential([LayerNormOfKeras2(epsilon)])
    norm(inputs)
    norm.set_weights([RNG.normal(size=7), RNG.normal(size=7)])
    target = torch.nn.LayerNorm(7)
    result = parity.transfer(norm, target, inputs=inputs)
    assert [row.role for row in result.table.rows] == ["gamma", "beta"]
    assert result.verdict == ("parity" if epsilon == target.eps else "diverged"), str(result.report)
    differences = [
        str(one.text) for one in parity.structure(norm, target, inputs=inputs).differences
    ]
    assert differences == ([] if epsilon == target.eps else ["epsilon: 0.001 -> 1e-05"])


def test_a_recurrence_behind_a_flatten():
    """Its input is permuted, though each framework splits the turns of its loop."""

    class Frames(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.lstm = torch.nn.Conv2d(2, 3, 3), torch.nn.LSTM(12, 5, batch_first=True)

        def forward(self, x):
            features = torch.relu(self.conv(x)).flatten(1)
            return self.lstm(features.reshape(2, 3, 12))[0]

    conv, lstm = layers.Conv2D(3, 3, activation="relu"), layers.LSTM(5, return_sequences=True)

    def frames(x):
        features = keras.ops.reshape(conv(x), (keras.ops.shape(x)[0], -1))
        return lstm(keras.ops.reshape(features, (-1, 3, features.shape[-1])))

    images = RNG.normal(size=(6, 2, 4, 4)).astype("f")
    frames(images.transpose(0, 2, 3, 1))
    target = parity.wrap(frames, framework="tensorflow", input_layout="NHWC")
    result = parity.transfer(Frames(), target, inputs=images)
    assert result.verdict == "parity", str(result)
    (kernel,) = [row for row in result.table.rows if row.done.startswith("inputs permuted")]
    assert kernel.target[0].endswith("lstm_cell/kernel")


# --- the command ---------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["out.keras", "out.weights.h5", "out.npz", "out.safetensors"])
def test_the_command_writes_the_target(module, tmp_path, capsys, output):
    assert main(["transfer", f"{module}:source", f"{module}:target", "-o", output]) == 0
    said = capsys.readouterr().out
    assert "parity: 4 tensors" in said and said.endswith(f"\nwrote {output}\n")
    written = read_weights(tmp_path / output)
    torch.manual_seed(3)
    kernel = torch.nn.Linear(4, 6).weight.detach().numpy().T
    assert any(np.array_equal(array, kernel) for array in written.values())
    assert sorted(path.name for path in tmp_path.iterdir() if "out" in path.name) == [output]


def test_the_command_writes_nothing_where_the_two_diverge(module, tmp_path, capsys):
    code = main(["transfer", f"{module}:source", f"{module}:other", "-o", "out.npz"])
    assert code == 1 and not (tmp_path / "out.npz").exists()
    said = capsys.readouterr().out
    assert "the target is left as it was" in said and "wrote" not in said


def test_the_command_saves_a_map_and_takes_it_back(module, tmp_path):
    words = ["transfer", f"{module}:source", f"{module}:target"]
    assert main([*words, "--save-map", "map.json", "--json", "result.json"]) == 0
    assert main([*words, "--map", "map.json"]) == 0
    assert json.loads((tmp_path / "result.json").read_text())["verdict"] == "parity"


def test_the_command_lists_tensors(module, capsys):
    assert main(["weights", f"{module}:source", "--random", "3,4"]) == 0
    assert "0.weight  (6,4)" in capsys.readouterr().out
