package evalcmd

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/llm/eval"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/tool"
)

// subject is a skill with its test cases.
type subject struct {
	entry  *catalog.Entry
	called string
	eval.Set
}

const writeTriggers = `write evals/triggers.json into the skill's folder: [{"query": "what a user asks", "should_trigger": true}]; or give a file with --set`

// subjects returns the named skills with their cases, or all skills that have cases. faults are the
// errors of unusable files.
func (c *evaluation) subjects(v catalog.View, words []string) (all []*subject, faults []error, err error) {
	named, unread := selection.Named(c.env, v, words)
	if len(unread) > 0 {
		return nil, nil, notOne(unread[0])
	}
	if c.set != "" {
		all, err = c.fromFile(v, named)
		return all, nil, err
	}
	entries := named
	if len(words) == 0 {
		entries = tool.Offered(v, c.tools)
	}
	for _, e := range entries {
		if len(words) > 0 {
			if e, err = measurable(e); err != nil {
				return nil, nil, err
			}
		}
		set, err := casesOf(e)
		switch fault := (*eval.Error)(nil); {
		case errors.As(err, &fault):
			faults = append(faults, fault)
		case len(set.Cases) > 0:
			all = append(all, &subject{e, v.Called(e), set})
		case len(words) > 0:
			faults = append(faults, &eval.Error{File: path.Join(e.Root.Name(), e.Path, eval.TriggersFile), Message: "there is no such file, and no " + path.Base(eval.EvalsFile), Fix: writeTriggers})
		}
	}
	own := len(words) == 0 && !slices.ContainsFunc(all, func(s *subject) bool { return s.entry.Root.Scope != skill.ScopeBuiltin })
	if own && len(all) > 0 && len(faults) == 0 {
		return nil, nil, command.RunError(writeTriggers+"; knack eval engage measures one of knack's own", "no skill of yours has %s or %s", eval.TriggersFile, eval.EvalsFile)
	}
	if len(all) == 0 && len(faults) == 0 {
		return nil, nil, command.RunError(writeTriggers, "no skill has %s or %s", eval.TriggersFile, eval.EvalsFile)
	}
	return all, faults, nil
}

// notOne converts the failure for a word that names no skill. Its exit status then differs from
// that for a poor result.
func notOne(f *command.Failure) error {
	if f.Code == command.No {
		return command.Fail(command.Error, f.Err, f.Hint)
	}
	return f
}

// casesOf reads the cases of a skill. A built-in skill has its cases beside it in the binary.
func casesOf(e *catalog.Entry) (eval.Set, error) {
	if e.Root.Scope == skill.ScopeBuiltin {
		data := builtin.Triggers(e.Folder())
		if data == nil {
			return eval.Set{}, nil
		}
		return eval.Parse("the binary", data)
	}
	set, err := eval.CasesOf(e.Skill)
	if fault := (*eval.Error)(nil); errors.As(err, &fault) {
		fault.File = path.Join(e.Root.Name(), e.Path, fault.File)
	}
	return set, err
}

// measurable returns the skill that a model would load in place of e, or an error if a model cannot
// load it.
func measurable(e *catalog.Entry) (*catalog.Entry, error) {
	called := display.Quote(e.Name)
	switch {
	case e.Status == catalog.Copy:
		return e.By, nil
	case !e.ModelInvocable:
		return nil, command.RunError("take disable-model-invocation out of its SKILL.md", "%s is hidden from models, so none can take it", called)
	case e.Status == catalog.Unlisted:
		return nil, command.RunError("leave --exclude "+e.Root.Label+" out", "%s is in no list, so that no model takes it", called)
	}
	return e, nil
}

// fromFile reads the cases of --set. They are for the one named skill, or each case names its
// skill.
func (c *evaluation) fromFile(v catalog.View, named []*catalog.Entry) (all []*subject, err error) {
	echo := display.Echo(c.set)
	data, err := settings.ReadNamed(c.env.Absolute(c.set), eval.MaxFile)
	if err != nil {
		return nil, command.RunError(settings.HintOf(err, "give a JSON file"), "--set %s: %s", echo, settings.ReasonOf(err))
	}
	set, err := eval.Parse(echo, data)
	if fault := (*eval.Error)(nil); errors.As(err, &fault) {
		return nil, command.Fail(command.Error, fault, fault.Fix)
	}
	if len(named) > 1 {
		return nil, command.UsageError(`name one, or name the skill in each query: {"query": "…", "should_trigger": true, "skill": "pdf"}`, "--set %s is for one skill", echo)
	}
	for _, one := range set.Cases {
		e, err := c.skillOf(v, named, one)
		if f := (*command.Failure)(nil); errors.As(err, &f) {
			return nil, command.Fail(f.Code, fmt.Errorf("%s:%d: %w", echo, one.Line, f.Err), f.Hint)
		}
		i := slices.IndexFunc(all, func(s *subject) bool { return s.entry == e })
		if i < 0 {
			i = len(all)
			all = append(all, &subject{entry: e, called: v.Called(e), Set: eval.Set{File: console.OneLine(echo)}})
		}
		all[i].Cases = append(all[i].Cases, one)
	}
	return all, nil
}

// skillOf returns the skill of a case in the --set file.
func (c *evaluation) skillOf(v catalog.View, named []*catalog.Entry, one eval.Case) (*catalog.Entry, error) {
	switch {
	case one.Skill != "" && len(named) == 1:
		return nil, command.UsageError("give the file alone; its queries name their skills", "the query names a skill, and so does the command")
	case one.Skill == "" && len(named) == 0:
		return nil, command.UsageError(`give the SKILL too, or name it in each query: {"query": "…", "should_trigger": true, "skill": "pdf"}`, "no skill is named")
	case one.Skill != "":
		found, unread := selection.Named(c.env, v, []string{one.Skill})
		if len(unread) > 0 {
			return nil, notOne(unread[0])
		}
		if len(found) > 1 {
			return nil, command.RunError("name one skill", "%s is more than one skill", display.Quote(one.Skill))
		}
		named = found
	}
	return measurable(named[0])
}
