package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/knack-dev/knack/tool"
)

// start measures a process from its start to its first list, and its memory at that point. It
// measures the memory again after a search, when the folders are watched.
func (b *bench) start() (rows []row, err error) {
	for _, c := range []struct {
		n                       int
		floor                   string
		limit, listing, settled float64
	}{
		{10, "", 10, 20, 22},
		{100, "", 12, 20, 24},
		{1000, "", 22, 22, 36},
		{b.size(10_000), "skillmd", 1, 40, 72},
		{b.size(100_000), "skillmd", 1, 160, 200},
	} {
		t, err := b.tree(c.n)
		if err != nil {
			return nil, err
		}
		for round := range b.rounds * map[bool]int{true: 3, false: 1}[c.n <= 1000] { // milliseconds need more rounds
			floor, err := b.scanFloor("skillmd", t)
			if err != nil {
				return nil, err
			}
			b.add(key("list", c.n)+"/skillmd", floor)
			if err := b.inTurn(round, func(build build) error { return b.startOnce(build, t, round < b.rounds) }); err != nil {
				return nil, err
			}
		}
		n := count(c.n) + " skills"
		first := b.absolute("start → initialize + tools/list, "+n, key("list", c.n), "ms", 1, c.limit)
		if c.floor != "" {
			first = b.relative("start → initialize + tools/list, "+n, key("list", c.n), c.floor, "ms", c.limit)
		}
		rows = append(rows, b.compared(first, key("list", c.n), 1.1), b.absolute("its processor time", key("cpu", c.n), "ms", 0, 0),
			b.compared(b.absolute("peak memory, "+n+" listed", key("listed", c.n), "MB", 1, c.listing), key("listed", c.n), 1),
			b.compared(b.absolute("of it without the program's pages", key("own", c.n), "MB", 1, 0), key("own", c.n), 1),
			b.compared(b.absolute("peak memory, "+n+" searched and watched", key("settled", c.n), "MB", 1, c.settled), key("settled", c.n), 1))
	}
	return rows, nil
}

func (b *bench) startOnce(build build, t *tree, settle bool) error {
	// Without built-in skills, a list that came before the tree's skills is recognized.
	p, err := b.serve(build.knack, t, "--no-builtin")
	if err != nil {
		return err
	}
	defer p.end()
	// If a scan takes longer than the server makes a client wait, the first list is incomplete and
	// says so. The measurement ends with the complete list.
	for lacks := true; lacks; {
		var list json.RawMessage
		if err := p.call("tools/list", map[string]any{}, &list); err != nil {
			return err
		}
		if time.Since(p.begun) > time.Minute {
			return fmt.Errorf("no skills within a minute: %.100s", list)
		}
		if lacks = bytes.Contains(list, []byte("(none)")) || bytes.Contains(list, []byte(tool.MetaIncomplete)); lacks {
			time.Sleep(5 * time.Millisecond)
		}
	}
	add := func(what string, v float64) { b.add(key(what, t.n)+"/"+build.name, v) }
	add("list", ms(time.Since(p.begun)))
	add("cpu", p.processor())
	add("listed", p.memory("VmHWM"))
	add("own", p.memory("RssAnon"))
	if !settle {
		return nil
	}
	if err := p.call("tools/call", map[string]any{"name": "find_skills", "arguments": map[string]any{"query": "review data"}}, nil); err != nil {
		return err
	}
	time.Sleep(settles + time.Second) // until the folders are watched
	add("settled", p.memory("VmHWM"))
	return nil
}

// manifests measures the time from the start of a server until it has listed the digest of every
// file.
func (b *bench) manifests() ([]row, error) {
	n := b.size(10_000)
	t, err := b.tree(n)
	if err != nil {
		return nil, err
	}
	for round := range b.rounds {
		floor, err := b.scanFloor("all", t)
		if err != nil {
			return nil, err
		}
		b.add("manifests/all", floor)
		if err := b.inTurn(round, func(build build) error { return b.manifestsOnce(build, t) }); err != nil {
			return nil, err
		}
	}
	what := fmt.Sprintf("full manifests of %s skills, from the start to the last page", count(n))
	return []row{b.relative(what, "manifests", "all", "ms", 1.3), b.absolute("its processor time", "manifests/cpu", "ms", 0, 0)}, nil
}

func (b *bench) manifestsOnce(build build, t *tree) error {
	p, err := b.serve(build.knack, t, "--no-builtin")
	if err != nil {
		return err
	}
	defer p.end()
	skills, cursor := 0, ""
	for page := 0; page == 0 || cursor != ""; page++ {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		if _, err := p.in.Write(append(message(page+10, "skills/list", params), '\n')); err != nil {
			return err
		}
		// The floor passes nothing to a client, so the client does as little as possible with a
		// page.
		line, err := p.answer()
		if err != nil {
			return err
		}
		skills += bytes.Count(line, []byte(`"frontmatter":`))
		_, rest, _ := bytes.Cut(line, []byte(`"nextCursor":"`))
		text, _, _ := bytes.Cut(rest, []byte(`"`))
		cursor = string(text)
	}
	b.add("manifests/"+build.name, ms(time.Since(p.begun)))
	b.add("manifests/cpu/"+build.name, p.processor())
	if skills != t.n {
		return fmt.Errorf("%d of %d skills are listed", skills, t.n)
	}
	return nil
}
