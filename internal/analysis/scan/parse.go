package scan

import (
	"encoding/json"

	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/skill"
)

// MaxSize limits a baseline, in bytes.
const MaxSize = 16 << 20

// restore is the fix for a file that knack did not write.
const restore = "restore the file from version control, or delete it and let --write make it anew"

// The fields of the objects, in the order in which they are written.
var (
	baselineFields = []string{"kind", "version", "findings"}
	findingFields  = []string{"file", "rule", "text", "count"}
)

// form contains the limits of a baseline file, and the advice for its faults.
var form = jsonfile.Options{
	MaxSize: MaxSize, MaxText: 64 << 10, TooLarge: "scan fewer skills at once", Restore: restore,
	Empty:    "delete it, and --write makes it",
	Conflict: "delete it and let --write make it anew",
}

// Parse reads a baseline strictly. Its error is a [*jsonfile.Error].
func Parse(data []byte) (*Baseline, error) {
	b := &Baseline{known: map[key]int{}}
	err := jsonfile.Read(data, form, func(r *jsonfile.Reader) {
		if isOther(data) {
			r.Fail(0, "name another file; this one is left as it is", "the file is not a baseline: it has no \"kind\": %q", kind)
		}
		seen := r.Object("the baseline", baselineFields, func(field string, _ int) {
			switch field {
			case "kind":
				r.Text(field)
			case "version":
				if n := r.Number(field); n != 1 {
					r.Fail(r.Last, "use a newer knack, or "+restore, "version %d is not known; this knack reads version 1", n)
				}
			case "findings":
				r.List(field, func() { b.read(r) })
			}
		})
		r.Require(seen, 0, "the baseline", baselineFields, baselineFields[:2], restore)
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// isOther reports whether a text is JSON but not a baseline.
func isOther(data []byte) bool {
	var head struct{ Kind any }
	return json.Valid(data) && (json.Unmarshal(data, &head) != nil || head.Kind != kind)
}

// read reads one finding.
func (b *Baseline) read(r *jsonfile.Reader) {
	var k key
	count := int64(1)
	at, _ := r.Next()
	seen := r.Object("a finding", findingFields, func(field string, _ int) {
		switch field {
		case "file":
			k.file = r.AnyText(field)
		case "rule":
			k.rule = skill.RuleID(r.Text(field))
		case "text":
			k.text = jsonfile.Digest(r, field, skill.ParseDigest)
		case "count":
			if count = r.Number(field); count < 1 || count > 1<<30 {
				r.Fail(r.Last, restore, "count is not a number from 1")
			}
		}
	})
	required := findingFields[:3]
	if k.rule == more { // findings of this rule are counted without their texts
		required = findingFields[:2]
	}
	r.Require(seen, at, "a finding", findingFields, required, restore)
	switch {
	case k.rule == more && k.text != skill.Digest{}:
		r.Fail(at, restore, "a finding of the rule %s has a text", more)
	case b.known[k] > 0:
		r.Fail(at, "remove one of the two", "a finding is there twice")
	}
	b.known[k] = int(count)
}
