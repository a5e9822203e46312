package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// What is measured in a process of its own, as JSON on stdout.
type (
	refreshed struct {
		Millis, CPU float64 // of one refresh, in milliseconds
		Interval    float64 // seconds until the next
	}
	searched struct {
		P50, P99 float64 // milliseconds
		Heap     float64 // MB, of the index
	}
	heaped struct{ Metadata, Loaded float64 }
)

func within(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("usage: bench within refresh|search|heap DIR")
	}
	ctx := context.Background()
	source := dir.New(dir.Options{Root: skill.Root{Label: "dir-1", Scope: skill.ScopeProject, Dir: args[1], Shown: "skills"}, Required: true, Load: true})
	before := live()
	c := catalog.New([]catalog.Source{source}, catalog.Options{})
	if err := c.Refresh(ctx); err != nil {
		return err
	}
	v, err := c.View(ctx)
	if err != nil {
		return err
	}
	var result any
	switch args[0] {
	case "refresh":
		result, err = refreshes(ctx, c)
	case "search":
		result, err = searches(ctx, v)
	case "heap":
		result, err = heaps(ctx, v, before)
	default:
		err = fmt.Errorf("there is no measurement called %s", args[0])
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(result)
}

func refreshes(ctx context.Context, c *catalog.Catalog) (r refreshed, err error) {
	// What is younger than the clock's grain is read again, once.
	time.Sleep(skill.StampRacy)
	if err := c.Refresh(ctx); err != nil {
		return r, err
	}
	var wall, used []float64
	for range 5 {
		begun, cpu := time.Now(), processor()
		if err := c.Refresh(ctx); err != nil {
			return r, err
		}
		wall, used = append(wall, ms(time.Since(begun))), append(used, ms(processor()-cpu))
	}
	return refreshed{quantile(wall, .5), quantile(used, .5), c.Interval().Seconds()}, nil
}

// searches asks for three words of descriptions, every fourth with a letter
// dropped, and measures what the index holds.
func searches(ctx context.Context, v catalog.View) (s searched, err error) {
	before := live()
	if _, err := v.Search(ctx, catalog.Query{Text: "first", Limit: 10}); err != nil {
		return s, err
	}
	s.Heap = live() - before
	var took []float64
	for i := range 600 {
		e := v.Listed[(i*7919)%len(v.Listed)]
		words := strings.Fields(e.Description)
		at := min(i%5, max(len(words)-3, 0))
		query := strings.Join(words[at:min(at+3, len(words))], " ")
		if i%4 == 0 && len(query) > 8 {
			query = query[:len(query)/2] + query[len(query)/2+1:]
		}
		begun := time.Now()
		if _, err := v.Search(ctx, catalog.Query{Text: query, Limit: 10}); err != nil {
			return s, err
		}
		took = append(took, ms(time.Since(begun)))
	}
	s.P50, s.P99 = quantile(took, .5), quantile(took, .99)
	return s, nil
}

func heaps(ctx context.Context, v catalog.View, before float64) (h heaped, err error) {
	h.Metadata = live() - before
	var texts [][]byte
	for _, e := range v.Listed[:100] {
		data, _, err := v.Read(ctx, e)
		if err != nil {
			return h, err
		}
		texts = append(texts, data)
	}
	h.Loaded = live() - before - h.Metadata
	runtime.KeepAlive(texts)
	runtime.KeepAlive(v)
	return h, nil
}

// live is the heap that the collector cannot free, in MB.
func live() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}
