package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadLines checks that lines that are not messages, or are too long, get an error, and that the
// session continues.
func TestBadLines(t *testing.T) {
	p := start(t, "serve")
	p.initialize()
	for i, tt := range []struct {
		line    string
		code    int
		message string
	}{
		{`not JSON`, -32700, "parse error: invalid character 'o' in literal null (expecting 'u')"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"`, -32700, "parse error: unexpected end of JSON input"},
		{`"text"`, -32600, "invalid request: a message is an object"},
		{`7`, -32600, "invalid request: a message is an object"},
		{`null`, -32600, "invalid request: a message is an object"},
		{`[]`, -32600, "invalid request: batches are not supported; send one message at a time"},
		{`{}`, -32600, `invalid request: "jsonrpc" must be "2.0"`},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600, `invalid request: "jsonrpc" must be "2.0"`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, `invalid request: "id" must be a string of at most 4,096 bytes or a whole number within ±(2^53-1)`},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, "parse error: the message is not UTF-8"},
		{`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, -32601, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, -32602, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no-such"}}`, -32602, `Unknown tool: no-such (the tools are skill, read_file_in_skill, find_skills)`},
	} {
		p.send(tt.line)
		a := p.receive()
		if a.Error == nil || a.Error.Code != tt.code || tt.message != "" && a.Error.Message != tt.message {
			t.Errorf("%s: %+v, want %d %s", tt.line, a.Error, tt.code, tt.message)
		}
		p.call(100+i, "ping", `{}`)
		if a := p.receive(); a.Error != nil || string(a.ID) == "null" {
			t.Fatalf("after %s: %+v", tt.line, a)
		}
	}
}

