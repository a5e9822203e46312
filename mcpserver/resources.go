package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/lookup"
)

// pageSize is the number of resources on one page.
const pageSize = 500

// markdown is the media type of SKILL.md (SEP-2640).
const markdown = "text/markdown"

func (s *Server) listResources(ctx context.Context, x *exchange) (reply, error) {
	v, err := s.completeView(ctx)
	if err != nil {
		return reply{}, err
	}
	served := v.Served()
	start, err := startOf(served, x.params.Cursor)
	if err != nil {
		return reply{}, err
	}
	end, next := min(start+pageSize, len(served)), ""
	if end < len(served) {
		next = cursorAfter(0, served[end-1].URI().String())
	}
	return markIncomplete(v, listReply("resources", served[start:end], next, s.cacheable(skillsTTL), func(e *rawjson.Encoder, entry *catalog.Entry) {
		e.Value(mainResource(entry, int64(entry.Size)))
	}), start == end)
}

// cursorAfter returns the cursor of the next page. It contains the last URI of the page and, for
// prompts, the position of that skill. The other lists are in URI order, so a cursor from an older
// snapshot continues after the same URI.
func cursorAfter(place int, uri string) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", place, uri))
}

func parseCursor(cursor string) (place int, uri string, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) > 8192 {
		return 0, "", errCursor()
	}
	count, uri, _ := strings.Cut(string(raw), " ")
	n, err := strconv.ParseUint(count, 10, 31)
	if err != nil {
		return 0, "", errCursor()
	}
	if u, err := skill.ParseURI(uri); err != nil || u.String() != uri {
		return 0, "", errCursor()
	}
	return int(n), uri, nil
}

// startOf returns the position at which a list of skills in URI order continues.
func startOf(served []*catalog.Entry, cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	_, after, err := parseCursor(cursor)
	return sort.Search(len(served), func(i int) bool { return served[i].URI().String() > after }), err
}

func (s *Server) listTemplates(_ context.Context, x *exchange) (reply, error) {
	if x.params.Cursor != "" {
		return reply{}, errWhole()
	}
	return listReply("resourceTemplates", []*mcp.ResourceTemplate{{
		URITemplate: fileTemplate, Name: "skill-file", Title: "File of a skill",
		Description: "A file of a skill. SKILL.md names the others.",
	}}, "", s.cacheable(skillsTTL), value), nil
}

func (s *Server) readResource(ctx context.Context, x *exchange) (reply, error) {
	asked := x.params.URI
	at, err := s.lookup(ctx, asked, "/SKILL.md")
	if err != nil {
		return reply{}, err
	}
	v, e, file := at.view, at.entry, at.path
	if e == nil || file == skill.MainFile { // readDocument also gives the reason if no skill has the URI
		return s.readDocument(ctx, v, asked, at.uri, e != nil)
	}
	var data []byte
	switch {
	case file == ".":
		err = skill.ErrNotRegular
	case skill.Hidden(file):
		err = fs.ErrNotExist
	default:
		data, err = v.ReadFile(ctx, e, file, 1) // one copy, the raw bytes: text and Base64 are made while the answer is written
	}
	switch {
	case errors.Is(err, skill.ErrNotRegular):
		return reply{}, notFound(asked, "it is a folder, or not a regular file")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, skill.ErrOutside):
		return reply{}, notFound(asked, "the skill has no such file")
	case err != nil:
		return reply{}, s.internal(fmt.Sprintf("cannot read %s: %s", display.RedactURI(asked), skill.Reason(err)), err)
	}
	return s.contents(asked, file, data), nil
}

// readDocument answers with the text that contract 004's tool returns for a SKILL.md, never with a
// blob. If the file cannot be read at the moment, the text is the last one served.
func (s *Server) readDocument(ctx context.Context, v catalog.View, asked string, uri skill.URI, known bool) (reply, error) {
	d, err := s.host.Document(ctx, uri)
	switch {
	case lookup.IsUnsure(err):
		return reply{}, unsure(err)
	case errors.Is(err, lookup.ErrUnknown) && known:
		return reply{}, notFound(asked, "the skill has no such file")
	case errors.Is(err, lookup.ErrUnknown):
		return reply{}, notFound(asked, cmp.Or(skippedAt(v, uri), "no skill has it; resources/list names all"))
	case err != nil:
		return reply{}, err
	}
	res := s.content(asked, markdown, len(d.Text), func(e *rawjson.Encoder) {
		e.Raw(`,"text":`)
		e.String(d.Text)
	})
	res.meta = fallbackMeta(d.Fallback)
	return res, nil
}

