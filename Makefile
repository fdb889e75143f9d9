# make help says what there is. CI runs .ci/run, which uses the same targets.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

# The command line's library could write manual pages, by a package that each start pays for. Names are looked up by Go's
# own code, with cgo too: so one set of compiled packages serves programs, tests and linters, with lxc and without.
tags := urfave_cli_no_docs,netgo,osusergo
export GOFLAGS := $(GOFLAGS) -tags=$(tags)

# Tools have versions of their own, so that they stay out of go.mod. They are built once, without cgo, whatever they run on.
tool     = $$(CGO_ENABLED=0 go tool -modfile=scripts/tools.mod -n $1)
version := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# With FLAKY=FILE up to five failed tests are run once more; FILE then names those that pass.
# A data race is no flake, and is not tried again.
rerun    = $(if $(FLAKY),--rerun-fails=1 --rerun-fails-max-failures=5 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race --rerun-fails-report=$(FLAKY))
# User code in VMs has a nice value of 10: what is tested has less of a lead on it than usual, so that tests do not wait
# for their own machine.
gotestsum = nice -n 5 $(call tool,gotestsum) --format=pkgname-and-test-fails --hide-summary=skipped $(rerun) --ignore-non-json-output-lines --raw-command --
# Not by go run, which has a line of its own on standard error when tests fail.
tiers    = $(shell go build -o bin/tiers ./scripts/tiers)bin/tiers
# Shell scripts, also those whose name does not say so.
scripts := .ci/run scripts/needs scripts/overseer-cron scripts/bench/weigh scripts/bench/peak
lua     := core/redisstore/lua
# With liblxc's headers the program can make containers; without them it needs no C compiler.
# Asked when it is used: make needs may just have installed them.
lxc      = $(shell pkg-config --exists lxc 2>/dev/null && echo lxc)
withlxc  = $(tags),$(lxc)
npm      = $(shell command -v npm)
# Not --silent: that hides why an installation failed.
npm_ci  := npm ci --loglevel=error --no-audit --no-fund --prefix
bullmq  := scripts/bench/peers/bullmq
peers    = go -C scripts/bench/peers run . -lab $(CURDIR)/bin/drover-lab
queues   = $(peers) $(if $(npm),-bullmq $(CURDIR)/$(bullmq))
jobs     = $(peers) -real -judge $(CURDIR)/bin/go-judge

.PHONY: help build build-debug test test-all shard mutants axe lint fmt bench bench-jobs bench-check bullmq go-judge bench-vm drill demo pictures docs needs needs-rest clean

help: ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# Symbols and a debugger's tables are more than a quarter of a program.
stripped := -s -w
linked    = $(stripped) -X drover/cmd/drover/access.Version=$(version)
build: ## build bin/drover, with provider lxc where there is lxc-dev, what its VMs start, bin/drover-lab, and what makes machines of EC2
	$(if $(lxc),,@echo 'no lxc-dev: provider lxc is left out' >&2)
	CGO_ENABLED=$(if $(lxc),1,0) go build -tags $(withlxc) -trimpath -ldflags '$(linked)' -o bin/drover ./cmd/drover
	CGO_ENABLED=0 go build -trimpath -ldflags '$(linked)' -o bin/drover-lab ./cmd/drover-lab
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(version)' -o bin/ ./cmd/drover-agent ./cmd/drover-cloud-ec2

build-debug: stripped :=
build-debug: build ## build them with symbols, for debuggers

test: needs ## run the tests that a change to one part needs (RACE=-race: where goroutines meet, with the race detector)
	$(gotestsum) $(tiers) test $(RACE)

test-all: needs needs-rest axe ## run all tests
	$(gotestsum) $(tiers) all -race

SHARDS := 3
BUDGET := 1h
shard: needs needs-rest axe ## run one of $(SHARDS) parts of what make test leaves out (SHARD=3 BUDGET=10m)
	$(gotestsum) $(tiers) shard -race -of $(SHARDS) -number $(or $(SHARD),$$(git rev-list --count HEAD)) -budget $(BUDGET)

mutants: needs needs-rest ## seed bugs, one at a time, and say which tests notice them (MUTANTS='-bugs lease -tier test')
	go run ./scripts/mutants $(MUTANTS)

axe: # what the tests of the pages load into the browser
	$(if $(npm),$(npm_ci) scripts/browser)

# With these tags cgo changes nothing but what needs it, so that the rest is compiled once.
lint: ## run the linters over Go, Lua and shell
	@scripts/needs lint
	CGO_ENABLED=0 $(call tool,golangci-lint) run ./...
	$(if $(lxc),CGO_ENABLED=1 $(call tool,golangci-lint) run --build-tags $(withlxc) ./vmfactory/lxc)
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
	go test -tags $(withlxc) -v -count=1 -timeout=3h -run='^TestBench$$' ./vmfactory/lxc -bench-vm $(BENCH)

drill: build ## hurt a cluster with 1,000 faults and show that nothing is lost (DRILL='--faults 100 --beat 200ms')
	bin/drover-lab drill $(or $(DRILL),--faults 1000 --at-once 6)

demo: ## grade the examples on a cluster of one process
	go run ./cmd/drover demo

pictures: ## take pictures of each page of the site, for docs/pictures
	rm -rf docs/pictures/pages
	DROVER_PICTURES=$(CURDIR)/docs/pictures/pages go test -count=1 -run='^TestDemoSite$$' ./cmd/drover

docs: ## write the generated parts of docs/ anew
	go test ./core -run Architecture -update
	go test ./core/school -run TasksDoc -update
	go test ./core/harness/languages -run Docs -update
	go test ./core/service/metric -run Docs -update

needs: # what the tests of make test use beside Go
	@scripts/needs test

needs-rest: # what the other tests use
	@scripts/needs rest
	-@go -C scripts/ferretdb mod download

clean: ## remove what the targets made
	rm -rf bin coverage.out $(bullmq)/node_modules
