package skillsext

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/display"
)

// Handlers are a server's side of the extension. List and Get are required. The parameters
// that a handler gets are never nil.
type Handlers struct {
	// List answers skills/list.
	List func(context.Context, *mcp.ServerSession, *ListSkillsParams) (*ListSkillsResult, error)
	// Get answers skills/get; (nil, nil) means that no such skill is served.
	Get func(context.Context, *mcp.ServerSession, *GetSkillParams) (*GetSkillResult, error)
	// ReadDirectory answers resources/directory/read; (nil, nil) means that there is no such
	// directory. It is optional and declared as directoryRead.
	ReadDirectory func(context.Context, *mcp.ServerSession, *ReadDirectoryParams) (*ReadDirectoryResult, error)
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
func AddHandlers(server *mcp.Server, h *Handlers) error {
	if h == nil || h.List == nil || h.Get == nil {
		return errors.New("skills extension: List and Get are required")
	}
	errList := mcp.AddReceivingCustomMethod(server, MethodList, func(ctx context.Context, ss *mcp.ServerSession, p *ListSkillsParams) (*ListSkillsResult, error) {
		if p == nil {
			p = &ListSkillsParams{} // the SDK allows a request without params
		}
		res, err := h.List(ctx, ss, p)
		if err != nil {
			return nil, err
		}
		if res == nil {
			res = &ListSkillsResult{}
		}
		for _, s := range res.Skills {
			if err := checkLimits(s); err != nil {
				return nil, err
			}
		}
		out := *res
		setEra(p, &out.Meta, &out.ResultType, &out.Cacheable)
		return &out, nil
	})
	errGet := mcp.AddReceivingCustomMethod(server, MethodGet, func(ctx context.Context, ss *mcp.ServerSession, p *GetSkillParams) (*GetSkillResult, error) {
		if p == nil || p.URI == "" {
			return nil, invalid("skills/get requires the parameter uri: the URI of a skill's SKILL.md")
		}
		res, err := h.Get(ctx, ss, p)
		if err != nil {
			return nil, err
		}
		if res == nil || res.Skill == nil {
			return nil, invalid("No skill is served at %s", display.RedactURI(p.URI))
		}
		if err := checkLimits(res.Skill); err != nil {
			return nil, err
		}
		out := *res
		setEra(p, &out.Meta, &out.ResultType, &out.Cacheable)
		return &out, nil
	})
	if h.ReadDirectory == nil {
		return errors.Join(errList, errGet)
	}
	return errors.Join(errList, errGet, mcp.AddReceivingCustomMethod(server, MethodReadDirectory, func(ctx context.Context, ss *mcp.ServerSession, p *ReadDirectoryParams) (*ReadDirectoryResult, error) {
		if p == nil || p.URI == "" {
			return nil, invalid("resources/directory/read requires the parameter uri: the URI of a directory, without a slash at its end")
		}
		res, err := h.ReadDirectory(ctx, ss, p)
		if err != nil {
			return nil, err
		}
		if res == nil {
			return nil, invalid("%s is not a directory resource", display.RedactURI(p.URI))
		}
		out := *res
		setEra(p, &out.Meta, &out.ResultType, &out.Cacheable)
		return &out, nil
	}))
}

// Complete is the resultType of every result of the extension.
const Complete = "complete"

// Modern reports whether a request has protocol version 2026-07-28 or later. No other code
// distinguishes the eras. Such a request names its version itself; a session's handshake
// holds the client's proposal, not the agreed version.
func Modern(p mcp.Params) bool {
	version, _ := p.GetMeta()[mcp.MetaKeyProtocolVersion].(string)
	return version >= Since
}

// setEra sets the members that belong to the era of the request. Each answer gets its own
// meta, because the SDK writes into it.
func setEra(p mcp.Params, meta *mcp.Meta, resultType *string, c *mcp.Cacheable) {
	*meta = maps.Clone(*meta)
	*resultType = ""
	if Modern(p) {
		*resultType = Complete
	}
	if c.CacheScope == "" {
		c.CacheScope = "private"
	}
}

// checkLimits returns an error for an entry over the limits of SEP-2640.
func checkLimits(s *Skill) error {
	if s == nil {
		return internal("an entry is missing")
	}
	if n := len(s.Resources.list); n > maxFiles {
		return internal("%s has %d files, over the limit of %d", s.URI, n, maxFiles)
	}
	var total int64
	for _, r := range s.Resources.list {
		total += r.Size
	}
	if total > maxBytes {
		return internal("%s has %d bytes, over the limit of %d", s.URI, total, maxBytes)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

func internal(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf(format, args...)}
}
