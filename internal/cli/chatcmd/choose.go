package chatcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/llm/model"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// Wanted has the flags that choose a model. The field of an unset flag is empty.
type Wanted struct{ Model, URL, Wire, KeyEnv string }

// check returns an error for invalid values and combinations of flags.
func (w Wanted) check() error {
	switch {
	case w.URL != "" && config.CheckEndpoint(w.URL) != "":
		return command.UsageError(config.WriteEndpoint, "--url %s", config.CheckEndpoint(w.URL)) // the URL may contain a key
	case w.Wire != "" && !slices.Contains(config.ChatWires, w.Wire):
		return command.UsageError("write one of "+strings.Join(config.ChatWires, ", "), "--wire %s: there is no such wire", display.Echo(w.Wire))
	case w.KeyEnv != "" && !config.IsVariable(w.KeyEnv):
		return command.UsageError("write the name of a variable, for example OPENAI_API_KEY, and never the key", "--key-env is not the name of a variable")
	}
	return nil
}

// endpoints finds the user's model from flags, the file and the environment.
type endpoints struct {
	env  *console.Env
	file *settings.File // the file with the section chat, or nil
}

func (e endpoints) chat() config.Chat {
	if e.file == nil {
		return config.Chat{}
	}
	return e.file.Config.Chat
}

// byName returns the endpoint that the flags, the file or the environment names. If none of them
// names one, found is false, and only a server on this machine is left.
func (e endpoints) byName(w Wanted) (end model.Endpoint, found bool, err error) {
	if err := w.check(); err != nil {
		return end, false, err
	}
	if w.URL != "" {
		end, err = e.byURL(w)
		return end, true, err
	}
	if m, ok := e.configured(w); ok {
		end, err = e.endpoint(m, w)
		return end, true, err
	}
	if w.Wire != "" {
		end, err = e.byURL(w)
		return end, true, err
	}
	end, found, err = e.fromEnvironment(w.KeyEnv)
	end.Model = cmp.Or(w.Model, end.Model)
	return end, found, err
}

// vendors are the endpoints of vendors. Each vendor has its own variable for the key.
var vendors = []struct {
	variable, url string
	wire          model.Wire
}{
	{"OPENAI_API_KEY", model.OpenAIURL, model.OpenAI},
	{"ANTHROPIC_API_KEY", model.AnthropicURL, model.Anthropic},
	{"GEMINI_API_KEY", model.GeminiURL, model.OpenAI},
}

// byURL returns the endpoint of --url, or the endpoint of the vendor that --wire names. The key in
// a vendor's variable is sent only to that vendor.
func (e endpoints) byURL(w Wanted) (end model.Endpoint, err error) {
	end = model.Endpoint{Wire: model.Wire(w.Wire), URL: w.URL}
	for i, v := range vendors {
		if w.URL == "" && v.wire == end.Wire {
			end, err = e.vendor(i)
			break
		}
		if w.URL != "" && hostOf(w.URL) == hostOf(v.url) {
			end.Wire = cmp.Or(end.Wire, v.wire)
			if w.KeyEnv == "" && strings.HasPrefix(end.URL, "https:") {
				end.Key, end.KeyName = e.env.Getenv(v.variable), v.variable
			}
			break
		}
	}
	if err != nil {
		return end, err
	}
	end.Wire, end.Model = cmp.Or(end.Wire, model.OpenAI), w.Model
	return e.withKey(end, w.KeyEnv)
}

// vendor returns the endpoint of a vendor, with the key in the vendor's variable.
func (e endpoints) vendor(i int) (end model.Endpoint, err error) {
	v := vendors[i]
	end = model.Endpoint{Wire: v.wire, URL: v.url, Key: e.env.Getenv(v.variable), KeyName: v.variable}
	if i == 0 {
		var base string
		base, err = e.address("OPENAI_BASE_URL")
		end.URL = cmp.Or(base, end.URL)
	}
	return end, err
}

