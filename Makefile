# make help says what there is. CI runs .ci/run, which uses the same targets.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

# Tools have versions of their own, so that they stay out of go.mod. They are built once, without cgo, whatever they run on.
tool     = $$(CGO_ENABLED=0 go tool -modfile=scripts/tools.mod -n $1)
version := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# What the race detector does not look into: C translated to Go, an interpreter of Lua, and readers of texts, which keep
# their memory to themselves and would take most of the processor's time. Who calls them is watched. None may use sync.Map:
# its code is generic, and the linker takes that of any package.
unwatched := modernc.org/sqlite/lib modernc.org/libc modernc.org/memory github.com/yuin/gopher-lua regexp regexp/syntax \
	go/scanner go/parser go/ast
# The race detector needs a C compiler; the program itself does for provider lxc alone.
race    := $(shell command -v gcc >/dev/null && [ -e /usr/include/stdlib.h ] && echo -race $(unwatched:%=-gcflags=%=-race=false))
# go vet is one of the linters; a debugger's tables in some eighty test binaries are for nobody.
plain   := -vet=off -ldflags=-w
# Packages tested at once: many wait for servers and VMs more than they compute.
packages = $(shell echo $$(($$(nproc) + 1)))
# With FLAKY=FILE up to five failed tests are run once more; FILE then names those that pass.
# A data race is no flake, and is not tried again.
rerun    = $(if $(FLAKY),--rerun-fails=1 --rerun-fails-max-failures=5 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race --rerun-fails-report=$(FLAKY))
# Shell scripts, also those whose name does not say so.
scripts := .ci/run scripts/needs scripts/overseer-cron scripts/bench/weigh scripts/bench/peak
lua     := core/redisstore/lua
# With liblxc's headers the program can make containers; without them it needs no C compiler.
# Asked when it is used: make needs may just have installed them.
lxc      = $(shell pkg-config --exists lxc 2>/dev/null && echo lxc)
# The command line's library could write manual pages, by a package that each start pays for.
tags     = -tags urfave_cli_no_docs,$(lxc)
npm      = $(shell command -v npm)
# Not --silent: that hides why an installation failed.
npm_ci  := npm ci --loglevel=error --no-audit --no-fund --prefix
bullmq  := scripts/bench/peers/bullmq
peers    = go -C scripts/bench/peers run . -drover $(CURDIR)/bin/drover
queues   = $(peers) $(if $(npm),-bullmq $(CURDIR)/$(bullmq))
jobs     = $(peers) -real -judge $(CURDIR)/bin/go-judge

.PHONY: help build test axe lint fmt bench bench-jobs bench-check bullmq go-judge bench-vm drill demo pictures docs needs clean

help: ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

build: ## build bin/drover, with provider lxc where there is lxc-dev, and what its VMs start
	$(if $(lxc),,@echo 'no lxc-dev: provider lxc is left out' >&2)
	CGO_ENABLED=$(if $(lxc),1,0) go build $(tags) -trimpath -ldflags '-X drover/cmd/drover/access.Version=$(version)' -o bin/drover ./cmd/drover
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(version)' -o bin/drover-agent ./cmd/drover-agent

# The model, the hunt for seeded bugs and ten days of leases go apart: there is no race in them, and the detector makes
# them ten times slower. They take a core for minutes, so they go beside all others. User code in VMs has a nice value of
# 10: what is tested has less of a lead on it than usual, so that tests do not wait for their own machine.
test: needs axe ## run all tests, with the race detector where there is a C compiler
	$(if $(race),,@echo 'no C compiler: the race detector is off' >&2)
	(export CGO_ENABLED=0; nice go test $(plain) -run='^TestTenDays' ./overseer; nice go test $(plain) -run='^TestModel(NoticesBugs)?$$' -timeout=60m ./core/redisstore -bugs) & apart=$$!; \
	CGO_ENABLED=$(if $(race)$(lxc),1,0) nice -n 5 $(call tool,gotestsum) --format=pkgname-and-test-fails --hide-summary=skipped $(rerun) --packages=./... -- $(race) $(tags) $(plain) -shuffle=on -timeout=60m -p=$(packages) || failed=1; \
	wait $$apart; [ -z "$${failed:-}" ]

axe: # what the tests of the pages load into the browser
	$(if $(npm),$(npm_ci) scripts/browser)

# With cgo all is compiled as the tests will be, so that it is compiled once.
lint: needs ## run the linters over Go, Lua and shell
	CGO_ENABLED=0 $(call tool,golangci-lint) run ./...
	$(if $(lxc),CGO_ENABLED=1 GOFLAGS="$$(go env GOFLAGS) $(race)" $(call tool,golangci-lint) run --build-tags lxc ./vmfactory/lxc)
	luacheck --quiet --no-color $(lua)
	luac5.1 -p $(lua)/*.lua $(lua)/lib/*.lua
	shellcheck $(scripts)

fmt: ## format the Go files
	$(call tool,golangci-lint) fmt ./...

bench: build bullmq ## measure the queue against its rivals, in turns on this machine (BENCH='-cycles 2 -jobs 5000')
	$(queues) $(BENCH)

bench-jobs: build go-judge ## measure whole jobs against go-judge, bubblewrap and the bare kernel, in turns, as root (BENCH='-cycles 2 -jobs 100')
	$(jobs) $(BENCH)

bench-check: build bullmq go-judge ## do both, and name the ratios that are a fifth below those of docs/benchmarks.md (BENCH='-cycles 3')
	$(queues) -check $(CURDIR)/docs/benchmarks.md $(BENCH) || failed=1; \
	$(jobs) -check $(CURDIR)/docs/benchmarks.md $(BENCH) || failed=1; \
	[ -z "$${failed:-}" ]

bullmq: # one of the rivals
	$(if $(npm),$(npm_ci) $(bullmq),@echo 'no npm: BullMQ is left out' >&2)

go-judge: # another one, in a module of its own
	go -C scripts/bench/judge build -o $(CURDIR)/bin/go-judge github.com/criyle/go-judge/cmd/go-judge

bench-vm: ## measure the making of VMs against the kernel's own calls and lxc's tools, as root (a quick look: BENCH='-rounds 1 -each 5 -live 1,10 -cycles 20')
	$(if $(lxc),,$(error no lxc-dev: provider lxc cannot be built))
	go test $(tags) -v -count=1 -timeout=3h -run='^TestBench$$' ./vmfactory/lxc -bench-vm $(BENCH)

drill: build ## hurt a cluster with 1,000 faults and show that nothing is lost (DRILL='--faults 100 --beat 200ms')
	bin/drover drill $(or $(DRILL),--faults 1000 --at-once 6)

demo: ## grade the examples on a cluster of one process
	go run ./cmd/drover demo

pictures: ## take pictures of each page of the site, for docs/pictures
	rm -rf docs/pictures/pages
	DROVER_PICTURES=$(CURDIR)/docs/pictures/pages go test -count=1 -run='^TestDemoSite$$' ./cmd/drover

docs: ## write the generated parts of docs/ anew
	go test ./core -run Architecture -update
	go test ./core/school -run TasksDoc -update
	go test ./core/harness/languages -run Docs -update

needs: # what the tests and linters use beside Go
	@scripts/needs
	-@go -C scripts/ferretdb mod download

clean: ## remove what the targets made
	rm -rf bin coverage.out $(bullmq)/node_modules
