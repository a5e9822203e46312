package install_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// client is a world with a client that does not read the folder of installed skills.
type client struct {
	*world
	id      string
	form    lockfile.Form
	atHome  bool
	asked   bool // the next command names the client
	refusal string
	link    func(path, target string) error
}

func newClient(t *testing.T, id string, form lockfile.Form, atHome bool) *client {
	c := &client{world: newWorld(t, "folder"), id: id, form: form, atHome: atHome}
	c.publish(map[string]string{"SKILL.md": "---\nname: pdf\ndescription: Reads PDF files.\n---\n", "a/run.sh": "true\n"})
	c.settle = func(ctx context.Context, in *install.Installer, p *install.Plan) error {
		ask := install.Clients{Form: c.form}
		if c.asked {
			ask.IDs = []string{c.id}
		}
		return in.Settle(ctx, p, ask, func(folders []string) map[string]install.Hold {
			if c.refusal == "" {
				return nil
			}
			return map[string]install.Hold{folders[0]: {Why: c.refusal}}
		})
	}
	return c
}

func (c *client) options() install.Options {
	o := c.world.options()
	o.Link = c.link
	o.Home = filepath.Join(c.dir, "home")
	if c.atHome {
		o.Root, o.To, o.Contained, o.AtHome = filepath.Join(o.Home, ".agents"), filepath.Join(o.Home, ".agents", "skills"), false, true
	}
	return o
}

// folders returns the folder of the skill, and its place in the client's folder.
func (c *client) folders() (skill, spot string) {
	homes, project := agents.Homes{Home: filepath.Join(c.dir, "home")}, c.project()
	if c.atHome {
		project = ""
	}
	return filepath.Join(c.options().To, "pdf"), filepath.Join(filepath.FromSlash(homes.Own(agents.Find(c.id), project)), "pdf")
}

// do runs a command, and returns the action and the problem of the skill's place in the client's
// folder.
func (c *client) do(command string, overwrite bool) (action install.Action, problem string, p *install.Plan) {
	c.t.Helper()
	o := c.options()
	o.Overwrite = overwrite
	c.asked = command == "add"
	var err error
	switch command {
	case "add":
		p, err = c.world.add(o)
	case "sync":
		p, err = c.world.sync(o)
	case "update":
		p, err = c.world.update(o)
	case "remove":
		settle := c.settle
		c.settle = nil
		p, err = c.world.remove(o)
		c.settle = settle
	case "verify":
		settle := c.settle
		c.settle = nil
		p, err = c.planVerify(o, nil)
		c.settle = settle
	}
	must(c.t, err)
	for _, s := range p.Steps {
		for _, spot := range s.Spots {
			if action = spot.Do; spot.Problem != nil {
				problem = spot.Problem.Error()
			}
		}
	}
	return action, problem, p
}

// state returns the state of the skill's place in the client's folder: "link", "copy" of the
// present skill, "none" or "other".
func (c *client) state() string {
	at, spot := c.folders()
	info, err := os.Lstat(spot)
	switch {
	case os.IsNotExist(err):
		return "none"
	case info.Mode()&os.ModeSymlink != 0:
		text, _ := os.Readlink(spot)
		if filepath.IsAbs(text) || filepath.Join(filepath.Dir(spot), text) != at {
			return "other"
		}
		return "link"
	}
	want, have := files(c.t, at), files(c.t, spot)
	if len(want) > 0 && len(have) == len(want) && have["SKILL.md"] == want["SKILL.md"] && have["a/run.sh"] == want["a/run.sh"] {
		return "copy"
	}
	return "other"
}

