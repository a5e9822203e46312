//go:build unix

package contracttest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/function"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/internal/web"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
	"github.com/knack-dev/knack/tool/wave"
)

// slowRoot is a root on a slow disk. Unless step is set, a scan takes 50 ms for each skill. The
// root has the skills from number first to end.
type slowRoot struct {
	root       skill.Root
	first, end int
	step       time.Duration // the time for each skill; 0 stands for slowStep
	read       atomic.Bool   // set after the first scan, from when on the system has the files in its cache
	hangs      atomic.Pointer[chan struct{}]
}

const slowStep = 50 * time.Millisecond

func slowName(i int) string { return fmt.Sprintf("slow-%04d", i) }

func slowText(i int) string {
	return fmt.Sprintf("---\nname: %s\ndescription: Does thing %d.\n---\n\nThe body of %d.\n", slowName(i), i, i)
}

func (s *slowRoot) Root() skill.Root { return s.root }

func (s *slowRoot) Scan(ctx context.Context) (scan skill.Scan, err error) {
	if hangs := s.hangs.Load(); hangs != nil {
		select {
		case <-*hangs:
		case <-ctx.Done():
			return skill.Scan{}, ctx.Err()
		}
	}
	for i := range s.end { // the roots share one disk, which reads the roots before this one first
		if !s.read.Load() {
			select {
			case <-time.After(cmp.Or(s.step, slowStep)):
			case <-ctx.Done():
				return skill.Scan{}, ctx.Err()
			}
		}
		if i < s.first {
			continue
		}
		skill.Progress(ctx).Add(1)
		file := &fstest.MapFile{Data: []byte(slowText(i)), Mode: 0o644, ModTime: time.Date(1999, 5, 1, 12, 0, 0, 0, time.UTC)}
		scan.Bundles = append(scan.Bundles, &skill.Bundle{
			Path: slowName(i), Entry: skill.MainFile, In: &s.root, FS: fstest.MapFS{skill.MainFile: file},
			Stamp: skill.Stamp{Size: int64(len(file.Data)), MTime: file.ModTime.UnixNano(), Inode: uint64(i + 1)},
		})
	}
	s.read.Store(true)
	return scan, nil
}

// slowWorld is a server of skills on a slow disk, and every door to the skills.
type slowWorld struct {
	t        *testing.T
	catalog  *catalog.Catalog
	sources  []catalog.Source
	host     *tool.Host
	handler  http.Handler
	sessions map[string]*session // by the name of the set of tools
}

// reply contains the parts of an answer that these tests compare.
type reply struct {
	text   string // the whole body
	status int    // the status over HTTP, or 0
	header http.Header
}

// mcp makes a call over HTTP in the protocol of 2026-07-28.
func (w *slowWorld) mcp(method, params string) reply {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	var named struct{ Name, URI string }
	must(w.t, json.Unmarshal([]byte("{"+params+"}"), &named))
	if params != "" {
		params += ","
	}
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":`+quote(method)+`,"params":{`+params+meta+`}}`))
	for key, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method} {
		r.Header.Set(key, value)
	}
	if name := named.Name + named.URI; name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	got := httptest.NewRecorder()
	w.handler.ServeHTTP(got, r)
	return reply{got.Body.String(), 0, nil} // status and header stay empty, since the message has cache hints of its own
}

// old makes a call over stdio in the protocol of 2025-11-25.
func (w *slowWorld) old(method, params string) reply {
	return reply{text: w.sessions["default"].request(w.t, method, "{"+params+"}")}
}

func (w *slowWorld) get(path string) reply {
	got := httptest.NewRecorder()
	w.handler.ServeHTTP(got, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil))
	return reply{got.Body.String(), got.Code, got.Header()}
}

