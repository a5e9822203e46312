package tool

import (
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// Budget is how many characters a list of skills may take (contracts.md).
const Budget = 16_000

// clientCut lists the clients that cut a tool description, and where. A list for
// them is shortened to what they show.
var clientCut = map[string]int{
	// github.com/anthropics/claude-code: tool descriptions and server
	// instructions are reported to be cut at 2,048 characters.
	"claude-code": 2048,
}

// leastDescription is the shortest cut that still says something. Below it a
// list shows names alone.
const leastDescription = 24

// style is how one skill stands in a list.
type style struct {
	item  func(name, description, location string) string
	name  func(string) string
	empty string
}

// bullets is the list of answers: "- name: description".
var bullets = style{
	item:  func(name, description, _ string) string { return "- " + name + ": " + description },
	name:  func(s string) string { return s },
	empty: "(none)",
}

// elements is the list of contract 002's description.
var elements = style{
	item: func(name, description, location string) string {
		return "<skill>\n<name>" + name + "</name>\n<description>" + description + "</description>\n<location>" + location + "</location>\n</skill>"
	},
	name:  func(s string) string { return s },
	empty: "(none)",
}

// list renders skills within a budget of characters: whole; else with each
// description cut at a sentence or word; else as names alone; else as many names
// as fit, with their number and the way to the rest. What was shortened is said
// in one line. more is the tool that finds the rest, if the set has one.
func list(entries []*catalog.Entry, st style, escape func(string) string, budget int, more string) string {
	if len(entries) == 0 {
		return st.empty
	}
	rows := make([]row, len(entries))
	longest := 0
	for i, e := range entries {
		rows[i] = row{name: skill.OneLine(e.Name), description: skill.OneLine(e.Description), location: location(e)}
		longest = max(longest, utf8.RuneCountInString(rows[i].description))
	}
	if s, ok := fit(rows, st, escape, budget, longest); ok {
		return s
	}
	note := shortened(more, "descriptions are shortened")
	rest := budget - utf8.RuneCountInString(note) - 1
	// The longest cut that fits, by bisection.
	n := sort.Search(longest-leastDescription, func(i int) bool {
		_, ok := fit(rows, st, escape, rest, leastDescription+i)
		return !ok
	})
	if n > 0 {
		s, _ := fit(rows, st, escape, rest, leastDescription+n-1)
		return s + "\n" + note
	}
	return names(rows, st, escape, budget, more)
}

type row struct{ name, description, location string }

func location(e *catalog.Entry) string {
	if e.Root.Scope == skill.ScopeProject {
		return "project"
	}
	return "global"
}

func shortened(more, what string) string {
	if more == "" {
		return "(" + what + " to fit; load a skill to see it whole)"
	}
	return "(" + what + " to fit; " + more + " shows them whole)"
}

// fit renders all rows with descriptions of at most n characters.
func fit(rows []row, st style, escape func(string) string, budget, n int) (string, bool) {
	var b strings.Builder
	used := 0
	for i, r := range rows {
		if i > 0 {
			b.WriteByte('\n')
			used++
		}
		s := st.item(escape(r.name), escape(Cut(r.description, n)), r.location)
		if used += utf8.RuneCountInString(s); used > budget {
			return "", false
		}
		b.WriteString(s)
	}
	return b.String(), true
}

// names renders names alone, as many as fit.
func names(rows []row, st style, escape func(string) string, budget int, more string) string {
	all := make([]string, len(rows))
	total := 0
	for i, r := range rows {
		all[i] = st.name(escape(r.name))
		total += utf8.RuneCountInString(all[i]) + len(", ")
	}
	note := shortened(more, "descriptions are left out")
	if total-len(", ")+1+utf8.RuneCountInString(note) <= budget {
		return strings.Join(all, ", ") + "\n" + note
	}
	left := len(all)
	for n := range all {
		if used := utf8.RuneCountInString(all[n]) + len(", "); used <= budget-utf8.RuneCountInString(leftOut(len(all), more))-1 {
			budget -= used
			left--
			continue
		}
		all = all[:n]
		break
	}
	return strings.Join(all, ", ") + "\n" + leftOut(left, more)
}

func leftOut(n int, more string) string {
	if more == "" {
		return fmt.Sprintf("(and %d more skills, not shown to fit; any of them loads by its name)", n)
	}
	return fmt.Sprintf("(and %d more skills, not shown to fit; use %s to see them)", n, more)
}

// Cut shortens a text to at most n characters: at the end of a sentence where
// one lies in the second half, else between words, and then says so with an
// ellipsis.
func Cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)[:max(n-1, 0)]
	for i := len(runes) - 1; i > len(runes)/2; i-- {
		if isStop(runes[i]) && (i+1 == len(runes) || unicode.IsSpace(runes[i+1]) || runes[i] > 0x3000) {
			return string(runes[:i+1])
		}
	}
	for i := len(runes) - 1; i > len(runes)/2; i-- {
		if unicode.IsSpace(runes[i]) {
			return strings.TrimRight(string(runes[:i]), " ,;:-") + "…"
		}
	}
	return string(runes) + "…"
}

func isStop(r rune) bool {
	switch r {
	case '.', '!', '?', '。', '！', '？':
		return true
	}
	return false
}

// plain leaves a text as it is.
func plain(s string) string { return s }

var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escapeXML escapes element content.
func escapeXML(s string) string { return xmlEscaper.Replace(s) }

// budgetFor is the list's share of a description that has head characters
// before and after it.
func budgetFor(c Client, head int) int {
	if cut, ok := clientCut[strings.ToLower(c.Name)]; ok {
		return max(min(Budget, cut-head), 200)
	}
	return Budget
}
