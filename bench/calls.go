package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// settles is how long a server has before its calls are measured: until its folders
	// are watched, and looked at once more.
	settles = 3 * time.Second
	// connections are those of a measurement over HTTP.
	connections = 16
)

// builtin are the skills that are in the binary.
var builtin = []string{"engage", "write-a-skill"}

// target is a skill that is asked for.
type target struct{ name, uri, folder string }

// client makes requests as a client does: each for another skill, and with an id and
// metadata of its own.
type client struct {
	all  []target
	next int
}

// client makes one for the skills of a tree, and the table of them for the read floor.
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
	c, table := &client{}, bytes.Buffer{}
	for i := range all {
		one := all[i*7919%len(all)] // a prime: each comes once
		c.all = append(c.all, one)
		fmt.Fprintf(&table, "%s\t%s\t%s\n", one.name, one.uri, one.folder)
	}
	for _, name := range builtin {
		folder, err := filepath.Abs("source/builtin/skills/" + name)
		if err != nil {
			return nil, "", err
		}
		fmt.Fprintf(&table, "%s\tskill://%s/SKILL.md\t%s\n", name, name, folder)
	}
	file := filepath.Join(b.work, fmt.Sprintf("table-%d", t.n))
	return c, file, os.WriteFile(file, table.Bytes(), 0o644)
}

// ask makes one request, and the headers that it has over HTTP.
func (c *client) ask(method, era, session string) (body []byte, header map[string]string) {
	c.next++
	t := c.all[c.next%len(c.all)]
	params, shown := map[string]any{"uri": t.uri}, t.uri
	skill := func(name string) {
		method, shown, params = "tools/call", "skill", map[string]any{"name": "skill", "arguments": map[string]any{"name": name}}
	}
	switch method {
	case "tools/call":
		skill(t.name)
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
	meta["io.modelcontextprotocol/clientInfo"] = map[string]any{"name": "bench", "version": "1"}
	if header["Mcp-Method"] = method; method != "skills/get" {
		header["Mcp-Name"] = shown
	}
	return message(c.next, method, params), header
}

// over are n requests for each of the connections to a server.
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

// kind is one row of calls.
type kind struct {
	what, method, era string
	window            int // calls that are sent at once, over stdio
	floor             string
	limit             float64
}

// side is a server or a floor that calls are sent to.
type side interface {
	// ask sends one call and returns the answer.
	ask(c *client, k kind) (kind string, answer []byte, err error)
	// run sends n calls, and returns what each took in microseconds: most of them, and the
	// slowest of a hundred.
	run(c *client, k kind, n int) (most, tail float64, err error)
	end()
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
	resp, answer, err := once(s.addr, httpCall(s.addr, header, body))
	if err != nil {
		return "", nil, err
	}
	return resp.Header.Get("Content-Type"), answer, nil
}

func (s *served) run(c *client, k kind, n int) (float64, float64, error) {
	all, each, err := load(s.addr, c.over(s, n/connections, k.method, k.era))
	return all / float64(len(each)), quantile(each, .99), err
}

// row measures one kind of calls: the sides in turn, in another order each round.
func (b *bench) row(c *client, k kind, sides map[string]side, bare func(file, kind string) (side, error)) (row, error) {
	var answers bytes.Buffer // as the bare floor reads them: each behind its length
	kind := ""
	for range 100 {
		of := k
		of.method = strings.TrimPrefix(k.method, "same ")
		what, answer, err := sides[ours].ask(c, of)
		if err != nil || !bytes.Contains(answer, []byte(`"result":`)) || bytes.Contains(answer, []byte(`"isError":true`)) {
			return row{}, fmt.Errorf("%s: answered %.300s, %v", k.what, answer, err)
		}
		kind = what
		answers.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...))
	}
	file := filepath.Join(b.work, "answers")
	if err := os.WriteFile(file, answers.Bytes(), 0o644); err != nil {
		return row{}, err
	}
	f, err := bare(file, kind)
	if err != nil {
		return row{}, err
	}
	defer f.end()
	sides["bare"] = f
	time.Sleep(settles)
	for round := range b.rounds {
		order := sortedKeys(sides)
		for i := range order {
			name := order[(i+round)%len(order)]
			most, tail, err := sides[name].run(c, k, b.size(1000*max(1, k.window/8)))
			if err != nil {
				return row{}, fmt.Errorf("%s, %s: %w", k.what, name, err)
			}
			b.add(k.what+"/"+name, most)
			b.add(k.what+"/p99/"+name, tail)
		}
	}
	return b.relative(k.what, "", k.what, k.floor, "µs", k.limit), nil
}

// calls measures calls over pipes.
func (b *bench) calls() ([]row, error) {
	return b.stdio([]kind{
		{"tools/call skill over stdio, one at a time", "tools/call", legacy, 1, "read", 1.6},
		{"resources/read over stdio, one at a time", "resources/read", legacy, 1, "read", 1.6},
		{"skills/get over stdio, one at a time", "skills/get", legacy, 1, "read", 2},
		{"tools/call skill over stdio, 2026-07-28", "tools/call", modern, 1, "read", 1.6},
		{"tools/call of a built-in skill over stdio", "built-in", legacy, 1, "read", 1.6},
		{"32 pipelined tools/call over stdio, each", "tools/call", legacy, 32, "read", 1.3},
		{"the same tools/call over stdio, byte for byte", "same tools/call", legacy, 1, "read", 1.6},
	})
}

