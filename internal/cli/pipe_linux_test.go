package cli

import (
	"bytes"
	"io"
	"os"
	"testing"
)

// A full pipe takes nothing more, and keeps no write waiting.
func TestWriteNow(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	text := bytes.Repeat([]byte("knack "), 100_000)
	n := writeNow(out, text)
	if n == 0 {
		t.Skip("this system does not write to pipes without waiting")
	}
	if n == len(text) || writeNow(out, text[n:]) != 0 {
		t.Errorf("a pipe without a reader took %d bytes and more", n)
	}
	out.Close()
	if got, err := io.ReadAll(in); err != nil || !bytes.Equal(got, text[:n]) {
		t.Errorf("%d bytes came of %d, %v", len(got), n, err)
	}
	if n := writeNow(out, text); n != 0 {
		t.Errorf("a closed pipe took %d bytes", n)
	}
}
