//go:build linux

package safety

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A row is what became of one part.
type row struct {
	property        property
	part            part
	cases, failures int
	untried, notes  []string
	took            time.Duration
}

// table is the rows of the properties, and below it those of their parts.
func table(rows []row, markdown bool) string {
	var b strings.Builder
	line := func(cells ...string) {
		if markdown {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
			return
		}
		fmt.Fprintf(&b, "%-38s %12s %9s  %s\n", cells[0], cells[1], cells[2], strings.Join(cells[3:], "  "))
	}
	line("property", "cases tried", "failures", "not tried")
	if markdown {
		b.WriteString("|---|---:|---:|---|\n")
	}
	for _, p := range properties() {
		cases, failures, missing, seen := 0, 0, 0, false
		for _, r := range rows {
			if r.property.number == p.number {
				cases, failures, missing, seen = cases+r.cases, failures+r.failures, missing+len(r.untried), true
			}
		}
		if !seen {
			continue
		}
		note := "–"
		if missing > 0 {
			note = strconv.Itoa(missing) + ", see below"
		}
		line(fmt.Sprintf("%d %s", p.number, p.name), grouped(cases), strconv.Itoa(failures), note)
	}
	b.WriteString("\n")
	if markdown {
		b.WriteString("| part | promise | cases tried | failures | measured, and not tried |\n|---|---|---:|---:|---|\n")
	}
	for _, r := range rows {
		remarks := append([]string{}, r.notes...)
		for _, u := range r.untried {
			remarks = append(remarks, "not tried: "+u)
		}
		remark := strings.ReplaceAll(strings.Join(remarks, "; "), "|", "\\|")
		if markdown {
			fmt.Fprintf(&b, "| %s/%s | %s | %s | %d | %s |\n", r.property.name, r.part.name, r.part.promise, grouped(r.cases), r.failures, remark)
		} else {
			fmt.Fprintf(&b, "  %-36s %12s %9d  %5.1fs  %s\n", r.property.name+"/"+r.part.name, grouped(r.cases), r.failures, r.took.Seconds(), remark)
		}
	}
	return b.String()
}

// grouped writes 1234567 as 1,234,567.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
