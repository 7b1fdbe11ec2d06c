"""Networks of `keras.applications`, held against the same in torch of two other packages.

What is compared are the features before the last pool. Keras's network is the reference, and the
weights are brought over by `parity.transfer`, which has to end in parity; the fault is put into
torch's afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.strangers.hub import SEED, shaken
from benchmarks.strangers.pair import Built, Fault, Pair

_NEEDS = ("keras", "tensorflow", "torch")


@dataclass(frozen=True)
class Network:
    """One network in both packages.

    Attributes:
        keras: its name in `keras.applications`.
        torch: makes torch's, up to the last pool.
        package: torch's.
        size: of the images' sides.
        tuned: settles in torch's network what the two packages have otherwise by themselves.
        start: Keras's layer in front of the first convolution, where something is done to the
            images before.
        from_torch: whether the weights are torch's; Keras's, where one has tensors that the other
            lacks.
        variance: by which the statistics of torch's norms are multiplied, and its kernels by the
            root: the network is the same but for its epsilons.
    """

    keras: str
    torch: Callable[[], Any]
    package: str = "pytorchcv"
    size: int = 64
    tuned: Callable[[Any], None] = lambda net: None
    start: str = ""
    from_torch: bool = False
    variance: float = 1.0


def pair(
    name: str,
    network: Network,
    fault: Fault | None = None,
    change: Callable[[Any], Any] | None = None,
    size: int = 0,
) -> Pair:
    """A pair; what is done to torch's network after its weights are there, and the images' size."""
    build = partial(_built, network, change, size or network.size)
    return Pair(name, network.package, (*_NEEDS, network.package), build, fault)


def _built(network: Network, change: Callable[[Any], Any] | None, size: int) -> Built:
    import keras

    import parity

    keras.utils.set_random_seed(SEED)
    made = _of_keras(network, network.size)
    net = network.torch().eval()
    network.tuned(net)
    _moved(network, made, net)
    if change is not None:
        net = (change(net) or net).eval()
    if size != network.size:
        weights, made = made.get_weights(), _of_keras(network, size)
        made.set_weights(weights)
    images = _images(size)
    reference = parity.wrap(made, input_layout="NHWC")
    own = images.transpose(0, 3, 1, 2).copy()
    return Built(reference, parity.wrap(net, input_layout="NCHW", inputs=own), images)


def _of_keras(network: Network, size: int) -> Any:
    """Keras's network; its paddings are computed from the size of the images."""
    import keras

    made = getattr(keras.applications, network.keras)(
        weights=None, include_top=False, input_shape=(size, size, 3)
    )
    if network.start:
        made = keras.Model(made.get_layer(network.start).input, made.output)
    return made


def _images(size: int) -> Any:
    import numpy as np

    return np.random.default_rng(SEED).normal(size=(2, size, size, 3)).astype("float32")


def _moved(network: Network, made: Any, net: Any) -> None:
    """Brings one network's weights into the other."""
    import parity

    images = _images(network.size)
    keras_side = parity.wrap(made, input_layout="NHWC")
    torch_side = parity.wrap(net, input_layout="NCHW")
    if network.from_torch:
        shaken(net)
        _scaled(network.variance, net)
        result = parity.transfer(torch_side, keras_side, inputs=images.transpose(0, 3, 1, 2).copy())
    else:
        _shaken_in_keras(made)
        result = parity.transfer(keras_side, torch_side, inputs=images)
    if result.verdict != "parity":
        reasons = "; ".join(result.report.worst.reasons[:1])
        raise RuntimeError(f"the transfer of the weights ended in {result.verdict}: {reasons}")


def _scaled(variance: float, net: Any) -> None:
    """Makes kernels smaller, and what norms behind them expect."""
    import torch

    with torch.no_grad():
        for layer in _of(net, "Conv2d"):
            layer.weight *= variance**0.5
        for layer in _of(net, "BatchNorm2d"):
            layer.running_mean *= variance**0.5
            layer.running_var *= variance


def _shaken_in_keras(made: Any) -> None:
    import numpy as np

    draw = np.random.default_rng(SEED)
    for variable in made.weights:
        value = np.array(variable)
        if variable.path.endswith("moving_variance"):
            variable.assign(draw.uniform(0.5, 1.5, value.shape))
        elif value.std() == 0:
            variable.assign(value + draw.normal(0, 0.1, value.shape))


# --- torch's networks, and what is done to them ---------------------------------------------------


def _features(module: str, name: str) -> Any:
    """A network of pytorchcv without its last pool, whose size is fixed, and its classifier."""
    import torch

    net = getattr(import_module(f"pytorchcv.models.{module}"), name)().features
    for path, _ in list(net.named_modules()):
        if path in ("final_pool", "final_block.pool"):
            net.set_submodule(path, torch.nn.Identity())
    return net


