"""Orders and weights kept otherwise on the two sides, converted so that nothing differs."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch

from benchmarks.corpus.gallery import _nets as nets
from benchmarks.corpus.gallery._nets import L, hwio, images, net, t
from benchmarks.corpus.gallery.entry import clean, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer

C, F, nn = chainer.functions, torch.nn.functional, torch.nn


@clean("square-weight-transposed", family="layout", source="vllm-project/vllm#44110")
def square_weight_transposed(random: np.random.Generator) -> Pair:
    batch, features, hidden, out = sizes(random, 4)
    first, square = normal(random, features, hidden), normal(random, hidden, hidden, scale=0.5)
    bias, last = normal(random, hidden), normal(random, hidden, out)
    reference = nn.Sequential(
        nets.torch_dense(first),
        nn.ReLU(),
        nets.torch_dense(square, bias),
        nn.Tanh(),
        nets.torch_dense(last),
    )
    candidate = keras.Sequential(
        [
            nets.keras_dense(first, activation="relu"),
            nets.keras_dense(square, bias, activation="tanh"),
            nets.keras_dense(last),
        ]
    )
    x = normal(random, batch, features)
    return Pair(Side("torch", reference), Side("keras", candidate), (x,))


@clean("dense-as-a-convolution", family="layout")
def dense_as_a_convolution(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.nn.relu(tf.nn.conv2d(h, hwio(n.second), 1, "VALID"))
        return tf.einsum("bhwc,co->bhwo", h, n.dense)

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.relu(F.conv2d(h, t(n.second)))
        return F.conv2d(h, t(n.dense).T[:, :, None, None])

    return images(("tensorflow", reference), ("torch", candidate), n.x)


@clean("flatten-with-permuted-weights", family="layout", source="gzuidhof/nn-transfer#11")
def flatten_with_permuted_weights(random: np.random.Generator) -> Pair:
    n = net(random)
    channels, high, wide = len(n.first), n.x.shape[2] - 2, n.x.shape[3] - 2
    head = normal(random, channels, high, wide, 5, scale=0.1)
    reference = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias),
        nn.Tanh(),
        nn.Flatten(),
        nets.torch_dense(head.reshape(-1, 5)),
        nn.Softmax(1),
    )
    candidate = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="tanh"),
            keras.layers.Flatten(),
            nets.keras_dense(head.transpose(1, 2, 0, 3).reshape(-1, 5), activation="softmax"),
        ]
    )
    return images(("torch", reference), ("keras", candidate), n.x)


@clean("flatten-after-a-transposition", family="layout")
def flatten_after_a_transposition(random: np.random.Generator) -> Pair:
    n = net(random)
    head = normal(random, len(n.first) * (n.x.shape[2] - 2) * (n.x.shape[3] - 2), 5, scale=0.1)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        return tf.nn.elu(tf.reshape(h, (len(n.x), -1)) @ head)

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first))
        return C.elu(C.matmul(C.reshape(C.transpose(h, (0, 2, 3, 1)), (len(n.x), -1)), head))

    return images(("tensorflow", reference), ("chainer", candidate), n.x)


@clean("channels-in-another-order-throughout", family="layout")
def channels_in_another_order_throughout(random: np.random.Generator) -> Pair:
    n = net(random)
    order = random.permutation(len(n.first))
    reference = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias), nn.ReLU(), nets.torch_conv(n.second), nn.Tanh()
    )

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first[order], n.first_bias[order]))
        return C.tanh(C.convolution_2d(h, np.ascontiguousarray(n.second[:, order])))

    return images(("torch", reference), ("chainer", candidate), n.x)


@clean("units-in-another-order-throughout", family="layout")
def units_in_another_order_throughout(random: np.random.Generator) -> Pair:
    batch, features, hidden, out = sizes(random, 4)
    first, bias, last = (normal(random, *s) for s in ((features, hidden), (hidden,), (hidden, out)))
    order = random.permutation(hidden)
    reference = keras.Sequential(
        [nets.keras_dense(first, bias, activation="relu"), nets.keras_dense(last)]
    )
    candidate = nn.Sequential(
        nets.torch_dense(first[:, order], bias[order]), nn.ReLU(), nets.torch_dense(last[order])
    )
    x = normal(random, batch, features)
    return Pair(Side("keras", reference), Side("torch", candidate), (x,))


@clean("transposed-image-transposed-kernel", family="layout")
def transposed_image_transposed_kernel(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        return F.conv2d(h, t(n.second)).mean((2, 3))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        h = tf.transpose(h, (0, 2, 1, 3))
        h = tf.nn.conv2d(h, hwio(n.second.swapaxes(2, 3)), 1, "VALID")
        return tf.reduce_mean(h, (1, 2))

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@clean("kernel-and-image-flipped", family="layout")
def kernel_and_image_flipped(random: np.random.Generator) -> Pair:
    n = net(random)

    def reference(x: np.ndarray) -> chainer.Variable:
        h = C.tanh(C.convolution_2d(x, n.first))
        return C.relu(C.convolution_2d(h, n.second))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(F.conv2d(x, t(n.first))).flip(2, 3)
        return F.relu(F.conv2d(h, t(n.second).flip(2, 3)).flip(2, 3))

    return images(("chainer", reference), ("torch", candidate), n.x)


@clean("channels-last-by-the-right-permutation", family="layout")
def channels_last_by_the_right_permutation(random: np.random.Generator) -> Pair:
    batch, width, out, side = sizes(random, 4, 4, 9)
    depthwise, dense = normal(random, width, 1, 3, 3), normal(random, width, out)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.conv2d(F.gelu(x), t(depthwise), groups=width)
        return h.flatten(2).transpose(1, 2) @ t(dense)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.transpose(tf.nn.gelu(x), (0, 2, 3, 1))
        h = tf.nn.depthwise_conv2d(h, depthwise.transpose(2, 3, 0, 1), (1, 1, 1, 1), "VALID")
        return tf.reshape(h, (batch, -1, width)) @ dense

    x = normal(random, batch, width, side, side)
    return Pair(Side("torch", reference, "NCHW"), Side("tensorflow", candidate, "NCHW"), (x,))


@clean("depthwise-as-groups", family="layout", source="AlexanderLutsenko/nobuco#2")
def depthwise_as_groups(random: np.random.Generator) -> Pair:
    n = net(random)
    width = len(n.first)
    kernel = normal(random, 3, 3, width, 2)
    depthwise = keras.layers.DepthwiseConv2D(3, depth_multiplier=2, use_bias=False)
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias, activation="relu"),
            nets.filled(depthwise, (None, None, None, width), kernel),
            keras.layers.ReLU(),
        ]
    )
    candidate = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias),
        nn.ReLU(),
        nets.torch_conv(kernel.transpose(2, 3, 0, 1).reshape(-1, 1, 3, 3), groups=width),
        nn.ReLU(),
    )
    return images(("keras", reference), ("torch", candidate), n.x)


@clean("depthwise-by-shifts", family="layout")
def depthwise_by_shifts(random: np.random.Generator) -> Pair:
    batch, steps, width = sizes(random, 3, 5, 12)
    kernel = normal(random, width, 1, 3)
    depthwise = keras.layers.DepthwiseConv1D(3, use_bias=False)
    reference = keras.Sequential(
        [
            keras.layers.Activation("tanh"),
            nets.filled(depthwise, (None, None, width), kernel.transpose(2, 0, 1)),
            keras.layers.GlobalMaxPooling1D(),
        ]
    )

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.tanh(x)
        shape = (batch, steps - 2, width)
        parts = [h[:, k : steps - 2 + k] * C.broadcast_to(kernel[:, 0, k], shape) for k in range(3)]
        return C.max(parts[0] + parts[1] + parts[2], 1)

    x = normal(random, batch, steps, width)
    return Pair(Side("keras", reference), Side("chainer", candidate), (x,))


@clean("separable-in-one-kernel", family="layout")
def separable_in_one_kernel(random: np.random.Generator) -> Pair:
    n = net(random)
    depth, point = normal(random, len(n.first), 1, 3, 3), n.second[:, :, :1, :1]
    together = np.einsum("oiyx,ikhw->oihw", point, depth)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.relu(F.conv2d(x, t(n.first)))
        h = F.conv2d(h, t(depth), groups=len(depth))
        return F.relu(F.conv2d(h, t(point))).mean((2, 3))

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.relu(C.convolution_2d(x, n.first))
        return C.mean(C.relu(C.convolution_2d(h, together)), (2, 3))

    return images(("torch", reference), ("chainer", candidate), n.x)


@clean("pixel-shuffle-by-permuted-channels", family="layout", source="microsoft/onnxscript#2891")
def pixel_shuffle_by_permuted_channels(random: np.random.Generator) -> Pair:
    n = net(random, middle=8)
    order = np.arange(8).reshape(2, 4).T.ravel()  # torch keeps a channel's pixels together

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = F.pixel_shuffle(F.conv2d(x, t(n.first), t(n.first_bias)), 2)
        return torch.tanh(h)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.conv2d(x, hwio(n.first[order]), 1, "VALID") + n.first_bias[order]
        return tf.tanh(tf.nn.depth_to_space(h, 2))

    return images(("torch", reference), ("tensorflow", candidate), n.x)


@clean("pixel-shuffle-by-reshaping", family="layout")
def pixel_shuffle_by_reshaping(random: np.random.Generator) -> Pair:
    n = net(random, middle=12)
    second = normal(random, 5, 3, 3, 3)
    reference = nn.Sequential(
        nets.torch_conv(n.first, n.first_bias), nn.PixelShuffle(2), nets.torch_conv(second)
    )

    def candidate(x: np.ndarray) -> chainer.Variable:
        h = C.convolution_2d(x, n.first, n.first_bias)
        batch, _, high, wide = h.shape
        h = C.transpose(C.reshape(h, (batch, 3, 2, 2, high, wide)), (0, 1, 4, 2, 5, 3))
        return C.convolution_2d(C.reshape(h, (batch, 3, 2 * high, 2 * wide)), second)

    return images(("torch", reference), ("chainer", candidate), n.x)


@clean("depth-to-space-in-chainer", family="layout")
def depth_to_space_in_chainer(random: np.random.Generator) -> Pair:
    n = net(random, middle=8)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.elu(tf.nn.depth_to_space(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"), 2))

    def candidate(x: np.ndarray) -> chainer.Variable:
        return C.elu(C.depth2space(C.convolution_2d(x, n.first), 2))

    return images(("tensorflow", reference), ("chainer", candidate), n.x)


@clean("joined-otherwise-with-permuted-weights", family="layout")
def joined_otherwise_with_permuted_weights(random: np.random.Generator) -> Pair:
    batch, features, left, right, out = sizes(random, 5)
    one, two = normal(random, features, left), normal(random, features, right)
    both = normal(random, left + right, out)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.softplus(tf.concat([tf.nn.relu(x @ one), tf.tanh(x @ two)], 1) @ both)

    inputs = keras.Input((features,))
    parts = [
        nets.keras_dense(two, activation="tanh")(inputs),
        nets.keras_dense(one, activation="relu")(inputs),
    ]
    last = nets.keras_dense(np.concatenate([both[left:], both[:left]]), activation="softplus")
    candidate = keras.Model(inputs, last(keras.layers.Concatenate()(parts)))
    x = normal(random, batch, features)
    return Pair(Side("tensorflow", reference), Side("keras", candidate), (x,))


@clean("concatenation-as-a-sum-of-products", family="layout")
def concatenation_as_a_sum_of_products(random: np.random.Generator) -> Pair:
    batch, features, left, right, out = sizes(random, 5)
    one, two = normal(random, features, left), normal(random, features, right)
    both = normal(random, left + right, out)
    inputs = keras.Input((features,))
    parts = [nets.keras_dense(w, activation="sigmoid")(inputs) for w in (one, two)]
    reference = keras.Model(inputs, nets.keras_dense(both)(keras.layers.Concatenate()(parts)))

    def candidate(x: np.ndarray) -> chainer.Variable:
        h, g = C.sigmoid(C.matmul(x, one)), C.sigmoid(C.matmul(x, two))
        return C.matmul(h, both[:left]) + C.matmul(g, both[left:])

    x = normal(random, batch, features)
    return Pair(Side("keras", reference), Side("chainer", candidate), (x,))


@clean("heads-innermost-with-permuted-weights", family="layout")
def heads_innermost_with_permuted_weights(random: np.random.Generator) -> Pair:
    batch, steps, heads, size = sizes(random, 4, 2, 7)
    width = heads * size
    query, key = normal(random, width, width, scale=0.4), normal(random, width, width, scale=0.4)

    def reference(x: torch.Tensor) -> torch.Tensor:
        q = (x @ t(query)).view(batch, steps, heads, size).transpose(1, 2)
        k = (x @ t(key)).view(batch, steps, heads, size).transpose(1, 2)
        return torch.softmax(q @ k.transpose(2, 3) / size**0.5, -1).mean(1)

    def inner(weight: np.ndarray) -> np.ndarray:
        return weight.reshape(width, heads, size).swapaxes(1, 2).reshape(width, width)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        q = tf.reshape(x @ inner(query), (batch, steps, size, heads))
        k = tf.reshape(x @ inner(key), (batch, steps, size, heads))
        scores = tf.einsum("bidh,bjdh->bhij", q, k) / size**0.5
        return tf.reduce_mean(tf.nn.softmax(scores), 1)

    x = normal(random, batch, steps, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@clean("heads-one-after-the-other", family="layout")
def heads_one_after_the_other(random: np.random.Generator) -> Pair:
    batch, steps, heads, size = sizes(random, 4, 2, 6)
    width = heads * size
    packed = normal(random, width, 3 * width, scale=0.4)

    def reference(x: tf.Tensor) -> tf.Tensor:
        q, k, v = tf.unstack(tf.reshape(x @ packed, (batch, steps, 3, heads, size)), axis=2)
        weights = tf.nn.softmax(tf.einsum("bihd,bjhd->bhij", q, k))
        return tf.reshape(tf.einsum("bhij,bjhd->bihd", weights, v), (batch, steps, width))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        q, k, v = (x @ t(packed)).chunk(3, -1)
        split = [part.split(size, -1) for part in (q, k, v)]
        return torch.cat(
            [torch.softmax(a @ b.transpose(1, 2), -1) @ c for a, b, c in zip(*split, strict=True)],
            -1,
        )

    x = normal(random, batch, steps, width)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@clean(
    "rotary-halves-with-permuted-weights", family="layout", source="huggingface/transformers#25199"
)
def rotary_halves_with_permuted_weights(random: np.random.Generator) -> Pair:
    batch, steps, half, width = sizes(random, 4)
    angles = np.arange(steps)[:, None] / 100 ** (np.arange(half) / half)
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    query, key = (normal(random, width, 2 * half, scale=0.4) for _ in range(2))
    order = np.r_[np.arange(0, 2 * half, 2), np.arange(1, 2 * half, 2)]

    def pairs(x: tf.Tensor) -> tf.Tensor:
        one, two = x[..., 0::2], x[..., 1::2]
        return tf.reshape(tf.stack([one * cos - two * sin, one * sin + two * cos], -1), x.shape)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.softmax(tf.matmul(pairs(x @ query), pairs(x @ key), transpose_b=True))

    def halves(x: torch.Tensor) -> torch.Tensor:
        one, two = x.chunk(2, -1)
        turned = torch.cat([-two, one], -1)
        return x * t(np.tile(cos, 2)) + turned * t(np.tile(sin, 2))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        q, k = halves(x @ t(query[:, order])), halves(x @ t(key[:, order]))
        return torch.softmax(q @ k.transpose(1, 2), -1)

    x = normal(random, batch, steps, width)
    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@clean("rotary-as-complex-numbers", family="layout")
def rotary_as_complex_numbers(random: np.random.Generator) -> Pair:
    batch, steps, half, width = sizes(random, 4)
    angles = np.arange(steps)[:, None] / 100 ** (np.arange(half) / half)
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    query = normal(random, width, 2 * half, scale=0.4)

    def reference(x: np.ndarray) -> chainer.Variable:
        h = C.reshape(C.einsum("btw,wv->btv", x, query), (batch, steps, half, 2))
        one, two = h[..., 0], h[..., 1]
        c, s = C.broadcast_to(cos, one.shape), C.broadcast_to(sin, one.shape)
        return C.tanh(
            C.reshape(C.stack([one * c - two * s, one * s + two * c], 3), (batch, steps, -1))
        )

    def candidate(x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex((x @ t(query)).view(batch, steps, half, 2))
        turned = pairs * torch.complex(t(cos), t(sin))
        return torch.tanh(torch.view_as_real(turned).flatten(2))

    x = normal(random, batch, steps, width)
    return Pair(Side("chainer", reference), Side("torch", candidate), (x,))


@clean("bias-as-one-more-input", family="weights")
def bias_as_one_more_input(random: np.random.Generator) -> Pair:
    batch, features, hidden, out = sizes(random, 4)
    first, bias = normal(random, features, hidden), normal(random, hidden)
    last = normal(random, hidden, out)
    reference = nn.Sequential(nets.torch_dense(first, bias), nn.ReLU(), nets.torch_dense(last))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        x = tf.concat([x, tf.ones((batch, 1))], 1)
        return tf.nn.relu(x @ np.vstack([first, bias])) @ last

    x = normal(random, batch, features)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@clean("two-biases-in-one", family="weights", source="google/flax#3746")
def two_biases_in_one(random: np.random.Generator) -> Pair:
    batch, features, hidden = sizes(random, 3)
    inner, recurrent = normal(random, features, hidden), normal(random, hidden, hidden, scale=0.4)
    one, two = normal(random, hidden), normal(random, hidden)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(F.linear(x[:, 0], t(inner).T, t(one)) + t(two))
        return torch.tanh(
            F.linear(x[:, 1], t(inner).T, t(one)) + F.linear(h, t(recurrent).T, t(two))
        )

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.tanh(x[:, 0] @ inner + (one + two))
        return tf.tanh(x[:, 1] @ inner + h @ recurrent + (one + two))

    x = normal(random, batch, 2, features)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@clean("scale-in-the-weight", family="weights")
def scale_in_the_weight(random: np.random.Generator) -> Pair:
    n = net(random)
    gain = np.float32((2 / n.second[0].size) ** 0.5)

    def reference(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(n.first), 1, "VALID"))
        return tf.tanh(tf.nn.conv2d(h, hwio(n.second), 1, "VALID") * gain + n.second_bias)

    class Candidate(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                first=nets.chainer_conv(n.first),
                second=nets.chainer_conv(n.second * gain, n.second_bias),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            return C.tanh(self.second(C.relu(self.first(x))))

    return images(("tensorflow", reference), ("chainer", Candidate()), n.x)


@clean("weight-norm-folded", family="weights")
def weight_norm_folded(random: np.random.Generator) -> Pair:
    batch, features, hidden, out = sizes(random, 4)
    direction, gain = normal(random, hidden, features), normal(random, hidden, 1)
    last = normal(random, hidden, out)

    class Reference(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.direction, self.gain = nn.Parameter(t(direction)), nn.Parameter(t(gain))
            self.out = nets.torch_dense(last)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            weight = self.gain * self.direction / self.direction.norm(dim=1, keepdim=True)
            return self.out(torch.sigmoid(F.linear(x, weight)))

    folded = gain * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    candidate = keras.Sequential(
        [nets.keras_dense(folded.T, activation="sigmoid"), nets.keras_dense(last)]
    )
    x = normal(random, batch, features)
    return Pair(Side("torch", Reference()), Side("keras", candidate), (x,))


@clean("batch-norm-folded-into-a-convolution", family="weights")
def batch_norm_folded_into_a_convolution(random: np.random.Generator) -> Pair:
    n = net(random)
    width = len(n.first)
    gamma, beta, mean = (normal(random, width) for _ in range(3))
    variance = np.exp(normal(random, width))
    norm = keras.layers.BatchNormalization(epsilon=1e-3)
    reference = keras.Sequential(
        [
            nets.keras_conv(n.first, n.first_bias),
            nets.filled(norm, (None, None, None, width), gamma, beta, mean, variance),
            keras.layers.ReLU(),
            nets.keras_conv(n.second),
        ]
    )
    gain = gamma / np.sqrt(variance + 1e-3)
    kernel, bias = n.first * gain[:, None, None, None], (n.first_bias - mean) * gain + beta

    def candidate(x: tf.Tensor) -> tf.Tensor:
        h = tf.nn.relu(tf.nn.conv2d(x, hwio(kernel), 1, "VALID") + bias)
        return tf.nn.conv2d(h, hwio(n.second), 1, "VALID")

    return images(("keras", reference), ("tensorflow", candidate), n.x)


@clean("query-and-key-swapped-and-transposed", family="weights")
def query_and_key_swapped_and_transposed(random: np.random.Generator) -> Pair:
    batch, steps, width, size = sizes(random, 4)
    query, key = normal(random, width, size, scale=0.4), normal(random, width, size, scale=0.4)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax((x @ t(query)) @ (x @ t(key)).transpose(1, 2), -1) @ x

    def candidate(x: tf.Tensor) -> tf.Tensor:
        scores = tf.matmul(x @ key, x @ query, transpose_b=True)
        return tf.matmul(tf.nn.softmax(scores, 1), x, transpose_a=True)

    x = normal(random, batch, steps, width)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))


@clean("embedding-as-a-product-with-one-hot", family="weights")
def embedding_as_a_product_with_one_hot(random: np.random.Generator) -> Pair:
    batch, steps, words, width = sizes(random, 4)
    table = normal(random, words, width)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(embed=L.EmbedID(words, width, initialW=table))

        def forward(self, ids: chainer.Variable) -> chainer.Variable:
            return C.sum(C.tanh(self.embed(ids)), 1)

    def candidate(ids: torch.Tensor) -> torch.Tensor:
        return torch.tanh(F.one_hot(ids, words).float() @ t(table)).sum(1)

    x = random.integers(0, words, (batch, steps))
    return Pair(Side("chainer", Reference()), Side("torch", candidate), (x,))


@clean("gates-in-one-packed-weight", family="weights")
def gates_in_one_packed_weight(random: np.random.Generator) -> Pair:
    batch, width, hidden = sizes(random, 3)
    gate, up = normal(random, width, hidden), normal(random, width, hidden)
    down = normal(random, hidden, width)

    class Reference(chainer.Chain):
        def __init__(self) -> None:
            super().__init__(
                gate=nets.chainer_dense(gate),
                up=nets.chainer_dense(up),
                down=nets.chainer_dense(down),
            )

        def forward(self, x: chainer.Variable) -> chainer.Variable:
            h = self.gate(x)
            return self.down(h * C.sigmoid(h) * self.up(x))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        two, one = (x @ t(np.hstack([up, gate]))).chunk(2, -1)
        return (F.silu(one) * two) @ t(down)

    x = normal(random, batch, width)
    return Pair(Side("chainer", Reference()), Side("torch", candidate), (x,))
