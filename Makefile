# Every command makes the environment it needs; a machine needs only Python 3.11 or newer.
#
#   make demo       train a classifier of handwritten digits with a tape; leaves out/digits.png and out/tape.html
#   make test       lint, types and tests; a part of those of compiled functions a second time with two devices
#   make test-all   the same with the slow tests, all cases of those that are sampled, and functions that XLA compiles beside
#   make test-browser  the page of tape.show in a headless Chromium (which needs chromium and chromedriver)
#   make test-tf    compare with TensorFlow itself, which it installs into an environment of its own
#   make test-bridges  gradtape.bridge with PyTorch and with libraries written in JAX
#   make test-keras  run Keras's own tests on gradtape and compare with its JAX backend (GROUPS="losses optimizers": some of them)
#   make test-libraries  libraries written for TensorFlow: their own tests on gradtape, without TensorFlow (LIBRARIES="trfl gpflow": of some)
#   make test-array-api ARRAY_API_TESTS=path   the official suite of the Array API standard, checked out there with its submodule
#   make test-versions  the lowest and the newest allowed versions of what gradtape needs, on each Python found (PYTHONS="3.12": on some)
#   make bench      measure against NumPy and other libraries (QUICK=1: in about two minutes)
#   make lint       lint and types only
#   make names      write the public namespaces from what the definitions say is public
#   make clean      remove everything that these commands made

PYTHON ?= python3
WORKERS ?= 2

SOURCES := src tests tests_bridges tests_browser tests_tf tools examples benchmarks

# XLA can pretend that there are several CPUs, if it is told so before it starts: a second run of the tests that a second device concerns.
TWO_DEVICES = JAX_PLATFORMS=cpu XLA_FLAGS="$$XLA_FLAGS --xla_force_host_platform_device_count=2"
COMPILED := tests/functions tests/core/xla tests/core/test_device.py tests/engines/xla tests/transforms/test_graph_gradients.py tests/test_moments.py tests/keras/test_keras_core.py tests/keras/test_keras_compiled.py tests/keras/test_keras_mixed_precision.py tests/keras/test_keras_training.py
# The longest tables among them say nothing about devices. Of the others `make test` runs a part, and all that are marked `devices`.
LONG := --ignore=tests/functions/test_second_orders_of_effects.py --ignore=tests/functions/test_reach.py --ignore=tests/functions/test_bodies.py

.PHONY: help demo test test-all test-browser test-tf test-bridges test-keras test-libraries test-array-api test-versions bench lint names clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   //p' Makefile

# Small matrices gain nothing from BLAS threads, and lose much when other processes want the cores.
demo test test-all test-browser test-tf test-bridges test-keras test-libraries test-array-api test-versions: export OPENBLAS_NUM_THREADS = 1

demo: .venv/.installed
	@.venv/bin/python examples/digits.py

test: lint
	@.venv/bin/python -m pytest -q -n $(WORKERS)
	@$(TWO_DEVICES) .venv/bin/python -m pytest -q -n $(WORKERS) --part=4 $(COMPILED) $(LONG)

test-all: lint
	@.venv/bin/python -m pytest -q -n $(WORKERS) --all
	@$(TWO_DEVICES) .venv/bin/python -m pytest -q -n $(WORKERS) --all $(COMPILED) $(LONG)
	@.venv/bin/python -m pytest -q -n $(WORKERS) --beside $(COMPILED)

test-browser: .venv/.installed
	@.venv/bin/python -m pytest -q tests_browser

test-tf: .venv-tf/.installed
	@.venv-tf/bin/python -m pytest -q tests_tf

test-bridges: .venv-bridges/.installed
	@.venv-bridges/bin/python -m pytest -q tests_bridges

test-keras: .venv-keras/.installed
	@WORKERS=$(WORKERS) .venv-keras/bin/python tools/keras_suite/suite.py $(GROUPS)

test-libraries: .venv-libraries/.installed
	@WORKERS=$(WORKERS) .venv-libraries/bin/python tools/libraries/suite.py $(LIBRARIES)

test-array-api: .venv-array-api/.installed
	@test -f '$(ARRAY_API_TESTS)/array_api_tests/__init__.py' || { echo 'Check out github.com/data-apis/array-api-tests with its submodule, and give its folder: make test-array-api ARRAY_API_TESTS=path'; exit 2; }
	@cd '$(ARRAY_API_TESTS)' && ARRAY_API_TESTS_MODULE=gradtape.array_api $(CURDIR)/.venv-array-api/bin/python -m pytest -q array_api_tests \
		--max-examples 20 --disable-deadline --xfails-file $(CURDIR)/tests/api/array_api/official_failures.txt

test-versions: .venv-versions/.installed
	@WORKERS=$(WORKERS) .venv-versions/bin/python tools/versions.py $(PYTHONS)

# An environment may have OpenBLAS take the kernels of an older processor, which the peers' libraries do not heed.
bench: .venv-bench/.installed
	@env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE .venv-bench/bin/python -m benchmarks

lint: .venv/.installed
	@.venv/bin/ruff check $(SOURCES)
	@.venv/bin/ruff format --check $(SOURCES)
	@.venv/bin/mypy

names: .venv/.installed
	@.venv/bin/python tools/names.py

# A stamp says that an environment has what pyproject.toml asks for.
.venv/.installed: EXTRAS := test,demo
.venv-bench/.installed: EXTRAS := bench
.venv-tf/.installed: EXTRAS := test
.venv-tf/.installed: MORE := tensorflow-cpu
.venv-bridges/.installed: EXTRAS := test
.venv-bridges/.installed: MORE := torch==2.13.0 diffrax optimistix lineax equinox optax flax
.venv-keras/.installed: EXTRAS := test
.venv-keras/.installed: MORE := tensorflow-cpu grain pandas pillow
.venv-array-api/.installed: EXTRAS := test
.venv-array-api/.installed: MORE := pytest-json-report ndindex
.venv/.installed .venv-bench/.installed .venv-tf/.installed .venv-bridges/.installed .venv-keras/.installed .venv-array-api/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("gradtape needs Python 3.11 or newer: make PYTHON=python3.11 ..." if sys.version_info < (3, 11) else 0)'
	@echo "Preparing $(@D) (once, and again when pyproject.toml changes)"
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]' $(MORE)
	@touch $@

# What the libraries need, and then the libraries themselves, without the TensorFlow that they ask for.
.venv-libraries/.installed: pyproject.toml
	@echo "Preparing $(@D) (once, and again when pyproject.toml changes)"
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' absl-py attrs cloudpickle decorator deprecated dm-tree \
		dropstackframe eagerpy einops gast GitPython lark matplotlib mock multipledispatch opencv-python-headless packaging parameterized requests \
		scikit-image scikit-learn scikit-optimize setuptools six tabulate typing-extensions wrapt
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps check-shapes deepxde dm-sonnet foolbox gpflow \
		tensorflow-probability trfl xplique
	@touch $@

# It holds uv, which makes an environment for each Python and each end of the bounds.
.venv-versions/.installed:
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.5'
	@touch $@

clean:
	rm -rf .venv .venv-bench .venv-tf .venv-bridges .venv-keras .venv-libraries .venv-array-api .venv-versions out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis benchmarks/results.json
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +
