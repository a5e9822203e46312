package genskills_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/internal/tools/genskills"
	"github.com/knack-dev/knack/skill"
)

// TestDeterministic checks that the i-th skill is always the same for a seed, and differs for
// another seed.
func TestDeterministic(t *testing.T) {
	o := genskills.Options{Seed: 7, Faults: 0.5}
	var all []genskills.Skill
	for i := range 50 {
		all = append(all, o.At(i))
	}
	for i := 49; i >= 0; i-- {
		if !reflect.DeepEqual(o.At(i), all[i]) {
			t.Errorf("skill %d differs", i)
		}
	}
	o.Seed = 8
	if reflect.DeepEqual(o.At(0), all[0]) {
		t.Error("another seed makes the same skill")
	}
}

// TestFigures checks that the medians and 95th percentiles match real skills.
func TestFigures(t *testing.T) {
	testwait.Slow(t)
	const n = 4000
	var files, main, descriptions []int
	paths := map[string]bool{}
	for i := range n {
		s := genskills.Options{Seed: 1}.At(i)
		files = append(files, len(s.Files))
		main = append(main, len(s.Files[0].Data))
		descriptions = append(descriptions, utf8.RuneCountInString(s.Description))
		if paths[s.Path] {
			t.Errorf("two skills in %s", s.Path)
		}
		paths[s.Path] = true
		seen := map[string]bool{}
		for _, f := range s.Files {
			if err := skill.CleanPath(f.Path); err != nil || seen[f.Path] {
				t.Errorf("%s: file %q, %v", s.Path, f.Path, err)
			}
			seen[f.Path] = true
		}
	}
	for _, tt := range []struct {
		what        string
		all         []int
		median, p95 float64
	}{
		{"files", files, 2, 12}, {"bytes of SKILL.md", main, 5802, 20151}, {"characters of a description", descriptions, 276, 647},
	} {
		slices.Sort(tt.all)
		for share, want := range map[float64]float64{0.5: tt.median, 0.95: tt.p95} {
			got := float64(tt.all[int(share*n)])
			if got < want*0.9-1 || got > want*1.1+1 {
				t.Errorf("%s: %v of them have %v, want about %v", tt.what, share, got, want)
			}
		}
	}
}

func judge(s genskills.Skill) *skill.Skill {
	b := &skill.Bundle{Path: s.Path, Entry: "SKILL.md"}
	return (&skill.Skill{Bundle: b}).Parsed(s.Files[0].Data, skill.Stamp{})
}

func TestFaultless(t *testing.T) {
	for i := range 1000 {
		s := genskills.Options{Seed: 2}.At(i)
		got := judge(s)
		if got.Name != s.Name || got.Description != s.Description || !got.Publishable || len(got.Problems) > 0 {
			t.Errorf("%s: %q, %q, %v", s.Path, got.Name, got.Description, got.Problems)
		}
	}
}

// TestFaults checks that the rules report each fault, except a misspelt file name, which the folder
// shows.
func TestFaults(t *testing.T) {
	testwait.Slow(t)
	seen := map[string]int{}
	for i := range 3000 {
		s := genskills.Options{Seed: 3, Faults: 1}.At(i)
		if seen[s.Fault]++; s.Fault == "" {
			t.Fatal("no fault")
		}
		switch got := judge(s); {
		case s.Fault == "spelling":
			if s.Files[0].Path != "skill.md" {
				t.Errorf("spelt %s", s.Files[0].Path)
			}
		case s.Fault == "crlf":
			if !bytes.Contains(s.Files[0].Data, []byte("---\r\n")) {
				t.Error("no CRLF")
			}
		case len(got.Problems) == 0:
			t.Errorf("%s: %s is not seen:\n%.200s", s.Path, s.Fault, s.Files[0].Data)
		}
	}
	if len(seen) != 24 {
		t.Errorf("%d kinds of faults: %v", len(seen), seen)
	}
}

func TestOptions(t *testing.T) {
	o := genskills.Options{Seed: 4, Flat: true, MainOnly: true, MaxBytes: 1000, Collisions: 1}
	names := map[string]bool{}
	for i := range 500 {
		s := o.At(i)
		names[s.Name] = true
		if strings.Contains(s.Path, "/") || len(s.Files) != 1 || len(s.Files[0].Data) > 3000 {
			t.Errorf("%s: %d files, %d bytes", s.Path, len(s.Files), len(s.Files[0].Data))
		}
	}
	if len(names) > 144 {
		t.Errorf("%d names", len(names))
	}
	o = genskills.Options{Seed: 4, MaxFiles: 3}
	for i := range 500 {
		if n := len(o.At(i).Files); n > 3 {
			t.Errorf("%d files", n)
		}
	}
}

func BenchmarkAt(b *testing.B) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		genskills.Options{Seed: 1, MainOnly: true}.At(i)
	}
}
