"""Prints what a comparison costs, as ratios to running the two models plainly.

    python -m benchmarks.compare [--rounds 7] [nature_dqn resnet50 lstm transformer]

Each pair is timed in a process of its own. Times are medians over rounds in which everything takes
its turn, so that a slow moment of the machine hits all alike; torch and TensorFlow have one thread
each. Memory is how far the peak of a process rises after its imports: building a model and one
pass of it, for the larger of the two, against building both and comparing them.
"""

import argparse
import gc
import importlib
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib.metadata import packages_distributions, version

MODELS = ("nature_dqn", "resnet50", "lstm", "transformer")
PEAKS = ("torch", "keras", "comparison")


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--rounds", type=int, default=7)
    # What this command asks of the processes that it starts.
    parser.add_argument("--job", choices=("times", *PEAKS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    models = arguments.models or MODELS
    for model in models:
        if model not in MODELS:
            parser.error(f"no model {model!r}; there are {', '.join(MODELS)}")
    if arguments.rounds < 1:
        parser.error("--rounds must be 1 or more")
    if arguments.job == "times":
        print(json.dumps(asdict(measure_times(models[0], arguments.rounds))))
    elif arguments.job:
        print(json.dumps(peak_of(models[0], arguments.job)))
    else:
        measure_and_print(models, arguments.rounds)


def measure_and_print(models, rounds):
    # This process imports no framework: a new one starts with the peak of the one that starts it.
    times = {model: Times(**in_new_process(model, "times", rounds)) for model in models}
    memory = {
        model: Memory(**{job: in_new_process(model, job, rounds) for job in PEAKS})
        for model in models
    }
    print_tables(times, memory, rounds)


def in_new_process(model, job, rounds):
    command = [sys.executable, "-m", "benchmarks.compare", model]
    command += ["--job", job, "--rounds", str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


# --- time --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Times:
    """Median seconds of each thing done, and what the comparison said."""

    torch: float
    keras: float
    record_torch: float
    record_keras: float
    comparison: float
    verdict: str


def measure_times(name, rounds):
    module = load_models(name)
    import parity
    from parity.frameworks import load

    torch_model, keras_model, torch_inputs, keras_inputs = module.pair()
    reference = parity.wrap(torch_model, inputs=torch_inputs)
    candidate = parity.wrap(keras_model, inputs=keras_inputs)
    jobs = {
        "torch": plain_torch(torch_model, torch_inputs),
        "keras": plain_keras(keras_model, keras_inputs),
        "record_torch": lambda: load("torch").record(reference, torch_inputs),
        "record_keras": lambda: load("tensorflow").record(candidate, keras_inputs),
        "comparison": lambda: parity.compare(reference, candidate),
    }
    seconds = {job: [] for job in jobs}
    for turn in range(rounds + 1):
        for job, work in jobs.items():
            gc.collect()  # nobody pays for what another left behind
            start = time.perf_counter()
            result = work()
            if turn > 0:  # the first is to warm up
                seconds[job].append(time.perf_counter() - start)
            if job == "comparison":
                verdict = result.verdict
            del result
    medians = {job: statistics.median(taken) for job, taken in seconds.items()}
    return Times(**medians, verdict=verdict)


def plain_torch(model, inputs):
    import torch

    tensor = torch.from_numpy(inputs)

    def forward():
        with torch.no_grad():
            return model(tensor)

    return forward


def plain_keras(model, inputs):
    import tensorflow as tf

    tensor = tf.constant(inputs)
    return lambda: model(tensor, training=False)


def load_models(name):
    """The module of a pair of models; sets one thread, before TensorFlow's first operation."""
    module = importlib.import_module(f"benchmarks.models.{name}")
    import tensorflow as tf
    import torch

    torch.set_num_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    return module


# --- memory ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Memory:
    """How far each job raised the peak of its process, in bytes."""

    torch: int
    keras: int
    comparison: int


def peak_of(name, job):
    module = load_models(name)
    from parity import compare, wrap

    before = peak_so_far()
    if job == "torch":
        plain_torch(module.torch_model(), module.inputs_for_torch())()
    elif job == "keras":
        plain_keras(module.keras_model(), module.inputs_for_keras())()
    else:
        torch_model, keras_model, torch_inputs, keras_inputs = module.pair()
        compare(wrap(torch_model, inputs=torch_inputs), wrap(keras_model, inputs=keras_inputs))
    return peak_so_far() - before


def peak_so_far():
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kibibytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


# --- the tables --------------------------------------------------------------------------------


def print_tables(times, memory, rounds):
    """Markdown, to be pasted into docs/performance.md as it is."""
    installed = packages_distributions()  # TensorFlow comes under several names
    names = ("torch", "tensorflow", "keras", "numpy")
    libraries = ", ".join(f"{installed[name][0]} {version(installed[name][0])}" for name in names)
    print(
        f"Python {platform.python_version()}, {libraries}; one thread; medians of {rounds} rounds."
    )
    print()
    print(
        "| time | verdict | plain torch + Keras | recording torch | recording Keras | comparison |"
    )
    print("|---|---|---|---|---|---|")
    for name, taken in times.items():
        plain = taken.torch + taken.keras
        print(
            f"| {name} | {taken.verdict}"
            f" | {1e3 * taken.torch:.1f} + {1e3 * taken.keras:.1f} ms"
            f" | {taken.record_torch / taken.torch:.2f} of its pass"
            f" | {taken.record_keras / taken.keras:.2f} of its pass"
            f" | {taken.comparison / plain:.1f} of both passes |"
        )
    print()
    print("| memory | torch | Keras | comparison | of the larger |")
    print("|---|---|---|---|---|")
    for name, used in memory.items():
        mebibytes = [
            f"{count / 2**20:.0f} MiB" for count in (used.torch, used.keras, used.comparison)
        ]
        ratio = used.comparison / max(used.torch, used.keras)
        print(f"| {name} | {' | '.join(mebibytes)} | {ratio:.1f} |")


if __name__ == "__main__":
    main()