def _lukemelas() -> Any:
    import torch
    from efficientnet_pytorch import EfficientNet

    class Features(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            # paddings are computed from this size
            self.net = EfficientNet.from_name("efficientnet-b0", image_size=64)

        def forward(self, images: Any) -> Any:
            return self.net.extract_features(images)

    return Features()


def _of(net: Any, kind: str) -> list[Any]:
    return [layer for layer in net.modules() if type(layer).__name__ == kind]


def _epsilon(value: float, net: Any) -> None:
    for layer in _of(net, "BatchNorm2d"):
        layer.eps = value


def _pools_without_padding(net: Any) -> None:
    for layer in _of(net, "AvgPool2d"):
        layer.count_include_pad = False


def _set(path: str, name: str, value: Any, net: Any) -> None:
    setattr(net.get_submodule(path), name, value)


def _first_of(kind: str, path: str, name: str, value: Any, net: Any) -> None:
    setattr(_of(net.get_submodule(path), kind)[0], name, value)


def _other_activation(path: str, kind: str, net: Any) -> None:
    import torch

    _set(path, "activ", getattr(torch.nn, kind)(), net)


def _stride_on_the_3x3(net: Any) -> Any:
    """The same weights in pytorchcv's other form of the network."""
    other = _features("resnet", "resnet50b")
    other.load_state_dict(net.state_dict())
    _epsilon(1.001e-5, other)
    return other


VGG16 = Network("VGG16", partial(_features, "vgg", "vgg16"), from_torch=True)
RESNET50 = Network(
    "ResNet50", partial(_features, "resnet", "resnet50"), tuned=partial(_epsilon, 1.001e-5),
    from_torch=True,
)  # fmt: skip
# As after training with a decay of weights; of variances near 1 no rounding shows the 1e-8 by which
# the packages' own epsilons differ.
RESNET50_SMALL = replace(RESNET50, variance=1e-4)
DENSENET121 = Network(
    "DenseNet121", partial(_features, "densenet", "densenet121"), tuned=partial(_epsilon, 1.001e-5)
)
# Of 97 pixels every convolution with stride 2 sees an odd number, and pads both sides alike. With
# kernels as Keras draws them hardly anything of the images is left behind a few layers.
MOBILENET2 = Network(
    "MobileNetV2", partial(_features, "mobilenetv2", "mobilenetv2b_w1"), size=97,
    tuned=partial(_epsilon, 1e-3), from_torch=True,
)  # fmt: skip
INCEPTION3 = Network(
    "InceptionV3", partial(_features, "inceptionv3", "inceptionv3"), size=91,
    tuned=_pools_without_padding,
)  # fmt: skip
XCEPTION = Network(  # 71 pixels: again odd at every pool
    "Xception", partial(_features, "xception", "xception"), size=71, tuned=partial(_epsilon, 1e-3)
)
EFFICIENTNET = Network(
    "EfficientNetB0", partial(_features, "efficientnet", "efficientnet_b0b"), start="stem_conv_pad"
)
EFFICIENTNET_PYTORCH = Network(
    "EfficientNetB0", _lukemelas, "efficientnet_pytorch", start="stem_conv_pad"
)

PAIRS = [
    pair("vgg16", VGG16),
    pair("resnet50", RESNET50),
    pair("densenet121", DENSENET121),
    pair("mobilenetv2", MOBILENET2),
    pair("inceptionv3", INCEPTION3),
    pair("xception", XCEPTION),
    pair("efficientnet-b0", EFFICIENTNET),
    pair("efficientnet-b0-lukemelas", EFFICIENTNET_PYTORCH),
    pair(
        "vgg16-ceil", VGG16,
        Fault(
            "the third pool rounds sizes up", ("pool-ceil",), ("stage3.pool3", "block3_pool"),
        ),
        partial(_first_of, "MaxPool2d", "stage3", "ceil_mode", True), size=76,
    ),
    pair(
        "resnet50-own-epsilon", RESNET50_SMALL,
        Fault(
            "pytorchcv's own epsilon, 1e-5; Keras has 1.001e-5", ("norm-epsilon",),
            ("init_block", "conv1_bn"),
        ),
        partial(_epsilon, 1e-5),
    ),
    pair(
        "resnet50-one-epsilon", RESNET50,
        Fault(
            "one norm's epsilon is 1e-3, not 1.001e-5", ("norm-epsilon",),
            ("stage3.unit2.body.conv1", "conv4_block2_1_bn"),
        ),
        partial(_set, "stage3.unit2.body.conv1.bn", "eps", 1e-3),
    ),
    pair(
        "resnet50-stride", RESNET50,
        Fault(
            "pytorchcv's resnet50b: the stride is that of the 3x3 convolution, not of the 1x1",
            ("stride",), ("stage2.unit1.body.conv1", "conv3_block1_1_conv"),
        ),
        _stride_on_the_3x3,
    ),
    pair(
        "mobilenetv2-own-padding", MOBILENET2,
        Fault(
            "of 96 pixels Keras pads one side alone, pytorchcv both", ("padding-asymmetry",),
            ("init_block", "Conv1"),
        ),
        size=96,
    ),
    pair(
        "inceptionv3-own-pool", INCEPTION3,
        Fault(
            "pytorchcv's mean pool counts the padding, in one of its blocks",
            ("count-include-pad",), ("stage1.unit2", "average_pooling2d_1"),
        ),
        partial(_first_of, "AvgPool2d", "stage1.unit2", "count_include_pad", True),
    ),
    pair(
        "densenet121-activation", DENSENET121,
        Fault("one relu is a silu", ("activation-kind",), ("stage2.unit2.conv1", "conv3_block1_0")),
        partial(_other_activation, "stage2.unit2.conv1", "SiLU"),
    ),
    pair(
        "efficientnet-b0-own-epsilon", EFFICIENTNET,
        Fault(
            "the epsilon of pytorchcv's efficientnet_b0, 1e-5; Keras has 1e-3", ("norm-epsilon",),
            ("init_block", "stem_bn"),
        ),
        partial(_epsilon, 1e-5),
    ),
]  # fmt: skip
