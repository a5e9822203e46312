package tool

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// lookups are the calls that ask for a skill by name, in every set, with what begins the
// answer of one that is found, and the whole answer if that cannot be known.
var lookups = []struct{ set, tool, args, found, unsure string }{
	{"universal", "skill", `{"name":"%s"}`, "Loading: ", "Skill '%s' cannot be read: %s."},
	{"default", "skill", `{"name":"%s"}`, "Loading: ", "Skill '%s' cannot be read: %s."},
	{"default", "skill", `{"name":"skill://claude-user/%s/SKILL.md"}`, "Loading: ", "Skill 'skill://claude-user/%s/SKILL.md' cannot be read: %s."},
	{"wave", "Skill", `{"skill_name":"%s"}`, "Skill: ", "Error invoking skill '%s': %s\n\nAvailable skills:\n"},
	{"uri", "get_skill", `{"uri":"skill://claude-user/%s/SKILL.md"}`, "URI: ", "Skill content is temporarily unavailable: %[2]s.\nURI: skill://claude-user/%[1]s/SKILL.md"},
	{"uri", "get_skill", `{"uri":"skill://%s/SKILL.md"}`, "URI: ", "Skill content is temporarily unavailable: %[2]s.\nURI: skill://%[1]s/SKILL.md"},
	{"runner", "get_skill", `{"skill_name":"%s"}`, `{"skill_name":`, `{"error":"Error reading SKILL.MD for skill '%s': %s"}`},
	{"runner", "read_file_in_skill", `{"skill_name":"%s","file_path":"SKILL.md"}`, "---\n", "ERROR: Cannot read file 'SKILL.md': %[2]s"},
	{"default", "read_file_in_skill", `{"skill_name":"%s","file_path":"SKILL.md"}`, "---\n", "ERROR: Cannot read file 'SKILL.md': %[2]s"},
}

// asked makes every lookup of a name. why is the reason that is given for what cannot be
// known; empty if the skill is to be found.
func asked(t *testing.T, h *Host, name, why string) {
	t.Helper()
	for _, l := range lookups {
		got := call(t, h, l.set, l.tool, fmt.Sprintf(l.args, name))
		switch want := fmt.Sprintf(strings.ReplaceAll(l.unsure, "%s", "%v"), name, why); {
		case why == "" && !strings.HasPrefix(got.Text, l.found):
			t.Errorf("%s %s of %s: %.300q, want %q", l.set, l.tool, name, got.Text, l.found)
		case why != "" && (!strings.HasPrefix(got.Text, strings.SplitN(want, "%!", 2)[0]) || !got.IsError || got.Absent):
			t.Errorf("%s %s of %s: %.300q, want the error %q", l.set, l.tool, name, got.Text, want)
		}
		if why != "" && strings.Contains(got.Text, "not found") {
			t.Errorf("%s %s of %s: %q", l.set, l.tool, name, got.Text)
		}
	}
}

// hanging is a root whose disk can stop to answer, to scans and to lists of folders.
type hanging struct {
	*memory
	scan, list atomic.Pointer[chan struct{}] // to wait for; nil for a disk that answers
}

func (r *hanging) Scan(ctx context.Context) (skill.Scan, error) {
	if c := r.scan.Load(); c != nil {
		select {
		case <-*c:
		case <-ctx.Done():
			return skill.Scan{}, ctx.Err()
		}
	}
	return r.memory.Scan(ctx)
}

func (r *hanging) Folders(match func(string) bool) (all []skill.Folder) {
	if c := r.list.Load(); c != nil {
		<-*c
	}
	for file := range r.files {
		if name := strings.TrimSuffix(file, "/"+skill.MainFile); match(name) {
			all = append(all, skill.Folder{Name: name, Main: true})
		}
	}
	return all
}

// What cannot be looked up, since a disk does not answer or a look takes too long, is "busy"
// by every contract, and never "not found"; what is known is answered meanwhile, and the
// skill is found as soon as the disk answers.
func TestUnansweredLookIsNotNotFound(t *testing.T) {
	const late = "skills of claude-user cannot be looked up, since the disk does not answer in time; try again in a moment"
	for _, row := range []struct {
		name     string
		patience time.Duration
		list     bool // lists of folders hang too
		why      string
	}{
		{"a scan that does not end", time.Second, false, late},
		{"a scan that all wait for", 0, false, ErrBusy.Error()},
		{"a disk that answers nothing", time.Second, true, late},
		{"a disk that answers nothing, for which all wait", 0, true, ErrBusy.Error()},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &hanging{memory: global(map[string]string{"old/SKILL.md": md("old", "Old")})}
				c := catalog.New([]catalog.Source{r, project(map[string]string{"mine/SKILL.md": md("mine", "Mine")})}, catalog.Options{Patience: row.patience})
				if err := c.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				h := &Host{Catalog: c}
				<-time.After(time.Minute) // a look is due
				answer := make(chan struct{})
				r.scan.Store(&answer)
				if row.list {
					r.list.Store(&answer)
				}
				r.files["new/SKILL.md"] = global(map[string]string{"new/SKILL.md": md("new", "New")}).files["new/SKILL.md"]
				asked(t, h, "new", row.why)
				for _, l := range lookups {
					if strings.Contains(l.args, "claude-user") {
						continue
					}
					if got := call(t, h, l.set, l.tool, fmt.Sprintf(l.args, "mine")); !strings.HasPrefix(got.Text, l.found) {
						t.Errorf("%s %s of one that is known: %.200q", l.set, l.tool, got.Text)
					}
				}
				if row.patience > 0 { // else the first look still waits
					<-time.After(3 * time.Minute)
					asked(t, h, "misspelt", "skills of claude-user cannot be looked up, since the disk has not answered for 3 min; no other root has what was asked for, so check the spelling, or go on without it")
				}
				r.scan.Store(nil)
				r.list.Store(nil)
				close(answer)
				synctest.Wait()
				<-time.After(time.Minute)
				asked(t, h, "new", "")
				if got := call(t, h, "universal", "skill", args{"name": "none"}); !got.Absent {
					t.Errorf("one that is not there: %q", got.Text)
				}
			})
		})
	}
}

// A folder that no look was spent on, since too many others were looked into in vain, may
// hold a skill.
func TestFolderThatWasNotLookedInto(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &hanging{memory: global(map[string]string{"a/SKILL.md": md("a", "A")})}
		c := catalog.New([]catalog.Source{r}, catalog.Options{})
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		h := &Host{Catalog: c}
		v := viewOf(t, h)
		folder := func(name string) catalog.FolderNow {
			return catalog.FolderNow{Folder: skill.Folder{Name: name, Main: true}, Root: r.Root()}
		}
		for i := range fruitlessCount {
			f := folder(fmt.Sprint("vain-", i))
			h.rescan.note([]catalog.FolderNow{f}, []catalog.FolderNow{f}, time.Now().Add(time.Hour))
		}
		r.files["new/SKILL.md"] = r.files["a/SKILL.md"]
		if _, folder, unsure := h.fresher(t.Context(), v, func(name string) bool { return name == "new" }); !folder || unsure == nil {
			t.Errorf("the folder is there: %v, and it is known what it holds: %v", folder, unsure == nil)
		}
		if worth, inVain := h.rescan.isWorth(folder("vain-0"), time.Now()); worth || !inVain {
			t.Errorf("one that was in vain: %v, %v", worth, inVain)
		}
	})
}
