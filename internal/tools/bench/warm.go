package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/origin/folder"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/tool"
)

// nowhere is a source that refuses connections, so that a server starts from the store alone.
const nowhere = "oci://127.0.0.1:1/bench/skills:prod"

// warm measures a start from a warm store against a start from a folder with the same skills.
func (b *bench) warm() (rows []row, err error) {
	b = b.pulling()
	for _, n := range []int{1000, b.size(10_000)} {
		t, err := b.tree(n)
		if err != nil {
			return nil, err
		}
		if err := b.fill(t); err != nil {
			return nil, err
		}
		for round := range b.rounds * map[bool]int{true: 3, false: 1}[n <= 1000] {
			for side := range 2 { // the order changes each round
				what, flags := "folder", []string{"--dir", t.root}
				if (side+round)%2 == 1 {
					what, flags = "store", []string{"--source", nowhere}
				}
				if err := b.inTurn(round, func(build build) error { return b.warmOnce(build, t, what, flags) }); err != nil {
					return nil, err
				}
			}
		}
		skills := count(n) + " skills"
		rows = append(rows,
			b.relative("start from a warm store → tools/list, "+skills+", beside a folder with them", key("warm", n), "folder", "ms", 1.1),
			b.relative("its processor time", key("warm/cpu", n), "folder", "ms", 0),
			b.relative("peak memory of that", key("warm/peak", n), "folder", "MB", 1.05),
			b.relative("of it without the program's pages", key("warm/own", n), "folder", "MB", 0))
	}
	return rows, nil
}

// fill stores the skills of a tree as the release of a source, unless the store exists.
func (b *bench) fill(t *tree) error {
	at := filepath.Join(t.home, ".cache", "knack")
	if _, err := os.Stat(at); err == nil {
		return nil
	}
	s, err := store.Open(at, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	from, err := origin.Parse(t.root+"/", "/", "")
	if err != nil {
		return err
	}
	p := pull.Puller{Store: s, Origins: func(origin.Kind) (origin.Origin, error) {
		return folder.Origin{Progress: func(origin.Unit, int64, int64) {}}, nil
	}}
	r, _, err := p.Pull(b.ctx, from, origin.Revision{})
	if err != nil {
		return err
	}
	return s.SetHead(nowhere, store.Head{Release: r.Digest, Since: time.Now(), Judged: r.Judged})
}

func (b *bench) warmOnce(build build, t *tree, what string, flags []string) error {
	p, err := b.serve(build.knack, t, append([]string{"--no-builtin"}, flags...)...)
	if err != nil {
		return err
	}
	defer p.end()
	for lacks := true; lacks; {
		var list json.RawMessage
		if err := p.call("tools/list", map[string]any{}, &list); err != nil {
			return err
		}
		if time.Since(p.begun) > time.Minute {
			return fmt.Errorf("no skills within a minute: %.100s", list)
		}
		if lacks = bytes.Contains(list, []byte("(none)")) || bytes.Contains(list, []byte(tool.MetaIncomplete)); lacks {
			time.Sleep(5 * time.Millisecond)
		}
	}
	side := what // the folder, which is the floor
	if what == "store" {
		side = build.name
	}
	b.add(key("warm", t.n)+"/"+side, ms(time.Since(p.begun)))
	b.add(key("warm/cpu", t.n)+"/"+side, p.processor())
	b.add(key("warm/peak", t.n)+"/"+side, p.memory("VmHWM"))
	b.add(key("warm/own", t.n)+"/"+side, p.memory("RssAnon"))
	return nil
}
