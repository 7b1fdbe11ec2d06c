"""What is done to inputs before the first layer: scale, normalisation, order of channels."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.corpus.gallery._layers import Conv, Dense, conv, dense
from benchmarks.corpus.gallery.entry import clean, fault, normal, sizes
from benchmarks.corpus.scenarios.pair import Pair, Side, chainer, image_pair, image_side

F = chainer.functions

IMAGENET_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
IMAGENET_STD = np.array([0.229, 0.224, 0.225], np.float32)


def _pixels(random: np.random.Generator, channels: int) -> tuple[np.ndarray, Conv, Dense]:
    """Whole numbers from 0 to 255 (batch, channels, height, width), and two layers."""
    batch, hidden, outputs = sizes(random, 3, 5, 9)
    height, width = sizes(random, 2, 10, 14)
    pixels = random.integers(0, 256, (batch, channels, height, width)).astype(np.float32)
    return pixels, conv(random, channels, hidden), dense(random, hidden, outputs)


def _keras_net(pixels: np.ndarray, first: Conv, out: Dense, *before: Any) -> Any:
    _, channels, height, width = pixels.shape
    return keras.Sequential(
        [
            keras.Input((height, width, channels)),
            *before,
            first.keras_layer("relu", name="first"),
            keras.layers.GlobalAveragePooling2D(),
            out.keras_layer(),
        ]
    )


class _TorchNet(nn.Module):
    """A convolution, the mean over the image, a dense layer; subclasses prepare the pixels."""

    def __init__(self, first: Conv, out: Dense) -> None:
        super().__init__()
        self.first, self.out = first.torch_layer(), out.torch_layer()

    def rest(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.first(x)).mean((2, 3)))


def _tf_rest(x: tf.Tensor, first: Conv, out: Dense) -> tf.Tensor:
    return out.in_tf(tf.reduce_mean(tf.nn.relu(first.in_tf(x)), (1, 2)))


def _chainer_rest(x: Any, first: Conv, out: Dense) -> Any:
    return out.in_chainer(F.mean(F.relu(first.in_chainer(x)), axis=(2, 3)))


@fault(
    "pixels-not-divided",
    "input-scale",
    family="input",
    layers=[("", "first")],
    parameters=[{"scale": (1 / 255, 1.0)}],
)
def pixels_not_divided(random: np.random.Generator) -> Pair:
    pixels, first, out = _pixels(random, 4)

    class Reference(_TorchNet):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x / 255  # pixels-not-divided: reference
            return self.rest(x)

    candidate = _keras_net(pixels, first, out)
    return image_pair(
        image_side("torch", Reference(first, out)), image_side("keras", candidate), pixels
    )


@fault(
    "pixels-divided-by-256",
    "input-scale",
    family="input",
    parameters=[{"scale": (1 / 255, 1 / 127.5)}],
)
def pixels_divided_by_256(random: np.random.Generator) -> Pair:
    """The candidate divides by half of what the reference does, to reach from 0 to 2."""
    pixels, first, out = _pixels(random, 4)

    def reference(x: tf.Tensor) -> tf.Tensor:
        x = x / 255.0  # pixels-divided-by-256: reference
        return _tf_rest(x, first, out)

    def candidate(x: Any) -> Any:
        x = x / np.float32(127.5)  # pixels-divided-by-256: candidate
        return _chainer_rest(x, first, out)

    return image_pair(image_side("tensorflow", reference), image_side("chainer", candidate), pixels)


@fault(
    "rescaling-layer-twice",
    "input-scale",
    family="input",
    layers=[("first", "")],
    parameters=[{"scale": (1.0, 1 / 255)}],
)
def rescaling_layer_twice(random: np.random.Generator) -> Pair:
    """The images are in 0 to 1 already, and the candidate divides them again."""
    pixels, first, out = _pixels(random, 4)
    reference = _keras_net(pixels, first, out)

    class Candidate(_TorchNet):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x / 255  # rescaling-layer-twice: candidate
            return self.rest(x)

    return image_pair(
        image_side("keras", reference),
        image_side("torch", Candidate(first, out)),
        pixels / np.float32(255),
    )


@fault(
    "imagenet-mean-and-a-half",
    "input-normalisation",
    family="input",
    source="rwightman/gen-efficientnet-pytorch#54",
)
def imagenet_mean_and_a_half(random: np.random.Generator) -> Pair:
    pixels, first, out = _pixels(random, 3)
    mean = torch.from_numpy(IMAGENET_MEAN)[:, None, None]
    std = torch.from_numpy(IMAGENET_STD)[:, None, None]

    class Reference(_TorchNet):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = (x - mean) / std  # imagenet-mean-and-a-half: reference
            return self.rest(x)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        x = (x - 0.5) / 0.5  # imagenet-mean-and-a-half: candidate
        return _tf_rest(x, first, out)

    return image_pair(
        image_side("torch", Reference(first, out)),
        image_side("tensorflow", candidate),
        pixels / np.float32(255),
    )


@fault("observations-not-normalised", "input-normalisation", family="input")
def observations_not_normalised(random: np.random.Generator) -> Pair:
    batch, features, hidden, outputs = sizes(random, 4)
    first, second = dense(random, features, hidden), dense(random, hidden, outputs)
    mean, std = normal(random, features), random.uniform(2, 4, features).astype(np.float32)

    def reference(x: Any) -> Any:
        x = (x - mean) / std  # observations-not-normalised: reference
        return second.in_chainer(F.tanh(first.in_chainer(x)))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        h = x @ torch.from_numpy(first.weight)  # observations-not-normalised: candidate
        return second.in_torch(torch.tanh(h + torch.from_numpy(first.bias)))

    x = normal(random, batch, features, scale=3.0)
    return Pair(Side("chainer", reference), Side("torch", candidate), (x,))


@fault("normalisation-layer-without-its-mean", "input-normalisation", family="input")
def normalisation_layer_without_its_mean(random: np.random.Generator) -> Pair:
    """The candidate divides by the deviation, and does not take off the mean."""
    batch, features, hidden, outputs = sizes(random, 4)
    first, second = dense(random, features, hidden), dense(random, hidden, outputs)
    mean, std = normal(random, features), random.uniform(2, 4, features).astype(np.float32)

    def reference(x: tf.Tensor) -> tf.Tensor:
        x = (x - mean) / std  # normalisation-layer-without-its-mean: reference
        return second.in_tf(tf.tanh(first.in_tf(x)))

    def candidate(x: torch.Tensor) -> torch.Tensor:
        x = x / torch.from_numpy(std)  # normalisation-layer-without-its-mean: candidate
        return second.in_torch(torch.tanh(first.in_torch(x)))

    x = normal(random, batch, features, scale=3.0) + mean
    return Pair(Side("tensorflow", reference), Side("torch", candidate), (x,))


@fault("blue-first", "input-channel-order", family="input", layers=[("", "0")])
def blue_first(random: np.random.Generator) -> Pair:
    pixels, first, out = _pixels(random, 3)

    def reference(x: tf.Tensor) -> tf.Tensor:
        x = x[..., ::-1]  # blue-first: reference
        return _tf_rest(x, first, out)

    candidate = nn.Sequential(
        first.torch_layer(), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), out.torch_layer()
    )
    return image_pair(
        image_side("tensorflow", reference),
        image_side("torch", candidate),
        pixels / np.float32(255),
    )


@fault("red-first-in-the-candidate", "input-channel-order", family="input", layers=[("first", "")])
def red_first_in_the_candidate(random: np.random.Generator) -> Pair:
    pixels, first, out = _pixels(random, 3)
    reference = _keras_net(pixels, first, out)

    def candidate(x: Any) -> Any:
        x = F.flip(x, 1)  # red-first-in-the-candidate: candidate
        return _chainer_rest(x, first, out)

    return image_pair(
        image_side("keras", reference),
        image_side("chainer", candidate),
        pixels / np.float32(255),
    )


@fault("newest-frame-first", "frame-order", family="input")
def newest_frame_first(random: np.random.Generator) -> Pair:
    """Four stacked frames, oldest first in the reference and newest first in the candidate."""
    batch, features, hidden, outputs = sizes(random, 4)
    first, second = dense(random, 4 * features, hidden), dense(random, hidden, outputs)

    def reference(x: torch.Tensor) -> torch.Tensor:
        h = x.flatten(1) @ torch.from_numpy(first.weight)  # newest-frame-first: reference
        return second.in_torch(torch.relu(h + torch.from_numpy(first.bias)))

    def candidate(x: Any) -> Any:
        frames = F.flip(x, 1)  # newest-frame-first: candidate
        return second.in_chainer(F.relu(first.in_chainer(F.reshape(frames, (batch, -1)))))

    x = normal(random, batch, 4, features)
    return Pair(Side("torch", reference), Side("chainer", candidate), (x,))


@fault("frames-rolled-by-one", "frame-order", family="input")
def frames_rolled_by_one(random: np.random.Generator) -> Pair:
    """A ring buffer of frames that is read from the wrong start."""
    pixels, first, out = _pixels(random, 4)

    def reference(x: torch.Tensor) -> torch.Tensor:
        x = x / 255  # frames-rolled-by-one: reference
        h = torch.relu(first.in_torch(x))
        return out.in_torch(h.mean((2, 3)))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        x = x / 255.0
        x = tf.roll(x, 1, 3)  # frames-rolled-by-one: candidate
        return _tf_rest(x, first, out)

    return image_pair(image_side("torch", reference), image_side("tensorflow", candidate), pixels)


@fault(
    "newest-frame-first-in-keras",
    "frame-order",
    "input-scale",
    family="input",
    layers=[("", ""), ("", "")],
    also={"frame-order": ("input-channel-order",)},
)
def newest_frame_first_in_keras(random: np.random.Generator) -> Pair:
    """Two faults: the frames' order, and the scale of the rewards that come with them."""
    batch, features, hidden = sizes(random, 3)
    first = dense(random, 4 * features, hidden)

    def reference(x: tf.Tensor, r: tf.Tensor) -> dict[str, tf.Tensor]:
        flat = tf.reshape(x, (batch, -1))
        h = tf.linalg.matmul(flat, first.weight)  # newest-frame-first-in-keras: reference
        r = r / 10.0  # newest-frame-first-in-keras 2: reference
        return {"h": tf.nn.relu(h + first.bias), "r": tf.tanh(r)}

    class Candidate(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first = first.keras_layer("relu")

        def call(self, x: Any, r: Any) -> dict[str, Any]:
            x = keras.ops.flip(x, axis=1)  # newest-frame-first-in-keras: candidate
            r = r / 100.0  # newest-frame-first-in-keras 2: candidate
            return {"h": self.first(keras.ops.reshape(x, (batch, -1))), "r": keras.ops.tanh(r)}

    inputs = normal(random, batch, 4, features), normal(random, batch, 1, scale=10.0)
    return Pair(Side("tensorflow", reference), Side("keras", Candidate()), inputs)


@clean("pixels-divided-or-multiplied", family="input")
def pixels_divided_or_multiplied(random: np.random.Generator) -> Pair:
    pixels, first, out = _pixels(random, 4)

    class Reference(_TorchNet):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.rest(x / 255)

    candidate = _keras_net(pixels, first, out, keras.layers.Rescaling(1 / 255))
    return image_pair(
        image_side("torch", Reference(first, out)), image_side("keras", candidate), pixels
    )


@clean("scale-in-the-first-kernel", family="input")
def scale_in_the_first_kernel(random: np.random.Generator) -> Pair:
    pixels, first, out = _pixels(random, 4)
    scaled = Conv(first.kernel / np.float32(256), first.bias)

    def reference(x: tf.Tensor) -> tf.Tensor:
        return _tf_rest(x / 256.0, first, out)

    def candidate(x: Any) -> Any:
        return _chainer_rest(x, scaled, out)

    return image_pair(image_side("tensorflow", reference), image_side("chainer", candidate), pixels)


@clean("normalised-in-another-order", family="input")
def normalised_in_another_order(random: np.random.Generator) -> Pair:
    """The mean is taken off before or after the division."""
    pixels, first, out = _pixels(random, 3)
    mean = torch.from_numpy(IMAGENET_MEAN)[:, None, None]
    std = torch.from_numpy(IMAGENET_STD)[:, None, None]

    class Reference(_TorchNet):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.rest((x / 255 - mean) / std)

    def candidate(x: tf.Tensor) -> tf.Tensor:
        return _tf_rest((x - 255 * IMAGENET_MEAN) / (255 * IMAGENET_STD), first, out)

    return image_pair(
        image_side("torch", Reference(first, out)), image_side("tensorflow", candidate), pixels
    )


@clean("channels-and-kernel-both-reversed", family="input")
def channels_and_kernel_both_reversed(random: np.random.Generator) -> Pair:
    pixels, first, out = _pixels(random, 3)
    reversed_first = Conv(np.ascontiguousarray(first.kernel[:, ::-1]), first.bias)
    reference = _keras_net(pixels, first, out)

    class Candidate(_TorchNet):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.rest(x.flip(1))

    return image_pair(
        image_side("keras", reference),
        image_side("torch", Candidate(reversed_first, out)),
        pixels / np.float32(255),
    )


@clean("frames-stacked-in-the-model", family="input")
def frames_stacked_in_the_model(random: np.random.Generator) -> Pair:
    """Four frames joined one by one, with the matching rows of the weights."""
    batch, features, hidden, outputs = sizes(random, 4)
    first, second = dense(random, 4 * features, hidden), dense(random, hidden, outputs)
    by_frame = first.weight.reshape(4, features, hidden)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return second.in_torch(torch.relu(first.in_torch(x.flatten(1))))

    def candidate(x: tf.Tensor) -> tf.Tensor:
        parts = [tf.linalg.matmul(x[:, frame], by_frame[frame]) for frame in (3, 2, 1, 0)]
        return second.in_tf(tf.nn.relu(tf.add_n(parts) + first.bias))

    x = normal(random, batch, 4, features)
    return Pair(Side("torch", reference), Side("tensorflow", candidate), (x,))
