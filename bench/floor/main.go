// Command floor is what the machine can do at all, for the benchmarks to be
// measured against: it does the least that the work asks for, and nothing else.
//
//	floor stat|skillmd|all DIR   walk a tree; look at, read, or hash its files; the time on stdout
//	floor stdio FILE             read a line, write the next answer of FILE, over and over
//	floor http FILE              the same over HTTP; the address on stdout; X-Index names the answer
//
// FILE holds answers of the server that is measured, each behind its length.
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
	if len(args) != 2 {
		return errors.New("usage: floor stat|skillmd|all DIR, or floor stdio|http FILE")
	}
	switch args[0] {
	case "stdio":
		return stdio(args[1])
	case "http":
		return serve(args[1])
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

func stdio(file string) error {
	all, err := answers(file)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for i := 0; ; i = (i + 1) % len(all) {
		if _, err := in.ReadSlice('\n'); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if _, err := os.Stdout.Write(all[i]); err != nil {
			return err
		}
	}
}

func serve(file string) error {
	all, err := answers(file)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with whoever measures
		os.Exit(0)
	}()
	return http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		i, _ := strconv.Atoi(r.Header.Get("X-Index"))
		w.Header().Set("Content-Type", r.Header.Get("X-Type"))
		_, _ = w.Write(all[i%len(all)])
	}))
}
