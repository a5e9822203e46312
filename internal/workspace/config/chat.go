package config

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Chat is the section chat: the models of `knack chat`.
type Chat struct {
	Model  Word // the name of one of Models; may be zero
	Models []ChatModel
}

// ChatModel is one of chat.models: a model of an endpoint, and the source of its key.
type ChatModel struct {
	Name    Word
	Wire    string // one of ChatWires; "" if the file lacks the key
	URL     string // "" means the vendor's own
	Model   string // "" means ask the endpoint
	KeyEnv  string // the variable with the key
	KeyFile string // the file with the key, relative to the folder of the configuration
	Extra   json.RawMessage
}

// Find returns the model with a name.
func (c Chat) Find(name string) (ChatModel, bool) {
	for _, m := range c.Models {
		if m.Name.Text == name {
			return m, true
		}
	}
	return ChatModel{}, false
}

// Names returns the names of the models, in the order of the file.
func (c Chat) Names() []string {
	names := make([]string, len(c.Models))
	for i, m := range c.Models {
		names[i] = m.Name.Text
	}
	return names
}

// The values of chat.models.NAME.wire.
const (
	WireOpenAI    = "openai"
	WireAnthropic = "anthropic"
)

// ChatWires are the values of chat.models.NAME.wire. The first is the default.
var ChatWires = []string{WireOpenAI, WireAnthropic}

// maxModels limits the number of names in chat.models, and maxModelName the characters of a name.
const (
	maxModels    = 256
	maxModelName = 64
)

var chatKeys = []key[Chat]{
	{"model", "text", "", "the name of the model in `models` that `knack chat` talks to without `--model`", func(d *decoder, v frontmatter.Value, c *Chat) {
		c.Model = Word{d.text("chat.model", v, "write the name of one of chat.models"), v.Position}
	}},
	{"models", "section", "", "models by names of your own", func(d *decoder, v frontmatter.Value, c *Chat) {
		c.Models = decodeModels(d, v)
	}},
}

// keysOfKeys lists names under which people might write the key of an endpoint.
var keysOfKeys = []string{"key", "api-key", "api_key", "apikey", "apiKey", "token", "secret", "password"}

const nameTheKey = "put it into a variable and write key-env: with the variable's name, or into a file and write key-file: with the file's path"

func chatModelKeys(at string) []key[ChatModel] {
	return []key[ChatModel]{
		{"wire", "openai, anthropic", "openai", "the protocol of the endpoint: Chat Completions, or Messages", func(d *decoder, v frontmatter.Value, m *ChatModel) {
			m.Wire = d.oneOf(at+".wire", v, ChatWires)
		}},
		{"url", "text", "the vendor's own", "the endpoint's URL, for example http://127.0.0.1:11434/v1", func(d *decoder, v frontmatter.Value, m *ChatModel) {
			if m.URL = v.Text; v.Kind != frontmatter.String || CheckEndpoint(v.Text) != "" {
				why := "is not text"
				if v.Kind == frontmatter.String {
					why = CheckEndpoint(v.Text)
				}
				d.add(ruleValue, v.Position, at+".url", WriteEndpoint, "%s.url %s", at, why)
			}
		}},
		{"model", "text", "", "the endpoint's name of the model; without it, the models of the endpoint are listed", func(d *decoder, v frontmatter.Value, m *ChatModel) {
			m.Model = d.text(at+".model", v, "write the model's name as the endpoint has it; quote one that is a number")
		}},
		{"key-env", "text", "", "the environment variable that has the key", func(d *decoder, v frontmatter.Value, m *ChatModel) {
			m.KeyEnv = d.variable(at+".key-env", v)
		}},
		{"key-file", "text", "", "the file that has the key, and nothing else; a relative path starts at this file's folder", func(d *decoder, v frontmatter.Value, m *ChatModel) {
			if m.KeyFile = strings.TrimSpace(v.Text); v.Kind != frontmatter.String || m.KeyFile == "" || strings.HasPrefix(m.KeyFile, "~") {
				d.add(ruleValue, v.Position, at+".key-file", "write the path of a file, without ~", "%s.key-file is not the path of a file", at)
			}
		}},
		{"extra", "section", "", "members that are merged into each request as they are, for example `{temperature: 0}`", func(d *decoder, v frontmatter.Value, m *ChatModel) {
			if v.Kind != frontmatter.Map {
				d.add(ruleValue, v.Position, at+".extra", "write each member on its own line, indented, followed by a colon and a space", "%s.extra does not consist of members with values", at)
				return
			}
			m.Extra = v.AppendJSON(nil)
		}},
	}
}

func decodeChat(d *decoder, v frontmatter.Value) Chat {
	var c Chat
	section(d, "chat", withoutKeys(d, "chat", v), chatKeys, &c)
	if _, found := c.Find(c.Model.Text); c.Model.Text != "" && !found {
		fix := "add it to chat.models"
		if names := c.Names(); len(names) > 0 {
			fix = "write one of " + strings.Join(names, ", ")
		}
		d.add(ruleValue, c.Model.Position, "chat.model", fix, "chat.models has no %s", describe(frontmatter.Value{Kind: frontmatter.String, Text: c.Model.Text}))
	}
	return c
}

func decodeModels(d *decoder, v frontmatter.Value) (all []ChatModel) {
	for i, f := range d.fields("chat.models", v) {
		if i == maxModels {
			d.add(ruleValue, f.KeyPosition, "chat.models", "remove the models that you do not use", "chat.models has more than %d models", maxModels)
			break
		}
		if !modelName().MatchString(f.Key) || len(f.Key) > maxModelName {
			d.add(ruleKey, f.KeyPosition, "chat.models", "write a short word, for example local", "a name in chat.models has other characters than letters, digits and . _ - / :, or more than %d", maxModelName)
			continue
		}
		at := "chat.models." + f.Key
		m := ChatModel{Name: Word{f.Key, f.KeyPosition}}
		section(d, at, withoutKeys(d, at, f.Value), chatModelKeys(at), &m)
		if m.KeyEnv != "" && m.KeyFile != "" {
			d.add(ruleValue, f.Value.Position, at, "leave one of them out", "%s has both key-env and key-file", at)
		}
		all = append(all, m)
	}
	return all
}

// withoutKeys reports each secret key of an endpoint in a section, and returns the other fields. No
// message contains the value of a key.
func withoutKeys(d *decoder, at string, v frontmatter.Value) frontmatter.Value {
	rest := v
	rest.Fields = nil
	for _, f := range v.Fields {
		if slices.Contains(keysOfKeys, f.Key) {
			d.add(ruleKey, f.KeyPosition, at+"."+f.Key, nameTheKey, "the key of an endpoint does not belong in this file")
			continue
		}
		rest.Fields = append(rest.Fields, f)
	}
	return rest
}

var modelName = lazyregexp.New(`^[\p{L}\p{N}][\p{L}\p{N}._/:-]*$`)

// WriteEndpoint is the fix for a malformed URL of an endpoint.
const WriteEndpoint = "write the endpoint's address, for example http://127.0.0.1:11434/v1; a key is named with key-env"

// CheckEndpoint returns the fault of an endpoint's URL, or "". It never repeats the URL, which may
// contain a key.
func CheckEndpoint(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "is not a URL of http or https with a host"
	case u.User != nil:
		return "has a user name or a password"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "has a ? or a #"
	}
	return ""
}
