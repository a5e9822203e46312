package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// refresh measures the processor time of servers that get no requests and only refresh every 30 s.
// All servers run at the same time, since they are mostly idle.
func (b *bench) refresh() (rows []row, err error) {
	const intervals, interval = 2, 30 * time.Second
	idle := map[string]*proc{}
	defer func() {
		for _, p := range idle {
			p.end()
		}
	}()
	sizes := []int{b.size(10_000), b.size(100_000)}
	for _, n := range sizes {
		if _, err := b.tree(n); err != nil {
			return nil, err
		}
	}
	for i, build := range b.builds {
		if i > 0 {
			// A refresh just after another one of the same tree takes half as long, since the
			// folders are in the processor's caches.
			time.Sleep(interval / 2)
		}
		for _, n := range sizes {
			if idle[key("refresh", n)+"/"+build.name], err = b.startListed(build.knack, b.trees[n]); err != nil {
				return nil, err
			}
		}
	}
	time.Sleep(interval / 2) // until all folders are watched and scanned again
	for _, sign := range []float64{-1, 1} {
		for key, p := range idle {
			b.add(key, sign*p.processor()/intervals)
		}
		if sign < 0 {
			time.Sleep(intervals * interval)
		}
	}
	for key := range idle {
		b.samples[key] = []float64{b.samples[key][0] + b.samples[key][1]}
	}
	for _, n := range sizes {
		floor, err := b.scanFloor("stat", b.trees[n])
		if err != nil {
			return nil, err
		}
		r := b.compared(b.absolute(fmt.Sprintf("processor of an idle server of %s skills, each 30 s", count(n)), key("refresh", n), "ms", 0, 300), key("refresh", n), 1.1)
		r.got += fmt.Sprintf(" (the stat floor takes %.0f on all processors)", floor)
		rows = append(rows, r)
	}
	return rows, nil
}

// across calls the tool skill every 5 ms during refreshes, for a different skill each time. It
// sends a request to the read floor right after each call, to show how long the machine itself
// takes. If that is over 8 ms, the slowest call shows nothing about knack.
func (b *bench) across() ([]row, error) {
	var rows []row
	for _, n := range []int{1000, b.size(10_000)} {
		t, err := b.tree(n)
		if err != nil {
			return nil, err
		}
		wrong, err := b.acrossOnce(t)
		if err != nil {
			return nil, err
		}
		series := key("across", n)
		worst, floor := slices.Max(b.samples[series+"/"+ours]), slices.Max(b.samples[series+"/read"])
		r := row{what: fmt.Sprintf("calls across refreshes, %s skills", count(n)), target: "0 wrong, none over 15 ms if the floor's are under 8",
			got: fmt.Sprintf("%d of %s wrong, slowest %.1f ms, p99.9 %.1f (the read floor between them %.1f, %.1f)", wrong, count(len(b.samples[series+"/"+ours])), worst,
				quantile(b.samples[series+"/"+ours], .999), floor, quantile(b.samples[series+"/read"], .999)), verdict: judge(max(float64(wrong)*100, worst), 15)}
		if wrong == 0 && worst > 15 && floor > 8 {
			r.verdict = "the machine was busy"
		}
		if was := b.samples[series+"/"+old]; was != nil {
			r.before = fmt.Sprintf("slowest %.1f ms, p99.9 %.1f", slices.Max(was), quantile(was, .999))
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (b *bench) acrossOnce(t *tree) (wrong int, err error) {
	c, table, err := b.client(t)
	if err != nil {
		return 0, err
	}
	sides := map[string]*proc{}
	defer func() {
		for _, p := range sides {
			p.end()
		}
	}()
	for _, build := range b.builds {
		if sides[build.name], err = b.startListed(build.knack, t); err != nil {
			return 0, err
		}
	}
	if sides["read"], err = start(b.ctx, t.home, b.floor, "read", table); err != nil {
		return 0, err
	}
	// A folder that appears and disappears makes the watchers trigger refreshes in addition to the
	// one every 30 s.
	poke := filepath.Join(t.root, "comes-and-goes")
	defer os.Remove(poke)
	time.Sleep(settles)
	end := time.Now().Add(time.Duration(max(b.size(36), 10)) * time.Second)
	for i := 0; time.Now().Before(end); i++ {
		if i%200 == 0 && os.Mkdir(poke, 0o755) != nil {
			os.Remove(poke)
		}
		for _, side := range slices.Sorted(maps.Keys(sides)) {
			begun := time.Now()
			_, answer, err := sides[side].ask(c, kind{method: "tools/call", era: legacy})
			if err != nil {
				return 0, err
			}
			b.add(key("across", t.n)+"/"+side, ms(time.Since(begun)))
			if side == ours && !strings.Contains(string(answer), "Loading: "+c.all[c.next%len(c.all)].Name+`\n`) {
				wrong++
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return wrong, nil
}

// changes measures the time from a write on disk until a search finds the new text.
func (b *bench) changes() ([]row, error) {
	n := b.size(10_000)
	t, err := b.tree(n)
	if err != nil {
		return nil, err
	}
	for round := range b.rounds {
		if err := b.inTurn(round, func(build build) error { return b.changeOf(build, t, round) }); err != nil {
			return nil, err
		}
	}
	return []row{b.compared(b.absolute(fmt.Sprintf("one changed skill among %s visible", count(n)), "change", "ms", 0, 500), "change", 1.1)}, nil
}

func (b *bench) changeOf(build build, t *tree, round int) error {
	p, err := b.startListed(build.knack, t)
	if err != nil {
		return err
	}
	defer p.end()
	time.Sleep(2 * settles) // until the folders are watched
	s := t.options.At(t.n / 2)
	file := filepath.Join(t.root, filepath.FromSlash(s.Path), "SKILL.md")
	was, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	defer func() { _ = os.WriteFile(file, was, 0o644) }()
	word := fmt.Sprintf("zyxquark%s%d", build.name, round)
	text := fmt.Sprintf("---\nname: %s\ndescription: Says %s.\n---\n\n# Changed\n", s.Name, word)
	begun := time.Now()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	for seen := false; !seen; time.Sleep(5 * time.Millisecond) {
		var res json.RawMessage
		if err := p.call("tools/call", map[string]any{"name": "find_skills", "arguments": map[string]any{"query": word}}, &res); err != nil {
			return err
		}
		if time.Since(begun) > 40*time.Second {
			return fmt.Errorf("a change was not seen within 40 s")
		}
		seen = strings.Contains(string(res), "Says "+word)
	}
	b.add("change/"+build.name, ms(time.Since(begun)))
	return nil
}
