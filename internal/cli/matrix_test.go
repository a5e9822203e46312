//go:build unix

package cli_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// The access matrix covers every route for every role. There are two servers with the same
// configuration, and one of them lacks the skills that are hidden from some roles. A role that must
// not see the hidden skills gets the same answers from both servers, byte for byte. No name, count,
// tag, order or problem tells the servers apart. A role that may see them can tell the servers
// apart by every route that shows skills; otherwise the test would test nothing. HEAD answers like
// GET, without the body, and needs no such comparison.

// role is a kind of client of the servers.
type role struct {
	name    string
	headers []string
	cookie  string    // replaces the headers
	cookies [2]string // earlier cookies, one for each server
	known   bool      // may send requests
	again   bool      // repeats each request, also by HEAD: the second answer may be cached
}

// house is one of the two servers.
type house struct {
	*surfer
	dir      string
	log      func() string
	sessions map[string]string // the sessions of 2025-11-25, by role
	story    string
	cursors  map[string]string
	tag      string            // the tag of the last answer
	top      string            // status and headers of the last answer, unchanged
	tags     map[string]string // the tags of answers to roles with access, by probe
}

func (h *house) send(r role, p probe) string {
	h.t.Helper()
	headers := []string{"Accept: text/html, application/json, text/event-stream"}
	if p.era != "" {
		headers = append(headers, "Content-Type: application/json", "Mcp-Protocol-Version: "+p.era, "Origin: ", "Sec-Fetch-Site: ")
		if id := h.sessions[r.name]; id != "" && p.era < "2026" && !strings.Contains(p.body, `"initialize"`) {
			headers = append(headers, "Mcp-Session-Id: "+id)
		}
	}
	for _, one := range p.more {
		if p.era < "2026" && (strings.HasPrefix(one, "Mcp-Method") || strings.HasPrefix(one, "Mcp-Name")) {
			continue
		}
		headers = append(headers, one)
	}
	headers = append(headers, r.headers...)
	if r.cookie != "" {
		headers = append(headers, "Cookie: "+r.cookie)
	}
	path := strings.NewReplacer("STORY", h.story, "CURSOR", h.cursors[p.route]).Replace(p.path)
	if p.path == "ASSET" {
		path = assetOf(h.t, h.get("/signin").body)
	}
	method := p.method
	if method == "" {
		method = http.MethodGet
	}
	got := h.ask(method, path, p.body, headers...)
	// One server may finish its index or its checks later than the other. Wait for the final
	// answers.
	testwait.Within(testwait.Patience, func() bool {
		if isUnready(got.body) {
			got = h.ask(method, path, p.body, headers...)
		}
		return !isUnready(got.body)
	})
	h.tag = got.header.Get("Etag")
	got.header.Del("Date")
	h.top = fmt.Sprint(got.code, " ", got.header)
	// These answers contain counts of requests, or ages.
	if p.route == "/usage" || p.route == "/metrics" || p.route == "/health" {
		top := got.header.Clone()
		top.Del("Content-Length")
		top.Del("Etag")
		h.top = fmt.Sprint(got.code, " ", top)
	}
	if strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream") {
		// An answer that was sent again has one event and a length.
		got.header.Del("Connection")
		got.header.Del("Content-Length")
		got.body = strings.Join(regexp.MustCompile(`(?m)^data: .+$`).FindAllString(got.body, -1), "\n")
	}
	if got.header.Get("Mcp-Session-Id") != "" {
		got.header.Set("Mcp-Session-Id", "SESSION")
	}
	if sum := sha256.Sum256([]byte(got.body)); got.header.Get("Etag") == `"`+hex.EncodeToString(sum[:16])+`"` {
		got.header.Set("Etag", "of the body") // computed from the body, which contains the folder
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(got.header)) {
		// The length is of a body from which text is removed below.
		if name == "Content-Length" && (p.route == "/metrics" || p.route == "/health" || strings.Contains(got.body, used)) {
			continue
		}
		lines = append(lines, name+": "+strings.Join(got.header[name], ", "))
	}
	return fmt.Sprintf("%d\n%s\n\n%s", got.code, h.even(strings.Join(lines, "\n")), h.even(got.body))
}

