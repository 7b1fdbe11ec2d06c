"""Decompositions by hand that every framework can write, in the framework's own names.

An operation is spelt `o("mean", x, axis)`: the template of its name in `o`, with `@` for the first
argument and `#` for the second. What remains in braces is filled in as in any form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import conditions as when
from .forms import Form, by_hand

Spell = Callable[..., str]


def common_forms(operations: Mapping[str, str]) -> dict[str, list[Form]]:
    """The forms by hand in a framework's spelling."""
    o = _spell(operations)
    return {
        **_elementwise(o),
        **_norms(o),
        **_recurrent(o),
        **_attention(o),
        **_images(o),
        **_features(o),
    }


def _spell(operations: Mapping[str, str]) -> Spell:
    def o(name: str, first: str = "", second: str = "") -> str:
        return operations[name].replace("@", first).replace("#", second)

    return o


def channels_last_forms(operations: Mapping[str, str]) -> dict[str, list[Form]]:
    """What TensorFlow and Keras write alike: reductions, and axes that depend on the layout."""
    o = _spell(operations)
    mean, largest = o("mean", "{a}", "{axis}"), o("max", "{a}", "{axis}")
    tokens = "-1, {area}, {channels}"
    first = o("transpose", "{x}", "0, 3, 1, 2")  # channels first
    by_channel = o("reshape", "{x}", "-1, {channels}, {area}")
    return {
        "flatten": [
            by_hand(f"{{y}} = {o('reshape', '{x}', '{batch}, -1')}", when.channels_first),
            by_hand(f"{{y}} = {o('reshape', first, '{batch}, -1')}", when.channels_last),
        ],
        "reshape": [by_hand(f"{{y}} = {o('reshape', '{x}', '-1, {rows}, {columns}')}")],
        "tokens": [
            by_hand(f"{{y}} = {o('transpose', by_channel, '0, 2, 1')}", when.channels_first)
        ],
        "tokens_reshaped": [by_hand(f"{{y}} = {o('reshape', first, tokens)}", when.channels_last)],
        "centre_mean": [by_hand(f"{{y}} = {{x}} - {o('mean', '{x}', '{axis}')}")],
        "centre_max": [by_hand(f"{{y}} = {{x}} - {o('max', '{x}', '{axis}')}")],
        "dueling": [
            by_hand(f"{{y}} = {{value}} + ({{a}} - {mean})"),
            by_hand(f"{{y}} = {{value}} - {mean} + {{a}}"),
        ],
        "dueling_max": [by_hand(f"{{y}} = {{value}} + ({{a}} - {largest})")],
        "dueling_value": [by_hand(f"{{y}} = {{value}} - {o('mean', '{value}', '0')} + {{a}}")],
    }


def joined(*tables: Mapping[str, list[Form]]) -> dict[str, list[Form]]:
    """Tables of forms as one; a kind of several tables has the forms of each."""
    kinds = {kind for table in tables for kind in table}
    return {kind: [form for table in tables for form in table.get(kind, ())] for kind in kinds}


def _elementwise(o: Spell) -> dict[str, list[Form]]:
    return {
        "identity": [by_hand("{y} = {x}")],
        "sigmoid": [by_hand(f"{{y}} = 1 / (1 + {o('exp', '-{x}')})")],
        "silu": [by_hand(f"{{y}} = {{x}} * {o('sigmoid', '{x}')}")],
        "dueling_uncentred": [by_hand("{y} = {value} + {a}")],
    }


def _norms(o: Spell) -> dict[str, list[Form]]:
    centred = f"centred = {{x}} - {o('mean', '{x}', '{axis}')}\n"
    variance = f"variance = {o('mean', 'centred ** 2', '{axis}')}\n"
    unbiased = f"variance = {o('sum', 'centred ** 2', '{axis}')} / ({{length}} - 1)\n"
    inside, outside = o("sqrt", "variance + {epsilon}"), o("sqrt", "variance") + " + {epsilon}"
    square = f"square = {o('mean', '{x} * {x}', '{axis}')}\n"
    rms = f"{{x}} / {o('sqrt', 'square + {epsilon}')}"
    moving = f"({{x}} - {{mean}}{{over}}) / {o('sqrt', '{variance}{over} + {epsilon}')}"
    spread = f"({{x}} - {{mean}}{{over}}) / ({o('sqrt', '{variance}{over}')} + {{epsilon}})"
    batch = (
        f"centred = {{x}} - {o('mean', '{x}', '{per_channel}')}\n"
        f"variance = {o('mean', 'centred * centred', '{per_channel}')}\n"
        f"{{y}} = centred / {inside} * {{gamma}}{{over}} + {{beta}}{{over}}"
    )
    return {
        "layernorm_outside": [
            by_hand(f"{centred}{variance}{{y}} = {{gamma}} * centred / ({outside}) + {{beta}}"),
            by_hand(f"{centred}{variance}{{y}} = centred / ({outside}) * {{gamma}} + {{beta}}"),
        ],
        "layernorm_bare": [by_hand(f"{centred}{variance}{{y}} = centred / {inside}")],
        "layernorm_ddof": [
            by_hand(f"{centred}{unbiased}{{y}} = centred / {inside} * {{gamma}} + {{beta}}")
        ],
        "rmsnorm": [
            by_hand(f"{square}{{y}} = {rms} * {{gamma}}"),
            by_hand(f"{square}{{y}} = {{gamma}} * ({rms})"),
            by_hand(f"{square}{{y}} = {rms} * (1 + {{offset}})"),
        ],
        "rmsnorm_outside": [
            by_hand(f"{square}{{y}} = {{x}} / ({o('sqrt', 'square')} + {{epsilon}}) * {{gamma}}")
        ],
        "rmsnorm_bare": [by_hand(f"{square}{{y}} = {rms}")],
        "rmsnorm_offset": [
            by_hand(f"{square}{{y}} = {rms} * (1 + {{gamma}})"),
            by_hand(f"{square}{{y}} = (1.0 + {{gamma}}) * ({rms})"),
        ],
        "batchnorm": [
            by_hand(f"{{y}} = {moving}\n{{y}} = {{y}} * {{gamma}}{{over}} + {{beta}}{{over}}"),
            by_hand("{y} = {x} * {scale}{over} + {shift}{over}"),
        ],
        "batchnorm_outside": [by_hand(f"{{y}} = {spread} * {{gamma}}{{over}} + {{beta}}{{over}}")],
        "batchnorm_bare": [by_hand(f"{{y}} = {moving}")],
        "batchnorm_batch": [by_hand(batch)],
    }


