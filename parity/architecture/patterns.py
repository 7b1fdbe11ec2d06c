"""Steps of many operations: recurrences, and norms and activations written by hand."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator

from parity.architecture.graph import Graph
from parity.architecture.step import ADDITIONS, DENSE, STEPS, Step
from parity.architecture.written_cells import gates_of
from parity.frameworks import load
from parity.tape import Op

# What frameworks call the recurrent weights of their cells, and ports of these often do.
_RECURRENT = re.compile(r"weight_hh|recurrent_kernel")


def recurrences(graph: Graph) -> Iterator[Step]:
    """A loop over time, fused or rolled out: a weight multiplies what it helped to compute.

    A whole network that refines its own result, as a diffusion does, has no gates that read an
    input and a state: its layers are used again, and stay layers.
    """
    ops = graph.tape.ops
    gates = {graph.tape.values[value].op for value in gates_of(graph)}
    merged: list[set[int]] = []
    for seeds, is_cell in _loops(graph):
        places = {_place(ops[index]) for index in seeds}
        cell = {i for i, op in graph.live.items() if i in seeds or _place(op) in places}
        if not is_cell and gates.isdisjoint(cell):
            continue
        for other in [one for one in merged if one & cell]:
            cell |= other
            merged.remove(other)
        if cell:
            merged.append(cell)
    for cell in merged:
        yield Step("recurrence", ops[min(cell)].site, tuple(sorted(cell)), opaque=True)


def _loops(graph: Graph) -> Iterator[tuple[Collection[int], bool]]:
    """Operations of each loop, some at each of its places; and whether they are a cell's."""
    reads: dict[frozenset[int], list[int]] = defaultdict(list)
    for op in graph.tape.ops:
        if op.word == "recurrence" and op.index in graph.live:
            yield [op.index, *_products_before(graph, op)], True
        elif op.word in DENSE and (op.static or op.index in graph.live):  # a first step's zeros too
            for value in op.inputs:
                if graph.is_static(value) and graph.weights(value):
                    reads[graph.weights(value)].append(op.index)
    adapter = load(graph.tape.framework)
    known = {value.name for value in graph.tape.values if value.name}
    for weights, indices in reads.items():
        names = [graph.tape.values[leaf].name for leaf in weights]
        links = {adapter.TRAITS.weights.cell_layer(name, known) for name in names} - {None}
        if any(map(_RECURRENT.search, names)):
            yield indices, True  # of a single step all may be static: its state is zeros
        elif links:
            yield [index for link in links if link for index in _called(graph, link, indices)], True
        elif len(indices) > 1:
            step = graph.tape.graph.between(indices[:1], indices[1])
            if step and _has_inputs(graph, step):
                yield (
                    {*step, *graph.tape.graph.between(indices[:1], indices[-1]), indices[-1]},
                    False,
                )


def _called(graph: Graph, link: str, products: Collection[int]) -> Iterator[int]:
    """The operations of a link's calls, the links below it among them."""
    sources = {graph.tape.ops[index].site.source for index in products}
    for index, op in graph.live.items():
        inside = op.site.layer == link or op.site.layer.startswith(f"{link}/")
        if inside and op.site.source in sources:
            yield index


def _products_before(graph: Graph, op: Op) -> Iterator[int]:
    """The products that feed a cell's gates through nothing but sums, and the sums."""
    for _, producer in graph.tape.graph.backward(op.inputs, lambda _, op: op.word in ADDITIONS):
        if producer is not None and producer.index in graph.live:
            if producer.word in DENSE | ADDITIONS:
                yield producer.index


def _has_inputs(graph: Graph, step: Collection[int]) -> bool:
    """Whether one step of a loop has an input of its own; else a layer is just used again."""
    ops = [graph.tape.ops[index] for index in sorted(step)]
    known = {*ops[0].inputs, *(value for op in ops for value in op.outputs)}
    return any(
        value not in known and not graph.is_static(value) for op in ops for value in op.inputs
    )


def _place(op: Op) -> tuple[str, str]:
    """The layer and line of an operation: one step of a loop is where the others are."""
    return op.site.layer, op.site.source


def layer_norms_by_batch_norm(graph: Graph) -> Iterator[Step]:
    """Keras 2's layer norm: a batch norm without weights, of one image whose channels are rows."""
    for ops in graph.layers().values():
        live = tuple(op.index for op in ops if op.index in graph.live)
        norms = [op for op in ops if op.word == "batch_norm"]
        if len(norms) != 1 or not live or any(index in graph.owner for index in live):
            continue
        (norm,) = norms
        shape = graph.tape.values[norm.inputs[0]].shape
        fixed = not any(graph.weights(value) for value in norm.inputs[1:3])
        one_image = len(shape) == 4 and shape[0] == shape[3] == 1
        first = one_image and graph.tape.adapter.TRAITS.channel_axis(norm, 4) == 1
        if fixed and first and graph.tape.setting(norm, "training"):
            epsilon = float(graph.tape.setting(norm, "epsilon"))
            parameters = {"epsilon": epsilon, "normalised": shape[2]}
            before = tuple(index for index in live if index <= norm.index)
            yield Step("layer_norm", norm.site, before, parameters)


def silus(graph: Graph) -> Iterator[Step]:
    """SiLU as a product with its own sigmoid, whose input may be scaled by 1."""
    for op in graph.live.values():
        if op.word != "multiply" or len(op.inputs) != 2 or op.index in graph.owner:
            continue
        for x, gate in (op.inputs, op.inputs[::-1]):
            sigmoid = graph.tape.producer(gate)
            if sigmoid is None or sigmoid.word != "sigmoid":
                continue
            ops = [sigmoid.index, op.index]
            scaled = graph.tape.producer(sigmoid.inputs[0])
            if sigmoid.inputs[0] != x:
                if scaled is None or scaled.word != "multiply" or x not in scaled.inputs:
                    continue
                if graph.scalar(scaled) != 1:
                    continue
                ops = [scaled.index, *ops]
            if all(index in graph.live for index in ops):
                yield Step("silu", op.site, tuple(ops))
                break


def gelus(graph: Graph) -> Iterator[Step]:
    """GELU by the error function, in a layer of its own."""
    for ops in graph.layers().values():
        errors = [op for op in ops if op.word in ("erf", "erfc")]
        has_step = any(op.index in graph.owner or op.word in STEPS for op in ops)
        if len(errors) == 1 and not has_step:
            live = tuple(op.index for op in ops if op.index in graph.live)
            yield Step("gelu", errors[0].site, live, {"approximate": "none"})
