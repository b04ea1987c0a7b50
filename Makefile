# Two commands to know: `make demo` and `make test`. Both set up what they need in .venv first.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DEMO   := demo

# Tests run on every core already; a BLAS that also did would only get in the way.
ONE_BLAS_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

# Without compiled files each process of the tests, and every command they start, compiles anew.
KEEP_BYTECODE := PYTHONDONTWRITEBYTECODE=

# Two more than there are cores: tests that wait for a browser or a server leave room for others.
TEST_PROCESSES := $(shell expr $$(nproc 2>/dev/null || echo 2) + 2)

.PHONY: demo docs pictures comparison test test-slow test-all test-r r-tools lint audit types everyday tools format figures coverage clean bench \
  bench-quick bench-large bench-site bench-faults bench-soak bench-pairing bench-promise bench-map bench-votes bench-designs \
  bench-install test-wheel test-pythons test-lowest \
  experiments prior-predictive fuzz

# What a user of maps and of the site has; the developers' tools are not needed here.
demo: $(VENV)/.installed
	$(BIN)/tiewise simulate $(DEMO)/data --county 60 --comparisons 900 --seed 7 --force
	$(BIN)/tiewise fit $(DEMO)/data/comparisons.csv --areas $(DEMO)/data/areas.gpkg \
	  --question "Which ward has the higher rate of fly-tipping?" \
	  --higher "higher rate" --lower "lower rate" --noun ward \
	  --seed 1 --out $(DEMO)/results --force
	@echo "Open $(DEMO)/results/report.html in a browser; the truth is in $(DEMO)/data/truth.csv"
	@echo "To watch two studies being judged, in a browser: $(BIN)/tiewise demo"

# Style and types are checked beside the tests, as they keep one core busy and not two.
test: $(VENV)/.ready tools
	@$(MAKE) --no-print-directory -j 3 lint types everyday

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/check_bandit.py

# Known vulnerabilities of what is installed. Needs the network; says NOT RUN where there is none.
audit: $(VENV)/.ready
	$(BIN)/python tools/audit.py

types: $(VENV)/.ready
	$(BIN)/mypy

# In a fresh checkout one process compiles the tests, beside mypy, and not each of four.
everyday: $(VENV)/.ready tools
	@ls tests/__pycache__/test_*.pyc >/dev/null 2>&1 || \
	  $(KEEP_BYTECODE) $(BIN)/pytest -q --collect-only -m "not slow" >/dev/null 2>&1 || true
	$(ONE_BLAS_THREAD) $(KEEP_BYTECODE) $(BIN)/pytest -q -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder \
	  -m "not slow"

# Pages are opened in a real browser, the store is tested on a real PostgreSQL server, and recordings are
# cleaned by a real ffmpeg. Where they are missing and there is no leave to install them, those tests are
# left out.
tools:
	@missing=""; \
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	  command -v google-chrome >/dev/null || missing="chromium fonts-dejavu-core"; \
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null || \
	  missing="$$missing postgresql"; \
	command -v ffmpeg >/dev/null || missing="$$missing ffmpeg"; \
	if [ -z "$$missing" ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
	    --no-install-recommends $$missing >/dev/null; \
	else echo "Missing, so some tests are left out: $$missing (sudo apt install $$missing)"; fi

test-slow: $(VENV)/.ready tools
	$(ONE_BLAS_THREAD) $(KEEP_BYTECODE) $(BIN)/pytest -q -n $(TEST_PROCESSES) --dist load --maxschedchunk 1 \
	  --hypothesis-profile slow -m "slow and not thorough"

# Everything there is; run before a release.
test-all: test test-slow test-r
	$(ONE_BLAS_THREAD) $(KEEP_BYTECODE) $(BIN)/pytest -q -n auto --dist load --maxschedchunk 1 -m thorough
	$(ONE_BLAS_THREAD) $(KEEP_BYTECODE) $(BIN)/pytest -q -n auto --dist load --hypothesis-profile slow \
	  -m "hypothesis and not slow"

# The R package in r/, against this checkout's command; needs R with testthat, posterior, coda, sf, ncdf4, knitr.
test-r: $(VENV)/.ready r-tools
	@library=$$(mktemp -d) && R CMD INSTALL --library=$$library r >/dev/null 2>&1 && cd r/tests && \
	TIEWISE=$(abspath $(BIN)/tiewise) TIEWISE_DATA=$(wildcard $(abspath ../shared/data)) R_LIBS=$$library \
	  sh -c 'Rscript testthat.R && Rscript vignette.R'; status=$$?; rm -rf $$library; exit $$status

r-tools:
	@command -v Rscript >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
	      r-base-core r-cran-testthat r-cran-posterior r-cran-coda r-cran-sf r-cran-ncdf4 r-cran-knitr \
	      r-cran-rmarkdown >/dev/null; \
	  else echo "R is missing (sudo apt install r-base-core r-cran-testthat r-cran-posterior ...)"; exit 1; fi; }

# Wheel and archive as they are released: built twice, checked, installed without the source, used.
test-wheel: $(VENV)/.ready
	$(BIN)/pytest -q tests/deploy/test_wheel.py

# The everyday tests on other Pythons (PYTHONS="python3.12 python3.13"), each in an environment of its own.
PYTHONS ?= python3.12 python3.13 python3.14
test-pythons: tools
	@for python in $(PYTHONS); do \
	  command -v $$python >/dev/null || { echo "$$python: NOT RUN, it is not installed"; continue; }; \
	  $(MAKE) --no-print-directory PYTHON=$$python VENV=$(VENV)-$$python everyday || exit 1; \
	done

