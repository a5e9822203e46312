package settings

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestChat checks that the section chat is refused in a project's file, and read from the user's
// file.
func TestChat(t *testing.T) {
	env := environment(t)
	const section = "chat: {models: {mine: {url: 'https://models.example.com/v1', model: m}}}\n"
	write(t, filepath.Join(env.Dir, "knack.yaml"), section)
	f, err := New(env, "").project(env.Dir)
	if err != nil || len(f.Problems) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	if p := f.Problems[0]; p.Position.String() != "1:1" || p.Field != "chat" || !strings.Contains(p.Message, "a clone could otherwise send your words and keys to its own") || p.Fix == "" {
		t.Errorf("%+v", p)
	}
	write(t, filepath.Join(env.Home, ".config", "knack", "knack.yaml"), section)
	if f, err := New(env, "").Trusted(); err != nil || len(f.Config.Chat.Models) != 1 {
		t.Errorf("the user's own: %+v, %v", f, err)
	}
}
