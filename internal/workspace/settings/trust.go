package settings

import (
	"errors"
	"fmt"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/skill"
)

// Trust returns the rules of the file of --config, or of the user's file, with their keys, or nil
// without a file. An unreadable key is an error, since a rule without it would mean something else.
func (s *Finder) Trust() (trust.Rules, error) {
	f, err := s.Trusted()
	if f == nil || err != nil {
		return nil, err
	}
	p, problems := f.trust()
	if len(problems) > 0 {
		return nil, refusedFor(f, problems)
	}
	return p, nil
}

// trust returns the rules of the file with their keys, and the problems with the keys.
func (f *File) trust() (trust.Rules, []skill.Problem) {
	var rules trust.Rules
	var problems []skill.Problem
	for i, t := range f.Config.Trust {
		r := trust.Rule{From: t.From, Require: t.Require, Where: fmt.Sprintf("%s:%d", f.Shown, t.Line)}
		for _, file := range t.Keys {
			k, err := f.key(file.Text)
			if err != nil {
				problems = append(problems, skill.Problem{Rule: "config-value", Position: file.Position, Field: fmt.Sprintf("trust[%d].keys", i),
					Message: "the key " + display.Echo(file.Text) + " cannot be used: " + err.Message, Fix: err.Fix})
				continue
			}
			r.Keys = append(r.Keys, k)
		}
		rules = append(rules, r)
	}
	return rules, problems
}

func (f *File) key(name string) (trust.Key, *trust.KeyError) {
	data, err := ReadNamed(f.Resolve(name), trust.MaxKey)
	if err != nil {
		return trust.Key{}, &trust.KeyError{Message: ReasonOf(err), Fix: HintOf(err, "name the file of a public key in PEM")}
	}
	k, err := trust.ParsePublic(display.Echo(name), data)
	if bad := (*trust.KeyError)(nil); errors.As(err, &bad) {
		return trust.Key{}, bad
	}
	return k, nil
}

// ProblemsOfTrust returns the problems with the keys of the file's rules.
func (f *File) ProblemsOfTrust() []skill.Problem {
	_, problems := f.trust()
	return problems
}