def _recurrent(o: Spell) -> dict[str, list[Form]]:
    def lstm(gate: str, start: str = "") -> str:
        hidden = f"{o('matmul', '{x}[:, t]', '{kernel}')} + {o('matmul', 'h', '{recurrent}')}"
        return (
            f"h = c = {o('zeros')}\n"
            "steps = []\n"
            "for t in {times}:\n"
            f"{start}"
            f"    i, f, g, o = {o('split', hidden + ' + {bias}', '4')}\n"
            f"    c = {gate.replace('@', 'f')} * c + {gate.replace('@', 'i')} * {o('tanh', 'g')}\n"
            f"    h = {gate.replace('@', 'o')} * {o('tanh', 'c')}\n"
            "    steps.append(h)\n"
            "{y} = {joined}"
        )

    sigmoid, hard = o("sigmoid", "@"), o("clip", "0.2 * @ + 0.5")
    masked = (
        f"h = c = {o('zeros')}\n"
        "for t in range({steps}):\n"
        f"    gates = {o('matmul', '{x}[:, t]', '{kernel}')} + {o('matmul', 'h', '{recurrent}')}\n"
        f"    i, f, g, o = {o('split', 'gates + {bias}', '4')}\n"
        f"    new_c = {o('sigmoid', 'f')} * c + {o('sigmoid', 'i')} * {o('tanh', 'g')}\n"
        f"    new_h = {o('sigmoid', 'o')} * {o('tanh', 'new_c')}\n"
    )
    step = "{valid}[:, t : t + 1]"
    blend = (
        f"    h = {step} * new_h + (1 - {step}) * h\n    c = {step} * new_c + (1 - {step}) * c\n"
    )
    return {
        "lstm": [by_hand(lstm(sigmoid))],
        "lstm_hard": [by_hand(lstm(hard))],
        "lstm_stateless": [by_hand(lstm(sigmoid, start=f"    h = c = {o('zeros')}\n"))],
        "lstm_masked": [by_hand(masked + blend + "{y} = h")],
        "gru": [
            by_hand(_gru(o, True), when.resets_after),
            by_hand(_gru(o, False), when.resets_before),
        ],
    }


def _gru(o: Spell, after: bool) -> str:
    state = o("matmul", "h", "{recurrent_n}")
    if after:
        state = f"r * ({state} + {{recurrent_bias_n}})"
    else:
        state = f"{o('matmul', 'r * h', '{recurrent_n}')} + {{recurrent_bias_n}}"
    hidden = f"{o('matmul', '{x}[:, t]', '{kernel_zr}')} + {o('matmul', 'h', '{recurrent_zr}')}"
    return (
        f"h = {o('zeros')}\n"
        "steps = []\n"
        "for t in {times}:\n"
        f"    gates = {o('sigmoid', hidden + ' + {bias_zr}')}\n"
        f"    z, r = {o('split', 'gates', '2')}\n"
        f"    n = {o('matmul', '{x}[:, t]', '{kernel_n}')} + {{bias_n}} + {state}\n"
        f"    h = z * h + (1 - z) * {o('tanh', 'n')}\n"
        "    steps.append(h)\n"
        "{y} = {joined}"
    )