func (w *slowWorld) call(set, name, args string) reply {
	for _, t := range toolsOf(w.t, set) {
		if t.Name == name {
			r, err := t.Call(w.t.Context(), w.host, json.RawMessage(args))
			must(w.t, err)
			return reply{text: r.Text}
		}
	}
	w.t.Fatalf("no tool %s in %s", name, set)
	return reply{}
}

func (w *slowWorld) function(f function.Format, set, input string) reply {
	data, err := function.Call(w.t.Context(), w.host, toolsOf(w.t, set), f, []byte(input))
	must(w.t, err)
	return reply{text: string(data)}
}

func (w *slowWorld) definitions(set string) reply {
	data, err := function.Definitions(w.t.Context(), w.host, toolsOf(w.t, set), function.MCP, profile.Client{})
	must(w.t, err)
	return reply{text: string(data)}
}

// lists returns the questions that list all skills, by name.
func (w *slowWorld) lists() map[string]func() reply {
	all := map[string]func() reply{
		"instructions": func() reply {
			v, err := w.catalog.View(w.t.Context())
			must(w.t, err)
			return reply{text: tool.Instructions(v, toolsOf(w.t, "default"), profile.Client{})}
		},
		"prompt text": func() reply {
			v, err := w.catalog.View(w.t.Context())
			must(w.t, err)
			return reply{text: tool.Prompt(v, toolsOf(w.t, "default"))}
		},
		"find_skills":        func() reply { return w.call("default", "find_skills", `{}`) },
		"find_skills, query": func() reply { return w.call("default", "find_skills", `{"query":"thing"}`) },
		"runner list_skills": func() reply { return w.call("runner", "list_skills", `{}`) },
		"uri list_skills":    func() reply { return w.call("uri", "list_skills", `{}`) },
		"Discover": func() reply {
			r, err := (&wave.SkillManager{Finder: &w.host.Finder}).Discover(w.t.Context())
			must(w.t, err)
			data, err := json.Marshal(r)
			must(w.t, err)
			return reply{text: string(data)}
		},
		"server/discover": func() reply { return w.mcp("server/discover", "") },
	}
	for _, set := range []string{"default", "universal", "wave"} {
		all["definitions, "+set] = func() reply { return w.definitions(set) }
	}
	for _, method := range []string{"tools/list", "resources/list", "prompts/list", "skills/list"} {
		all[method+", 2026-07-28"] = func() reply { return w.mcp(method, "") }
		all[method+", 2025-11-25"] = func() reply { return w.old(method, "") }
	}
	for _, path := range []string{"/", "/?q=thing", "/health", "/usage", "/api/v1/skills", "/api/v1/skills?q=thing", "/api/v1/problems", "/.well-known/agent-skills/index.json"} {
		all["GET "+path] = func() reply { return w.get(path) }
	}
	for _, state := range []judgement.State{judgement.Fine, judgement.Problems, judgement.Shadowed, judgement.Copied, judgement.Unlisted, judgement.Skipped} {
		for _, path := range []string{"/?state=", "/api/v1/skills?state="} {
			all["GET "+path+string(state)] = func() reply { return w.get(path + string(state)) }
		}
	}
	all["GET /metrics"] = func() reply {
		got := w.get("/metrics")
		if strings.Contains(got.text, "\nknack_complete 0\n") { // marks that the numbers are incomplete
			got.text += "still being read"
		}
		return got
	}
	return all
}