// isUnready reports whether an answer says that it will change soon. The API document only
// describes such answers.
func isUnready(body string) bool {
	for _, text := range []string{"The index of the newest change is still being made", "still being checked", "Still checking", "being checked again", "not checked yet"} {
		if strings.Contains(body, text) {
			return !strings.Contains(body, `"openapi":`)
		}
	}
	return false
}

const used = "<dt>Used</dt>" // part of the page of a skill

// uneven lists the expressions for text that differs between the two servers. An expression is
// tried only if the text contains its mark, since thousands of answers have none.
var uneven = []struct {
	mark string
	expr *regexp.Regexp
}{
	{"id: ", regexp.MustCompile(`(?m)^id: \S*$`)},                                                          // of an event
	{"# HELP ", regexp.MustCompile(`(?m)^(?:# (?:HELP|TYPE) )?(?:knack_http|knack_mcp|go_|process_).*\n`)}, // the process and its requests
	{"knack_refresh_", regexp.MustCompile(`(?m)^knack_refresh_(?:timestamp|duration)_seconds \S+$`)},       // times
	// The counts of calls so far differ. TestUsageHidesSkills checks how rules affect them.
	{used, regexp.MustCompile(`<dt>Used</dt><dd>.*?</dd>`)},
	{`<section id="usage">`, regexp.MustCompile(`(?s)<section id="usage">.*?</section>`)},
	{"knack_reload_timestamp", regexp.MustCompile(`(?m)^knack_reload_timestamp_seconds\S* \S+$`)},
	{"Scanned ", regexp.MustCompile(`Scanned [^<]* ago \([^<]*\), which took [^<]*\.`)},         // times
	{"20", regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?`)}, // times
}

// even removes the differences between the two servers: address, folder and times.
func (h *house) even(text string) string {
	_, port, _ := strings.Cut(strings.TrimPrefix(h.base, "http://"), ":")
	text = strings.NewReplacer(h.base, "BASE", h.dir, "DIR", "127.0.0.1:"+port, "HOST", "knack-"+port, "COOKIE").Replace(text)
	for _, u := range uneven {
		if strings.Contains(text, u.mark) {
			text = u.expr.ReplaceAllString(text, "")
		}
	}
	return text
}

// enter opens a session of 2025-11-25 for a role.
func (h *house) enter(r role) {
	h.t.Helper()
	got := h.ask("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"prober","version":"1"}}}`,
		append([]string{"Content-Type: application/json", "Accept: application/json, text/event-stream", "Origin: "}, r.headers...)...)
	id := got.header.Get("Mcp-Session-Id")
	if id == "" {
		h.t.Fatalf("%s: no session: %d %s", r.name, got.code, got.body)
	}
	h.sessions[r.name] = id
	h.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		append([]string{"Content-Type: application/json", "Accept: application/json, text/event-stream", "Origin: ", "Mcp-Session-Id: " + id}, r.headers...)...)
}

func TestMatrix(t *testing.T) {
	testwait.Slow(t)
	if testing.Short() {
		t.Skip("thousands of requests")
	}
	dirs := newTrees(t)
	for _, set := range []string{"default,universal,runner,wave", "uri"} {
		t.Run(set, func(t *testing.T) { matrix(t, set, dirs) })
	}
	t.Run("nobody", func(t *testing.T) { matrixNobody(t, dirs) })
}

