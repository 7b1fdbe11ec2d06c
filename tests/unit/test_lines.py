"""Which code counts as the user's: what lies outside the frameworks, wherever those lie."""

import sys
from types import ModuleType

from parity.callstack import _classify


def code_in(file):
    return compile("def f(): pass", str(file), "exec")


def is_users(file):
    return _classify(code_in(file))[1]


def test_a_framework_imported_after_a_first_comparison_is_no_users_code(tmp_path, monkeypatch):
    elsewhere = tmp_path / "jax"
    assert is_users(elsewhere / "first.py")
    framework = ModuleType("jax")
    framework.__path__ = [str(elsewhere)]
    monkeypatch.setitem(sys.modules, "jax", framework)
    assert not is_users(elsewhere / "second.py")
    assert is_users(tmp_path / "jax_models.py")


def test_the_examples_inside_the_package_are_a_users_code():
    from pathlib import Path

    import parity

    package = Path(parity.__file__).parent
    assert is_users(package / "examples" / "c51_dueling" / "keras_net.py")
    assert not is_users(package / "tape.py")
