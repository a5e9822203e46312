// Command floor is the least that the machine can do for the work that is measured.
//
//	floor stat|skillmd|all DIR   walk a tree; look at, read, or hash its files; the time on stdout
//	floor bare FILE              take a line, write the next answer of FILE, over and over
//	floor bare-http FILE TYPE    the same over HTTP; the address on stdout
//	floor read TABLE             take a line, read and hash the files it asks for, answer it
//	floor read-http TABLE        the same over HTTP
//
// FILE holds answers of the server that is measured, each behind its length. A line of
// TABLE is a skill: its name, URI and folder, with tabs between.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: floor stat|skillmd|all DIR, bare FILE, bare-http FILE TYPE, read TABLE, or read-http TABLE")
	}
	switch args[0] {
	case "bare", "bare-http":
		all, err := answers(args[1])
		if err != nil {
			return err
		}
		var next atomic.Uint64
		answer := func(_, _ []byte) []byte { return all[next.Add(1)%uint64(len(all))] }
		if args[0] == "bare" {
			return pipe(answer)
		}
		return serve(answer, args[2])
	case "read", "read-http":
		t, err := readTable(args[1])
		if err != nil {
			return err
		}
		if args[0] == "read" {
			return pipe(t.answer)
		}
		return serve(t.answer, "application/json")
	}
	return scan(args[0], args[1])
}

// scan walks the tree with twice as many workers as there are processors.
func scan(what, root string) error {
	work := map[string]func(string, []byte) ([]byte, error){"stat": look, "skillmd": readMain, "all": hash}[what]
	if work == nil {
		return fmt.Errorf("there is no floor called %s", what)
	}
	begun := time.Now()
	w := &walk{work: work, dirs: []string{root}, pending: 1}
	w.more.L = &w.mu
	var wg sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		wg.Go(w.run)
	}
	wg.Wait()
	if w.err != nil {
		return w.err
	}
	fmt.Printf("%d %d\n", time.Since(begun).Nanoseconds(), w.files.Load())
	return nil
}

type walk struct {
	work    func(path string, buf []byte) ([]byte, error)
	files   atomic.Int64
	mu      sync.Mutex
	more    sync.Cond
	dirs    []string
	pending int // folders not yet read
	err     error
}

func (w *walk) run() {
	var buf []byte
	for {
		w.mu.Lock()
		for len(w.dirs) == 0 && w.pending > 0 {
			w.more.Wait()
		}
		if w.pending == 0 || w.err != nil {
			w.mu.Unlock()
			w.more.Broadcast()
			return
		}
		dir := w.dirs[len(w.dirs)-1]
		w.dirs = w.dirs[:len(w.dirs)-1]
		w.mu.Unlock()

		entries, err := readDir(dir)
		var below []string
		for _, e := range entries {
			at := dir + "/" + e.Name()
			if e.IsDir() {
				below = append(below, at)
				continue
			}
			var e error
			if buf, e = w.work(at, buf); e != nil {
				err = e
			}
			w.files.Add(1)
		}
		w.mu.Lock()
		w.dirs = append(w.dirs, below...)
		w.pending += len(below) - 1
		if err != nil {
			w.err = err
		}
		w.mu.Unlock()
		w.more.Broadcast()
	}
}

// readDir is os.ReadDir without the sorting.
func readDir(dir string) ([]fs.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

func look(path string, buf []byte) ([]byte, error) {
	_, err := os.Lstat(path)
	return buf, err
}

func readMain(path string, buf []byte) ([]byte, error) {
	if filepath.Base(path) != "SKILL.md" {
		return buf, nil
	}
	return read(path, buf)
}

func hash(path string, buf []byte) ([]byte, error) {
	buf, err := read(path, buf)
	sum := sha256.Sum256(buf)
	runtime.KeepAlive(sum)
	return buf, err
}

// read reads a whole file into a buffer that is used again.
func read(path string, buf []byte) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return buf, err
	}
	defer f.Close()
	buf = buf[:cap(buf)]
	if len(buf) == 0 {
		buf = make([]byte, 64<<10)
	}
	n := 0
	for {
		if n == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
		m, err := f.Read(buf[n:])
		n += m
		if errors.Is(err, io.EOF) {
			return buf[:n], nil
		}
		if err != nil {
			return buf[:n], err
		}
	}
}

func answers(file string) (out [][]byte, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for len(data) > 4 {
		n := binary.BigEndian.Uint32(data)
		out = append(out, data[4:4+n])
		data = data[4+n:]
	}
	if len(out) == 0 {
		return nil, errors.New("no answers")
	}
	return out, nil
}

// pipe answers each line. answer may use the buffer.
func pipe(answer func(line, buf []byte) []byte) error {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	var buf []byte
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		buf = answer(line, buf[:0])
		if _, err := os.Stdout.Write(buf); err != nil {
			return err
		}
	}
}

// serve answers each body.
func serve(answer func(body, buf []byte) []byte, kind string) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the one who measures
		os.Exit(0)
	}()
	bufs := sync.Pool{New: func() any { return new([]byte) }}
	return http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		buf := bufs.Get().(*[]byte)
		defer bufs.Put(buf)
		*buf = answer(body, (*buf)[:0])
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(*buf)))
		_, _ = w.Write(*buf)
	}))
}