// address returns the address in a variable, or "".
func (e endpoints) address(variable string) (at string, err error) {
	at = e.env.Getenv(variable)
	if wrong := config.CheckEndpoint(at); at != "" && wrong != "" {
		err = command.RunError("write the endpoint's address, for example http://127.0.0.1:11434/v1", "the variable %s %s", variable, wrong)
	}
	return at, err
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// withKey sets the key from a variable that the user named.
func (e endpoints) withKey(end model.Endpoint, variable string) (model.Endpoint, error) {
	if variable == "" {
		return end, nil
	}
	end.Key, end.KeyName = strings.TrimSpace(e.env.Getenv(variable)), variable
	if end.Key == "" {
		return end, command.RunError("set it in the environment, or name another variable", "the variable %s for the key of %s is not set", variable, hostOf(end.URL))
	}
	return end, nil
}

// configured returns the model in the file that the flags select. A --model that is not in the file
// is taken for another model at the endpoint of the default.
func (e endpoints) configured(w Wanted) (config.ChatModel, bool) {
	c := e.chat()
	if m, found := c.Find(w.Model); found && w.Model != "" {
		return m, true
	}
	m, found := c.Find(c.Model.Text)
	if len(c.Models) == 1 && c.Model.Text == "" {
		m, found = c.Models[0], true
	}
	m.Model = cmp.Or(w.Model, m.Model)
	return m, found && w.Wire == ""
}

// endpoint returns the endpoint of a model in the file.
func (e endpoints) endpoint(m config.ChatModel, w Wanted) (model.Endpoint, error) {
	end := model.Endpoint{Wire: model.Wire(cmp.Or(w.Wire, m.Wire, config.WireOpenAI)), URL: m.URL, Model: m.Model}
	// The URL does not depend on --wire: otherwise, --wire could send this key to another vendor.
	end.URL = cmp.Or(end.URL, map[model.Wire]string{model.OpenAI: model.OpenAIURL, model.Anthropic: model.AnthropicURL}[model.Wire(cmp.Or(m.Wire, config.WireOpenAI))])
	if len(m.Extra) > 0 {
		if err := json.Unmarshal(m.Extra, &end.Extra); err != nil {
			return end, command.RunError("", "chat.models.%s.extra: %w", m.Name.Text, err)
		}
	}
	if variable := cmp.Or(w.KeyEnv, m.KeyEnv); variable != "" {
		return e.withKey(end, variable)
	}
	if m.KeyFile != "" {
		key, err := e.file.KeyIn(m.KeyFile)
		if err != nil {
			return end, err
		}
		end.Key, end.KeyName = key, m.KeyFile
	}
	return end, nil
}

// fromEnvironment returns the endpoint that environment variables name, in the order of
// doc/chat.md. keyEnv, if not empty, is the variable with the key.
func (e endpoints) fromEnvironment(keyEnv string) (end model.Endpoint, found bool, err error) {
	at, err := e.address("LLM_API_BASE_URL")
	switch {
	case err != nil:
		return end, true, err
	case at != "":
		end = model.Endpoint{Wire: model.OpenAI, URL: at, Model: e.env.Getenv("LLM_MODEL_NAME"), Key: e.env.Getenv("LLM_API_KEY"), KeyName: "LLM_API_KEY"}
		end, err = e.withKey(end, keyEnv)
		return end, true, err
	}
	for i, v := range vendors {
		if e.env.Getenv(v.variable) == "" && keyEnv == "" {
			continue
		}
		if end, err = e.vendor(i); err == nil {
			end, err = e.withKey(end, keyEnv)
		}
		return end, true, err
	}
	return end, false, nil
}

// lister lists the models of an endpoint. A [model.Client] is one.
type lister interface {
	Models(context.Context) ([]string, error)
}

// chosen returns the model of an endpoint for a user who named no model. The endpoint must have
// exactly one.
func chosen(ctx context.Context, l lister, host string) (string, error) {
	names, err := l.Models(ctx)
	switch {
	case err != nil:
		return "", failed(err)
	case len(names) == 1:
		return names[0], nil
	case len(names) == 0:
		return "", command.UsageError("name one with --model", "no model is named, and %s lists none", display.Echo(host))
	}
	return "", command.UsageError("name one with --model", "no model is named; %s has %s", display.Echo(host), model.List(names))
}

// local returns the endpoint of a model server on this machine. wanted is the model that the user
// named, or "".
func local(servers []model.LocalServer, wanted string) (end model.Endpoint, name string, err error) {
	var all []string
	for _, s := range servers {
		all = append(all, s.Models...)
		if i := slices.Index(s.Models, wanted); wanted != "" && i >= 0 || wanted == "" && len(s.Models) > 0 {
			return model.Endpoint{Wire: model.OpenAI, URL: s.URL, Model: s.Models[max(i, 0)]}, s.Name, nil
		}
	}
	switch {
	case len(servers) == 0:
		return end, "", errNoModel
	case len(all) == 0:
		s := servers[0]
		return end, "", command.RunError(s.Advice, "%s at %s has no model", s.Name, display.Echo(s.URL))
	}
	hint := "name one with --model"
	if best := typo.Nearest(wanted, all); best != "" {
		hint = "did you mean " + best + "?"
	}
	return end, "", command.RunError(hint, "no server on this machine has the model '%s'; there is %s", display.Echo(wanted), model.List(all))
}

// errNoModel reports that no endpoint was found.
var errNoModel = errors.New("no model to talk to")

const getModel = "start a local one (ollama serve; ollama pull qwen3:8b), or set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, or --url and --model"

// noModel returns errNoModel with a fix and with the skills that match the user's words.
func noModel(env *console.Env, skills []string, words string) error {
	hint := getModel
	if len(skills) > 0 {
		hint += fmt.Sprintf("\nthese skills fit %q: %s   (%s)", display.Echo(words), strings.Join(skills, ", "), env.Command("show", skills[0]))
	}
	return command.Fail(command.Error, errNoModel, hint)
}
