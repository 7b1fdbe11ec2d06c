"""Follows a model into the threads that it gives work to, such as members of an ensemble.

A framework reports operations in the thread in which it was asked to, and in no other.
"""

from __future__ import annotations

import concurrent.futures.thread as pools
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from parity.patching import patched

Entering = Callable[[], contextlib.AbstractContextManager[Any]]


@contextlib.contextmanager
def followed(entering: Entering) -> Iterator[None]:
    """Runs inside `entering()` what other threads begin meanwhile: new threads, and work of pools.

    A thread that outlives this goes on inside it; what `entering` gives must then do nothing.
    """
    inside = threading.local()

    def wrapped(run: Callable[..., Any]) -> Callable[..., Any]:
        def follow(item: Any) -> Any:
            # a thread of a pool waits for work, which is followed by itself
            waits = getattr(item, "_target", None) is pools._worker
            if getattr(inside, "yes", False) or waits:
                return run(item)
            inside.yes = True
            try:
                with entering():
                    return run(item)
            finally:
                inside.yes = False

        return follow

    inside.yes = True  # of this thread, whose work is watched anyway
    thread, work = threading.Thread, pools._WorkItem
    with patched(thread, run=wrapped(thread.run)), patched(work, run=wrapped(work.run)):
        yield
