# What .ci/run does, in pieces, and what it leaves out: fuzzing, benchmarks and mutations.

FUZZTIME ?= 10s
BENCH    ?= .
comma    := ,

# The modules of their own; make interop tests interop/model, which takes minutes to compile.
MODULES = $(filter-out interop/model/,$(dir $(wildcard deploy/*/go.mod interop/*/go.mod internal/tools/searcheval/go.mod)))

.PHONY: check test race fuzz fuzz-record bench bench-go search mutate interop fleet distribution agents plugins trust web-walk web-shots prose build sbom image hostile safety patient reload-race first-sign safety-selftest links windows cosign slow full release packages

check:
	bash .ci/gofmt
	go vet ./...
	go tool -modfile=internal/tools/staticcheck/go.mod staticcheck ./...
	for module in $(MODULES); do go -C $$module vet ./... || exit 1; done
	go test -run 'TestWings|TestRules|TestRulesBite' .
	go test ./internal/tools/prose

test:
	go test ./...

race:
	CGO_ENABLED=1 go test -race -timeout 30m ./...

# Every fuzz target for FUZZTIME each; go test takes one at a time.
fuzz:
	@set -e; for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "+ go test -run '^$$' -fuzz '^$$target\$$' -fuzztime $(FUZZTIME) $$pkg"; \
			go test -toolexec "'$(CURDIR)/.ci/fuzz-compile'" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

# The same, and the executions are added up in internal/test/safety/testdata/fuzz.tsv.
fuzz-record:
	SAFETY=full SAFETY_WRITE=1 SAFETY_FUZZTIME=$(FUZZTIME) go test -count=1 -timeout 0 -v -run 'TestSafety/fuzz' ./internal/test/safety

# Everything beside what the machine can do at all; writes doc/performance.md. It
# wants a quiet machine for a quarter of an hour, and some 4 GB below TMPDIR.
bench:
	go run ./internal/tools/bench

# The hot functions alone.
bench-go:
	KNACK_TIMES=1 go test -run Times ./tool
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

# The ranking beside another engine's on real skills, and its speed on generated ones.
search:
	go -C internal/tools/searcheval run . "$${KNACK_CORPUS:?names the folder of the corpus of real skills}"
	go test -run '^$$' -bench . ./internal/base/search

# Breaks each of the gravest promises once, by an overlay, which its test must notice:
# MUTATE=tests is those that tests of packages notice, parts those that take the binary.
MUTATE ?= all
mutate:
	MUTATE=$(MUTATE) go test -count=1 -timeout 0 -v -run 'TestMutations$$' ./internal/test/safety

# Third-party clients, with every scenario of the conformance suite. CI leaves out those that want a
# fixture which no server but the suite's own has.
interop:
	npm ci --prefix interop --no-audit --no-fund --loglevel=error
	KNACK_SLOW=1 go test -count=1 -timeout 20m -run Interop ./interop
	go -C interop/model test -count=1 ./...

# A registry, 20 replicas that follow it, and clients; writes the figures into doc/fleet.md. It
# takes some ten minutes, and Debian's docker-registry, haproxy and prometheus.
fleet:
	KNACK_FLEET=20 go test -count=1 -timeout 0 -v -run 'TestFleet|TestReplicaAlone|TestPullFaults|TestBalancer|TestSourceBoard' ./deploy

# The tests of replicas and pulls, with CNCF distribution in place of Debian's docker-registry.
distribution:
	go build -C interop/registry -o $(CURDIR)/dist/registry .
	KNACK_REGISTRY=$(CURDIR)/dist/registry go test -count=1 -timeout 20m -run 'TestReplicaAlone|TestPullFaults|TestRefusals|TestFleet|TestSource|TestPull|TestPublish' ./deploy ./internal/cli ./internal/cli/distcmd ./internal/distribution/pull

# Real clients, installed by lock files (3 GB), against a model server of ours. One that
# the registry does not give is named here and skipped by name there. With KNACK=/PATH
# that knack is tried; AGENTS=claude-code,codex runs these alone; AGENTSFLAGS=-update
# writes doc/clients.md.
AGENTS ?= all
agents:
	npm ci --prefix interop --no-audit --no-fund --loglevel=error
	bash interop/agents/install $(if $(filter-out all,$(AGENTS)),$(subst $(comma), ,$(AGENTS))) || true
	KNACK_AGENTS=$(AGENTS) go test -count=1 -timeout 90m -v ./interop/agents $(AGENTSFLAGS)

# Has five clients install, disable and uninstall a plugin by their own commands, and compares the
# skills that each shows its model with knack's list. Also moves the homes of six by their variables.
PLUGINS := claude-code,codex,gemini-cli,qwen-code,copilot-cli,opencode
plugins:
	npm ci --prefix interop --no-audit --no-fund --loglevel=error
	bash interop/agents/install $(subst $(comma), ,$(PLUGINS)) || true
	KNACK_AGENTS=$(PLUGINS) go test -count=1 -timeout 30m -v -run 'TestPlugins|TestMovedHomes' ./interop/agents

# Connects six clients with knack connect CLIENT --write --trust, and runs each without a person: its
# model's call of skill succeeds.
TRUSTING := claude-code,codex,gemini-cli,opencode,qwen-code,copilot-cli
trust:
	npm ci --prefix interop --no-audit --no-fund --loglevel=error
	bash interop/agents/install $(subst $(comma), ,$(TRUSTING)) || true
	KNACK_AGENTS=$(TRUSTING) go test -count=1 -timeout 30m -v -run TestTrust ./interop/agents

