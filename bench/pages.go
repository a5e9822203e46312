package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// pages asks a server that has begun to listen for every page, and again after one
// skill was changed: the worst of all is what counts. The index of the search is made
// in the background; a search before it is there waits for it.
func (b *bench) pages() ([]row, error) {
	n := 10_000
	if b.quick {
		n = 1000
	}
	t, err := b.tree(n)
	if err != nil {
		return nil, err
	}
	s, err := b.serveHTTP(t)
	if err != nil {
		return nil, err
	}
	defer func() { s.stop(); _ = s.cmd.Wait() }()
	if err := s.ready(); err != nil {
		return nil, err
	}
	time.Sleep(2 * time.Second) // the index is made
	worst, at := 0.0, ""
	ask := func(path string) error {
		begun := time.Now()
		if _, _, err := once(s.addr, fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, s.addr)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if took := ms(time.Since(begun)); took > worst {
			worst, at = took, path
		}
		return nil
	}
	file := filepath.Join(t.root, filepath.FromSlash(t.skill(0).Path), "SKILL.md")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.WriteFile(file, text, 0o644) }() // the tree is kept for others
	for round := range b.rounds {
		for _, path := range []string{"/?q=harbour+tide", "/", "/?page=150", "/?state=problems", "/health", "/usage", "/connect", "/api/v1/skills?limit=200", "/api/v1/problems"} {
			if err := ask(path); err != nil {
				return nil, err
			}
		}
		if err := os.WriteFile(file, fmt.Appendf(text[:len(text):len(text)], "\n%d\n", round), 0o644); err != nil {
			return nil, err
		}
		time.Sleep(time.Second) // until the watcher has seen it
	}
	return []row{{fmt.Sprintf("a page of %s skills, worst, from 2 s after the start", count(n)), "–", "≤ 50 ms", fmt.Sprintf("%.1f ms (`%s`)", worst, at), judge(worst, 50)}}, nil
}

// ready waits until the server has read the skills.
func (s *served) ready() error {
	for range 600 {
		if _, _, err := once(s.addr, fmt.Appendf(nil, "GET /readyz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", s.addr)); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("the server is not ready after a minute")
}
