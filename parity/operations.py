"""What operations are called here, whatever a framework calls its kernels.

An adapter gives each kernel one of these words (`WORDS` in its file of words); everything
above the adapters reads `Op.word` and no kernel's name. A kernel that is none of them goes by its
own name in lower case, so that two of one framework still compare.
"""

from __future__ import annotations

from collections.abc import Mapping


def _as_named(words: str) -> dict[str, str]:
    """Words that say by themselves what they compute."""
    return dict.fromkeys(words.split(), "")


# Word: what it computes of x, y, ... in the order of the operation's inputs.
WORDS: Mapping[str, str] = {
    # element by element
    "add": "x + y; of a number too",
    "add_all": "the sum of any number of tensors",
    "subtract": "x - y",
    "subtract_from": "y - x, or a number - x",
    "multiply": "x * y; of a number too",
    "divide": "x / y",
    "divide_from": "a number / x",
    "floor_divide": "floor(x / y)",
    "remainder": "x - y * floor(x / y), or with the sign of x",
    "reciprocal": "1 / x",
    "negate": "-x",
    "power": "x ** y, or a number's",
    "power_from": "a number ** x",
    "square": "x ** 2",
    "squared_difference": "(x - y) ** 2",
    "sqrt": "the square root",
    "rsqrt": "1 / sqrt(x)",
    "exp": "e ** x",
    "exp2": "2 ** x",
    "expm1": "e ** x - 1",
    "log": "the natural logarithm",
    "log2": "the logarithm to base 2",
    "log10": "the logarithm to base 10",
    "log1p": "log(1 + x)",
    "log_add_exp": "log(exp(x) + exp(y))",
    "abs": "|x|",
    "sign": "-1, 0 or 1",
    "heaviside": "0 or 1",
    "floor": "rounded down",
    "ceil": "rounded up",
    "round": "rounded to the nearest, halves to even",
    "truncate": "rounded towards zero",
    **_as_named("sin cos tan erf"),
    "erfc": "1 - erf(x)",
    "maximum": "the larger of x and y",
    "minimum": "the smaller of x and y",
    "clip": "cut off below and above, as far as its attributes state",
    "clip_min": "cut off below",
    "clip_max": "cut off above",
    "lerp": "x + w * (y - x)",
    "interpolate": "w * x + (1 - w) * y",
    "multiply_add": "x + w * y * z",
    "multiply_then_add": "x * y + z",
    "divide_add": "x + w * y / z",
    "where": "x where a mask is set, y elsewhere",
    "masked_fill": "a number where a mask is set, x elsewhere",
    **_as_named(
        "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not"
    ),
    # activations
    "sigmoid": "1 / (1 + exp(-x))",
    "tanh": "",
    "relu": "max(x, 0)",
    "relu6": "min(max(x, 0), a cap), 6 if not given",
    "leaky_relu": "x, or a slope of it below 0",
    "prelu": "the same with a learned slope",
    "threshold": "x above a number, another number below",
    "elu": "x, or alpha * (exp(x) - 1) below 0",
    "selu": "elu with its own scale and alpha",
    "celu": "max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))",
    "gelu": "x * Phi(x), or its approximation by tanh",
    "softplus": "log(1 + exp(beta * x)) / beta",
    "softsign": "x / (1 + |x|)",
    "mish": "x * tanh(softplus(x))",
    "silu": "x * sigmoid(x)",
    "glu": "one half * sigmoid(the other half)",
    "hard_sigmoid": "a straight line cut off at 0 and 1",
    "hard_swish": "x * relu6(x + 3) / 6",
    "softmax": "exp(x) / its sum along an axis",
    "log_softmax": "its logarithm",
    "masked_softmax": "softmax of what a mask leaves",
    "log_sigmoid": "log(sigmoid(x))",
    "cross_entropy": "the negative log-softmax, or log-sigmoid, of what is labelled",
    "dropout": "some elements zero, the others scaled up",
    # along axes
    **_as_named("sum mean product"),
    "max": "the largest along axes",
    "min": "the smallest along axes",
    "variance": "",
    "variance_and_mean": "both",
    "standard_deviation": "",
    "norm": "the root of the sum of squares, or another p's",
    "log_sum_exp": "log(sum(exp(x)))",
    "min_and_max": "both",
    **_as_named("all any argmax argmin cumulative_sum sort top_k"),
    # products
    "dense": "x @ W + b in one operation, of two axes",
    "matmul": "x @ y, of two axes or of more",
    "einsum": "by an equation",
    "tensordot": "over given axes",
    "add_matmul": "x + y @ z, of three axes or of a vector",
    "bias_add": "x + a vector along the axis of channels",
    "convolution": "of images, series or volumes",
    "depthwise_convolution": "each channel by itself",
    "transposed_convolution": "a convolution's transpose",
    "columns": "the windows of a convolution, one after another",
    # norms
    "batch_norm": "by statistics of each channel",
    "layer_norm": "by those of each sample",
    "group_norm": "by those of groups of channels",
    "rms_norm": "by the root mean square",
    "l2_normalize": "x / |x|",
    "local_response_norm": "by neighbouring channels",
    "weight_norm": "a weight as a length and a direction",
    # pools
    **_as_named("max_pool average_pool"),
    "adaptive_average_pool": "to a given size",
    "adaptive_max_pool": "to a given size",
    # recurrence and attention
    "recurrence": "a whole sequence, or a turn of it",
    "attention": "softmax(q k^T) v in one operation",
    # moves: the same values elsewhere
    "reshape": "",
    "squeeze": "without axes of length 1",
    "expand_dims": "with an axis of length 1",
    "transpose": "axes permuted",
    "broadcast": "repeated to a shape",
    "slice": "a part of it",
    "split": "into several",
    "unstack": "into several, without the axis",
    "concatenate": "",
    "stack": "with a new axis",
    "pad": "values put around",
    "reflect_pad": "mirrored values put around",
    "replicate_pad": "the outermost values put around",
    "flip": "reversed along axes",
    "roll": "shifted along axes, what falls off put in front",
    "repeat": "",
    "rotate": "by quarter turns",
    "cast": "to another dtype",
    "copy": "",
    "embedding": "rows of a table by their numbers",
    "embedding_bag": "sums or means of such rows",
    "gather": "elements by indices",
    **_as_named(
        "space_to_batch batch_to_space space_to_depth depth_to_space resize_nearest "
        "resize_linear resize_cubic resize_area"
    ),
    "sample_grid": "an image at given places",
    "unpool": "a pool reversed",
    # made of nothing
    **_as_named("zeros ones fill range one_hot"),
    "shape": "the sizes of a tensor",
}


