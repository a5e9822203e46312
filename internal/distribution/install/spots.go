package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Spot is the place of an installed skill in the folder of a client that does not read the skill's
// own folder. The place has a link to the skill, or a copy.
type Spot struct {
	Client string        // its ID
	Name   string        // its name, for people
	Path   string        // absolute, with the links above it resolved
	Form   lockfile.Form // the form in the lock afterwards, or ""
	Do     Action        // Write, Replace, Nothing, Delete, Leave, Fail, Differs or Matches
	// Problem is the reason why the place is left, failed, or differs.
	Problem *Problem
	Kept    string // the folder with the former content of its place, or ""
	Copied  bool   // a copy was made because the system has no links
	Reads   bool   // the client reads the skill's own folder, so there is nothing to do

	found *content
	text  string // the target of the link in its place
	keep  bool
}

// Clients names the clients into whose folders a command puts skills, and the form that the skills
// have there.
type Clients struct {
	IDs  []string
	Form lockfile.Form
}

// Judge returns the hold on each of the given skill folders that is held back, by folder. The
// client of a held-back skill must not have it.
type Judge func(folders []string) map[string]Hold

// Hold says why a skill is held back.
type Hold struct {
	Why string
	// First is the fix without which no command can approve the skill, or "".
	First string
}

// Settle puts the installed skills of a plan into the folders of clients. These are the clients
// that the lock names, and the given clients, which Settle records in the lock. Settle removes
// each held-back skill of the plan from the folders of clients, also one whose own folder stays as
// it is.
func (in *Installer) Settle(ctx context.Context, p *Plan, asked Clients, judge Judge) error {
	var steps []*Step
	var folders []string
	for _, s := range p.Steps {
		if in.settles(s, asked) || in.stays(s) {
			steps = append(steps, s)
			folders = append(folders, in.Folder(s.Key))
		}
	}
	if len(steps) == 0 {
		return nil
	}
	why := judge(folders)
	changed := map[string]*lockfile.Skill{}
	for _, s := range steps {
		hold, isHeld := why[in.Folder(s.Key)]
		if isHeld && in.o.DryRun && s.New() { // the verdict is not on the new files
			s.Warnings = append(s.Warnings, "whether clients get it is known once it is installed, since the lock or a policy may hold it back")
			isHeld = false
		}
		if !in.settles(s, asked) {
			if isHeld {
				in.withhold(ctx, s, in.lock.Skills[s.Key], hold)
			}
			continue
		}
		if isHeld {
			in.withhold(ctx, s, s.Entry, hold, asked.IDs...)
			continue
		}
		in.planSpots(ctx, s, s.Entry, func(id string) lockfile.Form {
			if slices.Contains(asked.IDs, id) {
				return asked.Form
			}
			return s.Entry.Clients[id]
		}, asked.IDs...)
		clients := maps.Clone(s.Entry.Clients)
		for _, spot := range s.Spots {
			if !in.o.DryRun {
				in.doSpot(ctx, s, spot)
			}
			if spot.Form != "" && clients[spot.Client] != spot.Form {
				if clients == nil {
					clients = map[string]lockfile.Form{}
				}
				clients[spot.Client] = spot.Form
			}
		}
		if !maps.Equal(clients, s.Entry.Clients) {
			s.Entry.Clients = clients
			changed[s.Key] = &s.Entry
		}
	}
	if len(changed) == 0 || in.o.DryRun {
		return nil
	}
	return in.writeLock(changed)
}

// settles reports whether clients get the skill of a step.
func (in *Installer) settles(s *Step, asked Clients) bool {
	return (s.New() || s.Do == Record || s.Do == Nothing) && len(s.Entry.Clients)+len(asked.IDs) > 0
}

// stays reports whether clients have the skill of a step that leaves its folder as it is.
func (in *Installer) stays(s *Step) bool {
	return s.Do != Delete && s.Do != Drop && !s.Interrupted() && len(in.lock.Skills[s.Key].Clients) > 0
}

