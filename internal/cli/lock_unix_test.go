//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// lockedFolder returns a folder with the skills same and pdf, and a lock for them beside it. The
// script of pdf differs from the lock.
func lockedFolder(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	lock := &lockfile.Lock{Skills: map[string]lockfile.Skill{}}
	for _, name := range []string{"same", "pdf"} {
		files := []lockfile.File{}
		for _, f := range [][2]string{{"SKILL.md", "---\nname: " + name + "\ndescription: Reads " + name + ".\n---\n"}, {"scripts/fill.py", "print(1)\n"}} {
			put(t, filepath.Join(top, "skills", name, filepath.FromSlash(f[0])), f[1])
			files = append(files, lockfile.File{Path: f[0], Size: int64(len(f[1])), Digest: skill.DigestOf([]byte(f[1]))})
		}
		lock.Skills["skills/"+name] = lockfile.Skill{Name: name, Source: "https://example.com/skills.zip?token=hunter2", Path: name, Version: "1.2.0", Revision: "http:sha256:9f2b", Digest: lockfile.Digest(files), Files: files}
	}
	put(t, filepath.Join(top, lockfile.Name), string(lock.Bytes()))
	put(t, filepath.Join(top, "skills/pdf/scripts/fill.py"), "print(2)\n")
	return filepath.Join(top, "skills")
}

// TestLockServed checks that the page of a skill, the API, the log and the metrics report that the
// skill differs from its lock.
func TestLockServed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	url, log := servingLog(t, "--dir", lockedFolder(t), "--audit", file)
	a := &asker{t: t, url: url}
	for name, want := range map[string]string{"same": "as locked", "pdf": "changed since it was locked"} {
		code, page, _ := a.send("GET", "/skills/"+name, "", "")
		if code != 200 || !strings.Contains(page, want) || !strings.Contains(page, "https://example.com/skills.zip") || !strings.Contains(page, "1.2.0") || strings.Contains(page, "hunter2") {
			t.Errorf("%s: %d, the page has no %q, or a secret:\n%s", name, code, want, page)
		}
		_, body, _ := a.send("GET", "/api/v1/skills/"+name, "", "")
		var answer struct {
			Lock struct{ Locked, Reason, Source, Version, Revision, Digest string }
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		l := answer.Lock
		if !strings.HasPrefix(want, l.Locked) || l.Locked == "" || l.Version != "1.2.0" || l.Revision != "http:sha256:9f2b" || !strings.HasPrefix(l.Digest, "sha256:") || strings.Contains(body, "hunter2") {
			t.Errorf("%s: %s", name, body)
		}
	}
	if _, metrics, _ := a.send("GET", "/metrics", "", ""); !strings.Contains(metrics, "\nknack_lock_drift_skills 1\n") {
		t.Errorf("metrics: %s", metrics)
	}
	if n := strings.Count(log(), "skill not as locked"); n != 1 || !strings.Contains(log(), "'scripts/fill.py' differs") || strings.Contains(log(), "hunter2") {
		t.Errorf("the log has it %d times: %s", n, log())
	}
	audited(t, file, "ok")
}

// audited waits for the audit log's line about the skill pdf, which differs from its lock. It
// checks that there is exactly one, with the given result.
func audited(t *testing.T, file, result string) {
	t.Helper()
	var text string
	testwait.Until(t, func() bool {
		data, err := os.ReadFile(file)
		text = string(data)
		return err == nil && strings.Contains(text, `"method":"drift"`)
	}, "a line of the audit log", func() string { return text })
	if n := strings.Count(text, `"method":"drift"`); n != 1 || !strings.Contains(text, `/skills/pdf","result":"`+result+`","reason":"changed since it was locked: 'scripts/fill.py' differs`) {
		t.Errorf("the audit log has it %d times:\n%s", n, text)
	}
}

// TestLockEnforced checks that no surface offers a skill that differs from its lock, and that the
// skill is offered again once it is restored.
func TestLockEnforced(t *testing.T) {
	dir, conf := lockedFolder(t), filepath.Join(t.TempDir(), "knack.yaml")
	file := filepath.Join(t.TempDir(), "audit.log")
	put(t, conf, "lock: enforce\n")
	url, log := servingLog(t, "--dir", dir, "--audit", file, "--config", conf, "--tools", "default,universal,runner,wave")
	a := &asker{t: t, url: url}
	tool := func(name, arguments string) string {
		return a.call("2026-07-28", "", "tools/call", name, fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
	}
	asked := func() map[string]string {
		answers := map[string]string{}
		for _, m := range []string{"tools/list", "resources/list", "prompts/list", "skills/list"} {
			answers[m] = a.call("2026-07-28", "", m, "", `{}`)
		}
		for _, uri := range []string{"skill://pdf/SKILL.md", "skill://pdf/scripts/fill.py"} {
			answers[uri] = a.call("2026-07-28", "", "resources/read", uri, fmt.Sprintf(`{"uri":%q}`, uri))
		}
		answers["skill"] = tool("skill", `{"name":"pdf"}`)
		answers["get_skill"] = tool("get_skill", `{"skill":"pdf"}`)
		answers["read_skill_file"] = tool("read_skill_file", `{"name":"pdf","path":"scripts/fill.py"}`)
		for _, path := range []string{"/skills/pdf", "/raw/pdf/scripts/fill.py", "/zip/pdf", "/api/v1/skills/pdf", "/api/v1/files/pdf/scripts/fill.py", "/api/v1/skills", "/"} {
			_, answers[path], _ = a.send("GET", path, "", "")
		}
		return answers
	}
	for what, answer := range asked() {
		if strings.Contains(answer, "Reads pdf") || strings.Contains(answer, "print(2)") {
			t.Errorf("%s has the changed skill: %s", what, answer)
		}
	}
	if _, page, _ := a.send("GET", "/health", "", ""); !strings.Contains(page, "changed since it was locked") {
		t.Error("the health page does not say why it is skipped")
	}
	if _, metrics, _ := a.send("GET", "/metrics", "", ""); !strings.Contains(metrics, "\nknack_lock_drift_skills 1\n") {
		t.Error("the metrics do not count it")
	}
	audited(t, file, "refused")
	put(t, filepath.Join(dir, "pdf/scripts/fill.py"), "print(1)\n")
	testwait.Until(t, func() bool { return strings.Contains(tool("skill", `{"name":"pdf"}`), "Reads pdf") }, "the restored skill")
	read := func() string {
		return a.call("2026-07-28", "", "resources/read", "skill://pdf/SKILL.md", `{"uri":"skill://pdf/SKILL.md"}`)
	}
	if answer := read(); !strings.Contains(answer, "Reads pdf") {
		t.Errorf("the restored skill is not read: %s", answer)
	}
	put(t, filepath.Join(dir, "knack.lock"), "{") // the last valid lock is not used either
	testwait.Until(t, func() bool { return !strings.Contains(read(), "Reads pdf") }, "a refusal by the damaged lock: ", read, log)
}
