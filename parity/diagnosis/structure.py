"""Structure without values: what two models are made of, for models whose weights are not shared.

Each tape becomes named steps (dense, convolution, batch norm, relu, ...) with the parameters that
it tells, joined by the data flow. Operations that no step is known for stay loose: they may be
anything, so a step is told missing only where the other model has no loose operations in its place
that this one has not. A parameter that one side does not tell is unknown and never a difference.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from parity.report.summary import StructuralDifference
from parity.tape import Op, Site, Tape, Value

# Steps that stand in for one another at one place without any other change.
_FAMILIES = (
    frozenset(
        """
        relu relu6 tanh sigmoid elu selu celu leaky_relu gelu silu softplus softsign mish
        hard_sigmoid hard_swish softmax log_softmax log_sigmoid
        """.split()
    ),
    frozenset(("max_pool", "average_pool")),
)

# Operations that are one step in one framework or another, by their plain kind.
_ACTIVATIONS = {
    **{name: name for name in "relu relu6 tanh sigmoid selu softplus softsign mish".split()},
    **{"leakyrelu": "leaky_relu", "gelu": "gelu", "silu": "silu", "swish": "silu"},
    **{"hardsigmoid": "hard_sigmoid", "hardswish": "hard_swish", "elu": "elu", "celu": "celu"},
    **{"softmax": "softmax", "safesoftmax": "softmax", "logsoftmax": "log_softmax"},
    **{"clippedrelu": "relu6", "logsigmoidforward": "log_sigmoid"},
}
_NORMS = {
    **dict.fromkeys(
        "nativebatchnorm cudnnbatchnorm miopenbatchnorm nativebatchnormlegit batchnormalization "
        "nativebatchnormlegitnotraining fixedbatchnormalization fusedbatchnorm fusedbatchnormv2 "
        "fusedbatchnormv3".split(),
        "batch_norm",
    ),
    **dict.fromkeys("nativelayernorm layernormalization".split(), "layer_norm"),
    **dict.fromkeys("nativegroupnorm groupnormalization".split(), "group_norm"),
    **dict.fromkeys("rmsnorm fusedrmsnorm".split(), "rms_norm"),
}
_DENSE_WORDS = frozenset("matmul bmm einsum tensordot mm addmm batchmatmulv2 mv dot".split())
_DENSE = frozenset(
    "addmm mm linear matmul batchmatmul batchmatmulv2 linearfunction bmm einsum mv".split()
)
_CONVOLUTIONS = frozenset(
    "convolution convolutionoverrideable mkldnnconvolution conv2d conv3d depthwiseconv2dnative "
    "convolution2dfunction convolutionnd".split()
)
_TRANSPOSED = frozenset(
    "conv2dbackpropinput conv3dbackpropinputv2 deconvolution2dfunction deconvolutionnd".split()
)
_POOLS = {
    **dict.fromkeys(
        "maxpool2dwithindices maxpool3dwithindices maxpool1dwithindices maxpool2d maxpool1d "
        "maxpool3d mkldnnmaxpool2d maxpool maxpoolingnd maxpooling2d".split(),
        "max_pool",
    ),
    **dict.fromkeys(
        "avgpool1d avgpool2d avgpool3d avgpool averagepooling2d averagepoolingnd".split(),
        "average_pool",
    ),
}
_EMBEDDINGS = frozenset(("embedding", "gatherv2", "resourcegather", "embedidfunction"))
_ATTENTIONS = "scaleddotproduct"
_CELLS = frozenset("mkldnnrnnlayer lstm gru rnntanh rnnrelu cudnnrnn lstmcell grucell".split())

# One word for what is the same arithmetic in several spellings.
_ARITHMETIC = {
    **dict.fromkeys("add addv2 biasadd bias sub rsub addn addconstant".split(), "+"),
    "subfromconstant": "+",
    **dict.fromkeys("mul div realdiv mulconstant divfromconstant truediv".split(), "*"),
    **dict.fromkeys("square powvarconst".split(), "pow"),
    **dict.fromkeys("amax maxreduce".split(), "max"),
}
_NOT_NEGATIVE = frozenset("relu relu6 sigmoid softmax softplus hard_sigmoid".split())
_SIGNLESS = ("neg", "negative", "identity")
_HANDED_ON = ("inputs", "over", "normalised")
_TOLERANCE = 1e-5  # relative: 0.001 in float32 is 0.001


@dataclass(frozen=True)
class _Padding:
    """How far windows reach over the edges, by spatial axis.

    Attributes:
        before: as declared or worked out.
        after: what the last window reads beyond the edge; less than none where it stops short.
        named: `same` and the like, "" where sides were given in numbers.
        window: sizes of the input, kernel, stride and dilation, on which `after` depends.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    named: str
    window: tuple[Any, ...]

    def differs(self, other: _Padding) -> bool:
        if self.window == other.window:
            return (self.before, self.after) != (other.before, other.after)
        # of other windows: what is worked out from them differs for their sake
        return not self.named and not other.named and self.before != other.before

    def beside(self, other: _Padding) -> str:
        """As text that shows what differs from another: both sides only where that is needed."""
        if self.before != other.before and not self.named:
            return _text(self.before)
        sides = tuple(
            f"{a} and {b}" if b >= 0 else f"{a} and {-b} left out"
            for a, b in zip(self.before, self.after, strict=True)
        )
        return f"{self.named} ({_text(sides)})" if self.named else _text(sides)


@dataclass
class _Step:
    """A step of a model.

    Attributes:
        kind: in the field's words, with underscores.
        size: what tells it from others of its kind: units, filters and kernel.
        parameters: what the tape tells of it, by name; comparable across frameworks.
        opaque: holds whatever a recurrence or an attention is made of.
    """

    kind: str
    site: Site
    ops: tuple[int, ...]
    size: tuple[Any, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    opaque: bool = False

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.kind, *self.size)

    @property
    def is_product(self) -> bool:
        """Whether it multiplies by weights: linear, so that it merges with what is linear."""
        return "units" in self.parameters or "filters" in self.parameters

    def alike(self, other: _Step) -> bool:
        return self.kind == other.kind or self.is_product and other.is_product

    @property
    def words(self) -> str:
        return self.kind.replace("_", " ")


