package interop

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	locks "github.com/knack-dev/knack/internal/distribution/lockfile/foreign"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// skillsCLI runs npx skills in a folder, with the given home.
func skillsCLI(t *testing.T, dir, home string, args ...string) {
	t.Helper()
	bin := node(t, "client")
	program, err := filepath.Abs("node_modules/skills/bin/cli.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		missing(t, "no skills; run npm ci --prefix interop: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, append([]string{program}, args...)...)
	cmd.Dir = dir
	// CI=1 makes npx skills ask no questions.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "XDG_") }),
		"HOME="+home, "CI=1", "DISABLE_TELEMETRY=1", "DO_NOT_TRACK=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("skills %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// library makes a Git repository with two skills, and returns its folder and its commit.
func library(t *testing.T) (dir, commit string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "lib")
	for name, text := range map[string]string{
		"skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads PDF files.\n---\nText\n", "skills/pdf/fill.py": "print(1)\n",
		"skills/notes/SKILL.md": "---\nname: notes\ndescription: Keeps notes.\n---\nText\n",
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "x"}, {"rev-parse", "HEAD"}} {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		commit = strings.TrimSpace(string(out))
	}
	return dir, commit
}

// TestInteropLocksSkills_1_7_4 checks that knack reads the lock files that npx skills 1.7.4 writes,
// that the skills are in the recorded folders, and that knack add --from locks each skill.
func TestInteropLocksSkills_1_7_4(t *testing.T) {
	lib, _ := library(t)
	dir := filepath.Join(filepath.Dir(lib), "project")
	home := t.TempDir()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	skillsCLI(t, dir, home, "add", "../lib", "--skill", "notes", "--agent", "claude-code", "-y")
	skillsCLI(t, dir, home, "add", "file://"+lib, "--skill", "pdf", "--agent", "codex", "-y")
	skillsCLI(t, dir, home, "add", "../lib", "--skill", "pdf", "--agent", "codex", "-g", "-y")
	folder := origin.Ref{Kind: origin.Folder, Source: lib, Location: lib}
	for _, c := range []struct {
		file, base string
		format     locks.Format
		want       map[string]origin.Ref
	}{
		{filepath.Join(dir, "skills-lock.json"), dir, locks.Project, map[string]origin.Ref{
			"notes": folder, "pdf": {Kind: origin.Git, Source: "git+file://" + lib, Location: lib},
		}},
		{filepath.Join(home, ".agents", ".skill-lock.json"), home, locks.Global, map[string]origin.Ref{"pdf": folder}},
	} {
		data, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		format, entries, err := locks.Parse(data, filepath.Dir(c.file), home)
		if err != nil || format != c.format {
			t.Errorf("%s: %s, %v\n%s", c.file, format, err, data)
		}
		got := map[string]origin.Ref{}
		for _, e := range entries {
			got[e.Name] = e.Ref
			if e.Err != nil || e.Ref.Kind == origin.Git && e.Path != "skills/"+e.Name {
				t.Errorf("%s: %+v", e.Name, e)
			}
			there := slices.ContainsFunc(e.Folders, func(f string) bool {
				_, err := os.Stat(filepath.Join(c.base, f, "SKILL.md"))
				return err == nil
			})
			if !there {
				t.Errorf("%s is in none of %q", e.Name, e.Folders)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s\n%s", c.file, diff, data)
		}
	}
	binary := knack(t)
	run := func(want string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("knack %s: %v, want %q\n%s", strings.Join(args, " "), err, want, out)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "skills-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	run("locked notes from "+lib+", 1 file", "add", "--from", "skills-lock.json")
	run("2 skills unchanged", "add", "--from", "skills-lock.json")
	run("2 skills as locked", "verify")
	run("locked pdf", "add", "--from", filepath.Join(home, ".agents", ".skill-lock.json"), "--global")
	run("1 skill as locked", "verify", "--global")
	if after, err := os.ReadFile(filepath.Join(dir, "skills-lock.json")); err != nil || string(after) != string(before) {
		t.Errorf("their lock was changed: %v", err)
	}
}
