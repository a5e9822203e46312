package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// inside runs a measurement in a fresh process of this program's own.
func (b *bench) inside(into any, args ...string) error {
	out, err := exec.Command(b.self, append([]string{"within"}, args...)...).Output()
	if err != nil {
		return fmt.Errorf("within %s: %w", strings.Join(args, " "), err)
	}
	return json.Unmarshal(out, into)
}

// refresh measures a look at a tree in which nothing has changed.
func (b *bench) refresh() ([]row, error) {
	var rows []row
	for _, n := range []int{b.size(10_000), b.size(100_000)} {
		t, err := b.tree(n)
		if err != nil {
			return nil, err
		}
		for range b.rounds {
			floor, err := b.scanFloor("stat", t)
			if err != nil {
				return nil, err
			}
			var got refreshed
			if err := b.inside(&got, "refresh", t.root); err != nil {
				return nil, err
			}
			b.add(key("stat", n), floor)
			b.add(key("refresh", n), got.Millis)
			b.add(key("refresh-cpu", n), got.CPU)
			b.add(key("interval", n), got.Interval)
		}
		ratio := b.median(key("refresh", n)) / b.median(key("stat", n))
		rows = append(rows, row{fmt.Sprintf("refresh of an unchanged tree of %s skills", count(n)), "full re-read", "≤ 0.5 × the stat floor",
			fmt.Sprintf("%.2f × (%.0f ms of %.0f)", ratio, b.median(key("refresh", n)), b.median(key("stat", n))), judge(ratio, .5)})
		share := b.median(key("refresh-cpu", n)) / 1000 / b.median(key("interval", n)) * 100
		rows = append(rows, row{fmt.Sprintf("processor for refreshes of %s skills", count(n)), "–", "< 1 %",
			fmt.Sprintf("%.2f %% (%.0f ms each %.0f s)", share, b.median(key("refresh-cpu", n)), b.median(key("interval", n))), judge(share, 1)})
	}
	return rows, nil
}

// across calls the tool skill every 5 ms while refreshes go on, and the stdio floor
// right after it: what the machine itself takes of a processor shows there.
func (b *bench) across() ([]row, error) {
	var rows []row
	for _, n := range []int{1000, b.size(10_000)} {
		t, err := b.tree(n)
		if err != nil {
			return nil, err
		}
		got, err := b.acrossOnce(t)
		if err != nil {
			return nil, err
		}
		elsewhere := map[int]string{1000: "26 of 5,340", 10_000: "183 of 5,340"}[n]
		worst, floor := slices.Max(got.knack), slices.Max(got.floor)
		rows = append(rows, row{fmt.Sprintf("wrong answers across refreshes, %s skills", count(n)), elsewhere, "0, no call over 15 ms",
			fmt.Sprintf("%d of %s, slowest %.1f ms, p99.9 %.1f (the stdio floor between them %.1f, %.1f)",
				got.wrong, count(len(got.knack)), worst, quantile(got.knack, .999), floor, quantile(got.floor, .999)),
			judge(max(float64(got.wrong)*100, worst), 15)})
	}
	return rows, nil
}

// acrossed is what calls across refreshes took, in milliseconds.
type acrossed struct {
	knack, floor []float64
	wrong        int
}

func (b *bench) acrossOnce(t *tree) (got acrossed, err error) {
	p, err := b.serve(t)
	if err != nil {
		return got, err
	}
	defer p.end()
	if _, err := p.call("tools/list", map[string]any{}); err != nil {
		return got, err
	}
	c := &calls{}
	for i := range asked {
		c.requests = append(c.requests, message(1_000_000+i, "tools/call", map[string]any{"name": "skill", "arguments": map[string]any{"name": t.skill((i * 7919) % t.n).Name}}))
	}
	if _, err := p.pipe(c, asked, 1, true); err != nil {
		return got, err
	}
	file := filepath.Join(b.work, "across.answers")
	if err := save(file, c.answers); err != nil {
		return got, err
	}
	f, err := start(t.home, b.floor, "stdio", file)
	if err != nil {
		return got, err
	}
	defer f.end()
	// A folder that comes and goes has the watchers ask for a refresh, besides the
	// one that comes every 30 s.
	poke := filepath.Join(t.root, "comes-and-goes")
	defer os.Remove(poke)
	time.Sleep(settles) // what was just written is read again, once
	end := time.Now().Add(map[bool]time.Duration{false: 36 * time.Second, true: 5 * time.Second}[b.quick])
	for i := 0; time.Now().Before(end); i++ {
		if i%200 == 0 {
			if os.Mkdir(poke, 0o755) != nil {
				os.Remove(poke)
			}
		}
		s := t.skill((i * 7919) % t.n)
		begun := time.Now()
		res, err := p.call("tools/call", map[string]any{"name": "skill", "arguments": map[string]any{"name": s.Name}})
		if err != nil {
			return got, err
		}
		got.knack = append(got.knack, ms(time.Since(begun)))
		if !strings.Contains(string(res), "Loading: "+s.Name+`\n`) {
			got.wrong++
		}
		took, err := f.pipe(c, 1, 1, false)
		if err != nil {
			return got, err
		}
		got.floor = append(got.floor, ms(took[0]))
		time.Sleep(5 * time.Millisecond)
	}
	return got, nil
}

