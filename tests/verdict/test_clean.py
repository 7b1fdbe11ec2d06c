"""Clean pairs, however rounding or scale disguises them: never an alarm."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.verdict.clean.catalogue import pairs
from benchmarks.verdict.inputs import draw

PAIRS = {clean.name: clean for clean in pairs()}
# A few of every family and direction; one scale each that is known to be hard for it.
SAMPLE = (
    ("dense layers, torch to keras", "scale 1e6"),
    ("convolutions and pooling, keras to chainer", "a constant example"),
    ("strided padded convolution, torch to tensorflow", "scale 1e6"),
    ("activations, chainer to torch", "six decades"),
    ("embedding, tensorflow to chainer", "normal"),
    ("gaussian head, torch to tensorflow", "mean 100"),
    ("batch normalization, torch to keras", "scale 1e6"),
    ("layer normalization, keras to chainer", "near-constant"),
    ("one pass variance, torch to tensorflow in one pass", "six decades"),
    ("one pass variance, torch in one pass to tensorflow in one pass", "mean 100"),
    ("pixels normalized, torch to tensorflow", "pixels 0..255"),
    ("gru, torch to keras", "mean 100"),
    ("bidirectional lstm, keras to torch by hand", "normal"),
    ("chaotic rnn, torch to tensorflow by hand", "scale 1e-6"),
    ("encoder block, torch to tensorflow", "scale 1e6"),
    ("encoder block, torch to tensorflow", "near-constant"),
    ("causal attention, torch -inf to tensorflow least", "normal"),
    ("masked logits, torch -inf to tensorflow -1e9", "uniform"),
    ("masked logits, torch least to tensorflow least added", "sparse"),
    ("masked policy, chainer to torch", "mean 100"),
    ("chaotic net of gain 2, torch to keras", "scale 1e6"),
    ("chaotic net of gain 3, chainer to torch", "normal"),
    ("residual net, torch to tensorflow", "uniform"),
    ("residual net, torch to tensorflow", "near-constant"),
    ("long reduction, chainer to torch in a row", "scale 1e6"),
    ("long softmax, tensorflow to chainer", "mean 100"),
    ("fourier convolution, chainer to tensorflow by Fourier", "mean 100"),
    ("winograd convolution, tensorflow to chainer by Winograd", "pixels 0..255"),
    ("network, torch float16 to tensorflow float16", "normal"),
    ("convolution, tensorflow bfloat16 to torch bfloat16", "uniform"),
    ("dropout, torch to tensorflow", "normal"),
    ("ChainerRL to PFRL, FCBNLateActionSAQFunction", "pixels 0..255"),
    ("ChainerRL to PFRL, FCGaussianPolicyWithFixedCovariance", "normal"),
    ("BatchNorm folded 0", "scale 1e6"),
)
LOW_PRECISION = tuple(name for name, clean in PAIRS.items() if clean.noted)


def report_on(name: str, style: str):
    pair = PAIRS[name].build()
    ((_, inputs),) = draw(pair.inputs, 1, (style,))
    return replace(pair, inputs=inputs).compare()


@pytest.mark.parametrize(("name", "style"), SAMPLE)
def test_a_clean_pair_has_parity(name, style):
    report = report_on(name, style)

    assert report.verdict == "parity", str(report)


def test_digits_that_one_form_alone_loses_are_unverified():
    report = report_on("one pass variance, torch to tensorflow in one pass", "mean 100")

    assert report.verdict == "unverified", str(report)
    assert "loses fewer digits" in report.worst.reasons[0]


def test_a_value_that_was_near_and_becomes_the_same_ends_a_region():
    """A norm's mean is near however the convolution before it was rounded; its output is not."""
    clean = PAIRS["convolution, tensorflow float16 to torch float16"]
    pair = clean.build()
    *_, (style, inputs) = draw(pair.inputs, 4, clean.styles)
    report = replace(pair, inputs=inputs).compare()

    assert style == "near-constant"
    assert report.verdict == "parity", str(report)


@pytest.mark.parametrize("name", LOW_PRECISION)
def test_a_model_in_low_precision_has_parity_with_its_original_and_it_is_noted(name):
    report = report_on(name, "normal")

    assert report.verdict == "parity", str(report)
    assert "low-precision" in {note.kind for note in report.comparisons[0].notes}
