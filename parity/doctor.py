"""`parity doctor`: what can change numbers here: versions, threads, precision, determinism."""

from __future__ import annotations

import os
import platform
import sys
import warnings
from collections.abc import Callable, Mapping

import numpy as np

from parity import __version__
from parity.errors import FrameworkMissing
from parity.frameworks import FRAMEWORKS, load
from parity.frameworks.tf_logging import silence_imports

# What libraries read at their start: how they split sums, round, or choose kernels.
_VARIABLES = (
    "OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS MKL_CBWR ONEDNN_MAX_CPU_ISA "
    "TF_ENABLE_ONEDNN_OPTS TF_DETERMINISTIC_OPS TF_NUM_INTRAOP_THREADS TF_NUM_INTEROP_THREADS "
    "KERAS_BACKEND XLA_FLAGS NVIDIA_TF32_OVERRIDE TORCH_ALLOW_TF32_CUBLAS_OVERRIDE "
    "CUBLAS_WORKSPACE_CONFIG CUDA_VISIBLE_DEVICES PYTHONHASHSEED"
).split()


def examine() -> str:
    """The findings, a section for the machine and one for each framework."""
    silence_imports()
    sections = [_section("machine", _machine())]
    sections += [_section(name, _framework(name)) for name in FRAMEWORKS]
    return "\n\n".join(sections)


def _section(title: str, facts: Mapping[str, str]) -> str:
    return "\n".join([title, *(f"  {name:<28}{value}" for name, value in facts.items())])


def _machine() -> dict[str, str]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "parity": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": f"{usable} usable of {os.cpu_count()}",
    } | {name: os.environ[name] for name in _VARIABLES if name in os.environ}


def _framework(name: str) -> dict[str, str]:
    """A framework's versions and switches, or why there are none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            facts = load(name).versions() | _MORE[name]()
            return facts | {"subnormal numbers": _subnormals(name)}
    except FrameworkMissing as missing:
        return {"missing": str(missing)}
    except Exception as error:  # a broken installation is what a doctor is asked about
        return {"broken": f"{type(error).__name__}: {error}"}


def _subnormals(name: str) -> str:
    """What becomes of numbers below float32's smallest normal one, found by computing some."""
    adapter = load(name)
    tiny = np.full(1000, 1e-39, dtype=np.float32)
    halves = adapter.to_numpy(adapter.from_numpy(tiny) * 0.5)
    return "kept" if (halves > 0).all() else "flushed to zero"


# --- what a comparison does not note, and a doctor does ------------------------------------------


def _torch() -> dict[str, str]:
    import torch

    return {
        "threads between operations": str(torch.get_num_interop_threads()),
        "float32 matmul precision": torch.get_float32_matmul_precision(),
        "cudnn deterministic": _on(torch.backends.cudnn.deterministic),
        "cudnn benchmark": _on(torch.backends.cudnn.benchmark),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
    }


def _tensorflow() -> dict[str, str]:
    import keras
    import tensorflow as tf

    return {
        "keras": keras.__version__,
        "keras backend": keras.config.backend(),
        "keras floatx": keras.config.floatx(),
        "keras dtype policy": keras.config.dtype_policy().name,
        "keras image data format": keras.config.image_data_format(),
        # the logical ones, for asking after them starts TensorFlow, without which nothing runs
        "devices": ", ".join(device.name for device in tf.config.list_logical_devices()),
    }


def _chainer() -> dict[str, str]:
    config = sys.modules["chainer"].config
    return {
        "train": _on(config.train),
        "cudnn deterministic": _on(config.cudnn_deterministic),
        "autotune": _on(config.autotune),
    }


def _numpy() -> dict[str, str]:
    built = np.show_config(mode="dicts") or {}
    blas = built.get("Build Dependencies", {}).get("blas", {})
    return {"blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()}


def _on(flag: object) -> str:
    return "on" if flag else "off"


_MORE: dict[str, Callable[[], dict[str, str]]] = {
    "torch": _torch,
    "tensorflow": _tensorflow,
    "chainer": _chainer,
    "numpy": _numpy,
}
