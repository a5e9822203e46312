package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/test/origintest"
	"github.com/knack-dev/knack/skill"
)

const pdf = "---\nname: pdf\ndescription: Reads PDF files.\n---\nText.\n"

// server speaks the part of MCP that a host of the Skills extension needs, and can lie as a test
// demands. Its answers are written by hand, since a server made with a library could not give them.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	files    map[string]string // by URI
	listing  func() []any      // the entries of skills/list, if they are not made from the files
	got      func() []any      // the entries of skills/get
	folders  bool
	no       bool                                                   // the server does not have the extension
	guard    func(http.ResponseWriter, *http.Request) bool          // answers a request instead, or returns false
	override func(method string, params map[string]any) (any, bool) // returns another result, or false
}

func serve(t *testing.T, files map[string]string) *server {
	s := &server{files: files}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	if s.guard != nil && s.guard(w, r) {
		return
	}
	var call struct {
		ID     json.RawMessage
		Method string
		Params map[string]any
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&call) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if call.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.mu.Lock()
	result := s.result(call.Method, call.Params)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if result == nil {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not found"}}`, call.ID)
		return
	}
	data, _ := json.Marshal(result)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, data)
}

func (s *server) result(method string, params map[string]any) any {
	if s.override != nil {
		if result, ok := s.override(method, params); ok {
			return result
		}
	}
	switch method {
	case "initialize":
		extensions := map[string]any{"io.modelcontextprotocol/skills": map[string]any{"directoryRead": s.folders}}
		if s.no {
			extensions = nil
		}
		return map[string]any{
			"protocolVersion": "2025-11-25", "serverInfo": map[string]any{"name": "test", "version": "1"},
			"capabilities": map[string]any{"resources": map[string]any{}, "extensions": extensions},
		}
	case "ping":
		return map[string]any{}
	case "skills/list":
		entries := []any{s.entry("skill://pdf", s.files)}
		if s.listing != nil {
			entries = s.listing()
		}
		return map[string]any{"skills": entries}
	case "skills/get":
		if s.got != nil {
			return map[string]any{"skill": s.got()[0]}
		}
		return map[string]any{"skill": s.entry("skill://pdf", s.files)}
	case "resources/read":
		uri, _ := params["uri"].(string)
		if text, ok := s.files[uri]; ok {
			return map[string]any{"contents": []any{map[string]any{"uri": uri, "blob": []byte(text)}}}
		}
	case "resources/directory/read":
		uri, _ := params["uri"].(string)
		members := map[string]bool{}
		for at := range s.files {
			if rest, ok := strings.CutPrefix(at, uri+"/"); ok {
				name, _, isFolder := strings.Cut(rest, "/")
				members[name] = isFolder
			}
		}
		list := []any{}
		for name, isFolder := range members {
			member := map[string]any{"uri": uri + "/" + name, "name": name}
			if isFolder {
				member["mimeType"] = "inode/directory"
			}
			list = append(list, member)
		}
		return map[string]any{"resources": list}
	}
	return nil
}

// entry returns the entry of a skill, with the files that are below its folder.
func (s *server) entry(folder string, files map[string]string) map[string]any {
	list := []any{}
	for uri, text := range files {
		if strings.HasPrefix(uri, folder+"/") {
			list = append(list, resource(uri, text))
		}
	}
	return map[string]any{"uri": folder + "/SKILL.md", "frontmatter": map[string]any{"name": "pdf", "description": "Reads PDF files."}, "resources": list}
}

func resource(uri, text string) map[string]any {
	return map[string]any{"uri": uri, "digest": skill.DigestOf([]byte(text)).String(), "size": len(text)}
}

func (s *server) open(t *testing.T, change func(*Options)) (origin.Library, error) {
	t.Helper()
	o := Options{HTTP: func(string) (*http.Client, error) { return s.Client(), nil }}
	if change != nil {
		change(&o)
	}
	return New(o).Open(t.Context(), origin.Ref{Kind: origin.MCP, Source: "mcp:" + s.URL, Location: s.URL}, origin.Revision{})
}