# Words that are asked for together.
ADDITIONS = frozenset(("add", "add_all", "bias_add"))
SUBTRACTIONS = frozenset(("subtract", "subtract_from"))
MULTIPLICATIONS = frozenset(("multiply", "multiply_add", "matmul"))
PRODUCTS = frozenset(("dense", "matmul", "add_matmul", "einsum", "tensordot"))
CONVOLUTIONS = frozenset(("convolution", "depthwise_convolution", "transposed_convolution"))
POOLS = frozenset(("max_pool", "average_pool", "adaptive_average_pool", "adaptive_max_pool"))
RESIZES = frozenset(
    ("resize_nearest", "resize_linear", "resize_cubic", "resize_area", "sample_grid", "unpool")
)
SOFTMAXES = frozenset(("softmax", "log_softmax", "masked_softmax"))
PADS = frozenset(("pad", "reflect_pad", "replicate_pad"))
LOOK_UPS = frozenset(("embedding", "embedding_bag", "gather", "one_hot"))
NORMS = frozenset(
    (
        *("batch_norm", "layer_norm", "group_norm", "rms_norm", "l2_normalize"),
        *("local_response_norm", "weight_norm", "norm"),
    )
)
EXPONENTIALS = frozenset(("exp", "exp2", "expm1", "log_sum_exp", "log_add_exp"))
LOGARITHMS = frozenset(
    (
        *("log", "log2", "log10", "log1p", "log_sum_exp", "log_add_exp"),
        *("log_softmax", "log_sigmoid"),
    )
)
DIVISIONS = frozenset(("divide", "divide_from", "divide_add", "floor_divide"))
BOUNDS = frozenset(("clip", "clip_min", "clip_max", "maximum", "minimum", "relu6"))
# Of what these read only the shape matters.
FILLED = frozenset(("zeros", "ones", "fill", "shape"))

# Settings that frameworks call by several names; all others go by their own (`Tape.setting`).
SETTINGS: Mapping[str, str] = {
    "axis": "the axis or axes that it works along",
    "epsilon": "what a norm adds to a variance",
    "groups": "of channels, in a norm",
    "minimum": "where it cuts off below",
    "maximum": "where it cuts off above",
    "replacement": "what stands for a value below a threshold",
    "slope": "of a leaky ReLU below 0",
    "scalar": "the number that it takes beside its tensors",
    "factor": "of the second addend",
    "training": "whether a norm takes the statistics of the batch",
    "transposes_first": "whether a product swaps the last two axes of its first factor",
    "transposes_second": "the same of its second factor",
    "block": "for each axis of space, at what distance places go into the batch together",
    "margins": "for each axis of space, what is put around before that",
    "normalised_shape": "the lengths of the axes that a norm of each sample works along",
    "outer_scale": "what an ELU multiplies its result by",
    "inner_scale": "what it multiplies x by, below 0",
}


def kernel_name(kind: str) -> str:
    """A kernel's own name in one spelling: `aten._softmax` and `Softmax` are both `softmax`."""
    return kind.rsplit(".", 1)[-1].lower().replace("_", "")


def table(spellings: Mapping[str, str]) -> dict[str, str]:
    """The word of each kernel, of the kernels' names (`kernel_name`) by word.

    A kernel whose name is the word needs no entry.

    Raises:
        ValueError: a word is none of `WORDS`, or a kernel stands under two.
    """
    found = {kernel_name(word): word for word in WORDS}
    for word, names in spellings.items():
        if word not in WORDS:
            raise ValueError(f"{word!r} is no word of parity.operations")
        for name in names.split():
            if found.setdefault(name, word) != word:
                raise ValueError(f"{name!r} is both {found[name]!r} and {word!r}")
    return found


def settings(spellings: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """A framework's names of each setting, the first that an operation has to be taken.

    Raises:
        ValueError: a setting is none of `SETTINGS`.
    """
    unknown = spellings.keys() - SETTINGS.keys()
    if unknown:
        raise ValueError(f"{unknown} are no settings of parity.operations")
    return {setting: tuple(names.split()) for setting, names in spellings.items()}
