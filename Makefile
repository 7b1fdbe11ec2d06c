# The project's commands, for a machine with python3, venv, pip and make: `make demo`, `make test`.

# Chainer ends below Python 3.12, so 3.10 and 3.11 go first; a later one does all but Chainer.
PYTHON ?= $(shell for python in python3 python3.11 python3.10; do \
	$$python -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 10), (3, 11)))' 2>/dev/null \
	&& echo $$python && exit; done; echo python3)

# pip reads these itself; the second is how a newer pip is told what an isolated build may use.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test laws rllib strangers lint docs wheel-test

# The demo's models differ on purpose, and `parity` exits with 1 for 'diverged': that is success.
demo: .venv/installed
	@.venv/bin/parity demo; code=$$?; test $$code -eq 1 || \
		{ echo "make demo: expected exit code 1 (diverged), got $$code" >&2; exit 1; }

# Two processes or more; one test file alone: make test ARGS=tests/unit/test_order.py
ARGS ?= -n auto
test: .venv/installed
	.venv/bin/pytest --ignore tests/rllib $(ARGS)

# RLlib's models in torch and TensorFlow, in an environment of their own.
rllib: .venv-rllib/installed
	.venv-rllib/bin/pytest tests/rllib

# Models of public packages, in an environment of their own: make strangers ARGS="--only bert"
strangers: ARGS =
strangers: .venv-strangers/installed
	.venv-strangers/bin/python -m benchmarks.strangers $(ARGS)

# What holds for all that is drawn, on five times as many examples.
laws: .venv/installed
	.venv/bin/pytest --hypothesis-profile laws tests/observations $(ARGS)

lint: .venv/installed
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy parity
	.venv/bin/lint-imports

# Built once, and again when what it is built from changes.
.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "parity needs Python 3.10 or newer, this is " + sys.version.split()[0])'
	test -x .venv/bin/pip || $(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --upgrade pip
# torch first and at its pin: a newer one, which others would accept, may bring gigabytes of CUDA.
	.venv/bin/pip install --quiet torch
	.venv/bin/pip install --quiet --group dev --editable .
	touch $@

# RLlib needs Keras 2 and versions of its own. tf-keras asks for the `tensorflow` with CUDA, which is
# why it comes alone.
.venv-rllib/installed: export PIP_CONSTRAINT := constraints-rllib.txt
.venv-rllib/installed: export PIP_BUILD_CONSTRAINT := constraints-rllib.txt
.venv-rllib/installed: pyproject.toml constraints-rllib.txt
	test -x .venv-rllib/bin/pip || $(PYTHON) -m venv .venv-rllib
	.venv-rllib/bin/pip install --quiet --upgrade pip
	.venv-rllib/bin/pip install --quiet torch
	.venv-rllib/bin/pip install --quiet tensorflow-cpu "ray[rllib]" --editable .
	.venv-rllib/bin/pip install --quiet --no-deps tf-keras
	touch $@

# Keras 2 for `transformers`, and Keras 3. The packages that come alone ask for torchvision, which is
# made for a torch with CUDA, or for the `tensorflow` with it.
.venv-strangers/installed: export PIP_CONSTRAINT := constraints-strangers.txt
.venv-strangers/installed: export PIP_BUILD_CONSTRAINT := constraints-strangers.txt
.venv-strangers/installed: pyproject.toml constraints-strangers.txt
	test -x .venv-strangers/bin/pip || $(PYTHON) -m venv .venv-strangers
	.venv-strangers/bin/pip install --quiet --upgrade pip
	.venv-strangers/bin/pip install --quiet torch
	.venv-strangers/bin/pip install --quiet tensorflow-cpu keras transformers \
		chainer chainerrl pfrl h5py --editable .
	.venv-strangers/bin/pip install --quiet --no-deps tf-keras pytorchcv efficientnet_pytorch
	touch $@

# The pages of docs/ that are made from the code; tests say when one is stale.
docs: .venv/installed
	for page in options messages api causes modules; do \
		.venv/bin/python -m benchmarks.$$page --write docs/$$page.md || exit; done
	.venv/bin/python -m benchmarks.picture --write docs/report.svg

# The wheel alone, far from the sources: it must import, and show its help, with no framework there.
wheel-test: .venv/installed
	rm -rf build/wheel
	.venv/bin/pip wheel --quiet --no-deps --wheel-dir build/wheel .
	@set -eu; wheel=$$(echo "$$PWD"/build/wheel/*.whl); away=$$(mktemp -d); trap 'rm -rf "$$away"' EXIT; \
	.venv/bin/python -m venv "$$away/venv"; \
	"$$away/venv/bin/pip" install --quiet "$$wheel"; \
	cd "$$away"; \
	venv/bin/python -c 'from importlib.util import find_spec as find; import parity; \
		assert "site-packages" in parity.__file__, parity.__file__; \
		here = [name for name in ("torch", "tensorflow", "keras", "chainer", "jax", "onnx") if find(name)]; \
		assert not here, here'; \
	venv/bin/parity --help >/dev/null; \
	venv/bin/pytest --help >help; grep -e --parity-report help; grep -e --parity-require help; \
	echo "wheel-test: $$(basename "$$wheel") imports, shows its help and its pytest options"
