# The two commands of the README are `make demo` and `make test`; both make the environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src/core -type f) CMakeLists.txt pyproject.toml

.PHONY: demo test test-triton test-gpu lint docs sanitize bench bench-quick bench-corpus bench-life bench-search clean

demo: $(VENV)/built
	$(BIN)/paravec demo

# (A worker a core: threads of linear algebra beside them would only wait for each other.)
test: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto src tests

# The kernels of the GPU engine, in Triton's interpreter, on any machine.
test-triton: $(VENV)/triton
	OMP_NUM_THREADS=1 TRITON_INTERPRET=1 $(BIN)/python -m pytest -n auto tests/gpu

# The same on a GPU, and what needs one.
test-gpu: $(VENV)/triton
	$(BIN)/python -m pytest -n auto tests/gpu

lint: $(VENV)/built
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, in build/site/index.html; a warning is an error.
docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# AddressSanitizer and UBSan on everything; ThreadSanitizer on inference (training races by design).
sanitize: $(VENV)/built
	$(BIN)/python tests/sanitize.py

# Beside gensim on IMDB, all of it (hours) or a tenth (minutes): make bench-quick IMDB=path/to/aclImdb.tar.xz
bench: $(VENV)/rivals
	$(BIN)/python benchmarks/rival.py $(IMDB)
	$(BIN)/python benchmarks/tables.py

bench-quick: $(VENV)/rivals
	$(BIN)/python benchmarks/rival.py $(IMDB) --quick
	$(BIN)/python benchmarks/tables.py benchmarks/results/rival-quick.json

# From text to token ids beside tokenizers and plain Python: make bench-corpus IMDB=path/to/aclImdb.tar.xz
bench-corpus: $(VENV)/rivals
	$(BIN)/python benchmarks/corpus.py $(IMDB)

# Opening, saving and the start of the command line, on a model of 10 million documents (5 GB of memory, 10 of disk).
bench-life: $(VENV)/built
	$(BIN)/python benchmarks/life.py

# Search in a million documents, and adding to them: make bench-search IMDB=path/to/aclImdb.tar.xz
bench-search: $(VENV)/rivals
	$(BIN)/python benchmarks/search.py $(IMDB)

$(VENV)/built: $(SOURCES)
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

$(VENV)/triton: $(VENV)/built
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0 -e '.[gpu]'
	touch $@

$(VENV)/docs: $(VENV)/built
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

$(VENV)/rivals: $(VENV)/built
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) build .mypy_cache .pytest_cache .ruff_cache .hypothesis
