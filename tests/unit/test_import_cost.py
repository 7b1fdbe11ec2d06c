"""Having parity installed costs those who do not call it nothing: no framework is imported."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FRAMEWORKS = {"torch", "tensorflow", "keras", "chainer", "jax", "onnx", "onnxruntime", "gymnasium"}
ROOT = Path(__file__).parents[2]

LIST_MODULES = "import json, sys; print(json.dumps(sorted(sys.modules)))"


def modules_after(code: str) -> set[str]:
    """Run code in a fresh interpreter and return the names of the modules it has loaded."""
    command = [sys.executable, "-c", f"{code}\n{LIST_MODULES}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("module", ["parity", "parity.cli", "parity.pytest_plugin"])
def test_importing_it_imports_no_framework(module):
    loaded = modules_after(f"import {module}")
    assert module in loaded
    assert not loaded & FRAMEWORKS


def test_a_pytest_run_that_does_not_use_parity_imports_neither_a_framework_nor_numpy(tmp_path):
    (tmp_path / "test_empty.py").write_text("def test_nothing(): pass\n")
    loaded = modules_after(
        "import os, pytest\n"
        "os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'\n"
        f"code = pytest.main(['-p', 'parity.pytest_plugin', '--rootdir', {str(tmp_path)!r},"
        f" {str(tmp_path)!r}])\n"
        "assert code == 0, code"
    )
    assert "parity.pytest_plugin" in loaded
    assert not loaded & (FRAMEWORKS | {"numpy"})


def test_the_list_of_modules_sees_an_imported_framework():
    pytest.importorskip("torch")
    assert "torch" in modules_after("import torch")