// take fetches all skills of the server.
func (s *server) take(t *testing.T, change func(*Options)) ([]origin.Skill, *origintest.Sink, error) {
	t.Helper()
	lib, err := s.open(t, change)
	if err != nil {
		return nil, nil, err
	}
	defer lib.Close()
	skills, err := lib.Skills(t.Context())
	if err != nil {
		return nil, nil, err
	}
	to := origintest.NewSink()
	return skills, to, lib.Fetch(t.Context(), skills, to)
}

// TestFetch checks that every file of a skill arrives byte for byte, and that the digest over all
// files is known before the fetch. The server closes each connection at the second request, without
// an answer.
func TestFetch(t *testing.T) {
	files := map[string]string{
		"skill://pdf/SKILL.md": pdf, "skill://pdf/crlf.md": "a\r\nb\r\n", "skill://pdf/bom.md": "\ufeffa\n", "skill://pdf/data.bin": "\x00\x01\xff\xfe",
		"skill://pdf/empty": "", "skill://pdf/a%20b/%C3%A9.txt": "x", "skill://pdf/.hidden/x": "x",
	}
	for i := range 505 {
		files[fmt.Sprintf("skill://pdf/many/%d", i)] = fmt.Sprint(i)
	}
	s := serve(t, files)
	var connections sync.Map
	s.guard = func(_ http.ResponseWriter, r *http.Request) bool {
		if _, again := connections.LoadOrStore(r.RemoteAddr, true); again {
			panic(http.ErrAbortHandler)
		}
		return false
	}
	var arrived int64
	skills, got, err := s.take(t, func(o *Options) { o.Progress = func(_ origin.Unit, n, _ int64) { arrived = max(arrived, n) } })
	if err != nil {
		t.Fatal(err, got.Failed)
	}
	want := map[string]string{
		"pdf: SKILL.md": pdf, "pdf: crlf.md": "a\r\nb\r\n", "pdf: bom.md": "\ufeffa\n", "pdf: data.bin": "\x00\x01\xff\xfe", "pdf: empty": "", "pdf: a b/é.txt": "x",
	}
	for i := range 505 {
		want[fmt.Sprintf("pdf: many/%d", i)] = fmt.Sprint(i)
	}
	if diff := cmp.Diff(want, got.Files); diff != "" {
		t.Error(diff)
	}
	var locked []lockfile.File
	for name, text := range got.Files {
		locked = append(locked, lockfile.File{Path: strings.TrimPrefix(name, "pdf: "), Size: int64(len(text)), Digest: skill.DigestOf([]byte(text))})
	}
	if diff := cmp.Diff([]origin.Skill{{Path: "pdf", Main: "SKILL.md", Name: "pdf", Description: "Reads PDF files.", Left: 1, Digest: lockfile.Digest(locked).String(), Extent: lockfile.Extent(locked)}}, skills); diff != "" {
		t.Error(diff)
	}
	if arrived == 0 {
		t.Error("no progress")
	}
}

// TestDynamic checks that a skill without a list of its files is read folder by folder, if the
// server lists folders.
func TestDynamic(t *testing.T) {
	for _, folders := range []bool{true, false} {
		s := serve(t, map[string]string{"skill://pdf/SKILL.md": pdf, "skill://pdf/a/b.txt": "x", "skill://pdf/.git/x": "x"})
		s.folders = folders
		s.listing = func() []any {
			e := s.entry("skill://pdf", nil)
			e["resources"] = "dynamic"
			return []any{e}
		}
		var warned []string
		skills, got, err := s.take(t, func(o *Options) { o.Warn = func(text string) { warned = append(warned, text) } })
		want := map[string]string{"pdf: SKILL.md": pdf}
		if folders {
			want["pdf: a/b.txt"] = "x"
		}
		if diff := cmp.Diff(want, got.Files); diff != "" || err != nil || skills[0].Digest != "" {
			t.Error(diff, err, skills, got.Failed)
		}
		if text := strings.Join(warned, "\n"); !strings.Contains(text, "an update may find other ones") || strings.Contains(text, "so only its SKILL.md") == folders {
			t.Error(text)
		}
	}
}