// items returns the questions for one skill, by name.
func (w *slowWorld) items(name string) map[string]func() reply {
	uri := "skill://" + name + "/SKILL.md"
	named, byURI, prompt := `{"skill_name":`+quote(name)+`}`, `"uri":`+quote(uri), `"name":`+quote(name)
	all := map[string]func() reply{
		"skill, universal":  func() reply { return w.call("universal", "skill", `{`+prompt+`}`) },
		"skill, default":    func() reply { return w.call("default", "skill", `{`+prompt+`}`) },
		"skill by URI":      func() reply { return w.call("default", "skill", `{"name":`+quote(uri)+`}`) },
		"Skill":             func() reply { return w.call("wave", "Skill", named) },
		"get_skill, runner": func() reply { return w.call("runner", "get_skill", named) },
		"get_skill, uri":    func() reply { return w.call("uri", "get_skill", `{`+byURI+`}`) },
		"read_file_in_skill, runner": func() reply {
			return w.call("runner", "read_file_in_skill", `{"skill_name":`+quote(name)+`,"file_path":"SKILL.md"}`)
		},
		"read_file_in_skill": func() reply {
			return w.call("default", "read_file_in_skill", `{"skill_name":`+quote(name)+`,"file_path":"SKILL.md"}`)
		},
		"LoadSkill": func() reply {
			s, err := (&wave.SkillManager{Finder: &w.host.Finder}).LoadSkill(w.t.Context(), name)
			switch {
			case err != nil:
				return reply{text: err.Error()}
			case s == nil:
				return reply{text: "not found"}
			}
			return reply{text: s.Content}
		},
		"function, OpenAI": func() reply {
			return w.function(function.OpenAI, "default", `{"id":"1","type":"function","function":{"name":"skill","arguments":`+quote(`{`+prompt+`}`)+`}}`)
		},
		"function, Gemini": func() reply {
			return w.function(function.Gemini, "default", `{"functionCall":{"name":"skill","args":{`+prompt+`}}}`)
		},
	}
	for method, params := range map[string]string{
		"tools/call": `"name":"skill","arguments":{` + prompt + `}`, "resources/read": byURI, "prompts/get": prompt, "skills/get": byURI,
		"resources/directory/read": `"uri":` + quote("skill://"+name),
		"completion/complete":      `"ref":{"type":"ref/prompt","name":` + quote(name) + `},"argument":{"name":"arguments","value":"slow-00"}`,
	} {
		all[method+", 2026-07-28"] = func() reply { return w.mcp(method, params) }
		all[method+", 2025-11-25"] = func() reply { return w.old(method, params) }
	}
	for _, path := range []string{"/skills/%s/", "/raw/%s/SKILL.md", "/api/v1/skills/%s", "/api/v1/files/%s/SKILL.md", "/.well-known/agent-skills/%s/SKILL.md"} {
		all["GET "+path] = func() reply { return w.get(fmt.Sprintf(path, name)) }
	}
	return all
}

// denials are texts that no answer may contain while skills are still being read.
var denials = []string{"(none)", "o skill is served", "here are no skills", "no skills", "o skill has", "not found", "None:", "None.", "Unknown prompt", "Resource not found", `"skills":[]}`, `"resources":[]`, `"prompts":[]`}

// incomplete checks an answer given while skills were still being read. If marked is set, the
// answer must say that it is incomplete.
func incomplete(t *testing.T, what string, got reply, marked bool) {
	t.Helper()
	for _, no := range denials {
		if strings.Contains(got.text, no) {
			t.Errorf("%s says %q: %s", what, no, short(got.text))
		}
	}
	if marked && !strings.Contains(got.text, "still being read") {
		t.Errorf("%s does not say that it is incomplete: %s", what, short(got.text))
	}
	if strings.Contains(got.text, `"ttlMs":`) && !strings.Contains(got.text, `"ttlMs":0,`) {
		t.Errorf("%s may be kept: %s", what, short(got.text))
	}
	if got.status == 0 {
		return
	}
	if got.header.Get("Cache-Control") != "no-store" || got.header.Get("ETag") != "" {
		t.Errorf("%s may be kept: %q", what, got.header)
	}
	if got.status != http.StatusOK && (got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "") {
		t.Errorf("%s answers %d: %s", what, got.status, short(got.text))
	}
}

// answers reports whether a text is an answer that contains skill i.
func answers(text string, i int) bool {
	return strings.Contains(text, fmt.Sprintf("body of %d.", i)) || strings.Contains(text, `"uri":"skill://`+slowName(i)+`/SKILL.md"`) || strings.Contains(text, `"completion"`)
}

