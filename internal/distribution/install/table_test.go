package install_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/test/testwait"
)

func skillFiles(text string) map[string]string {
	return map[string]string{
		"SKILL.md": "---\nname: pdf\ndescription: Reads PDF files.\n---\n" + text, "scripts/fill.sh": "echo " + text, "refs/a.md": "the same", "empty": "",
	}
}

func with(files map[string]string, changes ...string) map[string]string {
	out := maps.Clone(files)
	for i := 0; i < len(changes); i += 2 {
		if out[changes[i]] = changes[i+1]; changes[i+1] == "gone" {
			delete(out, changes[i])
		}
	}
	return out
}

var old, newer = skillFiles("one"), skillFiles("two")

// cells map each state of a skill's place to the state after each command.
var cells = []struct {
	name     string
	unlocked bool // the lock does not have the skill
	there    map[string]string
	// The state of the place afterwards: "new", "old" (as locked), "same" (as before),
	// "none".
	add, update, sync, remove string
	// The states with --overwrite.
	addOver, updateOver, syncOver, removeOver string
}{
	{"nothing", false, nil, "new", "new", "old", "none", "new", "new", "old", "none"},
	{"as locked", false, old, "new", "new", "old", "none", "new", "new", "old", "none"},
	{"changed", false, with(old, "SKILL.md", "mine"), "same", "same", "same", "same", "new", "new", "old", "none"},
	{"changed script", false, with(old, "scripts/fill.sh", "mine"), "same", "same", "same", "same", "new", "new", "old", "none"},
	{"own file", false, with(old, "notes.txt", "mine"), "same", "same", "same", "same", "new", "new", "old", "none"},
	{"own hidden file", false, with(old, ".env", "mine"), "same", "same", "same", "same", "new", "new", "old", "none"},
	{"own hidden folder", false, with(old, ".git/config", "mine"), "same", "same", "same", "same", "new", "new", "old", "none"},
	{"without a file", false, with(old, "refs/a.md", "gone"), "same", "same", "same", "same", "new", "new", "old", "none"},
	{"a link in it", false, with(old, "notes", "-> ../../../knack.lock"), "same", "same", "same", "same", "new", "new", "old", "none"},
	{"what is wanted", false, newer, "new", "new", "same", "same", "new", "new", "old", "none"},
	{"not locked, what is wanted", true, newer, "new", "same", "same", "same", "new", "same", "same", "same"},
	{"not locked, different", true, with(newer, "SKILL.md", "mine"), "same", "same", "same", "same", "new", "same", "same", "same"},
	{"not locked, own file", true, with(newer, "notes.txt", "mine"), "same", "same", "same", "same", "new", "same", "same", "same"},
}

func TestTable(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		cells := cells
		if kind != "folder" && !testwait.SecondLane() {
			cells = slices.Concat(cells[:1], cells[2:3]) // the place is empty, or changed by the user
		}
		for _, c := range cells {
			for _, over := range []bool{false, true} {
				for _, command := range []string{"add", "update", "sync", "remove"} {
					want := map[string]string{"add": c.add, "update": c.update, "sync": c.sync, "remove": c.remove}[command]
					if over {
						want = map[string]string{"add": c.addOver, "update": c.updateOver, "sync": c.syncOver, "remove": c.removeOver}[command]
					}
					name := kind + "/" + c.name + "/" + command + map[bool]string{true: " --overwrite"}[over]
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						w := placed(t, kind, c.there, c.unlocked, newer)
						w.cell(command, over, c.there, want)
					})
					if command == "sync" || command == "remove" {
						continue
					}
					// Without a new version, add and update act like sync. Only add finds a skill
					// that is not locked.
					same := c.sync
					if over {
						same = c.syncOver
					}
					if over && c.unlocked && command == "add" {
						same = "old"
					}
					t.Run(name+" without news", func(t *testing.T) {
						t.Parallel()
						w := placed(t, kind, c.there, c.unlocked, nil)
						w.cell(command, over, c.there, same)
					})
				}
			}
		}
	}
}

