"""What is particular to TensorFlow and Keras: tensors that are no plain arrays, masks, switches."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from parity.code_owners import is_users_class
from parity.frameworks import owner_of
from parity.frameworks.tensorflow_keeping import STATE
from parity.frameworks.tensorflow_products import product
from parity.frameworks.tensorflow_state import is_traced
from parity.frameworks.tensorflow_weights import WEIGHTS
from parity.frameworks.tensorflow_windows import channel_axis, padding, window
from parity.frameworks.tensorflow_words import SETTINGS
from parity.frameworks.traits import Traits
from parity.outputs.tensors import DENSE, ITSELF, Items, Path, offers


def parts(thing: Any) -> Items | None:
    """Ragged and sparse tensors, rows of gradients, and arrays of tensors."""
    kind = type(thing)
    if owner_of(kind.__module__) != "tensorflow" or is_users_class(kind):
        return None
    if kind.__name__ in ("RaggedTensor", "RaggedTensorValue"):
        splits = enumerate(thing.nested_row_splits)
        return [
            ("values", thing.flat_values),
            *((Path(("row_splits", depth)), split) for depth, split in splits),
        ]
    if kind.__name__ == "IndexedSlices":
        return _rows(thing)
    if kind.__name__ == "TensorArray" and callable(getattr(thing, "stack", None)):
        return [(ITSELF, thing.stack())]
    return _sparse(thing) if kind.__name__ == "SparseTensor" else None


def _sparse(thing: Any) -> Items:
    thing = tf.sparse.reorder(thing)
    if int(np.prod(np.asarray(thing.dense_shape, np.float64))) > DENSE:
        places = ("indices", tf.transpose(thing.indices))
        return [("values", thing.values), places, ("shape", thing.dense_shape)]
    return [(ITSELF, tf.sparse.to_dense(thing))]


def _rows(thing: Any) -> Items:
    """Rows of a gradient, as what they stand for: in any order, and some of them several times."""
    shape = None if thing.dense_shape is None else np.asarray(thing.dense_shape, np.float64)
    if shape is not None and int(np.prod(shape)) <= DENSE:
        return [(ITSELF, tf.convert_to_tensor(thing))]
    places = tf.unique(tf.sort(thing.indices))[0]
    rows = tf.math.unsorted_segment_sum(
        thing.values, tf.searchsorted(places, thing.indices), tf.size(places)
    )
    found = [("values", rows), ("indices", places)]
    return found if shape is None else [*found, ("shape", thing.dense_shape)]


def parameters(thing: Any) -> dict[str, Any] | None:
    """The weights of a tf.Module or a Keras layer, without the state of its generators."""
    if not offers(thing, "with_name_scope") and not offers(thing, "get_weights", "get_config"):
        return None
    held: Any = getattr(thing, "weights", None) or getattr(thing, "variables", ())
    own = f"{getattr(thing, 'name', '')}/"  # which Keras counts on with each layer
    return {getattr(one, "path", one.name).removeprefix(own): one for one in held}


def switches() -> dict[str, str]:
    import keras  # after the user's own settings of its backend

    return {
        "keras": keras.__version__,
        "keras backend": keras.config.backend(),
        "keras floatx": keras.config.floatx(),
        "keras dtype policy": keras.config.dtype_policy().name,
        "keras image data format": keras.config.image_data_format(),
        # the logical ones, for asking after them starts TensorFlow, without which nothing runs
        "devices": ", ".join(device.name for device in tf.config.list_logical_devices()),
    }


TRAITS = Traits(
    state=STATE,
    settings=SETTINGS,
    weights=WEIGHTS,
    window=window,
    padding=padding,
    product=product,
    channel_axis=channel_axis,
    parts=parts,
    is_shape=lambda thing: isinstance(thing, tf.TensorShape),
    marks=("_keras_mask",),  # which Keras's layers and losses read of a tensor
    parameters=parameters,
    is_traced=is_traced,
    switches=switches,
)
