//go:build linux

package safety

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// row is the result of one part of a property.
type row struct {
	property        property
	part            part
	cases, failures int
	untried, notes  []string
	took            time.Duration
}

// key returns the name of the row's part, with its property.
func (r row) key() string { return r.property.name + "/" + r.part.name }

func (r row) remark() string {
	remarks := append([]string{}, r.notes...)
	for _, u := range r.untried {
		remarks = append(remarks, "not tried: "+u)
	}
	return strings.Join(remarks, "; ")
}

// line is a row as the page shows it.
type line struct {
	key, promise    string
	cases, failures int
	remark          string
}

func lineOf(r row) line {
	return line{r.key(), r.part.promise, r.cases, r.failures, strings.ReplaceAll(r.remark(), "|", "\\|")}
}

// table returns a text with a row for each property, and below them a row for each part.
func table(rows []row) string {
	var b strings.Builder
	var lines []line
	for _, r := range rows {
		lines = append(lines, lineOf(r))
	}
	fmt.Fprintf(&b, "%-20s %14s %9s  %s\n", "property", "cases tried", "failures", "not tried")
	for _, s := range sums(lines) {
		fmt.Fprintf(&b, "%-20s %14s %9d  %s\n", s.key, grouped(s.cases), s.failures, s.remark)
	}
	b.WriteString("\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "  %-28s %14s %9d  %6.1fs  %s\n", r.key(), grouped(r.cases), r.failures, r.took.Seconds(), r.remark())
	}
	return b.String()
}

// sums returns a line for each property that has parts in lines, with the sums of its parts.
func sums(lines []line) (out []line) {
	for _, p := range properties() {
		s, missing := line{key: fmt.Sprintf("%d %s", p.number, p.name)}, 0
		seen := false
		for _, l := range lines {
			if strings.HasPrefix(l.key, p.name+"/") {
				s.cases, s.failures, seen = s.cases+l.cases, s.failures+l.failures, true
				missing += strings.Count(l.remark, "not tried: ")
			}
		}
		if s.remark = "–"; missing > 0 {
			s.remark = fmt.Sprintf("%d, see below", missing)
		}
		if seen {
			out = append(out, s)
		}
	}
	return out
}

// grouped formats a number with commas: 1234567 as 1,234,567.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// tableBegin and tableEnd mark the place in the page where record writes.
const (
	tableBegin = "<!-- written by make safety -->\n"
	tableEnd   = "<!-- end of what make safety writes -->\n"
)

var page = filepath.Join("..", "..", "..", "doc", "reliability.md")

var rowLine = regexp.MustCompile(`(?m)^\| ([a-z0-9-]+/[a-z0-9-]+) \| (.*?) \| ([\d,]+) \| ([\d,]+) \| (.*) \|$`)

// readPage returns the text before and after the tables, and the rows of the parts.
func readPage() (before, after string, lines map[string]line, err error) {
	data, err := os.ReadFile(page)
	if err != nil {
		return "", "", nil, err
	}
	before, rest, ok := strings.Cut(string(data), tableBegin)
	written, after, closed := strings.Cut(rest, tableEnd)
	if !ok || !closed {
		return "", "", nil, fmt.Errorf("%s does not hold the marks of its tables", page)
	}
	lines = map[string]line{}
	for _, m := range rowLine.FindAllStringSubmatch(written, -1) {
		number := func(s string) int { n, _ := strconv.Atoi(strings.ReplaceAll(s, ",", "")); return n }
		lines[m[1]] = line{m[1], m[2], number(m[3]), number(m[4]), m[5]}
	}
	return before, after, lines, nil
}

// record writes the rows of this run into the page. It leaves the rows of parts that did not run.
func record(rows []row) error {
	before, after, known, err := readPage()
	if err != nil {
		return err
	}
	for _, r := range rows {
		known[r.key()] = lineOf(r)
	}
	var lines []line
	for _, p := range properties() {
		for _, part := range p.parts {
			if l, ok := known[p.name+"/"+part.name]; ok {
				l.promise = part.promise
				lines = append(lines, l)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nLast written on %s, %s/%s, %s, %d processors.\n\n", time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.Version(), runtime.NumCPU())
	b.WriteString("| property | cases tried | failures | not tried |\n|---|---:|---:|---|\n")
	for _, s := range sums(lines) {
		fmt.Fprintf(&b, "| %s | %s | %d | %s |\n", s.key, grouped(s.cases), s.failures, s.remark)
	}
	b.WriteString("\n| part | what it counts | cases tried | failures | measured, and not tried |\n|---|---|---:|---:|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s |\n", l.key, l.promise, grouped(l.cases), l.failures, l.remark)
	}
	b.WriteString("\n")
	return os.WriteFile(page, []byte(before+tableBegin+b.String()+tableEnd+after), 0o644)
}

// TestPage checks that each part has a row on the page, which was tried and has no failures, and
// that the page has a line about the part's limits.
func TestPage(t *testing.T) {
	before, after, lines, err := readPage()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range properties() {
		for _, part := range p.parts {
			n++
			l, ok := lines[p.name+"/"+part.name]
			switch {
			case !ok:
				t.Errorf("%s/%s has no row; run make safety", p.name, part.name)
			case l.promise != part.promise:
				t.Errorf("%s/%s counts %q, its row says %q", p.name, part.name, part.promise, l.promise)
			case l.failures != 0:
				t.Errorf("%s: %d failures", l.key, l.failures)
			case l.cases == 0 && !strings.Contains(l.remark, "not tried: "):
				t.Errorf("%s: nothing was tried, and nothing says why", l.key)
			case l.key == "http/floods" && strings.Contains(l.remark, "not tried: "):
				t.Errorf("%s: %s; its p99 and refusals are the promise: run it on a machine that does nothing else", l.key, l.remark)
			}
		}
		if !strings.Contains(before+after, fmt.Sprintf("| %d %s |", p.number, p.name)) {
			t.Errorf("%s: the page does not say what it leaves out", p.name)
		}
	}
	if len(lines) != n {
		t.Errorf("%d rows for %d parts", len(lines), n)
	}
}
