//lint:file-ignore SA1019 deprecated by the specification, spoken by the clients in use

package mcpserver

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
	"github.com/knack-dev/knack/tool"
)

// A session that sets a level of "warning" or below gets a log message for every skipped skill.
// Present ones are reported at once, new ones later. Version 2026-07-28 has no logging, and knack
// does not declare it there.

// levels are the protocol's logging levels; the SDK accepts any word.
var levels = map[mcp.LoggingLevel]bool{
	"debug": true, "info": true, "notice": true, "warning": true, "error": true, "critical": true, "alert": true, "emergency": true,
}

const skippedGrace = 10 * time.Second // for a client to receive a message, which is dropped afterwards

// setLevel sets a session's level and sends it the skipped skills.
func (s *Server) setLevel(ctx context.Context, next mcp.MethodHandler, req mcp.Request) (mcp.Result, error) {
	set, ok := req.(*mcp.ServerRequest[*mcp.SetLoggingLevelParams])
	if !ok || skillsext.Modern(set.Params) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: `"logging/setLevel" is not supported`}
	}
	if set.Params == nil || !levels[set.Params.Level] {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such level: use one of debug, info, notice, warning, error, critical, alert and emergency"}
	}
	res, err := next(ctx, "logging/setLevel", req)
	if err != nil {
		return nil, err
	}
	v, err := s.view(ctx)
	if err != nil {
		return nil, err
	}
	logSkippedTo(ctx, set.Session, v.Skipped)
	return res, nil
}

// logSkippedTo sends a warning for each entry, if the session's level allows it.
func logSkippedTo(ctx context.Context, session *mcp.ServerSession, entries []*catalog.Entry) {
	for _, e := range entries {
		if e.HeldBack() {
			continue
		}
		err := session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: serverName, Data: fmt.Sprintf("skill skipped: %s", tool.Reason(e))})
		if err != nil {
			return // the session is over, or the client does not read
		}
	}
}

// logSkipped sends the newly skipped skills of a refresh to the sessions that set a level.
func (s *Server) logSkipped(d catalog.Diff) {
	if len(newlySkipped(d)) == 0 {
		return
	}
	for session := range s.mcp.Sessions() {
		who, known := s.notifier.Principal(context.Background(), session)
		if !known {
			continue
		}
		go func() { // a client that does not read must not block others
			ctx, cancel := context.WithTimeout(context.Background(), skippedGrace)
			defer cancel()
			logSkippedTo(ctx, session, newlySkipped(d.Through(who.Filter)))
		}()
	}
}

func newlySkipped(d catalog.Diff) (fresh []*catalog.Entry) {
	for _, entries := range [][]*catalog.Entry{d.Added, d.Changed} {
		for _, e := range entries {
			if e.Status == catalog.Skipped {
				fresh = append(fresh, e)
			}
		}
	}
	return fresh
}

// skippedAt returns why the skill at a URI was skipped, or "" if none was. As for a served skill,
// the first part of the path may name it alone.
func skippedAt(v catalog.View, uri skill.URI) string {
	for _, e := range v.Skipped {
		if strings.HasPrefix(uri.Path()+"/", path.Join(e.Root.Prefix, e.Path)+"/") {
			return skippedBecause(e)
		}
	}
	if name, file, ok := strings.Cut(uri.Path(), "/"); ok && file == skill.MainFile {
		return skippedAs(v, name)
	}
	return ""
}

// skippedAs returns why the skill of that name was skipped, or "" if none was.
func skippedAs(v catalog.View, name string) string {
	key := skill.KeyOf(name)
	for _, e := range v.Skipped {
		if skill.KeyOf(e.Folder()) == key || e.Name != "" && e.Key == key {
			return skippedBecause(e)
		}
	}
	return ""
}

func skippedBecause(e *catalog.Entry) string { return "the skill was skipped: " + tool.ClientReason(e) }
