"""How Chainer users write each kind of node down."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from . import conditions as when
from .forms import Flavour, Form, Piece, Plan, Weight, body, by_hand, by_layer, tag
from .forms_common import common_forms, joined
from .network import Network

PADDED = "F.pad({x}, ((0, 0), (0, 0), ({top}, {bottom}), ({left}, {right})), 'constant')"
SPREAD = "{stride}, dilate={dilation}, groups={groups}"


def _row(names: Any) -> bool:
    return names["rank"] == 2 and names["axis"] == 1


OPERATIONS = {
    **{name: f"F.{name}(@)" for name in ("sqrt", "exp", "tanh", "sigmoid", "cos", "relu")},
    "mean": "F.mean(@, #, keepdims=True)",
    "sum": "F.sum(@, #, keepdims=True)",
    "matmul": "F.matmul(@, #)",
    "split": "F.split_axis(@, #, axis=1)",
    "zeros": "np.zeros(({batch}, {units}), np.float32)",
    "clip": "F.clip(@, 0.0, 1.0)",
    "softmax": "F.softmax(@, axis=-1)",
    "reshape": "F.reshape(@, (#))",
    "transpose": "F.transpose(@, (#))",
    "apply": "F.tensordot(@, #, 1)",
    "einsum": "F.einsum('#', @)",
    "causal": "np.triu(np.full(({steps}, {steps}), {fill}, np.float32), 1)",
    "take": "F.embed_id(np.arange(#), @)",
    "fractions": "(np.arange({rows}, dtype=np.float32) + {offset}) / {rows}",
}

HANDWRITTEN: dict[str, list[Form]] = {
    "dense": [
        by_layer(
            "L.Linear({features}, {units}, nobias=not {has_bias})",
            "{y} = self.{y}({x}, n_batch_axes={rank} - 1)",
            W="weight",
            b="bias",
        ),
        by_hand("{y} = F.linear({x}, {weight}, {bias}, n_batch_axes={rank} - 1)"),
        by_hand("{y} = F.tensordot({x}, {kernel}, 1){plus_bias}"),
    ],
    "conv2d": [
        by_layer(
            "L.Convolution2D({channels}, {filters}, {window}, {stride}, ({top}, {left}), "
            "nobias=not {has_bias}, dilate={dilation}, groups={groups})",
            when=when.symmetric,
            W="weight",
            b="bias",
        ),
        by_hand("{y} = F.convolution_2d(" + PADDED + ", {weight}, {bias}, " + SPREAD + ")"),
        by_hand(
            "columns = F.im2col(" + PADDED + ", {window}, {stride}, dilate={dilation})\n"
            "flat = F.reshape({weight}, ({filters}, -1))\n"
            "{y} = F.moveaxis(F.tensordot(columns, flat, (1, 1)), 3, 1){plus_bias}",
            when=when.ungrouped,
        ),
    ],
    "conv2d_border": [
        by_hand(
            "padded = " + PADDED.replace("constant", "reflect") + "\n"
            "{y} = F.convolution_2d(padded, {weight}, {bias}, " + SPREAD + ")",
            when=when.reflected,
        ),
        by_hand(
            "padded = " + PADDED[:-1] + ", constant_values=1.0)\n"
            "{y} = F.convolution_2d(padded, {weight}, {bias}, " + SPREAD + ")",
            when=when.of_ones,
        ),
    ],
    "maxpool": [
        by_hand(
            "{y} = F.max_pooling_2d({x}, {window}, {stride}, ({top}, {left}), cover_all=False)",
            when=when.symmetric,
        ),
        by_hand("{y} = F.max_pooling_2d({x}, {window}, {stride})", when=when.rounded_up),
        by_hand(
            "padded = " + PADDED[:-1] + ", constant_values=-np.inf)\n"
            "{y} = F.max_pooling_2d(padded, {window}, {stride}, cover_all=False)"
        ),
    ],
    "maxpool_zeros": [
        by_hand("{y} = F.max_pooling_2d(" + PADDED + ", {window}, {stride}, cover_all=False)")
    ],
    "avgpool": [
        by_hand(
            "{y} = F.average_pooling_2d({x}, {window}, {stride}, ({top}, {left}))", when.counted
        ),
        by_hand(
            "{y} = F.average_pooling_nd({x}, {window}, {stride}, ({top}, {left}), pad_value=None)",
            when.uncounted,
        ),
    ],
    "batchnorm": [
        by_layer(
            "L.BatchNormalization({channels}, eps={epsilon})",
            gamma="gamma",
            beta="beta",
            avg_mean="mean",
            avg_var="variance",
        ),
        by_hand(
            "{y} = F.fixed_batch_normalization({x}, {gamma}, {beta}, {mean}, {variance}, {epsilon})"
        ),
    ],
    "layernorm": [
        by_layer(
            "L.LayerNormalization({features}, eps={epsilon})", when=_row, gamma="gamma", beta="beta"
        ),
        by_hand("{y} = F.layer_normalization({x}, {gamma}, {beta}, {epsilon})", when=_row),
        by_hand(
            "mean = F.mean({x}, {axis}, keepdims=True)\n"
            "variance = F.mean(({x} - mean) ** 2, {axis}, keepdims=True)\n"
            "{y} = ({x} - mean) / F.sqrt(variance + {epsilon}) * {gamma} + {beta}"
        ),
    ],
    "lstm": [
        by_layer(
            "L.LSTM({features}, {units})",
            "self.{y}.reset_state()\n"
            "steps = [self.{y}({x}[:, t]) for t in {times}]\n"
            "{y} = {joined}",
            upward__W="upward",
            upward__b="upward_bias",
            lateral__W="lateral",
        ),
        by_layer(
            "L.NStepLSTM(1, {features}, {units}, 0.0)",
            "_, _, samples = self.{y}(None, None, list(F.separate({x})))\n"
            "{y} = F.stack(samples){last}",
            when=when.forwards,
            **{f"0__{p}{k}": f"{p}{k}" for p in "wb" for k in range(8)},
        ),
        by_hand(
            "h = c = np.zeros(({batch}, {units}), np.float32)\n"
            "steps = []\n"
            "for t in {times}:\n"
            "    gates = F.linear({x}[:, t], {upward}, {upward_bias}) + F.linear(h, {lateral})\n"
            "    c, h = F.lstm(c, gates)\n"
            "    steps.append(h)\n"
            "{y} = {joined}"
        ),
        by_hand(
            "h = c = np.zeros(({batch}, {units}), np.float32)\n"
            "steps = []\n"
            "for t in {times}:\n"
            "    gates = F.linear({x}[:, t], {weight_ih}, {bias}) + F.linear(h, {weight_hh})\n"
            "    i, f, g, o = F.split_axis(gates, 4, axis=1)\n"
            "    c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)\n"
            "    h = F.sigmoid(o) * F.tanh(c)\n"
            "    steps.append(h)\n"
            "{y} = {joined}"
        ),
    ],
    "relu": [
        by_hand("{y} = F.relu({x})"),
        by_hand("{y} = F.maximum({x}, np.zeros({x}.shape, np.float32))"),
    ],
    "tanh": [by_hand("{y} = F.tanh({x})"), by_hand("{y} = 2 * F.sigmoid(2 * {x}) - 1")],
    "sigmoid": [by_hand("{y} = F.sigmoid({x})")],
    "gelu": [by_hand("{y} = 0.5 * {x} * (1 + F.erf({x} / 2**0.5))")],
    "gelu_tanh": [
        by_hand(
            "cubic = {x} + 0.044715 * {x} ** 3\n"
            "{y} = 0.5 * {x} * (1 + F.tanh((2 / np.pi) ** 0.5 * cubic))"
        )
    ],
    "leaky_relu": [
        by_hand("{y} = F.leaky_relu({x}, slope={slope})"),
        by_hand("{y} = F.maximum({x}, {slope} * {x})"),
    ],
    "hard_sigmoid": [
        by_hand("{y} = F.hard_sigmoid({x})", when=lambda names: names["slope"] == 0.2),
        by_hand("{y} = F.clip({slope} * {x} + 0.5, 0.0, 1.0)"),
    ],
    "softplus": [by_hand("{y} = F.softplus({x})"), by_hand("{y} = F.log1p(F.exp({x}))")],
    "elu": [by_hand("{y} = F.elu({x})")],
    "scale": [by_hand("{y} = {x} * {factor}"), by_hand("{y} = {factor} * {x}")],
    "softmax": [
        by_hand("{y} = F.softmax({x}, axis={axis})"),
        by_hand(
            "shifted = F.exp({x} - F.max({x}, {axis}, keepdims=True))\n"
            "{y} = shifted / F.sum(shifted, {axis}, keepdims=True)"
        ),
        by_hand("{y} = F.exp(F.log_softmax({x}, axis={axis}))"),
    ],
    "log_softmax": [
        by_hand("{y} = F.log_softmax({x}, axis={axis})"),
        by_hand("{y} = F.log(F.softmax({x}, axis={axis}))"),
        by_hand("{y} = {x} - F.expand_dims(F.logsumexp({x}, {axis}), {axis})"),
    ],
    "flatten": [by_hand("{y} = F.reshape({x}, ({batch}, -1))")],
    "reshape": [by_hand("{y} = F.reshape({x}, (-1, {rows}, {columns}))")],
    "reshape_swapped": [by_hand("{y} = F.swapaxes(F.reshape({x}, (-1, {columns}, {rows})), 1, 2)")],
    "transpose": [
        by_hand("{y} = F.transpose({x}, (0, 2, 1))"),
        by_hand("{y} = F.swapaxes({x}, 1, 2)"),
    ],
    "tokens": [
        by_hand("{y} = F.transpose(F.reshape({x}, (-1, {channels}, {area})), (0, 2, 1))"),
        by_hand("{y} = F.reshape(F.transpose({x}, (0, 2, 3, 1)), (-1, {area}, {channels}))"),
    ],
    "tokens_reshaped": [by_hand("{y} = F.reshape({x}, (-1, {area}, {channels}))")],
    "reduce_mean": [by_hand("{y} = F.mean({x}, axis={axis})")],
    "reduce_sum": [by_hand("{y} = F.sum({x}, axis={axis})")],
    "reduce_max": [by_hand("{y} = F.max({x}, axis={axis})")],
    "centre_mean": [by_hand("{y} = {x} - F.mean({x}, axis={axis}, keepdims=True)")],
    "centre_max": [by_hand("{y} = {x} - F.max({x}, axis={axis}, keepdims=True)")],
    "add": [by_hand("{y} = {a} + {b}"), by_hand("{y} = F.add({b}, {a})")],
    "concat": [by_hand("{y} = F.concat([{inputs}], axis=1)")],
    "dueling": [
        by_hand("{y} = {value} + ({a} - F.mean({a}, axis={axis}, keepdims=True))"),
        by_hand("{y} = {value} - F.mean({a}, axis={axis}, keepdims=True) + {a}"),
        by_hand(
            "mean = F.mean({a}, axis={axis}, keepdims=True)\n"
            "{y} = {a} - F.broadcast_to(mean, {a}.shape)\n"
            "{y} = {y} + F.broadcast_to({value}, {a}.shape)"
        ),
    ],
    "dueling_max": [by_hand("{y} = {value} + ({a} - F.max({a}, axis={axis}, keepdims=True))")],
    "dueling_value": [by_hand("{y} = {value} - F.mean({value}, axis=0, keepdims=True) + {a}")],
    "expectation": [
        by_hand("{y} = F.sum({x} * {support}{column}, axis={axis})"),
        by_hand("{y} = F.tensordot({x}, {support}, 1)", when=when.last_axis),
        by_hand(
            "support = np.linspace({low}, {high}, {atoms}, dtype=np.float32){column}\n"
            "{y} = F.sum({x} * support, axis={axis})"
        ),
    ],
}

NATIVE: dict[str, list[Form]] = {
    "batchnorm_batch": [
        by_hand("{y} = F.batch_normalization({x}, {gamma}, {beta}, eps={epsilon})")
    ],
    "lstm_stateless": [
        by_hand(
            "c = np.zeros(({batch}, {units}), np.float32)\n"
            "steps = []\n"
            "for t in {times}:\n"
            "    steps.append(F.lstm(c, F.linear({x}[:, t], {upward}, {upward_bias}))[1])\n"
            "{y} = {joined}"
        )
    ],
    "lstm_masked": [
        by_layer(
            "L.NStepLSTM(1, {features}, {units}, 0.0)",
            "samples = [{x}[k, :length] for k, length in enumerate({lengths})]\n"
            "{y} = self.{y}(None, None, samples)[0][0]",
            **{f"0__{p}{k}": f"{p}{k}" for p in "wb" for k in range(8)},
        )
    ],
    "gru": [
        by_layer(
            "L.NStepGRU(1, {features}, {units}, 0.0)",
            "_, samples = self.{y}(None, list(F.separate({x})))\n{y} = F.stack(samples){last}",
            when=lambda names: names["reset_after"] and when.forwards(names),
            **{f"0__{p}{k}": f"{p}{k}" for p in "wb" for k in range(6)},
        ),
        by_layer(
            "L.StatefulGRU({features}, {units})",
            "self.{y}.reset_state()\n"
            "steps = [self.{y}({x}[:, t]) for t in {times}]\n"
            "{y} = {joined}",
            when=when.resets_before,
            W_r__W="w_r",
            W_r__b="b_r",
            W_z__W="minus_w_z",
            W_z__b="minus_b_z",
            W__W="w_n",
            W__b="b_n",
            U_r__W="u_r",
            U_z__W="minus_u_z",
            U__W="u_n",
        ),
    ],
    "depthwise": [
        by_hand(
            "{y} = F.convolution_2d(" + PADDED + ", {weight}, {bias}, {stride}, groups={channels})"
        ),
        by_hand(
            "{y} = F.depthwise_convolution_2d(" + PADDED + ", {multiples_first}, {bias}, {stride})"
        ),
    ],
    "deconv2d": [
        by_layer(
            "L.Deconvolution2D({channels}, {filters}, {window}, {stride}, ({top}, {left}), "
            "nobias=not {has_bias}, outsize=({out_height}, {out_width}))",
            when=lambda names: names["top"] >= names["bottom"] and names["left"] >= names["right"],
            W="weight",
            b="bias",
        ),
        by_hand(
            "{y} = F.deconvolution_2d({x}, {weight}, {bias}, {stride})\n"
            "{y} = {y}[:, :, {top} : {top} + {out_height}, {left} : {left} + {out_width}]"
        ),
    ],
    "resize": [
        by_hand(
            "{y} = F.resize_images({x}, ({out_height}, {out_width}), align_corners=True)",
            when=when.align_corners,
        ),
        by_hand(
            "{y} = F.resize_images({x}, ({out_height}, {out_width}), align_corners=False)",
            when=when.resized("bilinear", "half-pixel"),
        ),
    ],
    "pixel_shuffle": [by_hand("{y} = F.depth2space({x}, 2)", when=when.blocks_first)],
    "lrn": [
        by_hand("{y} = F.local_response_normalization({x}, {size}, {k}, {alpha}, {beta})"),
    ],
    "positions": [
        by_layer(
            "L.EmbedID({steps} + 2, {features})",
            "{y} = {x} + self.{y}(np.arange({offset}, {offset} + {steps}))",
            W="table",
        )
    ],
}

FORMS = joined(HANDWRITTEN, NATIVE, common_forms(OPERATIONS))


def _write(network: Network, plan: Plan, pieces: Sequence[Piece]) -> str:
    lines = ["import chainer", "import numpy as np"]
    lines += ["from chainer import functions as F", "from chainer import links as L", "", ""]
    lines += ["class Model(chainer.Chain):", "    def __init__(self):"]
    lines += ["        super().__init__()", "        with self.init_scope():"]
    made = []
    for piece in pieces:
        made += tag([f"self.{piece.node.name} = {piece.layer}"] if piece.layer else [], piece.node)
        parameters = [
            f"self.{w.attribute} = chainer.Parameter(0, {w.value.shape})"
            for w in piece.weights
            if not w.of_layer
        ]
        made += tag(parameters, piece.node)
    lines += [f"            {line}" for line in made or ["pass"]]
    lines += ["", "    def __call__(self, x):"]
    return "\n".join([*lines, *body(network, pieces), ""])


def _load(module: ModuleType, weights: Sequence[Weight], example: np.ndarray) -> Any:
    model = module.Model()
    for weight in weights:
        owner = getattr(model, weight.node) if weight.of_layer else model
        *path, last = weight.attribute.split(".")
        for name in path:
            owner = owner[int(name)] if name.isdigit() else getattr(owner, name)
        target = getattr(owner, last)
        target = getattr(target, "array", target)
        assert target.shape == weight.value.shape, weight
        target[...] = weight.value
    return model


def _run(model: Any, inputs: np.ndarray) -> Any:
    import chainer

    with chainer.using_config("train", False), chainer.no_backprop_mode():
        values = model(inputs)
    if isinstance(values, dict):
        return {name: value.array for name, value in values.items()}
    return [value.array for value in (values if isinstance(values, tuple) else [values])]


CHAINER = Flavour(
    name="chainer",
    forms=FORMS,
    parameter="self.{}",
    row="F.expand_dims({}, 1)",
    stack="F.stack(steps, axis=1)",
    layouts=("NCHW",),
    write=_write,
    load=_load,
    run=_run,
)