def structural_differences(
    reference: Tape, candidate: Tape, outputs: Sequence[tuple[int, int]] = ()
) -> tuple[StructuralDifference, ...]:
    """Where two models are made of other steps, whatever their weights are.

    Args:
        outputs: pairs of value ids that are the same output.

    Returns:
        Differences in the order of the data flow; none where nothing can be known.
    """
    ours, theirs = _Program(reference), _Program(candidate)
    if not (ours.followed and theirs.followed):
        return ()
    labels = [
        {pair[side]: f"output {number}" for number, pair in enumerate(outputs)} for side in (0, 1)
    ]
    ours.join(labels[0])
    theirs.join(labels[1])
    pairs = _align(ours, theirs)
    places = _Places(ours, theirs, pairs)
    found: list[tuple[float, StructuralDifference]] = [
        (a, difference)
        for a, b in pairs.items()
        if places.certain(a)
        for difference in _compare_steps(ours.steps[a], theirs.steps[b])
    ]
    found += places.differences()
    if places.anything_else:
        found = [(at, one) for at, one in found if one.name != "inputs"]
    found.sort(key=lambda item: item[0])
    return tuple(_without_consequences([difference for _, difference in found]))


def _without_consequences(found: Sequence[StructuralDifference]) -> list[StructuralDifference]:
    """Sizes that come from what is before are told only where nothing before differs."""
    kept: list[StructuralDifference] = []
    for one in found:
        if one.kind != "parameter" or one.name not in _HANDED_ON or not kept:
            kept.append(one)
    return kept


# --- a tape as steps -----------------------------------------------------------------------------


class _Program:
    """A tape's steps, what is loose between them, and the data flow among both."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.live = _live(tape)
        self.followed = bool(self.live) and any(
            tape.values[value].kind == "input" for op in self.live.values() for value in op.inputs
        )
        self._owner: dict[int, _Step] = {}  # by the index of an operation
        self._weights: dict[int, frozenset[int]] = {}
        for collect in (_recurrences, _attentions, _norms_by_hand, _small_patterns):
            for step in collect(self):
                self._take(step)
        for op in self.live.values():
            if op.index not in self._owner:
                single = _single(self, op)
                if single is not None:
                    self._take(single)
        self.steps = sorted(
            {id(step): step for step in self._owner.values()}.values(), key=lambda s: s.ops[0]
        )
        self._absorb_biases()
        self.number = {index: n for n, step in enumerate(self.steps) for index in step.ops}

    def _take(self, step: _Step) -> None:
        free = tuple(index for index in step.ops if index not in self._owner)
        if free:
            step.ops = free
            self._owner.update(dict.fromkeys(free, step))

    def taken(self, op: Op) -> bool:
        return op.index in self._owner

    def _absorb_biases(self) -> None:
        """The addition of a bias belongs to the product before it."""
        for step in self.steps:
            if not step.is_product:
                continue
            last = self.tape.ops[step.ops[-1]]
            width = step.parameters.get("units") or step.parameters.get("filters")
            reader = self._only_reader(last.outputs[0])
            if reader is None or self.taken(reader) or _plain(reader) not in _BIAS:
                continue
            static = [value for value in reader.inputs if self.is_static(value)]
            if len(static) == 1 and self.tape.values[static[0]].size == width:
                step.ops = (*step.ops, reader.index)
                self._owner[reader.index] = step

    def _only_reader(self, value: int) -> Op | None:
        """The one live operation that reads a value, with moves left out."""
        while True:
            readers = [self.live[i] for i in self.tape.consumers[value] if i in self.live]
            if len(readers) != 1:
                return None
            if readers[0].role != "move" or len(readers[0].outputs) != 1:
                return readers[0]
            value = readers[0].outputs[0]

    def is_static(self, value: int) -> bool:
        """Whether no input of the model reaches a value."""
        found = self.tape.values[value]
        producer = self.tape.producer(value)
        return found.kind != "input" if producer is None else producer.static

    def weights(self, value: int) -> frozenset[int]:
        """The leaves with several numbers that a static value is made of."""
        if value not in self._weights:
            found, seen, stack = set(), {value}, [value]
            while stack:
                at = stack.pop()
                producer = self.tape.producer(at)
                if producer is None and self.tape.values[at].size > 1:
                    found.add(at)
                for one in producer.inputs if producer else ():
                    if one not in seen:
                        seen.add(one)
                        stack.append(one)
            self._weights[value] = frozenset(found)
        return self._weights[value]

    def scalar(self, op: Op) -> float | None:
        """The single number that an operation takes beside its tensors."""
        for name in ("other", "value", "exponent", "rhs"):
            given = op.attributes.get(name)
            if isinstance(given, (int, float)) and not isinstance(given, bool):
                return float(given)
        for value in op.inputs:
            if self.tape.values[value].size == 1 and self.tape.producer(value) is None:
                if self.tape.values[value].kind == "constant":
                    return float(self.tape.adapter.to_numpy(self.tape.recorded[value]).reshape(()))
        return None

    def join(self, outputs: Mapping[int, str]) -> None:
        """Finds the steps that come directly before and after each."""
        self.outputs = {v: outputs.get(v, "output") for v in self.tape.outputs.values()}
        before, after = self.flow(set(range(len(self.steps))))
        self.before = [before[step.ops[0]] for step in self.steps]
        self.after = [after[step.ops[0]] for step in self.steps]

    def flow(
        self, shown: Collection[int]
    ) -> tuple[dict[int, frozenset[Any]], dict[int, frozenset[Any]]]:
        """For each operation the nearest shown steps before it and after it.

        All operations of a shown step have the same. Inputs and outputs are text.
        """
        before: dict[int, frozenset[Any]] = {}
        values: dict[int, frozenset[Any]] = {}
        step_before: dict[int, frozenset[Any]] = defaultdict(frozenset)
        for op in self.live.values():
            number = self.number.get(op.index)
            inside = number is not None and number in shown
            reached = frozenset().union(*(values.get(v, self._entry(v)) for v in op.inputs))
            before[op.index] = reached
            if inside and number is not None:
                step_before[number] |= reached - {number}
            made = frozenset((number,)) if inside else reached
            values.update(dict.fromkeys(op.outputs, made))
        after: dict[int, frozenset[Any]] = {}
        step_after: dict[int, frozenset[Any]] = defaultdict(frozenset)
        readers: dict[int, frozenset[Any]] = defaultdict(frozenset)
        for value, label in self.outputs.items():
            readers[value] |= {label}
        for op in reversed(self.live.values()):
            number = self.number.get(op.index)
            inside = number is not None and number in shown
            reached = frozenset().union(*(readers[v] for v in op.outputs))
            after[op.index] = reached
            if inside and number is not None:
                step_after[number] |= reached - {number}
            for value in op.inputs:
                readers[value] |= frozenset((number,)) if inside else reached
        for index, number in self.number.items():
            if number in shown:
                before[index], after[index] = step_before[number], step_after[number]
        return before, after

    def _entry(self, value: int) -> frozenset[Any]:
        return frozenset(("input",) if self.tape.values[value].kind == "input" else ())

    def loose(self) -> Iterator[tuple[int, str]]:
        """Operations that compute and belong to no step, each with one word for it."""
        for op in self.live.values():
            if op.index in self.number or op.role == "move":
                continue
            if any(_floating(self.tape.values[v]) for v in op.outputs):
                word = _plain(op)
                if word not in _SIGNLESS:
                    yield op.index, _ARITHMETIC.get(word, word)


_BIAS = frozenset("add addv2 biasadd bias".split())


def _plain(op: Op) -> str:
    """An operation's kind in one spelling."""
    return op.kind.rsplit(".", 1)[-1].lower().replace("_", "")


