package scan

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Baseline counts the known findings. The zero value is an empty baseline.
type Baseline struct{ known map[key]int }

// key identifies a finding in a baseline. Equal findings have the same key, and a finding keeps its
// key when its line moves. file is a path below the scanned folder. text is the digest of the
// finding's text and message. The message can contain facts from other lines, such as the URL of a
// file that is run.
type key struct {
	file string
	rule skill.RuleID
	text skill.Digest // zero for the rule more
}

// more stands for the rule of the findings that a report counts but does not list. In a baseline,
// their file is the skill's folder.
const more skill.RuleID = "more"

func keyOf(folder string, f Finding) key {
	text := skill.DigestOf(append(f.Text[:], f.Message...))
	return key{MaskSecrets(path.Join(folder, f.File)), f.Rule, text}
}

func moreOf(folder string) key {
	return key{MaskSecrets(path.Clean(folder)), more, skill.Digest{}}
}

// unlisted returns the number of findings that a report counts but does not list.
func unlisted(r *Report) int { return r.Enforce + r.Review - len(r.Findings) }

// Add records the findings of a skill as known. folder is the skill's path below the scanned
// folder.
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

// Silence removes the known findings of a skill from its report and returns their number. Of equal
// findings, it removes as many as are known, starting with the first. Each known finding removes
// only one finding, across all calls.
func (b *Baseline) Silence(folder string, r *Report) (silenced int) {
	rest := unlisted(r)
	known := min(rest, b.known[moreOf(folder)])
	silenced = known
	if known > 0 {
		b.known[moreOf(folder)] -= known
		// The report lists the findings to enforce first. If one of them is not listed, no finding
		// to review is listed either.
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

// kind is the value of the member "kind" of a baseline file.
const kind = "knack scan baseline"

// Format returns the baseline as JSON, one line per finding, sorted by file, rule and text.
func (b *Baseline) Format() []byte {
	keys := slices.Collect(maps.Keys(b.known))
	slices.SortFunc(keys, func(a, b key) int {
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