// TestClients runs commands on a skill's place in the client's folder. It does so for all clients
// that do not read the folder of installed skills.
func TestClients(t *testing.T) {
	t.Parallel()
	n := 0
	for _, a := range agents.All() {
		for _, atHome := range []bool{false, true} {
			homes, project, read := agents.Homes{Home: "/h"}, "/p", "agents-project"
			if atHome {
				project, read = "", "agents-user"
			}
			if homes.Own(a, project) == "" || slices.Contains(a.Reads, read) || a.Name == agents.Any {
				continue
			}
			n++
			if a.ID != "claude-code" && !testwait.SecondLane() {
				continue
			}
			for _, form := range []lockfile.Form{lockfile.Link, lockfile.Copy} {
				t.Run(a.ID+"/"+map[bool]string{false: "project", true: "home"}[atHome]+"/"+string(form), func(t *testing.T) {
					t.Parallel()
					lives(newClient(t, a.ID, form, atHome))
				})
			}
		}
	}
	if n < 60 {
		t.Errorf("%d clients and scopes", n)
	}
}

// lives runs the commands that make, restore, update and remove a link or a copy in the client's
// folder.
func lives(c *client) {
	c.t.Helper()
	_, spot := c.folders()
	step := func(command string, want install.Action, state string) {
		c.t.Helper()
		if got, problem, _ := c.do(command, false); got != want || c.state() != state {
			c.t.Fatalf("%s: %s (%s), and a %s is there; want %s and %s", command, got, problem, c.state(), want, state)
		}
	}
	form := string(c.form)
	step("add", install.Write, form)
	step("add", install.Nothing, form)
	step("verify", install.Matches, form)
	must(c.t, os.RemoveAll(spot))
	step("verify", install.Differs, "none")
	step("sync", install.Write, form)
	lock := files(c.t, c.options().Root)[lockfile.Name]
	c.publish(map[string]string{"SKILL.md": "---\nname: pdf\ndescription: Reads PDF files.\n---\nNew.\n"})
	if form == "copy" {
		step("update", install.Replace, form)
	} else {
		step("update", install.Nothing, form)
	}
	if now := files(c.t, c.options().Root)[lockfile.Name]; now == lock || !strings.Contains(now, `"clients": {"`+c.id+`": "`+form+`"}`) {
		c.t.Errorf("the lock has %s", now)
	}
	step("verify", install.Matches, form)
	step("remove", install.Delete, "none")
	if lock := files(c.t, c.options().Root)[lockfile.Name]; strings.Contains(lock, "pdf") {
		c.t.Errorf("the lock still has %s", lock)
	}
}