def _floating(value: Value) -> bool:
    return value.dtype.startswith(("float", "bfloat"))


def _live(tape: Tape) -> dict[int, Op]:
    """Operations that lead from inputs to outputs, by index, in the order of the tape."""
    needed = set(tape.outputs.values())
    found = []
    for op in reversed(tape.ops):
        if not op.static and not needed.isdisjoint(op.outputs):
            found.append(op)
            needed.update(op.inputs)
    return {op.index: op for op in reversed(found)}


# --- steps of many operations --------------------------------------------------------------------


def _recurrences(program: _Program) -> Iterator[_Step]:
    """A loop over time, fused or rolled out: a weight meets what it helped to compute."""
    live, tape = program.live, program.tape
    reads: dict[frozenset[int], list[int]] = defaultdict(list)
    cells: list[list[int]] = []
    for op in live.values():
        word = _plain(op)
        if word in _CELLS:
            cells.append([op.index, *_products_before(program, op)])
        elif word in _DENSE:
            for value in op.inputs:
                if program.is_static(value) and program.weights(value):
                    reads[program.weights(value)].append(op.index)
    for weights, indices in reads.items():
        names = " ".join(tape.values[leaf].name for leaf in weights)
        if "weight_hh" in names or "recurrent_kernel" in names:
            cells.append(indices)
        elif len(indices) > 1:
            between = _between(program, indices[0], indices[1])
            if between:
                last = indices[-1]
                cells.append([*between, *_between(program, indices[0], last), last])
    merged: list[set[int]] = []
    for seeds in cells:
        places = {_place(tape.ops[index]) for index in seeds}
        ops = {i for i, op in live.items() if i in seeds or _place(op) in places}
        for other in [one for one in merged if one & ops]:
            ops |= other
            merged.remove(other)
        merged.append(ops)
    for ops in merged:
        yield _opaque(program, "recurrence", ops)


def _products_before(program: _Program, op: Op) -> list[int]:
    """The products that feed a cell's gates through nothing but sums."""
    found, stack = [], list(op.inputs)
    while stack:
        producer = program.tape.producer(stack.pop())
        if producer is None or producer.index not in program.live:
            continue
        if _plain(producer) in _DENSE:
            found.append(producer.index)
        elif _plain(producer) in _BIAS:
            found.append(producer.index)
            stack.extend(producer.inputs)
    return found


def _between(program: _Program, first: int, last: int) -> list[int]:
    """Operations on a path from one to another, both included; empty where there is none."""
    tape = program.tape
    forward = set(tape.ops[first].outputs)
    later = [tape.ops[first]]
    for index in range(first + 1, last + 1):
        op = tape.ops[index]
        if not forward.isdisjoint(op.inputs):
            forward.update(op.outputs)
            later.append(op)
    if later[-1].index != last:
        return []
    needed = set(tape.ops[last].inputs)
    path = [last]
    for op in reversed(later[:-1]):
        if not needed.isdisjoint(op.outputs):
            needed.update(op.inputs)
            path.append(op.index)
    return path[::-1]


def _place(op: Op) -> tuple[str, str]:
    """The layer and line of an operation: one turn of a loop is where the others are."""
    return op.site.layer, op.site.source


def _opaque(program: _Program, kind: str, ops: Collection[int]) -> _Step:
    ordered = tuple(sorted(ops))
    return _Step(kind, program.tape.ops[ordered[0]].site, ordered, opaque=True)


def _attentions(program: _Program) -> Iterator[_Step]:
    """Attention in a layer of its own: that layer and those below it, however they are split."""
    for layer in dict.fromkeys(
        op.site.layer for op in program.live.values() if _is_attention(program, op)
    ):
        below = tuple(layer + mark for mark in "./")
        ops = {
            i
            for i, op in program.live.items()
            if layer and (op.site.layer == layer or op.site.layer.startswith(below))
        }
        softmaxes = [i for i in ops if _plain(program.live[i]) in ("softmax", "safesoftmax")]
        fused = [i for i in ops if _plain(program.live[i]).startswith(_ATTENTIONS)]
        if len(softmaxes) + len(fused) == 1:
            yield _opaque(program, "attention", ops)


def _is_attention(program: _Program, op: Op) -> bool:
    word = _plain(op)
    if word.startswith(_ATTENTIONS):
        return True
    return word in _DENSE and sum(not program.is_static(v) for v in op.inputs) > 1


def _norms_by_hand(program: _Program) -> Iterator[_Step]:
    """Norms in small operations, in a layer that does nothing else.

    What tells them is `rsqrt(variance + epsilon)`; the variance is a buffer, or a mean of squares.
    """
    for layer, ops in _layers(program).items():
        members = {op.index for op in program.live.values() if op.site.layer == layer}
        roots = [op for op in ops if _plain(op) in ("rsqrt", "sqrt")]
        if len(roots) != 1 or any(_names_a_step(program, program.tape.ops[i]) for i in members):
            continue
        epsilon_added = program.tape.producer(roots[0].inputs[0])
        if epsilon_added is None or _plain(epsilon_added) not in _BIAS:
            continue
        epsilon = program.scalar(epsilon_added)
        variance = [v for v in epsilon_added.inputs if program.tape.values[v].size > 1]
        if epsilon is None or not 0 < epsilon < 0.1 or len(variance) != 1 or not members:
            continue
        kind, parameters = _which_norm(program, variance[0], min(members))
        if kind:
            step = _Step(kind, program.tape.ops[min(members)].site, tuple(sorted(members)))
            step.parameters = {"epsilon": epsilon, **parameters}
            yield step


def _layers(program: _Program) -> dict[str, list[Op]]:
    """Operations by their layer, static ones too; what is in no layer is left out."""
    found: dict[str, list[Op]] = defaultdict(list)
    for op in program.tape.ops:
        if op.site.layer:
            found[op.site.layer].append(op)
    return found


def _names_a_step(program: _Program, op: Op) -> bool:
    word = _plain(op)
    known = (_ACTIVATIONS, _NORMS, _POOLS, _DENSE, _CONVOLUTIONS, _TRANSPOSED, _EMBEDDINGS)
    return program.taken(op) or any(word in words for words in known)