// withhold removes a skill that is held back from the folders of clients. The clients stay in the
// lock.
func (in *Installer) withhold(ctx context.Context, s *Step, entry lockfile.Skill, hold Hold, others ...string) {
	in.planSpots(ctx, s, entry, func(string) lockfile.Form { return "" }, others...)
	for _, spot := range s.Spots {
		if spot.Reads {
			continue
		}
		spot.Form = entry.Clients[spot.Client]
		if !in.o.DryRun {
			in.doSpot(ctx, s, spot)
		}
		if spot.Do == Nothing {
			spot.Do = Leave
		}
		in.tellHeld(s, spot, hold)
	}
}

// tellHeld adds to a place in a client's folder the problem that its skill is held back.
func (in *Installer) tellHeld(s *Step, spot *Spot, hold Hold) {
	if p := spot.Problem; p != nil { // the client may have it
		combined := *p
		combined.Err = fmt.Errorf("%w; it is held back: %s", p.Err, hold.Why)
		spot.Problem = &combined
		return
	}
	fix := "see " + in.command("doctor", s.Name) + "; then run the command again"
	if hold.First != "" {
		fix = hold.First + "; then " + fix
	}
	spot.Problem = &Problem{Err: fmt.Errorf("it is held back, so %s does not get it: %s", spot.Name, hold.Why), Fix: fix, No: true}
}

// takeBack removes a skill from the folders of clients, if the step removes the skill.
func (in *Installer) takeBack(ctx context.Context, s *Step) {
	if s.Do != Delete && s.Do != Drop {
		return
	}
	for _, spot := range s.Spots {
		in.doSpot(ctx, s, spot)
	}
}

// verifySpots compares the places in the folders of clients with the lock.
func (in *Installer) verifySpots(ctx context.Context, s *Step) {
	in.planSpots(ctx, s, *s.Was, func(id string) lockfile.Form { return s.Was.Clients[id] })
	for _, spot := range s.Spots {
		switch spot.Do {
		case Nothing:
			spot.Do = Matches
		case Write:
			spot.Do, spot.Problem = Differs, &Problem{Err: fmt.Errorf("the %s for %s is missing", spot.Form, spot.Name), Fix: in.command("sync") + " restores it", No: true}
		case Replace:
			spot.Do, spot.Problem = Differs, &Problem{Err: fmt.Errorf("it is not the locked %s for %s", spot.Form, spot.Name), Fix: in.command("sync") + " restores it", No: true}
		case Leave:
			spot.Do = Differs
		}
	}
}

// verifyHeld sets the problem of each place of a held-back skill in the folders of clients, which
// is empty after the next sync.
func (in *Installer) verifyHeld(ctx context.Context, s *Step, hold Hold) {
	in.planSpots(ctx, s, *s.Was, func(string) lockfile.Form { return "" })
	for _, spot := range s.Spots {
		switch {
		case spot.Reads:
			spot.Do = Matches
			continue
		case spot.Do == Delete:
			spot.Problem = &Problem{Err: fmt.Errorf("%s has it, but it is held back: %s", spot.Name, hold.Why), Fix: in.command("sync") + " takes it away from there", No: true}
		default:
			in.tellHeld(s, spot, hold)
		}
		spot.Do = Differs
	}
}

// planSpots plans the places of a skill in the folders of the clients that its entry names, and of
// the other given clients. want returns the form that a client shall get, or "" for none.
func (in *Installer) planSpots(ctx context.Context, s *Step, entry lockfile.Skill, want func(id string) lockfile.Form, others ...string) {
	ids := map[string]bool{}
	for id := range entry.Clients {
		ids[id] = true
	}
	for _, id := range others {
		ids[id] = true
	}
	s.Spots = nil
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		spot := &Spot{Client: id, Name: id, Form: entry.Clients[id]}
		s.Spots = append(s.Spots, spot)
		if err := in.planSpot(ctx, s, entry, spot, want(id)); err != nil {
			spot.Do, spot.Problem = Leave, ProblemOf(err)
		}
	}
}

