package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// asked is how many different skills the calls of one measurement name.
const asked = 100

// settles is how long a server has before its calls are measured: a second and a half
// after the first scan it registers its watchers and scans once more.
const settles = 3 * time.Second

// save writes answers as a floor reads them.
func save(file string, answers [][]byte) error {
	var b bytes.Buffer
	for _, a := range answers {
		b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(a))))
		b.Write(a)
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// stdio measures calls of the tool skill over pipes, one at a time and 32 at once.
func (b *bench) stdio() ([]row, error) {
	t, err := b.tree(1000)
	if err != nil {
		return nil, err
	}
	p, err := b.serve(t)
	if err != nil {
		return nil, err
	}
	defer p.end()
	c := &calls{}
	for i := range asked {
		c.requests = append(c.requests, message(1000+i, "tools/call", map[string]any{"name": "skill", "arguments": map[string]any{"name": t.skill(i * 7).Name}}))
	}
	if _, err := p.pipe(c, asked, 1, true); err != nil {
		return nil, err
	}
	for i, a := range c.answers {
		if !strings.Contains(string(a), "Loading: "+t.skill(i*7).Name) {
			return nil, fmt.Errorf("asked for %s, got %.200s", t.skill(i*7).Name, a)
		}
	}
	file := filepath.Join(b.work, "stdio.answers")
	if err := save(file, c.answers); err != nil {
		return nil, err
	}
	f, err := start(t.home, b.floor, "stdio", file)
	if err != nil {
		return nil, err
	}
	defer f.end()
	n := map[bool]int{false: 4000, true: 800}[b.quick]
	time.Sleep(settles)
	for range b.rounds {
		for _, side := range []struct {
			name string
			p    *proc
		}{{"floor", f}, {"knack", p}} {
			for _, window := range []int{1, 32} {
				took, err := side.p.pipe(c, n/window*window, window, false)
				if err != nil {
					return nil, err
				}
				each := make([]float64, len(took))
				for i, d := range took {
					each[i] = ms(d) * 1000
				}
				b.add(fmt.Sprintf("stdio/%s/%d", side.name, window), quantile(each, .5))
				b.add(fmt.Sprintf("stdio/%s/%d/p99", side.name, window), quantile(each, .99))
			}
		}
	}
	one, floor := b.median("stdio/knack/1"), b.median("stdio/floor/1")
	many, floors := b.median("stdio/knack/32"), b.median("stdio/floor/32")
	return []row{
		{"tools/call skill over stdio, one at a time", "0.15 ms", "≤ 1.3 × the stdio floor",
			fmt.Sprintf("%.2f × (%.0f µs of %.0f; p99 %.0f of %.0f)", one/floor, one, floor, b.median("stdio/knack/1/p99"), b.median("stdio/floor/1/p99")), judge(one/floor, 1.3)},
		{"32 pipelined calls over stdio", "SDK 25–32 × the floor", "≤ 1.5 × the stdio floor",
			fmt.Sprintf("%.2f × (%.0f µs of %.0f)", many/floors, many, floors), judge(many/floors, 1.5)},
	}, nil
}

// served is a server that listens.
type served struct {
	*proc
	addr string
}

// serveHTTP starts knack over HTTP.
func (b *bench) serveHTTP(t *tree) (*served, error) {
	p := &proc{cmd: exec.Command(b.knack, "serve", "--http", "127.0.0.1:0"), begun: time.Now()}
	p.cmd.Env = []string{"HOME=" + t.home}
	p.cmd.Dir = t.home
	said, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	buf := make([]byte, 4096)
	text := ""
	for !strings.Contains(text, "/mcp") {
		n, err := said.Read(buf)
		if err != nil {
			return nil, fmt.Errorf("knack serve --http said %q: %w", text, err)
		}
		text += string(buf[:n])
	}
	_, rest, _ := strings.Cut(text, "http://")
	addr, _, _ := strings.Cut(rest, "/mcp")
	go func() { // a full pipe would hold it up
		for {
			if _, err := said.Read(buf); err != nil {
				return
			}
		}
	}()
	return &served{p, addr}, nil
}

func (s *served) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	ended := make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(15 * time.Second):
		_ = s.cmd.Process.Kill()
		<-ended
	}
}