// list measures tools/list beside writing its bytes.
func (b *bench) list() ([]row, error) {
	return b.stdio([]kind{{"tools/list of 1,000 skills over stdio", "tools/list", legacy, 1, "bare", 1.3}})
}

func (b *bench) stdio(kinds []kind) (rows []row, err error) {
	t, err := b.tree(1000)
	if err != nil {
		return nil, err
	}
	c, table, err := b.client(t)
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		sides := map[string]side{}
		open := func(name string, argv ...string) error {
			p, err := start(t.home, argv...)
			if err == nil {
				sides[name] = p
				if k.era == legacy && argv[1] == "serve" {
					err = p.initialize()
				}
			}
			return err
		}
		err := open("read", b.floor, "read", table)
		for _, build := range b.builds {
			if err == nil {
				err = open(build.name, build.knack, "serve")
			}
		}
		if err == nil {
			var r row
			r, err = b.row(c, k, sides, func(file, _ string) (side, error) { return start(t.home, b.floor, "bare", file) })
			rows = append(rows, r)
		}
		delete(sides, "bare")
		for _, s := range sides {
			s.end()
		}
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// http measures calls over 16 connections, without sessions and in one.
func (b *bench) http() (rows []row, err error) {
	t, err := b.tree(1000)
	if err != nil {
		return nil, err
	}
	c, table, err := b.client(t)
	if err != nil {
		return nil, err
	}
	sides := map[string]side{}
	defer func() {
		delete(sides, "bare")
		for _, s := range sides {
			s.end()
		}
	}()
	floor := func(argv ...string) (side, error) {
		p, err := start(b.work, append([]string{b.floor}, argv...)...)
		if err != nil {
			return nil, err
		}
		line, err := p.line()
		return &served{proc: p, addr: strings.TrimSpace(string(line))}, err
	}
	if sides["read"], err = floor("read-http", table); err != nil {
		return nil, err
	}
	for _, build := range b.builds {
		if sides[build.name], err = b.serveHTTP(build.knack, t); err != nil {
			return nil, err
		}
	}
	for _, era := range []string{modern, legacy} {
		for method, limit := range map[string]float64{"tools/call": 1.45, "resources/read": 1.45, "skills/get": 2} {
			k := kind{fmt.Sprintf("%s over HTTP, 16 connections, %s", method, era), method, era, 32, "read", limit}
			r, err := b.row(c, k, sides, func(file, kind string) (side, error) { return floor("bare-http", file, kind) })
			if err != nil {
				return nil, err
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// first measures the first call after a start beside the median of those that follow.
func (b *bench) first() ([]row, error) {
	const what = "the first tools/call after a start and its first list"
	err := b.loading(3*b.rounds, func(build build, t *tree, c *client) error {
		p, err := b.listed(build.knack, t)
		if err != nil {
			return err
		}
		defer p.end()
		var each []float64
		for range 200 {
			took, _, err := p.run(c, kind{method: "tools/call", era: legacy, window: 1}, 1)
			if err != nil {
				return err
			}
			each = append(each, took)
		}
		b.add(what+"/"+build.name, each[0]/quantile(each[1:], .5))
		return nil
	})
	return []row{b.absolute(what, "", what, "× the median of the next 199", 2, 2)}, err
}

// loads measures the memory of a client that loads 200 different skills, one after the
// other over stdio, and of 16 connections that do so over HTTP.
func (b *bench) loads() ([]row, error) {
	const pipe, web = "peak memory of a session that loads 200 different skills over stdio", "peak memory of a server from which 16 connections load 200 different skills"
	k := kind{method: "tools/call", era: legacy, window: 1}
	err := b.loading(b.rounds, func(build build, t *tree, c *client) error {
		p, err := b.listed(build.knack, t)
		if err != nil {
			return err
		}
		defer p.end()
		if _, _, err := p.run(c, k, 200); err != nil {
			return err
		}
		b.add(pipe+"/"+build.name, p.peak())
		s, err := b.serveHTTP(build.knack, t)
		if err != nil {
			return err
		}
		defer s.end()
		if _, _, err := s.run(c, k, 200*connections); err != nil {
			return err
		}
		b.add(web+"/"+build.name, s.peak())
		return nil
	})
	return []row{b.absolute(pipe, "read floor 7 MB", pipe, "MB", 1, 36), b.absolute(web, "read floor 14 MB", web, "MB", 1, 55)}, err
}

// loading calls f for each build in turn, over a tree of 1,000 skills.
func (b *bench) loading(rounds int, f func(build, *tree, *client) error) error {
	t, err := b.tree(1000)
	if err != nil {
		return err
	}
	c, _, err := b.client(t)
	for round := 0; err == nil && round < rounds; round++ {
		err = b.inTurn(round, func(build build) error { return f(build, t, c) })
	}
	return err
}

// listed starts a knack over pipes, up to its first list.
func (b *bench) listed(knack string, t *tree) (*proc, error) {
	p, err := b.serve(knack, t)
	if err == nil {
		if err = p.call("tools/list", map[string]any{}, nil); err != nil {
			p.end()
		}
	}
	return p, err
}
