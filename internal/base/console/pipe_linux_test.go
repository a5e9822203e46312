package console

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWriteNow checks that WriteNow writes as much as the output accepts, and never blocks.
func TestWriteNow(t *testing.T) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil { // with os.Pipe, the flag would be set already
		t.Fatal(err)
	}
	in, out := os.NewFile(uintptr(fds[0]), "in"), os.NewFile(uintptr(fds[1]), "out")
	defer in.Close()
	if n := (&Output{Writer: in}).WriteNow([][]byte{[]byte("kn"), []byte("ack")}); n != 0 {
		t.Errorf("the end of a pipe that is for reading took %d bytes", n)
	}
	to, end := Start(&Env{Stdout: out})
	full := make([]byte, 64<<10) // the capacity of a pipe
	for _, step := range []struct {
		what string
		text []byte
		want int
	}{{"an empty pipe", []byte("knack"), 5}, {"too much for a pipe", full, 60 << 10}, {"a pipe that is full", []byte("knack"), 0}} {
		if n := to.WriteNow([][]byte{step.text}); n != step.want {
			t.Errorf("%s took %d bytes, want %d", step.what, n, step.want)
		}
	}
	flags, err := unix.FcntlInt(uintptr(fds[1]), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK != 0 {
		t.Errorf("the flags of the pipe are %x, %v: other processes that share it would not wait", flags, err)
	}
	if _, err := io.ReadFull(in, make([]byte, 5+60<<10)); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if n := to.WriteNow([][]byte{[]byte("kn"), []byte("ack")}); n != 0 {
		t.Errorf("a pipe without a reader took %d bytes", n)
	}
	out.Close()
	end()
	if n := to.WriteNow([][]byte{[]byte("kn"), []byte("ack")}); n != 0 {
		t.Errorf("a closed pipe took %d bytes", n)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if n := (&Output{Writer: file}).WriteNow([][]byte{[]byte("kn"), []byte("ack")}); n != 0 {
		t.Errorf("a file took %d bytes", n)
	}
}

// TestWriteNowToSocket checks that only a part of a long text is written to a socket that becomes
// full.
func TestWriteNowToSocket(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	in, out := os.NewFile(uintptr(fds[0]), "in"), os.NewFile(uintptr(fds[1]), "out")
	defer in.Close()
	to := &Output{Writer: out}
	text := bytes.Repeat([]byte("knack "), 1_000_000)
	n := to.WriteNow([][]byte{text[:7], text[7:]})
	if n == 0 || n == len(text) || to.WriteNow([][]byte{text[n:]}) != 0 {
		t.Errorf("a socket without a reader took %d bytes and more", n)
	}
	out.Close()
	to.now.close()
	if n := to.WriteNow([][]byte{text}); n != 0 {
		t.Errorf("a closed socket took %d bytes", n)
	}
	if got, err := io.ReadAll(in); err != nil || !bytes.Equal(got, text[:n]) {
		t.Errorf("%d bytes came of %d, %v", len(got), n, err)
	}
}
