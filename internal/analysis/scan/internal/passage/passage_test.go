package passage

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/knack-dev/knack/skill"
)

// TestPositionsInOneLine checks the columns of several findings in one line.
func TestPositionsInOneLine(t *testing.T) {
	f := &File{Text: "aéx\nbéy"}
	for _, c := range []struct{ from, line, column int }{{6, 2, 2}, {8, 2, 3}, {5, 2, 1}, {3, 1, 3}, {0, 1, 1}, {8, 2, 3}} {
		if at, _ := f.Position(c.from, c.from+1); at.Line != c.line || at.Column != c.column {
			t.Errorf("%d: %v, want %d:%d", c.from, at, c.line, c.column)
		}
	}
}

// TestPositions compares positions, in any order and over many blocks, with positions counted from
// the beginning of the text, and converts each back to its offset.
func TestPositions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, units := range [][]string{{"\n"}, {"a"}, {"a", "é", "\n"}, {strings.Repeat("aé", 300), "\n"}} {
		var b strings.Builder
		for b.Len() < 3*blockSize {
			b.WriteString(units[r.IntN(len(units))])
		}
		f := &File{Text: b.String()}
		for i := range 300 {
			from := r.IntN(len(f.Text) + 1)
			if i < 3 {
				from = i * blockSize
			}
			for from < len(f.Text) && !utf8.RuneStart(f.Text[from]) {
				from++
			}
			line := strings.Count(f.Text[:from], "\n")
			want := skill.Position{Line: line + 1, Column: utf8.RuneCountInString(f.Text[strings.LastIndexByte(f.Text[:from], '\n')+1:from]) + 1}
			if got, _ := f.Position(from, from); got != want {
				t.Fatalf("%.5q: offset %d is at %v, want %v", units, from, got, want)
			}
			if got := f.Offset(want); got != from {
				t.Fatalf("%.5q: %v is at offset %d, want %d", units, want, got, from)
			}
		}
	}
	f := &File{Text: "a\nb"}
	for _, at := range []skill.Position{{}, {Line: 3, Column: 1}} {
		if got := f.Offset(at); got != 0 {
			t.Errorf("%v is at %d", at, got)
		}
	}
}

// TestPositionsAreSmall checks that positions in a text of newlines take little memory.
func TestPositionsAreSmall(t *testing.T) {
	f := &File{Text: strings.Repeat("\n", 16<<20)}
	f.Position(8<<20, 8<<20)
	if got := cap(f.ended); got > 512 {
		t.Errorf("%d numbers are kept", got)
	}
}
