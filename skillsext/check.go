package skillsext

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Bounds on the data that a check reads from a server. Anything beyond them is a finding,
// and the check continues without it.
const (
	maxPages    = 10_000    // of one listing
	maxFolders  = 10_000    // of one skill
	maxListed   = 100_000   // skills: six times the largest library measured
	maxManifest = 1_000_000 // files in all entries together
	maxFindings = 10_000
)

// CheckOptions configures a check of a server.
type CheckOptions struct {
	Endpoint string // URL of MCP over Streamable HTTP
	// HTTP is the client to use. If it is nil, the default client is used, with [Bounded] answers.
	// Any other client should bound answers too.
	HTTP *http.Client
	// Protocol is the protocol version to use. If it is empty, the newest version that both sides
	// support is used. A version outside of [Versions] is an error.
	Protocol string
	// Progress, if set, is called with the numbers of checked skills and of all skills.
	Progress func(done, all int)
}

// Finding is one way in which a server breaks SEP-2640.
type Finding struct {
	Rule    string `json:"rule"`            // "capability", "list", "get", "entry", "directory", "size", "digest", …
	Skill   string `json:"skill,omitempty"` // the URI of its SKILL.md
	URI     string `json:"uri,omitempty"`   // of the file or folder, if it differs
	Message string `json:"message"`
}

// Report is the result of a check.
type Report struct {
	Server   string    `json:"server"` // the server's own name and version
	Protocol string    `json:"protocol"`
	Skills   int       `json:"skills"`
	Files    int       `json:"files"` // read and verified
	Findings []Finding `json:"findings"`
}

// Versions lists the known protocol versions, newest first.
func Versions() []string { return mcp.SupportedProtocolVersions() }

// CheckServer checks a server's side of the extension: its declaration, the shapes of its answers,
// each entry, and each file against its entry. Unlike a host, it reads every file. An error means
// that the server could not be reached. Faults of the server are in the report.
func CheckServer(ctx context.Context, o CheckOptions) (*Report, error) {
	if o.Protocol != "" && !slices.Contains(Versions(), o.Protocol) {
		return nil, fmt.Errorf("the protocol version %s is not known here", display.Echo(o.Protocol))
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Transport: &Bounded{Next: http.DefaultTransport}}
	}
	c, err := dial(ctx, "knack-check", o.Endpoint, o.Protocol, o.HTTP)
	if err != nil {
		return nil, err
	}
	defer c.Session.Close()
	return CheckSession(ctx, c.Session, o.Progress)
}

// CheckSession is like [CheckServer], on an open session of a client for which [AddMethods] was
// called.
func CheckSession(ctx context.Context, ss *mcp.ClientSession, progress func(done, all int)) (*Report, error) {
	c := &checker{Client: Client{ss}, report: &Report{Findings: []Finding{}}}
	init := ss.InitializeResult()
	c.report.Protocol = init.ProtocolVersion
	if init.ServerInfo != nil {
		c.report.Server = init.ServerInfo.Name
	}
	c.modern = init.ProtocolVersion >= Since
	if !c.capability(init.Capabilities) {
		return c.report, nil
	}
	entries, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	c.report.Skills = len(entries)
	for i, s := range entries {
		if progress != nil {
			progress(i, len(entries))
		}
		c.skill(ctx, s)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(c.report.Findings) >= maxFindings {
			c.report.Findings = append(c.report.Findings, Finding{Rule: "findings", Message: fmt.Sprintf("there are too many findings; the check stopped after %d of %d skills", i+1, len(entries))})
			return c.report, nil
		}
	}
	c.unknown(ctx)
	return c.report, ctx.Err()
}

type checker struct {
	Client
	report    *Report
	modern    bool
	directory bool
	folders   int // folders of the current skill that were read
}

func (c *checker) find(rule, skillURI, uri, format string, args ...any) {
	if uri == skillURI {
		uri = ""
	}
	if len(c.report.Findings) >= maxFindings {
		return
	}
	c.report.Findings = append(c.report.Findings, Finding{rule, display.Echo(skillURI), display.Echo(uri), display.OneLine(fmt.Sprintf(format, args...))})
}

