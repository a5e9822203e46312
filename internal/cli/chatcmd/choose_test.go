package chatcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/llm/model"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

const models = `chat:
  model: local
  models:
    local: {url: "http://127.0.0.1:11434/v1", model: "qwen3:8b", extra: {temperature: 0}}
    claude: {wire: anthropic, model: claude-sonnet-4-5, key-env: MY_KEY}
    team: {url: https://models.example.com/v1, model: large, key-file: model-key}
`

// TestNamed checks which endpoint the flags, a file and the environment choose. want has the model,
// the address, the wire and the key with its source.
func TestNamed(t *testing.T) {
	for _, tt := range []struct {
		flags Wanted
		file  string
		env   string // NAME=value, separated by spaces
		want  string
	}{
		{want: "nothing"},
		{env: "OPENAI_API_KEY=o", want: " https://api.openai.com/v1 openai OPENAI_API_KEY=o"},
		{env: "OPENAI_API_KEY=o OPENAI_BASE_URL=http://10.0.0.1:8000/v1", flags: Wanted{Model: "m"}, want: "m http://10.0.0.1:8000/v1 openai OPENAI_API_KEY=o"},
		{env: "OPENAI_BASE_URL=http://10.0.0.1:8000/v1", want: "nothing"},
		{env: "ANTHROPIC_API_KEY=a GEMINI_API_KEY=g", want: " https://api.anthropic.com anthropic ANTHROPIC_API_KEY=a"},
		{env: "GEMINI_API_KEY=g", want: " https://generativelanguage.googleapis.com/v1beta/openai openai GEMINI_API_KEY=g"},
		{env: "ANTHROPIC_API_KEY=a OPENAI_API_KEY=o", want: " https://api.openai.com/v1 openai OPENAI_API_KEY=o"},
		{env: "LLM_API_BASE_URL=http://h:1/v1 LLM_MODEL_NAME=x LLM_API_KEY=l OPENAI_API_KEY=o", want: "x http://h:1/v1 openai LLM_API_KEY=l"},
		{env: "LLM_API_BASE_URL=http://h:1/v1 LLM_MODEL_NAME=x", flags: Wanted{Model: "y"}, want: "y http://h:1/v1 openai LLM_API_KEY="},
		{env: "LLM_API_KEY=l LLM_MODEL_NAME=x", want: "nothing"},
		{env: "LLM_API_BASE_URL=http://u:CANARY@h/v1", want: "3: the variable LLM_API_BASE_URL has a user name or a password"},
		{env: "OPENAI_API_KEY=o OPENAI_BASE_URL=https://h/?key=CANARY", want: "3: the variable OPENAI_BASE_URL has a ? or a #"},
		// A file wins over the environment. A --model may be another model at the endpoint of the
		// file's default.
		{file: models, env: "OPENAI_API_KEY=o", want: "qwen3:8b http://127.0.0.1:11434/v1 openai ="},
		{file: models, flags: Wanted{Model: "claude"}, env: "MY_KEY=c", want: "claude-sonnet-4-5 https://api.anthropic.com anthropic MY_KEY=c"},
		{file: models, flags: Wanted{Model: "claude"}, want: "3: the variable MY_KEY for the key of api.anthropic.com is not set"},
		{file: models, flags: Wanted{Model: "claude", KeyEnv: "OTHER"}, env: "MY_KEY=c OTHER=d", want: "claude-sonnet-4-5 https://api.anthropic.com anthropic OTHER=d"},
		{file: models, flags: Wanted{Model: "team"}, want: "large https://models.example.com/v1 openai model-key=file"},
		{file: models, flags: Wanted{Model: "llama3"}, want: "llama3 http://127.0.0.1:11434/v1 openai ="},
		{file: "chat: {models: {a: {url: 'http://h:1/v1'}}}\n", want: " http://h:1/v1 openai ="},
		{file: "chat: {models: {a: {url: 'http://h:1/v1'}, b: {wire: anthropic}}}\n", want: "nothing"},
		{file: "chat: {models: {a: {wire: anthropic}}}\n", flags: Wanted{Model: "b"}, want: "b https://api.anthropic.com anthropic ="},
		{file: "chat: {models: {a: {key-file: none, url: 'http://h:1/v1'}}}\n", want: "other: knack.yaml: the key-file none: there is no such file"},
		{file: "chat: {models: {a: {key-file: bad-key, url: 'http://h:1/v1'}}}\n", want: "other: knack.yaml: the key-file bad-key: it is empty, longer than 4 KiB, or has several lines"},
		// Flags win over both. The key of a vendor is sent only to that vendor, and only encrypted.
		{file: models, flags: Wanted{URL: "http://h:1/v1", Model: "m"}, env: "OPENAI_API_KEY=o", want: "m http://h:1/v1 openai ="},
		{flags: Wanted{URL: "https://api.openai.com/v1", Model: "m"}, env: "OPENAI_API_KEY=o", want: "m https://api.openai.com/v1 openai OPENAI_API_KEY=o"},
		{flags: Wanted{URL: "http://api.openai.com/v1", Model: "m"}, env: "OPENAI_API_KEY=o", want: "m http://api.openai.com/v1 openai ="},
		{flags: Wanted{URL: "https://api.openai.com.example.com/v1", Model: "m"}, env: "OPENAI_API_KEY=o", want: "m https://api.openai.com.example.com/v1 openai ="},
		{flags: Wanted{URL: "https://api.anthropic.com", Model: "m"}, env: "ANTHROPIC_API_KEY=a", want: "m https://api.anthropic.com anthropic ANTHROPIC_API_KEY=a"},
		{flags: Wanted{URL: "http://h:1", Wire: "anthropic", KeyEnv: "K", Model: "m"}, env: "K=k", want: "m http://h:1 anthropic K=k"},
		{flags: Wanted{Wire: "anthropic"}, env: "OPENAI_API_KEY=o ANTHROPIC_API_KEY=a", want: " https://api.anthropic.com anthropic ANTHROPIC_API_KEY=a"},
		{flags: Wanted{KeyEnv: "K"}, env: "OPENAI_API_KEY=o K=k", want: " https://api.openai.com/v1 openai K=k"},
		{flags: Wanted{KeyEnv: "K"}, env: "OPENAI_BASE_URL=http://10.0.0.1:8000/v1 K=k", want: " http://10.0.0.1:8000/v1 openai K=k"},
		{flags: Wanted{KeyEnv: "K"}, env: "LLM_API_BASE_URL=http://h:1/v1 LLM_MODEL_NAME=x LLM_API_KEY=l K=k", want: "x http://h:1/v1 openai K=k"},
		{flags: Wanted{Wire: "openai"}, env: "OPENAI_API_KEY=o OPENAI_BASE_URL=http://10.0.0.1:8000/v1", want: " http://10.0.0.1:8000/v1 openai OPENAI_API_KEY=o"},
		{file: models, flags: Wanted{KeyEnv: "K"}, env: "K=k", want: "qwen3:8b http://127.0.0.1:11434/v1 openai K=k"},
		{file: models, flags: Wanted{KeyEnv: "K", Model: "llama3"}, env: "K=k", want: "llama3 http://127.0.0.1:11434/v1 openai K=k"},
		{file: models, flags: Wanted{Model: "claude", Wire: "openai"}, env: "MY_KEY=c", want: "claude-sonnet-4-5 https://api.anthropic.com openai MY_KEY=c"},
		{flags: Wanted{KeyEnv: "K"}, want: "3: the variable K for the key of api.openai.com is not set"},
		{flags: Wanted{URL: "h:1/v1"}, want: "2: --url is not a URL of http or https with a host"},
		{flags: Wanted{URL: "https://CANARY@h/v1"}, want: "2: --url has a user name or a password"},
		{flags: Wanted{Wire: "gemini"}, want: "2: --wire gemini: there is no such wire"},
		{flags: Wanted{KeyEnv: "sk-CANARY"}, want: "2: --key-env is not the name of a variable"},
	} {
		dir := t.TempDir()
		variables := map[string]string{}
		for _, v := range strings.Fields(tt.env) {
			name, value, _ := strings.Cut(v, "=")
			variables[name] = value
		}
		e := endpoints{env: &console.Env{Getenv: func(name string) string { return variables[name] }}}
		if tt.file != "" {
			c, problems := config.Parse([]byte(tt.file))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			for name, text := range map[string]string{"model-key": " file\n", "bad-key": "CANARY\nb\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			e.file = &settings.File{Path: filepath.Join(dir, "knack.yaml"), Shown: "knack.yaml", Config: c}
		}
		end, found, err := e.byName(tt.flags)
		got := fmt.Sprintf("%s %s %s %s=%s", end.Model, end.URL, cmp.Or(end.Wire, model.OpenAI), end.KeyName, end.Key)
		var failure *command.Failure
		switch {
		case errors.As(err, &failure):
			got = fmt.Sprintf("%d: %v", failure.Code, err)
		case err != nil:
			got = "other: " + err.Error()
		case !found:
			got = "nothing"
		}
		if got != tt.want {
			t.Errorf("%+v %q %s:\ngot  %s\nwant %s", tt.flags, tt.file, tt.env, got, tt.want)
		}
		if strings.Contains(fmt.Sprint(got, err), "CANARY") {
			t.Errorf("the key is in %s, %v", got, err)
		}
		if strings.HasPrefix(got, "qwen3") && string(end.Extra["temperature"]) != "0" {
			t.Errorf("extra is %s", end.Extra)
		}
	}
}

// names lists the models of an endpoint.
type names []string

func (n names) Models(context.Context) ([]string, error) {
	if n == nil {
		return nil, &model.Error{Category: model.Auth, Host: "h:1", KeyName: "K"}
	}
	return n, nil
}

// TestChosen checks which model of an endpoint is chosen if none is named.
func TestChosen(t *testing.T) {
	many := make(names, 25)
	for i := range many {
		many[i] = fmt.Sprint("m", i)
	}
	for _, tt := range []struct {
		models names
		want   string
	}{
		{names{"one"}, "one"},
		{names{}, "2: no model is named, and h:1 lists none | name one with --model"},
		{names{"a", "b"}, "2: no model is named; h:1 has a, b | name one with --model"},
		{many, "2: no model is named; h:1 has m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19 and 5 more | name one with --model"},
		{nil, "3: "},
	} {
		got, err := chosen(t.Context(), tt.models, "h:1")
		if f := (*command.Failure)(nil); errors.As(err, &f) {
			got = fmt.Sprintf("%d: %v | %s", f.Code, err, f.Hint)
		}
		if got != tt.want && (tt.models != nil || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// TestLocal checks which model on this machine is chosen.
func TestLocal(t *testing.T) {
	ollama := model.LocalServer{Name: "Ollama", URL: "http://127.0.0.1:11434/v1", Advice: "ollama pull qwen3:8b"}
	studio := model.LocalServer{Name: "LM Studio", URL: "http://127.0.0.1:1234/v1", Models: []string{"gemma", "qwen"}}
	for _, tt := range []struct {
		servers []model.LocalServer
		wanted  string
		want    string
	}{
		{nil, "", "no model to talk to | "},
		{[]model.LocalServer{ollama}, "", "Ollama at http://127.0.0.1:11434/v1 has no model | ollama pull qwen3:8b"},
		{[]model.LocalServer{ollama, studio}, "", "LM Studio gemma http://127.0.0.1:1234/v1"},
		{[]model.LocalServer{ollama, studio}, "qwen", "LM Studio qwen http://127.0.0.1:1234/v1"},
		{[]model.LocalServer{ollama, studio}, "gema", "no server on this machine has the model 'gema'; there is gemma, qwen | did you mean gemma?"},
		{[]model.LocalServer{studio}, "zzzzzz", "no server on this machine has the model 'zzzzzz'; there is gemma, qwen | name one with --model"},
	} {
		end, name, err := local(tt.servers, tt.wanted)
		got := name + " " + end.Model + " " + end.URL
		if err != nil {
			hint := ""
			if f := (*command.Failure)(nil); errors.As(err, &f) {
				hint = f.Hint
			}
			got = err.Error() + " | " + hint
		}
		if got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}
