package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// start measures a process from its start to its first answers, and its memory.
func (b *bench) start() ([]row, error) {
	trees := make([]*tree, len(b.growth))
	for i, n := range b.growth {
		t, err := b.tree(n)
		if err != nil {
			return nil, err
		}
		trees[i] = t
	}
	for range b.rounds {
		for _, t := range trees {
			repeat := 1
			if t.n <= 1000 {
				repeat = 3 // milliseconds: one is soon spoilt
			}
			// A tree that comes after another one is in no processor's cache, and whoever
			// is measured first would pay for both.
			if _, err := b.scanFloor("skillmd", t); err != nil {
				return nil, err
			}
			for range repeat {
				if err := b.startOnce(t); err != nil {
					return nil, err
				}
			}
		}
	}
	var rows []row
	for _, c := range []struct {
		n         int
		elsewhere string
		limit     float64
	}{{10, "universal-skills 184 ms", 10}, {100, "221 ms", 12}, {1000, "502 ms", 22}} {
		if got := b.median(key("list", c.n)); got > 0 {
			rows = append(rows, row{fmt.Sprintf("start → initialize + tools/list, %s skills", count(c.n)), c.elsewhere,
				fmt.Sprintf("≤ %g ms", c.limit), fmt.Sprintf("%.1f ms", got), judge(got, c.limit)})
		}
	}
	for _, c := range []struct {
		n         int
		elsewhere string
	}{{10_000, "2,434 ms"}, {100_000, "–"}} {
		got := b.median(key("list", c.n))
		if got == 0 {
			continue
		}
		ratio := got / b.median(key("skillmd", c.n))
		rows = append(rows, row{fmt.Sprintf("start → initialize + tools/list, %s, nested folders walked", count(c.n)), c.elsewhere,
			"≤ 1.0 × the skillmd floor", fmt.Sprintf("%.2f × (%.0f ms of %.0f)", ratio, got, b.median(key("skillmd", c.n))), judge(ratio, 1)})
		init := b.median(key("init", c.n))
		rows = append(rows, row{fmt.Sprintf("initialize alone, %s", count(c.n)), "–", "≤ 12 ms", fmt.Sprintf("%.1f ms", init), judge(init, 12)})
	}
	for _, c := range []struct {
		what      string
		n         int
		elsewhere string
		limit     float64
	}{{"listed", 10, "77 MB", 20}, {"listed", 1000, "88 MB", 22}, {"listed", 10_000, "148 MB", 40}, {"searched", 100_000, "–", 200}} {
		if got := b.median(key(c.what, c.n)); got > 0 {
			rows = append(rows, row{fmt.Sprintf("peak memory, %s skills %s", count(c.n), c.what), c.elsewhere,
				fmt.Sprintf("≤ %g MB", c.limit), fmt.Sprintf("%.1f MB", got), judge(got, c.limit)})
		}
	}
	return rows, nil
}

func key(what string, n int) string { return fmt.Sprintf("%s/%d", what, n) }

func (b *bench) startOnce(t *tree) error {
	floor, err := b.scanFloor("skillmd", t)
	if err != nil {
		return err
	}
	b.add(key("skillmd", t.n), floor)
	// Without skills of its own, so that a list which came before those of the tree shows.
	p, err := start(t.home, b.knack, "serve", "--no-builtin")
	if err != nil {
		return err
	}
	defer p.end()
	init, err := p.initialize()
	if err != nil {
		return err
	}
	res, err := p.call("tools/list", map[string]any{})
	if err != nil {
		return err
	}
	// Of a tree that takes longer than the server makes a client wait, the first list is
	// one without it; what counts is the one with it.
	for bytes.Contains(res, []byte("(none)")) && time.Since(p.begun) < time.Minute {
		time.Sleep(5 * time.Millisecond)
		if res, err = p.call("tools/list", map[string]any{}); err != nil {
			return err
		}
	}
	took := time.Since(p.begun)
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(res, &list); err != nil || len(list.Tools) == 0 {
		return fmt.Errorf("tools/list answered %.100s", res)
	}
	if bytes.Contains(res, []byte("(none)")) {
		return errors.New("the list came before the skills: this machine is too busy to be measured on")
	}
	b.add(key("listed", t.n), p.peak())
	b.add(key("init", t.n), ms(init))
	b.add(key("list", t.n), ms(took))
	// The index is built off the start path; the search waits for it.
	if _, err := p.call("tools/call", map[string]any{"name": "find_skills", "arguments": map[string]any{"query": "review data"}}); err != nil {
		return err
	}
	b.add(key("searched", t.n), p.peak())
	return nil
}

// manifests measures the way to every file's digest, from the start on.
func (b *bench) manifests() ([]row, error) {
	n := b.size(10_000)
	t, err := b.tree(n)
	if err != nil {
		return nil, err
	}
	for range b.rounds {
		floor, err := b.scanFloor("all", t)
		if err != nil {
			return nil, err
		}
		b.add("all", floor)
		took, skills, err := b.allManifests(t)
		if err != nil {
			return nil, err
		}
		if skills != n {
			return nil, fmt.Errorf("%d of %d skills are listed", skills, n)
		}
		b.add("manifests", ms(took))
	}
	ratio := b.median("manifests") / b.median("all")
	return []row{{fmt.Sprintf("full manifests of %s skills, cold, to the last page", count(n)), "–", "≤ 1.1 × the all floor",
		fmt.Sprintf("%.2f × (%.0f ms of %.0f)", ratio, b.median("manifests"), b.median("all")), judge(ratio, 1.1)}}, nil
}

func (b *bench) allManifests(t *tree) (time.Duration, int, error) {
	p, err := start(t.home, b.knack, "serve", "--no-builtin")
	if err != nil {
		return 0, 0, err
	}
	defer p.end()
	if _, err := p.initialize(); err != nil {
		return 0, 0, err
	}
	// The floor hands nothing to anybody. So the pages are only looked through for the
	// cursor while the clock runs, and read when it has stopped.
	var pages [][]byte
	var cursors []string
	for cursor := ""; len(pages) == 0 || cursor != ""; cursors = append(cursors, cursor) {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		if _, err := p.in.Write(append(message(len(pages)+10, "skills/list", params), '\n')); err != nil {
			return 0, 0, err
		}
		line, err := p.line()
		for err == nil && bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","method"`)) {
			line, err = p.line()
		}
		if err != nil {
			return 0, 0, err
		}
		pages = append(pages, bytes.Clone(line))
		cursor = ""
		if _, rest, ok := bytes.Cut(line, []byte(`"nextCursor":"`)); ok {
			text, _, _ := bytes.Cut(rest, []byte(`"`))
			cursor = string(text)
		}
	}
	took, skills := time.Since(p.begun), 0
	for i, line := range pages {
		var page struct {
			Result struct {
				Skills     []struct{ URI string }
				NextCursor string
			}
		}
		if err := json.Unmarshal(line, &page); err != nil {
			return 0, 0, err
		}
		if page.Result.NextCursor != cursors[i] {
			return 0, 0, fmt.Errorf("page %d of skills/list leads to %q, and %q was asked for", i, page.Result.NextCursor, cursors[i])
		}
		skills += len(page.Result.Skills)
	}
	return took, skills, nil
}

// size is n, or a tenth for trying.
func (b *bench) size(n int) int {
	if b.quick {
		return n / 10
	}
	return n
}