func newSlowWorld(t *testing.T, roots int) (w *slowWorld, end func()) {
	t.Helper()
	var sources []catalog.Source
	skills := slowSkills()
	for i := range roots {
		r := skill.Root{Label: fmt.Sprint("dir-", i+1), Scope: skill.ScopeProject, Dir: fmt.Sprint("/slow/", i), Shown: fmt.Sprint("slow/", i)}
		sources = append(sources, &slowRoot{root: r, first: i * skills / roots, end: (i + 1) * skills / roots, step: slowTime / time.Duration(skills)})
	}
	return slowWorldOf(t, 2*time.Second, sources...)
}

func slowWorldOf(t *testing.T, patience time.Duration, sources ...catalog.Source) (w *slowWorld, end func()) {
	t.Helper()
	w = &slowWorld{t: t, sources: sources, catalog: catalog.New(sources, catalog.Options{Patience: patience}), sessions: map[string]*session{}}
	w.host = tool.NewHost(w.catalog)
	pages := web.New(web.Options{Catalog: w.catalog, Tools: toolsOf(t, "default"), Version: "v0"})
	server := mcpserver.New(mcpserver.Options{Catalog: w.catalog, Tools: toolsOf(t, "default"), Version: "v0"})
	var err error
	w.handler, err = mcpserver.NewHTTP(server, mcpserver.HTTPOptions{Pages: pages})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = w.catalog.Run(ctx) }()
	return w, func() { stop(); <-ended }
}

// slowSession is a session over stdio that records everything it receives.
type slowSession struct {
	*session
	sent  *strings.Builder
	close func()
}

