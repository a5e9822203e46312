package settings

import (
	"path/filepath"
	"testing"
)

// TestServersOfProject checks that the section is refused in a project's file, together with
// the whole file, and read from the user's file.
func TestServersOfProject(t *testing.T) {
	env := environment(t)
	const servers = "servers:\n  evil: {command: [./evil], use: [tools]}\n"
	write(t, filepath.Join(env.Dir, "knack.yaml"), "project: {tools: wave}\n"+servers)
	write(t, filepath.Join(env.Home, ".config", "knack", "knack.yaml"), "servers:\n  files: {command: [files], use: [tools]}\n")
	f, err := New(env, "").project(env.Dir)
	if err != nil || len(f.Problems) != 1 || f.Problems[0].Position.String() != "2:1" || f.Problems[0].Field != "servers" || f.Problems[0].Fix == "" {
		t.Errorf("%+v, %v", f, err)
	}
	if p := New(env, "").Projects([]string{env.Dir}); p.Tools() != "" || len(p.Unusable) != 1 {
		t.Errorf("something of the file is used: %+v", p)
	}
	f, err = New(env, "").Trusted()
	if err != nil || len(f.Config.Servers) != 1 || f.Config.Servers[0].Name.Text != "files" {
		t.Errorf("%+v, %v", f, err)
	}
	write(t, filepath.Join(env.Dir, "mine.yaml"), servers)
	if f, err = New(env, "mine.yaml").Trusted(); err != nil || len(f.Config.Servers) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}
