package mcpclient

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/display"
)

// TestSecretsHidden checks that each of many secrets is hidden, also if one begins with
// another.
func TestSecretsHidden(t *testing.T) {
	for n := range 10 {
		s := Server{Name: "s", TokenEnv: "TOKEN"}
		env := map[string]string{"TOKEN": "canary-token"}
		for i := range n {
			name := fmt.Sprint("V", i)
			s.EnvFrom = append(s.EnvFrom, name)
			env[name] = "canary-" + strings.Repeat("x", i)
		}
		all, err := readSecrets(s, Options{Getenv: func(name string) string { return env[name] }})
		must(t, err)
		for _, value := range env {
			if got := all.hide("<" + value + ">"); got != "<"+redacted+">" {
				t.Errorf("of %d secrets and a token, %s is shown as %s", n, value, got)
			}
		}
	}
}

// TestSecretsHiddenDecoded checks that a secret is hidden in every string that a server sends,
// before the string is cut or encoded, with any characters in the secret or put into it by the
// server.
func TestSecretsHiddenDecoded(t *testing.T) {
	for _, secret := range []string{`pa"ss\wo<rd>&more`, "first line\nsecond line", "plain-token-1", "tok\u2028en-\u00e9-5"} {
		all, err := readSecrets(Server{Name: "s", EnvFrom: []string{"V"}}, Options{Getenv: func(string) string { return secret }})
		must(t, err)
		var split strings.Builder
		for i, r := range secret {
			split.WriteRune(r)
			split.WriteRune([]rune{0x200b, 0xad, 0x1b, '\n', 0xe0041}[i%5])
		}
		c := &Connection{server: Server{Name: "s"}, secrets: all}
		for name, sent := range map[string]string{"whole": secret, "split": split.String(), "twice": secret + secret} {
			asText, err := json.Marshal(map[string]string{"k": sent})
			must(t, err)
			half := len(display.CutBytes(sent, len(sent)/2))
			content := func(c ...mcp.Content) string { return all.hide(all.textOf(&mcp.CallToolResult{Content: c})) }
			texts := map[string]string{
				"text":       content(&mcp.TextContent{Text: "a " + sent + " b"}),
				"JSON text":  content(&mcp.TextContent{Text: string(asText)}),
				"link":       content(&mcp.ResourceLink{URI: "file:///" + strings.Repeat("x", 232) + sent}),
				"resource":   content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///" + sent, Blob: []byte("x")}}),
				"structured": all.textOf(&mcp.CallToolResult{StructuredContent: map[string]any{"a": []any{sent}, sent: 1.0}}),
				"two parts":  content(&mcp.TextContent{Text: sent[:half]}, &mcp.TextContent{Text: sent[half:]}),
			}
			tool := c.tool(&mcp.Tool{Name: sent, Description: "of " + sent, InputSchema: map[string]any{"type": "object", "description": sent, "properties": map[string]any{sent: true}}})
			texts["description"], texts["schema"], texts["name"] = tool.Description, string(tool.Schema), tool.Name
			if name == "split" {
				delete(texts, "JSON text") // escapes of the characters that split it are letters there
			}
			for where, text := range texts {
				plain, _ := withoutInvisible(text)
				for _, form := range []string{secret, inJSON(secret, true), inJSON(secret, false)} {
					form, _ = withoutInvisible(form)
					if strings.Contains(plain, form) || strings.Contains(plain, form[:len(form)/2]) && where != "link" {
						t.Errorf("%q, %s, %s: %q", secret, name, where, text)
					}
				}
				if where != "name" && !strings.Contains(text, redacted) {
					t.Errorf("%q, %s, %s: nothing is replaced: %q", secret, name, where, text)
				}
			}
		}
	}
	for _, secret := range []string{`pa"ss\wo<rd>&more/x`, "plain-token-1"} {
		all, err := readSecrets(Server{Name: "s", EnvFrom: []string{"V"}}, Options{Getenv: func(string) string { return secret }})
		must(t, err)
		base := base64.StdEncoding.EncodeToString([]byte(secret))
		for name, text := range map[string]string{
			"JSON in JSON": inJSON(inJSON(secret, false), false), "HTML": html.EscapeString(secret), "HTML in JSON": inJSON(html.EscapeString(secret), true),
			"a query": url.QueryEscape(secret), "a query in a query": url.QueryEscape(url.QueryEscape(secret)), "every byte": percentAll(secret), "twice": strings.ReplaceAll(percentAll(secret), "%", "%25"),
			"base64": base, "base64 of base64": base64.StdEncoding.EncodeToString([]byte(base)), "base64 in a URL": url.QueryEscape(base),
		} {
			if got := all.hide("<" + text + ">" + text); strings.Contains(got, strings.TrimRight(text, "=")) || strings.Count(got, redacted) != 2 {
				t.Errorf("%q, %s: %q", secret, name, got)
			}
		}
	}
	none := secrets{}
	if text := "a\u200bb\xff"; none.hide(text) != text {
		t.Error("a text without secrets is changed")
	}
}

// TestStartTime checks that a longer timeout also gives the start of a server more time, as an
// error about a slow server advises.
func TestStartTime(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{requestTime: connectTime, time.Second: connectTime, 20 * time.Second: 20 * time.Second, 2 * time.Minute: 2 * time.Minute} {
		if got := (Server{Timeout: timeout}).startTime(); got != want {
			t.Errorf("with a timeout of %v, a start may take %v, want %v", timeout, got, want)
		}
	}
}