func newSlowSession(t *testing.T, w *slowWorld) *slowSession {
	t.Helper()
	in, client := io.Pipe()
	out, server := io.Pipe()
	s := &slowSession{sent: &strings.Builder{}}
	s.session = &session{in: client, out: bufio.NewReaderSize(io.TeeReader(out, s.sent), 1<<20)}
	s.server = mcpserver.New(mcpserver.Options{Catalog: w.catalog, Tools: toolsOf(t, "default"), Version: "v0"})
	ended := make(chan error, 1)
	go func() {
		ended <- s.server.Run(context.Background(), &mcpserver.StdioTransport{In: in, Out: server})
		server.Close()
	}()
	s.close = func() {
		client.Close()
		_, _ = io.Copy(io.Discard, s.out)
		<-ended
	}
	s.request(t, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	_, err := io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	must(t, err)
	return s
}

// received returns everything that the session has received.
func (s *slowSession) received() string { return s.sent.String() }

// slowTime is the time that a slow disk needs to read slowSkills skills.
const slowTime = 100 * time.Second

func slowSkills() int {
	if testwait.SecondLane() {
		return 2000
	}
	return 400
}

// TestSlowDisk calls every surface while many skills are read from a slow disk. It checks that a
// partial answer says that it is partial, that no answer denies that a skill exists, and that no
// answer may be cached. Skills that have been read are served. Once all are read, every answer must
// be complete.
func TestSlowDisk(t *testing.T) {
	for _, roots := range []int{1, 20} {
		t.Run(fmt.Sprint(roots, " roots"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				w, end := newSlowWorld(t, roots)
				defer end()
				var news atomic.Int64
				w.catalog.Subscribe(func(d catalog.Diff) {
					if d.Completed {
						news.Add(1)
					}
				})
				stdio := newSlowSession(t, w)
				w.sessions["default"] = stdio.session
				defer stdio.close()
				lacks := func() bool {
					v, err := w.catalog.View(t.Context())
					must(t, err)
					return v.Incomplete() != nil
				}
				lists, last, never, first := w.lists(), w.items(slowName(slowSkills()-1)), w.items("never-there"), w.items(slowName(0))
				asked, known := map[string]int{}, 0
				ask := func(group string, questions map[string]func() reply, judge func(what string, got reply)) {
					for what, question := range questions {
						before := lacks()
						got := question()
						if before && lacks() {
							judge(group+", "+what, got)
							asked[group+", "+what]++
						}
					}
				}
				every := 20 * time.Second
				if testwait.SecondLane() {
					every = 5 * time.Second
				}
				for lacks() {
					ask("lists", lists, func(what string, got reply) { incomplete(t, what, got, true) })
					ask("first", first, func(what string, got reply) {
						if answers(got.text, 0) {
							known++
						} else {
							incomplete(t, what, got, true)
						}
					})
					ask("last", last, func(what string, got reply) { incomplete(t, what, got, true) })
					ask("never", never, func(what string, got reply) { incomplete(t, what, got, true) })
					<-time.After(every)
					if t.Failed() {
						return
					}
				}
				for group, questions := range map[string]map[string]func() reply{"lists": lists, "last": last, "never": never} {
					for what := range questions {
						if asked[group+", "+what] == 0 {
							t.Errorf("%s was never asked in time", what)
						}
					}
				}
				if took := time.Since(begun); took < slowTime {
					t.Errorf("the disk was read in %v", took)
				}
				if roots > 1 && known < len(first) {
					t.Errorf("a skill that is known was answered %d times", known)
				}
				<-time.After(time.Minute) // lets the catalogue look at the disk again
				for what, question := range lists {
					if got := question(); strings.Contains(got.text, "still being read") || strings.Contains(got.text, tool.MetaIncomplete) || got.status > http.StatusOK {
						t.Errorf("%s at the end: %s", what, short(got.text))
					}
				}
				for _, list := range []string{"tools", "prompts", "resources"} {
					if changed := "notifications/" + list + "/list_changed"; news.Load() == 0 || !strings.Contains(stdio.received(), changed) {
						t.Errorf("that it is complete was told %d times, and the client did not hear %s", news.Load(), changed)
					}
				}
				for what, question := range last {
					if got := question(); !answers(got.text, slowSkills()-1) {
						t.Errorf("%s of the last at the end: %s", what, short(got.text))
					}
				}
				for what, question := range never {
					if got := question(); strings.Contains(got.text, "still being read") || strings.Contains(got.text, "try again in a moment") || got.status != 0 && got.status != http.StatusNotFound {
						t.Errorf("%s of one that is not there at the end: %d %s", what, got.status, short(got.text))
					}
				}
			})
		})
	}
}

// TestPagesBeforeFirstSnapshot checks that, before the first snapshot, every page and the metrics
// say that skills are still being read.
func TestPagesBeforeFirstSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, end := slowWorldOf(t, time.Hour, &slowRoot{root: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: "/slow"}, end: 300, step: time.Second}) // 5 minutes
		defer end()
		for what, question := range w.lists() {
			if strings.HasPrefix(what, "GET ") {
				incomplete(t, what, question(), true)
			}
		}
		if _, ok := w.catalog.Now(nil); ok {
			t.Error("there is a snapshot")
		}
		<-time.After(10 * time.Minute)
	})
}

