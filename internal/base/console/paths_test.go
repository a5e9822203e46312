package console

import (
	"os/exec"
	"testing"
)

// TestShellWord checks that each shell of this machine reads a word as the path it was made of.
func TestShellWord(t *testing.T) {
	for _, path := range []string{"", "plain", "/a/b-c_d.e", "=ls", "a b", "it's", "~root", "$(id)", "`id`", "a^b", "!1", "a\nb", "\x1b[0m", "größe", "\xff", "a\u200bb", `a\b`} {
		for _, shell := range []string{"bash", "zsh"} {
			if _, err := exec.LookPath(shell); err != nil {
				continue
			}
			if got, err := exec.CommandContext(t.Context(), shell, "-c", "printf '<%s>' "+ShellWord(path)+" end").Output(); err != nil || string(got) != "<"+path+"><end>" {
				t.Errorf("%s reads %q as %q: %v", shell, ShellWord(path), got, err)
			}
		}
	}
	for path, want := range map[string]string{"~/a b": "~/'a b'", "~/skills": "~/skills", "=ls": "'=ls'", "": "''"} {
		if got := ShellWord(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}