def _attention(o: Spell) -> dict[str, list[Form]]:
    outside = "{batch}, {steps}, {heads}, {depth}", "0, 2, 1, 3"
    inside = "{batch}, {steps}, {depth}, {heads}", "0, 3, 1, 2"
    by_step = "0, 2, 1, 3"

    def heads(split: tuple[str, str]) -> str:
        lines = ""
        for letter, name in zip("qkv", ("{query}", "{key}", "{value}"), strict=True):
            flat = o("reshape", o("apply", "{x}", name), split[0])
            lines += f"{letter} = {o('transpose', flat, split[1])}\n"
        return lines

    def einsums(paths: str) -> str:
        return "".join(
            f"{letter} = {o('einsum', f'{{x}}, {{{name}_heads}}', paths)}\n"
            for letter, name in zip("qkv", ("query", "key", "value"), strict=True)
        )

    scores = f"scores = {o('matmul', 'q', o('transpose', 'k', '0, 1, 3, 2'))} * {{factor}}\n"
    read = o("transpose", o("matmul", o("softmax", "scores"), "v"), by_step)
    flat = o("reshape", read, "{batch}, {steps}, {width}")
    after = f"{{y}} = {o('apply', flat, '{output}')}"
    mask = f"scores = scores + {o('causal')}\n"
    summed = f"scores = {o('einsum', 'q, k', 'bhtd,bhsd->bhts')} * {{factor}}\n"
    weighed = o("einsum", f"{o('softmax', 'scores')}, v", "bhts,bhsd->bhtd")
    out = f"{{y}} = {o('einsum', f'{weighed}, {{output_heads}}', 'bhtd,hdf->btf')}"
    by_einsum = einsums("btf,fhd->bhtd")
    return {
        "attention": [
            by_hand(heads(outside) + scores + mask + after, when.causal),
            by_hand(heads(outside) + scores + after, when.sees_all),
            by_hand(by_einsum + summed + mask + out, when.causal),
            by_hand(by_einsum + summed + out, when.sees_all),
        ],
        "attention_split": [
            by_hand(heads(inside) + scores + mask + after, when.causal),
            by_hand(heads(inside) + scores + after, when.sees_all),
        ],
        "positions": [
            by_hand("{y} = {x} + {table}[{offset} : {offset} + {steps}]"),
            by_hand(f"{{y}} = {o('take', '{table}', '{offset}, {offset} + {steps}')} + {{x}}"),
        ],
    }


def _images(o: Spell) -> dict[str, list[Form]]:
    def resized(paths: str) -> str:
        return f"{{y}} = {o('einsum', '{x}, {rows_taken}, {columns_taken}', paths)}"

    def shuffled(shape: str, axes: str, last: bool) -> str:
        parts = o("reshape", "{x}", shape)
        size = "{out_height}, {out_width}"
        result = f"{{batch}}, {size}, {{filters}}" if last else f"{{batch}}, {{filters}}, {size}"
        return f"parts = {parts}\n{{y}} = {o('reshape', o('transpose', 'parts', axes), result)}"

    def normalised(paths: str) -> str:
        total = o("einsum", "{x} * {x}, {band}", paths)
        return f"total = {total}\n{{y}} = {{x}} / ({{k}} + {{alpha}} * total) ** {{beta}}"

    size = "{in_height}, {in_width}"
    return {
        "resize": [
            by_hand(resized("bchw,ih,jw->bcij"), when.channels_first),
            by_hand(resized("bhwc,ih,jw->bijc"), when.channels_last),
        ],
        "pixel_shuffle": [
            by_hand(
                shuffled(f"{{batch}}, {{filters}}, 2, 2, {size}", "0, 1, 4, 2, 5, 3", False),
                lambda names: when.channels_first(names) and not names["blocks_first"],
            ),
            by_hand(
                shuffled(f"{{batch}}, 2, 2, {{filters}}, {size}", "0, 3, 4, 1, 5, 2", False),
                lambda names: when.channels_first(names) and names["blocks_first"],
            ),
            by_hand(
                shuffled(f"{{batch}}, {size}, {{filters}}, 2, 2", "0, 1, 4, 2, 5, 3", True),
                lambda names: when.channels_last(names) and not names["blocks_first"],
            ),
            by_hand(
                shuffled(f"{{batch}}, {size}, 2, 2, {{filters}}", "0, 1, 3, 2, 4, 5", True),
                lambda names: when.channels_last(names) and names["blocks_first"],
            ),
        ],
        "lrn": [
            by_hand(normalised("bchw,dc->bdhw"), when.channels_first),
            by_hand(normalised("bhwc,dc->bhwd"), when.channels_last),
        ],
        "standardise": [
            by_hand("{y} = ({x} - {mean}{over}) / {deviation}{over}"),
            by_hand("{y} = {x} * {scale}{over} + {shift}{over}"),
        ],
    }


def _features(o: Spell) -> dict[str, list[Form]]:
    cosines = o("cos", "{multiples} * fractions[:, None]")
    embedding = o("relu", f"{o('matmul', cosines, '{kernel}')} + {{bias}}")
    return {
        "quantile": [
            by_hand(f"fractions = {o('fractions')}\n{{y}} = {{lifted}} * {embedding}"),
            by_hand(
                f"fractions = {o('fractions')}\nembedding = {embedding}\n"
                "{y} = embedding * {lifted}"
            ),
        ]
    }