// TestClientPlaces checks the action and the resulting state for each state of the client's place,
// each form and each command.
func TestClientPlaces(t *testing.T) {
	const mine = "---\nname: pdf\ndescription: Mine.\n---\n"
	before := map[string]func(c *client, at, spot string){
		"gone":    func(c *client, _, spot string) { must(c.t, os.RemoveAll(spot)) },
		"changed": func(c *client, _, spot string) { fill(c.t, spot, map[string]string{"SKILL.md": mine}) },
		"elsewhere": func(c *client, _, spot string) {
			must(c.t, os.RemoveAll(spot))
			must(c.t, os.Symlink(c.t.TempDir(), spot))
		},
		"file": func(c *client, _, spot string) {
			must(c.t, os.RemoveAll(spot))
			must(c.t, os.WriteFile(spot, []byte("x"), 0o644))
		},
		"equal": func(c *client, at, spot string) { fill(c.t, spot, files(c.t, at)) }, // also on a system without links
		"link": func(c *client, at, spot string) {
			must(c.t, os.RemoveAll(spot))
			must(c.t, os.Symlink(filepath.Join("..", "..", ".agents", "skills", "pdf"), spot))
		},
	}
	for _, row := range []struct {
		before, form, command string
		overwrite             bool
		want                  install.Action
		state                 string
	}{
		{"gone", "link", "add", false, install.Write, "link"},
		{"gone", "link", "update", false, install.Write, "link"},
		{"gone", "link", "remove", false, install.Nothing, "none"},
		{"gone", "copy", "add", false, install.Write, "copy"},
		{"gone", "copy", "update", false, install.Write, "copy"},
		{"gone", "copy", "remove", false, install.Nothing, "none"},
		{"changed", "link", "add", false, install.Leave, "other"},
		{"changed", "link", "add", true, install.Replace, "link"},
		{"changed", "link", "sync", false, install.Leave, "other"},
		{"changed", "link", "sync", true, install.Replace, "link"},
		{"changed", "link", "update", false, install.Leave, "other"},
		{"changed", "link", "verify", false, install.Differs, "other"},
		{"changed", "link", "remove", false, install.Leave, "other"},
		{"changed", "copy", "add", false, install.Leave, "other"},
		{"changed", "copy", "add", true, install.Replace, "copy"},
		{"changed", "copy", "sync", false, install.Leave, "other"},
		{"changed", "copy", "sync", true, install.Replace, "copy"},
		{"changed", "copy", "update", true, install.Replace, "copy"},
		{"changed", "copy", "verify", false, install.Differs, "other"},
		{"changed", "copy", "remove", false, install.Leave, "other"},
		{"changed", "copy", "remove", true, install.Delete, "none"},
		{"elsewhere", "link", "add", true, install.Leave, "other"},
		{"elsewhere", "link", "sync", true, install.Leave, "other"},
		{"elsewhere", "link", "verify", false, install.Differs, "other"},
		{"elsewhere", "copy", "update", true, install.Leave, "other"},
		{"elsewhere", "copy", "remove", true, install.Leave, "other"},
		{"file", "link", "sync", true, install.Leave, "other"},
		{"file", "copy", "remove", true, install.Leave, "other"},
		{"equal", "link", "sync", false, install.Nothing, "copy"},
		{"equal", "link", "verify", false, install.Matches, "copy"},
		{"equal", "link", "remove", false, install.Delete, "none"},
		{"equal", "copy", "verify", false, install.Matches, "copy"},
		{"link", "copy", "add", false, install.Replace, "copy"},
		{"link", "copy", "sync", false, install.Replace, "copy"},
		{"link", "copy", "verify", false, install.Differs, "link"},
		{"link", "copy", "remove", false, install.Delete, "none"},
	} {
		t.Run(strings.Join([]string{row.before, row.form, row.command, map[bool]string{true: "overwrite"}[row.overwrite]}, "/"), func(t *testing.T) {
			t.Parallel()
			c := newClient(t, "claude-code", lockfile.Form(row.form), false)
			c.do("add", false)
			at, spot := c.folders()
			before[row.before](c, at, spot)
			got, problem, p := c.do(row.command, row.overwrite)
			if got != row.want || c.state() != row.state {
				t.Errorf("%s (%s), and %s is there", got, problem, c.state())
			}
			left := got == install.Leave || got == install.Differs
			if outcome := p.Outcome(); left != (outcome == install.No) || left != (problem != "") {
				t.Errorf("outcome %v with the problem %q", outcome, problem)
			}
			if backups, _ := os.ReadDir(c.backups()); (len(backups) == 1) != (row.before == "changed" && row.overwrite) {
				t.Errorf("%d folders were kept", len(backups))
			}
			if _, err := os.Lstat(filepath.Join(filepath.Dir(filepath.Dir(spot)), ".knack")); err == nil {
				t.Error("the folder for new trees is still there")
			}
		})
	}
}

// TestClientHeld checks that a held-back skill is not put into a client's folder, and that it is
// removed from there.
func TestClientHeld(t *testing.T) {
	t.Parallel()
	for _, form := range []lockfile.Form{lockfile.Link, lockfile.Copy} {
		c := newClient(t, "claude-code", form, false)
		c.refusal = "it decodes what it runs"
		if got, problem, p := c.do("add", true); got != install.Leave || c.state() != "none" || !strings.Contains(problem, c.refusal) || p.Outcome() != install.No {
			t.Errorf("%s: %s (%s), and %s is there", form, got, problem, c.state())
		}
		c.refusal = ""
		if c.do("add", false); c.state() != string(form) {
			t.Errorf("%s: %s is there", form, c.state())
		}
		c.refusal = "it decodes what it runs"
		c.publish(map[string]string{"SKILL.md": "---\nname: pdf\ndescription: Bad.\n---\n"})
		if got, problem, _ := c.do("update", false); got != install.Delete || c.state() != "none" || !strings.Contains(problem, c.refusal) {
			t.Errorf("%s: %s (%s) after an update, and %s is there", form, got, problem, c.state())
		}
		c.refusal = ""
		if c.do("sync", false); c.state() != string(form) {
			t.Errorf("%s: %s is there after it passes", form, c.state())
		}
	}
}