// TestSourceThatComesLater checks that the lists are incomplete after a source was added, until it
// is read. Then clients are notified that the lists are complete, even if the source has no skill.
func TestSourceThatComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, end := newSlowWorld(t, 1)
		defer end()
		<-time.After(slowTime + time.Second)
		s := newSlowSession(t, w)
		w.sessions["default"] = s.session
		defer s.close()
		lists := func(what string, marked bool) {
			t.Helper()
			for _, method := range []string{"tools/list", "resources/list", "prompts/list", "skills/list"} {
				for i, got := range []reply{w.mcp(method, ""), w.old(method, "")} {
					if marks := strings.Contains(got.text, tool.MetaIncomplete) && strings.Contains(got.text, "still being read"); marks != marked || method == "tools/list" && strings.Contains(got.text, "find_skills shows those that were read since") != marked {
						t.Errorf("%s, %s, door %d: incomplete is %v: %s", what, method, i, marks, short(got.text))
					}
				}
			}
		}
		lists("before", false)
		empty := &slowRoot{root: skill.Root{Label: "later", Scope: skill.ScopeProject, Dir: "/later", Shown: "later"}, first: 400, end: 400} // 20 s
		w.catalog.SetSources(append(slices.Clone(w.sources), empty))
		lists("a source has come", true)
		for _, list := range []string{"tools", "prompts", "resources"} {
			if changed := "notifications/" + list + "/list_changed"; strings.Contains(s.received(), changed) {
				t.Errorf("%s was sent too soon", changed)
			}
		}
		<-time.After(time.Minute)
		lists("it was read", false)
		for _, list := range []string{"tools", "prompts", "resources"} {
			if changed := "notifications/" + list + "/list_changed"; strings.Count(s.received(), changed) != 1 {
				t.Errorf("%s was sent %d times", changed, strings.Count(s.received(), changed))
			}
		}
	})
}

// TestCachedListAfterMoreSources checks that a cached list is not reused once the catalogue has a
// source that the list's snapshot does not know.
func TestCachedListAfterMoreSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &slowRoot{root: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: "/slow", Shown: "slow"}, end: 3}
		w := &slowWorld{t: t, catalog: catalog.New([]catalog.Source{source}, catalog.Options{})} // the catalogue does not run, so it never reads the later source
		must(t, w.catalog.Refresh(t.Context()))
		server := mcpserver.New(mcpserver.Options{Catalog: w.catalog, Tools: toolsOf(t, "default"), Version: "v0"})
		var err error
		w.handler, err = mcpserver.NewHTTP(server, mcpserver.HTTPOptions{})
		must(t, err)
		for _, marked := range []bool{false, true} {
			if got := w.mcp("tools/list", ""); strings.Contains(got.text, "find_skills shows those that were read since") != marked {
				t.Errorf("incomplete: want %v: %s", marked, short(got.text))
			}
			w.catalog.SetSources([]catalog.Source{source, &slowRoot{root: skill.Root{Label: "later", Scope: skill.ScopeProject, Dir: "/later"}}})
		}
	})
}

// TestHangingDisk checks the answers while the disk does not respond. Every surface answers "try
// again" to an unknown name, and never "not found". Known skills are served, and so are the others
// once the disk responds.
func TestHangingDisk(t *testing.T) {
	for what, patience := range map[string]time.Duration{"a root is late": 2 * time.Second, "a scan does not end": 0} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &slowRoot{root: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: "/slow", Shown: "slow"}, end: 3}
				w, end := slowWorldOf(t, patience, source)
				defer end()
				s := newSlowSession(t, w)
				w.sessions["default"] = s.session
				defer s.close()
				<-time.After(29 * time.Second) // a scan is due soon, and none is running
				hangs := make(chan struct{})
				source.hangs.Store(&hangs)
				source.end++
				for what, question := range w.items(slowName(3)) {
					got := question()
					for _, no := range denials {
						if strings.Contains(got.text, no) {
							t.Errorf("%s says %q: %s", what, no, short(got.text))
						}
					}
					if !strings.Contains(got.text, "try again in a moment") && !strings.Contains(got.text, "Try again") || got.status != 0 && got.status != http.StatusServiceUnavailable {
						t.Errorf("%s: %d %s", what, got.status, short(got.text))
					}
				}
				for what, question := range w.items(slowName(0)) {
					if got := question(); !answers(got.text, 0) {
						t.Errorf("%s of one that is known: %s", what, short(got.text))
					}
				}
				source.hangs.Store(nil)
				close(hangs)
				<-time.After(time.Minute)
				for what, question := range w.items(slowName(3)) {
					if got := question(); !answers(got.text, 3) {
						t.Errorf("%s at the end: %s", what, short(got.text))
					}
				}
			})
		})
	}
}
