// Command bench measures knack against the least that the machine can do for the same work. Both
// take turns in one run. It writes doc/performance.md.
//
//	go run ./internal/tools/bench                    everything; builds knack and the floors first
//	go run ./internal/tools/bench -run 'calls|http'  the measurements whose name matches
//	go run ./internal/tools/bench -old BINARY        also another knack, which takes turns with it
//	go run ./internal/tools/bench -quick             small, for trying: does not write the page
//
// It measures the built binary as a process and sends requests as a client does: each call is for a
// different skill, and has its own id and metadata. The search and the web pages have benchmarks
// beside their code (make bench-go). It needs Linux and two processors.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/knack-dev/knack/internal/tools/genskills"
	"github.com/knack-dev/knack/skill"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of the command.
type bench struct {
	builds       []build // the measured builds: ours, then the one of -old
	floor, write string  // programs
	work         string  // folder for trees, programs and answers
	rounds       int
	quick        bool

	ctx     context.Context // of a measurement; its end kills the programs
	trees   map[int]*tree
	samples map[string][]float64
}

// longest bounds the time of one measurement. After it, the programs of the measurement are killed
// and its rows report that. The other measurements continue.
const longest = 20 * time.Minute

// build is a measured knack. name ends the keys of its samples.
type build struct{ name, knack string }

const ours, old = "knack", "old"

// tree is a home folder with n skills.
type tree struct {
	n          int
	home, root string
	options    genskills.Options
}

var measurements = []struct {
	name string
	run  func(*bench) ([]row, error)
}{
	{"start", (*bench).start}, {"calls", (*bench).calls}, {"http", (*bench).http}, {"list", (*bench).list}, {"first", (*bench).first}, {"loads", (*bench).loads},
	{"manifests", (*bench).manifests}, {"refresh", (*bench).refresh}, {"across", (*bench).across}, {"change", (*bench).changes}, {"warm", (*bench).warm}, {"pull", (*bench).pulls},
}

func run(args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	b := &bench{trees: map[int]*tree{}, samples: map[string][]float64{}}
	only := flags.String("run", "", "measure those whose name matches the `REGEXP`: start, calls, http, list, first, loads, manifests, refresh, across, change, warm, pull")
	out := flags.String("o", "", "write the page to `FILE`; doc/performance.md for a whole run, else stdout")
	flags.StringVar(&b.work, "tmp", "", "keep the trees in `DIR` for the next run")
	knack := flags.String("knack", "", "measure this `BINARY` instead of building one")
	before := flags.String("old", "", "measure this `BINARY` too, in turn with ours, and say what has become worse")
	flags.BoolVar(&b.quick, "quick", false, "run small and short, for trying")
	flags.IntVar(&b.rounds, "rounds", 5, "how often each side is measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see -help", flags.Arg(0))
	}
	wanted, err := regexp.Compile("^(" + *only + ")$")
	if err != nil {
		return err
	}
	page := page{begun: time.Now(), rounds: b.rounds, load: part("/proc/loadavg", "", " "), old: *before}
	if b.work == "" {
		if b.work, err = os.MkdirTemp("", "knack-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(b.work)
	}
	if err := b.prepare(*knack, *before); err != nil {
		return err
	}
	var failed []error
	for _, m := range measurements {
		if *only != "" && !wanted.MatchString(m.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s, after %v…\n", m.name, time.Since(page.begun).Round(time.Second))
		ctx, stop := context.WithTimeout(context.Background(), longest)
		b.ctx = ctx
		rows, err := m.run(b)
		stop()
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", m.name, err))
			rows = []row{{what: m.name, got: "not measured: " + err.Error()}}
		}
		for _, r := range rows {
			fmt.Fprint(os.Stderr, r.line(*before != ""))
		}
		page.rows = append(page.rows, rows...)
	}
	if len(page.rows) == 0 {
		return fmt.Errorf("no measurement matches -run %q; see -help for their names", *only)
	}
	if *out == "" && !b.quick && *only == "" && *before == "" {
		*out = "doc/performance.md"
	}
	var text bytes.Buffer
	page.write(&text)
	if *out == "" {
		_, err = os.Stdout.Write(text.Bytes())
		return errors.Join(append(failed, err)...)
	}
	// Keep the prose below the table, which is written by hand.
	was, _ := os.ReadFile(*out)
	if i := bytes.Index(was, []byte("\n## ")); i >= 0 {
		text.Write(was[i:])
	}
	return errors.Join(append(failed, os.WriteFile(*out, text.Bytes(), 0o644))...)
}

