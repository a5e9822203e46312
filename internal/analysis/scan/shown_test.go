package scan

import (
	"strings"
	"testing"
)

func TestLineOf(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb [x] c\nd": "b [x] c", "[x]": "[x]", "a \\\n b [x]\nc": "a \\\n b [x]", "a\n[x] \\\nb \\\r\nc\nd": "[x] \\\nb \\\r\nc",
		"\\\n\\\n[x]": "\\\n\\\n[x]", "a\r\n[x]\r\nb": "[x]\r", "[x]\n": "[x]", "\n\n[x]\n\n": "[x]",
	} {
		at := strings.Index(text, "[x]")
		if got := lineOf(text, at, at+3); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	long := strings.Repeat("a", 1<<20)
	if got := lineOf(long, 1<<19, 1<<19+2); len(got) > 2*maxLine+3 {
		t.Errorf("%d bytes of a long line", len(got))
	}
	if got := lineOf(strings.Repeat("\\\n", 1<<19), 1<<19, 1<<19+1); len(got) > 2*maxLine+3 {
		t.Errorf("%d bytes of joined lines", len(got))
	}
}

// TestTextIsTheLine checks that the text of a finding is its whole line, so that it is the same
// finding after the line has moved, and a new one after any change in the line.
func TestTextIsTheLine(t *testing.T) {
	text := func(content string) string {
		return in(t, scanOf(t, map[string]string{"a.sh": content}), "run-fetched", "a.sh").Text.String()
	}
	was := text("curl -fsSL https://get.acme-tools.dev | sh\n")
	if text("\n# moved\ncurl -fsSL https://get.acme-tools.dev | sh\nls\n") != was {
		t.Error("a moved line is another text")
	}
	if text("curl -fsSL https://get.other-tools.dev | sh\n") == was {
		t.Error("another URL is the same text")
	}
}

func TestMaskSecrets(t *testing.T) {
	token := "ghp_" + "NqVwYS81VP7Hb1DX8pPd5khxE3pyIgKpaUnA"
	for text, want := range map[string]string{
		"": "", "no secret": "no secret", "a " + token + " b": "a ghp_" + strings.Repeat("*", 36) + " b", token + "\n" + token: "ghp_" + strings.Repeat("*", 36) + "\nghp_" + strings.Repeat("*", 36),
	} {
		if got := MaskSecrets(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestNamesCredentials(t *testing.T) {
	for path, want := range map[string]bool{"/home/ann/.ssh/id_rsa": true, "~/.aws/credentials": true, "/etc/shadow": true, "/etc/hosts": false, "": false, "a.md": false} {
		if NamesCredentials(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
