package usage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/tool"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const git, flags = "skill://claude-project/git/SKILL.md", "skill://claude-project/flags/SKILL.md"

func view(t testing.TB) catalog.View {
	t.Helper()
	return skilltest.View(t, skilltest.Catalog(t, skilltest.Project(map[string]string{
		"git/SKILL.md": skilltest.Document("git", "Branches."), "git/run.sh": "x", "flags/SKILL.md": skilltest.Document("flags", "Signals."),
	})))
}

// toolNamed returns a tool of the sets default and uri.
func toolNamed(name string) *tool.Tool {
	tools, _ := tool.ParseSets("default,uri")
	return tools[slices.IndexFunc(tools, func(t *tool.Tool) bool { return t.Name == name })]
}

// called records an answered call of a tool.
func called(t *Tally, v catalog.View, client, name string, arguments []byte) {
	e := event.Event{Surface: event.MCP, Method: "tools/call", Client: client, Result: event.OK, View: v}
	e.Call(toolNamed(name), name, "", arguments)
	t.Record(&e)
}

// readResource records that a client read a resource.
func readResource(t *Tally, v catalog.View, client, uri string) {
	t.Record(&event.Event{Surface: event.MCP, Method: "resources/read", Client: client, Asked: uri, Result: event.OK, View: v})
}

// countList records that a client received a list.
func countList(t *Tally, v catalog.View, client string) {
	t.Record(&event.Event{Surface: event.MCP, Method: "tools/list", Client: client, Result: event.OK, View: v})
}

// failed records a failed request for a skill: by a tool with arguments, or by a prompt without
// them.
func failed(t *Tally, v catalog.View, asked string, arguments []byte) {
	e := event.Event{Surface: event.MCP, Method: "tools/call", Asked: asked, Result: event.NotFound, View: v}
	if arguments == nil {
		e.Method = "prompts/get"
	} else {
		name := "skill"
		if bytes.Contains(arguments, []byte(`"uri"`)) {
			name = "get_skill"
		}
		e.Call(toolNamed(name), name, "", arguments)
	}
	t.Record(&e)
}

// figures returns the counts of a report by skill, client and week.
func figures(r Report) (out []string) {
	say := func(what string, c Counts) {
		out = append(out, fmt.Sprintf("%s %d %d %d", what, c.Offered, c.Loaded, c.Read))
	}
	say("total", r.Total)
	for _, s := range r.Skills {
		say(s.Entry.Name, s.Counts)
		for _, c := range s.Clients {
			say(s.Entry.Name+"/"+c.Name, c.Counts)
		}
	}
	for _, c := range r.Clients {
		say(c.Name, c.Counts)
	}
	for _, w := range r.Weeks {
		for _, c := range w.Clients {
			say(w.At.Format(time.DateOnly)+"/"+c.Name, c.Counts)
		}
	}
	return out
}

// TestWeeks checks that uses are counted in their ISO week, even at the turn of a year, and that
// the oldest weeks are dropped.
func TestWeeks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, c := view(t), New()
		use := func() { called(c, v, "editor", "skill", []byte(`{"name":"git"}`)) }
		const day = 24 * time.Hour
		use() // 2000-01-01, a Saturday
		testwait.Advance(2*day - time.Second)
		use() // the last second of the week
		testwait.Advance(time.Second)
		use() // Monday
		readResource(c, v, "zed", git)
		want := []string{"total 0 4 0", "git 0 4 0", "git/editor 0 3 0", "git/zed 0 1 0", "editor 0 3 0", "zed 0 1 0", "1999-12-27/editor 0 2 0", "2000-01-03/editor 0 1 0", "2000-01-03/zed 0 1 0"}
		if diff := cmp.Diff(want, figures(c.Seen(v))); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
		testwait.Advance(25 * 7 * day)
		if got := c.Seen(v).Weeks; got[0].Used() != 2 || got[0].At.Weekday() != time.Monday || got[Weeks-1].At != got[0].At.AddDate(0, 0, 7*25) {
			t.Errorf("after 25 weeks: %v", got)
		}
		testwait.Advance(7 * day)
		use()
		got := c.Seen(v)
		if got.Total.Loaded != 5 || got.Weeks[0].Used() != 0 || got.Weeks[Weeks-1].Loaded != 1 {
			t.Errorf("after 26 weeks: %v", figures(got))
		}
		// After a year of weekly use, half of the weeks are stored separately, and all uses are in
		// the sum.
		for range 52 {
			testwait.Advance(7 * day)
			use()
		}
		if got := c.Seen(v); got.Total.Loaded != 57 || len(c.skills[git].by[0].weeks) != Weeks || got.Weeks[0].Loaded != 1 {
			t.Errorf("after a year and a half: %v", figures(got))
		}
		if c.weeks > 2*Weeks {
			t.Errorf("%d weeks are counted", c.weeks)
		}
		if encoded := string(c.Encode()); strings.Contains(encoded, "zed") || !strings.Contains(encoded, "editor") {
			t.Errorf("a client that has not come for a year is kept: %s", encoded)
		}
		if names := c.Process(v); names["zed"].Loaded != 1 {
			t.Error("a counter of this process has gone down")
		}
	})
}