def _which_norm(program: _Program, variance: int, first: int) -> tuple[str, dict[str, Any]]:
    """The norm whose variance a value is, and what it tells; "" where that cannot be known."""
    tape = program.tape
    if program.is_static(variance):
        return "batch_norm", {}
    reduce = tape.producer(variance)
    while reduce is not None and reduce.role == "move":
        reduce = tape.producer(reduce.inputs[0])
    if reduce is None or _plain(reduce) not in ("mean", "reducemean", "average"):
        return "", {}
    squared = tape.values[reduce.inputs[0]]
    axes = _axes(reduce, len(squared.shape))
    square = tape.producer(reduce.inputs[0])
    if not axes or square is None or not _is_centred(tape, square):
        return "", {}
    if 0 in axes:
        return "batch_norm", {}
    entering = tape.values[tape.ops[first].inputs[0]].shape
    if len(squared.shape) > len(entering):
        kept = [n for axis, n in enumerate(squared.shape) if axis and axis not in axes]
        return "group_norm", {"groups": kept[0]} if len(kept) == 1 else {}
    if axes != tuple(range(len(squared.shape) - len(axes), len(squared.shape))):
        return "", {}
    return "layer_norm", {"normalised": math.prod(squared.shape[a] for a in axes)}


def _is_centred(tape: Tape, square: Op) -> bool:
    if _plain(square) == "squareddifference":
        return True
    inner = tape.producer(square.inputs[0])
    return (
        _plain(square) in ("square", "pow", "mul") and inner is not None and _plain(inner) == "sub"
    )


def _axes(op: Op, rank: int) -> tuple[int, ...]:
    for name in ("dim", "axis"):
        given = op.attributes.get(name)
        if isinstance(given, int):
            given = (given,)
        if isinstance(given, (list, tuple)) and all(isinstance(a, int) for a in given):
            return tuple(sorted(a % rank for a in given))
    return ()


def _small_patterns(program: _Program) -> Iterator[_Step]:
    """SiLU as a product with its own sigmoid; GELU by the error function in a layer of its own."""
    tape = program.tape
    for op in program.live.values():
        if _plain(op) == "mul" and len(op.inputs) == 2 and not program.taken(op):
            for x, gate in (op.inputs, op.inputs[::-1]):
                sigmoid = tape.producer(gate)
                if sigmoid is None or _plain(sigmoid) != "sigmoid":
                    continue
                inner, ops = sigmoid.inputs[0], [sigmoid.index, op.index]
                scaled = tape.producer(inner)
                if inner != x and scaled is not None and _plain(scaled) == "mul":
                    if program.scalar(scaled) == 1.0 and x in scaled.inputs:
                        inner, ops = x, [scaled.index, *ops]
                if inner == x and all(index in program.live for index in ops):
                    yield _Step("silu", op.site, tuple(ops))
                    break
    for layer, members in _layers(program).items():
        live = [op.index for op in members if op.index in program.live]
        errors = [op for op in members if _plain(op) in ("erf", "erfc")]
        named = any(_names_a_step(program, op) for op in members)
        if len(errors) == 1 and not named and layer:
            yield _Step("gelu", errors[0].site, tuple(live), parameters={"approximate": "none"})


# --- steps of one operation ----------------------------------------------------------------------


def _single(program: _Program, op: Op) -> _Step | None:
    """The step that an operation is by itself."""
    word = _plain(op)
    made: tuple[str, tuple[Any, ...], dict[str, Any]] | None = None
    if word in _NORMS:
        made = _NORMS[word], (), _norm_parameters(program, op)
    elif word in _CONVOLUTIONS or word in _TRANSPOSED:
        made = _convolution(program, op)
    elif word in _DENSE:
        made = _dense(program, op)
    elif word in _POOLS:
        made = _pool(program, op, _POOLS[word])
    elif word in _EMBEDDINGS:
        made = _embedding(program, op)
    elif word in ("mean", "adaptiveavgpool2d", "adaptiveavgpool3d"):
        made = _global_pool(program, op)
    else:
        made = _activation(program, op, word)
    if made is None:
        return None
    kind, size, parameters = made
    return _Step(kind, op.site, (op.index,), size, parameters)


def _activation(
    program: _Program, op: Op, word: str
) -> tuple[str, tuple[Any, ...], dict[str, Any]] | None:
    given = op.attributes
    kind = _ACTIVATIONS.get(word, "")
    parameters: dict[str, Any] = {}
    if word in ("hardtanh", "clip", "clamp"):
        low, high = (
            next((given[name] for name in names if name in given), None)
            for names in (("min_val", "x_min", "min"), ("max_val", "x_max", "max"))
        )
        if low != 0 or len(op.inputs) != 1:
            return None
        kind = "relu" if high is None else "relu6"
        parameters = {} if high is None else {"cap": float(high)}
    elif word in ("clampmin", "threshold", "maximum"):
        floor = given.get("min", given.get("threshold", program.scalar(op)))
        if floor != 0 or given.get("value", 0) != 0:
            return None
        kind = "relu"
    elif word == "clippedrelu":
        parameters = {"cap": float(given["cap"])} if "cap" in given else {}
    elif word == "leakyrelu":  # ATen leaves out what is its default
        slope = given.get("negative_slope", given.get("slope", given.get("alpha", 0.01)))
        parameters = {"negative slope": float(slope)}
    elif word == "elu":
        scale, inner = float(given.get("scale", 1)), float(given.get("input_scale", 1))
        if abs(scale - 1.0507009873554805) < 1e-6:
            return "selu", (), {}
        if (scale, inner) != (1.0, 1.0):
            return ("celu", (), {}) if scale == 1.0 else None
        parameters = {"alpha": float(given.get("alpha", 1.0))}
    elif word == "gelu":
        parameters = {"approximate": str(given.get("approximate", "none"))}
    elif word == "softplus":
        parameters = {"beta": float(given.get("beta", 1.0))}
    elif kind in ("softmax", "log_softmax"):
        shape = program.tape.values[op.inputs[0]].shape
        axes = _axes(op, len(shape)) or (len(shape) - 1,)
        if shape:
            parameters = {"over": shape[axes[0]]}
    return (kind, (), parameters) if kind else None


def _norm_parameters(program: _Program, op: Op) -> dict[str, Any]:
    given = op.attributes
    found: dict[str, Any] = {}
    epsilon = given.get("eps", given.get("epsilon"))
    if isinstance(epsilon, (int, float)):
        found["epsilon"] = float(epsilon)
    word = _plain(op)
    if _NORMS[word] == "group_norm":
        groups = given.get("group", given.get("groups"))
        found |= {"groups": int(groups)} if groups is not None else {}
    elif "normalized_shape" in given:
        found["normalised"] = math.prod(given["normalized_shape"])
    elif word == "layernormalization":
        found["normalised"] = program.tape.values[op.inputs[0]].shape[-1]
    return found


