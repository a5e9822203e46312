// Package baseline reads and writes the file of the findings of a scan that are known. A finding is
// known by its rule, its file, and the digest of its text and message, so it stays known when its
// line moves. The message has what is far from the line: the URL of a file that is run.
package scan

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/sorting"
	"github.com/knack-dev/knack/skill"
)

// Baseline counts the findings that are known. The zero value has none.
type Baseline struct{ known map[key]int }

// key is what equal findings have in common. file is a path below the folder that was scanned.
type key struct {
	file string
	rule skill.RuleID
	text skill.Digest // zero for those of the rule more
}

// more is the rule of the findings that a report counts and does not list. Their file is the
// skill's folder.
const more skill.RuleID = "more"

func keyOf(folder string, f Finding) key {
	text := skill.DigestOf(append(f.Text[:], f.Message...))
	return key{MaskSecrets(path.Join(folder, f.File)), f.Rule, text}
}

func moreOf(folder string) key {
	return key{MaskSecrets(path.Clean(folder)), more, skill.Digest{}}
}

// unlisted returns how many findings a report counts and does not list.
func unlisted(r *Report) int { return r.Enforce + r.Review - len(r.Findings) }

// Add notes the findings of a skill as known. folder is its place below the folder that was scanned.
func (b *Baseline) Add(folder string, r *Report) {
	if b.known == nil {
		b.known = map[key]int{}
	}
	for _, f := range r.Findings {
		b.known[keyOf(folder, f)]++
	}
	if n := unlisted(r); n > 0 {
		b.known[moreOf(folder)] += n
	}
}

// Silence takes the known findings of a skill out of its report and returns how many there were. Of
// equal findings it takes the first, as many as are known. Each known finding is taken once in all
// calls.
func (b *Baseline) Silence(folder string, r *Report) (silenced int) {
	rest := unlisted(r)
	known := min(rest, b.known[moreOf(folder)])
	silenced = known
	if known > 0 {
		b.known[moreOf(folder)] -= known
		// The report lists findings to enforce first, so those that it does not list are to review
		// as long as it has such.
		review := min(known, r.Review)
		r.Review -= review
		r.Enforce -= known - review
	}
	r.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool {
		k := keyOf(folder, f)
		if b.known[k] == 0 {
			return false
		}
		b.known[k]--
		silenced++
		if f.Lane == Enforce {
			r.Enforce--
		} else {
			r.Review--
		}
		return true
	})
	return silenced
}

// kind tells a baseline from other files.
const kind = "knack scan baseline"

// Format returns the file: JSON with a line for each finding, by file, rule and text.
func (b *Baseline) Format() []byte {
	keys := slices.Collect(maps.Keys(b.known))
	sorting.Func(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.rule, b.rule), slices.Compare(a.text[:], b.text[:]))
	})
	out := []byte("{\n  \"kind\": \"" + kind + "\",\n  \"version\": 1,\n  \"findings\": [")
	for i, k := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = display.AppendJSONString(append(out, "\n    {\"file\": "...), k.file)
		out = display.AppendJSONString(append(out, ", \"rule\": "...), string(k.rule))
		if k.rule != more {
			out = display.AppendJSONString(append(out, ", \"text\": "...), k.text.String())
		}
		if n := b.known[k]; n > 1 {
			out = strconv.AppendInt(append(out, ", \"count\": "...), int64(n), 10)
		}
		out = append(out, '}')
	}
	if len(keys) > 0 {
		out = append(out, "\n  "...)
	}
	return append(out, "]\n}\n"...)
}
