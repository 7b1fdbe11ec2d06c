"""Each model gets the caller's arrays in the container, and as the arguments, that it reads."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import chainer
import keras
import numpy as np
import pytest
import tensorflow as tf
import torch

import parity

draw = np.random.default_rng(5)
POS, VEL = draw.normal(size=(6, 3)).astype("f"), draw.normal(size=(6, 2)).astype("f")
STATE = draw.normal(size=(6, 4)).astype("f")
A, B = draw.normal(size=(3, 4)).astype("f"), draw.normal(size=(2, 4)).astype("f")


class Seen(NamedTuple):
    pos: Any
    vel: Any


@dataclasses.dataclass
class Frame:
    pos: Any
    vel: Any


READS: dict[str, Callable[[Any], Any]] = {
    "fields": lambda obs: (obs.pos, obs.vel),
    "keys": lambda obs: (obs["pos"], obs["vel"]),
    "a tuple": lambda obs: obs,
}
GIVEN = {
    "NamedTuple": Seen(POS, VEL),
    "dataclass": Frame(POS, VEL),
    "namespace": types.SimpleNamespace(pos=POS, vel=VEL),
    "dict": {"pos": POS, "vel": VEL},
    "tuple": (POS, VEL),
    "one tuple": ((POS, VEL),),
}
# A dict has no order, and a tuple no names.
UNTOLD = {("dict", "a tuple"), ("tuple", "fields"), ("tuple", "keys"),
          ("one tuple", "fields"), ("one tuple", "keys")}  # fmt: skip


def computed(pos: Any, vel: Any, state: Any, framework: str) -> Any:
    if framework == "torch":
        found = torch.tanh(pos @ torch.from_numpy(A) + vel @ torch.from_numpy(B))
    elif framework == "chainer":
        functions = chainer.functions
        found = functions.tanh(functions.matmul(pos, A) + functions.matmul(vel, B))
    else:
        found = tf.tanh(tf.matmul(pos, A) + tf.matmul(vel, B))
    return found if state is None else found + state


def built(framework: str, read: Callable[[Any], Any]) -> Any:
    """A model of one observation, which it reads in the way of `read`."""
    if framework == "torch":

        class InTorch(torch.nn.Module):
            def forward(self, obs: Any, h: Any = None) -> Any:
                return computed(*read(obs), h, framework)

        return InTorch()
    if framework == "keras":

        class InKeras(keras.Model):
            def call(self, inputs: Any, state: Any = None, training: Any = False) -> Any:
                return computed(*read(inputs), state, framework)

        return InKeras()
    if framework == "chainer":

        class InChainer(chainer.Chain):
            def forward(self, x: Any, state: Any = None) -> Any:
                return computed(*read(x), state, framework)

        return InChainer()

    class InTensorFlow(tf.Module):
        def __call__(self, seen: Any, state: Any = None) -> Any:
            return computed(*read(seen), state, framework)

    return InTensorFlow()


def by_position(framework: str, names: str = "pos, vel") -> Any:
    first, second = names.split(", ")
    space: dict[str, Any] = {"computed": computed}
    exec(f"def act({names}): return computed({first}, {second}, None, {framework!r})", space)
    wrapped = "tensorflow" if framework == "keras" else framework
    if framework != "keras":
        return parity.wrap(space["act"], framework=wrapped)
    space["keras"] = keras
    exec(
        f"class Act(keras.Model):\n def call(self, {names}):\n"
        f"  return computed({first}, {second}, None, 'keras')",
        space,
    )
    return space["Act"]()


FRAMEWORKS = ["torch", "keras", "tensorflow", "chainer"]
each_framework = pytest.mark.parametrize("framework", FRAMEWORKS)
each_given = pytest.mark.parametrize("given", GIVEN)


def reference(given: str) -> Any:
    """A model that reads the inputs as they are given."""
    if given == "tuple":
        return by_position("torch")
    reads = {"dict": "keys", "one tuple": "a tuple"}
    return built("torch", READS[reads.get(given, "fields")])


@each_framework
@pytest.mark.parametrize("read", READS)
@each_given
def test_a_model_gets_the_container_that_it_reads(given: str, read: str, framework: str) -> None:
    model = built(framework, READS[read])
    if (given, read) in UNTOLD:
        with pytest.raises(parity.ParityError):
            parity.compare(reference(given), model, inputs=GIVEN[given])
        return
    report = parity.compare(reference(given), model, inputs=GIVEN[given])
    assert report.verdict == "parity", str(report)


@each_framework
@each_given
def test_a_model_gets_parts_as_arguments(given: str, framework: str) -> None:
    report = parity.compare(reference(given), by_position(framework), inputs=GIVEN[given])
    assert report.verdict == "parity", str(report)
    assert not any("other names" in one for one in report.worst.caveats)


@each_framework
def test_arguments_of_other_names_go_by_the_references_order(framework: str) -> None:
    """The dict's own order is not asked."""
    inputs = {"vel": VEL, "pos": POS}
    port = by_position(framework, "observation, action")
    report = parity.compare(by_position("torch"), port, inputs=inputs)
    assert report.verdict == "parity", str(report)
    assert any("'pos' as observation, 'vel' as action" in one for one in report.worst.caveats)


