"""Frameworks write their dtypes differently, as texts too."""

from __future__ import annotations

import pytest

from tests.rules.test_outputs_are_all_compared import compared, in_tensorflow, in_torch


@pytest.mark.parametrize(
    ("reference", "same", "other"),
    [
        ("torch.float32", "<dtype: 'float32'>", "<dtype: 'bfloat16'>"),
        ("of torch.int64", "of tf.int64", "of tf.int32"),
        ("float32", "<dtype: 'float32'>", "<dtype: 'float16'>"),
    ],
)
def test_dtypes_in_texts_are_known_by_their_names(reference: str, same: str, other: str) -> None:
    def verdict(text: str) -> str:
        return compared(in_torch(lambda h: reference), in_tensorflow(lambda h: text)).verdict

    assert verdict(same) == "parity"
    assert verdict(other) == "diverged"