// placed returns a world in which the skill was added, and then its place, the lock and the source
// were changed. If news is nil, the source stays as it was.
func placed(t *testing.T, kind string, there map[string]string, unlocked bool, news map[string]string) *world {
	t.Helper()
	w := newWorld(t, kind)
	w.publish(old)
	p, err := w.add(w.options())
	if err != nil || p.Outcome() != install.Done {
		t.Fatal(err, p.Steps[0].Problem)
	}
	if news != nil {
		w.publish(news)
	}
	if unlocked {
		must(t, os.Remove(filepath.Join(w.project(), lockfile.Name)))
	}
	must(t, os.RemoveAll(w.place()))
	for name, text := range there {
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			must(t, os.MkdirAll(w.place(), 0o755))
			must(t, os.Symlink(target, filepath.Join(w.place(), name)))
			continue
		}
		put(t, w.place(), map[string]string{name: text})
	}
	return w
}

// TestCheckSeesTheDisk checks that update --check without a new version reports differences on the
// disk, and changes nothing.
func TestCheckSeesTheDisk(t *testing.T) {
	for _, c := range cells[:10] {
		w := placed(t, "folder", c.there, false, nil)
		before := stamps(t, w.project())
		o := w.options()
		o.DryRun = true
		p, err := w.planUpdate(o, install.UpdateRequest{Check: true})
		must(t, err)
		want, drift := install.Differs, len(c.there) > 0
		if c.name == "as locked" {
			want, drift = install.Nothing, false
		}
		if s := p.Steps[0]; s.Do != want || s.Drift.Any() != drift || (p.Outcome() == install.Done) != (want == install.Nothing) {
			t.Errorf("%s: %s, %v, %v", c.name, s.Do, s.Drift, p.Outcome())
		}
		if diff := cmp.Diff(before, stamps(t, w.project())); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// cell runs a command, and compares the whole project and the kept files with the table.
func (w *world) cell(command string, over bool, there map[string]string, want string) {
	t := w.t
	o := w.options()
	o.Overwrite = over
	before := files(t, w.place())
	lock := files(t, w.project())[lockfile.Name]

	// A dry run plans the same and changes nothing.
	dry := o
	dry.DryRun = true
	all := stamps(t, w.project())
	commands := map[string]func(install.Options) (*install.Plan, error){"add": w.add, "update": w.update, "sync": w.sync, "remove": w.remove}
	planned, err := commands[command](dry)
	must(t, err)
	if diff := cmp.Diff(all, stamps(t, w.project())); diff != "" {
		t.Errorf("the dry run: %s", diff)
	}
	p, err := commands[command](o)
	must(t, err)
	if len(p.Steps) != len(planned.Steps) || len(p.Steps) > 0 && p.Steps[0].Do != planned.Steps[0].Do {
		t.Errorf("planned %+v, done %+v", planned.Steps, p.Steps)
	}

	after := files(t, w.place())
	expected := map[string]map[string]string{"new": newer, "old": old, "same": before, "none": {}}[want]
	if diff := cmp.Diff(expected, after); diff != "" {
		t.Errorf("the place: %s", diff)
	}
	// Every file that knack did not write still exists.
	foreign := map[string]string{}
	for name, text := range files(t, w.backups()) {
		_, name, _ = strings.Cut(name, "/")
		foreign[name] = text
	}
	for name, text := range there {
		if old[name] != text && newer[name] != text && after[name] != text && foreign[name] != text {
			t.Errorf("%s is lost", name)
		}
	}
	if mine := want != "same" && over && len(there) > 0 && !maps.Equal(there, old) && !maps.Equal(there, newer); mine {
		if diff := cmp.Diff(before, foreign); diff != "" {
			t.Errorf("kept: %s", diff)
		}
	}
	// The project has no other files, and the lock records the files in place, or is unchanged.
	for name := range files(t, w.project()) {
		if name != lockfile.Name && !strings.HasPrefix(name, ".agents/skills/pdf/") {
			t.Errorf("%s is left", name)
		}
	}
	now := files(t, w.project())[lockfile.Name]
	switch l, err := lockfile.Parse([]byte(now)); {
	case want == "same" || command == "sync":
		if now != lock {
			t.Errorf("the lock changed: %s", cmp.Diff(lock, now))
		}
	case err != nil:
		t.Error(err)
	case want == "none":
		if len(l.Skills) != 0 {
			t.Errorf("the lock still has %v", l.Skills)
		}
	default:
		e := l.Skills[".agents/skills/pdf"]
		if len(e.Files) != len(newer) || e.Name != "pdf" {
			t.Errorf("the lock has %+v", e)
		}
	}
	// The outcome is No if the command left files of the user in place.
	left := want == "same" && len(p.Steps) > 0
	if got := p.Outcome(); left != (got == install.No) || got == install.Failed {
		t.Errorf("outcome %v, %v", got, p.Steps[0].Problem)
	}
}
