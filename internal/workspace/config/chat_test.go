package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChat checks that the section is decoded, and that an API key anywhere in it is refused and
// not repeated.
func TestChat(t *testing.T) {
	c, problems := Parse([]byte(`chat:
  model: local
  models:
    local: {url: "http://127.0.0.1:11434/v1", model: "qwen3:8b", extra: {temperature: 0, stop: [a]}}
    claude: {wire: anthropic, model: claude-sonnet-4-5, key-env: ANTHROPIC_API_KEY}
    team/large: {url: https://models.example.com/v1, key-file: model-key}
`))
	if len(problems) > 0 {
		t.Fatal(linesOf(problems))
	}
	want := Chat{Model: Word{"local", at(2, 10)}, Models: []ChatModel{
		{Name: Word{"local", at(4, 5)}, URL: "http://127.0.0.1:11434/v1", Model: "qwen3:8b", Extra: []byte(`{"temperature":0,"stop":["a"]}`)},
		{Name: Word{"claude", at(5, 5)}, Wire: WireAnthropic, Model: "claude-sonnet-4-5", KeyEnv: "ANTHROPIC_API_KEY"},
		{Name: Word{"team/large", at(6, 5)}, URL: "https://models.example.com/v1", KeyFile: "model-key"},
	}}
	if diff := cmp.Diff(want, c.Chat); diff != "" {
		t.Error(diff)
	}
	model := func(text string) string { return "chat: {models: {x: {" + text + "}}}\n" }
	const stands = "the key of an endpoint does not belong in this file | " + nameTheKey
	for text, want := range map[string]string{
		model("key: sk-CANARY"):                            "config-key@1:21 chat.models.x.key: " + stands,
		model("api_key: sk-CANARY"):                        "config-key@1:21 chat.models.x.api_key: " + stands,
		"chat: {key: sk-CANARY}\n":                         "config-key@1:8 chat.key: " + stands,
		model("key-env: sk-CANARY"):                        "config-value@1:30 chat.models.x.key-env: chat.models.x.key-env has no name of a variable | " + aVariable,
		model("key-env: [sk-CANARY]"):                      "config-value@1:30 chat.models.x.key-env: chat.models.x.key-env has no name of a variable | " + aVariable,
		model("key-file: ~/CANARY"):                        "config-value@1:31 chat.models.x.key-file: chat.models.x.key-file is not the path of a file | write the path of a file, without ~",
		model("key-env: A, key-file: b"):                   "config-value@1:20 chat.models.x: chat.models.x has both key-env and key-file | leave one of them out",
		model("url: 'https://CANARY:b@example.com'"):       "config-value@1:26 chat.models.x.url: chat.models.x.url has a user name or a password | " + WriteEndpoint,
		model("url: 'https://example.com/?k=CANARY'"):      "config-value@1:26 chat.models.x.url: chat.models.x.url has a ? or a # | " + WriteEndpoint,
		model("url: 'ftp://CANARY.example.com'"):           "config-value@1:26 chat.models.x.url: chat.models.x.url is not a URL of http or https with a host | " + WriteEndpoint,
		model("url: 'https:// CANARY'"):                    "config-value@1:26 chat.models.x.url: chat.models.x.url is not a URL | " + WriteEndpoint,
		model("url: 8080"):                                 "config-value@1:26 chat.models.x.url: chat.models.x.url is not text | " + WriteEndpoint,
		model("wire: gemini"):                              "config-value@1:27 chat.models.x.wire: 'gemini' is not one of openai, anthropic | write one of openai, anthropic",
		model("model: 3"):                                  "config-value@1:28 chat.models.x.model: chat.models.x.model is not text | write the model's name as the endpoint has it; quote one that is a number",
		model("extra: 1"):                                  "config-value@1:28 chat.models.x.extra: chat.models.x.extra does not consist of members with values | write each member on its own line, indented, followed by a colon and a space",
		model("modell: x"):                                 "config-key@1:21 chat.models.x.modell: there is no key 'modell' in chat.models.x | did you mean model?",
		"chat: {model: b, models: {a: {model: x}}}\n":      "config-value@1:15 chat.model: chat.models has no 'b' | write one of a",
		"chat: {model: b}\n":                               "config-value@1:15 chat.model: chat.models has no 'b' | add it to chat.models",
		"chat: {models: {\"a b\": {model: x}}}\n":          "config-key@1:17 chat.models: a name in chat.models has other characters than letters, digits and . _ - / :, or more than 64 | write a short word, for example local",
		"chat: {models: [{key: sk-CANARY}]}\n":             "config-value@1:16 chat.models: chat.models does not consist of keys with values | write each key on its own line, indented, followed by a colon and a space",
		"chat:\n  models:\n    x:\n      key: sk-CANARY\n": "config-key@4:7 chat.models.x.key: " + stands,
	} {
		c, problems := Parse([]byte(text))
		if got := linesOf(problems); got != want || strings.Contains(got, "CANARY") {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
		if diff := cmp.Diff(Config{}, c); diff != "" {
			t.Errorf("%s: something of it holds", text)
		}
	}
}