// capability checks the declaration and reports whether the check can continue.
func (c *checker) capability(caps *mcp.ServerCapabilities) bool {
	if caps == nil {
		caps = &mcp.ServerCapabilities{}
	}
	declared, ok := caps.Extensions[ExtensionID]
	if !ok {
		c.find("capability", "", "", "the server does not declare %s", ExtensionID)
		return false
	}
	if caps.Resources == nil {
		c.find("capability", "", "", "the server does not declare resources, which the extension needs")
	}
	settings, ok := declared.(map[string]any)
	if !ok {
		c.find("capability", "", "", "the settings of %s are not an object", ExtensionID)
		return true
	}
	for _, key := range []string{"config", "specVersion", "stability", "id"} {
		if _, wrapped := settings[key]; wrapped {
			c.find("capability", "", "", "the settings of %s are wrapped: they contain %s", ExtensionID, key)
		}
	}
	c.directory, _ = settings["directoryRead"].(bool)
	return true
}

// hints checks the members of a result other than its content.
func (c *checker) hints(rule, uri string, p *page) {
	if !c.modern {
		for _, member := range []struct {
			name string
			has  bool
		}{{"resultType", p.ResultType != ""}, {"ttlMs", p.TTLMs != nil}, {"cacheScope", p.CacheScope != nil}} {
			if member.has {
				c.find(rule, uri, "", "the result has the member %s, which exists only since protocol version %s", member.name, Since)
			}
		}
		return
	}
	if p.ResultType != Complete {
		c.find(rule, uri, "", "resultType is not \"complete\"")
	}
	if p.TTLMs == nil || *p.TTLMs < 0 {
		c.find(rule, uri, "", "ttlMs is missing or negative")
	}
	if p.CacheScope == nil || *p.CacheScope != "public" && *p.CacheScope != "private" {
		c.find(rule, uri, "", "cacheScope is neither public nor private")
	}
}

func (c *checker) list(ctx context.Context) ([]*Skill, error) {
	var out []*Skill
	uris := map[string]bool{}
	var read pages
	cursor := ""
	files := 0
	for {
		p, entries, err := c.listPage(ctx, cursor)
		if err != nil {
			if ctx.Err() != nil || p == nil && !isRPC(err) {
				return nil, fmt.Errorf("skills/list: %w", err)
			}
			c.find("list", "", "", "%s", err)
			return out, nil
		}
		if cursor == "" {
			c.hints("list", "", p)
		}
		for _, data := range entries {
			s := &Skill{}
			if err := json.Unmarshal(data, s); err != nil {
				var at struct{ URI string }
				_ = json.Unmarshal(data, &at)
				c.find("entry", at.URI, "", "the entry is not of its type: %s", err)
				continue
			}
			if uris[canonical(s.URI)] {
				c.find("list", s.URI, "", "it is listed more than once")
				continue
			}
			uris[canonical(s.URI)] = true
			out = append(out, s)
			if files += len(s.Resources.List()); len(out) == maxListed || files > maxManifest {
				c.find("list", "", "", "it has more than %d skills, or %d files; the rest was not checked", maxListed-1, maxManifest)
				return out, nil
			}
		}
		if len(c.report.Findings) >= maxFindings {
			return out, nil
		}
		if err := read.next(p.NextCursor); err != nil {
			c.find("list", "", "", "%s", err)
			return out, nil
		}
		if cursor = p.NextCursor; cursor == "" {
			return out, nil
		}
	}
}

func isRPC(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc)
}

func (c *checker) skill(ctx context.Context, s *Skill) {
	for _, problem := range checkEntry(s) {
		c.find("entry", s.URI, "", "%s", problem)
	}
	p, got, err := c.get(ctx, s.URI)
	switch {
	case err != nil:
		c.find("get", s.URI, "", "skills/get: %s", err)
	default:
		c.hints("get", s.URI, p)
		if p.NextCursor != "" {
			c.find("get", s.URI, "", "the result of skills/get has a cursor")
		}
		if !sameEntry(s, got) {
			c.find("get", s.URI, "", "skills/get and skills/list return different entries; did the skill change meanwhile?")
		}
	}
	files := []string{s.URI}
	if !s.Resources.IsDynamic() {
		files = files[:0]
		list := s.Resources.List() // an entry with too many files already has a finding
		for _, r := range list[:min(len(list), maxFiles)] {
			files = append(files, r.URI)
		}
	}
	for _, uri := range files {
		c.file(ctx, s, uri)
		if ctx.Err() != nil {
			return
		}
	}
	if root, ok := strings.CutSuffix(s.URI, "/"+skill.MainFile); ok && c.directory && len(s.Resources.List()) <= maxFiles {
		c.complete(ctx, s, root)
	}
}

