package mcpserver

import (
	"context"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/server/httpguard"
	"github.com/knack-dev/knack/mcpserver/internal/httpd"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skillsext"
	"github.com/knack-dev/knack/tool/profile"
)

// Calls that the SDK dispatches: its middleware, and the methods that it answers.

// declared registers a method with the SDK. [Server.middleware] answers it.
func declared[P mcp.Params](context.Context, *mcp.ServerSession, P) (*result, error) {
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
}

// sdkCopies is the largest number of copies of an answer in the SDK until it is written. There are
// copies as JSON, in a message, and in grown buffers.
const sdkCopies = 6

// middleware answers the calls that arrive through the SDK.
func (s *Server) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r := &request{method: method, does: methods[method], params: paramsOf(req), Caller: httpguard.Caller{Principal: s.access.Now().PrincipalOf(access.Subject{})}}
		r.session, _ = req.GetSession().(*mcp.ServerSession)
		if v := httpd.VisitOf(req); v != nil {
			if !v.Enter() {
				return nil, &jsonrpc.Error{Code: wire.CodeBusy, Message: httpguard.TooManyCalls}
			}
			defer v.Leave()
			r.Caller, r.memory = v.Caller, v.Memory()
		}
		if p := req.GetParams(); hasParams(p) {
			r.modern, r.client = skillsext.Modern(p), clientOf(req)
		} else if init := r.session.InitializeParams(); init != nil {
			r.client = clientNamed(init.ClientInfo)
		}
		heard := func(err error) error { return err }
		if ctx.Value(pipeKey{}) != nil {
			heard = wire.Heard
		}
		if r.does != nil {
			if r.copies = sdkCopies; r.memory == nil && !r.does.plain {
				r.memory = s.memory.Open(r.Share)
				defer r.memory.Close()
			}
			res, err := s.answer(ctx, r)
			if err != nil {
				return nil, heard(err) // without the result, which is a nil pointer
			}
			return res, nil
		}
		var res mcp.Result
		_, err := s.perform(ctx, r, func(ctx context.Context) (_ reply, err error) {
			res, err = s.pass(ctx, next, r, req)
			return reply{}, err
		})
		if err != nil {
			return nil, heard(err)
		}
		return res, nil
	}
}

// hasParams reports whether a request has params.
func hasParams(p mcp.Params) bool {
	v := reflect.ValueOf(p)
	return v.IsValid() && (v.Kind() != reflect.Pointer || !v.IsNil())
}

// Version 2025-03-26 is not served: its servers must accept batches, which no client in use sends
// and every other version forbids. A client that proposes it gets the version before, which clients
// of that time speak too; they do not know later ones.
const (
	batched   = "2025-03-26"
	unbatched = "2024-11-05"
)

// pass leaves a request to the SDK.
func (s *Server) pass(ctx context.Context, next mcp.MethodHandler, r *request, req mcp.Request) (mcp.Result, error) {
	switch r.method {
	case "initialize":
		p := req.GetParams().(*mcp.InitializeParams)
		if p.ProtocolVersion == batched {
			p.ProtocolVersion = unbatched
		}
		res, err := next(ctx, r.method, req)
		if err != nil {
			return nil, err
		}
		s.instruct(ctx, res, req)
		s.notifier.Subscribe(r.session, r.Token, r.Share, r.Principal)
		return res, nil
	case "server/discover":
		// The SDK would from then on treat the session as one of 2026-07-28, and refuse the
		// handshake of a client that chooses another version.
		res := &mcp.DiscoverResult{SupportedVersions: httpd.Versions(), Capabilities: s.capabilities}
		s.instruct(ctx, res, req)
		return res, nil
	case "subscriptions/listen":
		s.notifier.Subscribe(r.session, r.Token, r.Share, r.Principal)
		s.keepKnown(ctx, req.(*mcp.SubscriptionsListenRequest).Params)
	case "logging/setLevel":
		return s.setLevel(ctx, next, req)
	}
	return next(ctx, r.method, req)
}

// clientOf returns the client's name and version: from the request's own metadata since 2026-07-28,
// from the session's handshake before.
func clientOf(req mcp.Request) profile.Client {
	if p, ok := req.GetParams().(*mcp.InitializeParams); ok && p != nil && p.ClientInfo != nil {
		return clientNamed(p.ClientInfo)
	}
	if from, ok := req.(interface{ ClientInfo() *mcp.Implementation }); ok {
		return clientNamed(from.ClientInfo())
	}
	return profile.Client{}
}

func clientNamed(info *mcp.Implementation) profile.Client {
	if info == nil {
		return profile.Client{}
	}
	return profile.Client{Name: info.Name, Version: info.Version}
}

// paramsOf returns a request's params in the form shared by both kinds of calls.
func paramsOf(req mcp.Request) *wire.Params {
	p := &wire.Params{}
	from := reflect.ValueOf(req.GetParams())
	if from.Kind() != reflect.Pointer || from.IsNil() {
		return p
	}
	for name, to := range map[string]*string{"Cursor": &p.Cursor, "URI": &p.URI, "Name": &p.Name} {
		if text := from.Elem().FieldByName(name); text.IsValid() {
			*to = text.String()
		}
	}
	switch from := req.GetParams().(type) {
	case *mcp.CallToolParamsRaw:
		p.Arguments = from.Arguments
		p.Meta.CallID, _ = from.Meta["callId"].(string)
	case *mcp.GetPromptParams:
		p.Texts = from.Arguments
	case *mcp.CompleteParams:
		if from.Ref != nil {
			p.Ref = wire.Ref(*from.Ref)
		}
		p.Argument = wire.Argument(from.Argument)
	}
	return p
}
