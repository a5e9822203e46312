package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// settles is how long the bench waits before it measures the calls to a server. In this time,
	// the server begins to watch its folders and scans them once more.
	settles = 3 * time.Second
	// connections is the number of HTTP connections.
	connections = 16
)

// builtin lists the skills that are built into the binary.
var builtin = []string{"engage", "write-a-skill"}

// target is a skill to request, in the form that internal/tools/bench/floor reads.
type target struct{ Name, URI, Folder string }

// client makes requests as a real client does. Each request is for a different skill, and has its
// own id and metadata.
type client struct {
	all  []target
	next int
}

// client returns a client for the skills of a tree. It also writes a table of the skills for the
// read floor, and returns its path.
func (b *bench) client(t *tree) (*client, string, error) {
	p, err := b.serve(b.builds[0].knack, t)
	if err != nil {
		return nil, "", err
	}
	defer p.end()
	var all []target
	for params := map[string]any{}; ; {
		var page struct {
			Resources  []struct{ Name, URI string }
			NextCursor string
		}
		if err := p.call("resources/list", params, &page); err != nil {
			return nil, "", err
		}
		for _, r := range page.Resources {
			rest, _ := strings.CutPrefix(r.URI, "skill://claude-user/")
			folder := filepath.Join(t.root, filepath.FromSlash(strings.TrimSuffix(rest, "/SKILL.md")))
			if _, err := os.Stat(filepath.Join(folder, "SKILL.md")); err == nil {
				all = append(all, target{r.Name, r.URI, folder})
			}
		}
		if page.NextCursor == "" {
			break
		}
		params["cursor"] = page.NextCursor
	}
	if len(all) < t.n*9/10 {
		return nil, "", fmt.Errorf("resources/list names %d of %d skills", len(all), t.n)
	}
	c := &client{}
	for i := range all {
		c.all = append(c.all, all[i*7919%len(all)]) // a prime step: each skill comes once
	}
	for _, name := range builtin {
		folder, err := filepath.Abs("source/builtin/skills/" + name)
		if err != nil {
			return nil, "", err
		}
		all = append(all, target{name, "skill://" + name + "/SKILL.md", folder})
	}
	file := filepath.Join(b.work, fmt.Sprintf("table-%d", t.n))
	return c, file, writeJSON(file, all)
}