func TestSixteenMebibytes(t *testing.T) {
	p := start(t, "serve")
	p.initialize()
	go func() {
		_, _ = io.WriteString(p.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skill","arguments":{"name":"`)
		chunk := strings.Repeat("x", 1<<20)
		for range 17 {
			_, _ = io.WriteString(p.in, chunk)
		}
		_, _ = io.WriteString(p.in, "\"}}}\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	}()
	if a := p.receive(); a.Error == nil || a.Error.Code != -32600 || !strings.Contains(a.Error.Message, "exceeds the limit of") {
		t.Errorf("got %+v", a.Error)
	}
	if a := p.receive(); a.Error != nil || string(a.ID) != "2" {
		t.Errorf("got %+v", a)
	}
	p.in.Close()
	if code := p.exits(); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

// TestSpecialFiles checks that a SKILL.md that is not a regular file is skipped with a reason, and
// that the other skills are served without delay.
func TestSpecialFiles(t *testing.T) {
	posix(t)
	dir := tree(t, map[string]string{
		"git/SKILL.md": skillMD("git", ""), "big/SKILL.md": skillMD("big", strings.Repeat("x", 2<<20)),
		"fifo/x": "", "socket/x": "", "folder/SKILL.md/x": "", "git/notes.txt": "notes",
	})
	must(t, exec.Command("mkfifo", filepath.Join(dir, "fifo/SKILL.md"), filepath.Join(dir, "git/pipe")).Run())
	t.Chdir(filepath.Join(dir, "socket")) // the path of a socket must be short
	l, err := net.Listen("unix", "SKILL.md")
	must(t, err)
	defer l.Close()

	p := start(t, "serve", "--no-builtin", "--dir", dir)
	p.initialize()
	p.call(1, "tools/call", `{"name":"skill","arguments":{"name":"git"}}`)
	if a := p.receive(); !strings.HasPrefix(a.text(), "Loading: git\n") {
		t.Errorf("git: %s", a.text())
	}
	p.call(2, "tools/call", `{"name":"find_skills","arguments":{}}`)
	got := map[string]string{}
	for line := range strings.Lines(p.receive().text()) {
		if name, reason, ok := strings.Cut(line, "' was skipped: "); ok {
			got[strings.TrimPrefix(name, "'")] = reason
		}
	}
	for skill, why := range map[string]string{
		"big": "too large", "fifo": "not a regular file", "socket": "not a regular file", "folder": "not a regular file",
	} {
		if !strings.Contains(got[skill], why) {
			t.Errorf("%s: %q, want %s", skill, got[skill], why)
		}
	}
	// A pipe inside a skill cannot be read either.
	p.call(3, "tools/call", `{"name":"read_file_in_skill","arguments":{"skill_name":"git","file_path":"pipe"}}`)
	if a := p.receive(); !a.Result.IsError || a.text() != "ERROR: Cannot read file 'pipe': not a regular file" {
		t.Errorf("pipe: %s", a.text())
	}
	p.call(4, "resources/read", `{"uri":"skill://git/pipe"}`)
	if a := p.receive(); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("pipe: %+v", a.Error)
	}
	p.in.Close()
	if code := p.exits(); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

// TestSkillChangesBetweenListAndCall checks that an answer is current and never empty if a skill
// changes, becomes faulty or vanishes between list and call.
func TestSkillChangesBetweenListAndCall(t *testing.T) {
	dir := tree(t, map[string]string{"git/SKILL.md": skillMD("git", "one"), "tar/SKILL.md": skillMD("tar", "")})
	file := filepath.Join(dir, "git/SKILL.md")
	load := `{"name":"skill","arguments":{"name":"git"}}`
	read := `{"uri":"skill://git/SKILL.md"}`
	for name, tt := range map[string]struct {
		change func() error
		text   string // a part of the tool's answer
		read   string // resources/read, "" for -32602
	}{
		"changed": {change: func() error { return os.WriteFile(file, []byte(skillMD("git", "two")), 0o644) },
			text: "Loading: git\n", read: skillMD("git", "two")},
		"faulty": {change: func() error { return os.WriteFile(file, []byte("---\nname: git\n---\n"), 0o644) },
			text: "'git' exists but was skipped: "},
		"renamed": {change: func() error { return os.WriteFile(file, []byte(skillMD("git-two", "")), 0o644) },
			text: "Skill 'git' not found.\nDid you mean 'git-two'? (its folder is called git)\n"},
		"emptied": {change: func() error { return os.WriteFile(file, nil, 0o644) },
			text: "'git' exists but was skipped: "},
		"gone": {change: func() error { return os.RemoveAll(filepath.Dir(file)) },
			text: "Skill 'git' not found.\nAvailable skills: tar\n"},
		"a folder": {change: func() error { _ = os.Remove(file); return os.Mkdir(file, 0o755) },
			// The skill is registered, but its file cannot be read now (contract 004).
			text: "'git' exists but was skipped: ", read: "# git\n\nSkill content is temporarily unavailable.\nURI: skill://git/SKILL.md"},
	} {
		for _, first := range []string{"tools/call", "resources/read"} {
			must(t, os.RemoveAll(filepath.Dir(file)))
			must(t, os.Mkdir(filepath.Dir(file), 0o755))
			must(t, os.WriteFile(file, []byte(skillMD("git", "one")), 0o644))
			p := start(t, "serve", "--no-builtin", "--dir", dir)
			p.initialize()
			p.call(1, "resources/list", `{}`)
			if n := len(p.receive().Result.Resources); n != 2 {
				t.Fatalf("%s: %d resources", name, n)
			}
			must(t, tt.change())
			p.call(2, first, map[string]string{"tools/call": load, "resources/read": read}[first])
			a := p.receive()
			raw, _ := json.Marshal(a)
			switch {
			case first == "tools/call" && !strings.Contains(a.text(), tt.text):
				t.Errorf("%s, %s: %s, want %s", name, first, raw, tt.text)
			case first == "resources/read" && tt.read == "" && (a.Error == nil || a.Error.Code != -32602):
				t.Errorf("%s, %s: %s", name, first, raw)
			case first == "resources/read" && tt.read != "" && (len(a.Result.Contents) != 1 || a.Result.Contents[0].Text != tt.read):
				t.Errorf("%s, %s: %s", name, first, raw)
			}
			p.in.Close()
			if code := p.exits(); code != 0 {
				t.Errorf("%s: exit status %d", name, code)
			}
		}
	}
}
