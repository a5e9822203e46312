package install_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/lockfile/foreign"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// TestLinksBeside checks that commands follow no link in the place of the folder for new trees, and
// no link in that folder. A clone may contain such a link.
func TestLinksBeside(t *testing.T) {
	temp := ".knack-" + strings.Repeat("A", 26)
	commands := map[string]func(*world, install.Options) (*install.Plan, error){
		"add": (*world).add, "sync": (*world).sync, "update": (*world).update, "remove": (*world).remove, "add --from": (*world).takeOver,
	}
	for at, target := range map[string]string{
		"":                 "there",
		temp:               "there",
		temp + "/held":     "new",
		temp + "/new":      "there",
		temp + "/swap":     "there",
		temp + "/replaced": "there",
	} {
		for name, run := range commands {
			for _, dry := range []bool{true, false} {
				if at != "" && (dry || name != "add" && name != "remove") {
					continue
				}
				w := newWorld(t, "folder")
				w.publish(old)
				if name != "add" && name != "add --from" {
					_, err := w.add(w.options())
					must(t, err)
					w.publish(newer)
				}
				if name == "sync" {
					must(t, os.RemoveAll(w.place()))
				}
				outside := filepath.Join(w.dir, "outside")
				put(t, filepath.Join(outside, "there"), map[string]string{"mine": "mine", temp + "/mine": "mine", ".knack-" + strings.Repeat("B", 26): "mine"})
				link := filepath.Join(w.project(), ".agents", ".knack", filepath.FromSlash(at))
				must(t, os.MkdirAll(filepath.Dir(link), 0o755))
				if err := os.Symlink(filepath.Join(outside, target), link); err != nil {
					t.Skip(err)
				}
				before, was := files(t, outside), files(t, w.project())
				o := w.options()
				o.DryRun = dry
				p, err := run(w, o)
				must(t, err)
				if at == "" {
					if q := p.Steps[0].Problem; p.Outcome() != install.No || !strings.Contains(q.Error(), link+" is a link") {
						t.Errorf("%s: %v", name, q)
					}
				} else if p.Outcome() != install.Done {
					t.Errorf("%s, %s: %+v", name, at, p.Steps[0].Problem)
				}
				if at == "" {
					if diff := cmp.Diff(was, files(t, w.project())); diff != "" {
						t.Errorf("%s, %q: %s", name, at, diff)
					}
				}
				if diff := cmp.Diff(before, files(t, outside)); diff != "" {
					t.Errorf("%s, %q: %s", name, at, diff)
				}
			}
		}
	}
}

// takeOver takes the skill over from the lock of another installer.
func (w *world) takeOver(o install.Options) (*install.Plan, error) {
	w.t.Helper()
	ref, err := origin.Parse(w.source, w.dir, "")
	must(w.t, err)
	return w.run(o, func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
		e := foreign.Skill{Name: "pdf", Folders: []string{".agents/skills/pdf"}, Ref: ref}
		return in.PlanFrom(ctx, foreign.Project, []foreign.Skill{e}, w.project()), nil
	})
}

// TestLinkThatLeadsOutLater checks that sync does not follow a dangling link that would lead out of
// the project once another skill is in place.
func TestLinkThatLeadsOutLater(t *testing.T) {
	for _, first := range []string{"a", "d"} {
		w := newWorld(t, "folder")
		w.publish(old)
		_, err := w.add(w.options())
		must(t, err)
		l, err := lockfile.Parse([]byte(files(t, w.project())[lockfile.Name]))
		must(t, err)
		must(t, os.RemoveAll(w.place()))
		must(t, os.MkdirAll(filepath.Join(w.project(), "p", "q", "r"), 0o755))
		must(t, os.MkdirAll(filepath.Join(w.dir, "outside"), 0o755))
		if err := os.Symlink(filepath.FromSlash("../../../"+first), filepath.Join(w.project(), "p", "q", "r", "way")); err != nil {
			t.Skip(err)
		}
		must(t, os.Symlink(filepath.FromSlash("p/q/r/way/../../outside"), filepath.Join(w.project(), "b")))
		e := l.Skills[".agents/skills/pdf"]
		text := (&lockfile.Lock{Skills: map[string]lockfile.Skill{first + "/pdf": e, "b/pdf": e}}).Bytes()
		must(t, os.WriteFile(filepath.Join(w.project(), lockfile.Name), text, 0o644))
		for range 2 { // the second time the link leads outside
			p, err := w.sync(w.options())
			must(t, err)
			if p.Outcome() != install.No {
				t.Errorf("it was followed, or not named: %+v", p.Steps)
			}
			if got := files(t, filepath.Join(w.dir, "outside")); len(got) > 0 {
				t.Errorf("outside there is %v", got)
			}
		}
	}
}
