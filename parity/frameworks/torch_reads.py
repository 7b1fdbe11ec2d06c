"""What a torch model does where no operation is dispatched: reads by the host, other threads.

And what only the layer that ran knows of a value: that it is a state.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook
from torch.utils._python_dispatch import TorchDispatchMode

from parity.code_owners import is_librarys
from parity.frameworks.threads import followed
from parity.frameworks.torch_watcher import Watcher

# How the host reads a tensor without an operation; `.item()` is one.
_READERS = ("numpy", "tolist")


@contextlib.contextmanager
def seen(watcher: Watcher) -> Iterator[None]:
    """Tells a watcher of what the host reads, of states, and of what other threads do."""
    before = {name: vars(torch.Tensor).get(name) for name in _READERS}
    for name in _READERS:
        setattr(torch.Tensor, name, _told(getattr(torch.Tensor, name), watcher))
    hook = register_module_forward_hook(functools.partial(_gave, watcher))
    try:
        with followed(lambda: _InThread(watcher)):
            yield
    finally:
        hook.remove()
        watcher.done = True
        for name, method in before.items():
            if method is None:
                delattr(torch.Tensor, name)
            else:
                setattr(torch.Tensor, name, method)


def _gave(watcher: Watcher, module: torch.nn.Module, given: Any, result: Any) -> None:
    """A recurrent layer of torch's gives its states with an axis of layers and directions."""
    if isinstance(module, torch.nn.RNNBase) and is_librarys(type(module), "forward"):
        states = result[1]
        watcher.recorder.gives_states([states] if isinstance(states, torch.Tensor) else states)


def _told(method: Any, watcher: Watcher) -> Any:
    @functools.wraps(method)
    def read(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        result = method(tensor, *args, **kwargs)
        watcher.host_reads(tensor)
        return result

    return read


class _InThread(TorchDispatchMode):
    """Hands the operations of another thread to a watcher, as long as that records."""

    def __init__(self, watcher: Watcher) -> None:
        super().__init__()
        self._watcher = watcher

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if self._watcher.done:
            return func(*args, **(kwargs or {}))
        return self._watcher.__torch_dispatch__(func, types, args, kwargs)
