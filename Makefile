# The two commands of the README are `make demo` and `make test`; the rest is for those who work on fraglab.

CARGO ?= cargo
DEMO  ?= recordings/demo
RECORDINGS ?= ../shared/recordings
FUZZ_SECONDS ?= 600
GRIDS ?= target/grids

.PHONY: help demo demo-check readme bless papers papers-full-size questions validation validation-grids validation-short test vm-test fmt clippy doc no-std deny test-dev test-optimised audit fuzz bench man perfetto-check web web-check web-test web-bench screenshots

help:
	@echo "make demo    build, replay the shipped recording under its own policy and with vm.defrag_mode=1"
	@echo "make test    everything that must be green before a merge (what CI runs)"
	@echo "make vm-test boot real kernels under QEMU and see that their results come back (skipped, with the reason, without QEMU)"
	@echo "make bless   after a wanted change of the model: golden digests, snapshots and the README's table anew"
	@echo "make papers  docs/papers and docs/questions: the documents and open questions, run again with $(PAPER_SEEDS) seeds a variant (resumable)"
	@echo "make papers-full-size  docs/papers/full-size: weiner2025 with a whole kernel, $(PAPER_SEEDS) seeds a variant (80 minutes on two CPUs)"
	@echo "make questions  docs/questions alone"
	@echo "make validation  docs/validation.md and docs/validation: the model against real kernels, from $(RECORDINGS) and $(GRIDS)"
	@echo "make validation-grids  boot real kernels for it, into $(GRIDS) (hours where they must be emulated; resumable)"
	@echo "make validation-short  one boot, minutes; part of make test (skipped, with the reason, without QEMU)"
	@echo "make bench   criterion benches"
	@echo "make web-bench   how fast the report page is, in headless Chromium"
	@echo "make fuzz    every fuzz target for $(FUZZ_SECONDS) s (needs nightly Rust and cargo-fuzz)"
	@echo "make audit   dependencies against the advisory database (needs the network)"
	@echo "make readme  put the output of make demo into README.md"
	@echo "make man     man pages into target/man"
	@echo "make web     build the report page of web/ into crates/fraglab/assets/page.html"
	@echo "make web-test    tests of the page (part of make test; skipped, with the reason, without Node.js)"
	@echo "make perfetto-check  an export read by Perfetto's own readers (part of make test; skipped, with the reason, without them)"
	@echo "make screenshots pictures of a report into docs/images (REPORT=FILE, else a made-up one)"

# Without the commands that it does not need, and with a profile that is quick to build: the table is that of every build.
demo_build = --profile demo --locked --package fraglab --no-default-features

demo:
	$(CARGO) run $(demo_build) -- replay $(DEMO) --set vm.defrag_mode=1

# The table in the README is never typed: it is the first half of this command's output.
readme: target/README.md
	@cp target/README.md README.md

# The README has the table that the demo prints.
demo-check: target/README.md
	diff README.md target/README.md

.PHONY: target/README.md
target/README.md:
	@mkdir -p target
	@$(MAKE) --silent --no-print-directory demo > target/demo-whole.txt
	@sed '/^Derived as mmtests/,$$d' target/demo-whole.txt > target/demo.txt
	@awk '/<!-- demo begin -->/ { print; print "```text"; while ((getline line < "target/demo.txt") > 0) print line; \
		print "```"; skip = 1 } /<!-- demo end -->/ { skip = 0 } !skip && !/<!-- demo begin -->/' README.md > target/README.md

# Everything that is compared with files in the repository: digests of every policy, printed texts, the README's table.
bless:
	FRAGLAB_BLESS=1 $(CARGO) test --locked --profile optimised-test --package report --package simulator --package fraglab
	@$(MAKE) --silent --no-print-directory readme
	@git --no-pager diff --stat