# The everyday tests with the oldest libraries that pyproject.toml allows; tools of the tests are the newest
# that go with them (twine asks for a newer rich). Loops are compiled apart: numba is another.
test-lowest: $(VENV)/.ready tools
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)-lowest
	$(BIN)/uv pip install --quiet --python $(VENV)-lowest/bin/python --resolution lowest-direct \
	  --editable '.[all]'
	$(BIN)/uv pip install --quiet --python $(VENV)-lowest/bin/python --editable '.[dev]'
	NUMBA_CACHE_DIR=$(abspath $(VENV)-lowest)/numba $(MAKE) --no-print-directory VENV=$(VENV)-lowest \
	  -o $(VENV)-lowest/.ready everyday

# The tables and lists of docs/architecture.md, measured anew.
figures: $(VENV)/.ready
	$(BIN)/python tools/figures.py --write

# The documentation as a site, in site/; any warning is an error. Its search needs no server.
docs: $(VENV)/.ready
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs site
	@echo "Open site/index.html in a browser"

# The pictures of the explanation pages and the gallery, drawn again.
pictures: $(VENV)/.ready
	$(ONE_BLAS_THREAD) $(BIN)/python tools/pictures.py

# Packages beside ours on the same data, in an environment of their own; writes docs/comparison.md.
comparison: $(VENV)-comparison/.ready
	$(ONE_BLAS_THREAD) $(VENV)-comparison/bin/python -m benchmarks.comparison

$(VENV)-comparison/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)-comparison
	$(VENV)-comparison/bin/python -m pip install --quiet --editable '.[comparison]'
	touch $@

# Line and branch coverage of the tests, for the same page; half an hour.
coverage: $(VENV)/.ready tools
	$(ONE_BLAS_THREAD) $(BIN)/python tools/measure_tests.py

# Times, not tests: run it on a machine that does nothing else (docs/benchmarks.md).
bench: $(VENV)-bench/.ready
	$(VENV)-bench/bin/python -m benchmarks.engines

bench-quick: $(VENV)-bench/.ready
	$(VENV)-bench/bin/python -m benchmarks.engines --quick

# Up to 100,000 items, 10,000 judges, ten million votes: about an hour.
bench-large: $(VENV)-bench/.ready
	$(VENV)-bench/bin/python -m benchmarks.large

# The study site under a crowd of judges, on SQLite and on PostgreSQL.
bench-site: $(VENV)/.ready tools
	$(BIN)/python -m benchmarks.site

# The site amid faults: processes killed, disk full, locks, clock, network (docs/benchmarks-faults.md).
bench-faults: $(VENV)/.ready tools
	$(BIN)/python -m benchmarks.faults

# Memory of the site over two hours of fifty judges.
bench-soak: $(VENV)/.ready
	$(BIN)/python -m benchmarks.soak --minutes 120

# A hundred thousand hostile requests to every route of the site (docs/security-tests.md).
fuzz: $(VENV)/.ready
	$(BIN)/python -m benchmarks.fuzz --requests 100000

# Simulated studies: how many comparisons each pairing policy needs (docs/pairing.md).
bench-pairing: $(VENV)/.ready
	$(ONE_BLAS_THREAD) $(BIN)/python -m benchmarks.pairing

# Whether plans keep what they promise, in fresh simulated studies (docs/planning.md).
bench-promise: $(VENV)/.ready
	$(ONE_BLAS_THREAD) $(BIN)/python -m benchmarks.promise

# The paper's simulation studies and two more, in full; docs/experiments.md is filled from them.
experiments: $(VENV)/.ready
	$(ONE_BLAS_THREAD) $(BIN)/python -m benchmarks.experiments

# What priors predict of a study before the first answer; docs/priors.md is filled from it.
prior-predictive: $(VENV)/.ready
	$(BIN)/python -m benchmarks.prior_predictive --write

# Priors of a map: whether intervals hold, what predicts best, what inferring the share costs
# (docs/inference.md).
bench-map: $(VENV)/.ready
	$(ONE_BLAS_THREAD) $(BIN)/python -m benchmarks.map_prior
	$(ONE_BLAS_THREAD) $(BIN)/python -m benchmarks.map_alternatives
	$(ONE_BLAS_THREAD) $(BIN)/python -m benchmarks.share

# Room and time of the core and of each extra (docs/dependencies.md): a dozen environments.
bench-install: $(VENV)/.ready
	$(BIN)/python tools/measure_install.py

# What designs save in fresh simulated studies, and how long large ones take (docs/designs.md).
bench-designs: $(VENV)/.ready
	$(ONE_BLAS_THREAD) $(BIN)/python -m benchmarks.designs wards --studies 1000
	$(ONE_BLAS_THREAD) $(BIN)/python -m benchmarks.designs dar-es-salaam --studies 200
	$(BIN)/python -m benchmarks.design_scale

# Ten million made-up votes, from Parquet to posterior: seconds and memory (docs/beyond.md).
bench-votes: $(VENV)/.ready
	$(BIN)/python -m benchmarks.votes

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Tiewise needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[data,maps,media,report,site]'
	touch $@

$(VENV)/.ready: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[dev,docs]'
	touch $@

# Tiewise as its users have it, beside NumPyro, nutpie and scikit-learn. Not the tests' environment:
# Dask, which only tests need, would be imported by xarray whenever it is there, at half a second a
# start.
$(VENV)-bench/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-bench/bin/python -m pip install --quiet --editable '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-bench $(DEMO) .mypy_cache .pytest_cache .ruff_cache .hypothesis
