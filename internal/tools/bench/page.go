package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// row is one line of the table.
type row struct{ what, target, got, verdict, before string }

func judge(got, limit float64) string {
	if got <= limit {
		return "met"
	}
	return "**missed**"
}

// absolute returns the row of a series with a fixed limit. A limit of 0 means no limit.
func (b *bench) absolute(what, series, unit string, digits int, limit float64) row {
	show := func(v float64) string { return fmt.Sprintf("%.*f %s", digits, v, unit) }
	got := b.median(series + "/" + ours)
	r := row{what: what, got: show(got)}
	if limit > 0 {
		r.target, r.verdict = fmt.Sprintf("≤ %g %s", limit, unit), judge(got, limit)
	}
	if was := b.median(series + "/" + old); was > 0 {
		r.before = fmt.Sprintf("%s; now %.2f ×", show(was), b.change(series))
	}
	return r
}

// relative returns the row of a series whose limit is a multiple of a floor. A limit of 0 means no
// limit.
func (b *bench) relative(what, series, floor, unit string, limit float64) row {
	below := b.median(series + "/" + floor)
	show := func(name string) string {
		v := b.median(series + "/" + name)
		said := fmt.Sprintf("%.2f × (%.0f %s of %.0f", v/below, v, unit, below)
		if tail := b.median(series + "/p99/" + name); tail > 0 {
			said += fmt.Sprintf("; p99 %.0f of %.0f", tail, b.median(series+"/p99/"+floor))
		}
		if bare := b.median(series + "/bare"); bare > 0 && floor != "bare" {
			said += fmt.Sprintf("; bare floor %.0f", bare)
		}
		return said + ")"
	}
	ratio := b.median(series+"/"+ours) / below
	r := row{what: what, got: show(ours)}
	if limit > 0 {
		r.target, r.verdict = fmt.Sprintf("≤ %g × the %s floor", limit, floor), judge(ratio, limit)
	}
	if b.median(series+"/"+old) > 0 {
		r.before = fmt.Sprintf("%s; now %.2f ×", show(old), b.change(series))
	}
	return r
}

// compared adds to a row whether the series is worse than the old build's by more than a factor.
func (b *bench) compared(r row, series string, most float64) row {
	if r.before != "" {
		r.before += fmt.Sprintf(" (≤ %g: %s)", most, judge(b.change(series), most))
	}
	return r
}

// change returns the ratio of our value to the old build's, as the median over the rounds.
func (b *bench) change(series string) float64 {
	now, was := b.samples[series+"/"+ours], b.samples[series+"/"+old]
	var ratios []float64
	for i := range min(len(now), len(was)) {
		ratios = append(ratios, now[i]/was[i])
	}
	return quantile(ratios, .5)
}

// page is the result of a run.
type page struct {
	begun     time.Time
	rounds    int
	load, old string // the load before the run; the argument of -old
	rows      []row
}

// write writes the page.
func (p page) write(b *bytes.Buffer) {
	before := ""
	if p.old != "" {
		program, _ := filepath.Abs(p.old)
		said, _ := exec.Command(program, "version").Output() // with the commit if the build has it
		before = fmt.Sprintf("*before* is %s. In *now N ×*, N is the median of the rounds' ratios, not the ratio of the two medians shown.\n\n", bytes.TrimSpace(said))
	}
	fmt.Fprintf(b, `# Performance

Written by `+"`make bench`"+` on %s: %s; load %s before the run.
Figures are medians of %d rounds or more. A goal is met unless its row says otherwise. A figure and its floor took turns in the same run. Trees have the figures of real skills (`+"`internal/tools/genskills`"+`); of 100,000 skills only the SKILL.md exist. The page cache is warm.

Each call names another skill. The floors are programs that do the least that the work asks for (`+"`internal/tools/bench/floor`"+`): *stat* looks at each file, *skillmd* reads every SKILL.md, *all* reads and hashes every file; *read* takes the request, reads and hashes the files, and writes the answer; *bare* writes the very bytes that knack answered; *oras* is oras pull and tar, *git* a shallow clone, *index* knack pull of an index with an artifact a skill.

%s`, p.begun.UTC().Format("2006-01-02"), machine(), p.load, p.rounds, before)
	rows := append([]row{{"what", "goal", "measured", "", "before"}, {"---", "---", "---", "", "---"}}, p.rows...)
	for _, r := range rows {
		b.WriteString(r.line(p.old != ""))
	}
}

// line returns the row as a line of the table.
func (r row) line(before bool) string {
	got := r.got
	if r.verdict != "" && r.verdict != "met" {
		got = r.verdict + ": " + got
	}
	cells := []string{r.what, r.target, got, r.before}
	if !before {
		cells = cells[:3]
	}
	for i := range cells {
		cells[i] = cmp.Or(cells[i], "–")
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// part returns the text of a file between two strings, trimmed.
func part(file, after, before string) string {
	data, _ := os.ReadFile(file)
	_, rest, _ := strings.Cut(string(data), after)
	text, _, _ := strings.Cut(rest, before)
	return strings.Trim(text, " \t:\n")
}

// machine describes the machine and the toolchain.
func machine() string {
	var kb int
	_, _ = fmt.Sscan(part("/proc/meminfo", "MemTotal:", "kB"), &kb)
	return fmt.Sprintf("%d cores of an %s, %d GB, %s %s, %s", runtime.GOMAXPROCS(0), part("/proc/cpuinfo", "model name", "\n"), kb>>20,
		runtime.GOOS, part("/proc/sys/kernel/osrelease", "", "-"), runtime.Version())
}

// count formats a number with commas between the thousands.
func count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
