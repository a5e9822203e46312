package tool

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/tool/profile"
)

// The benchmarks measure the promises of contract 002: a lookup under 100 ms, a scan and a refresh
// under 1 s, and 10 MB for 100 skills.

func BenchmarkSkillLookup(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		h := hostOf(b, many(n, 276))
		t := toolOf(b, "universal", "skill")
		for name, ask := range map[string]string{"hit": "SKILL-00042", "miss": "no-such-skill"} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				in := json.RawMessage(`{"name":"` + ask + `"}`)
				for b.Loop() {
					if _, err := t.Call(b.Context(), h, in); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkSkillDescription(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		v := viewOf(b, hostOf(b, many(n, 276)))
		for _, client := range []string{"", "claude-code"} {
			b.Run(fmt.Sprintf("%d/%s", n, client), func(b *testing.B) {
				b.ReportAllocs()
				t := toolOf(b, "default", "skill")
				for b.Loop() {
					t.Define(v, profile.Client{Name: client})
				}
			})
		}
	}
}

func BenchmarkSkillScanAndRefresh(b *testing.B) {
	for _, first := range []bool{true, false} {
		b.Run(fmt.Sprintf("first=%v", first), func(b *testing.B) {
			b.ReportAllocs()
			root := many(100, 276)
			c := catalog.New([]catalog.Source{root}, catalog.Options{})
			for b.Loop() {
				if first {
					c = catalog.New([]catalog.Source{root}, catalog.Options{})
				}
				if err := c.Refresh(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSkillHeap reports the live heap for 100 skills of real sizes, in bytes above an
// empty catalogue.
func BenchmarkSkillHeap(b *testing.B) {
	root := many(100, 276)
	for name, f := range root.Files {
		body := make([]byte, 5800)
		for i := range body {
			body[i] = byte('a' + rand.IntN(26))
		}
		f.Data = append(f.Data, body...)
		root.Files[name] = f
	}
	for b.Loop() {
		before := alive()
		h := hostOf(b, root)
		for _, e := range viewOf(b, h).Listed {
			call(b, h, "universal", "skill", args{"name": e.Name})
		}
		after := alive()
		b.ReportMetric(float64(after)-float64(before), "heap-bytes")
		runtime.KeepAlive(h)
	}
}

func alive() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkFind(b *testing.B) {
	h := hostOf(b, many(10_000, 276))
	t := toolOf(b, "default", "find_skills")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.Call(b.Context(), h, json.RawMessage(`{"query":"works on words"}`)); err != nil {
			b.Fatal(err)
		}
	}
}