// TestRestore checks that another process continues the counts, and that its metrics begin anew.
func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, c := view(t), New()
		countList(c, v, "editor")
		called(c, v, "editor", "skill", []byte(`{"name":"git"}`))
		testwait.Advance(8 * 24 * time.Hour)
		called(c, v, "editor", "read_file_in_skill", []byte(`{"skill_name":"git","file_path":"run.sh"}`))
		for range 3 {
			failed(c, v, "Deploy", nil)
		}
		want, missing := figures(c.Seen(v)), c.missing["deploy"].Times
		encoded := c.Encode()
		testwait.Advance(time.Hour)
		next := New()
		called(next, v, "zed", "skill", []byte(`{"name":"flags"}`))
		must(t, next.Restore(encoded))
		if sum := next.Process(v); len(sum) != 1 || sum["zed"].Loaded != 1 {
			t.Errorf("the metrics begin with %v", sum)
		}
		if !next.Since().Equal(c.Since()) || next.missing["deploy"].Times != missing {
			t.Errorf("since %v, deploy %v", next.Since(), next.missing["deploy"])
		}
		again := New()
		must(t, again.Restore(encoded))
		if diff := cmp.Diff(want, figures(again.Seen(v))); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if !bytes.Equal(again.Encode(), encoded) {
			t.Errorf("%s\nbecame\n%s", encoded, again.Encode())
		}
		if again.Uses(v.Named("git")) != 2 || next.Uses(v.Named("flags")) != 1 {
			t.Error("the order by use forgets")
		}
	})
}

