"""How much memory a transfer takes, beside what the two models take by themselves.

    python -m benchmarks.transfer_memory [--megabytes 2048] [--width 2048] [--target chainer]

A torch net of square dense layers goes into the same in Chainer or Keras. Printed is the peak of
the process's resident memory during the transfer against the size of both models' weights: with all
that Python and the frameworks take by themselves, which two layers of 64 units show, and without.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, BATCH = 2048, 4


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--megabytes", type=int, default=2048, help="of each model's weights")
    options.add_argument("--width", type=int, default=WIDTH, help="units of each layer")
    options.add_argument("--target", choices=TARGETS, default="chainer", help="its framework")
    given = options.parse_args()
    layers = max(1, given.megabytes * 2**20 // (4 * given.width**2))
    return measure(layers, given.width, TARGETS[given.target])


def measure(layers: int, width: int, build: Callable[[int, int], Any]) -> int:
    import parity

    small = np.full((BATCH, 64), 0.5, np.float32)
    parity.transfer(torch_model(2, 64), build(2, 64), inputs=small)
    alone = _status("VmRSS")
    source, target = torch_model(layers, width), build(layers, width)
    both = 2 * 4 * layers * (width**2 + width)
    inputs = np.random.default_rng(0).normal(size=(BATCH, width)).astype(np.float32)
    before = _status("VmRSS")
    _forget_peak()
    started = time.perf_counter()
    result = parity.transfer(source, target, inputs=inputs)
    peak = _status("VmHWM")
    print(
        f"{layers} dense layers of {width}: source and target {both / 2**20:,.0f} MB; resident: "
        f"{alone / 2**20:,.0f} MB without them, {before / 2**20:,.0f} MB with them, "
        f"{peak / 2**20:,.0f} MB at most\n"
        f"{peak / both:.2f} times source and target; {(peak - alone) / both:.2f} without Python "
        f"and the frameworks; {result.verdict} in {time.perf_counter() - started:.0f} s"
    )
    return 0 if result.verdict == "parity" else 1


def torch_model(layers: int, width: int):
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    parts = []
    for _ in range(layers):
        parts += [torch.nn.Linear(width, width), torch.nn.Tanh()]
    return torch.nn.Sequential(*parts)


def keras_model(layers: int, width: int):
    import keras

    zeros = {"kernel_initializer": "zeros", "activation": "tanh"}
    parts = [keras.layers.Dense(width, **zeros) for _ in range(layers)]
    return keras.Sequential([keras.layers.Input((width,)), *parts])


def chainer_model(layers: int, width: int):
    from parity.frameworks.chainer import chainer

    links = chainer.links
    parts = []
    for _ in range(layers):
        parts += [links.Linear(width, width, initialW=0), chainer.functions.tanh]
    model = chainer.Sequential(*parts)
    model.cleargrads()  # Chainer makes them with the parameters, of the same size
    return model


TARGETS = {"chainer": chainer_model, "keras": keras_model}


def _status(name: str) -> int:
    """A figure of Linux's about this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("This needs Linux's /proc/self/status.")


def _forget_peak() -> None:
    """Starts the peak anew: what building the models took is no part of the transfer."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("The peak includes what building the models took.", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
