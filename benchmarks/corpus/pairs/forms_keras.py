"""How Keras 3 users write each kind of node down: subclassed models, and functional ones.

In a functional model every layer carries its node's name, and what is done by hand is a layer of
the user's own. A subclassed model leaves names to Keras.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from . import conditions as when
from .forms import Flavour, Form, Piece, Plan, Weight, body, by_hand, by_layer, returned, tag
from .forms_common import channels_last_forms, common_forms, joined
from .network import Network

PADDED = "ops.pad({x}, [[0, 0], [{top}, {bottom}], [{left}, {right}], [0, 0]])"
CELL = {
    "cell__kernel": "kernel",
    "cell__recurrent_kernel": "recurrent",
    "cell__bias": "bias",
}
VALID = (
    "ops.conv(@, {kernel}, strides={stride}, dilation_rate={dilation}, padding='valid'){plus_bias}"
)

OPERATIONS = {
    **{name: f"ops.{name}(@)" for name in ("sqrt", "exp", "tanh", "sigmoid", "cos", "relu")},
    "mean": "ops.mean(@, #, keepdims=True)",
    "max": "ops.max(@, #, keepdims=True)",
    "sum": "ops.sum(@, #, keepdims=True)",
    "matmul": "ops.matmul(@, #)",
    "split": "ops.split(@, #, axis=1)",
    "zeros": "ops.zeros(({batch}, {units}))",
    "clip": "ops.clip(@, 0.0, 1.0)",
    "softmax": "ops.softmax(@)",
    "reshape": "ops.reshape(@, (#))",
    "transpose": "ops.transpose(@, (#))",
    "apply": "ops.matmul(@, #)",
    "einsum": "ops.einsum('#', @)",
    "causal": "(1 - ops.tril(ops.ones(({steps}, {steps})))) * {fill}",
    "take": "ops.take(@, ops.arange(#), axis=0)",
    "fractions": "(ops.arange({rows}, dtype='float32') + {offset}) / {rows}",
}

HANDWRITTEN: dict[str, list[Form]] = {
    "dense": [
        by_layer("keras.layers.Dense({units}, use_bias={has_bias})", kernel="kernel", bias="bias"),
        by_hand("{y} = ops.matmul({x}, {kernel}){plus_bias}"),
        by_hand("{y} = ops.einsum('...i,io->...o', {x}, {kernel}){plus_bias}"),
    ],
    "conv2d": [
        by_layer(
            "keras.layers.Conv2D({filters}, {window}, strides={stride}, padding='{padding}', "
            "dilation_rate={dilation}, groups={groups}, use_bias={has_bias})",
            when=when.padding_named,
            kernel="kernel",
            bias="bias",
        ),
        by_hand("{y} = " + VALID.replace("@", PADDED)),
    ],
    "conv2d_border": [
        by_hand(
            "padded = " + PADDED[:-1] + ", mode='reflect')\n{y} = " + VALID.replace("@", "padded"),
            when=when.reflected,
        ),
        by_hand(
            "padded = " + PADDED[:-1] + ", constant_values=1.0)\n"
            "{y} = " + VALID.replace("@", "padded"),
            when=when.of_ones,
        ),
    ],
    "maxpool": [
        by_layer(
            "keras.layers.MaxPooling2D({window}, strides={stride}, padding='{padding}')",
            when=when.padding_named,
        ),
        by_hand(
            "{y} = ops.max_pool({x}, {window}, strides={stride}, padding='{padding}')",
            when=when.padding_named,
        ),
        by_hand(
            "padded = " + PADDED[:-1] + ", constant_values=-1e9)\n"
            "{y} = ops.max_pool(padded, {window}, strides={stride}, padding='valid')"
        ),
    ],
    "maxpool_zeros": [
        by_hand("{y} = ops.max_pool(" + PADDED + ", {window}, strides={stride}, padding='valid')")
    ],
    "avgpool": [
        by_layer(
            "keras.layers.AveragePooling2D({window}, strides={stride}, padding='{padding}')",
            when=when.uncounted,
        ),
        by_hand(
            "{y} = ops.average_pool(" + PADDED + ", {window}, strides={stride}, padding='valid')",
            when=when.counted,
        ),
    ],
    "batchnorm": [
        by_layer(
            "keras.layers.BatchNormalization(axis={channel_axis}, epsilon={epsilon})",
            gamma="gamma",
            beta="beta",
            moving_mean="mean",
            moving_variance="variance",
        ),
    ],
    "layernorm": [
        by_layer(
            "keras.layers.LayerNormalization(epsilon={epsilon})",
            when=when.last_axis,
            gamma="gamma",
            beta="beta",
        ),
        by_hand(
            "mean, variance = ops.moments({x}, [{axis}], keepdims=True)\n"
            "{y} = ({x} - mean) / ops.sqrt(variance + {epsilon}) * {gamma} + {beta}"
        ),
    ],
    "lstm": [
        by_layer(
            "keras.layers.LSTM({units}, return_sequences={sequence}, go_backwards={reverse})",
            when=when.read_off_one_way,
            **CELL,
        ),
        by_layer(
            "keras.layers.LSTM({units}, return_sequences={sequence}, unroll=True)",
            when=when.forwards,
            **CELL,
        ),
        by_hand(
            "h = c = ops.zeros(({batch}, {units}))\n"
            "steps = []\n"
            "for t in {times}:\n"
            "    gates = ops.matmul({x}[:, t], {kernel}) + ops.matmul(h, {recurrent}) + {bias}\n"
            "    i, f, g, o = ops.split(gates, 4, axis=1)\n"
            "    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)\n"
            "    h = ops.sigmoid(o) * ops.tanh(c)\n"
            "    steps.append(h)\n"
            "{y} = {joined}"
        ),
    ],
    "relu": [
        by_layer("keras.layers.ReLU()"),
        by_hand("{y} = ops.relu({x})"),
        by_hand("{y} = ops.maximum({x}, 0.0)"),
    ],
    "tanh": [by_layer("keras.layers.Activation('tanh')"), by_hand("{y} = ops.tanh({x})")],
    "sigmoid": [
        by_layer("keras.layers.Activation('sigmoid')"),
    ],
    "gelu": [
        by_hand("{y} = ops.gelu({x}, approximate=False)"),
        by_hand("{y} = 0.5 * {x} * (1 + ops.erf({x} / 2**0.5))"),
    ],
    "gelu_tanh": [by_hand("{y} = keras.activations.gelu({x}, approximate=True)")],
    "leaky_relu": [
        by_layer("keras.layers.LeakyReLU(negative_slope={slope})"),
        by_hand("{y} = ops.leaky_relu({x}, negative_slope={slope})"),
        by_hand("{y} = ops.where({x} > 0, {x}, {slope} * {x})"),
    ],
    "hard_sigmoid": [
        by_layer("keras.layers.Activation('hard_sigmoid')", when=when.sixth_slope),
        by_hand("{y} = ops.hard_sigmoid({x})", when=when.sixth_slope),
        by_hand("{y} = ops.clip({slope} * {x} + 0.5, 0.0, 1.0)"),
    ],
    "softplus": [
        by_layer("keras.layers.Activation('softplus')"),
        by_hand("{y} = ops.log(1 + ops.exp({x}))"),
    ],
    "elu": [
        by_layer("keras.layers.ELU()"),
        by_hand("{y} = ops.where({x} > 0, {x}, ops.exp({x}) - 1)"),
    ],
    "silu": [
        by_layer("keras.layers.Activation('silu')"),
    ],
    "scale": [by_layer("keras.layers.Rescaling({factor})"), by_hand("{y} = {x} * {factor}")],
    "softmax": [
        by_layer("keras.layers.Softmax(axis={axis})"),
        by_hand("{y} = ops.softmax({x}, axis={axis})"),
        by_hand(
            "shifted = ops.exp({x} - ops.max({x}, {axis}, keepdims=True))\n"
            "{y} = shifted / ops.sum(shifted, {axis}, keepdims=True)"
        ),
    ],
    "log_softmax": [
        by_hand("{y} = ops.log_softmax({x}, axis={axis})"),
        by_hand("{y} = {x} - ops.logsumexp({x}, {axis}, keepdims=True)"),
    ],
    "flatten": [
        by_layer("keras.layers.Flatten()", when=when.channels_first),
    ],
    "reshape": [
        by_layer("keras.layers.Reshape(({rows}, {columns}))"),
    ],
    "reshape_swapped": [
        by_hand("{y} = ops.transpose(ops.reshape({x}, (-1, {columns}, {rows})), (0, 2, 1))")
    ],
    "transpose": [
        by_layer("keras.layers.Permute((2, 1))"),
        by_hand("{y} = ops.transpose({x}, (0, 2, 1))"),
        by_hand("{y} = ops.swapaxes({x}, 1, 2)"),
    ],
    "tokens": [
        by_layer("keras.layers.Reshape(({area}, {channels}))", when=when.channels_last),
    ],
    "tokens_reshaped": [
        by_layer("keras.layers.Reshape(({area}, {channels}))", when=when.channels_first),
    ],
    "reduce_mean": [by_hand("{y} = ops.mean({x}, {axis})")],
    "reduce_sum": [by_hand("{y} = ops.sum({x}, {axis})")],
    "reduce_max": [by_hand("{y} = ops.max({x}, {axis})")],
    "add": [
        by_layer("keras.layers.Add()", "{y} = self.{y}([{a}, {b}])"),
        by_hand("{y} = {b} + {a}"),
    ],
    "concat": [
        by_layer("keras.layers.Concatenate(axis={channel_axis})", "{y} = self.{y}([{inputs}])"),
        by_hand("{y} = ops.concatenate([{inputs}], axis={channel_axis})"),
    ],
    "expectation": [
        by_hand("{y} = ops.sum({x} * {support}{column}, {axis})"),
        by_hand("{y} = ops.matmul({x}, {support}[:, None])[:, :, 0]", when=when.last_axis),
        by_hand("{y} = ops.sum({x} * ops.linspace({low}, {high}, {atoms}){column}, {axis})"),
    ],
}

IMPORTS = ["import keras", "from keras import ops", "", ""]

NATIVE: dict[str, list[Form]] = {
    "layernorm_bare": [
        by_layer(
            "keras.layers.LayerNormalization(epsilon={epsilon}, center=False, scale=False)",
            when=when.last_axis,
        )
    ],
    "rmsnorm": [
        by_layer(
            "keras.layers.RMSNormalization(epsilon={epsilon})", when=when.last_axis, scale="gamma"
        ),
    ],
    "batchnorm_bare": [
        by_layer(
            "keras.layers.BatchNormalization("
            "axis={channel_axis}, epsilon={epsilon}, center=False, scale=False)",
            moving_mean="mean",
            moving_variance="variance",
        )
    ],
    "lstm_masked": [
        by_layer(
            "keras.layers.LSTM({units})",
            "valid = ops.convert_to_tensor({mask})\n{y} = self.{y}({x}, mask=valid)",
            **CELL,
        )
    ],
    "gru": [
        by_layer(
            "keras.layers.GRU({units}, return_sequences={sequence}, go_backwards={reverse}, "
            "reset_after=True)",
            when=lambda names: names["reset_after"] and when.read_off_one_way(names),
            **{**CELL, "cell__bias": "biases"},
        ),
        by_layer(
            "keras.layers.GRU({units}, return_sequences={sequence}, go_backwards={reverse}, "
            "reset_after=False)",
            when=lambda names: not names["reset_after"] and when.read_off_one_way(names),
            **CELL,
        ),
    ],
    "depthwise": [
        by_layer(
            "keras.layers.DepthwiseConv2D({window}, strides={stride}, padding='{padding}', "
            "depth_multiplier={multiple}, use_bias={has_bias})",
            when=when.padding_named,
            kernel="kernel",
            bias="bias",
        ),
        by_hand(
            "{y} = ops.depthwise_conv(" + PADDED + ", {kernel}, strides={stride}, padding='valid')"
            "{plus_bias}"
        ),
    ],
    "deconv2d": [
        by_layer(
            "keras.layers.Conv2DTranspose({filters}, {window}, strides={stride}, "
            "padding='{padding}', use_bias={has_bias})",
            when=when.padding_named,
            kernel="kernel_out_in",
            bias="bias",
        ),
        by_hand(
            "{y} = ops.conv_transpose({x}, {kernel_out_in}, strides={stride}, padding='valid')\n"
            "{y} = {y}[:, {top} : {top} + {out_height}, {left} : {left} + {out_width}]{plus_bias}"
        ),
    ],
    "resize": [
        by_hand(
            "{y} = ops.image.resize({x}, ({out_height}, {out_width}), interpolation='{method}')",
            when=when.half_pixel,
        ),
        by_layer(
            "keras.layers.Resizing({out_height}, {out_width}, interpolation='{method}')",
            when=when.half_pixel,
        ),
    ],
    "attention": [
        by_layer(
            "keras.layers.MultiHeadAttention({heads}, {depth}, use_bias=False)",
            "{y} = self.{y}({x}, {x}, use_causal_mask={causal})",
            when=lambda names: names["usual"],
            _query_dense__kernel="query_heads",
            _key_dense__kernel="key_heads",
            _value_dense__kernel="value_heads",
            _output_dense__kernel="output_heads",
        )
    ],
}

FORMS = joined(HANDWRITTEN, NATIVE, common_forms(OPERATIONS), channels_last_forms(OPERATIONS))


def _write_subclassed(network: Network, plan: Plan, pieces: Sequence[Piece]) -> str:
    lines = [*IMPORTS, "class Model(keras.Model):"]
    lines += ["    def __init__(self):", "        super().__init__()"]
    for piece in pieces:
        made = [f"self.{piece.node.name} = {piece.layer}"] if piece.layer else []
        lines += [f"        {line}" for line in tag([*made, *_variables(piece)], piece.node)]
    lines += ["", "    def call(self, x):"]
    if plan.layout == "NCHW in" and len(network.nodes[0].shape) == 3:
        lines += ["        x = ops.transpose(x, (0, 2, 3, 1))  # node: x"]
    return "\n".join([*lines, *body(network, pieces), ""])


def _write_functional(network: Network, plan: Plan, pieces: Sequence[Piece]) -> str:
    lines = list(IMPORTS)
    for piece in pieces:
        if not piece.layer:
            lines += _own_layer(piece)
    shape = network.nodes[0].shape
    if len(shape) == 3 and plan.layout == "NHWC":
        shape = (*shape[1:], shape[0])
    batch_shape = (network.batch, *shape)
    lines += ["def build():", f"    x = inputs = keras.Input(batch_shape={batch_shape})"]
    if plan.layout == "NCHW in" and len(shape) == 3:
        lines += ['    x = keras.layers.Permute((2, 3, 1), name="x")(x)  # node: x']
    for piece in pieces:
        name = piece.node.name
        if piece.layer:
            comma = "" if piece.layer.endswith("()") else ", "
            layer = f'{piece.layer[:-1]}{comma}name="{name}")'
            called = [line.replace(f"self.{name}", layer) for line in piece.lines]
        else:
            called = [f'{name} = {_class(name)}(name="{name}")({", ".join(piece.node.inputs)})']
        lines += [f"    {line}" for line in tag(called, piece.node)]
    made = f"    return keras.Model(inputs, {returned(network)})"
    if not network.named_outputs:
        made = f"    return keras.Model(inputs, [{returned(network)}])"
    return "\n".join([*lines, made, ""])


def _own_layer(piece: Piece) -> list[str]:
    name = piece.node.name
    made = tag(_variables(piece), piece.node)
    lines = [f"class {_class(name)}(keras.layers.Layer):"]
    if made:
        lines += ["    def __init__(self, **options):", "        super().__init__(**options)"]
        lines += [*(f"        {line}" for line in made), ""]
    lines += [f"    def call(self, {', '.join(piece.node.inputs)}):"]
    lines += [f"        {line}" for line in tag(piece.lines, piece.node)]
    return [*lines, f"        return {name}", "", ""]


def _class(name: str) -> str:
    return name.title().replace("_", "")


def _variables(piece: Piece) -> list[str]:
    return [
        f'self.{w.attribute} = self.add_weight(shape={w.value.shape}, name="{w.attribute}")'
        for w in piece.weights
        if not w.of_layer
    ]


def _load_subclassed(module: ModuleType, weights: Sequence[Weight], example: np.ndarray) -> Any:
    model = module.Model()
    model(example)
    for weight in weights:
        _assign(getattr(model, weight.node) if weight.of_layer else model, weight)
    return model


def _load_functional(module: ModuleType, weights: Sequence[Weight], example: np.ndarray) -> Any:
    model = module.build()
    layers = {layer.name: layer for layer in model.layers}
    for weight in weights:
        if weight.node in layers:  # a branch that a fault left unused is no part of the model
            _assign(layers[weight.node], weight)
    return model


def _assign(owner: Any, weight: Weight) -> None:
    for name in weight.attribute.split("."):
        owner = getattr(owner, name)
    owner.assign(weight.value)


def _run(model: Any, inputs: np.ndarray) -> Any:
    # without the word a Resizing layer, whose own default is True, sets it for all layers after it
    return model(inputs, training=False)


KERAS = Flavour(
    name="keras",
    forms=FORMS,
    parameter="self.{}",
    row="ops.expand_dims({}, 1)",
    stack="ops.stack(steps, axis=1)",
    layouts=("NCHW", "NHWC", "NCHW in"),
    write=_write_subclassed,
    load=_load_subclassed,
    run=_run,
    images_last=(
        "{y} = ops.transpose({x}, (0, 2, 3, 1))",
        "{y} = ops.transpose({y}, (0, 3, 1, 2))",
    ),
)

KERAS_FUNCTIONAL = replace(
    KERAS,
    name="keras functional",
    layouts=("NHWC", "NCHW in"),
    write=_write_functional,
    load=_load_functional,
    images_last=("", ""),
)