func writeJSON(file string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// ask returns the body of the next request, and the headers that the request has over HTTP.
func (c *client) ask(method, era, session string) (body []byte, header map[string]string) {
	c.next++
	t := c.all[c.next%len(c.all)]
	params, subject := map[string]any{"uri": t.URI}, t.URI
	skill := func(name string) {
		method, subject, params = "tools/call", "skill", map[string]any{"name": "skill", "arguments": map[string]any{"name": name}}
	}
	name := "bench"
	if list, ok := strings.CutPrefix(method, "new "); ok {
		method, name = list, fmt.Sprint("bench", c.next)
	}
	switch method {
	case "tools/call":
		skill(t.Name)
	case "built-in":
		skill(builtin[c.next%2])
	case "tools/list":
		params = map[string]any{}
	}
	meta := map[string]any{"progressToken": c.next, "claudecode/toolUseId": fmt.Sprintf("toolu_01%022x", uint64(c.next)*0x9e3779b97f4a7c15)}
	params["_meta"], header = meta, map[string]string{"Mcp-Protocol-Version": era}
	if era == legacy {
		header["Mcp-Session-Id"] = session
		return message(c.next, method, params), header
	}
	meta["io.modelcontextprotocol/protocolVersion"], meta["io.modelcontextprotocol/clientCapabilities"] = era, map[string]any{}
	meta["io.modelcontextprotocol/clientInfo"] = map[string]any{"name": name, "version": "1"}
	if header["Mcp-Method"] = method; method != "skills/get" {
		header["Mcp-Name"] = subject
	}
	return message(c.next, method, params), header
}

// over returns n requests for each connection to a server.
func (c *client) over(s *served, n int, method, era string) [][][]byte {
	all := make([][][]byte, connections)
	for range n {
		for i := range all {
			body, header := c.ask(method, era, s.session)
			all[i] = append(all[i], httpCall(s.addr, header, body))
		}
	}
	return all
}

// kind is a kind of call to measure.
type kind struct {
	what, method, era string
	http              bool
	window            int // number of calls sent together, over stdio
	floor             string
	limit             float64
	placed            placement
}

// side is a server or a floor to which calls are sent.
type side interface {
	// ask sends one call and returns the answer.
	ask(c *client, k kind) (contentType string, answer []byte, err error)
	// run sends n calls. It returns the usual microseconds of a call, and the 99th percentile.
	run(c *client, k kind, n int) (most, tail float64, err error)
	memory(figure string) float64
	processor() float64
	end()
}

// open starts a knack, or a floor, that answers the given kind of call.
func (b *bench) open(k kind, t *tree, argv ...string) (side, error) {
	switch floor := argv[0] == b.floor; {
	case k.http && floor:
		argv[1] += "-http"
	case k.http:
		return b.serveHTTP(argv[0], t)
	case !floor && k.era == legacy:
		return b.startListed(argv[0], t)
	}
	p, err := start(b.ctx, t.home, argv...)
	if err != nil || !k.http {
		return p, err
	}
	addr, err := p.answer()
	return &served{proc: p, addr: strings.TrimSpace(string(addr))}, err
}

// idle returns once a server has finished its work in the background, or after a minute. Over HTTP a
// server first checks the contents of all skills for its pages.
func idle(s side) {
	const pause = 250 * time.Millisecond
	for begun, was := time.Now(), -1.0; time.Since(begun) < time.Minute; time.Sleep(pause) {
		now := s.processor()
		if was >= 0 && now-was < ms(pause)/50 {
			return
		}
		was = now
	}
}

func (p *proc) ask(c *client, k kind) (string, []byte, error) {
	body, _ := c.ask(k.method, k.era, "")
	if _, err := p.in.Write(append(body, '\n')); err != nil {
		return "", nil, err
	}
	line, err := p.answer()
	return "", bytes.Clone(line), err
}

func (p *proc) run(c *client, k kind, n int) (float64, float64, error) {
	var requests [][]byte
	for len(requests) < n/k.window*k.window {
		method, same := strings.CutPrefix(k.method, "same ")
		body, _ := c.ask(method, k.era, "")
		if same && len(requests) > 0 {
			body = requests[0]
		}
		requests = append(requests, body)
	}
	took, err := p.pipe(requests, k.window)
	return quantile(took, .5) / float64(k.window), quantile(took, .99) / float64(k.window), err
}

func (s *served) ask(c *client, k kind) (string, []byte, error) {
	body, header := c.ask(k.method, k.era, s.session)
	got, answer, err := fetchOnce(s.addr, httpCall(s.addr, header, body))
	return got.Get("Content-Type"), answer, err
}

func (s *served) run(c *client, k kind, n int) (float64, float64, error) {
	all, each, err := load(s.addr, c.over(s, n/connections, k.method, k.era))
	return all / float64(len(each)), quantile(each, .99), err
}

// kinds measures kinds of calls to a server of 1,000 skills.
func (b *bench) kinds(kinds []kind) (rows []row, err error) {
	t, err := b.tree(1000)
	if err != nil {
		return nil, err
	}
	c, table, err := b.client(t)
	for i := 0; err == nil && i < len(kinds); i++ {
		if err = b.kind(kinds[i], t, c, table); err == nil {
			rows = append(rows, b.relative(kinds[i].what, kinds[i].what, kinds[i].floor, "µs", kinds[i].limit))
		}
	}
	return rows, err
}

// kind measures one kind of call on each side. The sides take turns, in a different order each
// round.
func (b *bench) kind(k kind, t *tree, c *client, table string) error {
	if err := k.placed.servers(); err != nil {
		return err
	}
	sides := map[string]side{}
	defer func() {
		for _, s := range sides {
			s.end()
		}
		k.placed.end()
	}()
	open := func(name string, argv ...string) error {
		s, err := b.open(k, t, argv...)
		if err == nil {
			sides[name] = s
		}
		return err
	}
	for _, build := range b.builds {
		if err := open(build.name, build.knack, "serve"); err != nil {
			return err
		}
	}
	var answers [][]byte
	var contentType string
	for range 100 {
		request := k
		request.method = strings.TrimPrefix(k.method, "same ")
		what, answer, err := sides[ours].ask(c, request)
		if err != nil || !bytes.Contains(answer, []byte(`"result":`)) || bytes.Contains(answer, []byte(`"isError":true`)) {
			return fmt.Errorf("%s: answered %.300s, %v", k.what, answer, err)
		}
		contentType, answers = what, append(answers, answer)
	}
	file := filepath.Join(b.work, "answers")
	if err := errors.Join(writeJSON(file, answers), open("read", b.floor, "read", table), open("bare", b.floor, "bare", file, contentType)); err != nil {
		return err
	}
	time.Sleep(settles)
	for _, s := range sides {
		idle(s)
	}
	if err := k.placed.client(); err != nil {
		return err
	}
	for round := range b.rounds {
		order := slices.Sorted(maps.Keys(sides))
		for i := range order {
			name := order[(i+round)%len(order)]
			most, tail, err := sides[name].run(c, k, b.size(1000*max(1, k.window/8)))
			if err != nil {
				return fmt.Errorf("%s, %s: %w", k.what, name, err)
			}
			b.add(k.what+"/"+name, most)
			b.add(k.what+"/p99/"+name, tail)
		}
	}
	return nil
}

// calls measures calls over stdio.
func (b *bench) calls() ([]row, error) {
	return b.kinds([]kind{
		{"tools/call skill over stdio, one at a time", "tools/call", legacy, false, 1, "read", 1.6, anywhere},
		{"resources/read over stdio, one at a time", "resources/read", legacy, false, 1, "read", 1.6, anywhere},
		{"skills/get over stdio, one at a time", "skills/get", legacy, false, 1, "read", 2, anywhere},
		{"tools/call skill over stdio, 2026-07-28", "tools/call", modern, false, 1, "read", 1.6, anywhere},
		{"tools/call of a built-in skill over stdio", "built-in", legacy, false, 1, "read", 1.6, anywhere},
		{"32 pipelined tools/call over stdio, each", "tools/call", legacy, false, 32, "read", 1.3, anywhere},
		{"the same tools/call over stdio, byte for byte", "same tools/call", legacy, false, 1, "read", 1.6, anywhere},
	})
}

// list measures tools/list against a floor that only writes the same bytes. The clients are one
// whose list knack caches with the snapshot, and others with new names.
func (b *bench) list() ([]row, error) {
	const what = "tools/list of 1,000 skills over stdio, "
	list := kind{method: "tools/list", era: legacy, window: 1, floor: "bare"}
	apart, together, fresh := list, list, list
	apart.what, apart.placed, apart.limit = what+"a processor each for client and server", placement{true, 0, 1}, 1.3
	together.what, together.placed, together.limit = what+"one processor for both", placement{true, 0, 0}, 1.3
	list.what = what + "placed by the system"
	fresh.what, fresh.method, fresh.era = what+"each for a new client, placed by the system", "new tools/list", modern
	return b.kinds([]kind{apart, together, list, fresh})
}

// http measures calls over 16 connections: without sessions, and in one session.
func (b *bench) http() ([]row, error) {
	var kinds []kind
	for _, era := range []string{modern, legacy} {
		for _, method := range []string{"tools/call", "resources/read", "skills/get"} {
			limit := map[string]float64{"skills/get": 2}[method]
			kinds = append(kinds, kind{fmt.Sprintf("%s over HTTP, 16 connections, %s", method, era), method, era, true, 32, "read", cmp.Or(limit, 1.45), anywhere})
		}
	}
	return b.kinds(kinds)
}

// first measures the first call after a start. For comparison, it also measures the calls that
// follow immediately, as a median, and calls after a pause, for which the processor's caches are
// just as cold.
func (b *bench) first() ([]row, error) {
	const what = "the first tools/call after a start and its first list"
	k := kind{method: "tools/call", era: legacy, window: 1}
	err := b.loading(k, 3*b.rounds, func(name string, s side, c *client) error {
		if name == "read" { // the floor has started once it answers, as knack has
			if _, _, err := s.ask(c, kind{method: "tools/list", era: legacy}); err != nil {
				return err
			}
		}
		var each []float64
		for i := range 205 {
			if i >= 200 {
				time.Sleep(100 * time.Millisecond)
			}
			took, _, err := s.run(c, k, 1)
			if err != nil {
				return err
			}
			each = append(each, took)
		}
		b.add(what+"/"+name, each[0]/quantile(each[1:200], .5))
		b.add("first/"+name, each[0])
		b.add("rested/"+name, quantile(each[200:], .5))
		return nil
	})
	r := b.absolute(what, what, "× the median of the next 199", 2, 2)
	r.got += fmt.Sprintf(", the read floor's first %.2f × (%.0f µs and %.0f; after 100 ms of silence %.0f and %.0f)",
		b.median(what+"/read"), b.median("first/"+ours), b.median("first/read"), b.median("rested/"+ours), b.median("rested/read"))
	return []row{r}, err
}

// loads measures the memory of a server while one client over stdio loads 200 different skills one
// after the other. It does the same for 16 connections over HTTP.
func (b *bench) loads() (rows []row, err error) {
	for _, k := range []kind{
		{"peak memory of a session that loads 200 different skills over stdio", "tools/call", legacy, false, 1, "read", 36, anywhere},
		{"peak memory of a server from which 16 connections load 200 different skills", "tools/call", legacy, true, 1, "read", 55, anywhere},
	} {
		n := map[bool]int{false: 200, true: 200 * connections}[k.http]
		if err := b.loading(k, b.rounds, func(name string, s side, c *client) error {
			_, _, err := s.run(c, k, n)
			b.add(k.what+"/"+name, s.memory("VmHWM"))
			return err
		}); err != nil {
			return nil, err
		}
		r := b.absolute(k.what, k.what, "MB", 1, k.limit)
		r.got += fmt.Sprintf(" (the read floor %.1f)", b.median(k.what+"/read"))
		rows = append(rows, r)
	}
	return rows, nil
}

// loading starts each build and the read floor, one after the other, on a tree of 1,000 skills. It
// calls f for each.
func (b *bench) loading(k kind, rounds int, f func(string, side, *client) error) error {
	t, err := b.tree(1000)
	if err != nil {
		return err
	}
	c, table, err := b.client(t)
	one := func(name string, argv ...string) error {
		s, err := b.open(k, t, argv...)
		if err != nil {
			return err
		}
		defer s.end()
		return f(name, s, c)
	}
	for round := 0; err == nil && round < rounds; round++ {
		err = errors.Join(one("read", b.floor, "read", table), b.inTurn(round, func(build build) error { return one(build.name, build.knack, "serve") }))
	}
	return err
}

// startListed starts a knack over stdio, and returns once it has answered the first list.
func (b *bench) startListed(knack string, t *tree) (*proc, error) {
	p, err := b.serve(knack, t)
	if err == nil {
		if err = p.call("tools/list", map[string]any{}, nil); err != nil {
			p.end()
		}
	}
	return p, err
}
