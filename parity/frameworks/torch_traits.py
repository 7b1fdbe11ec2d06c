"""What is particular to torch: tensors that are no plain arrays, modules as outputs, switches."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from parity.code_owners import is_librarys
from parity.frameworks.torch_keeping import STATE
from parity.frameworks.torch_products import product
from parity.frameworks.torch_weights import WEIGHTS
from parity.frameworks.torch_windows import channel_axis, padding, window
from parity.frameworks.torch_words import SETTINGS
from parity.frameworks.traits import Traits
from parity.outputs.tensors import DENSE, ITSELF, Items, offers


def parts(thing: Any) -> Items | None:
    """Nested, quantised and masked tensors, subclasses made of several, and large sparse ones."""
    if not isinstance(thing, torch.Tensor):
        return None
    if getattr(thing, "is_nested", False):
        return list(enumerate(thing.unbind()))
    if getattr(thing, "is_quantized", False):
        return [(ITSELF, thing.dequantize())]
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
    if not str(thing.layout).startswith("torch.sparse"):
        return None
    if thing.numel() <= DENSE or thing.layout != torch.sparse_coo:
        return [(ITSELF, thing.to_dense())]
    thing = thing.coalesce()
    shape = ("shape", np.array(thing.shape))
    return [("values", thing.values()), ("indices", thing.indices()), shape]


def readable(thing: Any) -> Any:
    if not isinstance(thing, torch.Tensor) or not is_librarys(type(thing), "detach"):
        return thing
    thing = thing.detach().cpu().resolve_conj().resolve_neg()
    return thing.float() if thing.dtype == torch.bfloat16 else thing


def parameters(thing: Any) -> dict[str, Any] | None:
    if not offers(thing, "named_parameters", "named_buffers"):
        return None
    return {**dict(thing.named_parameters()), **dict(thing.named_buffers())}


def switches() -> dict[str, str]:
    cudnn = torch.backends.cudnn
    return {
        "threads between operations": str(torch.get_num_interop_threads()),
        "float32 matmul precision": torch.get_float32_matmul_precision(),
        "cudnn deterministic": "on" if cudnn.deterministic else "off",
        "cudnn benchmark": "on" if cudnn.benchmark else "off",
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
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
    readable=readable,
    is_shape=lambda thing: isinstance(thing, torch.Size),
    parameters=parameters,
    switches=switches,
    keywords={"axis": "dim", "epsilon": "eps", "ddof": "correction"},
    imported_as=("torch", "F", "nn"),
    divergences="torch.distributions",
)