// content returns a reply with the contents of one resource.
func (s *Server) content(uri, kind string, weight int, members func(*rawjson.Encoder)) reply {
	return reply{hints: new(s.cacheable(entryTTL)), weight: weight, members: func(e *rawjson.Encoder) {
		e.Raw(`"contents":[{"uri":`)
		e.String(uri)
		e.Raw(`,"mimeType":`)
		e.String(kind)
		members(e)
		e.Raw("}]")
	}}
}

// contents returns text for text and a blob for everything else. It also returns a blob for an
// empty file, for which the SDK would send neither text nor blob (go-sdk#1149), and for text that
// would grow much as JSON.
func (s *Server) contents(uri, file string, data []byte) reply {
	kind := mediaType(file)
	isText := utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
	asText := isText && len(data) > 0 && !display.Swells(data)
	switch {
	case kind != "":
	case isText:
		kind = "text/plain"
	default:
		kind = "application/octet-stream"
	}
	return s.content(uri, kind, len(data), func(e *rawjson.Encoder) {
		if asText {
			e.Raw(`,"text":`)
			e.Text(data)
		} else {
			e.Raw(`,"blob":`)
			e.Base64(data)
		}
	})
}

// target is the entry and the path that a URI resolves to.
type target struct {
	view   catalog.View
	uri    skill.URI
	entry  *catalog.Entry // nil if no skill matches the URI
	path   string         // in the skill
	unsure error          // why a skill may match the URI though none was found
}

// lookup resolves a URI. The error for a malformed URI shows the right form, which ends with end.
func (s *Server) lookup(ctx context.Context, asked, end string) (t target, err error) {
	asked = lookup.Bounded(asked)
	if t.view, err = s.view(ctx); err != nil {
		return t, err
	}
	if t.uri, err = skill.ParseURI(asked); err != nil {
		return t, notFound(asked, malformedURI(asked, end))
	}
	t.view, t.entry, t.path, t.unsure = s.host.At(ctx, t.view, t.uri)
	return t, nil
}

// malformedURI returns why a URI cannot name a skill's file or folder. It may show the right form,
// which ends with end.
func malformedURI(uri, end string) string {
	if _, fault := skill.PlainURI(uri); fault != "" {
		return fault
	}
	return "give a URI of the form skill://<path>" + end
}

// notFound returns the error for an unknown resource. Its message and, as the protocol requires
// (SEP-2164), its data have the URI, redacted and cut.
func notFound(uri, why string) error {
	uri = display.RedactURI(uri)
	data, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		data = nil // a string always marshals
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%s%s (%s)", wire.MissingResource, uri, why), Data: data}
}

// mediaTypes maps the extensions of files in skills to media types. The host's own table would
// give different answers on different machines.
var mediaTypes = map[string]string{
	".md": markdown, ".markdown": markdown, ".txt": "text/plain", ".csv": "text/csv", ".html": "text/html", ".htm": "text/html",
	".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript", ".cjs": "text/javascript", ".ts": "text/x-typescript",
	".tsx": "text/x-typescript", ".jsx": "text/javascript", ".py": "text/x-python", ".go": "text/x-go", ".rs": "text/x-rust",
	".rb": "text/x-ruby", ".java": "text/x-java", ".c": "text/x-c", ".h": "text/x-c", ".cpp": "text/x-c++", ".sh": "text/x-shellscript",
	".bash": "text/x-shellscript", ".json": "application/json", ".jsonl": "application/jsonl", ".yaml": "application/yaml",
	".yml": "application/yaml", ".toml": "application/toml", ".xml": "application/xml", ".sql": "application/sql",
	".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
	".webp": "image/webp", ".ico": "image/x-icon", ".pdf": "application/pdf", ".zip": "application/zip", ".gz": "application/gzip",
	".wasm": "application/wasm", ".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".mp3": "audio/mpeg",
	".wav": "audio/wav", ".mp4": "video/mp4", ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}

func mediaType(file string) string { return mediaTypes[strings.ToLower(path.Ext(file))] }
