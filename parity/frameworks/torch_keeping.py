"""torch: tensors, written in whatever way, their gradients, and generators."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from parity.keeping.leaf import Flag, Leaf, Put, StateRules, kept_flags, unchanged


def holders() -> tuple[type, ...]:
    training = torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, torch.amp.GradScaler
    drawing = torch.distributions.Distribution, torch.distributions.Transform
    return (torch.nn.Module, *training, *drawing)


def makes(owner: Any, name: Any, before: Any, now: Any) -> bool:
    return isinstance(now, (torch.nn.Module, torch.nn.Parameter))


def settings() -> list[Put]:
    random = torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []

    def put_back() -> None:
        torch.set_rng_state(random)
        if cuda:
            torch.cuda.set_rng_state_all(cuda)

    return [put_back, kept_flags(_FLAGS)]


_cudnn = torch.backends.cudnn
_FLAGS: tuple[Flag, ...] = (
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (
        lambda: (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
        lambda both: torch.use_deterministic_algorithms(both[0], warn_only=both[1]),
    ),
    *(
        (partial(getattr, _cudnn, name), partial(setattr, _cudnn, name))
        for name in ("deterministic", "benchmark")
    ),
)


def streams() -> dict[str, Any]:
    return {"torch": torch.get_rng_state().numpy().tobytes()}


def leaf(thing: Any) -> Leaf | None:
    if isinstance(thing, torch.Generator):
        return Leaf(lambda: partial(thing.set_state, thing.get_state()), move=thing.manual_seed)
    if isinstance(thing, _BaseDataLoaderIter):
        return Leaf(lambda: unchanged(lambda: thing._num_yielded))
    if not isinstance(thing, torch.Tensor):
        return None
    grad = thing.grad if thing.is_leaf else None
    inside = (("grad", grad), ("", getattr(thing, "__dict__", None)))
    return Leaf(partial(_tensor, thing, grad), inside)


def _tensor(thing: torch.Tensor, grad: torch.Tensor | None) -> Put:
    if torch.nn.parameter.is_lazy(thing) or thing.is_meta:
        return lambda: None  # it has no contents yet
    contents = thing.detach().clone()
    place = thing.detach() if thing.layout == torch.strided else thing
    leaf, trains = thing.is_leaf, thing.requires_grad
    version = () if thing.is_inference() else torch.autograd._unsafe_preserve_version_counter(thing)

    def put_back() -> None:
        if not _at(thing, place):  # `.data` was given another tensor
            thing.data = place
        if not _same_bytes(place, contents):
            with torch.inference_mode(thing.is_inference()), torch.no_grad():
                place.copy_(contents)
        if version:  # a backward pass that had begun asks for it
            version.__exit__()
        if leaf and thing.grad is not grad:
            thing.grad = grad
        if leaf and thing.requires_grad != trains:
            thing.requires_grad_(trains)

    return put_back


def _at(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.layout != torch.strided or b.layout != torch.strided:
        return bool(a.layout == b.layout)
    same = a.shape == b.shape and a.dtype == b.dtype and a.stride() == b.stride()
    return bool(same and a.data_ptr() == b.data_ptr())


_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # by the bytes of an element


def _same_bytes(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors hold the same bits; False where that is unknown."""
    try:
        # as whole numbers, for NaN is no NaN's equal; wide ones are compared faster than bytes
        bits = _BITS.get(a.itemsize, torch.uint8)
        first, second = (one.contiguous().reshape(-1).view(bits) for one in (a, b))
        return bool(torch.equal(first, second))
    except RuntimeError:  # sparse, quantised, conjugate
        return False


STATE = StateRules(holders=holders, leaf=leaf, settings=settings, streams=streams, makes=makes)