// TestLies checks that a false entry or file of a server affects only that skill. No wrong content
// reaches the sink.
func TestLies(t *testing.T) {
	good := map[string]string{"skill://good/SKILL.md": strings.Replace(pdf, "name: pdf", "name: good", 1)}
	goodEntry := func(s *server) map[string]any {
		e := s.entry("skill://good", good)
		e["frontmatter"] = map[string]any{"name": "good", "description": "Reads PDF files."}
		return e
	}
	with := func(s *server, resources ...any) map[string]any {
		e := s.entry("skill://pdf", nil)
		e["resources"] = append([]any{resource("skill://pdf/SKILL.md", pdf)}, resources...)
		return e
	}
	for name, c := range map[string]struct {
		entry func(s *server) map[string]any
		says  string
	}{
		"digest": {func(s *server) map[string]any { return with(s, resource("skill://pdf/a", "other")) }, "a file that is not the one of its own list"},
		"size":   {func(s *server) map[string]any { r := resource("skill://pdf/a", "a"); r["size"] = 7; return with(s, r) }, "a file that is not the one of its own list"},
		"frontmatter": {func(s *server) map[string]any {
			e := with(s)
			e["frontmatter"].(map[string]any)["description"] = "Another."
			return e
		}, "its frontmatter is not the entry's"},
		"no digest": {func(s *server) map[string]any {
			return with(s, map[string]any{"uri": "skill://pdf/a", "digest": "md5:x", "size": 1})
		}, "has no digest or no size"},
		"negative": {func(s *server) map[string]any { r := resource("skill://pdf/a", "a"); r["size"] = -1; return with(s, r) }, "has no digest or no size"},
		"huge": {func(s *server) map[string]any {
			r := resource("skill://pdf/a", "a")
			r["size"] = int64(1) << 62
			return with(s, r, r)
		}, ""},
		"too large": {func(s *server) map[string]any {
			r := resource("skill://pdf/a", "a")
			r["size"] = 64<<20 + 1
			return with(s, r)
		}, "more than 64 MiB"},
		"outside":   {func(s *server) map[string]any { return with(s, resource("skill://good/SKILL.md", "a")) }, "is not a file of the skill"},
		"dots":      {func(s *server) map[string]any { return with(s, resource("skill://pdf/%2e%2e/a", "a")) }, "is not a file of the skill"},
		"more dots": {func(s *server) map[string]any { return with(s, resource("skill://pdf/../a", "a")) }, "is not a file of the skill"},
		"slash":     {func(s *server) map[string]any { return with(s, resource("skill://pdf/a%2f..%2fb", "a")) }, "is not a file of the skill"},
		"backslash": {func(s *server) map[string]any { return with(s, resource("skill://pdf/a%5Cb", "a")) }, ""},
		"another":   {func(s *server) map[string]any { return with(s, resource("file:///etc/passwd", "a")) }, "is not a file of the skill"},
		"twice": {func(s *server) map[string]any {
			return with(s, resource("skill://pdf/a", "a"), resource("skill://pdf/%61", "a"))
		}, "is there twice"},
		"case": {func(s *server) map[string]any {
			return with(s, resource("skill://pdf/a", "a"), resource("skill://pdf/A", "a"))
		}, "only in case"},
		"file folder": {func(s *server) map[string]any {
			return with(s, resource("skill://pdf/a", "a"), resource("skill://pdf/a/b", "a"))
		}, "both a file and a folder"},
		"no main": {func(s *server) map[string]any {
			e := with(s)
			e["resources"] = []any{resource("skill://pdf/a", "a")}
			return e
		}, "does not list its SKILL.md"},
		"missing": {func(s *server) map[string]any { return with(s, resource("skill://pdf/gone", "a")) }, "gone: "},
		"a text for a number": {func(s *server) map[string]any {
			r := resource("skill://pdf/a", "a")
			r["size"] = "1"
			return with(s, r)
		}, "the server's list is damaged there: an entry is not of its type"},
		"no resources":    {func(s *server) map[string]any { e := with(s); delete(e, "resources"); return e }, "does not list its SKILL.md"},
		"other resources": {func(s *server) map[string]any { e := with(s); e["resources"] = "none"; return e }, "neither an array nor"},
		"many": {func(s *server) map[string]any {
			var more []any
			for i := range origin.MaxFiles {
				more = append(more, resource(fmt.Sprintf("skill://pdf/%d", i), "a"))
			}
			return with(s, more...)
		}, "more than 4,096 files"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, map[string]string{"skill://pdf/SKILL.md": pdf, "skill://pdf/a": "a", "skill://good/SKILL.md": good["skill://good/SKILL.md"]})
			s.listing = func() []any { return []any{c.entry(s), goodEntry(s)} }
			s.got = func() []any { return []any{c.entry(s)} }
			_, got, err := s.take(t, nil)
			if err != nil {
				t.Fatal(err)
			}
			if fault := got.Failed["pdf"]; fault == nil || !strings.Contains(fault.Error(), c.says) || strings.Contains(fault.Error(), "\n") {
				t.Errorf("%v, want %q", fault, c.says)
			}
			for name, text := range got.Files {
				if name != "good: SKILL.md" && name != "pdf: SKILL.md" && (name != "pdf: a" || text != "a") {
					t.Errorf("passed on: %s %q", name, text)
				}
			}
			if got.Files["good: SKILL.md"] == "" || len(got.Failed) != 1 {
				t.Error(got)
			}
		})
	}
}

