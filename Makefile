# What .ci/run does, in pieces, and what it leaves out: fuzzing, benchmarks and mutations.

FUZZTIME ?= 10s
BENCH    ?= .

.PHONY: check test race fuzz bench bench-go search mutate interop build

check:
	bash .ci/gofmt
	go vet ./...
	go tool staticcheck ./...
	go test -run 'TestLayers|TestRulesBite' .

test:
	go test ./...

race:
	CGO_ENABLED=1 go test -race ./...

# Every fuzz target for FUZZTIME each; go test takes one at a time.
fuzz:
	@set -e; for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "+ go test -run '^$$' -fuzz '^$$target\$$' -fuzztime $(FUZZTIME) $$pkg"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

# Everything beside what the machine can do at all; writes doc/performance.md. It
# wants a quiet machine and some 4 GB below TMPDIR.
bench:
	go run ./bench

# The hot functions alone.
bench-go:
	KNACK_TIMES=1 go test -run Times ./tool
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

# The ranking beside another engine's on real skills, and its speed on generated ones.
search:
	go -C search/eval run . "$${KNACK_CORPUS:-$(CURDIR)/../shared/corpus}"
	go test -run '^$$' -bench . ./search

# One mutation for each contract, which that contract's tests must notice.
mutate:
	bash .ci/mutate

interop:
	npm ci --prefix interop --no-audit --no-fund --loglevel=error
	go test -count=1 -run Interop ./interop

build:
	CGO_ENABLED=0 go build -trimpath -o knack ./cmd/knack