func matrix(t *testing.T, set string, dirs [2]string) {
	tools, err := tool.ParseSets(set)
	if err != nil {
		t.Fatal(err)
	}
	probes := slices.Concat(mcpProbes(tools), pageProbes()) // pages last: they count requests
	each := oneOfEach(probes)

	tokens := map[string]string{}
	tokenFile := filepath.Join(t.TempDir(), "tokens")
	tokens["nameless"], tokens["nameless's hash"] = access.NewToken()
	put(t, tokenFile, tokens["nameless's hash"]+"\n")
	file := filepath.Join(t.TempDir(), "knack.yaml")
	write := func(who ...string) {
		// Other tests check the rate limit.
		text := "limits: {rate: 0}\naccess:\n  default: deny\n  tokens:\n"
		for _, line := range who {
			name, groups, _ := strings.Cut(line, " ")
			if tokens[name] == "" {
				tokens[name], tokens[name+"'s hash"] = access.NewToken()
			}
			text += fmt.Sprintf("    - {hash: %s, subject: %s, groups: [%s]}\n", tokens[name+"'s hash"], name, groups)
		}
		put(t, file, text+`  rules:
    - allow: ["skill://open", "skill://person", "skill://broken", "skill://odd", "skill://twin"]
    - {subjects: [anna, revoked], allow: ["skill://**"]}
    - {groups: [insiders], allow: ["skill://**"]}
    - {groups: [outsiders], deny: ["skill://**/*zqx*/**"]}
`)
	}
	write("anna", "carl insiders", "guest others", "dora insiders, outsiders", "revoked insiders")
	houses := newHouses(t, dirs, "--config", file, "--tools", set, "--token-file", tokenFile)
	real, control := houses[0], houses[1]

	stranger, _ := access.NewToken()
	bearerOf := func(name string) []string { return []string{"Authorization: Bearer " + tokens[name]} }
	seeing := []role{{name: "anna", known: true, again: true}, {name: "carl", known: true}, {name: "revoked", known: true}}
	blind := []role{{name: "guest", known: true, again: true}, {name: "dora", known: true}, {name: "nameless", known: true}}
	for _, some := range [][]role{seeing, blind} {
		for i := range some {
			some[i].headers = bearerOf(some[i].name)
			for _, h := range houses {
				h.enter(some[i])
			}
		}
	}
	out := []role{
		{name: "no token", again: true}, {name: "a wrong token", headers: []string{"Authorization: Bearer " + stranger}},
		{name: "no bearer", headers: []string{"Authorization: " + tokens["anna"]}}, {name: "another scheme", headers: []string{"Authorization: Basic " + tokens["anna"]}},
		{name: "nothing behind Bearer", headers: []string{"Authorization: Bearer"}}, {name: "two tokens", headers: []string{"Authorization: Bearer " + tokens["guest"] + " " + tokens["anna"]}},
		{name: "part of a token", headers: []string{"Authorization: Bearer " + tokens["anna"][:40]}}, {name: "a hash", headers: []string{"Authorization: Bearer " + tokens["anna's hash"]}},
		{name: "a long token", headers: []string{"Authorization: Bearer " + strings.Repeat(tokens["anna"], 100)}}, {name: "a token in capitals", headers: []string{"Authorization: Bearer " + strings.ToUpper(tokens["anna"])}},
		{name: "a cookie that is a token", cookie: "COOKIE=" + tokens["anna"]}, {name: "a cookie that nobody has", cookie: "COOKIE=" + strings.Repeat("A", 43)},
	}

	// ask sends a probe to both servers.
	ask := func(r role, p probe) (answers [2]string) {
		for i, h := range houses {
			mine := r
			if r.cookies[i] != "" {
				mine.cookie = r.cookies[i]
			} else if r.cookie != "" {
				_, port, _ := strings.Cut(strings.TrimPrefix(h.base, "http://"), ":")
				name, value, _ := strings.Cut(r.cookie, "=")
				if name == "COOKIE" {
					mine.cookie = "knack-" + port + "=" + value
				} else {
					mine.cookie = bearing1(h.signIn(tokens[name]))[len("Cookie: "):]
				}
			}
			answers[i] = h.send(mine, p)
			if !r.again {
				continue
			}
			first := answers[i]
			answers[i] = h.send(mine, p)
			h.heads(mine, p)
			if p.route == "/usage" || p.route == "/metrics" {
				first = answers[i]
			}
			if first != answers[i] && p.route != "mcp initialize" {
				t.Errorf("%s: %s: the second answer is another\n%s\nthan\n%s", r.name, p, answers[i], first)
			}
		}
		return answers
	}
	code := func(answer string) string { return answer[:3] }

	// Roles with access come first, so that the servers cache all that they can. Each route must
	// show the skills to each of these roles.
	if set != "uri" {
		real.story = regexp.MustCompile(`/health/skipped-[0-9a-f]+`).FindString(strings.ReplaceAll(real.get("/?state=skipped&q=zqx", seeing[0].headers...).body, "\n", " "))
		if real.story == "" {
			t.Fatal("no hidden skill is skipped")
		}
		control.story = real.story
	} else {
		real.story, control.story = "/health/none", "/health/none"
	}
	for _, r := range seeing {
		differs := map[string]bool{}
		for _, p := range probes {
			answers := ask(r, p)
			differs[p.route] = differs[p.route] || answers[0] != answers[1] || p.quiet
			if p.quiet && answers[0] != answers[1] {
				t.Errorf("%s: %s is said to be quiet\n%s", r.name, p, cmp.Diff(answers[1], answers[0]))
			}
			real.tags[p.String()] = real.tag
			if _, rest, ok := strings.Cut(answers[0], `"next":"`); ok && strings.HasPrefix(p.route, "/api/") {
				cursor, _, _ := strings.Cut(rest, `"`)
				real.cursors[p.route], control.cursors[p.route] = cursor, cursor
			}
		}
		for route, ok := range differs {
			if !ok && !(set == "uri" && (strings.HasPrefix(route, "/") || route == "mcp tools/list")) {
				t.Errorf("%s is shown nothing by %s: the test tests nothing", r.name, route)
			}
		}
	}
	if t.Failed() {
		return
	}

	// must checks that both servers give the same answer to a role without access.
	must := func(r role, p probe) {
		answers := ask(r, p)
		if answers[0] != answers[1] {
			t.Errorf("%s: %s tells the servers apart: -without +with\n%s", r.name, p, cmp.Diff(answers[1], answers[0]))
		}
		echo := strings.Contains(p.String(), "zqxword")
		if low := strings.ToLower(answers[0]); strings.Contains(low, "zqxword") && !echo {
			t.Errorf("%s: %s tells of it\n%s", r.name, p, answers[0])
		}
		if !r.known && !p.open && code(answers[0]) != "401" {
			t.Errorf("%s: %s: %s", r.name, p, answers[0])
		}
		if r.known && p.era == "" && code(answers[0]) == "401" {
			t.Errorf("%s: %s is refused: %s", r.name, p, answers[0])
		}
	}
	// A tag from the answer to another role has no effect, unless both roles see the same.
	tagged := func(r role, p probe) {
		if theirs := real.tags[p.String()]; theirs != "" {
			whole := real.send(r, p)
			own := real.tag
			tagged := p
			tagged.more = append(slices.Clone(p.more), "If-None-Match: "+theirs)
			if got := real.send(r, tagged); theirs == own && code(got) != "304" || theirs != own && got != whole {
				t.Errorf("%s: %s with a tag of others: %s", r.name, p, got)
			}
		}
	}
	for _, r := range blind {
		for _, p := range probes {
			must(r, p)
			tagged(r, p)
			if p.era == "2025-11-25" && p.route != "mcp initialize" { // a session of a role with access
				for _, h := range houses {
					h.sessions["thief of "+r.name] = h.sessions["anna"]
				}
				thief := r
				thief.name = "thief of " + r.name
				if answers := ask(thief, p); !p.quiet && (code(answers[0]) == "200" || answers[0] != answers[1] || strings.Contains(answers[0], "zqxword")) {
					t.Errorf("%s: %s: %s", thief.name, p, answers[0])
				}
			}
		}
	}

	// A cookie has the effect of its token on pages, and none on MCP.
	for _, name := range []string{"guest", "dora", "nameless"} {
		r := role{name: name + "'s cookie", cookie: name + "=", known: true}
		for _, p := range pageProbes() {
			if p.route != "/signin" {
				must(r, p)
			}
		}
	}
	annas := role{name: "anna's cookie", cookie: "anna="}
	differs := map[string]bool{}
	for _, p := range probes {
		answers := ask(annas, p)
		switch {
		case p.era != "" && code(answers[0]) != "401":
			t.Errorf("MCP takes a cookie: %s: %s", p, answers[0])
		case p.era == "":
			differs[p.route] = differs[p.route] || p.quiet || answers[0] != answers[1]
		}
	}
	for route, ok := range differs {
		if !ok && set != "uri" {
			t.Errorf("a cookie opens nothing at %s", route)
		}
	}
	// A server looks at nothing in a request before its token. Two of these clients send every
	// probe. The others, whose tokens differ, send one probe for each route.
	for i, r := range out {
		for _, p := range probes {
			if i < 2 || each[p.String()] {
				must(r, p)
			}
		}
	}

	// A revoked token or a changed group takes effect at the next request, even in open sessions
	// and streams.
	var cookies, carls, guests [2]string
	for i, h := range houses {
		cookies[i] = h.signIn(tokens["revoked"]).Value
		carls[i] = bearing1(h.signIn(tokens["carl"]))[len("Cookie: "):]
		guests[i] = bearing1(h.signIn(tokens["guest"]))[len("Cookie: "):]
	}
	write("anna", "carl others", "guest insiders", "dora insiders, outsiders")
	hangUp(t, real.log, "the settings and tokens were read again")
	testwait.Until(t, func() bool { return strings.Contains(control.log(), "the settings and tokens were read again") }, control.log)
	for _, p := range probes {
		must(role{name: "revoked", headers: bearerOf("revoked")}, p)
		for i, h := range houses {
			_, port, _ := strings.Cut(strings.TrimPrefix(h.base, "http://"), ":")
			answer := h.send(role{name: "a cookie whose token is revoked", cookie: "knack-" + port + "=" + cookies[i]}, p)
			if !p.open && code(answer) != "401" || strings.Contains(strings.ToLower(answer), "zqxword") && !strings.Contains(p.String(), "zqxword") {
				t.Errorf("a cookie whose token is revoked: %s: %s", p, answer)
			}
		}
	}
	left := []role{{name: "carl, who left the group", headers: bearerOf("carl"), known: true}, {name: "the cookie of carl, who left the group", cookies: carls, known: true}}
	joined := []role{{name: "guest, who joined the group", headers: bearerOf("guest"), known: true}, {name: "the cookie of guest, who joined the group", cookies: guests, known: true}}
	for _, h := range houses { // these sessions stay open
		h.sessions[left[0].name], h.sessions[joined[0].name] = h.sessions["carl"], h.sessions["guest"]
	}
	for i := range left {
		differs := map[string]bool{}
		for _, p := range probes {
			if i == 1 && (p.era != "" || p.route == "/signin") {
				continue
			}
			must(left[i], p)
			if i == 0 { // clients with a token got these tags
				tagged(left[i], p)
			}
			answers := ask(joined[i], p)
			differs[p.route] = differs[p.route] || p.quiet || answers[0] != answers[1]
		}
		for route, ok := range differs {
			if !ok && !(set == "uri" && (strings.HasPrefix(route, "/") || route == "mcp tools/list")) {
				t.Errorf("%s is shown nothing by %s", joined[i].name, route)
			}
		}
	}
	// A role with access still sees the hidden skills.
	if answers := ask(seeing[0], probe{route: "/api/v1/skills", path: "/api/v1/skills"}); answers[0] == answers[1] {
		t.Error("anna is shown nothing any more")
	}
}

