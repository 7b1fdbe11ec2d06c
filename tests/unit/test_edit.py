"""The suggested edit of a candidate's line."""

from __future__ import annotations

import textwrap

import pytest

from parity.diagnosis.causes import Edit
from parity.diagnosis.suggested_fix import suggest
from parity.tape import Frame, Site

AXIS = Edit(("softmax",), ("axis", "dim"), "-1", 1)


@pytest.fixture
def site_of(tmp_path):
    """A site on the first line of a source that holds `softmax`."""

    def site(source):
        path = tmp_path / "net.py"
        path.write_text(textwrap.dedent(source))
        lines = path.read_text().splitlines()
        number = next((n for n, line in enumerate(lines, 1) if "softmax" in line), 1)
        return Site("softmax", "", (Frame(str(path), number, "forward"),))

    return site


@pytest.mark.parametrize(
    ("line", "mended"),
    [
        ("p = F.softmax(logits, dim=0)", "F.softmax(logits, dim=-1)"),
        ("p = tf.nn.softmax(logits, axis=1)", "tf.nn.softmax(logits, axis=-1)"),
        ("p = torch.softmax(logits, 0)", "torch.softmax(logits, -1)"),
        ("p = logits.softmax(0)", "logits.softmax(-1)"),
        ("p = chainer.functions.softmax(h)", "chainer.functions.softmax(h, axis=-1)"),
        ("p = F.softmax(h)", "F.softmax(h, dim=-1)"),
        ("return f(F.softmax(h, dim=0)) * 2", "F.softmax(h, dim=-1)"),
    ],
)
def test_one_argument_is_changed(site_of, line, mended):
    found = suggest(site_of(line), AXIS)
    assert found is not None
    assert found[1] == mended
    assert found[0] in line


def test_a_call_over_several_lines(site_of):
    source = """
        p = F.softmax(
            logits,
            dim=0,
        )
    """
    assert suggest(site_of(source), AXIS) == (
        "F.softmax(logits, dim=0)",
        "F.softmax(logits, dim=-1)",
    )


@pytest.mark.parametrize(
    "source",
    [
        "p = F.softmax(a, dim=0) + F.softmax(b, dim=0)",  # which of them?
        "p = normalise(softmax_of=logits)",
        "p = F.softmax(logits, dim=-1)",  # right as it stands
        "p = F.softmax(logits, dim=0",  # no Python
    ],
)
def test_no_edit_rather_than_a_wrong_one(site_of, source):
    assert suggest(site_of(source), AXIS) is None


@pytest.mark.parametrize(
    ("mean", "wanted"),
    [
        ("np.mean(h)", None),  # it would no longer fit what it is taken from
        ("np.mean(h, axis=0)", ("np.mean(h, axis=0)", "np.mean(h, axis=-1)")),
    ],
)
def test_an_axis_that_makes_another_shape_is_not_added(site_of, mean, wanted):
    axis = Edit(("mean",), ("axis", "dim"), "-1", 1, adds=False)
    assert suggest(site_of(f"p = softmax(h - {mean})"), axis) == wanted


def test_no_line_no_edit():
    assert suggest(Site("softmax", "head"), AXIS) is None
