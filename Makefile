# `make demo` and `make test` are the two commands; each does all its own set-up.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast lint docs gallery clean
# Small matrices: one thread per process is fastest. Many processes start: none compiles Python anew.
ENV := export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1; unset PYTHONDONTWRITEBYTECODE; source scripts/env.sh

help:  ## this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

setup:  ## virtual environment, ROS 2 (the sourced one, else wheels) and messages
	@bash scripts/setup.sh

demo: setup  ## live payload identification on a simulated xArm 7, with a report
	@$(ENV) && exec sysid up demo --out results/demo $(ARGS)

test: setup  ## the whole test suite
	@$(ENV) && exec python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

test-fast: setup  ## without the slow studies and the ROS nodes
	@$(ENV) && exec python -m pytest -q -n 2 --dist loadfile -m 'not slow and not ros' $(ARGS)

lint: setup  ## ruff and mypy
	@$(ENV) && ruff check . && ruff format --check . && mypy

docs: setup  ## the documentation site, into site/
	@$(ENV) && NO_MKDOCS_2_WARNING=1 mkdocs build --quiet

gallery: setup  ## photographs of pages, terminals and panels, into docs/pictures
	@$(ENV) && python scripts/gallery.py

clean:  ## removes what setup made
	rm -rf .venv .ros results
