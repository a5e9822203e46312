//go:build linux

package safety

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

func treeParts() []part {
	return []part{
		{name: "entries", promise: "links, special files, odd names × every way to a file: nothing from outside, no answer over 1 s, no crash", run: hostileEntries},
		{name: "skill-files", promise: "a SKILL.md that is a link, a pipe, a device, a terabyte: × every list and every tool that loads", run: hostileSkillFiles},
		{name: "paths", promise: "paths, URIs and names that lead outside, in every spelling, or have a mebibyte or 100,000 parts: nothing from outside, no answer over 1 s", run: hostileArguments},
		{name: "permissions", promise: "files and folders without permission, asked for by a user without rights", run: hostilePermissions},
		{name: "wide", promise: "100,000 entries, 10,000 links each to the next, 200 levels: no answer over 1 s", run: hostileWidth},
	}
}

// hostileEntries requests every entry of the forest in every way.
func hostileEntries(r *trial) {
	f := r.plantForest()
	stop := f.grow(r)
	defer stop()
	w := &ways{r: r, set: setting{env: f.env}, flags: []string{"--no-builtin", "--dir", f.root}}
	all, servers := w.start()
	for _, way := range all {
		for i, e := range f.entries {
			if r.sampled(way, i) {
				continue
			}
			answer, err := timed(func() (string, error) { return way.ask("victim", e.path) })
			if err == nil {
				err = f.judge(answer, e, way)
			}
			if !r.check(fmt.Sprintf("%s, %q", way.name, e.path), err) && errors.Is(err, errNoAnswer) && dead(servers) {
				return // all further cases would fail in the same way
			}
		}
	}
	r.ends(servers)
}

// sampled reports whether CI skips case i: nine in ten cases of the ways that start a process.
func (r *trial) sampled(w way, i int) bool { return r.fast && w.slow && i%10 != 0 }

// judge returns an error if an answer has a content that the entry does not permit.
func (f *forest) judge(answer string, e entry, w way) error {
	if err := leaks(answer, f.canaries); err != nil {
		return err
	}
	if !w.reads {
		return nil
	}
	content := answer + decodedBlobs(answer)
	if e.inside != "" && strings.HasPrefix(e.path, "docs/") && !strings.Contains(content, e.inside) {
		return fmt.Errorf("does not hold %q: %s", e.inside, excerpt(answer))
	}
	// A file with an odd name may be refused, but the answer must never be another file.
	if i := strings.Index(content, "INSIDE"); i >= 0 && (e.inside == "" || !strings.HasPrefix(content[i:], e.inside)) {
		return fmt.Errorf("holds another file's %q", content[i:min(i+30, len(content))])
	}
	return nil
}

// decodedBlobs decodes the first base64 blob of an answer.
func decodedBlobs(answer string) string {
	_, rest, ok := strings.Cut(answer, `"blob":"`)
	if !ok {
		return ""
	}
	blob, _, _ := strings.Cut(rest, `"`)
	data, _ := base64.StdEncoding.DecodeString(blob)
	return string(data)
}

// grow starts to make a file grow and shrink while it is read. stop ends that.
func (f *forest) grow(r *trial) (stop func()) {
	file, err := os.OpenFile(filepath.Join(f.victim(), "special/growing.log"), os.O_WRONLY|os.O_APPEND, 0)
	r.must(err)
	var done atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer file.Close()
		chunk := bytes.Repeat([]byte("grow "), 20_000)
		for i := 1; !done.Load(); i++ {
			_, _ = file.Write(chunk)
			if i%400 == 0 {
				_ = file.Truncate(0)
			}
			pause(time.Millisecond)
		}
	}()
	return func() { done.Store(true); <-ended }
}

func dead(servers []*knack) bool {
	for _, k := range servers {
		if !k.alive() {
			return true
		}
	}
	return false
}

// ends checks that each server is still alive, has not panicked, and ends properly.
func (r *trial) ends(servers []*knack) {
	for _, k := range servers {
		err := func() error {
			if !k.alive() {
				return fmt.Errorf("%w: the server has ended: %s", errNoAnswer, excerpt(k.said()))
			}
			if strings.Contains(k.said(), "panic") {
				return fmt.Errorf("a panic: %s", excerpt(k.said()))
			}
			if k.url == "" {
				if status := k.end(); status != 0 {
					return fmt.Errorf("status %d at the end of its input", status)
				}
			}
			return nil
		}()
		r.check("the server at the end", err)
	}
}
