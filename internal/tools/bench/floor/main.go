// Command floor does the least work that a measured task needs.
//
//	floor stat|skillmd|all DIR   walks a tree; stats, reads or hashes its files; prints the time
//	floor bare FILE              reads a line and writes the next answer of FILE, over and over
//	floor bare-http FILE TYPE    does the same over HTTP; prints the address
//	floor read TABLE             reads a line, reads and hashes the requested files, answers
//	floor read-http TABLE        does the same over HTTP
//
// FILE contains answers of the measured server, as a JSON list of base64 strings. TABLE is a JSON
// list of skills with the name, URI and folder of each.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
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
	w := &walk{work: work, free: make(chan []byte, 2*runtime.GOMAXPROCS(0))}
	for range cap(w.free) - 1 {
		w.free <- nil
	}
	w.dir(root, nil)
	w.all.Wait()
	if err := w.err.Load(); err != nil {
		return *err
	}
	fmt.Println(time.Since(begun).Nanoseconds())
	return nil
}

type walk struct {
	work func(path string, buf []byte) ([]byte, error)
	free chan []byte // the buffers of idle workers
	all  sync.WaitGroup
	err  atomic.Pointer[error]
}

// dir works on the files of a folder. Idle workers get the folders below it. If no worker is idle,
// dir walks such a folder itself.
func (w *walk) dir(path string, buf []byte) []byte {
	entries, err := readDir(path)
	for _, e := range entries {
		at := path + "/" + e.Name()
		if !e.IsDir() {
			if buf, err = w.work(at, buf); err != nil {
				break
			}
			continue
		}
		select {
		case other := <-w.free:
			w.all.Go(func() { w.free <- w.dir(at, other) })
		default:
			buf = w.dir(at, buf)
		}
	}
	if err != nil {
		w.err.Store(&err)
	}
	return buf
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

// read reads a whole file into a buffer that is reused.
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

func answers(file string) (all [][]byte, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(data, &all)
	return all, err
}

// pipe answers each line of standard input. answer may use the buffer.
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

// serve answers each HTTP request. answer gets the body of the request.
func serve(answer func(body, buf []byte) []byte, kind string) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // returns when the bench closes the pipe
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
