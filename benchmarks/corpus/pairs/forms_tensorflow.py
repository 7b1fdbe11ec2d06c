"""How TensorFlow users write each kind of node down, as functions over tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from . import conditions as when
from .forms import Flavour, Form, Piece, Plan, Weight, body, by_hand
from .forms_common import channels_last_forms, common_forms, joined
from .network import Network

PADDED = "tf.pad({x}, [[0, 0], [{top}, {bottom}], [{left}, {right}], [0, 0]])"


def _eager(names: Mapping[str, Any]) -> bool:
    """Not under tf.function: TensorFlow 2.21 with oneDNN takes 1e-3 for any epsilon there."""
    return not names["compiled"]


OPERATIONS = {
    **{name: f"tf.{name}(@)" for name in ("sqrt", "exp", "tanh", "sigmoid", "cos")},
    "relu": "tf.nn.relu(@)",
    "mean": "tf.reduce_mean(@, #, keepdims=True)",
    "max": "tf.reduce_max(@, #, keepdims=True)",
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
        by_hand(
            "{y} = tf.nn.bias_add(tf.tensordot({x}, {kernel}, 1), {bias})", when=when.with_bias
        ),
    ],
    "conv2d": [
        by_hand(
            "{y} = tf.nn.conv2d({x}, {kernel}, {stride}, '{PADDING}', "
            "dilations={dilation}){plus_bias}",
            when=when.padding_named,
        ),
        by_hand(
            "{y} = tf.nn.conv2d(" + PADDED + ", {kernel}, {stride}, 'VALID', "
            "dilations={dilation}){plus_bias}"
        ),
        by_hand(
            "patches = tf.image.extract_patches(" + PADDED + ", [1, *{window}, 1], "
            "[1, {stride}, {stride}, 1], [1, {dilation}, {dilation}, 1], 'VALID')\n"
            "{y} = tf.tensordot(patches, tf.reshape({kernel}, (-1, {filters})), 1){plus_bias}",
            when=when.ungrouped,
        ),
    ],
    "conv2d_border": [
        by_hand(
            "padded = " + PADDED[:-1] + ", mode='REFLECT')\n"
            "{y} = tf.nn.conv2d(padded, {kernel}, {stride}, 'VALID', dilations={dilation})"
            "{plus_bias}",
            when=when.reflected,
        ),
        by_hand(
            "padded = " + PADDED[:-1] + ", constant_values=1.0)\n"
            "{y} = tf.nn.conv2d(padded, {kernel}, {stride}, 'VALID', dilations={dilation})"
            "{plus_bias}",
            when=when.of_ones,
        ),
    ],
    "maxpool": [
        by_hand(
            "{y} = tf.nn.max_pool2d({x}, {window}, {stride}, '{PADDING}')",
            when=when.padding_named,
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
        by_hand(
            "{y} = tf.nn.avg_pool2d({x}, {window}, {stride}, '{PADDING}')", when=when.uncounted
        ),
        by_hand(
            "{y} = tf.nn.avg_pool2d(" + PADDED + ", {window}, {stride}, 'VALID')", when=when.counted
        ),
    ],
    "batchnorm": [
        by_hand(
            "{y} = tf.nn.batch_normalization({x}, {mean}{over}, {variance}{over}, "
            "{beta}{over}, {gamma}{over}, {epsilon})"
        ),
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
    "sigmoid": [by_hand("{y} = tf.sigmoid({x})")],
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
        by_hand("{y} = tf.nn.relu6({x} + 3) / 6", when=when.sixth_slope),
    ],
    "softplus": [
        by_hand("{y} = tf.nn.softplus({x})"),
        by_hand("{y} = tf.math.log1p(tf.exp({x}))"),
    ],
    "elu": [
        by_hand("{y} = tf.nn.elu({x})"),
        by_hand("{y} = tf.where({x} > 0, {x}, tf.math.expm1({x}))"),
    ],
    "silu": [by_hand("{y} = tf.nn.silu({x})")],
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
    "reshape_swapped": [
        by_hand("{y} = tf.transpose(tf.reshape({x}, (-1, {columns}, {rows})), (0, 2, 1))"),
        by_hand("{y} = tf.linalg.matrix_transpose(tf.reshape({x}, (-1, {columns}, {rows})))"),
    ],
    "transpose": [
        by_hand("{y} = tf.transpose({x}, (0, 2, 1))"),
        by_hand("{y} = tf.einsum('bij->bji', {x})"),
    ],
    "tokens": [
        by_hand("{y} = tf.reshape({x}, (-1, {area}, {channels}))", when=when.channels_last),
    ],
    "tokens_reshaped": [
        by_hand("{y} = tf.reshape({x}, (-1, {area}, {channels}))", when=when.channels_first),
    ],
    "reduce_mean": [by_hand("{y} = tf.reduce_mean({x}, {axis})")],
    "reduce_sum": [by_hand("{y} = tf.reduce_sum({x}, {axis})")],
    "reduce_max": [by_hand("{y} = tf.reduce_max({x}, {axis})")],
    "add": [by_hand("{y} = {a} + {b}"), by_hand("{y} = tf.add({b}, {a})")],
    "concat": [by_hand("{y} = tf.concat([{inputs}], axis={channel_axis})")],
    "expectation": [
        by_hand("{y} = tf.reduce_sum({x} * {support}{column}, {axis})"),
        by_hand("{y} = tf.linalg.matvec({x}, {support})", when=when.last_axis),
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
            when=when.padding_named,
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
            when=when.padding_named,
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
            when=when.half_pixel,
        ),
        by_hand(
            "{y} = tf.compat.v1.image.resize_bilinear("
            "{x}, ({out_height}, {out_width}), align_corners=True)",
            when=when.align_corners,
        ),
        by_hand(
            "{y} = tf.compat.v1.image.resize_bilinear({x}, ({out_height}, {out_width}))",
            when=when.resized("bilinear", "asymmetric"),
        ),
        by_hand(
            "{y} = tf.compat.v1.image.resize_nearest_neighbor({x}, ({out_height}, {out_width}))",
            when=when.resized("nearest", "asymmetric"),
        ),
    ],
    "pixel_shuffle": [by_hand("{y} = tf.nn.depth_to_space({x}, 2)", when=when.blocks_first)],
    "lrn": [
        by_hand(
            "{y} = tf.nn.local_response_normalization("
            "{x}, {size} // 2, bias={k}, alpha={alpha}, beta={beta})",
            when=when.channels_last,
        )
    ],
}

FORMS = joined(HANDWRITTEN, NATIVE, common_forms(OPERATIONS), channels_last_forms(OPERATIONS))


def _write(network: Network, plan: Plan, pieces: Sequence[Piece]) -> str:
    lines = ["import numpy as np", "import tensorflow as tf", "", "", "def build(w):"]
    if plan.compiled:
        lines += ["    @tf.function"]
    lines += ["    def model(x):"]
    if plan.layout == "NCHW in" and len(network.nodes[0].shape) == 3:
        lines += ["        x = tf.transpose(x, (0, 2, 3, 1))  # node: x"]
    return "\n".join([*lines, *body(network, pieces), "", "    return model", ""])


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
