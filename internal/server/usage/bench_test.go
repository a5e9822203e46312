package usage

import (
	"fmt"
	"testing"

	"github.com/knack-dev/knack/internal/test/skilltest"
)

// BenchmarkCounting measures the cost of counting a call.
func BenchmarkCounting(b *testing.B) {
	v, c := view(b), New()
	arguments := []byte(`{"name":"git"}`)
	for name, call := range map[string]func(){
		"call":     func() { called(c, v, "editor", "skill", arguments) },
		"list":     func() { countList(c, v, "editor") },
		"resource": func() { readResource(c, v, "editor", "skill://claude-project/git/run.sh") },
		"missed":   func() { failed(c, v, "deploy", nil) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}

// BenchmarkKeeping measures storing the counts of 10,000 skills. Five clients were offered them
// all, and each has used a fifth of them.
func BenchmarkKeeping(b *testing.B) {
	files := map[string]string{}
	for i := range 10_000 {
		name := fmt.Sprint("skill-", i)
		files[name+"/SKILL.md"] = skilltest.Document(name, "A description of some length, as they have. Use it when asked.")
	}
	v, c := skilltest.View(b, skilltest.Catalog(b, skilltest.Project(files))), New()
	for client := range 5 {
		name := fmt.Sprint("client-", client)
		countList(c, v, name)
		for i, e := range v.Listed {
			if i%5 == client {
				readResource(c, v, name, e.URI().String())
			}
		}
	}
	data := c.Encode()
	for name, work := range map[string]func(){
		"copy": func() { c.stored() }, "encode": func() { c.Encode() }, "restore": func() { _ = New().Restore(data) }, "seen": func() { c.Seen(v) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				work()
			}
			b.ReportMetric(float64(len(data)), "file-bytes")
		})
	}
}