func (in *Installer) planSpot(ctx context.Context, s *Step, entry lockfile.Skill, spot *Spot, want lockfile.Form) (err error) {
	agent := agents.Find(spot.Client)
	if agent == nil {
		return &Problem{Err: fmt.Errorf("this knack knows no client %s", spot.Client), Fix: "use the knack that wrote " + in.lockShown(), No: true}
	}
	spot.Name = agent.Name
	if spot.Reads = in.Reads(agent, s.Key); spot.Reads {
		spot.Do = Nothing
		return nil
	}
	if spot.Path, err = in.spotPath(s.Key, agent); err != nil {
		return err
	}
	if _, locked := in.lock.Skills[in.keyAt(spot.Path)]; locked {
		return &Problem{Err: errors.New("another installed skill is in its place"), Fix: "remove that one, or this one, then run the command again", No: true}
	}
	if spot.found, err = in.look(ctx, spot.Path); err != nil {
		return err
	}
	c := spot.found
	aside := func() string { return in.overwrite(s.Key, "replaces or removes it") + c.moveOut() }
	byHand := "remove it by hand, then run the command again"
	if (s.Do == Delete || s.Do == Drop) && !in.o.DryRun { // no later command finds this place in the lock
		byHand = "remove it by hand, since " + in.lockShown() + " no longer names the skill"
		aside = func() string { return byHand }
	}
	had := spot.Form != ""
	ours := c.odd == aLink && in.leadsTo(spot, s.Key)
	same := had && c.matches(entry.Digest)
	made := same || had && (s.Was != nil && c.matches(s.Was.Digest) || in.fetched(c))
	switch {
	case c.missing && want == "":
		spot.Do = Nothing
	case c.missing:
		if file := fileAbove(spot.Path); file != "" {
			fix := "move it away, then run the command again"
			if had {
				fix = "move it away, then run " + in.command("sync")
			}
			return &Problem{Err: fmt.Errorf("%s is a file, so there is no folder for %s", in.formatPath(file), agent.Name), Fix: fix, No: true}
		}
		spot.Do = Write
	case ours && want == lockfile.Link:
		spot.Do = Nothing
	case want == lockfile.Copy && c.matches(entry.Digest), want == lockfile.Link && spot.Form == want && same: // a system without links
		spot.Do = Nothing
	case (ours || made) && want == "":
		spot.Do = Delete
	case ours, made:
		spot.Do = Replace
	case c.odd != "":
		return &Problem{Err: fmt.Errorf("%s is in its place", c.odd), Fix: byHand, No: true}
	case in.o.Overwrite && want == "" && had:
		spot.Do, spot.keep = Delete, true
	case in.o.Overwrite && want != "":
		spot.Do, spot.keep = Replace, true
	case had && spot.Form == lockfile.Link:
		return &Problem{Err: fmt.Errorf("a folder is in the place of the link for %s", agent.Name), Fix: aside(), No: true}
	case had && c.digest == entry.Digest:
		return &Problem{Err: fmt.Errorf("the locked files of the copy for %s are unchanged, but its folder has entries that no lock has", agent.Name), Fix: aside(), No: true}
	case had:
		return &Problem{Err: fmt.Errorf("the copy for %s was changed since it was made", agent.Name), Fix: aside(), No: true}
	default:
		return &Problem{Err: errors.New("there is another skill in its place, which knack did not put there"), Fix: in.overwrite(s.Key, "replaces it"), No: true}
	}
	spot.Form = want
	return nil
}

// fileAbove returns the file that is in the place of a folder above a path, or "".
func fileAbove(path string) string {
	for at := filepath.Dir(path); at != filepath.Dir(at); at = filepath.Dir(at) {
		switch err := dir.Check(at); {
		case err == nil:
			return ""
		case errors.Is(err, skill.ErrNotFolder):
			return at
		}
	}
	return ""
}

