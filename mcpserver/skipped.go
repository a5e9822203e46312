package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/mcpserver/internal/notify"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// A session that sets a level of "warning" or below gets a log message for every skipped skill.
// Skills that are skipped now are reported immediately, and newly skipped ones later. Version
// 2026-07-28 has no logging, and knack does not declare it there.

// levels maps each logging level of the protocol to whether warnings are sent at that level.
var levels = map[string]bool{
	"debug": true, "info": true, "notice": true, "warning": true, "error": false, "critical": false, "alert": false, "emergency": false,
}

const skippedGrace = 10 * time.Second // for a client to receive a message, which is dropped afterwards

// setLevel sets a session's level and sends it the skipped skills.
func (s *Server) setLevel(ctx context.Context, x *exchange) (reply, error) {
	warns, known := levels[x.params.Level]
	if !known {
		return reply{}, invalid("no such level: use one of debug, info, notice, warning, error, critical, alert and emergency")
	}
	x.session.listener.Warns.Store(warns)
	v, err := s.view(ctx)
	if err == nil {
		warnSkipped(ctx, &x.session.listener, v.Skipped)
	}
	return reply{}, err
}

// warnSkipped sends a warning for each entry, if the client wants warnings.
func warnSkipped(ctx context.Context, l *notify.Listener, entries []*catalog.Entry) {
	if !l.Warns.Load() {
		return
	}
	for _, e := range entries {
		if e.HeldBack() {
			continue
		}
		if l.Ready != nil && l.Ready(ctx) != nil {
			return // the client does not read
		}
		text := display.AppendJSONString(nil, "skill skipped: "+tool.Reason(e))
		l.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":%s,"level":"warning","logger":%q}}`, text, serverName))
	}
}

// logSkipped sends the newly skipped skills of a refresh to the clients that want warnings.
func (s *Server) logSkipped(d catalog.Diff) {
	if len(newlySkipped(d)) == 0 {
		return
	}
	for _, l := range s.notifier.All() {
		who, known := s.notifier.Principal(context.Background(), l)
		if !known {
			continue
		}
		go func() { // a client that does not read must not block others
			ctx, cancel := context.WithTimeout(context.Background(), skippedGrace)
			defer cancel()
			warnSkipped(ctx, l, newlySkipped(d.Through(who.Filter)))
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

// skippedAt returns why the skill at a URI was skipped, or "" if none was. Like a served skill, it
// may also be named by the first part of the path alone.
func skippedAt(v catalog.View, uri skill.URI) string {
	for _, e := range v.Skipped {
		if v.CouldContain(e, uri) {
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
