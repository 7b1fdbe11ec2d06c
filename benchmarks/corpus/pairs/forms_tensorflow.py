"""How TensorFlow users write each kind of node down, as functions over tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .forms import (
    Flavour,
    Form,
    Piece,
    Plan,
    Weight,
    by_hand,
    channels_first,
    channels_last,
    counted,
    last_axis,
    of_ones,
    reflected,
    returned,
    tag,
    uncounted,
    ungrouped,
    with_bias,
)
from .forms_common import common_forms, joined
from .network import Network

PADDED = "tf.pad({x}, [[0, 0], [{top}, {bottom}], [{left}, {right}], [0, 0]])"


def _eager(names: Mapping[str, Any]) -> bool:
    """Not under tf.function: TensorFlow 2.21 with oneDNN takes 1e-3 for any epsilon there."""
    return not names["compiled"]


OPERATIONS = {
    **{name: f"tf.{name}(@)" for name in ("sqrt", "exp", "tanh", "sigmoid", "cos")},
    "relu": "tf.nn.relu(@)",
    "mean": "tf.reduce_mean(@, #, keepdims=True)",
    "sum": "tf.reduce_sum(@, #, keepdims=True)",
    "matmul": "tf.matmul(@, #)",
    "split": "tf.split(@, #, axis=1)",
    "zeros": "tf.zeros(({batch}, {units}))",
    "clip": "tf.clip_by_value(@, 0.0, 1.0)",
    "softmax": "tf.nn.softmax(@)",
    "reshape": "tf.reshape(@, (#))",
    "transpose": "tf.transpose(@, (#))",
    "apply": "tf.tensordot(@, #, 1)",
    "einsum": "tf.einsum('#', @)",
    "causal": "(1 - tf.linalg.band_part(tf.ones(({steps}, {steps})), -1, 0)) * {fill}",
    "take": "tf.gather(@, tf.range(#))",
    "fractions": "(tf.range({rows}, dtype=tf.float32) + {offset}) / {rows}",
}

HANDWRITTEN: dict[str, list[Form]] = {
    "dense": [
        by_hand("{y} = tf.matmul({x}, {kernel}){plus_bias}"),
        by_hand("{y} = tf.matmul({x}, {weight}, transpose_b=True){plus_bias}"),
        by_hand("{y} = tf.einsum('...i,io->...o', {x}, {kernel}){plus_bias}"),
        by_hand("{y} = tf.nn.bias_add(tf.tensordot({x}, {kernel}, 1), {bias})", when=with_bias),
    ],
    "conv2d": [
        by_hand(
            "{y} = tf.nn.conv2d({x}, {kernel}, {stride}, '{PADDING}', "
            "dilations={dilation}){plus_bias}",
            when=lambda names: names["PADDING"],
        ),
        by_hand(
            "{y} = tf.nn.conv2d(" + PADDED + ", {kernel}, {stride}, 'VALID', "
            "dilations={dilation}){plus_bias}"
        ),
        by_hand(
            "patches = tf.image.extract_patches(" + PADDED + ", [1, *{window}, 1], "
            "[1, {stride}, {stride}, 1], [1, {dilation}, {dilation}, 1], 'VALID')\n"
            "{y} = tf.tensordot(patches, tf.reshape({kernel}, (-1, {filters})), 1){plus_bias}",
            when=ungrouped,
        ),
    ],
    "conv2d_border": [
        by_hand(
            "padded = " + PADDED[:-1] + ", mode='REFLECT')\n"
            "{y} = tf.nn.conv2d(padded, {kernel}, {stride}, 'VALID', dilations={dilation})"
            "{plus_bias}",
            when=reflected,
        ),
        by_hand(
            "padded = " + PADDED[:-1] + ", constant_values=1.0)\n"
            "{y} = tf.nn.conv2d(padded, {kernel}, {stride}, 'VALID', dilations={dilation})"
            "{plus_bias}",
            when=of_ones,
        ),
    ],
    "maxpool": [
        by_hand(
            "{y} = tf.nn.max_pool2d({x}, {window}, {stride}, '{PADDING}')",
            when=lambda names: names["PADDING"],
        ),
        by_hand(
            "padded = " + PADDED[:-1] + ", constant_values=-np.inf)\n"
            "{y} = tf.nn.max_pool2d(padded, {window}, {stride}, 'VALID')"
        ),
    ],
    "maxpool_zeros": [
        by_hand("{y} = tf.nn.max_pool2d(" + PADDED + ", {window}, {stride}, 'VALID')")
    ],
    "avgpool": [
        by_hand("{y} = tf.nn.avg_pool2d({x}, {window}, {stride}, '{PADDING}')", when=uncounted),
        by_hand(
            "{y} = tf.nn.avg_pool2d(" + PADDED + ", {window}, {stride}, 'VALID')", when=counted
        ),
    ],
    "batchnorm": [
        by_hand(
            "{y} = tf.nn.batch_normalization({x}, {mean}{over}, {variance}{over}, "
            "{beta}{over}, {gamma}{over}, {epsilon})"
        ),
        by_hand(
            "{y} = ({x} - {mean}{over}) / tf.sqrt({variance}{over} + {epsilon})\n"
            "{y} = {y} * {gamma}{over} + {beta}{over}"
        ),
        by_hand("{y} = {x} * {scale}{over} + {shift}{over}"),
    ],
    "layernorm": [
        by_hand(
            "mean, variance = tf.nn.moments({x}, [{axis}], keepdims=True)\n"
            "{y} = ({x} - mean) / tf.sqrt(variance + {epsilon}) * {gamma} + {beta}",
            when=_eager,
        ),
        by_hand(
            "mean = tf.reduce_mean({x}, {axis}, keepdims=True)\n"
            "variance = tf.reduce_mean(tf.square({x} - mean), {axis}, keepdims=True)\n"
            "{y} = ({x} - mean) * tf.math.rsqrt(variance + {epsilon}) * {gamma} + {beta}"
        ),
    ],
    "lstm": [
        by_hand(
            "h = c = tf.zeros(({x}.shape[0], {units}))\n"
            "steps = []\n"
            "for t in {times}:\n"
            "    gates = tf.matmul({x}[:, t], {kernel}) + tf.matmul(h, {recurrent}) + {bias}\n"
            "    i, f, g, o = tf.split(gates, 4, axis=1)\n"
            "    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)\n"
            "    h = tf.sigmoid(o) * tf.tanh(c)\n"
            "    steps.append(h)\n"
            "{y} = {joined}"
        ),
        by_hand(
            "projected = tf.tensordot({x}, {kernel}, 1) + {bias}\n"
            "h = c = tf.zeros(({x}.shape[0], {units}))\n"
            "steps = []\n"
            "for t in {times}:\n"
            "    i, f, g, o = tf.split(projected[:, t] + tf.matmul(h, {recurrent}), 4, axis=1)\n"
            "    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)\n"
            "    h = tf.sigmoid(o) * tf.tanh(c)\n"
            "    steps.append(h)\n"
            "{y} = {joined}"
        ),
    ],
    "relu": [
        by_hand("{y} = tf.nn.relu({x})"),
        by_hand("{y} = tf.maximum({x}, 0.0)"),
    ],
    "tanh": [by_hand("{y} = tf.tanh({x})"), by_hand("{y} = 2 * tf.sigmoid(2 * {x}) - 1")],
    "sigmoid": [by_hand("{y} = tf.sigmoid({x})"), by_hand("{y} = 1 / (1 + tf.exp(-{x}))")],
    "gelu": [
        by_hand("{y} = tf.nn.gelu({x}, approximate=False)"),
        by_hand("{y} = 0.5 * {x} * (1 + tf.math.erf({x} / np.float32(np.sqrt(2))))"),
    ],
    "gelu_tanh": [
        by_hand("{y} = tf.nn.gelu({x}, approximate=True)"),
        by_hand(
            "cubic = {x} + 0.044715 * {x} ** 3\n"
            "{y} = 0.5 * {x} * (1 + tf.tanh(np.float32(np.sqrt(2 / np.pi)) * cubic))"
        ),
    ],
    "leaky_relu": [
        by_hand("{y} = tf.nn.leaky_relu({x}, alpha={slope})"),
        by_hand("{y} = tf.where({x} > 0, {x}, {slope} * {x})"),
    ],
    "hard_sigmoid": [
        by_hand("{y} = tf.clip_by_value({slope} * {x} + 0.5, 0.0, 1.0)"),
        by_hand("{y} = tf.maximum(tf.minimum({x} * {slope} + 0.5, 1.0), 0.0)"),
        by_hand("{y} = tf.nn.relu6({x} + 3) / 6", when=lambda names: names["slope"] == 1 / 6),
    ],
    "softplus": [
        by_hand("{y} = tf.nn.softplus({x})"),
        by_hand("{y} = tf.math.log1p(tf.exp({x}))"),
    ],
    "elu": [
        by_hand("{y} = tf.nn.elu({x})"),
        by_hand("{y} = tf.where({x} > 0, {x}, tf.math.expm1({x}))"),
    ],
    "silu": [by_hand("{y} = tf.nn.silu({x})"), by_hand("{y} = {x} * tf.sigmoid({x})")],
    "identity": [by_hand("{y} = {x}")],
    "scale": [by_hand("{y} = {x} * {factor}"), by_hand("{y} = tf.multiply({factor}, {x})")],
    "softmax": [
        by_hand("{y} = tf.nn.softmax({x}, axis={axis})"),
        by_hand(
            "shifted = tf.exp({x} - tf.reduce_max({x}, {axis}, keepdims=True))\n"
            "{y} = shifted / tf.reduce_sum(shifted, {axis}, keepdims=True)"
        ),
        by_hand("{y} = tf.exp(tf.nn.log_softmax({x}, axis={axis}))"),
    ],
    "log_softmax": [
        by_hand("{y} = tf.nn.log_softmax({x}, axis={axis})"),
        by_hand("{y} = tf.math.log(tf.nn.softmax({x}, axis={axis}))"),
        by_hand("{y} = {x} - tf.reduce_logsumexp({x}, {axis}, keepdims=True)"),
    ],
    "flatten": [
        by_hand("{y} = tf.reshape({x}, ({batch}, -1))", when=channels_first),
        by_hand(
            "{y} = tf.reshape(tf.transpose({x}, (0, 3, 1, 2)), ({batch}, -1))", when=channels_last
        ),
    ],
    "reshape": [by_hand("{y} = tf.reshape({x}, (-1, {rows}, {columns}))")],
    "reshape_swapped": [
        by_hand("{y} = tf.transpose(tf.reshape({x}, (-1, {columns}, {rows})), (0, 2, 1))"),
        by_hand("{y} = tf.linalg.matrix_transpose(tf.reshape({x}, (-1, {columns}, {rows})))"),
    ],
    "transpose": [
        by_hand("{y} = tf.transpose({x}, (0, 2, 1))"),
        by_hand("{y} = tf.einsum('bij->bji', {x})"),
    ],
    "tokens": [
        by_hand("{y} = tf.reshape({x}, (-1, {area}, {channels}))", when=channels_last),
        by_hand(
            "{y} = tf.transpose(tf.reshape({x}, (-1, {channels}, {area})), (0, 2, 1))",
            when=channels_first,
        ),
    ],
    "tokens_reshaped": [
        by_hand("{y} = tf.reshape({x}, (-1, {area}, {channels}))", when=channels_first),
        by_hand(
            "{y} = tf.reshape(tf.transpose({x}, (0, 3, 1, 2)), (-1, {area}, {channels}))",
            when=channels_last,
        ),
    ],
    "reduce_mean": [by_hand("{y} = tf.reduce_mean({x}, {axis})")],
    "reduce_sum": [by_hand("{y} = tf.reduce_sum({x}, {axis})")],
    "reduce_max": [by_hand("{y} = tf.reduce_max({x}, {axis})")],
    "centre_mean": [by_hand("{y} = {x} - tf.reduce_mean({x}, {axis}, keepdims=True)")],
    "centre_max": [by_hand("{y} = {x} - tf.reduce_max({x}, {axis}, keepdims=True)")],
    "add": [by_hand("{y} = {a} + {b}"), by_hand("{y} = tf.add({b}, {a})")],
    "concat": [by_hand("{y} = tf.concat([{inputs}], axis={channel_axis})")],
    "dueling": [
        by_hand("{y} = {value} + ({a} - tf.reduce_mean({a}, {axis}, keepdims=True))"),
        by_hand("{y} = {value} - tf.reduce_mean({a}, {axis}, keepdims=True) + {a}"),
    ],
    "dueling_max": [by_hand("{y} = {value} + ({a} - tf.reduce_max({a}, {axis}, keepdims=True))")],
    "dueling_uncentred": [by_hand("{y} = {value} + {a}")],
    "dueling_value": [by_hand("{y} = {value} - tf.reduce_mean({value}, 0, keepdims=True) + {a}")],
    "expectation": [
        by_hand("{y} = tf.reduce_sum({x} * {support}{column}, {axis})"),
        by_hand("{y} = tf.linalg.matvec({x}, {support})", when=last_axis),
        by_hand("{y} = tf.reduce_sum({x} * tf.linspace({low}, {high}, {atoms}){column}, {axis})"),
    ],
}

NATIVE: dict[str, list[Form]] = {
    "rmsnorm": [
        by_hand(
            "scale = tf.math.rsqrt(tf.reduce_mean(tf.square({x}), {axis}, True) + {epsilon})\n"
            "{y} = {x} * scale * {gamma}"
        )
    ],
    "batchnorm_batch": [
        by_hand(
            "mean, variance = tf.nn.moments({x}, {per_channel}, keepdims=True)\n"
            "{y} = tf.nn.batch_normalization("
            "{x}, mean, variance, {beta}{over}, {gamma}{over}, {epsilon})",
            when=_eager,
        )
    ],
    "depthwise": [
        by_hand(
            "{y} = tf.nn.depthwise_conv2d("
            "{x}, {kernel}, [1, {stride}, {stride}, 1], '{PADDING}'){plus_bias}",
            when=lambda names: names["PADDING"],
        ),
        by_hand(
            "padded = " + PADDED + "\n"
            "{y} = tf.nn.depthwise_conv2d("
            "padded, {kernel}, [1, {stride}, {stride}, 1], 'VALID'){plus_bias}"
        ),
    ],
    "deconv2d": [
        by_hand(
            "{y} = tf.nn.conv2d_transpose({x}, {kernel_out_in}, "
            "({batch}, {out_height}, {out_width}, {filters}), {stride}, '{PADDING}'){plus_bias}",
            when=lambda names: names["PADDING"],
        ),
        by_hand(
            "size = ({batch}, {out_height} + {top} + {bottom}, {out_width} + {left} + {right}, "
            "{filters})\n"
            "{y} = tf.nn.conv2d_transpose({x}, {kernel_out_in}, size, {stride}, 'VALID')\n"
            "{y} = {y}[:, {top} : {top} + {out_height}, {left} : {left} + {out_width}]{plus_bias}"
        ),
    ],
    "resize": [
        by_hand(
            "{y} = tf.image.resize({x}, ({out_height}, {out_width}), '{method}')",
            when=lambda names: names["coordinates"] == "half-pixel",
        ),
        by_hand(
            "{y} = tf.compat.v1.image.resize_bilinear("
            "{x}, ({out_height}, {out_width}), align_corners=True)",
            when=lambda names: names["coordinates"] == "align-corners",
        ),
        by_hand(
            "{y} = tf.compat.v1.image.resize_bilinear({x}, ({out_height}, {out_width}))",
            when=lambda names: (
                (names["method"], names["coordinates"]) == ("bilinear", "asymmetric")
            ),
        ),
        by_hand(
            "{y} = tf.compat.v1.image.resize_nearest_neighbor({x}, ({out_height}, {out_width}))",
            when=lambda names: (names["method"], names["coordinates"]) == ("nearest", "asymmetric"),
        ),
    ],
    "pixel_shuffle": [
        by_hand("{y} = tf.nn.depth_to_space({x}, 2)", when=lambda names: names["blocks_first"])
    ],
    "lrn": [
        by_hand(
            "{y} = tf.nn.local_response_normalization("
            "{x}, {size} // 2, bias={k}, alpha={alpha}, beta={beta})",
            when=channels_last,
        )
    ],
}

FORMS = joined(HANDWRITTEN, NATIVE, common_forms(OPERATIONS))


def _write(network: Network, plan: Plan, pieces: Sequence[Piece]) -> str:
    lines = ["import numpy as np", "import tensorflow as tf", "", "", "def build(w):"]
    if plan.compiled:
        lines += ["    @tf.function"]
    lines += ["    def model(x):"]
    if plan.layout == "NCHW in" and len(network.nodes[0].shape) == 3:
        lines += ["        x = tf.transpose(x, (0, 2, 3, 1))  # node: x"]
    for piece in pieces:
        lines += [f"        {line}" for line in tag(piece.lines, piece.node)]
    return "\n".join([*lines, f"        return {returned(network)}", "", "    return model", ""])


def _load(module: ModuleType, weights: Sequence[Weight], example: np.ndarray) -> Any:
    import tensorflow as tf

    variables = {w.attribute: tf.Variable(w.value, name=w.attribute) for w in weights}
    return module.build(SimpleNamespace(**variables))


def _run(model: Any, inputs: np.ndarray) -> Any:
    import tensorflow as tf

    return model(tf.constant(inputs))


TENSORFLOW = Flavour(
    name="tensorflow",
    forms=FORMS,
    parameter="w.{}",
    row="{}[:, None]",
    stack="tf.stack(steps, axis=1)",
    layouts=("NCHW", "NHWC", "NCHW in"),
    write=_write,
    load=_load,
    run=_run,
    images_last=(
        "{y} = tf.transpose({x}, (0, 2, 3, 1))",
        "{y} = tf.transpose({y}, (0, 3, 1, 2))",
    ),
)
