# The targets run the steps of .ci/run one by one, and what .ci/run leaves out, such as fuzzing,
# benchmarks and mutations.

FUZZTIME ?= 10s
BENCH    ?= .
comma    := ,

# MODULES lists the folders with a Go module of their own. It leaves out interop/model, which takes
# minutes to compile and is tested by make interop.
MODULES = $(filter-out interop/model/,$(dir $(wildcard deploy/*/go.mod interop/*/go.mod internal/tools/searcheval/go.mod)))

.PHONY: check test race fuzz fuzz-record bench bench-go search mutate interop fleet distribution agents plugins trust web-walk web-shots prose build sbom image hostile safety patient reload-race first-sign safety-selftest links windows cosign slow full release packages

check:
	bash .ci/gofmt
	go vet ./...
	GOOS=windows go vet ./cmd/knack $$(bash .ci/systems)
	GOOS=darwin go vet ./cmd/knack $$(bash .ci/systems)
	go tool -modfile=internal/tools/staticcheck/go.mod staticcheck ./...
	for module in $(MODULES); do go -C $$module vet ./... || exit 1; done
	go test -run 'TestWings|TestRules|TestRulesBite' .
	go test ./internal/tools/prose

test:
	go test ./...

race:
	CGO_ENABLED=1 go test -race -timeout 30m ./...

# Runs every fuzz target for FUZZTIME, one after the other, since go test runs only one at a time.
fuzz:
	@set -e; for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "+ go test -run '^$$' -fuzz '^$$target\$$' -fuzztime $(FUZZTIME) $$pkg"; \
			go test -toolexec "'$(CURDIR)/.ci/fuzz-compile'" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

# Does the same, and adds the executions to internal/test/safety/testdata/fuzz.tsv.
fuzz-record:
	SAFETY=full SAFETY_WRITE=1 SAFETY_FUZZTIME=$(FUZZTIME) go test -count=1 -timeout 0 -v -run 'TestSafety/fuzz' ./internal/test/safety

# Measures knack beside the limits of the machine, and writes doc/performance.md. It needs a quiet
# machine for a quarter of an hour, and about 4 GB below TMPDIR.
bench:
	go run ./internal/tools/bench

# Measures the hot functions only.
bench-go:
	KNACK_TIMES=1 go test -run Times ./tool
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

# Compares the ranking of search with another engine's on real skills, and measures its speed on
# generated ones.
search:
	go -C internal/tools/searcheval run . "$${KNACK_CORPUS:?names the folder of the corpus of real skills}"
	go test -run '^$$' -bench . ./internal/base/search

# Breaks each of the most important promises once, with an overlay, and checks that its test
# notices. MUTATE=tests selects those that tests of packages notice, and MUTATE=parts those that
# parts with the built binary notice.
MUTATE ?= all
mutate:
	MUTATE=$(MUTATE) go test -count=1 -timeout 0 -v -run 'TestMutations$$' ./internal/test/safety

# Runs third-party clients on all trees of skills, and every scenario of the conformance suite. CI
# leaves out the larger trees, and the scenarios that require a fixture that only the suite's own
# server has.
interop:
	npm ci --prefix interop --no-audit --no-fund --loglevel=error
	KNACK_SLOW=1 go test -count=1 -timeout 20m -run Interop ./interop
	go -C interop/model test -count=1 ./...

# Runs a registry, 20 replicas that follow it, and clients, and writes the figures into
# doc/fleet.md. It takes about ten minutes, and needs Debian's docker-registry, haproxy and
# prometheus.
fleet:
	KNACK_FLEET=20 go test -count=1 -timeout 0 -v -run 'TestFleet|TestReplicaAlone|TestPullFaults|TestBalancer|TestSourceBoard' ./deploy

# Runs the tests of replicas and pulls with CNCF distribution in place of Debian's docker-registry.
distribution:
	go build -C interop/registry -o $(CURDIR)/dist/registry .
	KNACK_REGISTRY=$(CURDIR)/dist/registry go test -count=1 -timeout 20m -run 'TestReplicaAlone|TestPullFaults|TestRefusals|TestFleet|TestSource|TestPull|TestPublish' ./deploy ./internal/cli ./internal/cli/distcmd ./internal/distribution/pull

# Runs real clients against the suite's own model server. Lock files install the clients (3 GB). A
# client that the npm registry does not provide is reported by the installation and skipped by the
# tests. KNACK=/PATH tests that knack, AGENTS=claude-code,codex runs only these clients, and
# AGENTSFLAGS=-update writes doc/clients.md.
AGENTS ?= all
agents:
	npm ci --prefix interop --no-audit --no-fund --loglevel=error
	bash interop/agents/install $(if $(filter-out all,$(AGENTS)),$(subst $(comma), ,$(AGENTS))) || true
	KNACK_AGENTS=$(AGENTS) go test -count=1 -timeout 90m -v ./interop/agents $(AGENTSFLAGS)

# Makes five clients install, disable and uninstall a plugin with their own commands, and compares
# the skills that each shows its model with knack's list. It also moves the homes of six clients
# with environment variables.
PLUGINS := claude-code,codex,gemini-cli,qwen-code,copilot-cli,opencode
plugins:
	npm ci --prefix interop --no-audit --no-fund --loglevel=error
	bash interop/agents/install $(subst $(comma), ,$(PLUGINS)) || true
	KNACK_AGENTS=$(PLUGINS) go test -count=1 -timeout 30m -v -run 'TestPlugins|TestMovedHomes' ./interop/agents

