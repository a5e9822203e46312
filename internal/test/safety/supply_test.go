//go:build linux

package safety

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func supplyParts() []part {
	return []part{
		{name: "reproducible", promise: "built twice with -trimpath, in two folders and with two caches: the same hash", run: reproducible},
		{name: "pinned", promise: "the toolchain and every module have one version and a hash, and the modules are what the hashes say", run: pinned},
		{name: "sbom", promise: "the bill of materials names every module that is linked in", run: sbom},
		{name: "threats", promise: "each threat in SECURITY.md has a control and a test that exists", run: threats},
	}
}

func goCommand(dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		err = fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, e.Stderr)
	}
	return out, err
}

// copyModule copies the files that a build of the module reads.
func (r *trial) copyModule(to string) {
	r.Helper()
	from := moduleDir()
	r.must(filepath.WalkDir(from, func(at string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(from, at)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "interop" || len(name) > 1 && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || strings.HasPrefix(d.Name(), ".") || !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		r.write(to, map[string]string{name: string(data)})
		return nil
	}))
}

func reproducible(r *trial) {
	other := filepath.Join(r.dir(), "elsewhere", "knack")
	r.copyModule(other)
	hash := func(dir string, system string, env ...string) (string, error) {
		out := filepath.Join(r.dir(), "knack")
		args := []string{"build", "-trimpath", "-ldflags=-s -w", "-buildvcs=false", "-o", out, "./cmd/knack"}
		os, arch, _ := strings.Cut(system, "/")
		if _, err := goCommand(dir, append(env, "CGO_ENABLED=0", "GOOS="+os, "GOARCH="+arch), args...); err != nil {
			return "", err
		}
		return fileHash(out)
	}
	systems := []string{"linux/amd64"}
	if !r.fast {
		systems = append(systems, "linux/arm64", "darwin/arm64", "windows/amd64")
	}
	for _, system := range systems {
		env := []string{}
		if !r.fast && system == "linux/amd64" {
			env = append(env, "GOCACHE="+filepath.Join(r.dir(), "cache")) // so that nothing comes from the build cache
		}
		first, err := hash(moduleDir(), system)
		second, failed := hash(other, system, env...)
		if err = errors.Join(err, failed); err == nil && first != second {
			err = fmt.Errorf("%s and %s differ", first, second)
		}
		r.check(system, err)
	}
}

func fileHash(name string) (string, error) {
	data, err := os.ReadFile(name)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// module is a module as reported by the go command.
type module struct {
	Path, Version string
	Main          bool
}

// linked returns the modules whose packages are linked into knack.
func (r *trial) linked() (out []module) {
	r.Helper()
	data, err := goCommand(moduleDir(), nil, "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}} {{.Main}}{{end}}", "./cmd/knack")
	r.must(err)
	for l := range strings.Lines(string(data)) {
		f := strings.Fields(l)
		if len(f) == 3 && !slices.ContainsFunc(out, func(m module) bool { return m.Path == f[0] }) {
			out = append(out, module{f[0], f[1], false})
		}
	}
	return out
}

func pinned(r *trial) {
	data, err := os.ReadFile(filepath.Join(moduleDir(), "go.mod"))
	r.must(err)
	if !regexp.MustCompile(`(?m)^toolchain go1\.\d+\.\d+$`).Match(data) {
		err = errors.New("go.mod names no toolchain")
	}
	r.check("toolchain", err)
	err = nil
	if regexp.MustCompile(`(?m)^replace `).Match(data) {
		err = errors.New("go.mod replaces a module")
	}
	r.check("replace", err)
	sums, err := os.ReadFile(filepath.Join(moduleDir(), "go.sum"))
	r.must(err)
	mods := r.linked()
	for _, m := range mods {
		err := error(nil)
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(m.Path+" "+m.Version) + ` h1:[A-Za-z0-9+/]{43}=$`).Match(sums) {
			err = fmt.Errorf("%s has no hash", m.Version)
		}
		r.check(m.Path, err)
	}
	if len(mods) < 5 {
		r.check("modules", fmt.Errorf("only %d", len(mods)))
	}
	_, err = goCommand(moduleDir(), nil, "mod", "verify")
	r.check("go mod verify", err)
}

func sbom(r *trial) {
	bin := r.knackBinary()
	data, err := goCommand(moduleDir(), nil, "run", "./internal/tools/sbom", bin)
	r.must(err)
	again, err := goCommand(moduleDir(), nil, "run", "./internal/tools/sbom", bin)
	r.must(err)
	if !bytes.Equal(data, again) {
		err = errors.New("two runs differ")
	}
	r.check("the same twice", err)
	var doc struct {
		BomFormat, SpecVersion string
		Components             []struct{ Name, Version, PURL string }
	}
	r.must(json.Unmarshal(data, &doc))
	if doc.BomFormat != "CycloneDX" || doc.SpecVersion != "1.6" {
		err = fmt.Errorf("format %s %s", doc.BomFormat, doc.SpecVersion)
	}
	r.check("format", err)
	version, err := goCommand(moduleDir(), nil, "env", "GOVERSION")
	r.must(err)
	for _, m := range append(r.linked(), module{Path: "std", Version: strings.TrimPrefix(strings.TrimSpace(string(version)), "go")}) {
		err := fmt.Errorf("%s is not named", m.Version)
		for _, c := range doc.Components {
			if c.Name == m.Path && c.Version == m.Version && c.PURL == "pkg:golang/"+m.Path+"@"+m.Version {
				err = nil
			}
		}
		r.check(m.Path, err)
	}
}

var (
	threatRow = regexp.MustCompile(`(?m)^\| (.+) \| (.+) \| (.+) \|$`)
	testName  = regexp.MustCompile("`([a-z0-9/.-]+)\\.((?:Test|Fuzz|Benchmark|Example)\\w*)`")
	partName  = regexp.MustCompile("`make safety` ([a-z0-9-]+/[a-z0-9-]+)")
)

// threats checks that each row of the threat table in SECURITY.md names a test that exists.
func threats(r *trial) {
	data, err := os.ReadFile(filepath.Join(moduleDir(), "SECURITY.md"))
	r.must(err)
	rows := threatRow.FindAllStringSubmatch(string(data), -1)
	n := 0
	for _, row := range rows {
		if strings.HasPrefix(row[1], "--") || row[1] == "threat" {
			continue
		}
		n++
		r.check(row[1], threatTested(row[3]))
	}
	if n < 20 {
		r.check("threats", fmt.Errorf("only %d", n))
	}
}

func threatTested(cell string) error {
	tests, parts := testName.FindAllStringSubmatch(cell, -1), partName.FindAllStringSubmatch(cell, -1)
	if len(tests)+len(parts) == 0 {
		return fmt.Errorf("names no test: %s", cell)
	}
	for _, t := range tests {
		files, _ := filepath.Glob(filepath.Join(moduleDir(), filepath.FromSlash(t[1]), "*_test.go"))
		found := false
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			found = found || strings.Contains(string(data), "\nfunc "+t[2]+"(")
		}
		if !found {
			return fmt.Errorf("no such test: %s.%s", t[1], t[2])
		}
	}
	for _, name := range parts {
		found := false
		for _, p := range properties() {
			for _, part := range p.parts {
				found = found || p.name+"/"+part.name == name[1]
			}
		}
		if !found {
			return fmt.Errorf("no such part: %s", name[1])
		}
	}
	return nil
}

// TestThreats checks the threat table in every run: if a test is renamed, its row must follow.
func TestThreats(t *testing.T) {
	r := &trial{T: t}
	threats(r)
	for _, f := range r.failures {
		t.Error(f)
	}
}
