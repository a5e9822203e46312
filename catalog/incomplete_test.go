package catalog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/test/difftest"
)

// TestIncomplete checks that a view reports whether it is complete. A list is incomplete
// until each root was read once. A name is also unsure while a root does not answer, or
// while an unlisted root is unread.
func TestIncomplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := dead{source("slow", "x/SKILL.md", text("x", "late")), make(chan struct{})}
		hidden := source("hidden", "h/SKILL.md", text("h", "in no list"))
		hidden.root.Unlisted = true
		unlisted := dead{hidden, make(chan struct{})}
		fast := source("fast", "y/SKILL.md", text("y", "in time"))
		c := New([]Source{slow, unlisted, fast}, Options{Patience: time.Second})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = c.Run(ctx) }()
		defer func() { stop(); <-ended }()
		filter := &Filter{Visible: func(e *Entry) bool { return e.Name == "y" }}
		says := func(what, list, name string) {
			t.Helper()
			v := view(t, c)
			for _, got := range []struct {
				name string
				i    *Incomplete
				want string
			}{{"list", v.Incomplete(), list}, {"name", v.Unsure(), name}} {
				text := ""
				if got.i != nil {
					if text = got.i.Error(); !errors.Is(got.i, ErrLate) {
						t.Errorf("%s: the error is no ErrLate", what)
					}
				}
				difftest.Same(t, text, got.want, what+", "+got.name)
			}
			narrow, err := c.View(WithFilter(t.Context(), filter))
			if err != nil || (narrow.Incomplete() != nil) != (list != "") || (narrow.Unsure() != nil) != (name != "") {
				t.Errorf("%s: a narrowed view says %v and %v, %v", what, narrow.Incomplete(), narrow.Unsure(), err)
			}
			if i := narrow.Unsure(); i != nil && (len(i.roots) > 0 || i.read > 0) {
				t.Errorf("%s: a narrowed view names %q, and counts %d files", what, i.roots, i.read)
			}
		}
		const reading = "the skills are still being read, 1 skill so far; try again in a moment"
		says("two roots unread", reading, reading)
		close(slow.answer)
		synctest.Wait()
		says("one unread, in no list", "", "the skills are still being read, 2 skills so far; try again in a moment")
		close(unlisted.answer)
		synctest.Wait()
		says("all read", "", "")

		block := make(chan struct{})
		fast.set(func() { fast.block = block })
		refresh(t, c)
		says("one answers no more", "", "skills of fast cannot be looked up, since the disk does not answer in time; try again in a moment")
		fast.set(func() { fast.block = nil })
		close(block)
		synctest.Wait()
		says("it answers again", "", "")

		c.SetSources([]Source{slow, unlisted, fast, source("more", "z/SKILL.md", text("z", "new"))})
		says("a source that no look has met", "the skills are still being read, 3 skills so far; try again in a moment", "the skills are still being read, 3 skills so far; try again in a moment")
		synctest.Wait()
		<-time.After(settleMost)
		synctest.Wait()
		says("it was read", "", "")
	})
}

// TestIncompleteSays checks the text of each kind of Incomplete.
func TestIncompleteSays(t *testing.T) {
	for want, i := range map[string]Incomplete{
		"the skills are still being read":                                            {unread: true},
		"the skills are still being read, 3 folders and files so far":                {unread: true, read: 3},
		"the skills are still being read, 1 skill so far":                            {unread: true, read: 3, skills: 1},
		"a folder of skills does not answer in time":                                 {skills: 7},
		"skills of a, b cannot be looked up, since the disk does not answer in time": {skills: 7, roots: []string{"a", "b"}},
	} {
		difftest.Same(t, i.State(), want, "the state")
	}
}

// TestScannedSince checks that ScannedSince is true only if all scan runs of a refresh began
// after the given time. It is false if the refresh joined an earlier run, or did not wait
// for a root.
func TestScannedSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dead{source("a", "x/SKILL.md", text("x", "late")), make(chan struct{})}
		c := New([]Source{d}, Options{Patience: time.Second})
		if c.ScannedSince(time.Now()) {
			t.Error("before the first refresh")
		}
		refresh(t, c) // does not wait for the root
		if c.ScannedSince(time.Time{}.Add(1)) {
			t.Error("while the root is late")
		}
		between := time.Now()
		<-time.After(time.Second)
		go func() { d.answer <- struct{}{} }()
		refresh(t, c) // joins the scan run
		if c.ScannedSince(between) || !c.ScannedSince(between.Add(-time.Second)) {
			t.Error("of a look that began before")
		}
		go func() { d.answer <- struct{}{} }()
		refresh(t, c)
		if !c.ScannedSince(between) {
			t.Error("after a look of its own")
		}
	})
}

// TestCompletedIsNews checks that subscribers are notified when lists become complete, even
// if no skill was added. A narrowed view gets the notification too.
func TestCompletedIsNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dead{source("a"), make(chan struct{})}
		c := New([]Source{d, source("b", "y/SKILL.md", text("y", "in time"))}, Options{Patience: time.Second})
		var news []Diff
		c.Subscribe(func(d Diff) { news = append(news, d) })
		filter := &Filter{Visible: func(*Entry) bool { return true }}
		prints := func(filter *Filter) Fingerprints {
			v, _ := c.Now(filter)
			return v.Fingerprints()
		}
		refresh(t, c)
		all, narrow := prints(nil), prints(filter)
		refresh(t, c)
		if len(news) > 0 {
			t.Errorf("before: %+v", news)
		}
		go func() { d.answer <- struct{}{} }()
		refresh(t, c)
		if len(news) != 1 || !news[0].Completed || news[0].Empty() || !news[0].Through(filter).Completed {
			t.Errorf("%+v", news)
		}
		if all == prints(nil) || narrow == prints(filter) {
			t.Error("the prints are the same")
		}
		go func() { d.answer <- struct{}{} }()
		refresh(t, c)
		if len(news) != 1 {
			t.Errorf("after: %+v", news)
		}
	})
}
