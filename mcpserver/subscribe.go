package mcpserver

import (
	"context"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver/internal/notify"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skill"
)

// announce notifies the sessions of a change of the catalogue.
func (s *Server) announce(d catalog.Diff) {
	s.notifier.CheckFiles()
	s.logSkipped(d)
	// A skipped skill is in no list.
	s.notifier.ListsChanged(d.Completed || d.Listing, d.Completed || d.Invocable >= 0 && d.Invocable < maxPrompts, d.Completed || d.Listing || d.Served())
}

// subscriptionOptions returns the options of the server's file subscriptions.
func (s *Server) subscriptionOptions() notify.Options {
	return notify.Options{
		Period: notify.Period, MaxFiles: notify.MaxFiles, MaxOwn: notify.MaxOwn, View: s.view,
		Changed: func(ctx context.Context, uri string) {
			_ = s.mcp.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
		},
	}
}

func (s *Server) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	asked := req.Params.URI
	at, err := s.lookup(ctx, asked, "/SKILL.md")
	if err != nil {
		return err
	}
	if at.entry == nil && at.unsure != nil {
		return unsure(at.unsure)
	}
	spelling, err := s.notifier.Files.Add(req.Session, s.notifier.Share(req.Session), at.view, at.uri, asked)
	switch {
	case errors.Is(err, notify.ErrNoFile):
		return notFound(asked, err.Error())
	case err != nil:
		return &jsonrpc.Error{Code: wire.CodeBusy, Message: err.Error()}
	}
	req.Params.URI = spelling // the SDK keeps subscribers by spelling
	return nil
}

func (s *Server) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	uri, err := skill.ParseURI(req.Params.URI)
	if err != nil {
		return nil // there is no such subscription
	}
	v, _ := s.catalog.Now(nil)
	if spelling := s.notifier.Files.Remove(req.Session, v, uri); spelling != "" {
		req.Params.URI = spelling
	}
	return nil
}

// keepKnown removes the URIs without a file from a listen request, so that one of them does not
// fail the others. The acknowledgement lists the rest.
func (s *Server) keepKnown(ctx context.Context, p *mcp.SubscriptionsListenParams) {
	if p == nil || p.Notifications == nil || len(p.Notifications.ResourceSubscriptions) == 0 {
		return
	}
	v, err := s.view(ctx)
	if err != nil {
		return // the listen request fails for the same reason
	}
	p.Notifications.ResourceSubscriptions = slices.DeleteFunc(p.Notifications.ResourceSubscriptions, func(text string) bool {
		uri, err := skill.ParseURI(text)
		return err != nil || !notify.Exists(v, uri)
	})
}