// http measures three methods over 16 connections, in both eras.
func (b *bench) http() ([]row, error) {
	t, err := b.tree(1000)
	if err != nil {
		return nil, err
	}
	s, err := b.serveHTTP(t)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	session, err := b.session(s.addr)
	if err != nil {
		return nil, err
	}
	uris, err := b.uris(t)
	if err != nil {
		return nil, err
	}
	time.Sleep(settles)
	var rows []row
	for _, era := range []string{modern, legacy} {
		for _, method := range []string{"skills/get", "resources/read", "tools/call"} {
			r, err := b.httpMethod(s, t, uris, era, session, method)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", era, method, err)
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// session begins a session of the older era.
func (b *bench) session(addr string) (string, error) {
	resp, body, err := once(addr, httpCall(addr, nil, 0, message(1, "initialize", hello())))
	if err != nil {
		return "", err
	}
	id := resp.Header.Get("Mcp-Session-Id")
	if id == "" {
		return "", fmt.Errorf("no session: %s", body)
	}
	_, _, err = once(addr, httpCall(addr, map[string]string{"Mcp-Session-Id": id, "Mcp-Protocol-Version": legacy}, 0, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)))
	return id, err
}

// uris asks for those of the skills that are called for.
func (b *bench) uris(t *tree) (map[string]string, error) {
	p, err := b.serve(t)
	if err != nil {
		return nil, err
	}
	defer p.end()
	out := map[string]string{}
	for cursor := ""; ; {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		res, err := p.call("resources/list", params)
		if err != nil {
			return nil, err
		}
		var page struct {
			Resources  []struct{ Name, URI string }
			NextCursor string
		}
		if err := json.Unmarshal(res, &page); err != nil {
			return nil, err
		}
		for _, r := range page.Resources {
			out[r.Name] = r.URI
		}
		if cursor = page.NextCursor; cursor == "" {
			return out, nil
		}
	}
}

const connections = 16

// question are the headers and parameters of one call.
func question(uris map[string]string, name, era, session, method string) (header map[string]string, params map[string]any) {
	header = map[string]string{"Mcp-Protocol-Version": era}
	params = map[string]any{"uri": uris[name]}
	shown := uris[name]
	if method == "tools/call" {
		params, shown = map[string]any{"name": "skill", "arguments": map[string]any{"name": name}}, "skill"
	}
	if era != modern {
		header["Mcp-Session-Id"] = session
		return header, params
	}
	header["Mcp-Method"] = method
	if method != "skills/get" {
		header["Mcp-Name"] = shown
	}
	params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": era, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
		"io.modelcontextprotocol/clientInfo": map[string]any{"name": "bench", "version": "1"}}
	return header, params
}

func (b *bench) httpMethod(s *served, t *tree, uris map[string]string, era, session, method string) (row, error) {
	var answers [][]byte
	kind := ""
	ours := make([][][]byte, connections)
	for i := range asked {
		header, params := question(uris, t.skill(i*7).Name, era, session, method)
		for c := range ours {
			ours[c] = append(ours[c], httpCall(s.addr, header, i, message(1000+c*asked+i, method, params)))
		}
		resp, body, err := once(s.addr, ours[0][i])
		if err != nil {
			return row{}, err
		}
		if bytes.Contains(body, []byte(`"error":`)) && !bytes.Contains(body, []byte(`"result":`)) {
			return row{}, fmt.Errorf("%s", body)
		}
		kind = resp.Header.Get("Content-Type")
		answers = append(answers, body)
	}
	file := filepath.Join(b.work, "http.answers")
	if err := save(file, answers); err != nil {
		return row{}, err
	}
	f, err := start(b.work, b.floor, "http", file)
	if err != nil {
		return row{}, err
	}
	defer f.end()
	line, err := f.line()
	if err != nil {
		return row{}, err
	}
	addr := strings.TrimSpace(string(line))
	theirs := make([][][]byte, connections)
	for i := range asked {
		header, params := question(uris, t.skill(i*7).Name, era, session, method)
		header["X-Type"] = kind
		for c := range theirs {
			theirs[c] = append(theirs[c], httpCall(addr, header, i, message(1000+c*asked+i, method, params)))
		}
	}
	n := map[bool]int{false: 1000, true: 200}[b.quick]
	at := "http/" + era + "/" + method + "/"
	for range b.rounds {
		for _, side := range []struct {
			name, addr string
			requests   [][][]byte
		}{{"floor", addr, theirs}, {"knack", s.addr, ours}} {
			all, each, err := load(side.addr, side.requests, n)
			if err != nil {
				return row{}, fmt.Errorf("%s: %w", side.name, err)
			}
			b.add(at+side.name, ms(all)/float64(connections*n)*1000)
			took := make([]float64, len(each))
			for i, d := range each {
				took[i] = ms(d)
			}
			b.add(at+side.name+"/p99", quantile(took, .99))
		}
	}
	ratio, tail := b.median(at+"knack")/b.median(at+"floor"), b.median(at+"knack/p99")/b.median(at+"floor/p99")
	got := fmt.Sprintf("%.2f × (%.0f µs of %.0f); p99 %.2f × (%.2f ms of %.2f)", ratio, b.median(at+"knack"), b.median(at+"floor"), tail, b.median(at+"knack/p99"), b.median(at+"floor/p99"))
	if era == legacy {
		return row{"HTTP, 16 connections, in a session of " + era + ": " + method, "–", "≤ 2 × the HTTP floor", got, judge(ratio, 2)}, nil
	}
	return row{"HTTP, 16 connections, " + era + ": " + method, "Go SDK 9.2 ×, TypeScript server 8.8 ×", "≤ 1.25 × the HTTP floor, p99 ≤ 2 ×", got, judge(max(ratio/1.25, tail/2), 1)}, nil
}