// change measures from a write on disk until a search finds what was written.
func (b *bench) change() ([]row, error) {
	n := b.size(10_000)
	t, err := b.tree(n)
	if err != nil {
		return nil, err
	}
	p, err := b.serve(t)
	if err != nil {
		return nil, err
	}
	defer p.end()
	if _, err := p.call("tools/list", map[string]any{}); err != nil {
		return nil, err
	}
	time.Sleep(4 * time.Second) // until the folders are watched
	s := t.skill(n / 2)
	file := filepath.Join(t.root, filepath.FromSlash(s.Path), "SKILL.md")
	was, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.WriteFile(file, was, 0o644) }()
	for i := range b.rounds {
		word := fmt.Sprintf("zyxquark%d", i)
		text := fmt.Sprintf("---\nname: %s\ndescription: Says %s.\n---\n\n# Changed\n", s.Name, word)
		begun := time.Now()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return nil, err
		}
		for {
			res, err := p.call("tools/call", map[string]any{"name": "find_skills", "arguments": map[string]any{"query": word}})
			if err != nil {
				return nil, err
			}
			if strings.Contains(string(res), "Says "+word) {
				break
			}
			if time.Since(begun) > 40*time.Second {
				return nil, fmt.Errorf("a change was not seen within 40 s")
			}
			time.Sleep(5 * time.Millisecond)
		}
		b.add("change", ms(time.Since(begun)))
		time.Sleep(time.Second)
	}
	got := b.median("change")
	return []row{{fmt.Sprintf("one changed skill among %s visible", count(n)), "≤ 30 s", "≤ 500 ms with the watcher",
		fmt.Sprintf("%.0f ms", got), judge(got, 500)}}, nil
}

// search measures queries against a catalogue.
func (b *bench) search() ([]row, error) {
	var rows []row
	for _, c := range []struct {
		n         int
		elsewhere string
		p50, p99  float64
		heap      float64
	}{{b.size(10_000), "bleve 0.18 / 1.3 ms, +70 MB", .1, 1, 8}, {b.size(100_000), "bleve 1.7 / 11.8 ms", .5, 5, 50}} {
		t, err := b.tree(c.n)
		if err != nil {
			return nil, err
		}
		var got searched
		if err := b.inside(&got, "search", t.root); err != nil {
			return nil, err
		}
		rows = append(rows, row{fmt.Sprintf("search, %s skills, p50 / p99", count(c.n)), c.elsewhere, fmt.Sprintf("≤ %g / %g ms", c.p50, c.p99),
			fmt.Sprintf("%.3f / %.2f ms", got.P50, got.P99), judge(max(got.P50/c.p50, got.P99/c.p99), 1)},
			row{fmt.Sprintf("the index of %s skills", count(c.n)), "–", fmt.Sprintf("≤ %g MB", c.heap), fmt.Sprintf("%.1f MB", got.Heap), judge(got.Heap, c.heap)})
	}
	return rows, nil
}

// heap measures what stays in memory.
func (b *bench) heap() ([]row, error) {
	t, err := b.tree(1000)
	if err != nil {
		return nil, err
	}
	var got heaped
	if err := b.inside(&got, "heap", t.root); err != nil {
		return nil, err
	}
	return []row{
		{"live heap: metadata of 1,000 skills", "contract 003: 10 MB", "≤ 1.5 MB", fmt.Sprintf("%.2f MB", got.Metadata), judge(got.Metadata, 1.5)},
		{"live heap: 100 loaded skills", "contract 003: 50 MB", "≤ 2 MB", fmt.Sprintf("%.2f MB", got.Loaded), judge(got.Loaded, 2)},
	}, nil
}
