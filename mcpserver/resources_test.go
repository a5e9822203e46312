package mcpserver_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestReadResource checks that every file is served byte for byte: text as text, and anything else
// as a blob.
func TestReadResource(t *testing.T) {
	text := skillMD("git", "Git.", "# Git\n")
	root := tree(t, map[string]string{
		"git/SKILL.md":               text,
		"git/empty.txt":              "",
		"git/empty":                  "",
		"git/bom.md":                 "\ufeff# Über\n",
		"git/crlf.txt":               "one\r\ntwo\r",
		"git/nul.txt":                "a\x00b",
		"git/latin.txt":              "caf\xe9",
		"git/utf16.txt":              "\xff\xfeh\x00i\x00",
		"git/controls.sh":            "\x1b[31m\u2028\u202e<&>\"\\\n",
		"git/a b/ü#?%41.md":          "odd",
		"git/image.PNG":              "\x89PNG\r\n\x1a\n",
		"git/.env":                   "CANARY",
		"git/.git/config":            "CANARY",
		"git/inner/SKILL.md":         skillMD("inner", "Nested.", ""),
		"git/inner/x.txt":            "x",
		"lower/skill.md":             skillMD("lower", "Lower.", ""),
		"bad/SKILL.md":               "CANARY",
		"bad/x.txt":                  "CANARY",
		"x.txt":                      "CANARY",
		"CI CD/SKILL.md":             skillMD("CI/CD Pipeline", "Odd name.", ""),
		"big/SKILL.md":               skillMD("big", "Big.", ""),
		"kept/SKILL.md":              "---\nname: kept\ndescription: Kept.\ndisable-model-invocation: true\n---\n",
		"git/references/deep/a.json": "{}",
	})
	must(t, os.WriteFile(filepath.Join(root, "big/big.bin"), make([]byte, 16<<20+1), 0o644))
	if runtime.GOOS != "windows" {
		must(t, os.Symlink("../../x.txt", filepath.Join(root, "git/out.txt")))
		must(t, os.Symlink("empty.txt", filepath.Join(root, "git/in.txt")))
	}
	client := connect(t, serve(t, scanned(t, folder(root))), "2025-11-25", nil)
	blob := func(s string) mcp.ResourceContents { return mcp.ResourceContents{Blob: []byte(s)} }
	for uri, want := range map[string]mcp.ResourceContents{
		"skill://git/SKILL.md":                     {Text: text, MIMEType: "text/markdown"},
		"SKILL://git/SKILL.md":                     {Text: text, MIMEType: "text/markdown"},
		"skill://%67it/SKILL%2Emd":                 {Text: text, MIMEType: "text/markdown"},
		"skill://git/empty.txt":                    blob(""),
		"skill://git/empty":                        blob(""),
		"skill://git/bom.md":                       {Text: "\ufeff# Über\n", MIMEType: "text/markdown"},
		"skill://git/crlf.txt":                     {Text: "one\r\ntwo\r", MIMEType: "text/plain"},
		"skill://git/nul.txt":                      blob("a\x00b"),
		"skill://git/latin.txt":                    blob("caf\xe9"),
		"skill://git/utf16.txt":                    blob("\xff\xfeh\x00i\x00"),
		"skill://git/controls.sh":                  {Text: "\x1b[31m\u2028\u202e<&>\"\\\n", MIMEType: "text/x-shellscript"},
		"skill://git/a%20b/%C3%BC%23%3F%2541.md":   {Text: "odd", MIMEType: "text/markdown"},
		"skill://git/image.PNG":                    {Blob: []byte("\x89PNG\r\n\x1a\n"), MIMEType: "image/png"},
		"skill://git/inner/x.txt":                  {Text: "x", MIMEType: "text/plain"},
		"skill://lower/SKILL.md":                   {Text: skillMD("lower", "Lower.", ""), MIMEType: "text/markdown"},
		"skill://CI%20CD/SKILL.md":                 {Text: skillMD("CI/CD Pipeline", "Odd name.", ""), MIMEType: "text/markdown"},
		"skill://kept/SKILL.md":                    {Text: "---\nname: kept\ndescription: Kept.\ndisable-model-invocation: true\n---\n", MIMEType: "text/markdown"},
		"skill://git/references/deep/a.json":       {Text: "{}", MIMEType: "application/json"},
		"skill://git/%72eferences/deep/%61%2Ejson": {Text: "{}", MIMEType: "application/json"},
	} {
		res, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		want.URI = uri
		got := *res.Contents[0]
		if want.MIMEType == "" {
			want.MIMEType = got.MIMEType
		}
		if diff := cmp.Diff(want, got); diff != "" || len(res.Contents) != 1 || (got.Blob == nil) == (got.Text == "") {
			t.Errorf("%s: %s", uri, diff)
		}
	}
	for uri, reason := range map[string]string{
		"":                                      "give a URI of the form skill://<path>/SKILL.md",
		"git":                                   "give a URI of the form skill://<path>/SKILL.md",
		"file:///etc/passwd":                    "give a URI of the form skill://<path>/SKILL.md",
		"skill://":                              "give a URI of the form skill://<path>/SKILL.md",
		"skill:///etc/passwd":                   "give a URI of the form skill://<path>/SKILL.md",
		"skill://git/../x.txt":                  "give a URI of the form skill://<path>/SKILL.md",
		"skill://git/%2e%2e/x.txt":              "give a URI of the form skill://<path>/SKILL.md",
		"skill://git/%2E%2E%2Fx.txt":            "give a URI of the form skill://<path>/SKILL.md",
		"skill://git/..%5Cx.txt":                "give a URI of the form skill://<path>/SKILL.md",
		"skill://git/SKILL.md?x=1":              "a skill's URI has no query: leave out ? and the text after it, or write %3F where it belongs to a name",
		"skill://git/SKILL.md#x":                "a skill's URI has no fragment: leave out # and the text after it, or write %23 where it belongs to a name",
		"skill://git/../x.txt?x#y":              "give a URI of the form skill://<path>/SKILL.md",
		"skill://user:CANARY@git/SKILL.md":      "a skill's URI has no user: leave out @ and the text before it, or write %40 where it belongs to a name",
		"skill://user@../SKILL.md":              "give a URI of the form skill://<path>/SKILL.md",
		"skill://git/a%00b":                     "give a URI of the form skill://<path>/SKILL.md",
		"skill://git/%ff":                       "give a URI of the form skill://<path>/SKILL.md",
		"skill://git//SKILL.md":                 "give a URI of the form skill://<path>/SKILL.md",
		"skill://git/%252e%252e/x.txt":          "give a URI of the form skill://<path>/SKILL.md",
		"skill://git":                           "it is a folder, or not a regular file",
		"skill://git/references":                "it is a folder, or not a regular file",
		"skill://git/nope.md":                   "the skill has no such file",
		"skill://git/.env":                      "the skill has no such file",
		"skill://git/.git/config":               "the skill has no such file",
		"skill://nope/SKILL.md":                 "no skill has it; resources/list names all",
		"skill://bad/SKILL.md":                  "the skill was skipped: skills/bad/SKILL.md:1:1: the file has no frontmatter (begin the file with ---, name:, description: and --- on lines of their own)",
		"skill://bad/x.txt":                     "the skill was skipped: skills/bad/SKILL.md:1:1: the file has no frontmatter (begin the file with ---, name:, description: and --- on lines of their own)",
		"skill://x.txt":                         "no skill has it; resources/list names all",
		"skill://" + strings.Repeat("x", 1<<16): "no skill has it; resources/list names all",
	} {
		_, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if code(err) != jsonrpc.CodeInvalidParams || !strings.HasSuffix(err.Error(), " ("+reason+")") || len(err.Error()) > 600 {
			t.Errorf("%.60s: %v, want %s", uri, err, reason)
		}
	}
	if runtime.GOOS != "windows" {
		if _, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://git/out.txt"}); code(err) != jsonrpc.CodeInvalidParams {
			t.Errorf("a link out: %v", err)
		}
		if res, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://git/in.txt"}); err != nil || res.Contents[0].Blob == nil {
			t.Errorf("a link within: %v", err)
		}
	}
	if _, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://big/big.bin"}); code(err) != jsonrpc.CodeInternalError {
		t.Errorf("too large: %v", err)
	}
}

// TestUnknownResourceIsRedacted checks that an error contains the URI in its message and its data,
// but a possible secret in neither.
func TestUnknownResourceIsRedacted(t *testing.T) {
	client := connect(t, serve(t, scanned(t, folder(tree(t, map[string]string{"git/SKILL.md": skillMD("git", "Git.", "")})))), "2025-11-25", nil)
	for uri, quoted := range map[string]string{
		"skill://user:CAN/CANARY@git/x.md":    "skill://git/x.md",
		"skill://x/ghp_CANARY/SKILL.md":       "skill://x/[redacted]/SKILL.md",
		"skill://git/none.md?token=CANARY":    "skill://git/none.md",
		"https://CANARY:CANARY@example.com/x": "https://example.com/x",
	} {
		_, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		var wire *jsonrpc.Error
		if !errors.As(err, &wire) || strings.Contains(wire.Message+string(wire.Data), "CANARY") ||
			!strings.HasPrefix(wire.Message, "Resource not found: "+quoted+" (") || string(wire.Data) != `{"uri":"`+quoted+`"}` {
			t.Errorf("%s: %v, %s", uri, err, wire.Data)
		}
	}
}
