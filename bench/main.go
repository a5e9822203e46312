// Command bench measures knack against what the machine can do at all, both
// interleaved in one run, and writes doc/performance.md.
//
//	go run ./bench              everything; builds knack and the floors first
//	go run ./bench -quick       small, for trying: not fit for the page, and not written there
//	go run ./bench -only http   one measurement; several separated by commas
//
// Whatever is measured is the built binary, as a whole process over its own
// wires; only the refresh, the search and the heap are measured in a process of
// bench's own, since no wire shows them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/genskills"
	"github.com/knack-dev/knack/skill"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	knack, floor, write, self string // programs
	work                      string // folder for trees and answers
	rounds                    int
	quick                     bool
	growth                    []int // sizes of the growth table
	log                       io.Writer

	trees   map[int]*tree
	samples map[string][]float64
}

// tree is a home folder with n skills in it.
type tree struct {
	n          int
	home, root string
	options    genskills.Options
}

// skill is the i-th skill of a tree.
func (t *tree) skill(i int) genskills.Skill { return t.options.At(i) }

// measurement is one group of rows.
type measurement struct {
	name string
	run  func(*bench) ([]row, error)
}

var measurements = []measurement{
	{"start", (*bench).start}, {"stdio", (*bench).stdio}, {"http", (*bench).http}, {"manifests", (*bench).manifests},
	{"refresh", (*bench).refresh}, {"across", (*bench).across}, {"change", (*bench).change}, {"search", (*bench).search}, {"pages", (*bench).pages}, {"heap", (*bench).heap},
}

func run(args []string) error {
	if len(args) > 0 && args[0] == "within" {
		return within(args[1:], os.Stdout)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	b := &bench{trees: map[int]*tree{}, samples: map[string][]float64{}, log: os.Stderr}
	only := flags.String("only", "", "measure these alone: "+names())
	out := flags.String("o", "", "write the page to `FILE` and the plot beside it; doc/performance.md for a whole run, else stdout")
	tmp := flags.String("tmp", "", "lay the trees out in `DIR`, and leave them there for the next run")
	flags.BoolVar(&b.quick, "quick", false, "small and short")
	flags.IntVar(&b.rounds, "rounds", 0, "how often each pair is measured (5, quick 2)")
	flags.StringVar(&b.knack, "knack", "", "measure this `BINARY` instead of building one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("no argument is wanted, and there is %s", flags.Arg(0))
	}
	b.growth = []int{10, 100, 1000, 10_000, 100_000}
	if b.quick {
		b.growth = []int{10, 100, 1000}
	}
	if b.rounds <= 0 {
		b.rounds = map[bool]int{false: 5, true: 2}[b.quick]
	}
	load := loadNow()
	end, err := b.prepare(*tmp)
	if err != nil {
		return err
	}
	defer end()
	var failed []error
	page := page{begun: time.Now(), rounds: b.rounds, load: load}
	for _, m := range measurements {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), m.name) {
			continue
		}
		fmt.Fprintf(b.log, "%s…\n", m.name)
		rows, err := m.run(b)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", m.name, err))
			rows = append(rows, row{m.name, "–", "–", "not measured: " + err.Error(), "–"})
		}
		page.rows = append(page.rows, rows...)
	}
	page.growth = b.growthTable()
	page.peers = b.peers()
	if *out == "" && !b.quick && *only == "" {
		*out = "doc/performance.md"
	}
	if *out == "" {
		return errors.Join(append(failed, page.write(os.Stdout, ""))...)
	}
	return errors.Join(append(failed, page.save(*out))...)
}

func names() string {
	var out []string
	for _, m := range measurements {
		out = append(out, m.name)
	}
	return strings.Join(out, ", ")
}

// prepare builds what is missing and makes a folder to work in.
func (b *bench) prepare(tmp string) (end func(), err error) {
	end = func() {}
	if b.work = tmp; tmp == "" {
		if b.work, err = os.MkdirTemp("", "knack-bench-"); err != nil {
			return end, err
		}
		end = func() { os.RemoveAll(b.work) }
	}
	if err := os.MkdirAll(b.work, 0o755); err != nil {
		return end, err
	}
	if b.self, err = os.Executable(); err != nil {
		return end, err
	}
	b.floor = filepath.Join(b.work, "floor")
	b.write = filepath.Join(b.work, "write")
	builds := [][]string{{b.floor, "./bench/floor"}, {b.write, "./internal/genskills/write"}}
	if b.knack == "" {
		b.knack = filepath.Join(b.work, "knack")
		builds = append(builds, []string{b.knack, "./cmd/knack"})
	}
	if b.knack, err = filepath.Abs(b.knack); err != nil {
		return end, err
	}
	for _, build := range builds {
		cmd := exec.Command("go", "build", "-trimpath", "-o", build[0], build[1])
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if said, err := cmd.CombinedOutput(); err != nil {
			return end, fmt.Errorf("build %s: %w\n%s", build[1], err, said)
		}
	}
	return end, nil
}

// tree lays out a home folder with n skills. A tree of more than 10,000 has their
// SKILL.md alone: with all their files it would fill the disk.
func (b *bench) tree(n int) (*tree, error) {
	if t := b.trees[n]; t != nil {
		return t, nil
	}
	t := &tree{n: n, home: filepath.Join(b.work, fmt.Sprintf("home-%d", n))}
	t.root = filepath.Join(t.home, ".claude", "skills")
	t.options = genskills.Options{Seed: 1, MainOnly: n > 10_000}
	// A tree that an older generator left is another one.
	if _, err := os.Stat(filepath.Join(t.root, filepath.FromSlash(t.skill(n-1).Path), "SKILL.md")); err != nil {
		if err := os.RemoveAll(t.root); err != nil {
			return nil, err
		}
		fmt.Fprintf(b.log, "  %d skills\n", n)
		if err := os.MkdirAll(filepath.Dir(t.root), 0o755); err != nil {
			return nil, err
		}
		part := t.root + ".part" // a tree that is there is whole
		os.RemoveAll(part)
		write := exec.Command(b.write, "-n", fmt.Sprint(n), fmt.Sprintf("-main-only=%t", t.options.MainOnly), part)
		if said, err := write.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, said)
		}
		if err := os.Rename(part, t.root); err != nil {
			return nil, err
		}
		// Of a file as young as this knack cannot tell by its stamp whether it was
		// written again, and reads it anew for each answer.
		time.Sleep(2 * skill.StampRacy)
	}
	b.trees[n] = t
	return t, nil
}

// add notes one value of a series.
func (b *bench) add(key string, v float64) { b.samples[key] = append(b.samples[key], v) }

// median of a series; 0 where there is none.
func (b *bench) median(key string) float64 { return quantile(b.samples[key], .5) }

func quantile(of []float64, q float64) float64 {
	if len(of) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(of))
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// scanFloor runs a floor over a tree and returns its milliseconds.
func (b *bench) scanFloor(what string, t *tree) (float64, error) {
	out, err := exec.Command(b.floor, what, t.root).Output()
	if err != nil {
		return 0, err
	}
	var took, files int64
	if _, err := fmt.Sscan(string(out), &took, &files); err != nil {
		return 0, err
	}
	return float64(took) / 1e6, nil
}