# Connects six clients with knack connect CLIENT --write --trust, and runs each without a person.
# The model's call of the tool skill must succeed.
TRUSTING := claude-code,codex,gemini-cli,opencode,qwen-code,copilot-cli
trust:
	npm ci --prefix interop --no-audit --no-fund --loglevel=error
	bash interop/agents/install $(subst $(comma), ,$(TRUSTING)) || true
	KNACK_AGENTS=$(TRUSTING) go test -count=1 -timeout 30m -v -run TestTrust ./interop/agents

# Runs knack.exe under Wine, which it installs from Debian, and compares the results with
# doc/conformance.md. WINDOWSFLAGS=-update writes the table there.
windows:
	bash interop/windows/install
	KNACK_WINDOWS=1 go test -count=1 -timeout 30m -v ./interop/windows $(WINDOWSFLAGS)

# Checks that cosign and knack accept each other's signatures. Building cosign takes minutes.
cosign:
	GOBIN=$(CURDIR)/dist/cosign go install github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3
	go build -C interop/oras -o $(CURDIR)/dist/cosign/oras .
	KNACK_COSIGN=$(CURDIR)/dist/cosign go test -count=1 -timeout 30m -v ./interop/cosign

# Opens every page in a browser, in both themes and three widths, and signs in at a real provider.
web-walk:
	npm ci --prefix internal/web/walk --no-audit --no-fund --loglevel=error
	KNACK_SLOW=1 KNACK_PAINT=1 go test -count=1 -timeout 40m -v -run 'TestWalk|TestFirstPaint' ./internal/web/walk

# Takes a picture of every page, in both themes and three widths, into shots/.
web-shots:
	npm ci --prefix internal/web/walk --no-audit --no-fund --loglevel=error
	rm -rf shots
	KNACK_SLOW=1 KNACK_SHOTS=$(CURDIR)/shots go test -count=1 -timeout 40m -run TestWalk ./internal/web/walk

# Prints odd phrases in comments and pages, with file and line, and the figures of each folder.
prose:
	go run ./internal/tools/prose

# Builds knack as a release does: without the paths of this machine, symbols and debugging data.
build:
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o knack ./cmd/knack

# Writes what is linked into the binary as a CycloneDX file.
sbom: build
	go run ./internal/tools/sbom knack >knack.cdx.json

# Builds the container image as an OCI layout in dist/image. IMAGEFLAGS='-push REFERENCE' also
# pushes it to a registry.
image:
	rm -rf dist/image
	GOTOOLCHAIN=$$(sed -n 's/^toolchain //p' go.mod) go -C deploy/image run . -o '$(CURDIR)/dist/image' $(IMAGEFLAGS)

# Builds all files of a release in dist/release: archives, packages for Linux and npm, manifests of
# package managers, and digests. KEY=FILE signs the digests. The release is built from the commit
# that is checked out, and the same commit gives the same bytes.
KEY ?=
release:
	rm -rf dist/release
	GOTOOLCHAIN=$$(sed -n 's/^toolchain //p' go.mod) go -C deploy/release run . -version '$(VERSION)' -o '$(CURDIR)/dist/release' $(if $(KEY),-key '$(abspath $(KEY))')

# Builds a release and tests its files. A second clone must give the same bytes. The packages must
# make knack list work after one command: in an empty Debian (as root, with debootstrap), by rpm,
# and under Wine. Third-party programs must accept the files. With KNACK_RELEASE_ALL=1 none of these
# programs may be missing.
packages:
	$(MAKE) release VERSION=$(or $(VERSION),v0.0.1)
	KNACK_RELEASE='$(CURDIR)/dist/release' go -C deploy/release test -count=1 -timeout 90m -v ./...

# The targets hostile and safety run the cases of doc/reliability.md. safety takes about 45 minutes
# and writes the table there; SAFETY_SOAK=1m shortens the longest part.
hostile:
	SAFETY=full go test -count=1 -v -run 'TestSafety/hostile-tree' ./internal/test/safety

safety:
	SAFETY=full SAFETY_WRITE=1 go test -count=1 -timeout 0 -v -run 'TestSafety$$' ./internal/test/safety

# Runs at full length the tests that go test ./... runs only in part: hostile skills, and hundreds
# of commands that are killed. It takes about 20 minutes.
patient:
	SAFETY=full KNACK_KILLS=500 go test -count=1 -timeout 0 ./internal/analysis/scan ./internal/distribution/store ./internal/cli/distcmd

# Runs the second lane, which go test ./... skips: tests that take seconds or minutes, on real and
# hostile skills, of kills, and of fleets.
slow:
	bash .ci/slow -timeout 30m

# Runs, before a release, everything that neither go test ./... nor .ci/run runs and that ends by
# itself.
full: check race slow patient links distribution fleet interop agents windows web-walk safety
	go -C interop/model test -count=1 ./...
	go -C deploy/image test -count=1 ./...
	go -C deploy/fleet test -count=1 ./...
	go -C internal/tools/searcheval run . "$${KNACK_CORPUS:-../shared/corpus}"
	bash .ci/findable "$${KNACK_CORPUS:-../shared/corpus}"
	go test -run '^$$' -bench . -skip FirstPages -benchtime 1x ./...

# Runs ten thousand writing commands while folders are replaced with links that lead out.
links:
	KNACK_LINKS=10000 go test -count=1 -timeout 0 -v -run 'TestExchangedLinks$$' ./internal/cli

# Sends a million requests while the access rules are reloaded ten thousand times.
reload-race:
	KNACK_RELOADS=10000 go test -count=1 -timeout 0 -v -run TestReloadRace ./internal/cli

# Runs every command at a terminal, with 100,000 skills, and writes doc/first-sign.txt. It takes
# about ten minutes.
first-sign:
	KNACK_FIRST_SIGN=100000 go test -count=1 -timeout 0 -v -run TestFirstSign ./cmd/knack

safety-selftest:
	$(MAKE) mutate MUTATE=parts