// oneOfEach returns the set of the first probes for each route and protocol version.
func oneOfEach(probes []probe) map[string]bool {
	seen, each := map[string]bool{}, map[string]bool{}
	for _, p := range probes {
		if key := p.era + " " + p.route; !seen[key] {
			seen[key] = true
			each[p.String()] = true
		}
	}
	return each
}

// newTrees writes the skills of both servers. It then waits until the stamps of all files are old
// enough to be trusted, so that the servers cache results.
func newTrees(t *testing.T) (dirs [2]string) {
	t.Helper()
	for i, trees := range [2][]map[string]string{{openSkills, hiddenSkills}, {openSkills}} {
		dirs[i] = t.TempDir()
		for _, files := range trees {
			for name, text := range files {
				put(t, filepath.Join(dirs[i], name), text)
			}
		}
	}
	time.Sleep(skill.StampRacy) // no event reports that a file has aged
	return dirs
}

// newHouses starts both servers with --dir and args.
func newHouses(t *testing.T, dirs [2]string, args ...string) (houses [2]*house) {
	t.Helper()
	for i, dir := range dirs {
		base, log := servingLog(t, append([]string{"--dir", dir}, args...)...)
		houses[i] = &house{surfer: newSurfer(t, strings.TrimSuffix(base, "/mcp")), dir: dir, log: log, sessions: map[string]string{}, cursors: map[string]string{}, tags: map[string]string{}}
	}
	return houses
}

