"""Tensors that are no plain arrays: what they are made of, and those of another framework."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from parity.code_owners import is_librarys, is_users_class
from parity.objects import Setting

NUMBERS = "biufc"  # NumPy's kinds of dtypes that hold numbers
_DENSE = 1 << 24  # elements up to which a sparse tensor is written out

Items = Iterable[tuple[Any, Any]]


class Path(tuple[Any, ...]):
    """Keys below a thing that is one to its user: none for a tensor written out."""


_ITSELF = Path()


@dataclasses.dataclass(frozen=True)
class Foreign:
    """A tensor of a framework that is not the model's, and its numbers."""

    array: Any
    tensor: Any


def parts_of_tensor(thing: Any, is_tensor: Callable[[object], bool]) -> Items | None:
    """What a tensor that is no plain array is made of; known by what it offers, None for others."""
    kind = type(thing).__name__ if not is_users_class(type(thing)) else ""
    if isinstance(thing, np.ma.MaskedArray):
        mask = np.broadcast_to(np.asarray(thing.mask, bool), thing.shape)
        parts = [("data", np.where(mask, 0, thing.data)), ("mask", mask)]
        if thing is np.ma.masked:  # which takes none
            return parts
        # what its user reads there
        return [*parts, ("fill_value", Setting(np.asarray(thing.fill_value).item()))]
    if isinstance(thing, np.ndarray) and thing.dtype.fields:
        return [(name, thing[name]) for name in thing.dtype.fields]
    if kind in ("RaggedTensor", "RaggedTensorValue"):
        splits = enumerate(thing.nested_row_splits)
        return [
            ("values", thing.flat_values),
            *((Path(("row_splits", depth)), split) for depth, split in splits),
        ]
    if kind == "IndexedSlices":
        return _rows_of_tensorflow(thing)
    if kind == "TensorArray" and callable(getattr(thing, "stack", None)):
        return [(_ITSELF, thing.stack())]
    if kind == "SparseTensor":
        return _sparse_of_tensorflow(thing)
    scipy: Any = sys.modules.get("scipy.sparse")  # without it there are none of its arrays
    if scipy is not None and scipy.issparse(thing):
        return _sparse_of_scipy(thing)
    if not is_tensor(thing):
        return None
    return _parts_of_torch(thing)


def _sparse_of_tensorflow(thing: Any) -> Items:
    tf: Any = sys.modules["tensorflow"]  # which made it
    thing = tf.sparse.reorder(thing)
    if int(np.prod(np.asarray(thing.dense_shape, np.float64))) > _DENSE:
        places = ("indices", tf.transpose(thing.indices))
        return [("values", thing.values), places, ("shape", thing.dense_shape)]
    return [(_ITSELF, tf.sparse.to_dense(thing))]


def _rows_of_tensorflow(thing: Any) -> Items:
    """Rows of a gradient, as what they stand for: in any order, and some of them several times."""
    tf: Any = sys.modules["tensorflow"]
    shape = None if thing.dense_shape is None else np.asarray(thing.dense_shape, np.float64)
    if shape is not None and int(np.prod(shape)) <= _DENSE:
        return [(_ITSELF, tf.convert_to_tensor(thing))]
    places = tf.unique(tf.sort(thing.indices))[0]
    rows = tf.math.unsorted_segment_sum(
        thing.values, tf.searchsorted(places, thing.indices), tf.size(places)
    )
    found = [("values", rows), ("indices", places)]
    return found if shape is None else [*found, ("shape", thing.dense_shape)]


def _sparse_of_scipy(thing: Any) -> Items:
    """As what it stands for: of the order of its entries nothing depends."""
    if int(np.prod(np.asarray(thing.shape, np.float64))) <= _DENSE:
        return [(_ITSELF, thing.toarray())]
    thing = thing.tocoo(copy=True)
    thing.sum_duplicates()
    places = getattr(thing, "coords", (thing.row, thing.col))
    return [("values", thing.data), ("indices", np.stack(places)), ("shape", np.array(thing.shape))]


def _parts_of_torch(thing: Any) -> Items | None:
    if getattr(thing, "is_nested", False):
        return list(enumerate(thing.unbind()))
    if getattr(thing, "is_quantized", False):
        return [(_ITSELF, thing.dequantize())]
    if callable(getattr(thing, "get_mask", None)):
        mask = thing.get_mask()
        return [("data", thing.get_data().where(mask, 0)), ("mask", mask)]
    if callable(getattr(thing, "__tensor_flatten__", None)):
        names, context = thing.__tensor_flatten__()
        settings = context.items() if isinstance(context, dict) else ()
        return [
            *((name, getattr(thing, name)) for name in names),
            *((name, item) for name, item in settings if type(item) in (int, float)),  # as a scale
        ]
    layout = str(getattr(thing, "layout", "torch.strided"))
    if not layout.startswith("torch.sparse"):
        return None
    if thing.numel() <= _DENSE or layout != "torch.sparse_coo":
        return [(_ITSELF, thing.to_dense())]
    thing = thing.coalesce()
    shape = ("shape", np.array(thing.shape))
    return [("values", thing.values()), ("indices", thing.indices()), shape]


def is_narrow(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array holds numbers in a format that NumPy has not, such as bfloat16."""
    kind = array.dtype
    return kind.name.startswith(("bfloat", "float8")) or kind.kind == "V" and not kind.names


def foreign(thing: Any) -> Foreign | None:
    """A tensor of a framework that is not the model's, as an array."""
    given = thing
    if not (hasattr(thing, "shape") and hasattr(thing, "dtype")):
        return None
    if is_librarys(type(thing), "detach"):  # torch
        thing = thing.detach().cpu().resolve_conj().resolve_neg()
        thing = thing.float() if str(thing.dtype) == "torch.bfloat16" else thing
    thing = getattr(thing, "array", thing)  # Chainer
    makes = is_librarys(type(thing), "numpy")
    if not (makes or hasattr(thing, "__array__")):
        return None
    array = np.asarray(thing.numpy() if makes else thing)
    if is_narrow(array):
        array = array.astype(np.float32)
    return Foreign(array, given) if array.dtype.kind in NUMBERS else None