@each_framework
def test_a_record_has_an_order_of_its_own(framework: str) -> None:
    port = by_position(framework, "observation, action")
    report = parity.compare(built("torch", READS["fields"]), port, inputs=Seen(POS, VEL))
    assert report.verdict == "parity"


@each_framework
def test_a_dict_without_an_order_is_refused_with_both_signatures(framework: str) -> None:
    port = by_position(framework, "observation, action")
    with pytest.raises(parity.ParityError) as caught:
        parity.compare(built("torch", READS["keys"]), port, inputs=GIVEN["dict"])
    text = " ".join(str(caught.value).split())
    assert "takes (observation, action), and was given a dict of 'pos', 'vel'." in text
    assert "InTorch takes (obs, h=None). Give a tuple with one part for each argument" in text


@each_framework
def test_names_that_are_other_arguments_are_not_taken_by_order(framework: str) -> None:
    port = by_position(framework, "vel, action")  # the reference's second is its first
    with pytest.raises(parity.ParityError, match=r"takes \(vel, action\)"):
        parity.compare(by_position("torch"), port, inputs=GIVEN["dict"])


@each_framework
@pytest.mark.parametrize("read", ["fields", "keys"])
def test_a_container_beside_a_state(read: str, framework: str) -> None:
    """By position, and by the names that the reference has."""
    for obs, how in ((Seen(POS, VEL), "fields"), (GIVEN["dict"], "keys")):
        reference, candidate = built("torch", READS[how]), built(framework, READS[read])
        for inputs in ((obs, STATE), {"obs": obs, "h": STATE}):
            report = parity.compare(reference, candidate, inputs=inputs)
            assert report.verdict == "parity", str(report)


@each_framework
def test_a_dict_of_one_name_that_is_read_from_it(framework: str) -> None:
    """`{"obs": ..}` for a function of `obs` that reads `obs["obs"]`."""
    space = {"torch": torch, "tf": tf, "chainer": chainer}
    body = {"torch": "torch.tanh", "chainer": "chainer.functions.tanh"}.get(framework, "tf.tanh")
    exec(f"def reads(obs): return {body}(obs['obs'])", space)
    kind = "tensorflow" if framework == "keras" else framework
    model = parity.wrap(space["reads"], framework=kind)
    plain = parity.wrap(lambda obs: torch.tanh(obs), framework="torch")
    assert parity.compare(model, model, inputs={"obs": POS}).verdict == "parity"
    assert parity.compare(plain, model, inputs={"obs": POS}).verdict == "parity"


@each_framework
def test_the_plain_way_comes_first(framework: str) -> None:
    """Two arguments are two arguments where the model runs with them, tuples or not."""
    port = by_position(framework)
    wrong = parity.wrap(
        lambda vel, pos: computed(vel, pos, None, "torch") * 2, framework="torch", name="wrong"
    )
    assert parity.compare(wrong, port, inputs=(POS, VEL)).verdict == "diverged"


