package distcmd

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
)

// endsAt is a context that ends as if by Ctrl-C once a file exists.
type endsAt struct {
	context.Context
	file string
	end  context.CancelCauseFunc
}

func (c endsAt) Err() error {
	if _, err := os.Stat(c.file); err == nil {
		c.end(console.Interrupt{Signal: os.Interrupt})
	}
	return c.Context.Err()
}

// interruptAt makes the context of the next commands end once a file of the project exists.
func (s *shell) interruptAt(name string) {
	ctx, end := context.WithCancelCause(s.t.Context())
	s.ctx = endsAt{ctx, filepath.Join(s.dir, "p", filepath.FromSlash(name)), end}
}

// TestInterrupted checks that an interrupted command reports the number of finished skills and a
// hint. Its JSON does too, and also has the skills and warnings.
func TestInterrupted(t *testing.T) {
	s := newShell(t)
	for _, name := range []string{"a", "b", "c"} {
		s.put("src/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: Does it.\n---\n")
	}
	src := filepath.Join(s.dir, "src")
	s.interruptAt(".agents/skills/b/SKILL.md")
	stdout, stderr, status := s.run("add", src, "--all")
	if status != 130 || !strings.HasSuffix(stderr, "\ninterrupted: 2 of 5 skills are installed, and knack.lock says so\nrun the same command again") ||
		!strings.Contains(stdout, "added a ") || !strings.Contains(stdout, "added b ") || strings.Count(stdout, "added") != 2 {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	s.ctx = t.Context()
	if stdout, stderr, status := s.run("verify"); status != 0 || !strings.Contains(stdout, "2 skills as locked") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}

	s.put("p/.agents/.knack/.knack-"+strings.Repeat("A", 26)+"/swap/x", "of a command that was killed")
	s.interruptAt(".agents/skills/c/SKILL.md")
	stdout, _, status = s.run("add", src, "--all", "--json")
	var got reportJSON
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	if got.Status != 130 || status != 130 || got.Reason != "interrupted: 3 of 5 skills are installed, and knack.lock says so" || got.Fix != "run the same command again" {
		t.Errorf("%s", stdout)
	}
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "was stopped while it replaced a skill") {
		t.Errorf("warnings: %q", got.Warnings)
	}
	actions := ""
	for _, k := range got.Skills {
		actions += " " + k.Name + ": " + k.Action + " " + k.Reason
	}
	if actions != " a: unchanged  b: unchanged  c: added  pdf: failed interrupted xlsx: failed interrupted" {
		t.Error(actions)
	}

	// These commands are interrupted before they change anything.
	s.interruptAt("knack.lock")
	for _, args := range [][]string{{"add", src, "--all"}, {"update"}, {"sync"}, {"verify"}, {"remove", "a"}} {
		want := "interrupted; nothing was changed\nrun the same command again"
		if stdout, stderr, status := s.run(args...); status != 130 || stderr != want || strings.Contains(stdout, "added") {
			t.Errorf("%s: status %d: %s%s", args, status, stdout, stderr)
		}
		stdout, _, _ := s.run(append(args, "--json")...)
		var got reportJSON
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Status != 130 || got.Reason+"\n"+got.Fix != want {
			t.Errorf("%s: %v %s", args, err, stdout)
		}
	}
}

// TestInterruptedAtServer checks that a command that is interrupted while it waits for a server
// reports that. Its JSON also has the signal's status. An installing command reports that nothing
// was changed.
func TestInterruptedAtServer(t *testing.T) {
	s := newShell(t)
	type command struct {
		context.Context
		end func()
	}
	var running atomic.Pointer[command]
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		now := running.Load()
		now.end()
		<-now.Done()
	}))
	defer server.Close()
	skill, registry := filepath.Join(s.dir, "src", "pdf"), "oci://"+strings.TrimPrefix(server.URL, "http://")+"/a/b"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"add", skill, server.URL + "/x.zip"}, "interrupted; nothing was changed\nrun the same command again"},
		{[]string{"pull", registry}, "interrupted\n"},
		{[]string{"publish", skill, registry}, "interrupted\n"},
	} {
		for _, flags := range [][]string{nil, {"--json"}} {
			ctx, end := context.WithCancelCause(t.Context())
			running.Store(&command{ctx, func() { end(console.Interrupt{Signal: os.Interrupt}) }})
			s.ctx = ctx
			stdout, stderr, status := s.run(append(c.args, flags...)...)
			if status != 130 || stderr != c.want {
				t.Errorf("%s %s: status %d: %s%s", c.args, flags, status, stdout, stderr)
			}
			var got struct {
				Status      int
				Reason, Fix string
			}
			if err := json.Unmarshal([]byte(stdout), &got); flags != nil && (err != nil || got.Status != 130 || got.Reason+"\n"+got.Fix != c.want) {
				t.Errorf("%s: %v %s", c.args, err, stdout)
			}
		}
	}
}

// TestSettingsFaultJSON checks that the JSON of a command that fails because of knack.yaml has the
// exit status and the fix.
func TestSettingsFaultJSON(t *testing.T) {
	s := newShell(t)
	s.put("p/knack.yaml", "check: {nonsense: 1}\n")
	s.put("p/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF files.\n---\n")
	stdout, stderr, status := s.run("publish", "./pdf", "oci://localhost:1/a/b", "--json")
	if want := `"status": 2,
  "reason": "knack.yaml:1:9: there is no key 'nonsense' in check",
  "fix": "the keys are strict, rules"`; status != 2 || !strings.Contains(stdout, want) {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
}