def _dense(program: _Program, op: Op) -> tuple[str, tuple[Any, ...], dict[str, Any]] | None:
    """A product of something live and a static weight of two axes."""
    live = [v for v in op.inputs if not program.is_static(v)]
    rank_two = [
        v
        for v in op.inputs
        if program.is_static(v) and sum(n > 1 for n in program.tape.values[v].shape) >= 1
    ]
    if _plain(op) == "addmm":
        live, rank_two = [v for v in live if v != op.inputs[0]], rank_two[-1:]
    rank_two = rank_two[:1] if _plain(op) in ("linearfunction", "linear") else rank_two
    if len(live) != 1 or len(rank_two) != 1 or _plain(op) == "einsum":
        return None
    weight, result = program.tape.values[rank_two[0]], program.tape.values[op.outputs[0]]
    if len(weight.shape) != 2 or len(result.shape) < 2:
        return None
    first = op.inputs.index(live[0]) > op.inputs.index(rank_two[0]) and _plain(op) != "addmm"
    units = result.shape[-2 if first else -1]
    if not units or weight.size % units:
        return None
    return "dense", (units,), {"units": units, "inputs": weight.size // units}


def _embedding(program: _Program, op: Op) -> tuple[str, tuple[Any, ...], dict[str, Any]] | None:
    tables = [
        program.tape.values[v]
        for v in op.inputs
        if program.tape.values[v].kind == "parameter" and len(program.tape.values[v].shape) == 2
    ]
    if len(tables) != 1 or op.attributes.get("axis", 0) != 0:
        return None
    rows, features = tables[0].shape
    return "embedding", (features,), {"rows": rows, "features": features}


def _global_pool(program: _Program, op: Op) -> tuple[str, tuple[Any, ...], dict[str, Any]] | None:
    """The mean over all of an image, for each channel."""
    x, y = (program.tape.values[v].shape for v in (op.inputs[0], op.outputs[0]))
    if len(x) < 4:
        return None
    if _plain(op) != "mean":
        return ("global_average_pool", (), {}) if math.prod(y[2:]) == 1 else None
    axes = _axes(op, len(x))
    if axes not in (tuple(range(1, len(x) - 1)), tuple(range(2, len(x)))):
        return None
    return "global_average_pool", (), {}


# --- windows -------------------------------------------------------------------------------------


@dataclass
class _Window:
    """What a convolution or pool tells of its windows, by spatial axis."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...] | None
    named: str
    size: tuple[int, ...]
    steps: tuple[int, ...]

    def drop_singles(self) -> None:
        """Leaves out axes of length 1: TensorFlow has one in every convolution over sequences."""
        last = len(self.kernel) - 1
        axes = [a for a in range(last + 1) if (self.kernel[a], self.size[a]) != (1, 1)] or [last]
        for name in ("kernel", "stride", "dilation", "size", "steps"):
            setattr(self, name, tuple(getattr(self, name)[a] for a in axes))
        if self.before is not None:
            self.before = tuple(self.before[a] for a in axes)


def _convolution(program: _Program, op: Op) -> tuple[str, tuple[Any, ...], dict[str, Any]] | None:
    word, tape = _plain(op), program.tape
    transposed = word in _TRANSPOSED or bool(op.attributes.get("transposed"))
    backwards = word.endswith(("backpropinput", "backpropinputv2"))
    x, weight = op.inputs[::-1][:2] if backwards else op.inputs[:2]
    shape = tape.values[weight].shape
    if program.is_static(x) or len(shape) < 3 or len(tape.values[x].shape) != len(shape):
        return None
    channels_last = tape.framework == "tensorflow"
    spatial = _spatial(op, len(shape))
    depthwise = word.startswith("depthwise")
    if channels_last:
        kernel, inner, outer = shape[:-2], shape[-2], shape[-1]
        if transposed:
            inner, outer = outer, inner
    else:
        kernel, outer, inner = shape[2:], shape[0], shape[1]
        if transposed:
            inner, outer = outer, inner
    (channel,) = (a for a in range(1, len(shape)) if a not in spatial)
    entering = tape.values[x].shape[channel]
    filters = tape.values[op.outputs[0]].shape[channel]
    groups = op.attributes.get("groups")
    if groups is None:
        groups = entering if depthwise else entering // inner
    window = _window(op, kernel, tape.values[x].shape, tape.values[op.outputs[0]].shape, spatial)
    mode = "zeros"
    if transposed:
        _padding_of_transposed(op, window)
    else:
        mode = _pad_before(program, op, x, spatial, window)
    window.drop_singles()
    kind = "transposed_convolution" if transposed else "convolution"
    found: dict[str, Any] = {
        "filters": filters,
        "kernel": window.kernel,
        "stride": window.stride,
        "dilation": window.dilation,
        "groups": int(groups),
    }
    if mode:
        found["padding mode"] = mode
    if window.before is not None:
        found["padding"] = _padding(window, transposed)
    if _cut_afterwards(program, op):
        del found["stride"]
        found.pop("padding", None)
    return kind, (filters, window.kernel), found


def _pool(
    program: _Program, op: Op, kind: str
) -> tuple[str, tuple[Any, ...], dict[str, Any]] | None:
    given, tape = op.attributes, program.tape
    x, y = (tape.values[v].shape for v in (op.inputs[0], op.outputs[0]))
    kernel = given.get("kernel_size", given.get("ksize"))
    if kernel is None and "kh" in given:
        kernel = (given["kh"], given["kw"])
    if tape.framework == "tensorflow" and kernel is not None:
        if len(kernel) != len(x):
            return None
        spatial = _spatial(op, len(x))
        kernel = tuple(kernel[a] for a in spatial)
    else:
        spatial = tuple(range(len(x) - len(kernel or ()), len(x)))
    if not kernel:
        return None
    window = _window(op, tuple(kernel), x, y, spatial)
    if kind == "average_pool" and window.kernel == window.size and set(window.steps) == {1}:
        return "global_average_pool", (), {}
    mode = _pad_before(program, op, op.inputs[0], spatial, window)
    window.drop_singles()
    found: dict[str, Any] = {"kernel": window.kernel, "stride": window.stride}
    # zeros that were put there before are not the edge that a pool adds itself
    if window.before is not None and mode == "zeros" and not _padded(program, op.inputs[0]):
        found["padding"] = padding = _padding(window, False)
        edges = any(n > 0 for n in (*padding.before, *padding.after))
        if kind == "average_pool" and edges and tape.framework != "chainer":
            inside = given.get("count_include_pad", True)
            found["edges counted"] = bool(inside) and tape.framework == "torch"
    return kind, (), found


def _spatial(op: Op, rank: int) -> tuple[int, ...]:
    layout = str(op.attributes.get("data_format", "NC"))
    return tuple(range(2, rank)) if layout.startswith("NC") else tuple(range(1, rank - 1))


def _window(
    op: Op,
    kernel: tuple[int, ...],
    x: tuple[int, ...],
    y: tuple[int, ...],
    spatial: tuple[int, ...],
) -> _Window:
    """The window as the operation's attributes have it, in whatever words."""
    given, count = op.attributes, len(spatial)

    def numbers(names: Sequence[str], short: Sequence[str], default: Any) -> tuple[int, ...]:
        found = next((given[name] for name in names if name in given), None)
        if found is None and all(name in given for name in short):
            found = tuple(given[name] for name in short)
        if found is None or isinstance(found, (tuple, list)) and not found:
            found = default
        if isinstance(found, int):
            return (found,) * count
        found = tuple(found)
        if len(found) == len(x):
            return tuple(found[a] for a in spatial)
        return found * count if len(found) == 1 else found

    stride = numbers(("stride", "strides"), ("sy", "sx"), kernel)
    dilation = numbers(("dilation", "dilations", "dilate"), ("dy", "dx"), 1)
    size, steps = tuple(x[a] for a in spatial), tuple(y[a] for a in spatial)
    window = _Window(kernel, stride, dilation, None, "", size, steps)
    named = given.get("padding")
    if isinstance(named, str):
        explicit = given.get("explicit_paddings") or ()
        if named == "SAME":
            window.named = "same"
            window.before = tuple(max(total, 0) // 2 for total in _totals(window))
        elif named == "VALID":
            window.before = (0,) * count
        elif len(explicit) == 2 * len(x):
            window.before = tuple(explicit[2 * a] for a in spatial)
    else:
        window.before = numbers(("padding", "pad"), ("ph", "pw"), 0)
    if not len(stride) == len(dilation) == len(kernel) == len(window.before or kernel):
        window.before = None
    return window


def _totals(window: _Window) -> list[int]:
    """How much the windows reach over both edges together, by axis."""
    return [
        (steps - 1) * stride + dilation * (kernel - 1) + 1 - size
        for steps, stride, dilation, kernel, size in zip(
            window.steps, window.stride, window.dilation, window.kernel, window.size, strict=True
        )
    ]


def _padding(window: _Window, transposed: bool) -> _Padding:
    before = window.before or ()
    if transposed:
        window = _turned(window)
    after = tuple(t - b for t, b in zip(_totals(window), before, strict=True))
    sizes = (window.size, window.kernel, window.stride, window.dilation)
    return _Padding(before, after, window.named, sizes)


def _turned(window: _Window) -> _Window:
    """The convolution of which this is the transpose: what goes in comes out."""
    return _Window(
        window.kernel,
        window.stride,
        window.dilation,
        window.before,
        window.named,
        window.steps,
        window.size,
    )


def _padding_of_transposed(op: Op, window: _Window) -> None:
    if window.named:
        window.before = tuple(max(total, 0) // 2 for total in _totals(_turned(window)))


_SAME_NUMBERS = frozenset(
    "permute transpose view reshape clone contiguous squeeze unsqueeze expanddims identity cast "
    "tocopy unsafeview stopgradient astype flatten t".split()
)


def _pad_before(
    program: _Program, op: Op, x: int, spatial: tuple[int, ...], window: _Window
) -> str:
    """Adds padding by an operation of its own to a window's.

    Returns:
        What the edges are filled with; "" where it cannot be known, and then the padding neither.
    """
    tape = program.tape
    rank = len(tape.values[x].shape)
    before = tape.producer(x)
    if before is not None and _plain(before) == "spacetobatchnd":
        blocks, pads = before.attributes.get("block_shape"), before.attributes.get("paddings")
        if window.before is None or not blocks or not pads or len(blocks) != len(spatial):
            window.before = None
            return ""
        entering, leaving = tape.values[before.inputs[0]].shape, _from_batch(program, op)
        if leaving is None:
            window.before = None
            return ""
        window.dilation = tuple(blocks)
        window.before = tuple(pair[0] for pair in pads)
        window.size = tuple(entering[a] for a in spatial)
        window.steps = tuple(leaving[a] for a in spatial)
        return _pad_before(program, op, before.inputs[0], spatial, window)
    filled = "zeros"
    while before is not None and before.role == "move":
        word = _plain(before)
        source = before.inputs[0] if before.inputs else x
        edges = _edges(before, rank)
        if edges is not None and window.before is not None:
            beyond = [a for a in range(rank) if a not in spatial and edges[a] != (0, 0)]
            if beyond or before.outputs[0] != x:
                window.before = None
                return ""
            shape = tape.values[source].shape
            window.before = tuple(
                own + edges[a][0] for own, a in zip(window.before, spatial, strict=True)
            )
            window.size = tuple(shape[a] for a in spatial)
            filled = _filling(before)
        elif word not in _SAME_NUMBERS or tape.values[source].size != tape.values[x].size:
            window.before = None
            return ""
        x, before = source, tape.producer(source)
    return filled


def _cut_afterwards(program: _Program, op: Op) -> bool:
    """Whether a part of the result is taken, which may stand for a stride or less padding."""
    tape, stack = program.tape, [op.outputs[0]]
    while stack:
        value = stack.pop()
        for reader in (tape.ops[i] for i in tape.consumers[value] if i in program.live):
            if reader.role != "move":
                continue
            if any(tape.values[v].size < tape.values[value].size for v in reader.outputs):
                return True
            stack.extend(reader.outputs)
    return False


def _from_batch(program: _Program, op: Op) -> tuple[int, ...] | None:
    """The shape after what was put into the batch is taken out of it again."""
    for index in program.tape.consumers[op.outputs[0]]:
        reader = program.tape.ops[index]
        if _plain(reader) == "batchtospacend":
            return program.tape.values[reader.outputs[0]].shape
    return None


def _edges(op: Op, rank: int) -> list[tuple[int, int]] | None:
    """How much a padding adds before and after each axis; None where it is none, or not told."""
    word, given = _plain(op), op.attributes
    if word in ("pad", "padv2", "mirrorpad"):
        pads = given.get("paddings", given.get("pad_width"))
        if isinstance(pads, (tuple, list)) and len(pads) == rank:
            return [tuple(pair) for pair in pads]
    elif word == "constantpadnd" or word.startswith(("reflectionpad", "replicationpad")):
        flat = given.get("pad", given.get("padding"))
        if isinstance(flat, list) and len(flat) % 2 == 0 and len(flat) <= 2 * rank:
            last = [(flat[i], flat[i + 1]) for i in range(0, len(flat), 2)][::-1]
            return [(0, 0)] * (rank - len(last)) + last
    return None


def _filling(op: Op) -> str:
    """What a padding puts at the edges."""
    word, given = _plain(op), op.attributes
    if word.startswith("reflection") or word == "mirrorpad":
        return "symmetric" if given.get("mode") == "SYMMETRIC" else "reflect"
    if word.startswith("replication"):
        return "replicate"
    if word == "padv2":
        return ""
    if word == "pad" and given.get("mode", "constant") != "constant":
        return str(given["mode"])
    return "zeros" if given.get("value", 0) == 0 else ""


def _padded(program: _Program, value: int) -> bool:
    """Whether a value comes from a padding, but for moves."""
    op = program.tape.producer(value)
    while op is not None and op.role == "move" and op.inputs:
        if _edges(op, len(program.tape.values[op.inputs[0]].shape)) is not None:
            return True
        op = program.tape.producer(op.inputs[0])
    return False


# --- alignment -----------------------------------------------------------------------------------


def _align(ours: _Program, theirs: _Program) -> dict[int, int]:
    """The reference's steps to the candidate's that they are: the surest first.

    Steps match by all that leads to them and all that follows, then by one of both, so that a
    difference keeps nothing behind it or before it from matching, in whatever order branches ran.
    """
    keys = ([step.key for step in ours.steps], [step.key for step in theirs.steps])
    past = _histories(keys[0], ours.before), _histories(keys[1], theirs.before)
    future = (
        _histories(keys[0], ours.after, backwards=True),
        _histories(keys[1], theirs.after, backwards=True),
    )
    both = tuple(list(zip(p, f, strict=True)) for p, f in zip(past, future, strict=True))
    pairs: dict[int, int] = {}
    for left, right in (both, past, future):
        _pair_equal(left, right, pairs)
    _spread(keys, ours, theirs, pairs)
    _in_order(keys, pairs)
    _spread(keys, ours, theirs, pairs)
    return dict(sorted(pairs.items()))


def _histories(
    keys: Sequence[Hashable], nearest: Sequence[frozenset[Any]], backwards: bool = False
) -> list[Hashable]:
    """For each step one number for itself and all that leads to it (or follows)."""
    found: list[Hashable] = [None] * len(keys)
    order = range(len(keys) - 1, -1, -1) if backwards else range(len(keys))
    for number in order:
        around = sorted(
            str(found[other]) if isinstance(other, int) else other for other in nearest[number]
        )
        found[number] = hash((keys[number], *around))
    return found


def _pair_equal(left: Sequence[Hashable], right: Sequence[Hashable], pairs: dict[int, int]) -> None:
    """Pairs steps that have something in common with as many on the other side, in their order."""
    taken = set(pairs.values())
    places: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for number, one in enumerate(left):
        if number not in pairs:
            places[one][0].append(number)
    for number, one in enumerate(right):
        if number not in taken:
            places[one][1].append(number)
    for ours, theirs in places.values():
        if len(ours) == len(theirs):
            pairs.update(zip(ours, theirs, strict=True))


def _spread(
    words: tuple[Sequence[Hashable], Sequence[Hashable]],
    ours: _Program,
    theirs: _Program,
    pairs: dict[int, int],
) -> None:
    """Pairs steps that are alike next to steps that are paired, until there are no more."""
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for number, word in enumerate(words[1]):
        alike[word].append(number)
    taken = set(pairs.values())
    changed = True
    while changed:
        changed = False
        for a in range(len(ours.steps)):
            if a in pairs:
                continue
            before, after = _partners(ours.before[a], pairs), _partners(ours.after[a], pairs)
            fits = [
                b
                for b in alike[words[0][a]]
                if b not in taken
                and (
                    (before is not None and before == theirs.before[b])
                    or (after is not None and after == theirs.after[b])
                )
            ]
            if len(fits) == 1:
                pairs[a] = fits[0]
                taken.add(fits[0])
                changed = True


def _partners(numbers: frozenset[Any], pairs: Mapping[int, int]) -> frozenset[Any] | None:
    """The candidate's steps that are these; None where one has no partner."""
    if any(isinstance(one, int) and one not in pairs for one in numbers):
        return None
    return frozenset(pairs[one] if isinstance(one, int) else one for one in numbers)


def _in_order(keys: tuple[Sequence[Hashable], Sequence[Hashable]], pairs: dict[int, int]) -> None:
    """Pairs what is left and alike in the same order on both sides."""
    taken = set(pairs.values())
    left = [number for number in range(len(keys[0])) if number not in pairs]
    right = [number for number in range(len(keys[1])) if number not in taken]
    matcher = SequenceMatcher(
        None, [keys[0][n] for n in left], [keys[1][n] for n in right], autojunk=False
    )
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            pairs[left[block.a + offset]] = right[block.b + offset]


# --- differences ---------------------------------------------------------------------------------


def _compare_steps(ours: _Step, theirs: _Step) -> Iterator[StructuralDifference]:
    """What two steps that are the same step tell of themselves, each in its own words."""
    differing = [
        name
        for name, value in ours.parameters.items()
        if name in theirs.parameters and _differ(name, value, theirs.parameters[name])
    ]
    if {"kernel", "dilation"} <= set(differing) and _reach(ours) == _reach(theirs):
        return  # a kernel with zeros in its gaps
    for name in differing:
        a, b = ours.parameters[name], theirs.parameters[name]
        shown = [_text(a), _text(b)]
        if isinstance(a, _Padding):
            shown = [a.beside(b), b.beside(a)]
        yield StructuralDifference(
            "parameter",
            ours.words,
            name,
            f"{name}: {shown[0]} -> {shown[1]}",
            ours.site,
            theirs.site,
        )


def _reach(step: _Step) -> tuple[int, ...]:
    """How many pixels a window spans, by axis."""
    kernel, dilation = step.parameters["kernel"], step.parameters["dilation"]
    return tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))


def _differ(name: str, ours: Any, theirs: Any) -> bool:
    if name == "inputs":
        return bool(abs(ours - theirs) > 1)  # one more may be a bias
    if isinstance(ours, _Padding):
        return ours.differs(theirs)
    if isinstance(ours, float) and isinstance(theirs, float):
        return not math.isclose(ours, theirs, rel_tol=_TOLERANCE)
    return bool(ours != theirs)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        same = len(set(value)) == 1
        return str(value[0]) if same else f"({', '.join(map(str, value))})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class _Places:
    """Steps without a partner, by the paired steps between which they stand.

    Loose operations there decide what may be told: one that only one side has may be the step that
    it lacks, written by hand.
    """

    def __init__(self, ours: _Program, theirs: _Program, pairs: Mapping[int, int]) -> None:
        self.programs = ours, theirs
        self.pairs = pairs
        back = {b: a for a, b in pairs.items()}
        self.flows = ours.flow(set(pairs)), _renamed(theirs.flow(set(back)), back)
        self.left = (
            [n for n in range(len(ours.steps)) if n not in pairs],
            [n for n in range(len(theirs.steps)) if n not in back],
        )
        words = [Counter(word for _, word in program.loose()) for program in self.programs]
        # a product may be split among several, or a bias stand among the inputs
        self.anything_else = bool(self.left[0] or self.left[1]) or words[0] != words[1]
        self.loose = tuple(
            [(flow[0][index], flow[1][index], word) for index, word in program.loose()]
            for program, flow in zip(self.programs, self.flows, strict=True)
        )

    def differences(self) -> Iterator[tuple[float, StructuralDifference]]:
        """What is missing, extra or another, with where it comes in the reference's order."""
        places: dict[tuple[frozenset[Any], frozenset[Any]], tuple[list[int], list[int]]] = (
            defaultdict(lambda: ([], []))
        )
        for side in (0, 1):
            for number in self.left[side]:
                ops = self.programs[side].steps[number].ops
                flow = self.flows[side]
                places[flow[0][ops[0]], flow[1][ops[-1]]][side].append(number)
        for (before, after), numbers in places.items():
            if self._wired_alike(before, after):
                at = max((float(n) for n in before if isinstance(n, int)), default=-1.0) + 0.5
                for found in self._at(before, after, *numbers):
                    yield at, found

    def certain(self, number: int) -> bool:
        """Whether two paired steps are sure to be the same one.

        They stand between the same paired steps, and no other step, named or loose, that only one
        of the models has beside them could be the true partner of either.
        """
        numbers = number, self.pairs[number]
        steps = [program.steps[n] for program, n in zip(self.programs, numbers, strict=True)]
        ops = [step.ops[0] for step in steps]
        if any(self.flows[0][way][ops[0]] != self.flows[1][way][ops[1]] for way in (0, 1)):
            return False
        if steps[0].size and all(
            sum(other.key == steps[0].key for other in program.steps) == 1
            for program in self.programs
        ):
            return True
        beside = [
            [Counter(entry[2] for entry in loose if number in entry[way]) for way in (0, 1)]
            for loose in self.loose
        ]
        return beside[0] == beside[1] and not any(
            step.alike(program.steps[left])
            for step, program, lefts in zip(steps, self.programs, self.left, strict=True)
            for left in lefts
        )

    def _wired_alike(self, before: frozenset[Any], after: frozenset[Any]) -> bool:
        """Whether the paired steps around a place are joined in the same way in both models."""
        (ours_before, ours_after), (theirs_before, theirs_after) = self.flows
        seen = False
        for around, ours, theirs in (
            (after, ours_before, theirs_before),
            (before, ours_after, theirs_after),
        ):
            for number in around:
                if isinstance(number, int):
                    a = self.programs[0].steps[number].ops[0]
                    b = self.programs[1].steps[self.pairs[number]].ops[0]
                    if ours[a] != theirs[b]:
                        return False
                    seen = True
        return seen

    def _at(
        self,
        before: frozenset[Any],
        after: frozenset[Any],
        ours: Sequence[int],
        theirs: Sequence[int],
    ) -> Iterator[StructuralDifference]:
        left = [self.programs[0].steps[n] for n in ours]
        right = [self.programs[1].steps[n] for n in theirs]
        counts = [
            Counter(w for b, a, w in loose if b & before and a & after) for loose in self.loose
        ]
        named = (*left, *right)
        hidden = any(one.is_product for one in named) and not _DENSE_WORDS.isdisjoint(counts[0])
        if hidden or counts[0] != counts[1] or any(step.opaque for step in named):
            return
        if left and right:
            if len(left) == len(right):
                for a, b in zip(left, right, strict=True):
                    yield from _replaced(a, b)
            return
        side = 0 if left else 1
        numbers, steps = ours or theirs, left or right
        if any(self._may_be_nothing(self.programs[side], number) for number in numbers):
            return
        elsewhere = [self.programs[1 - side].steps[number] for number in self.left[1 - side]]
        if any(one.alike(other) for one in steps for other in elsewhere):
            return  # it may be there, joined otherwise
        ours_near, theirs_near = self._nearest(before)
        for step in steps:
            near = theirs_near if left else ours_near
            after_what = f" after {near.words}" if near is not None else ""
            yield StructuralDifference(
                "missing" if left else "extra",
                step.words,
                "",
                f"{step.words} is missing{after_what}"
                if left
                else f"{step.words} stands{after_what} where the reference has none",
                step.site if left else (ours_near.site if ours_near else None),
                step.site if right else (theirs_near.site if theirs_near else None),
            )

    def _nearest(self, before: frozenset[Any]) -> tuple[_Step | None, _Step | None]:
        """The last paired step before a place, on both sides."""
        numbers = [number for number in before if isinstance(number, int)]
        if not numbers:
            return None, None
        last = max(numbers)
        return self.programs[0].steps[last], self.programs[1].steps[self.pairs[last]]

    def _may_be_nothing(self, program: _Program, number: int) -> bool:
        """Whether a model without a step may compute the same all the same.

        A batch norm folds into a product beside it, two products in a row are one, a mean of means
        is a mean, a ReLU leaves alone what is not negative, and what stands beside a recurrence or
        an attention may be inside it.
        """
        step = program.steps[number]
        before, after = (
            [program.steps[n] for n in around if isinstance(n, int)]
            for around in (program.before[number], program.after[number])
        )
        beside = (*before, *after)
        if any(one.opaque for one in beside):
            return True
        if step.kind == "batch_norm" or step.is_product:
            return any(one.is_product for one in beside)
        if step.kind == "average_pool":
            return any(one.kind == "global_average_pool" for one in after)
        if step.kind in ("relu", "relu6"):
            return bool(before) and all(one.kind in _NOT_NEGATIVE for one in before)
        return False


_Flow = tuple[dict[int, frozenset[Any]], dict[int, frozenset[Any]]]


def _renamed(flow: _Flow, back: Mapping[int, int]) -> _Flow:
    """The candidate's flow with the reference's numbers for its steps."""
    before, after = (
        {
            index: frozenset(back[n] if isinstance(n, int) else n for n in around)
            for index, around in found.items()
        }
        for found in flow
    )
    return before, after


def _replaced(ours: _Step, theirs: _Step) -> Iterator[StructuralDifference]:
    """Two steps without a partner at the same place."""
    if ours.kind == theirs.kind:
        yield from _compare_steps(ours, theirs)
    elif any({ours.kind, theirs.kind} <= family for family in _FAMILIES):
        text = f"{ours.words} -> {theirs.words}"
        yield StructuralDifference("other", ours.words, "", text, ours.site, theirs.site)