func (c *checker) file(ctx context.Context, s *Skill, uri string) {
	_, err := c.Read(ctx, s, uri)
	var failed *VerificationError
	switch {
	case err == nil:
		c.report.Files++
	case errors.As(err, &failed):
		c.find(failed.Reason, s.URI, uri, "%s", failed.detail)
	default:
		c.find("read", s.URI, uri, "resources/read: %s", err)
	}
}

// complete compares the folders with the manifest.
func (c *checker) complete(ctx context.Context, s *Skill, root string) {
	there := map[string]bool{}
	c.folders = 0
	if !c.walk(ctx, s, root, there, 0) || s.Resources.IsDynamic() {
		return
	}
	for _, r := range s.Resources.List() {
		if !there[canonical(r.URI)] {
			c.find("directory", s.URI, r.URI, "the manifest lists it and its folder does not")
		}
	}
	for uri := range there {
		if _, ok := s.resource(uri); !ok {
			c.find("complete", s.URI, uri, "its folder lists it and the manifest does not")
		}
	}
}

func (c *checker) walk(ctx context.Context, s *Skill, uri string, there map[string]bool, depth int) bool {
	var read pages
	c.folders++
	for cursor := ""; ; {
		if depth > 32 || c.folders > maxFolders || len(there) > 100_000 {
			c.find("directory", s.URI, uri, "the folders do not end")
			return false
		}
		p, children, err := c.Client.directory(ctx, uri, cursor)
		if err != nil {
			c.find("directory", s.URI, uri, "resources/directory/read: %s", err)
			return false
		}
		c.hints("directory", s.URI, p)
		for _, child := range children {
			if child == nil || !strings.HasPrefix(canonical(child.URI), canonical(uri)+"/") || strings.HasSuffix(child.URI, "/") {
				c.find("directory", s.URI, uri, "a child's URI is not directly below it, without a slash at its end")
				return false
			}
			if child.MIMEType != DirectoryType {
				there[canonical(child.URI)] = true
			} else if !c.walk(ctx, s, child.URI, there, depth+1) {
				return false
			}
		}
		if err := read.next(p.NextCursor); err != nil {
			c.find("directory", s.URI, uri, "%s", err)
			return false
		}
		if cursor = p.NextCursor; cursor == "" {
			return true
		}
	}
}

// unknown requests a skill, a file and a folder that no server has. Each request must fail.
func (c *checker) unknown(ctx context.Context) {
	const nowhere = "skill://knack-check-there-is-no-such-skill/SKILL.md"
	_, _, err := c.get(ctx, nowhere)
	c.wantInvalid("get", "skills/get of an unknown skill", err)
	_, err = c.fetch(ctx, nowhere)
	c.wantInvalid("read", "resources/read of an unknown file", err)
	if !c.directory {
		return
	}
	_, _, err = c.Client.directory(ctx, strings.TrimSuffix(nowhere, "/"+skill.MainFile), "")
	c.wantInvalid("directory", "resources/directory/read of an unknown folder", err)
}

func (c *checker) wantInvalid(rule, what string, err error) {
	var rpc *jsonrpc.Error
	switch {
	case err == nil:
		c.find(rule, "", "", "%s is answered without an error; the answer must be error -32602", what)
	case !errors.As(err, &rpc):
		c.find(rule, "", "", "%s fails without a JSON-RPC error; the answer must be error -32602", what)
	case rpc.Code != jsonrpc.CodeInvalidParams:
		c.find(rule, "", "", "%s is answered with code %d; the answer must be error -32602", what, rpc.Code)
	}
}