def test_a_fault_is_found_in_a_container_that_was_bridged() -> None:
    def faulty(obs: Any) -> Any:
        return tf.tanh(tf.matmul(obs["pos"], A) - tf.matmul(obs["vel"], B))

    port = parity.wrap(faulty, framework="tensorflow")
    report = parity.compare(built("torch", READS["fields"]), port, inputs=Seen(POS, VEL))
    assert report.verdict == "diverged"


@each_framework
def test_weights_are_transferred_into_what_reads_another_container(framework: str) -> None:
    class Source(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = torch.nn.Linear(3, 4, bias=False), torch.nn.Linear(2, 4, bias=False)

        def forward(self, obs: Any) -> Any:
            return torch.tanh(self.a(obs.pos) + self.b(obs.vel))

    class InKeras(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = (keras.layers.Dense(4, use_bias=False) for _ in range(2))

        def call(self, obs: Any) -> Any:
            return keras.ops.tanh(self.a(obs["pos"]) + self.b(obs["vel"]))

    class InChainer(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.a, self.b = (chainer.links.Linear(n, 4, nobias=True) for n in (3, 2))

        def forward(self, obs: Any) -> Any:
            return chainer.functions.tanh(self.a(obs["pos"]) + self.b(obs["vel"]))

    class InTensorFlow(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = tf.Variable(A), tf.Variable(B)

        def __call__(self, obs: Any) -> Any:
            return tf.tanh(obs["pos"] @ self.a + obs["vel"] @ self.b)

    targets = {"keras": InKeras, "chainer": InChainer, "tensorflow": InTensorFlow}
    target = targets.get(framework, Source)()
    assert parity.transfer(Source(), target, inputs=Seen(POS, VEL)).verdict == "parity"


def beside_velocity(framework: str) -> Callable[[Any], Any]:
    """How a model reads a position alone; its velocity is always the same."""
    velocity = torch.from_numpy(VEL) if framework == "torch" else VEL
    return lambda position: (position, velocity)


@each_framework
def test_of_two_that_may_be_left_out_none_goes_by_its_order(framework: str) -> None:
    def reference(obs: Any, mask: Any = None, start: Any = None) -> Any:
        return computed(obs, torch.from_numpy(VEL), start, "torch") * mask

    port = built(framework, beside_velocity(framework))  # its second is a state
    inputs = {"obs": POS, "mask": STATE, "start": STATE}
    with pytest.raises(parity.ParityError, match="was given a dict of 'obs', 'mask', 'start'"):
        parity.compare(parity.wrap(reference, framework="torch"), port, inputs=inputs)


@each_framework
def test_calls_in_a_row_stay_calls(framework: str) -> None:
    """Each entry of a tuple is a call, and no argument of one."""
    model = parity.calls(by_position(framework))
    with pytest.raises(parity.ParityError, match="raised TypeError"):
        parity.compare(model, model, inputs=(POS, VEL))
    report = parity.compare(model, model, inputs=((POS, VEL), (POS, VEL)))
    assert len(report.worst.outputs) == 2
    report = parity.compare(model, model, inputs=((POS, VEL),))
    assert len(report.worst.outputs) == 1


@each_framework
def test_a_flag_of_training_beside_a_container(framework: str) -> None:
    inputs = {"pos": POS, "vel": VEL, "training": False}
    for read in ("keys", "fields"):
        report = parity.compare(by_position("torch"), built(framework, READS[read]), inputs=inputs)
        assert report.verdict == "parity", str(report)


@each_framework
def test_one_name_stands_for_one_argument(framework: str) -> None:
    def reference(obs: Any) -> Any:
        return computed(obs, torch.from_numpy(VEL), None, "torch")

    port = built(framework, beside_velocity(framework))
    report = parity.compare(parity.wrap(reference, framework="torch"), port, inputs={"obs": POS})
    assert report.verdict == "parity", str(report)
