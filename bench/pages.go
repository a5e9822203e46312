package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// pagePaths are those that are asked for. The search comes first: its index is made in
// the background, and the others are asked while it is being made.
var pagePaths = []string{"/?q=harbour+tide", "/", "/?page=150", "/?state=problems", "/health", "/usage", "/connect",
	"/api/v1/skills?limit=200", "/api/v1/problems", "/.well-known/agent-skills/index.json"}

// firstRounds bounds how often a server is started for each page.
const firstRounds = 5

// pages asks for every page twice over: as the first one that a server is asked for, as
// soon as it says that it is ready, and, of a server that goes on, after one skill was
// changed. The worst of all is what counts.
func (b *bench) pages() ([]row, error) {
	n := b.size(10_000)
	t, err := b.tree(n)
	if err != nil {
		return nil, err
	}
	var first, later slowest
	for range min(b.rounds, firstRounds) {
		for _, path := range pagePaths {
			if err := b.firstPage(t, path, &first); err != nil {
				return nil, err
			}
		}
	}
	if err := b.pagesAfterChanges(t, &later); err != nil {
		return nil, err
	}
	var rows []row
	for _, r := range []struct {
		when string
		slowest
	}{{"the first one asked for after the start", first}, {"right after the start, and after a change", later}} {
		rows = append(rows, row{fmt.Sprintf("a page of %s skills, worst, %s", count(n), r.when), "–", "≤ 50 ms", fmt.Sprintf("%.1f ms (`%s`)", r.took, r.path), judge(r.took, 50)})
	}
	return rows, nil
}

// slowest is the page that took longest, in milliseconds.
type slowest struct {
	took float64
	path string
}

// ask asks for a page.
func (w *slowest) ask(s *served, path string) error {
	begun := time.Now()
	if err := s.get(path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if took := ms(time.Since(begun)); took > w.took {
		w.took, w.path = took, path
	}
	return nil
}

// get fails where the answer is none of a page, which would be a fast one.
func (s *served) get(path string) error {
	_, _, err := once(s.addr, fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, s.addr))
	return err
}

func (b *bench) firstPage(t *tree, path string, first *slowest) error {
	s, err := b.serveHTTP(t)
	if err != nil {
		return err
	}
	defer func() { s.stop(); _ = s.cmd.Wait() }()
	if err := s.ready(); err != nil {
		return err
	}
	return first.ask(s, path)
}

func (b *bench) pagesAfterChanges(t *tree, later *slowest) error {
	s, err := b.serveHTTP(t)
	if err != nil {
		return err
	}
	defer func() { s.stop(); _ = s.cmd.Wait() }()
	if err := s.ready(); err != nil {
		return err
	}
	file := filepath.Join(t.root, filepath.FromSlash(t.skill(0).Path), "SKILL.md")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	defer func() { _ = os.WriteFile(file, text, 0o644) }() // the tree is kept for others
	for round := range b.rounds {
		for _, path := range pagePaths {
			if err := later.ask(s, path); err != nil {
				return err
			}
		}
		if err := os.WriteFile(file, fmt.Appendf(text[:len(text):len(text)], "\n%d\n", round), 0o644); err != nil {
			return err
		}
		time.Sleep(time.Second) // until the watcher has seen it
	}
	return nil
}

// ready waits until the server has read the skills.
func (s *served) ready() error {
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(2 * time.Millisecond) {
		if s.get("/readyz") == nil {
			return nil
		}
	}
	return fmt.Errorf("the server is not ready after a minute")
}
