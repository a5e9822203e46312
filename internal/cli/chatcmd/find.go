package chatcmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/llm/model"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
)

// Register adds the flags that select a model.
func (w *Wanted) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&w.URL, "url", "", "the endpoint is at `URL`, for example http://127.0.0.1:11434/v1")
	flags.StringVar(&w.Wire, "wire", "", "speak `WIRE` with the endpoint: openai for Chat Completions, or anthropic for Messages (default openai)")
	flags.StringVar(&w.KeyEnv, "key-env", "", "the variable `NAME` has the key of the endpoint")
	_ = cmd.RegisterFlagCompletionFunc("wire", cobra.FixedCompletions(config.ChatWires, cobra.ShellCompDirectiveNoFileComp))
}

// Find returns an endpoint with a model: the one that the flags, a file or the environment names,
// or else a server on this machine. say prints which model was found if none was named. otherwise
// describes the user's options without a model.
func Find(ctx context.Context, env *console.Env, file *settings.File, w Wanted, say func(string), otherwise string) (model.Endpoint, error) {
	end, found, err := endpoints{env, file}.byName(w)
	switch {
	case err != nil:
	case found:
		end, err = modelOf(ctx, end, func(end model.Endpoint) client { return Open(env, end) }, say)
	default:
		end, err = localOf(model.Local(ctx, model.Options{Transport: env.Local}), w.Model, say)
	}
	if errors.Is(err, errNoModel) {
		err = command.Fail(command.Error, err, getModel+"\n"+otherwise)
	}
	return end, err
}

// modelOf returns the endpoint with a model. If no model is named, it asks the endpoint for its
// models.
func modelOf(ctx context.Context, end model.Endpoint, open func(model.Endpoint) client, say func(string)) (model.Endpoint, error) {
	if end.Model != "" {
		return end, nil
	}
	c := open(end)
	defer c.Close()
	name, err := chosen(ctx, c, hostOf(end.URL))
	if err == nil {
		end.Model = name
		say(fmt.Sprintf("talking to %s at %s", name, hostOf(end.URL)))
	}
	return end, err
}

// localOf calls local, and reports the model that it found.
func localOf(servers []model.LocalServer, wanted string, say func(string)) (model.Endpoint, error) {
	end, server, err := local(servers, wanted)
	if err == nil {
		say(fmt.Sprintf("talking to %s of %s at %s", end.Model, server, hostOf(end.URL)))
	}
	return end, err
}

// Open returns a client of an endpoint.
func Open(env *console.Env, end model.Endpoint) *model.Client {
	return model.New(end, model.Options{Proxy: env.Proxy, Agent: agent()})
}