// TestNoLinks checks that knack makes a copy on a system without links, although the lock names a
// link.
func TestNoLinks(t *testing.T) {
	t.Parallel()
	c := newClient(t, "claude-code", lockfile.Link, false)
	c.link = func(path, _ string) error { return &os.PathError{Op: "link", Path: path, Err: edit.ErrNoLinks} }
	_, spot := c.folders()
	newer := map[string]string{"SKILL.md": "---\nname: pdf\ndescription: New.\n---\n", "a/run.sh": "false\n"}
	for _, step := range []struct {
		command string
		want    install.Action
		state   string
		before  func()
	}{
		{"add", install.Write, "copy", func() {}},
		{"verify", install.Matches, "copy", func() {}},
		{"sync", install.Nothing, "copy", func() {}},
		{"update", install.Replace, "copy", func() { c.publish(newer) }},
		{"sync", install.Write, "copy", func() { must(t, os.RemoveAll(spot)) }},
		{"remove", install.Delete, "none", func() {}},
	} {
		step.before()
		got, problem, p := c.do(step.command, false)
		if got != step.want || c.state() != step.state {
			t.Errorf("%s: %s (%s), and %s is there", step.command, got, problem, c.state())
		}
		if wrote := got == install.Write || got == install.Replace; p.Steps[0].Spots[0].Copied != wrote {
			t.Errorf("%s does not say that it made a copy", step.command)
		}
	}
}

// TestClientForeign checks that knack keeps the files of another program in the client's folder. It
// also keeps a skill that knack itself installed there.
func TestClientForeign(t *testing.T) {
	t.Parallel()
	c := newClient(t, "claude-code", lockfile.Link, false)
	_, spot := c.folders()
	put(t, spot, map[string]string{"SKILL.md": "---\nname: pdf\ndescription: Reads PDF files.\n---\n", "a/run.sh": "true\n"})
	if got, _, _ := c.do("add", false); got != install.Leave || strings.Contains(files(t, c.project())[lockfile.Name], "clients") {
		t.Errorf("%s", got)
	}
	if _, err := c.world.remove(c.options()); err != nil || len(files(t, spot)) != 2 {
		t.Errorf("%v, %v", files(t, spot), err)
	}
	must(t, os.RemoveAll(spot))
	o := c.options()
	o.To = filepath.Dir(spot)
	c.asked = false
	if _, err := c.add(o); err != nil || len(files(t, spot)) != 2 {
		t.Fatal(err)
	}
	if got, problem, _ := c.do("add", true); got != install.Leave || !strings.Contains(problem, "another installed skill") {
		t.Errorf("%s, %s", got, problem)
	}
	// If the client's folder is a link to the folder of the skills, there is nothing to do.
	c = newClient(t, "claude-code", lockfile.Copy, false)
	at, spot := c.folders()
	must(t, os.MkdirAll(filepath.Dir(at), 0o755))
	must(t, os.MkdirAll(filepath.Dir(filepath.Dir(spot)), 0o755))
	must(t, os.Symlink(filepath.Join("..", ".agents", "skills"), filepath.Dir(spot)))
	if got, problem, _ := c.do("add", true); got != install.Nothing || problem != "" || strings.Contains(files(t, c.project())[lockfile.Name], "clients") {
		t.Errorf("%s, %s", got, problem)
	}
	// If the client's folder is a link out of the project, it gets no skill.
	c = newClient(t, "claude-code", lockfile.Copy, false)
	must(t, os.MkdirAll(filepath.Join(c.project(), ".claude"), 0o755))
	must(t, os.Symlink(t.TempDir(), filepath.Join(c.project(), ".claude", "skills")))
	if got, problem, _ := c.do("add", true); got != install.Leave || !strings.Contains(problem, "outside of the project") {
		t.Errorf("%s, %s", got, problem)
	}
}
