package skillsext

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// raw is an undecoded result. In it, a missing member differs from a zero one.
type raw struct {
	mcp.ResultBase
	data json.RawMessage
}

// MarshalJSON returns the bytes as received.
func (r *raw) MarshalJSON() ([]byte, error) { return r.data, nil }

// UnmarshalJSON stores a copy of data.
func (r *raw) UnmarshalJSON(data []byte) error {
	r.data = append(r.data[:0], data...)
	return nil
}

// AddMethods adds the extension's methods to a client. It must be called before the client
// connects.
func AddMethods(c *mcp.Client) error {
	return errors.Join(
		mcp.AddSendingCustomMethod[*ListSkillsParams, *raw](c, MethodList),
		mcp.AddSendingCustomMethod[*GetSkillParams, *raw](c, MethodGet),
		mcp.AddSendingCustomMethod[*ReadDirectoryParams, *raw](c, MethodReadDirectory),
	)
}

// Client calls the extension's methods for a host, on a session of a client for which [AddMethods]
// was called.
type Client struct {
	Session *mcp.ClientSession
}

// Dial connects a host with the given name to the server at an endpoint of MCP over Streamable
// HTTP. The HTTP client should bound answers, as [Bounded] does. The caller closes the session.
func Dial(ctx context.Context, name, endpoint string, via *http.Client) (*Client, error) {
	return dial(ctx, name, endpoint, "", via)
}

func dial(ctx context.Context, name, endpoint, protocol string, via *http.Client) (*Client, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil)
	if err := AddMethods(client); err != nil {
		return nil, err
	}
	var session *mcp.ClientSessionOptions
	if protocol != "" {
		session = &mcp.ClientSessionOptions{ProtocolVersion: protocol}
	}
	ss, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: endpoint, HTTPClient: via, DisableStandaloneSSE: true, MaxRetries: -1, MaxEventSize: maxAnswer,
	}, session)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &Client{ss}, nil
}

// Declared reports whether the server declares the extension, and whether folders can be read.
func (c *Client) Declared() (extension, folders bool) {
	caps := c.Session.InitializeResult().Capabilities
	if caps == nil {
		return false, false
	}
	declared, extension := caps.Extensions[ExtensionID]
	settings, _ := declared.(map[string]any)
	folders, _ = settings["directoryRead"].(bool)
	return extension, folders
}

// page contains the members of the results of skills/list, skills/get and resources/directory/read.
type page struct {
	ResultType string          `json:"resultType"`
	TTLMs      *int            `json:"ttlMs"`
	CacheScope *string         `json:"cacheScope"`
	NextCursor string          `json:"nextCursor"`
	Skills     json.RawMessage `json:"skills"`
	Skill      json.RawMessage `json:"skill"`
	Resources  json.RawMessage `json:"resources"`
}

func (p *page) cacheable() mcp.Cacheable {
	var c mcp.Cacheable
	if p.TTLMs != nil {
		c.TTLMs = *p.TTLMs
	}
	if p.CacheScope != nil {
		c.CacheScope = *p.CacheScope
	}
	return c
}

func (r *raw) page() (*page, error) {
	p := &page{}
	if err := json.Unmarshal(r.data, p); err != nil {
		return nil, fmt.Errorf("the result is not of its type: %w", err)
	}
	return p, nil
}

