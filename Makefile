# Everything a developer does has a name here. `make serve` to see it, `make check` while you work, `make test` before
# you hand over.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help serve install page check test lint bench soak fuzz

help: ## Shows this list.
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

serve: page ## Builds everything, runs the server and opens the page.
	cargo run --package manent-cli --bin manent -- serve --open

install: page ## Installs the program `manent` for this user (cargo install).
	cargo install --locked --path crates/manent-cli

page: ## Builds the page that the server shows.
	@scripts/build-page

check: page lint ## Lint, unit and contract tests (under five minutes).
	@scripts/run-tests check

test: page lint ## Everything; ends with what could not run.
	@scripts/run-tests all

lint: ## Formatting and clippy, warnings refused.
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- --deny warnings

bench: page ## Measures against the limit and the peers; writes docs/performance.md.
	cargo build --release --package manent-cli --package manent-bench
	cargo run --release --quiet --package manent-bench --bin manent-bench -- --write docs/performance.md

soak: ## The long runs: 1,000,000 operations, 10,000 kills, 100,000 crash states; 1,000 outages and 10 failovers of PostgreSQL.
	@MANENT_OPERATIONS=1000000 MANENT_CYCLES=10000 MANENT_STATES=100000 MANENT_OUTAGES=1000 MANENT_CUTS=100000 MANENT_FAILOVERS=10 \
		scripts/run-tests soak

fuzz: ## Every reader of files against broken ones, a minute each (MANENT_FUZZ_SECONDS); inputs that break one are kept.
	@MANENT_FUZZ_SECONDS=$${MANENT_FUZZ_SECONDS:-60} \
		cargo test --package manent-formats --test it -- --nocapture --test-threads=1 fuzz::