// doSpot carries out the plan for a place in a client's folder.
func (in *Installer) doSpot(ctx context.Context, s *Step, spot *Spot) {
	if spot.Do != Write && spot.Do != Replace && spot.Do != Delete {
		return
	}
	// moving is the step that moves the files, with the same care as the files of an installed
	// skill.
	place, err := in.place(s.Key)
	moving := &Step{Name: s.Name, Key: s.Key, Entry: s.Entry, Do: spot.Do, place: spot.Path, from: place, found: spot.found, keep: spot.keep}
	if spot.Do == Delete {
		err = nil // the skill's own folder stays out of it
	}
	fail := func(err error) bool {
		if err != nil {
			in.fail(moving, err)
			spot.Do, spot.Problem = Fail, moving.Problem
		}
		return err != nil
	}
	if fail(err) || fail(in.noLinks(spot.Path)) {
		return
	}
	defer func() { _ = edit.Sweep(in.beside(spot.Path), nil) }() // removes the folder if it is empty
	wants := spot.Do
	if spot.found.odd == aLink {
		if fail(edit.Unlink(spot.Path, spot.text)) {
			return
		}
		spot.found = &content{missing: true}
		moving.found, moving.Do = spot.found, Write
	}
	if wants != Delete && spot.Form == lockfile.Link {
		if !spot.found.missing {
			moving.Do = Delete
			if in.replaceAll(ctx, []*Step{moving}); moving.Do == Fail {
				spot.Do, spot.Problem = Fail, moving.Problem
				return
			}
			spot.Kept, moving.found = moving.Kept, &content{missing: true}
		}
		link := in.o.Link
		if link == nil {
			link = edit.Link
		}
		err := link(spot.Path, place)
		if !errors.Is(err, edit.ErrNoLinks) {
			fail(err)
			return
		}
		spot.Copied, moving.Do = true, Write
	}
	switch {
	case moving.Do == Write && wants == Delete: // the link was removed above
	case moving.Do == Write:
		if fail(in.fit([]*Step{moving})) {
			return
		}
		in.writeAll(ctx, []*Step{moving})
	default:
		in.replaceAll(ctx, []*Step{moving})
	}
	if moving.Do == Fail {
		spot.Do, spot.Problem = Fail, moving.Problem
	}
	if moving.Kept != "" {
		spot.Kept = moving.Kept
	}
}

// scope returns the homes of agents, and the folder of the project whose clients get the skills.
// The project is "" if the clients at home get them.
func (in *Installer) scope() (homes agents.Homes, project string) {
	if !in.o.AtHome {
		project = in.o.Root
	}
	return agents.Homes{Home: in.o.Home, Getenv: in.o.Getenv}, project
}

// Reads reports whether an agent reads the folder that contains a skill.
func (in *Installer) Reads(a *agents.Agent, key string) bool {
	homes, project := in.scope()
	at := filepath.Dir(in.Folder(key))
	return slices.ContainsFunc(slices.Concat(homes.Folders(a, project), homes.Folders(a, "")), func(folder string) bool { return realpath.Same(filepath.FromSlash(folder), at) })
}

// spotPath returns the path of a skill in an agent's own folder, with the links above it resolved.
func (in *Installer) spotPath(key string, a *agents.Agent) (string, error) {
	if a == nil {
		return "", errors.New("there is no such client")
	}
	homes, project := in.scope()
	folder := homes.Own(a, project)
	if folder == "" {
		return "", &Problem{Err: fmt.Errorf("%s has no folder of its own for skills", a.Name), Fix: in.command("connect", a.ID), No: true}
	}
	real, err := in.parent(filepath.FromSlash(folder))
	return filepath.Join(real, filepath.Base(in.Folder(key))), err
}

// keyAt returns the key that a skill at this path has in the lock.
func (in *Installer) keyAt(path string) string {
	rel, err := filepath.Rel(in.real, path)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(rel)
}

// leadsTo reports whether the link in a client's folder leads to a skill's folder, even if that is
// missing.
func (in *Installer) leadsTo(spot *Spot, key string) bool {
	folder, err := dir.OpenTree(filepath.Dir(spot.Path), false)
	if err != nil {
		return false
	}
	defer folder.Close()
	if spot.text, err = folder.Readlink(filepath.Base(spot.Path)); err != nil {
		return false
	}
	target := filepath.FromSlash(spot.text)
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(spot.Path), target)
	}
	return realpath.Same(target, in.Folder(key))
}
