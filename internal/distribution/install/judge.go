package install

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/jsonfile"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
)

// records reports whether a step puts its entry into the lock.
func (s *Step) records() bool {
	return s.Do == Write || s.Do == Replace || s.Do == Record || s.Do == Newer
}

// judge fails the steps that a link blocks, or that the lock cannot record, before anything is
// written. The texts of an entry come from its source. One bad text must not keep the other skills
// out of the lock.
func (in *Installer) judge(steps []*Step) error {
	for _, s := range steps {
		if s.Do == Write || s.Do == Replace || s.Do == Delete {
			if err := in.noLinks(s.place); err != nil {
				in.fail(s, err)
			}
		}
		if _, had := in.lock.Skills[s.Key]; !had && s.records() {
			if err := in.apart(s.Key); err != nil {
				in.fail(s, err)
			}
		}
	}
	planned := func() (map[string]*lockfile.Skill, error) {
		changed := map[string]*lockfile.Skill{}
		for _, s := range steps {
			switch {
			case s.records():
				changed[s.Key] = &s.Entry
			case s.Do == Delete, s.Do == Drop:
				changed[s.Key] = nil
			}
		}
		if len(changed) == 0 {
			return nil, nil
		}
		_, err := lockfile.Parse(in.with(changed).Bytes())
		return changed, err
	}
	changed, err := planned()
	if err == nil {
		return nil
	}
	locked := map[skill.Key]string{}
	for key := range in.lock.Skills {
		if e, touched := changed[key]; !touched || e != nil {
			locked[skill.KeyOf(key)] = key
		}
	}
	for _, s := range steps {
		if !s.records() {
			continue
		}
		s.judge()
		if _, had := in.lock.Skills[s.Key]; s.Do != Fail && !had {
			if twin, ok := locked[skill.KeyOf(s.Key)]; ok {
				s.Do, s.Problem = Fail, &Problem{Err: fmt.Errorf("its folder %s differs from the locked %s only in capitals or accents", display.Quote(s.Key), display.Quote(twin)), Fix: in.command("remove", in.word(twin)) + " makes way for it", No: true}
			}
		}
	}
	if _, err = planned(); err != nil {
		return unreadable(err)
	}
	return nil
}

// judge fails the step if its entry alone makes the lock unreadable.
func (s *Step) judge() {
	_, err := lockfile.Parse((&lockfile.Lock{Skills: map[string]lockfile.Skill{s.Key: s.Entry}}).Bytes())
	if bad := (*jsonfile.Error)(nil); errors.As(err, &bad) {
		s.Do, s.Problem = Fail, problem("ask the author of the source to mend that; nothing was changed here", "%s cannot record it: %s", lockfile.Name, bad.Message)
	}
}

// unreadable returns the problem of a new lock that is not written because it could not be read
// again.
func unreadable(err error) *Problem {
	fix := "report this as a bug of knack"
	bad := (*jsonfile.Error)(nil)
	if errors.As(err, &bad) {
		fix = bad.Fix
	}
	return problem(fix, "the new %s could not be read again (%w), so it was not written", lockfile.Name, err)
}

// noLinks refuses a link at the folder for new trees, since a clone can bring such a link. It also
// refuses a link that appeared above a place after the place was resolved.
func (in *Installer) noLinks(place string) error {
	for _, dir := range []string{in.beside(place), filepath.Dir(place)} {
		if links := realpath.Links(dir); len(links) > 0 {
			return &Problem{Err: fmt.Errorf("%s is a link, and knack writes and removes nothing through it", in.formatPath(links[0])), Fix: "remove it, or make it a folder", No: true}
		}
	}
	return nil
}
