"""Preprocessors and filters before a model, compared stage by stage."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import parity
from parity.inputs.preprocessing import record

torch = pytest.importorskip("torch")

draw = np.random.default_rng(9)
FRAMES = draw.integers(0, 256, (5, 4, 12, 10, 3)).astype("uint8")  # (batch, time, height, width, 3)
WEIGHT = (draw.normal(size=(4 * 6 * 5, 3)) / 9).astype("f")


# --- a chain as one library writes it ------------------------------------------------------------


def grayscale(frames: Any) -> Any:
    return frames @ np.array([0.299, 0.587, 0.114])


def resize(frames: Any) -> Any:
    return (frames[..., ::2, :] + frames[..., 1::2, :])[..., ::2] / 2


def normalise(frames: Any) -> Any:
    return (frames / 255).astype("float32")


def stack(frames: Any) -> Any:
    return frames.reshape(len(frames), -1)


# --- and as another does -------------------------------------------------------------------------


def gray_of_channels(frames: Any) -> Any:
    red, green, blue = np.moveaxis(frames.astype("float64"), -1, 0)
    return 0.114 * blue + 0.587 * green + 0.299 * red


def scaled(frames: Any) -> Any:
    return frames.astype("float32") / np.float32(255)


def blue_first(frames: Any) -> Any:
    return frames @ np.array([0.114, 0.587, 0.299])


def other_rows(frames: Any) -> Any:
    return (frames[..., ::2, :] + frames[..., 1::2, :])[..., 1::2] / 2


def centred(frames: Any) -> Any:
    return (frames / 255 - 0.5).astype("float32")


def newest_first(frames: Any) -> Any:
    return frames[:, ::-1].reshape(len(frames), -1)


CHAIN = (grayscale, resize, normalise, stack)
PORT = (gray_of_channels, resize, scaled, stack)


def torch_net() -> Any:
    weight = torch.tensor(WEIGHT)
    return parity.wrap(lambda x: torch.tanh(x @ weight), framework="torch", name="net")


def keras_net() -> Any:
    keras = pytest.importorskip("keras")
    pytest.importorskip("tensorflow")
    net = keras.Sequential([keras.Input((120,)), keras.layers.Dense(3, "tanh", use_bias=False)])
    net.set_weights([WEIGHT])
    return net


def chainer_net() -> Any:
    chainer = pytest.importorskip("parity.frameworks.chainer").chainer
    layer = chainer.links.Linear(120, 3, nobias=True, initialW=WEIGHT.T)
    functions = chainer.functions
    return parity.wrap(lambda x: functions.tanh(layer(x)), framework="chainer", name="net")


def numpy_net() -> Any:
    return parity.wrap(lambda x: np.tanh(x @ WEIGHT), framework="numpy", name="net")


NETS = {"torch": torch_net, "keras": keras_net, "chainer": chainer_net, "numpy": numpy_net}
each = pytest.mark.parametrize("build", NETS.values(), ids=NETS)


@each
def test_two_chains_that_agree_are_at_parity(build: Any) -> None:
    report = parity.compare(
        parity.wrap(torch_net(), before=CHAIN),
        parity.wrap(build(), before=PORT),
        inputs=FRAMES,
    )
    assert report.verdict == "parity", str(report)
    named = [(row.reference, row.candidate) for row in report.layers[:4]]
    assert ("grayscale", "gray_of_channels") in named
    assert ("normalise", "scaled") in named


FAULTS = {
    "grayscale": blue_first,
    "resize": other_rows,
    "normalise": centred,
    "stack": newest_first,
}


@pytest.mark.parametrize("stage", FAULTS)
@each
def test_the_stage_at_which_they_diverge_is_named(build: Any, stage: str) -> None:
    wrong = [FAULTS[stage] if one.__name__ == stage else one for one in CHAIN]
    report = parity.compare(
        parity.wrap(torch_net(), before=CHAIN),
        parity.wrap(build(), before=wrong),
        inputs=FRAMES,
    )
    assert report.verdict == "diverged"
    (divergence,) = report.divergences
    assert divergence.reference.layer == stage
    assert divergence.candidate.layer == FAULTS[stage].__name__
    assert divergence.candidate.code == f"def {FAULTS[stage].__name__}(frames: Any) -> Any:"


def test_two_stages_that_diverge_are_two_divergences() -> None:
    report = parity.compare(
        parity.wrap(torch_net(), before=CHAIN),
        parity.wrap(torch_net(), before=(blue_first, resize, centred, stack)),
        inputs=FRAMES,
    )
    assert [one.candidate.layer for one in report.divergences] == ["blue_first", "centred"]


def test_stages_run_in_the_search_and_the_formula_gets_what_they_get(assert_parity: Any) -> None:
    st = pytest.importorskip("hypothesis").strategies
    images = st.integers(0, 9).map(
        lambda seed: np.random.default_rng(seed).integers(0, 256, (2, 7)).astype("uint8")
    )
    weight = WEIGHT[:7]

    def net(x: Any) -> Any:
        return torch.tanh(x @ torch.tensor(weight))

    report = assert_parity(
        parity.wrap(net, framework="torch", before=[scaled]),
        parity.wrap(net, framework="torch", before=normalise, name="other"),
        observations=images,
        max_examples=10,
        formula=lambda images: np.tanh(images / 255 @ weight),
    )
    assert report.by_formula.right == "both"


# --- filters with a state ------------------------------------------------------------------------


class MeanStd:
    """Running mean and deviation of what passed, by Welford."""

    def __init__(self, ddof: int = 1) -> None:
        self.count, self.ddof = 0, ddof
        self.mean, self.squares = np.zeros(7), np.zeros(7)

    def __call__(self, batch: Any) -> Any:
        for row in batch:
            self.count += 1
            difference = row - self.mean
            self.mean += difference / self.count
            self.squares += difference * (row - self.mean)
        return (batch - self.mean) / (self.std() + 1e-8)

    def std(self) -> Any:
        return np.sqrt(self.squares / max(self.count - self.ddof, 1))


class Moments(MeanStd):
    """The same from sums; `late` takes in a batch only after it has passed."""

    def __init__(self, late: bool = False) -> None:
        super().__init__()
        self.late = late

    def __call__(self, batch: Any) -> Any:
        before = self.mean.copy(), self.std()
        n, total = len(batch), self.count + len(batch)
        difference = batch.mean(0) - self.mean
        self.squares = self.squares + batch.var(0) * n + difference**2 * self.count * n / total
        self.mean, self.count = self.mean + difference * n / total, total
        mean, std = before if self.late else (self.mean, self.std())
        return (batch - mean) / (std + 1e-8)


BATCHES = tuple(draw.normal(2, 3, (6, 7)) for _ in range(3))


def statistics(filter: Any) -> Any:
    return {"mean": filter.mean, "std": filter.std()}


def filtered(filter: Any) -> Any:
    return parity.calls(filter, "__call__", statistics, framework="numpy")


def test_running_statistics_after_several_updates() -> None:
    first, second = MeanStd(), Moments()
    report = parity.compare(filtered(first), filtered(second), inputs=BATCHES)
    assert report.verdict == "parity", str(report)
    assert [row.name for row in report.worst.outputs][-2:] == [
        "3/statistics/mean",
        "3/statistics/std",
    ]
    assert first.count == second.count == 0


def test_a_filter_that_lags_is_distinguished_from_one_whose_statistics_are_wrong() -> None:
    late = parity.compare(filtered(MeanStd()), filtered(Moments(late=True)), inputs=BATCHES)
    difference = {row.name for row in late.worst.outputs if row.verdict == "diverged"}
    assert difference == {"1/__call__", "2/__call__", "3/__call__"}
    biased = parity.compare(filtered(MeanStd()), filtered(MeanStd(ddof=0)), inputs=BATCHES)
    difference = {row.name for row in biased.worst.outputs if row.verdict == "parity"}
    assert difference == {f"{number}/statistics/mean" for number in (1, 2, 3)}


def test_a_filter_as_a_stage_keeps_its_state() -> None:
    filter = MeanStd()
    filter(BATCHES[0])
    count, mean = filter.count, filter.mean.copy()
    report = parity.compare(
        parity.wrap(torch.tanh, framework="torch", before=[filter]),
        parity.wrap(torch.tanh, framework="torch", before=[filter], name="again"),
        inputs=BATCHES[1],
    )
    assert report.verdict == "parity"
    assert filter.count == count
    assert np.array_equal(filter.mean, mean)


# --- what does not fit ---------------------------------------------------------------------------


def broken(frames: Any) -> Any:
    raise ValueError("no such frame")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: parity.wrap(torch.tanh, "torch", before=["gray"]),
            "before holds 'gray'; give fun",
        ),
        (
            lambda: parity.compare(
                *[parity.wrap(torch.tanh, "torch", before=broken)] * 2, inputs=FRAMES
            ),
            "raised ValueError: no such frame\n  at .*test_stages.py",
        ),
        (
            lambda: parity.compare(
                *[parity.wrap(torch.tanh, "torch", before=lambda x: {})] * 2, inputs=FRAMES
            ),
            "lambda, a stage before tanh.*returned no arrays",
        ),
        (
            lambda: parity.calls(parity.wrap(torch.tanh, "torch", before=[partial(scaled)])),
            "tanh has stages before it, which see one call's inputs",
        ),
    ],
)
def test_what_does_not_fit_is_reported(call: Any, message: str) -> None:
    with pytest.raises(parity.ParityError, match=message):
        call()


def test_draws_in_a_stage_are_not_verified() -> None:
    def losing(rate: float) -> Any:
        def lose(x: Any) -> Any:
            return np.where(np.random.rand(len(x), 1) < rate, np.float32(0), x)

        return lose

    x = draw.normal(size=(5, 60)).astype("f")
    weight = torch.from_numpy(draw.normal(size=(60, 3)).astype("f"))

    def net(stage: Any) -> Any:
        return parity.wrap(lambda x: torch.tanh(x @ weight), framework="torch", before=[stage])

    report = parity.compare(net(losing(5e-4)), net(losing(5e-3)), inputs=x)
    assert report.verdict == "unverified"
    assert "draws random numbers (numpy.random.rand)" in " ".join(str(report).split())


def test_draws_that_are_lost_in_a_model_stay_so_behind_a_stage() -> None:
    def noisy(scale: float) -> Any:
        def model(x: Any) -> Any:
            noise = np.random.normal(size=tuple(x.shape)).astype("f")
            return torch.tanh(x + torch.from_numpy(scale * np.clip(noise, -1, 1)))

        return parity.wrap(model, framework="torch", before=[lambda x: 2 * x])

    x = draw.normal(size=(5, 3)).astype("f")
    for scale in (0.1, 0.2):
        assert parity.compare(noisy(0.1), noisy(scale), inputs=x).verdict != "parity"


def test_states_of_a_recurrent_layer_are_known_behind_a_stage() -> None:
    cell = torch.nn.LSTM(3, 4)
    x = draw.normal(size=(5, 2, 3)).astype("f")
    plain = record(parity.wrap(cell), x)
    staged = record(parity.wrap(cell, before=[np.tanh]), x)
    states = [
        {tape.values[value].shape for value in tape.outputs.values() if value in tape.states}
        for tape in (plain, staged)
    ]
    assert states[0] == states[1] == {(1, 2, 4)}
