"""Chainer runs on NumPy 2, and NumPy stays as it was; each in a process of its own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("pkg_resources")

ROOT = Path(__file__).parents[2]


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_numpy_is_clean_after_the_import() -> None:
    names = run(
        """
        import numpy as np
        before = set(dir(np))
        from parity.frameworks.chainer_numpy import import_chainer
        chainer = import_chainer()
        assert chainer.__version__ == "7.8.1" and import_chainer() is chainer
        np.ma.array([1.0, 2.0], mask=[True, False]).sum()
        print(sorted({"float", "sctypes", "bool"} & (set(dir(np)) ^ before)))
        print(hasattr(np, "float"), hasattr(np, "sctypes"), np.bool is np.bool_)
        """
    )
    assert names.splitlines() == ["[]", "False False True"]


def test_a_net_runs_forward_and_backward() -> None:
    run(
        """
        from parity.frameworks.chainer_numpy import import_chainer
        chainer = import_chainer()
        import numpy as np
        import chainer.functions as F, chainer.links as L
        conv, norm, lstm = L.Convolution2D(2, 3, 3), L.BatchNormalization(3), L.LSTM(3 * 4 * 5, 6)
        x = chainer.Variable(np.random.randn(7, 2, 6, 7).astype("f"))
        y = lstm(F.resize_images(norm(conv(x)), (4, 5)))
        z = F.sum(F.as_strided(y, (7, 3), (6, 1), 0)) + F.sum(F.get_item(y, 0))
        for link in (conv, norm, lstm):
            link.cleargrads()
        z.backward()
        assert np.isfinite(conv.W.grad).all() and abs(x.grad).max() > 0
        """
    )


def test_an_import_that_failed_before_is_made_good() -> None:
    run(
        """
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                import chainer
            except AttributeError:
                pass
            else:
                raise SystemExit("plain import works: the shim is no longer needed")
        from parity.frameworks.chainer_numpy import import_chainer
        chainer = import_chainer()
        assert chainer.functions.relu and chainer.links.Linear and chainer.backends.cuda
        """
    )


def test_a_users_own_shim_is_left_alone() -> None:
    assert (
        run(
            """
        import warnings
        import numpy as np
        np.float, np.sctypes = float, {"int": [np.int64], "float": [np.float64]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import chainer
        from parity.frameworks.chainer_numpy import import_chainer
        assert import_chainer() is chainer
        print(np.float is float, list(np.sctypes))
        """
        )
        == "True ['int', 'float']"
    )


def test_missing_pkg_resources_is_said() -> None:
    assert "setuptools<81" in run(
        """
        import sys
        sys.modules["pkg_resources"] = None
        import importlib.util
        from parity.errors import FrameworkMissing
        from parity.frameworks import chainer_numpy
        del sys.modules["pkg_resources"]
        chainer_numpy.importlib.util.find_spec = lambda name: None
        try:
            chainer_numpy.import_chainer()
        except FrameworkMissing as error:
            print(error)
        """
    )


NETS = """\
import parity
import chainer.links as L
from chainer import functions as F
import numpy as np

weight = np.random.default_rng(0).normal(size=(3, 7)).astype("f")
dense = L.Linear(7, 3, initialW=weight)


def reference(x):
    return F.matmul(x, weight.T)


reference = parity.wrap(reference, framework="chainer")


def test_they_agree(assert_parity):
    assert_parity(reference, dense, inputs=np.random.default_rng(0).normal(size=(5, 7)))
"""


def test_a_users_module_imports_it_after_nothing_but_parity() -> None:
    names = run(
        """
        import sys
        import parity
        assert "numpy" not in sys.modules and "chainer" not in sys.modules
        import chainer.functions as F
        import chainer, importlib, inspect, numpy as np
        assert F is chainer.functions and inspect.getsource(chainer)
        assert type(chainer.__spec__.loader).__module__ == "_frozen_importlib_external"
        assert importlib.reload(chainer).functions is F
        F.resize_images(np.ones((1, 1, 2, 2), "f"), (4, 4))
        print(hasattr(np, "float"), hasattr(np, "sctypes"))
        """
    )
    assert names == "False False"


@pytest.mark.parametrize("program", ["import chainer.functions", "from chainer import links"])
def test_an_import_in_the_users_module_after_one_that_failed(program: str) -> None:
    run(
        f"""
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                import chainer
            except AttributeError:
                pass
        import parity
        {program}
        """
    )


def test_other_imports_never_meet_it() -> None:
    run(
        """
        import sys
        import parity
        import importlib
        importlib.reload(parity)
        home = "parity.frameworks.import_hooks"
        installed = [one for one in sys.meta_path if type(one).__module__ == home]
        assert sorted(one.surrounds for one in installed) == ["chainer", "keras"], sys.meta_path
        for name in ("chainerrl", "json", "chainer.links", "torch", "keras.layers"):
            assert all(one.find_spec(name) is None for one in installed)
        import importlib.util
        assert importlib.util.find_spec("chainer").origin.endswith("__init__.py")
        assert "chainer" not in sys.modules and "numpy" not in sys.modules
        """
    )


@pytest.mark.parametrize(
    "command",
    [
        ["-m", "parity", "compare", "nets:reference", "nets:dense", "--random", "5,7"],
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "parity.pytest_plugin", "nets.py"],
    ],
    ids=["command", "pytest"],
)
def test_the_command_and_pytest_import_it(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_where_chainer_is_missing_python_says_so() -> None:
    run(
        """
        import sys
        import parity
        for finder in sys.meta_path:
            if hasattr(finder, "path_hooks") or getattr(finder, "__name__", "") == "PathFinder":
                sys.meta_path.remove(finder)
        try:
            import chainer
        except ModuleNotFoundError as error:
            assert error.name == "chainer"
        else:
            raise SystemExit("it was found")
        """
    )