# knack.exe under Wine, which is installed from Debian; compares with doc/conformance.md.
# WINDOWSFLAGS=-update writes its table there.
windows:
	bash interop/windows/install
	KNACK_WINDOWS=1 go test -count=1 -timeout 30m -v ./interop/windows $(WINDOWSFLAGS)

# Signatures of cosign and of knack, in both directions. The build of cosign takes minutes.
cosign:
	GOBIN=$(CURDIR)/dist/cosign go install github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3
	go build -C interop/oras -o $(CURDIR)/dist/cosign/oras .
	KNACK_COSIGN=$(CURDIR)/dist/cosign go test -count=1 -timeout 30m -v ./interop/cosign

# Every page in a browser, in both themes and three widths.
web-walk:
	npm ci --prefix internal/web/walk --no-audit --no-fund --loglevel=error
	KNACK_PAINT=1 go test -count=1 -v -run 'TestWalk|TestFirstPaint' ./internal/web/walk

# A picture of every page, in both themes and three widths, to be looked at: in shots/.
web-shots:
	npm ci --prefix internal/web/walk --no-audit --no-fund --loglevel=error
	rm -rf shots
	KNACK_SHOTS=$(CURDIR)/shots go test -count=1 -run TestWalk ./internal/web/walk

# Odd phrases in comments and pages, with file and line, and the figures of each folder.
prose:
	go run ./internal/tools/prose

# As it is released: without the paths of this machine, symbols and debugging data.
build:
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o knack ./cmd/knack

# What was linked into the binary, as CycloneDX.
sbom: build
	go run ./internal/tools/sbom knack >knack.cdx.json

# The container image, as an OCI layout in dist/image. IMAGEFLAGS='-push REFERENCE' sends it
# to a registry too.
image:
	rm -rf dist/image
	GOTOOLCHAIN=$$(sed -n 's/^toolchain //p' go.mod) go -C deploy/image run . -o '$(CURDIR)/dist/image' $(IMAGEFLAGS)

# Everything that is uploaded for a release, in dist/release: archives, packages of Linux and npm,
# manifests of package managers, digests. KEY=FILE signs the digests. The commit that is checked out
# counts, and the same commit gives the same bytes.
KEY ?=
release:
	rm -rf dist/release
	GOTOOLCHAIN=$$(sed -n 's/^toolchain //p' go.mod) go -C deploy/release run . -version '$(VERSION)' -o '$(CURDIR)/dist/release' $(if $(KEY),-key '$(abspath $(KEY))')

# Makes a release and tests it from its files: a second clone gives the same bytes; in an empty
# Debian (as root, with debootstrap), by rpm, and under Wine, the packages give knack list in one
# command; and other people's programs accept the files. With KNACK_RELEASE_ALL=1 none of these
# programs may be missing.
packages:
	$(MAKE) release VERSION=$(or $(VERSION),v0.0.1)
	KNACK_RELEASE='$(CURDIR)/dist/release' go -C deploy/release test -count=1 -timeout 90m -v ./...

# doc/reliability.md says what each of these counts. safety takes about 45 minutes
# and writes its table there; SAFETY_SOAK=1m shortens the longest part.
hostile:
	SAFETY=full go test -count=1 -v -run 'TestSafety/hostile-tree' ./internal/test/safety

safety:
	SAFETY=full SAFETY_WRITE=1 go test -count=1 -timeout 0 -v -run 'TestSafety$$' ./internal/test/safety

# The tests of which go test ./... does a part: hostile skills at full length, and hundreds of
# commands that are killed. It takes some 20 minutes.
patient:
	SAFETY=full KNACK_KILLS=500 go test -count=1 -timeout 0 ./internal/analysis/scan ./internal/distribution/store ./internal/cli/distcmd

# The second lane, which go test ./... skips: tests of seconds and minutes on real and hostile
# skills, of kills, and of fleets.
slow:
	bash .ci/slow -timeout 30m

# Everything that neither go test ./... nor .ci/run does and that ends by itself: before a release.
full: slow patient links distribution fleet interop agents windows safety
	go -C interop/model test -count=1 ./...
	go -C deploy/image test -count=1 ./...
	go -C deploy/fleet test -count=1 ./...
	go -C internal/tools/searcheval run . "$${KNACK_CORPUS:-../shared/corpus}"
	bash .ci/findable "$${KNACK_CORPUS:-../shared/corpus}"
	go test -run '^$$' -bench . -skip FirstPages -benchtime 1x ./...

# Ten thousand writing commands while folders are exchanged for links that lead out.
links:
	KNACK_LINKS=10000 go test -count=1 -timeout 0 -v -run 'TestExchangedLinks$$' ./internal/cli

# A million requests while the access rules are reloaded ten thousand times.
reload-race:
	KNACK_RELOADS=10000 go test -count=1 -timeout 0 -v -run TestReloadRace ./internal/cli

# Every command at a terminal, with 100,000 skills; writes doc/first-sign.txt. It takes some
# ten minutes.
first-sign:
	KNACK_FIRST_SIGN=100000 go test -count=1 -timeout 0 -v -run TestFirstSign ./cmd/knack

safety-selftest:
	$(MAKE) mutate MUTATE=parts