// TestChange checks that a skill that changes between listing and reading is reported as changed.
func TestChange(t *testing.T) {
	s := serve(t, map[string]string{"skill://pdf/SKILL.md": pdf, "skill://pdf/a": "a"})
	lib, err := s.open(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	skills, err := lib.Skills(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.files["skill://pdf/a"] = "b"
	s.mu.Unlock()
	to := origintest.NewSink()
	if err := lib.Fetch(t.Context(), append(skills, origin.Skill{Path: "gone"}), to); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(to.Failed); !strings.Contains(text, "changed on the server while it was fetched: run the command again") || !strings.Contains(text, "no skill 'gone'") {
		t.Error(text)
	}
	// If the sink refuses a file, Fetch does not report a fault of the skill to it.
	to = origintest.NewSink()
	to.Refuse = "SKILL.md"
	s.mu.Lock()
	s.files["skill://pdf/a"] = "a"
	s.mu.Unlock()
	if err := lib.Fetch(t.Context(), skills, to); err != nil || len(to.Failed) != 0 {
		t.Error(err, to.Failed)
	}
}

// TestLists checks that an entry with an invalid address is left out, that a skill that is listed
// twice fails, and that a faulty list is refused.
func TestLists(t *testing.T) {
	s := serve(t, map[string]string{"skill://pdf/SKILL.md": pdf})
	entry := func(uri any) []any {
		e := s.entry("skill://pdf", s.files)
		e["uri"] = uri
		return []any{e}
	}
	for _, uri := range []any{"", 1, nil, []any{}, "SKILL.md", "skill://SKILL.md", "skill://pdf/skill.md", "skill://../SKILL.md", "skill://a/../../b/SKILL.md", "skill:pdf/SKILL.md", "https://u:p@h/pdf/SKILL.md", "https://h/pdf?x=/SKILL.md", "skill://a%2fb/SKILL.md", "x://a%2Fb/SKILL.md", "skill://a\u0000/SKILL.md"} {
		s.listing = func() []any { return entry(uri) }
		warned := ""
		skills, got, err := s.take(t, func(o *Options) { o.Warn = func(text string) { warned += text } })
		if err != nil || len(skills) != 0 || len(got.Files) != 0 || !strings.Contains(warned, "is not the address of a skill") {
			t.Errorf("%q: %v %v %v %q", uri, err, skills, got.Files, warned)
		}
	}
	s.listing = func() []any { return append(entry("skill://pdf/SKILL.md"), entry("skill://pdf/SKILL.md")...) }
	if skills, got, err := s.take(t, nil); err != nil || len(skills) != 1 || len(got.Files) != 0 || !strings.Contains(fmt.Sprint(got.Failed["pdf"]), "twice") {
		t.Error(err, skills, got)
	}
	for name, result := range map[string]any{
		"null": map[string]any{}, "text": "x", "endless": map[string]any{"skills": []any{}, "nextCursor": "x"},
	} {
		s.override = func(method string, _ map[string]any) (any, bool) { return result, method == "skills/list" }
		if skills, _, err := s.take(t, nil); err == nil {
			t.Errorf("%s: %v", name, skills)
		}
	}
}

// TestUnusable checks that the error of an unusable server has its address, the reason and a fix.
func TestUnusable(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*server)
		says   string
	}{
		"no extension": {func(s *server) { s.no = true }, "does not have the Skills extension of MCP (io.modelcontextprotocol/skills)"},
		"login":        {func(s *server) { s.guard = status(http.StatusUnauthorized) }, "the server wants a login (status 401)"},
		"nothing":      {func(s *server) { s.guard = status(http.StatusNotFound) }, "there is no MCP server at this address (status 404)"},
		"failing":      {func(s *server) { s.guard = status(http.StatusBadGateway) }, "answers with status 502"},
		"a page": {func(s *server) {
			s.guard = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<html>")
				return true
			}
		}, "there is no MCP server at this address: it often ends with /mcp"},
		"a flood": {func(s *server) {
			s.guard = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "application/json")
				for {
					if _, err := w.Write([]byte(strings.Repeat("[1,1,1,1],", 1000))); err != nil {
						return true
					}
				}
			}
		}, "more than"},
		"a flood of events": {func(s *server) {
			s.guard = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "text/event-stream")
				for {
					if _, err := w.Write([]byte("data: " + strings.Repeat("x", 10000) + "\n\n")); err != nil {
						return true
					}
				}
			}
		}, ""},
	} {
		s := serve(t, map[string]string{"skill://pdf/SKILL.md": pdf})
		c.change(s)
		_, _, err := s.take(t, nil)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "mcp:http://127.0.0.1:") {
			t.Errorf("%s: %v", name, err)
		}
		t.Log(name, err)
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("%s: %d bytes of error", name, len(err.Error()))
		}
	}
	s := serve(t, nil)
	if _, err := s.open(t, func(o *Options) { o.Offline = true }); !errors.Is(err, origin.ErrOffline) {
		t.Error(err)
	}
}

func status(code int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(code); return true }
}

// TestHang checks that a request to a silent server ends with the caller's context.
func TestHang(t *testing.T) {
	for _, at := range []string{"initialize", "skills/list", "resources/read"} {
		s := serve(t, map[string]string{"skill://pdf/SKILL.md": pdf})
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		s.guard = func(w http.ResponseWriter, r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			if !strings.Contains(string(body), `"`+at+`"`) {
				return false
			}
			cancel(stopped)
			<-r.Context().Done()
			return true
		}
		o := New(Options{HTTP: func(string) (*http.Client, error) { return s.Client(), nil }})
		err := func() error {
			lib, err := o.Open(ctx, origin.Ref{Source: "mcp:x", Location: s.URL}, origin.Revision{})
			if err != nil {
				return err
			}
			defer lib.Close()
			skills, err := lib.Skills(ctx)
			if err != nil {
				return err
			}
			return lib.Fetch(ctx, skills, origintest.NewSink())
		}()
		if !errors.Is(err, stopped) {
			t.Errorf("%s: %v", at, err)
		}
	}
}