// TestRestoreRefuses checks that unreadable counts change nothing, and that the error gives the
// reason.
func TestRestoreRefuses(t *testing.T) {
	encoded := string(New().Encode())
	for text, want := range map[string]string{
		"":                         "it is cut short",
		encoded[:len(encoded)/2]:   "it is cut short",
		"# counts\n":               "it is not JSON at byte 1",
		encoded + "x":              "it is not JSON at byte ",
		`{}`:                       "it is of another version of knack",
		`[]`:                       "it is JSON of another kind",
		`"x"`:                      "it is JSON of another kind",
		`{"version":2,"skills":1}`: "it is of another version of knack",
		`{"version":"1"}`:          "it is JSON of another kind",
		`{"version":1,"more":1}`:   "it is JSON of another kind",
		`{"version":1,"skills":{"a":{"b":{"loaded":-1}}}}`:                                           "it is JSON of another kind",
		`{"version":1,"skills":{"a":{"b":{"loaded":18446744073709551615}}}}`:                         "it has a number that is too large",
		`{"version":1,"missing":{"a":{"times":9223372036854775807}}}`:                                "it has a number that is too large",
		`{"version":1,"skills":{"a":{"b":{"loaded":1,"last":"soon"}}}}`:                              "it is JSON of another kind",
		`{"version":1,"skills":{"a":{"b":{"loaded":1,"last":"2026-11-23","weeks":{"2026":[1,2]}}}}}`: "it is JSON of another kind",
	} {
		c := New()
		err := c.Restore([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
		if len(c.skills)+len(c.missing)+len(c.clients) > 0 {
			t.Errorf("%.60s: something was restored", text)
		}
	}
}

// TestRestoreBounds checks the bounds on restoring a file with too many entries or with times of a
// wrong clock.
func TestRestoreBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, c := view(t), New()
		s := stored{Version: version, Since: time.Now().AddDate(9, 0, 0), Skills: map[string]map[string]storedPair{git: {}}, Missing: map[string]missed{}}
		now := weekOf(time.Now())
		for i := range 300 {
			s.Skills[git][fmt.Sprint("client-", i)] = storedPair{Counts: Counts{Loaded: uint64(i)}, Last: now + 9, Weeks: map[week][2]uint32{now: {1, 0}, now + 1: {9, 9}, 0: {7, 7}}}
		}
		s.Skills[flags] = map[string]storedPair{"old": {Counts: Counts{Loaded: 1}, Last: now - Weeks}}
		for i := range 3 * maxMissing {
			s.Missing[fmt.Sprint("name-", i)] = missed{uint64(i), now}
		}
		s.Missing["ghp_0123456789012345678901234567890123456"] = missed{1000, now}
		data, err := json.Marshal(s)
		must(t, err)
		must(t, c.Restore(data))
		got := c.Seen(v)
		if len(got.Clients) != keptClients+1 || got.Clients[0].Name != others || got.Clients[1].Name != "client-299" || len(got.Skills) != 1 {
			t.Errorf("%d clients, of %d skills, first %v", len(got.Clients), len(got.Skills), got.Clients[:2])
		}
		if got.Weeks[Weeks-1].Loaded != 300 || got.Weeks[0].Used() != 0 || got.Since.After(time.Now()) {
			t.Errorf("%d in this week, since %v", got.Weeks[Weeks-1].Loaded, got.Since)
		}
		names, _ := c.Missing(v)
		if len(names) > maxMissing || names[0].Name != fmt.Sprint("name-", 3*maxMissing-1) {
			t.Errorf("%d names, first %v", len(names), names[0])
		}
	})
}

// TestClientsAreBounded checks that a client that changes its name takes a place from others only
// until the process ends.
func TestClientsAreBounded(t *testing.T) {
	v, c := view(t), New()
	for i := range 3 * maxClients {
		called(c, v, fmt.Sprintf("flood-%d\n\x1b[31m", i), "skill", []byte(`{"name":"git"}`))
	}
	called(c, v, "editor", "skill", []byte(`{"name":"git"}`))
	if got := c.Seen(v); len(got.Clients) != maxClients+1 || got.Clients[0].Name != others || got.Total.Loaded != 3*maxClients+1 {
		t.Errorf("%d clients, first %v", len(got.Clients), got.Clients[0])
	}
	next := New()
	must(t, next.Restore(c.Encode()))
	for range 2 {
		called(next, v, "editor", "skill", []byte(`{"name":"git"}`))
	}
	for _, c := range next.Seen(v).Clients {
		if c.Name == "editor" && c.Loaded == 2 {
			return
		}
	}
	t.Error("after a restart there is no room for another client")
}

// TestListsAskForUses checks that a list whose order depends on uses can be counted. Counting it
// reads the tally.
func TestListsAskForUses(t *testing.T) {
	counts := New()
	files := map[string]string{}
	for i := range 400 { // too many for the complete list of any client
		files[fmt.Sprintf("s%d/SKILL.md", i)] = skilltest.Document(fmt.Sprintf("s%d", i), strings.Repeat("word ", 40))
	}
	all := catalog.New([]catalog.Source{skilltest.Project(files)}, catalog.Options{Uses: counts.Uses})
	must(t, all.Refresh(t.Context()))
	v := skilltest.View(t, all)
	countList(counts, v, "editor")
	called(counts, v, "editor", "skill", []byte(`{"name":"s7"}`))
	done := make(chan Report, 1)
	go func() { done <- counts.Seen(v) }()
	select {
	case r := <-done:
		if r.Total.Loaded != 1 || r.Total.Offered == 0 {
			t.Errorf("%+v", r.Total)
		}
	case <-time.After(testwait.Patience):
		t.Fatal("the tally waits for itself")
	}
}