# Where cargo puts a release build, wherever its target directory is.
fraglab_release = $$($(CARGO) metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release/fraglab

# Seeds a variant, and where finished runs are kept meanwhile.
PAPER_SEEDS ?= 10
PAPER_CACHE ?= target/papers

papers:
	$(CARGO) build --locked --release --package fraglab
	@mkdir -p target
	$(fraglab_release) paper all --seeds $(PAPER_SEEDS) --cache $(PAPER_CACHE) -o docs > target/papers.txt
	@$(MAKE) --no-print-directory questions

# Eighty minutes on two CPUs: the size decides much of weiner2025. `make papers` lists the page with the counts that it has.
papers-full-size:
	$(CARGO) build --locked --release --package fraglab
	@mkdir -p target docs/papers/full-size
	$(fraglab_release) paper weiner2025 --scale 1 --seeds $(PAPER_SEEDS) --cache $(PAPER_CACHE) -o target/full-size > target/papers-full-size.txt
	@cp target/full-size/papers/* docs/papers/full-size/

# From 4 seeds on a difference can be told from chance; runs that papers share are in their cache.
questions:
	$(CARGO) build --locked --release --package fraglab
	@mkdir -p target
	$(fraglab_release) question all --seeds $(PAPER_SEEDS) --cache $(PAPER_CACHE) -o docs > target/questions.txt

validation:
	$(CARGO) build --release --locked --quiet --package fraglab
	@scripts/validation "$(fraglab_release)" $(RECORDINGS) $(GRIDS) docs

validation-grids:
	$(CARGO) build --release --locked --quiet --package fraglab
	@scripts/validation-grids "$(fraglab_release)" $(GRIDS)

validation-short:
	$(CARGO) test --locked --profile optimised-test --package fraglab --test vm_grid -- --ignored --nocapture

# What is built once and not edited in between needs no incremental compilation, which doubles what lies in target/.
test: export CARGO_INCREMENTAL = 0
test: fmt clippy doc no-std deny demo-check test-dev test-optimised perfetto-check web-test validation-short

fmt:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --package fraglab --no-default-features --locked -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

# $(call for_target,TARGET,PACKAGES): builds for a target, installing it if need be. What cannot be installed is skipped
# with the reason, so that a machine without rustup can still run the rest.
for_target = \
	if test -d "$$(rustc --print sysroot)/lib/rustlib/$(1)/lib" || rustup target add $(1); then \
		$(CARGO) build --locked --target $(1) $(2); \
	else \
		echo "SKIPPED: build for $(1): the target is not installed and could not be (see above)"; \
	fi

no-std:
	$(call for_target,x86_64-unknown-none,--package pagealloc --package mm)
	$(call for_target,wasm32-unknown-unknown,--package pagealloc)

# All crates of Cargo.lock are looked at, those of other systems too, which no build has downloaded.
deny:
	@if $(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked --quiet cargo-deny; then \
		$(CARGO) fetch --locked && $(CARGO) deny --offline check bans licenses sources; \
	else \
		echo "SKIPPED: licence check: cargo-deny is not installed and could not be (see above)"; \
	fi

# What replays and simulates, with debug assertions: to the same digests as without.
test-dev:
	$(CARGO) test --locked $(foreach crate,pagealloc mm lab recording workload simulator,--package $(crate))

# All of it, at a speed that allows the long tests. What `test-dev` leaves out has its debug assertions here (Cargo.toml).
test-optimised:
	$(CARGO) test --workspace --locked --profile optimised-test

# One guest at a time: emulation takes all CPUs there are.
vm-test:
	$(CARGO) test --locked --package linux --test boot -- --ignored --nocapture --test-threads 1

audit:
	$(CARGO) deny check advisories

bench:
	$(CARGO) bench --workspace

fuzz:
	@test -d fuzz || { echo "SKIPPED: there is no fuzz/ in this checkout"; exit 1; }
	@$(CARGO) fuzz --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-fuzz
	@for target in $$($(CARGO) +nightly fuzz list); do \
		echo "== $$target: $(FUZZ_SECONDS) s"; \
		$(CARGO) +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done

man:
	$(CARGO) run --release --locked --quiet --package fraglab -- man -o target/man

# Perfetto's schema and trace processor count what an export holds.
perfetto-check:
	CARGO="$(CARGO)" scripts/perfetto-readers

# The page that `fraglab report` fills is built once, here, and committed: building fraglab needs no Node.js.
web:
	cd web && npm ci --silent && npm run --silent build

web-check: web
	git diff --exit-code -- crates/fraglab/assets/page.html

web-test:
	web/scripts/check.sh

web-bench:
	cd web && npm ci --silent && npm run --silent bench

screenshots:
	cd web && npm ci --silent && node scripts/screenshots.mjs "$(REPORT)"