// heads checks that HEAD answers like the GET before or after it, without the body. It repeats the
// requests if the page changes between the two, as it does when a scan ends.
func (h *house) heads(r role, p probe) {
	h.t.Helper()
	if p.method != "" {
		return
	}
	top := func() string {
		return strings.Replace(h.top, " Content-Length:[0]", "", 1) // net/http leaves it out of an answer to HEAD
	}
	asked := p
	asked.method = http.MethodHead
	for range 9 {
		before, tag := top(), h.tag
		_, body, _ := strings.Cut(h.send(r, asked), "\n\n")
		if top() == before && body == "" {
			h.tag = tag
			return
		}
		h.send(r, p)
	}
	before := top()
	answer := h.send(r, asked)
	h.t.Errorf("%s: %s says each time\n%s\nand GET\n%s", r.name, asked, answer, before)
}

// matrixNobody checks a server that needs no token. Each client is then the subject without a name
// and groups, whatever names its requests contain. The rules apply to this subject.
func matrixNobody(t *testing.T, dirs [2]string) {
	file := filepath.Join(t.TempDir(), "knack.yaml")
	const closed = `limits: {rate: 0}
access:
  default: deny
  rules:
    - allow: ["skill://open", "skill://person", "skill://broken", "skill://odd", "skill://twin"]
    - {subjects: [anna], groups: [insiders], allow: ["skill://**"]}
`
	put(t, file, closed)
	const set = "default,universal,runner,wave"
	tools, err := tool.ParseSets(set)
	if err != nil {
		t.Fatal(err)
	}
	houses := newHouses(t, dirs, "--no-auth", "--config", file, "--tools", set)
	stranger, _ := access.NewToken()
	roles := []role{{name: "nobody", again: true}, {name: "one with a token", headers: []string{"Authorization: Bearer " + stranger}}, {name: "one with a name", headers: []string{"Authorization: Bearer anna"}}, {name: "one with a cookie", cookie: "knack=anna"}}
	for _, r := range roles {
		for _, h := range houses {
			h.enter(r)
		}
	}
	houses[0].story, houses[1].story = "/health/none", "/health/none"
	probes := slices.Concat(mcpProbes(tools), pageProbes())
	ask := func(r role, p probe) (answers [2]string) {
		for i, h := range houses {
			answers[i] = h.send(r, p)
			if r.again {
				h.heads(r, p)
			}
		}
		return answers
	}
	for _, r := range roles {
		for _, p := range probes {
			answers := ask(r, p)
			if answers[0] != answers[1] {
				t.Errorf("%s: %s tells the servers apart: -without +with\n%s", r.name, p, cmp.Diff(answers[1], answers[0]))
			}
			if strings.Contains(strings.ToLower(answers[0]), "zqxword") && !strings.Contains(p.String(), "zqxword") {
				t.Errorf("%s: %s tells of it\n%s", r.name, p, answers[0])
			}
			if strings.HasPrefix(answers[0], "401") {
				t.Errorf("%s: %s asks for a token\n%s", r.name, p, answers[0])
			}
		}
	}
	if t.Failed() {
		return
	}
	// The rules do hide the skills: without them, every route shows the skills immediately.
	put(t, file, "limits: {rate: 0}\naccess: {default: allow, rules: []}\n")
	hangUp(t, houses[0].log, "the settings and tokens were read again")
	testwait.Until(t, func() bool { return strings.Contains(houses[1].log(), "the settings and tokens were read again") }, houses[1].log)
	differs := map[string]bool{}
	for _, p := range probes {
		answers := ask(roles[0], p)
		differs[p.route] = differs[p.route] || p.quiet || answers[0] != answers[1]
	}
	for route, ok := range differs {
		if !ok && route != "/health/" { // no entry has this address
			t.Errorf("nobody is shown nothing by %s: the test tests nothing", route)
		}
	}
}
