package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver/internal/notify"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skill"
)

// announce notifies the clients of a change of the catalogue.
func (s *Server) announce(d catalog.Diff) {
	s.notifier.CheckFiles()
	s.logSkipped(d)
	// A skipped skill is in no list, so no list changes if only such skills change.
	var changed notify.Lists
	for list, differs := range map[notify.Lists]bool{
		notify.Tools:     d.Completed || d.Listing,
		notify.Prompts:   d.Completed || d.Invocable >= 0 && d.Invocable < maxPrompts,
		notify.Resources: d.Completed || d.Listing || d.Served(),
	} {
		if differs {
			changed |= list
		}
	}
	s.notifier.ListsChanged(changed)
}

// subscriptionOptions returns the options of the server's file subscriptions.
func (s *Server) subscriptionOptions() notify.Options[*notify.Listener] {
	return notify.Options[*notify.Listener]{
		Period: notify.Period, MaxFiles: notify.MaxFiles, MaxOwn: notify.MaxOwn, View: s.view,
		Changed: func(l *notify.Listener, uri string) { s.notifier.FileChanged(l, uri) },
	}
}

func (s *Server) subscribe(ctx context.Context, x *exchange) (reply, error) {
	return reply{}, s.watch(ctx, &x.session.listener, x.params.URI)
}

// watch subscribes a listener to a file.
func (s *Server) watch(ctx context.Context, l *notify.Listener, asked string) error {
	at, err := s.lookup(ctx, asked, "/SKILL.md")
	if err != nil {
		return err
	}
	if at.entry == nil && at.unsure != nil {
		return unsure(at.unsure)
	}
	err = s.notifier.Files.Add(ctx, l, l.Share, at.view, at.uri, asked)
	switch {
	case errors.Is(err, notify.ErrNoFile):
		return notFound(asked, err.Error())
	case err != nil:
		return &jsonrpc.Error{Code: wire.CodeBusy, Message: err.Error()}
	}
	return nil
}

func (s *Server) unsubscribe(_ context.Context, x *exchange) (reply, error) {
	if uri, err := skill.ParseURI(x.params.URI); err == nil {
		v, _ := s.o.Catalog.Now(nil)
		s.notifier.Files.Remove(&x.session.listener, v, uri)
	}
	return reply{}, nil // also if there was no such subscription
}

// listen notifies a client of 2026-07-28 until it cancels the call.
func (s *Server) listen(ctx context.Context, x *exchange) (reply, error) {
	want := x.params.Listen
	if want == nil {
		return reply{}, invalid("invalid params: missing required 'notifications' field")
	}
	l := &notify.Listener{Token: x.Token, Share: x.Share, ID: x.id, Send: x.send}
	for list, wanted := range map[notify.Lists]bool{notify.Tools: want.Tools, notify.Prompts: want.Prompts, notify.Resources: want.Resources} {
		if wanted {
			l.Lists |= list
		}
	}
	defer s.notifier.End(l)
	uris, err := s.existing(ctx, want.URIs)
	if err != nil {
		return reply{}, err
	}
	for _, uri := range uris {
		if err := s.watch(ctx, l, uri); err != nil {
			return reply{}, err
		}
	}
	accepted, _ := json.Marshal(&mcp.NotificationSubscriptions{ // flags and strings always marshal
		ToolsListChanged: want.Tools, PromptsListChanged: want.Prompts, ResourcesListChanged: want.Resources, ResourceSubscriptions: uris,
	})
	l.Acknowledge(accepted)
	s.notifier.Subscribe(l, x.Principal)
	if l.Lists != 0 || len(uris) > 0 {
		<-ctx.Done()
	}
	return reply{meta: map[string]any{mcp.MetaKeySubscriptionID: rawJSON(x.id)}}, nil
}

// existing returns the URIs that lead to a file. It drops the others, so that they do not make the
// call fail.
func (s *Server) existing(ctx context.Context, uris []string) ([]string, error) {
	if len(uris) == 0 {
		return nil, nil
	}
	v, err := s.view(ctx)
	return slices.DeleteFunc(uris, func(text string) bool {
		uri, err := skill.ParseURI(text)
		return err != nil || !notify.Exists(ctx, v, uri)
	}), err
}