func (c *Client) listPage(ctx context.Context, cursor string) (*page, []json.RawMessage, error) {
	r, err := mcp.CallCustomMethod[*ListSkillsParams, *raw](ctx, c.Session, MethodList, &ListSkillsParams{Cursor: cursor})
	if err != nil {
		return nil, nil, err
	}
	p, err := r.page()
	if err != nil {
		return nil, nil, err
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(p.Skills, &entries); err != nil || entries == nil {
		return p, nil, errors.New("the result has no array skills")
	}
	return p, entries, nil
}

// List returns one page of the server's skills.
func (c *Client) List(ctx context.Context, cursor string) (*ListSkillsResult, error) {
	p, entries, err := c.listPage(ctx, cursor)
	if err != nil {
		return nil, err
	}
	res := &ListSkillsResult{ResultType: p.ResultType, Cacheable: p.cacheable(), NextCursor: p.NextCursor}
	for _, data := range entries {
		s, err := entryOf(data)
		if err != nil {
			return nil, err
		}
		res.Skills = append(res.Skills, s)
	}
	return res, nil
}

// EntryError reports an entry of a list that cannot be decoded.
type EntryError struct {
	URI string // if it is a string
	Err error
}

// Error implements error.
func (e *EntryError) Error() string { return "an entry is not of its type: " + e.Err.Error() }

// Unwrap returns the error of the decoder.
func (e *EntryError) Unwrap() error { return e.Err }

func entryOf(data json.RawMessage) (*Skill, error) {
	s := &Skill{}
	if err := json.Unmarshal(data, s); err != nil {
		var at struct {
			URI string `json:"uri"`
		}
		_ = json.Unmarshal(data, &at)
		return nil, &EntryError{at.URI, err}
	}
	return s, nil
}

// All yields the skills of every page. For an entry that cannot be decoded, it yields an
// [*EntryError] and continues. It yields another error, and ends, if the server repeats a cursor,
// sends a cursor of more than 4 KiB, or has more than 10,000 pages.
func (c *Client) All(ctx context.Context) iter.Seq2[*Skill, error] {
	return func(yield func(*Skill, error) bool) {
		for data, err := range every(func(cursor string) ([]json.RawMessage, string, error) {
			p, entries, err := c.listPage(ctx, cursor)
			if err != nil {
				return nil, "", err
			}
			return entries, p.NextCursor, nil
		}) {
			var s *Skill
			if err == nil {
				s, err = entryOf(data)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// Children yields the children of a directory from every page, within the bounds of [Client.All].
func (c *Client) Children(ctx context.Context, uri string) iter.Seq2[*mcp.Resource, error] {
	return every(func(cursor string) ([]*mcp.Resource, string, error) {
		p, list, err := c.directory(ctx, uri, cursor)
		if err != nil {
			return nil, "", err
		}
		return list, p.NextCursor, nil
	})
}

// every yields the items of every page.
func every[T any](page func(cursor string) (list []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var read pages
		var none T
		for cursor := ""; ; {
			list, next, err := page(cursor)
			for _, item := range list {
				if !yield(item, nil) {
					return
				}
			}
			if err == nil {
				err = read.next(next)
			}
			if err != nil {
				yield(none, err)
				return
			}
			if cursor = next; cursor == "" {
				return
			}
		}
	}
}

// Get returns the current entry of one skill.
func (c *Client) Get(ctx context.Context, uri string) (*GetSkillResult, error) {
	p, s, err := c.get(ctx, uri)
	if err != nil {
		return nil, err
	}
	return &GetSkillResult{ResultType: p.ResultType, Cacheable: p.cacheable(), Skill: s}, nil
}

func (c *Client) get(ctx context.Context, uri string) (*page, *Skill, error) {
	r, err := mcp.CallCustomMethod[*GetSkillParams, *raw](ctx, c.Session, MethodGet, &GetSkillParams{URI: uri})
	if err != nil {
		return nil, nil, err
	}
	p, err := r.page()
	if err != nil {
		return nil, nil, err
	}
	s := &Skill{}
	if err := json.Unmarshal(p.Skill, s); err != nil {
		return p, nil, fmt.Errorf("the entry is not of its type: %w", err)
	}
	return p, s, nil
}

// ReadDirectory lists one page of a directory's children.
func (c *Client) ReadDirectory(ctx context.Context, uri, cursor string) (*ReadDirectoryResult, error) {
	p, list, err := c.directory(ctx, uri, cursor)
	if err != nil {
		return nil, err
	}
	return &ReadDirectoryResult{ResultType: p.ResultType, Cacheable: p.cacheable(), NextCursor: p.NextCursor, Resources: list}, nil
}

func (c *Client) directory(ctx context.Context, uri, cursor string) (*page, []*mcp.Resource, error) {
	r, err := mcp.CallCustomMethod[*ReadDirectoryParams, *raw](ctx, c.Session, MethodReadDirectory, &ReadDirectoryParams{URI: uri, Cursor: cursor})
	if err != nil {
		return nil, nil, err
	}
	p, err := r.page()
	if err != nil {
		return nil, nil, err
	}
	var list []*mcp.Resource
	if err := json.Unmarshal(p.Resources, &list); err != nil || list == nil {
		return p, nil, errors.New("the result has no array resources")
	}
	return p, list, nil
}

// Read fetches one file of a skill and verifies it against the entry. For a SKILL.md, it also
// compares the frontmatter. It does not request a file that the entry does not list. The error is a
// [*VerificationError] if the bytes must not be used.
func (c *Client) Read(ctx context.Context, s *Skill, uri string) ([]byte, error) {
	if r, ok := s.resource(uri); ok {
		uri = r.URI
	} else if !s.Resources.IsDynamic() {
		return nil, VerifyResource(s, uri, nil)
	}
	data, err := c.fetch(ctx, uri)
	if err != nil {
		return nil, err
	}
	if canonical(uri) == canonical(s.URI) {
		return data, VerifySkillMD(s, data)
	}
	return data, VerifyResource(s, uri, data)
}

// IsAnswer reports whether the server itself sent the error of a request.
func IsAnswer(err error) bool { return errors.As(err, new(*jsonrpc.Error)) }

func (c *Client) fetch(ctx context.Context, uri string) ([]byte, error) {
	res, err := c.Session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err
	}
	for _, content := range res.Contents {
		if content.URI != uri && canonical(content.URI) != canonical(uri) {
			continue
		}
		if content.Blob != nil {
			return content.Blob, nil
		}
		return []byte(content.Text), nil
	}
	return nil, fmt.Errorf("resources/read of %s returned nothing for it", uri)
}
