package dir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/knack-dev/knack/skill"
)

// BenchmarkScan measures 10,000 skills in 20,001 folders, or the folder that
// KNACK_BENCH_DIR names.
func BenchmarkScan(b *testing.B) {
	root := os.Getenv("KNACK_BENCH_DIR")
	if root == "" {
		root = b.TempDir()
		for i := range 10_000 {
			dir := filepath.Join(root, fmt.Sprintf("skill-%05d", i))
			if err := os.MkdirAll(filepath.Join(dir, "references"), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: x\n---\n"), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	for name, d := range doors() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			s := New(Options{Root: skill.Root{Dir: root}})
			s.opener = d
			for b.Loop() {
				scan, err := s.Scan(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(scan.Bundles)), "skills")
			}
		})
	}
}

// BenchmarkOpen measures a contained open and, for comparison, a plain one.
func BenchmarkOpen(b *testing.B) {
	root := b.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "s"), 0o755); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(root, "s", "SKILL.md")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		b.Fatal(err)
	}
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f, err := os.Open(file)
			if err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
	})
	for name, d := range doors() {
		fsys := &folder{location: &location{opener: d, base: root}, sub: "s"}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f, err := fsys.Open("SKILL.md")
				if err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}