// prepare builds the floors, the generator of trees, and the knacks.
func (b *bench) prepare(knack, before string) (err error) {
	if b.work, err = filepath.Abs(b.work); err != nil {
		return err
	}
	if err := os.MkdirAll(b.work, 0o755); err != nil {
		return err
	}
	build1 := func(program, pkg string) {
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if said, failed := cmd.CombinedOutput(); failed != nil {
			err = errors.Join(err, fmt.Errorf("build %s: %w\n%s", pkg, failed, said))
		}
	}
	b.floor, b.write = filepath.Join(b.work, "floor"), filepath.Join(b.work, "write")
	build1(b.floor, "./internal/tools/bench/floor")
	build1(b.write, "./internal/tools/genskills/write")
	if knack == "" {
		knack = filepath.Join(b.work, ours)
		build1(knack, "./cmd/knack")
	}
	for _, one := range []build{{ours, knack}, {old, before}} {
		if one.knack != "" {
			at, wrong := filepath.Abs(one.knack)
			b.builds, err = append(b.builds, build{one.name, at}), errors.Join(err, wrong)
		}
	}
	return err
}

// tree creates a home folder with n skills. Above 10,000, the skills have only their SKILL.md,
// since all their files would fill the disk.
func (b *bench) tree(n int) (*tree, error) {
	if t := b.trees[n]; t != nil {
		return t, nil
	}
	t := &tree{n: n, home: filepath.Join(b.work, fmt.Sprintf("home-%d", n))}
	t.root = filepath.Join(t.home, ".claude", "skills")
	t.options = genskills.Options{Seed: 1, MainOnly: n > 10_000}
	// The tree is made again if its last skill is missing. An older version of the generator made
	// other skills.
	if _, err := os.Stat(filepath.Join(t.root, filepath.FromSlash(t.options.At(n-1).Path), "SKILL.md")); err != nil {
		fmt.Fprintf(os.Stderr, "  %d skills\n", n)
		part := t.root + ".part" // so that a tree under this name is complete
		if err := errors.Join(os.RemoveAll(t.root), os.RemoveAll(part), os.MkdirAll(filepath.Dir(t.root), 0o755)); err != nil {
			return nil, err
		}
		write := exec.CommandContext(b.ctx, b.write, "-n", fmt.Sprint(n), fmt.Sprintf("-main-only=%t", t.options.MainOnly), part)
		if said, err := write.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, said)
		}
		if err := os.Rename(part, t.root); err != nil {
			return nil, err
		}
		time.Sleep(2 * skill.StampRacy) // younger files are not trusted to be unchanged
	}
	b.trees[n] = t
	return t, nil
}

// size returns n, or a tenth of it with -quick.
func (b *bench) size(n int) int {
	if b.quick {
		return n / 10
	}
	return n
}

// inTurn calls f for each build, in a different order each round.
func (b *bench) inTurn(round int, f func(build) error) error {
	for i := range b.builds {
		if err := f(b.builds[(i+round)%len(b.builds)]); err != nil {
			return err
		}
	}
	return nil
}

// pulling returns a copy of the run with only the builds that have the command pull. An older build
// may lack it.
func (b *bench) pulling() *bench {
	those := *b
	those.builds = slices.DeleteFunc(slices.Clone(b.builds), func(k build) bool {
		help, _ := exec.Command(k.knack, "pull", "--help").Output()
		return !bytes.Contains(help, []byte("knack pull "))
	})
	return &those
}

// add appends one value to a series.
func (b *bench) add(key string, v float64) { b.samples[key] = append(b.samples[key], v) }

// median returns the median of a series; 0 if it is empty.
func (b *bench) median(key string) float64 { return quantile(b.samples[key], .5) }

func key(what string, n int) string { return fmt.Sprintf("%s/%d", what, n) }

func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

func ms(d time.Duration) float64 { return µs(d) / 1e3 }

func µs(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// scanFloor runs a floor on a tree and returns the milliseconds that it reports.
func (b *bench) scanFloor(what string, t *tree) (float64, error) {
	out, err := exec.CommandContext(b.ctx, b.floor, what, t.root).Output()
	var took int64
	if err == nil {
		_, err = fmt.Sscan(string(out), &took)
	}
	return float64(took) / 1e6, err
}
