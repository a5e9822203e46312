package chatcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/base/buildinfo"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/llm/mcpclient"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/tool"
)

// servers are the servers of --mcp, whose tools the model gets.
type servers struct {
	web   *httpfetch.Fetcher
	all   []*mcpclient.Connection
	tools []tool.Definition
	calls map[string]func(context.Context, json.RawMessage) (string, bool, error) // by tool name
}

// Definitions returns the definitions of the tools, which were listed at the start.
func (s *servers) Definitions() []tool.Definition { return s.tools }

// Call calls a tool on the server that has it.
func (s *servers) Call(ctx context.Context, name string, arguments json.RawMessage) (tool.Result, error) {
	text, isError, err := s.calls[name](ctx, arguments)
	if failed := (*mcpclient.Error)(nil); errors.As(err, &failed) && failed.Fix != "" {
		err = fmt.Errorf("%w; %s", err, failed.Fix)
	}
	return tool.Result{Text: text, IsError: isError}, err
}

// close ends the sessions. If the context has ended, it does not wait for them.
func (s *servers) close(ctx context.Context) {
	var all sync.WaitGroup
	for _, c := range s.all {
		if c != nil {
			all.Go(func() { c.Close(ctx) })
		}
	}
	all.Wait()
	s.web.Close()
}

// configured returns the servers of the file with the given names, without duplicates.
func configured(file *settings.File, names []string) (found []config.Server, err error) {
	var all []config.Server
	where := "your knack.yaml"
	if file != nil {
		all, where = file.Config.Servers, file.Shown
	}
	var known []string
	for _, s := range all {
		known = append(known, s.Name.Text)
	}
	for _, name := range names {
		i := slices.Index(known, name)
		switch {
		case i < 0 && len(all) == 0:
			return nil, command.UsageError("write it there, as 'knack help settings' shows", "--mcp %s: %s names no servers", display.Echo(name), where)
		case i < 0:
			hint := "there are " + strings.Join(known, ", ")
			if best := typo.Nearest(name, known); best != "" {
				hint = "did you mean " + best + "?"
			}
			return nil, command.UsageError(hint, "--mcp %s: %s names no such server", display.Echo(name), where)
		case !slices.ContainsFunc(found, func(s config.Server) bool { return s.Name.Text == name }):
			found = append(found, all[i])
		}
	}
	return found, nil
}

// withServers connects to the servers of --mcp and adds their tools to the conversation.
func (t *talk) withServers(ctx context.Context) (s *servers, err error) {
	wanted, err := configured(t.o.File, t.o.Servers)
	if err != nil {
		return nil, err
	}
	connected := make(chan *servers, 1)
	if err := t.guarded(ctx, func(ctx context.Context) error {
		s, err := t.serve(ctx, wanted)
		connected <- s
		return err
	}); err != nil {
		return nil, failed(err)
	}
	s = <-connected
	t.o.Others = append(t.o.Others, s)
	return s, nil
}

// serve connects to all servers at the same time.
func (t *talk) serve(ctx context.Context, wanted []config.Server) (*servers, error) {
	s := &servers{web: httpfetch.New(httpfetch.Options{Proxy: t.o.Env.Proxy, Agent: agent()}), all: make([]*mcpclient.Connection, len(wanted)), calls: map[string]func(context.Context, json.RawMessage) (string, bool, error){}}
	lists, failures := make([][]mcpclient.Tool, len(wanted)), make([]error, len(wanted))
	var names []string
	var all sync.WaitGroup
	for i, w := range wanted {
		names = append(names, w.Name.Text)
		all.Go(func() {
			if s.all[i], failures[i] = mcpclient.Connect(ctx, serverOf(t.o.File, w), t.peerOptions(s.web, w.Name.Text)); failures[i] == nil {
				lists[i], failures[i] = s.all[i].Tools(ctx)
			}
		})
	}
	done := console.ShowProgress(t.o.Env, console.Step{What: "connecting to " + strings.Join(names, ", ")})
	all.Wait()
	done()
	err := context.Cause(ctx)
	if err == nil {
		err = s.offer(lists, failures)
	}
	if err == nil {
		err = s.fit(t.o.Allow)
	}
	if err != nil {
		s.close(ctx)
		return nil, err
	}
	return s, nil
}

// offer collects the tools of the servers. If one of the servers failed, it returns that error.
func (s *servers) offer(lists [][]mcpclient.Tool, failures []error) error {
	for _, err := range failures {
		if failed := (*mcpclient.Error)(nil); errors.As(err, &failed) {
			return command.RunError(failed.Fix, "%w", err)
		}
	}
	var names *mcpclient.NameError
	if err := mcpclient.CheckNames(slices.Concat(lists...)); errors.As(err, &names) {
		return command.RunError(names.Fix, "%w", err)
	}
	for i, c := range s.all {
		for _, one := range lists[i] {
			s.tools = append(s.tools, tool.Definition{Name: one.Name, Description: one.Description, Schema: one.Schema})
			s.calls[one.Name] = func(ctx context.Context, arguments json.RawMessage) (string, bool, error) {
				return c.Call(ctx, one.Own, arguments)
			}
		}
	}
	return nil
}

// fit returns an error for a pattern of --allow that matches no tool, since it is probably
// misspelt.
func (s *servers) fit(patterns []string) error {
	var names []string
	for _, d := range s.tools {
		names = append(names, d.Name)
	}
	for _, pattern := range patterns {
		if slices.ContainsFunc(names, func(name string) bool { ok, _ := path.Match(pattern, name); return ok }) {
			continue
		}
		hint := "the servers have " + display.Count(len(names), "tool")
		if best := typo.Nearest(pattern, names); best != "" {
			hint = "did you mean " + best + "?"
		} else if len(names) > 0 {
			hint = "the tools are " + display.Cut(strings.Join(names, ", "), 500)
		}
		return command.UsageError(hint, "--allow '%s' matches no tool of the servers", display.Echo(pattern))
	}
	return nil
}

// serverOf converts a server of the file for package mcpclient.
func serverOf(file *settings.File, s config.Server) mcpclient.Server {
	to := mcpclient.Server{
		Name: s.Name.Text, URL: s.URL, TokenEnv: s.TokenEnv.Text, TokenFile: s.TokenFile.Text, Headers: map[string]string{},
		Command: s.Command, Dir: filepath.Dir(file.Path), Env: map[string]string{}, Timeout: s.Timeout,
	}
	for _, h := range s.Headers {
		to.Headers[h.Name] = h.Value
	}
	for _, v := range s.Env {
		to.Env[v.Name] = v.Value
	}
	for _, v := range s.EnvFrom {
		to.EnvFrom = append(to.EnvFrom, v.Text)
	}
	return to
}

// maxToken is the maximum size of a token file, in bytes.
const maxToken = 64 << 10

func (t *talk) peerOptions(web *httpfetch.Fetcher, name string) mcpclient.Options {
	o := mcpclient.Options{
		Getenv: t.o.Env.Getenv,
		ReadFile: func(file string) ([]byte, error) {
			data, err := settings.ReadNamed(file, maxToken)
			if err != nil {
				err = errors.New(settings.ReasonOf(err))
			}
			return data, err
		},
		HTTP: func(address string) (*http.Client, error) {
			c, err := web.For(address)
			if err != nil {
				return nil, err
			}
			return c.HTTP(), nil
		},
		Version: cmp.Or(buildinfo.Current().Version, "devel"),
	}
	if t.o.File.Config.Log.Level == "debug" {
		o.Said = func(line string) { t.screen.remark(fmt.Sprintf("%s: %s", name, line)) }
	}
	return o
}
