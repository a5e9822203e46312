package mcpserver_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
)

// The limits of contract 002. Each benchmark measures end to end and fails beyond its limit: with a
// real folder and the catalogue, and for a call also with the protocol on both ends.
const (
	limitLookup  = 100 * time.Millisecond
	limitScan    = time.Second
	limitRefresh = time.Second
	limitHeapMB  = 10.0
)

// hundred returns a folder of a hundred skills. They have the median size of real skills: a
// SKILL.md of 5.8 kB, a description of 276 characters, and one more file.
func hundred(b *testing.B) string {
	files := map[string]string{}
	for i := range 100 {
		name := fmt.Sprintf("skill-%03d", i)
		files[name+"/SKILL.md"] = skillMD(name, strings.Repeat("Does one thing well. ", 13), strings.Repeat("Do this, then that, and look at the result.\n", 125))
		files[name+"/reference.md"] = strings.Repeat("More about it.\n", 100)
	}
	return tree(b, files)
}

func within(b *testing.B, limit time.Duration) {
	b.Helper()
	if each := b.Elapsed() / time.Duration(b.N); each > limit {
		b.Errorf("%v each, the limit is %v", each, limit)
	}
}

// BenchmarkLookup measures one call of the tool skill, from request to answer.
func BenchmarkLookup(b *testing.B) {
	b.ReportAllocs()
	client := connect(b, serve(b, scanned(b, folder(hundred(b)))), "2025-11-25", nil)
	for b.Loop() {
		res, err := client.CallTool(b.Context(), &mcp.CallToolParams{Name: "skill", Arguments: map[string]any{"name": "Skill-050"}})
		if err != nil || res.IsError {
			b.Fatal(res, err)
		}
	}
	within(b, limitLookup)
}

// BenchmarkFirstScan measures the first scan and snapshot.
func BenchmarkFirstScan(b *testing.B) {
	b.ReportAllocs()
	root := hundred(b)
	for b.Loop() {
		must(b, catalog.New([]catalog.Source{folder(root)}, catalog.Options{}).Refresh(b.Context()))
	}
	within(b, limitScan)
}

// BenchmarkRefresh measures a refresh after one of a hundred skills changed.
func BenchmarkRefresh(b *testing.B) {
	b.ReportAllocs()
	root := hundred(b)
	time.Sleep(skill.StampRacy) // younger files are read again each time
	c := scanned(b, folder(root))
	text := skillMD("skill-000", "Changed.", "")
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		put(b, root, map[string]string{filepath.Join("skill-000", "SKILL.md"): text + fmt.Sprint(n)})
		b.StartTimer()
		must(b, c.Refresh(b.Context()))
	}
	within(b, limitRefresh)
}

// BenchmarkLiveHeap measures how much more live heap a server with a hundred skills needs than a
// server without skills.
func BenchmarkLiveHeap(b *testing.B) {
	root, empty := hundred(b), tree(b, nil)
	var megabytes float64
	for b.Loop() {
		before := heap(b, empty)
		megabytes = float64(heap(b, root)-before) / (1 << 20)
	}
	b.ReportMetric(megabytes, "MB")
	if megabytes > limitHeapMB {
		b.Errorf("%.1f MB, the limit is %v", megabytes, limitHeapMB)
	}
}

// heap returns the live heap with a server that has answered each list once.
func heap(b *testing.B, root string) int64 {
	ctx, done := context.WithCancel(b.Context())
	defer done()
	c := scanned(b, folder(root))
	s := mcpserver.New(mcpserver.Options{Catalog: c, Tools: tools(b, "default")})
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(ctx, pipes(b, s), &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	must(b, err)
	_, err = client.ListTools(ctx, nil)
	must(b, err)
	_, err = client.ListResources(ctx, nil)
	must(b, err)
	client.Close()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(s)
	return int64(m.HeapAlloc)
}
