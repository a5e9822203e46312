package skillsext

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/display"
)

// ListSkillsHandler answers skills/list. params is never nil.
type ListSkillsHandler func(ctx context.Context, ss *mcp.ServerSession, params *ListSkillsParams) (*ListSkillsResult, error)

// GetSkillHandler answers skills/get; (nil, nil) means that no such skill is served.
type GetSkillHandler func(ctx context.Context, ss *mcp.ServerSession, params *GetSkillParams) (*GetSkillResult, error)

// ReadDirectoryHandler answers resources/directory/read; (nil, nil) means that
// there is no such directory.
type ReadDirectoryHandler func(ctx context.Context, ss *mcp.ServerSession, params *ReadDirectoryParams) (*ReadDirectoryResult, error)

// Handlers are a server's side of the extension. List and Get are required.
type Handlers struct {
	List          ListSkillsHandler
	Get           GetSkillHandler
	ReadDirectory ReadDirectoryHandler // optional; declared as directoryRead
}

// Options configure [AddHandlers]. The zero value follows the specification.
type Options struct {
	Limits Limits
}

// Declare adds the extension to a server's capabilities, inline, as SEP-2133 defines. The
// server must declare resources too. Call it before [mcp.NewServer]; go-sdk#1238 moves it
// into AddHandlers.
func Declare(caps *mcp.ServerCapabilities, directoryRead bool) {
	settings := map[string]any{}
	if directoryRead {
		settings["directoryRead"] = true
	}
	caps.AddExtension(ExtensionID, settings)
}

// AddHandlers registers the extension's methods on a server. It must be called before the
// first session. A handler's result is never changed and may be shared. An entry over the
// limits is the server's fault and answered with an internal error.
func AddHandlers(server *mcp.Server, h *Handlers, o *Options) error {
	if h == nil || h.List == nil || h.Get == nil {
		return errors.New("skills extension: List and Get are required")
	}
	var limits Limits
	if o != nil {
		limits = o.Limits
	}
	limits = limits.orDefault()
	return errors.Join(
		mcp.AddReceivingCustomMethod(server, MethodList, listMethod(h.List, limits)),
		mcp.AddReceivingCustomMethod(server, MethodGet, getMethod(h.Get, limits)),
		readDirectoryMethod(server, h.ReadDirectory),
	)
}

func listMethod(list ListSkillsHandler, limits Limits) func(context.Context, *mcp.ServerSession, *ListSkillsParams) (*ListSkillsResult, error) {
	return func(ctx context.Context, ss *mcp.ServerSession, p *ListSkillsParams) (*ListSkillsResult, error) {
		if p == nil {
			p = &ListSkillsParams{} // the SDK allows a request without params
		}
		res, err := list(ctx, ss, p)
		if err != nil {
			return nil, err
		}
		if res == nil {
			res = &ListSkillsResult{}
		}
		for _, s := range res.Skills {
			if err := limits.check(s); err != nil {
				return nil, err
			}
		}
		out := *res
		era(p, &out.Meta, &out.ResultType, &out.Cacheable)
		return &out, nil
	}
}

func getMethod(get GetSkillHandler, limits Limits) func(context.Context, *mcp.ServerSession, *GetSkillParams) (*GetSkillResult, error) {
	return func(ctx context.Context, ss *mcp.ServerSession, p *GetSkillParams) (*GetSkillResult, error) {
		if p == nil || p.URI == "" {
			return nil, invalid("skills/get wants the parameter uri: the URI of a skill's SKILL.md")
		}
		res, err := get(ctx, ss, p)
		if err != nil {
			return nil, err
		}
		if res == nil || res.Skill == nil {
			return nil, invalid("No skill is served at %s", display.RedactURI(p.URI))
		}
		if err := limits.check(res.Skill); err != nil {
			return nil, err
		}
		out := *res
		era(p, &out.Meta, &out.ResultType, &out.Cacheable)
		return &out, nil
	}
}

func readDirectoryMethod(server *mcp.Server, read ReadDirectoryHandler) error {
	if read == nil {
		return nil
	}
	return mcp.AddReceivingCustomMethod(server, MethodReadDirectory, func(ctx context.Context, ss *mcp.ServerSession, p *ReadDirectoryParams) (*ReadDirectoryResult, error) {
		if p == nil || p.URI == "" {
			return nil, invalid("resources/directory/read wants the parameter uri: the URI of a directory, without a slash at its end")
		}
		res, err := read(ctx, ss, p)
		if err != nil {
			return nil, err
		}
		if res == nil {
			return nil, invalid("%s is not a directory resource", display.RedactURI(p.URI))
		}
		out := *res
		era(p, &out.Meta, &out.ResultType, &out.Cacheable)
		return &out, nil
	})
}

// Complete is the resultType of every result of the extension.
const Complete = "complete"

// Modern reports whether a request has protocol version 2026-07-28 or later. No other code
// distinguishes the eras. Such a request names its version itself; a session's handshake
// holds the client's proposal, not what was agreed.
func Modern(p mcp.Params) bool {
	version, _ := p.GetMeta()[mcp.MetaKeyProtocolVersion].(string)
	return version >= Since
}

// era sets the members that belong to the era of the request. Each answer gets its own
// meta, because the SDK writes into it.
func era(p mcp.Params, meta *mcp.Meta, resultType *string, c *mcp.Cacheable) {
	*meta = maps.Clone(*meta)
	*resultType = ""
	if Modern(p) {
		*resultType = Complete
	}
	if c.CacheScope == "" {
		c.CacheScope = "private"
	}
}

func (l Limits) check(s *Skill) error {
	if s == nil {
		return internal("an entry is missing")
	}
	if n := len(s.Resources.list); n > l.Files {
		return internal("%s has %d files, over the limit of %d", s.URI, n, l.Files)
	}
	var total int64
	for _, r := range s.Resources.list {
		total += r.Size
	}
	if total > l.Bytes {
		return internal("%s has %d bytes, over the limit of %d", s.URI, total, l.Bytes)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

func internal(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf(format, args...)}
}
