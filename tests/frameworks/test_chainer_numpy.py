"""Chainer runs on NumPy 2, and NumPy stays as it was; each in a process of its own."""

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("pkg_resources")


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
