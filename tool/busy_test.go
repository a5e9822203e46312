package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/lookup"
)

// lookups are calls for a skill by name, in every set. found begins the answer for a skill that is
// found; unsure is the answer while the disk does not answer.
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

// asked makes each call that looks up a name, and checks the answers. If the skill cannot be looked
// up, the answers must contain why. If why is empty, the skill must be found.
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

// hanging is a root whose disk can stop answering scans and lists of folders.
type hanging struct {
	*skilltest.Memory
	scan, list atomic.Pointer[chan struct{}] // channels to wait for; nil while the disk answers
}

func (r *hanging) Scan(ctx context.Context) (skill.Scan, error) {
	if c := r.scan.Load(); c != nil {
		select {
		case <-*c:
		case <-ctx.Done():
			return skill.Scan{}, ctx.Err()
		}
	}
	return r.Memory.Scan(ctx)
}

func (r *hanging) Folders(match func(string) bool) (all []skill.Folder) {
	if c := r.list.Load(); c != nil {
		<-*c
	}
	for file := range r.Files {
		if name := strings.TrimSuffix(file, "/"+skill.MainFile); match(name) {
			all = append(all, skill.Folder{Name: name, Main: true})
		}
	}
	return all
}

// TestBusyIsNotNotFound checks that every contract answers "busy" and never "not found" if a disk
// does not answer or a scan takes too long. Known skills are answered meanwhile, and the new skill
// is found as soon as the disk answers.
func TestBusyIsNotNotFound(t *testing.T) {
	const late = "skills of claude-user cannot be looked up, since the disk does not answer in time; try again in a moment"
	for _, row := range []struct {
		name     string
		patience time.Duration
		list     bool // lists of folders hang too
		why      string
	}{
		{"a scan that does not end", time.Second, false, late},
		{"a scan that all wait for", 0, false, lookup.ErrBusy.Error()},
		{"a disk that answers nothing", time.Second, true, late},
		{"a disk that answers nothing, for which all wait", 0, true, lookup.ErrBusy.Error()},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &hanging{Memory: global(map[string]string{"old/SKILL.md": md("old", "Old")})}
				c := catalog.New([]catalog.Source{r, project(map[string]string{"mine/SKILL.md": md("mine", "Mine")})}, catalog.Options{Patience: row.patience})
				if err := c.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				h := NewHost(c)
				<-time.After(time.Minute) // another refresh is due
				answer := make(chan struct{})
				r.scan.Store(&answer)
				if row.list {
					r.list.Store(&answer)
				}
				r.Files["new/SKILL.md"] = global(map[string]string{"new/SKILL.md": md("new", "New")}).Files["new/SKILL.md"]
				asked(t, h, "new", row.why)
				for _, l := range lookups {
					if strings.Contains(l.args, "claude-user") {
						continue
					}
					if got := call(t, h, l.set, l.tool, fmt.Sprintf(l.args, "mine")); !strings.HasPrefix(got.Text, l.found) {
						t.Errorf("%s %s of one that is known: %.200q", l.set, l.tool, got.Text)
					}
				}
				if row.patience > 0 { // otherwise the first scan still waits
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

// stuck is a file system in which opening some names blocks until held is closed.
type stuck struct {
	fs.FS
	names map[string]bool
	on    *bool
	gate  chan struct{}
}

func (s stuck) Open(name string) (fs.File, error) {
	if *s.on && s.names[name] {
		<-s.gate
	}
	return s.FS.Open(name)
}

func (s stuck) Sub(dir string) (fs.FS, error) { return skilltest.Below(s, dir), nil }

// TestBlockedDisk checks for every tool that a disk that blocks does not affect other calls. It may
// delay its own call only until the context ends.
func TestBlockedDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on, gate := false, make(chan struct{})
		root := project(map[string]string{"stuck/SKILL.md": md("stuck", "d"), "stuck/x.txt": "x", "free/SKILL.md": md("free", "d"), "free/x.txt": "x"})
		root.FS = stuck{root.Files, map[string]bool{"stuck": true, "stuck/SKILL.md": true, "stuck/x.txt": true}, &on, gate}
		h := hostOf(t, root)
		on = true
		defer close(gate)
		type row struct{ set, tool, args string }
		rows := []row{
			{"runner", "get_skill", `{"skill_name":"%s"}`},
			{"runner", "read_file_in_skill", `{"skill_name":"%s","file_path":"x.txt"}`},
			{"universal", "skill", `{"name":"%s"}`},
			{"wave", "Skill", `{"skill_name":"%s"}`},
			{"uri", "get_skill", `{"uri":"skill://claude-project/%s/SKILL.md"}`},
		}
		for _, r := range rows {
			tl := toolOf(t, r.set, r.tool)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 50)
			for range 50 {
				go func() {
					_, err := tl.Call(ctx, h, json.RawMessage(fmt.Sprintf(r.args, "stuck")))
					ended <- err
				}()
			}
			begun := time.Now()
			res, err := tl.Call(t.Context(), h, json.RawMessage(fmt.Sprintf(r.args, "free")))
			if took := time.Since(begun); err != nil || res.IsError || took > 0 {
				t.Errorf("%s %s: beside blocked calls: %v after %v, %q", r.set, r.tool, err, took, res.Text)
			}
			select {
			case err := <-ended:
				t.Errorf("%s %s: a blocked call ended: %v", r.set, r.tool, err)
			case <-time.After(20 * time.Millisecond):
			}
			cancel()
			for range 50 {
				select {
				case err := <-ended:
					if !errors.Is(err, context.Canceled) {
						t.Errorf("%s %s: %v", r.set, r.tool, err)
					}
				case <-time.After(30 * time.Second):
					t.Fatalf("%s %s: a cancelled call goes on", r.set, r.tool)
				}
			}
		}
	})
}
