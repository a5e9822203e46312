// Package knack embeds knack in a Go program: it finds the skills of a person or a company and
// gives them to any model or agent. A skill is a folder with a SKILL.md that teaches an agent
// something.
//
// [Open] finds the skills. [Library.Skills] and [Library.Search] list them, [Library.Functions] and
// [Library.Answer] offer them to a model as function calls, [Library.Call] calls one tool, and
// [Library.Serve] and [Library.Handler] serve MCP.
//
// The other public packages are the parts: skill, source, catalog, tool, function, mcpserver,
// skillsext and access. A program with skills of its own, say in a database, uses those.
package knack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/internal/base/buildinfo"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
)

// Options choose the skills and the tools. The zero value means the same as "knack serve" without
// flags. It chooses the folders in which agents keep skills, in the working directory's project and
// in the user's home, and the skills inside knack.
type Options struct {
	Dirs      []string     // folders of skills instead of the agents' folders; each must exist
	Project   string       // a folder of the project; the working directory if empty
	Exclude   []string     // labels of folders that are left out of lists, such as "claude-user"
	NoBuiltin bool         // leaves out the skills inside knack
	Config    string       // a knack.yaml with folders, sources, a lock mode and a scan policy
	Tools     string       // the tool sets, separated by commas; the project's or "default" if empty
	Log       *slog.Logger // nil discards the log
}

// Skill describes a skill that a model may load.
type Skill struct {
	Name        string // the argument with which the tool skill loads the skill
	Description string
	URI         string // of its SKILL.md: skill://NAME/SKILL.md
	Root        string // the label of the folder in which it was found: "claude-user", "dir-1"
}

// Library contains the skills of this process and follows their changes. Its methods may be called
// from any goroutine.
type Library struct {
	workspace *workspace.Workspace
	host      *tool.Host
	tools     []*tool.Tool
	log       *slog.Logger
	stop      func()
}

// firstScan bounds how long Open waits for disks that do not answer. A server does not wait longer
// either.
const firstScan = 2 * time.Second

// Open finds the skills, and follows their changes until [Library.Close]. Skills that a lock or a
// policy of the settings holds back are in no list and cannot be loaded. The error names a setting
// that is wrong, or is the context's. A folder that cannot be read in two seconds is left out until
// it answers.
func Open(ctx context.Context, o Options) (*Library, error) {
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	env := console.System()
	w, err := workspace.Open(workspace.Options{
		Env: &env, Dirs: o.Dirs, Project: o.Project, Exclude: o.Exclude, NoBuiltin: o.NoBuiltin, Config: o.Config,
		Tools: &workspace.Tools{Set: cmp.Or(o.Tools, tool.DefaultSet), Given: o.Tools != ""},
		Warn:  func(text string) { log.Warn(text) },
	})
	if err != nil {
		return nil, err
	}
	if err := w.Serve(workspace.Serving{Log: log, Catalog: catalog.Options{Log: log, Patience: firstScan}}); err != nil {
		w.Close()
		return nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := w.Start(running)
	l := &Library{workspace: w, host: tool.NewHost(w.Catalog()), log: log, stop: func() { cancel(); stop(); w.Close() }}
	l.host.Engage = w.Engage
	l.tools, _ = w.Tools()
	_, err = w.Catalog().CompleteView(ctx, firstScan)
	if errors.Is(err, catalog.ErrLate) { // View returns the first snapshot immediately, without the late folders
		_, err = w.Catalog().View(ctx)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Close stops following changes. It does not wait for calls.
func (l *Library) Close() { l.stop() }

// Skills returns the skills that a model may load, in the order of their folders. If several skills
// have one name, it returns the skill that the name loads.
func (l *Library) Skills(ctx context.Context) ([]Skill, error) {
	v, err := l.host.Catalog.View(ctx)
	if err != nil {
		return nil, err
	}
	var all []Skill
	for _, e := range tool.Offered(v, l.tools) {
		all = append(all, skillOf(v, e))
	}
	return all, nil
}

// Search returns the skills that fit a text, best first. It returns at most limit skills; 0 means
// all.
func (l *Library) Search(ctx context.Context, text string, limit int) ([]Skill, error) {
	v, err := l.host.Catalog.View(ctx)
	if err != nil {
		return nil, err
	}
	found, err := v.Search(ctx, catalog.Query{Text: text, Limit: limit})
	if err != nil {
		return nil, err
	}
	var hits []Skill
	for _, h := range found.Hits {
		hits = append(hits, skillOf(v, h.Entry))
	}
	return hits, nil
}

func skillOf(v catalog.View, e *catalog.Entry) Skill {
	return Skill{Name: v.Called(e), Description: e.Description, URI: e.URI().String(), Root: e.Root.Label}
}

// Call calls a tool with arguments that encode as a JSON object. A mistake of the model, such as an
// unknown name, is a result in the tool's own words. The error is the context's, or the encoder's.
func (l *Library) Call(ctx context.Context, name string, arguments any) (tool.Result, error) {
	data, err := json.Marshal(arguments)
	if err != nil {
		return tool.Result{}, fmt.Errorf("the arguments of %s: %w", name, err)
	}
	return function.Execute(ctx, l.host, l.tools, name, string(data))
}

// Functions returns the definitions of the tools in the form that a vendor's model accepts.
func (l *Library) Functions(ctx context.Context, f function.Format) (json.RawMessage, error) {
	return function.Definitions(ctx, l.host, l.tools, f, profile.Client{})
}

// Answer answers function calls of a model in the vendor's form; see [function.Call].
func (l *Library) Answer(ctx context.Context, f function.Format, calls []byte) (json.RawMessage, error) {
	return function.Call(ctx, l.host, l.tools, f, calls)
}

// Serve serves MCP over a pair of pipes until in ends. Then it answers the remaining calls. A nil
// pipe means standard input or output.
func (l *Library) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s := l.server(false)
	defer s.Close()
	err := s.Run(ctx, &mcpserver.StdioTransport{In: in, Out: out, Logger: l.log})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Handler returns an HTTP handler that serves MCP at the path /mcp. Clients must call this machine
// by a loopback name or by one of hosts. Handler checks no token: every client that reaches it sees
// all skills. Its method Close ends its streams, for which [net/http.Server.Shutdown] would wait.
// To serve others, use [mcpserver.NewHTTP] and package access.
func (l *Library) Handler(hosts ...string) (*mcpserver.HTTP, error) {
	s := l.server(true)
	h, err := mcpserver.NewHTTP(s, mcpserver.HTTPOptions{Hosts: hosts, Log: l.log})
	if err != nil {
		s.Close()
	}
	return h, err
}

// server makes a server. A remote one names folders by URI.
func (l *Library) server(remote bool) *mcpserver.Server {
	return mcpserver.New(mcpserver.Options{
		Catalog: l.host.Catalog, Tools: l.tools, Version: buildinfo.Current().Version, Log: l.log,
		Engage: l.host.Engage, Remote: remote, Private: !remote,
	})
}
