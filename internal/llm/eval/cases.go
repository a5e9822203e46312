// Package eval measures whether the right skill is found for a prompt: the skill's rank in a
// search, and how often a model loads the skill among all others.
package eval

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/internal/base/search"
	"github.com/knack-dev/knack/skill"
)

// Case is a prompt, and whether a skill should be loaded for it.
type Case struct {
	Query         string
	ShouldTrigger bool
	// Skill names the skill in a file for several skills; it is empty in the file of one skill.
	Skill string
	Line  int // of the file, from 1
}

// Set is a file of cases.
type Set struct {
	File  string
	Cases []Case
}

// The files of a skill that can have cases. If both exist, only the first is read.
const (
	// TriggersFile is the list of skill-creator and of agentskills.io's guide to descriptions:
	// [{"query": "…", "should_trigger": true}].
	TriggersFile = "evals/triggers.json"
	// EvalsFile has prompts that test the outcome of a skill: {"evals": [{"prompt": "…"}]}. Each
	// should load the skill.
	EvalsFile = "evals/evals.json"
)

// Bounds of a file. The longest of 297 prompts in the corpus has 621 characters.
const (
	MaxFile  = 1 << 20 // bytes
	MaxCases = 1000
	maxText  = 64 << 10
)

// Error is the first fault of a file. Line and Column count from 1; they are 0 if the file cannot
// be read.
type Error struct {
	File         string
	Line, Column int
	Message, Fix string
}

// Error names the file, the place and the fault, without the fix.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// CasesOf reads the cases of a skill from its own files. The set is empty if the skill has no such
// file. The error is an [*Error].
func CasesOf(s *skill.Skill) (Set, error) {
	for _, kind := range []struct {
		file  string
		parse func([]byte) ([]Case, error)
	}{
		{TriggersFile, parseTriggers},
		{EvalsFile, func(data []byte) ([]Case, error) { return parseEvals(data, s.Name) }},
	} {
		data, _, err := s.ReadServed(kind.file, MaxFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return Set{}, &Error{File: kind.file, Message: skill.Reason(err), Fix: "make it a file of at most 1 MiB in the skill's folder"}
		}
		return set(kind.file, data, kind.parse)
	}
	return Set{}, nil
}

// Parse reads a list of cases as in [TriggersFile]. A case may have a third member, "skill", which
// names the skill. The error is an [*Error], with the name of the file.
func Parse(file string, data []byte) (Set, error) { return set(file, data, parseTriggers) }

func set(file string, data []byte, parse func([]byte) ([]Case, error)) (Set, error) {
	cases, err := parse(data)
	if fault := (*jsonfile.Error)(nil); errors.As(err, &fault) {
		return Set{}, &Error{file, fault.Line, fault.Column, fault.Message, fault.Fix}
	}
	return Set{file, cases}, err
}

// The forms of the files, for the fixes of errors.
const (
	triggersForm = `write a list of queries: [{"query": "…", "should_trigger": true}, …]`
	evalsForm    = `write {"skill_name": "…", "evals": [{"prompt": "…"}, …]}`
)

var (
	triggerFields = []string{"query", "should_trigger", "skill"}
	evalsFields   = []string{"skill_name", "evals"}
	evalFields    = []string{"prompt"}
)

func parseTriggers(data []byte) ([]Case, error) {
	return read(data, triggersForm, func(r *jsonfile.Reader, add func(Case)) {
		r.List("the file", func() {
			var c Case
			at, line := r.Next()
			seen := r.Fields("the query", triggerFields, func(field string, _ int) {
				switch field {
				case "query":
					c.Query = queryText(r, field)
				case "should_trigger":
					c.ShouldTrigger = r.Boolean(field)
				case "skill":
					c.Skill = r.Text(field)
				}
			})
			r.Require(seen, at, "the query", triggerFields, triggerFields[:2], triggersForm)
			c.Line = line
			add(c)
		})
	})
}

// parseEvals reads the evals file of the named skill.
func parseEvals(data []byte, name string) ([]Case, error) {
	return read(data, evalsForm, func(r *jsonfile.Reader, add func(Case)) {
		seen := r.Fields("the file", evalsFields, func(field string, _ int) {
			if field == "skill_name" {
				if subject := r.Text(field); subject != name {
					r.Fail(r.Last, "write the skill's name, or move the file to that skill", "the file is for the skill %s, and this one is %s", display.Quote(subject), display.Quote(name))
				}
				return
			}
			r.List(field, func() {
				c := Case{ShouldTrigger: true}
				at, line := r.Next()
				seen := r.Fields("the eval", evalFields, func(field string, _ int) { c.Query = queryText(r, field) })
				r.Require(seen, at, "the eval", evalFields, evalFields, evalsForm)
				c.Line = line
				add(c)
			})
		})
		r.Require(seen, 0, "the file", evalsFields, evalsFields[1:], evalsForm)
	})
}

// read reads the cases of a file. A file with no case or too many is an error.
func read(data []byte, restore string, cases func(r *jsonfile.Reader, add func(Case))) (all []Case, err error) {
	o := jsonfile.Options{
		MaxSize: MaxFile, MaxText: maxText, TooLarge: "take queries out", Restore: restore, Empty: restore,
		Conflict: "take one side, and write the queries of the other into it",
	}
	err = jsonfile.Read(data, o, func(r *jsonfile.Reader) {
		cases(r, func(c Case) {
			if len(all) == MaxCases {
				r.Fail(r.Last, "take queries out", "there are more than %s queries", display.Thousands(MaxCases))
			}
			all = append(all, c)
		})
		if len(all) == 0 {
			r.Fail(0, restore, "there is no query")
		}
	})
	return all, err
}

// queryText reads a prompt.
func queryText(r *jsonfile.Reader, field string) string {
	text := r.AnyText(field)
	if !search.HasWords(text) {
		r.Fail(r.Last, "write a prompt as a user would ask", "%s has no word", field)
	}
	return text
}
