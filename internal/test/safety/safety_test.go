//go:build linux

// Package safety counts how often knack keeps its promises about hostile skills, faulty disks and
// heavy load. Each property has parts, each part has cases, and each case runs the built binary.
// TestMutations breaks knack once for each promise and requires that a test notices.
//
//	SAFETY=fast go test -run TestSafety ./internal/test/safety      the part that CI runs
//	SAFETY=full go test -run TestSafety ./internal/test/safety      as make safety runs it
//	MUTATE=all go test -run TestMutations ./internal/test/safety    as make mutate runs it
//
// Without these variables only the checks of the tables in doc/reliability.md and SECURITY.md run.
package safety

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// property is one row of the table in doc/reliability.md.
type property struct {
	number int
	name   string // the name of the row and of the subtest
	parts  []part
}

// part is one kind of cases of a property.
type part struct {
	name    string // the name of the subtest
	promise string // the promise that it tests, a row of the second table
	run     func(*trial)
	// slow is set for a part that runs only with SAFETY=full.
	slow bool
}

// trial is one run of a part.
type trial struct {
	*testing.T
	fast bool
	race bool // builds the binary with the race detector

	changes []change       // applied before the binary is built
	says    *regexp.Regexp // the failure that a mutation must cause
	noticed string

	mu       sync.Mutex
	cases    int
	failures []string
	untried  []string
	notes    []string // numbers that the table shows
	buildOne sync.Once
	bin      string
}

// properties lists the rows of the table, in order.
func properties() []property {
	return []property{
		{1, "hostile-tree", treeParts()},
		{2, "race", slices.Concat(raceParts(), raceOldParts(), []part{heldRacePart()})},
		{3, "yaml-and-text", yamlParts()},
		{4, "fuzz", fuzzParts()},
		{5, "http", httpParts()},
		{6, "faults", faultParts()},
		{7, "secrets", slices.Concat(secretParts(), secretSessionParts())},
		{8, "resources", resourceParts()},
		{9, "supply-chain", supplyParts()},
	}
}

// The modes of SAFETY.
const (
	fast = "fast"
	full = "full"
)

func mode() string { return os.Getenv("SAFETY") }

func needMode(t *testing.T) {
	t.Helper()
	switch mode() {
	case fast, full:
	case "":
		t.Skip("set SAFETY=fast or SAFETY=full, or run make safety")
	default:
		t.Fatalf("SAFETY=%s: want fast or full", mode())
	}
}

// TestSafety runs every part and prints the table.
func TestSafety(t *testing.T) {
	needMode(t)
	begun := time.Now()
	var rows []row
	for _, p := range properties() {
		t.Run(p.name, func(t *testing.T) {
			for _, part := range p.parts {
				if part.slow && mode() == fast {
					rows = append(rows, row{property: p, part: part, untried: []string{"only with SAFETY=full"}})
					continue
				}
				t.Run(part.name, func(t *testing.T) {
					r := &trial{T: t, fast: mode() == fast}
					begin := time.Now()
					defer func() { // runs even after a Fatal
						if t.Failed() && len(r.failures) == 0 {
							r.failures = append(r.failures, "the part broke off")
						}
						rows = append(rows, row{p, part, r.cases, len(r.failures), r.untried, r.notes, time.Since(begin)})
					}()
					part.run(r)
					for i, f := range r.failures {
						if i == 20 {
							t.Errorf("and %d more", len(r.failures)-i)
							break
						}
						t.Error(f)
					}
					if r.cases == 0 && len(r.untried) == 0 {
						t.Error("no case was tried")
					}
				})
			}
		})
	}
	t.Log("\n" + table(rows))
	t.Logf("it took %v", time.Since(begun).Round(time.Second))
	if os.Getenv("SAFETY_WRITE") != "" && mode() == full {
		if err := record(rows); err != nil {
			t.Error(err)
		}
	}
}

// check counts one case. The case failed if err is not nil.
func (r *trial) check(name string, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cases++
	if err == nil {
		return true
	}
	failure := name + ": " + err.Error()
	r.failures = append(r.failures, failure)
	if r.says != nil && r.says.MatchString(failure) {
		r.noticed = failure
		runtime.Goexit() // one failure is enough for a mutation
	}
	return false
}

// over reports whether a mutation has been noticed, so that the rest need not be tried.
func (r *trial) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.noticed != ""
}

// count adds n successful cases that have no names.
func (r *trial) count(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cases += n
}

// untry records for the table that this machine does not permit a case.
func (r *trial) untry(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.untried = append(r.untried, fmt.Sprintf(format, args...))
}

// note adds a remark, usually with a number, to the row in the table.
func (r *trial) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// must ends the part if the test itself, not knack, has a fault.
func (r *trial) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// pick returns the first number in the fast mode and the second otherwise.
func (r *trial) pick(inCI, whole int) int {
	if r.fast {
		return inCI
	}
	return whole
}

// moduleDir returns the module's folder.
func moduleDir() string {
	dir, err := filepath.Abs("../../..")
	if err != nil {
		panic(err)
	}
	return dir
}

var builds sync.Map // from changes and race to the binary's path

// scratch contains the binaries, which stay until all tests end.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "safety")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		if err := os.Chmod(dir, 0o755); err != nil { // the user nobody runs the binaries too
			panic(err)
		}
		scratch = dir
		return m.Run()
	}())
}

// knackBinary builds the binary of the trial on the first call, and returns its path.
func (r *trial) knackBinary() string {
	r.buildOne.Do(func() {
		bin, err := build(r.changes, r.race)
		if err != nil {
			r.Fatal(err)
		}
		r.bin = bin
	})
	return r.bin
}

// build builds knack with the changes as an overlay, and returns the binary's path.
func build(changes []change, race bool) (string, error) {
	key := fmt.Sprint(changes, race)
	if bin, ok := builds.Load(key); ok {
		return bin.(string), nil
	}
	dir, err := os.MkdirTemp(scratch, "build")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	overlay, err := overlaid(dir, changes)
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "knack")
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", bin}
	env := append(os.Environ(), "CGO_ENABLED=0")
	if race {
		args, env = append(args, "-race"), append(os.Environ(), "CGO_ENABLED=1")
	}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, "./cmd/knack")...)
	cmd.Dir, cmd.Env = moduleDir(), env
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building knack with %v: %w: %s", changes, err, out)
	}
	builds.Store(key, bin)
	return bin, nil
}
