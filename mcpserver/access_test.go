package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// The tests have two token holders: "all" sees everything, and "some" must not see hidden skills.
// Every hidden text contains hiddenWord. absentWord is in no text. It is as long as hiddenWord, and
// differs as much from every other name.
const (
	hiddenWord = "zebra"
	absentWord = "aardv"
)

func hiddenLibrary() map[string]string {
	return map[string]string{
		"open/SKILL.md":               skillText("open", "For everybody."),
		"open/notes.txt":              "notes",
		"zebra/SKILL.md":              skillText("zebra", "Zebra stripes."),
		"zebra/zebra.txt":             "zebra file",
		"zebra/deep/zebra.md":         "zebra deep",
		"around/SKILL.md":             skillText("zebra-around", "Has a zebra in it."),
		"around/zebra-in/SKILL.md":    skillText("zebra-in", "The zebra in it."),
		"zebra-broken/SKILL.md":       "zebra without frontmatter",
		"zebra-person/SKILL.md":       "---\nname: zebra-person\ndescription: For people who are zebras.\ndisable-model-invocation: true\n---\n",
		"zebra-first/SKILL.md":        skillText("shared", "The zebra of this name."),
		"zz-second/SKILL.md":          skillText("shared", "The open one of this name."),
		"invisible/SKILL.md":          skillText("zebra-ink", "Folder without the word, zebra within."),
		"zebra-unlisted/SKILL.md":     skillText("Zebra Unlisted", "Zebra with a name that is not published."),
		"open-person/SKILL.md":        "---\nname: open-person\ndescription: For people.\ndisable-model-invocation: true\n---\n",
		"open-broken/SKILL.md":        "no frontmatter",
		"open-unlisted/SKILL.md":      skillText("Open Unlisted", "Not published."),
		"zebra-group/inner/SKILL.md":  skillText("zebra-inner", "In a group of zebras."),
		"zebra-group/inner/zebra.bin": "\x00zebra",
	}
}

type holders struct {
	verifier  access.Verifier
	policy    *access.Policy
	all, some string // tokens
}

func twoHolders(t *testing.T) holders {
	t.Helper()
	pattern := func(text string) access.Pattern {
		p, err := access.ParsePattern(text)
		must(t, err)
		return p
	}
	h := holders{policy: access.NewPolicy(true, []access.Rule{{Groups: []string{"some"}, Deny: []access.Pattern{
		pattern("skill://**/*zebra*/**"), pattern("skill://zebra-ink"), pattern("skill://shared"), // URIs are by name
	}}})}
	var credentials []access.Credential
	for _, group := range []string{"all", "some"} {
		token, line := access.NewToken()
		d, err := skill.ParseDigest(line)
		must(t, err)
		credentials = append(credentials, access.Credential{Hash: d, Subject: access.Subject{Name: group, Groups: []string{group}}})
		if group == "all" {
			h.all = token
		} else {
			h.some = token
		}
	}
	h.verifier = access.NewTokens(credentials)
	return h
}

// raw sends a call and returns every byte of the answer, with its ids set to 0.
func (c *client) raw(method string, params map[string]any) string {
	c.t.Helper()
	resp := c.post(c.body(method, params))
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(c.t, err)
	text := eventName.ReplaceAllString(string(data), "id: 0")
	return strings.Replace(text, fmt.Sprintf(`"id":%d`, c.next), `"id":0`, 1)
}

var eventName = regexp.MustCompile(`(?m)^id: .*$`)

// ways returns the calls that could reveal a skill. Each contains word, which is part of the
// skill's name, folder and files.
func ways(word string, tools []*tool.Tool) map[string]map[string]any {
	all := map[string]map[string]any{}
	add := func(method string, params map[string]any) {
		text, _ := json.Marshal(params)
		all[method+" "+string(text)] = params
	}
	names := []string{word, strings.ToUpper(word), word + "-in", word + "-inner", word + "-person", word + "-broken", word + "-ink", "dir-1:" + word, word + "-group", word + " unlisted", word[:4]}
	var uris []string
	for _, at := range []string{"", "/SKILL.md", "/" + word + ".txt", "/deep", "/deep/" + word + ".md", "/absent"} {
		uris = append(uris, "skill://"+word+at)
	}
	for _, at := range []string{"/SKILL.md", "-ink/SKILL.md", "-broken/SKILL.md", "-person/SKILL.md", "-group/inner/SKILL.md", "-group", "-in/SKILL.md", "-around/SKILL.md", "-around/" + word + "-in/SKILL.md", "-inner/SKILL.md", "-group/" + word + "-inner/SKILL.md", "-group/" + word + "-inner/" + word + ".bin"} {
		uris = append(uris, "skill://"+word+at)
	}
	for _, uri := range uris {
		add("resources/read", map[string]any{"uri": uri})
		add("skills/get", map[string]any{"uri": uri})
		add("resources/directory/read", map[string]any{"uri": uri})
		add("resources/subscribe", map[string]any{"uri": uri})
		add("completion/complete", map[string]any{"ref": map[string]any{"type": "ref/resource", "uri": "skill://{+path}"}, "argument": map[string]any{"name": "path", "value": strings.TrimPrefix(uri, "skill://")}})
	}
	for _, name := range names {
		add("prompts/get", map[string]any{"name": name})
		add("completion/complete", map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": name}, "argument": map[string]any{"name": "arguments", "value": ""}})
		for _, t := range tools {
			for _, args := range []map[string]any{
				{"name": name}, {"skill_name": name}, {"skill_name": name, "file_path": "SKILL.md"}, {"skill_name": name, "file_path": word + ".txt"}, {"skill": name}, {"query": name}, {"uri": "skill://" + name + "/SKILL.md"}, {"uri": name},
			} {
				fits := slices.ContainsFunc(t.Required(), func(p string) bool { _, ok := args[p]; return ok })
				if fits || len(t.Required()) == 0 {
					add("tools/call", map[string]any{"name": t.Name, "arguments": args})
				}
			}
		}
	}
	return all
}

// lists returns the calls that list skills, or that read a skill around a hidden one.
func lists(tools []*tool.Tool) map[string]map[string]any {
	all := map[string]map[string]any{
		"tools/list": nil, "resources/list": nil, "resources/templates/list": nil, "prompts/list": nil, "skills/list": nil,
		"resources/read skill://engage/SKILL.md":          {"uri": "skill://engage/SKILL.md"},
		"resources/read skill://index.json":               {"uri": "skill://index.json"},
		"resources/directory/read skill://":               {"uri": "skill://"},
		"completion/complete path":                        {"ref": map[string]any{"type": "ref/resource", "uri": "skill://{+path}"}, "argument": map[string]any{"name": "path", "value": ""}},
		"resources/read skill://around/SKILL.md":          {"uri": "skill://around/SKILL.md"},
		"resources/read skill://around/zebra-in/SKILL.md": {"uri": "skill://around/%7Aebra-in/SKILL.md"},
		"resources/directory/read skill://around":         {"uri": "skill://around"},
		"skills/get skill://around/SKILL.md":              {"uri": "skill://around/SKILL.md"},
		"resources/read skill://invisible/SKILL.md":       {"uri": "skill://invisible/SKILL.md"},
		"prompts/get shared":                              {"name": "shared"},
	}
	for _, t := range tools {
		for i, args := range []map[string]any{{}, {"query": ""}, {"query": "stripes"}, {"name": "shared"}, {"skill_name": "shared"}, {"name": "invisible"}, {"skill_name": "around", "file_path": "zebr" + "a-in/SKILL.md"}, {"name": "zebr"}, {"skill": "shared"}} {
			all[fmt.Sprint("tools/call ", t.Name, i)] = map[string]any{"name": t.Name, "arguments": args}
		}
	}
	return all
}

// TestHiddenSkillsAreAbsent checks that a client that may not see a skill gets the same answers as
// for a missing skill, to every kind of request, and finds the skill in no list.
func TestHiddenSkillsAreAbsent(t *testing.T) {
	t.Parallel()
	sets := tool.SetNames()
	if !testwait.SecondLane() {
		sets = []string{tool.DefaultSet} // each takes half a second
	}
	for _, set := range sets {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			h := twoHolders(t)
			w := start(t, setting{files: hiddenLibrary(), tools: set, policy: h.policy, verifier: h.verifier, private: true})
			for _, era := range eras {
				reached := map[string]bool{}
				for _, token := range []string{h.all, h.some} {
					w.token = token
					c := w.dial(era)
					some := token == h.some
					tools := tools(t, set)
					begins := "server/discover"
					if era == legacy {
						begins = "initialize"
					}
					for way, params := range lists(tools) {
						method, _, _ := strings.Cut(way, " ")
						got := c.raw(method, params)
						said, _ := json.Marshal(params)
						shows := strings.Count(strings.ToLower(got), hiddenWord) > strings.Count(string(said), hiddenWord)
						if some && shows {
							t.Errorf("%s %s: %s", era, way, got)
						}
						if !some && shows {
							reached[method] = true
						}
					}
					absent := ways(absentWord, tools)
					for way, params := range ways(hiddenWord, tools) {
						method, _, _ := strings.Cut(way, " ")
						got := c.raw(method, params)
						twin := replaceWord(way, hiddenWord, absentWord)
						want := replaceWord(c.raw(method, absent[twin]), absentWord, hiddenWord)
						if absent[twin] == nil {
							t.Fatal("no twin of ", way)
						}
						if some && got != want {
							t.Errorf("%s %s\n got %s\nwant %s", era, way, got, want)
						}
						if !some && got != want {
							reached[method] = true
						}
					}
					if got := c.raw(begins, map[string]any{"protocolVersion": era, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "x", "version": "1"}}); some && strings.Contains(strings.ToLower(got), hiddenWord) {
						t.Errorf("%s: %s", begins, got)
					}
				}
				want := []string{"completion/complete", "prompts/get", "prompts/list", "resources/directory/read", "resources/list", "resources/read", "skills/get", "skills/list", "tools/call", "tools/list"}
				if era == legacy {
					want = append(want, "resources/subscribe")
				}
				for _, method := range want {
					if !reached[method] && (method != "tools/list" || set == "default" || set == "universal") {
						t.Errorf("%s: no way of %s leads to a hidden skill for one who may see it: the test tests nothing", era, method)
					}
				}
			}
		})
	}
}

// TestSkippedSkillsAreHiddenByTheirURI checks that a rule that denies a skill's URI also hides the
// skill while it is skipped. The URI has the root's label and a "~", because no URI can contain the
// folder's name.
func TestSkippedSkillsAreHiddenByTheirURI(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no folder can have the name")
	}
	t.Parallel()
	const folder = `zebra\ops/SKILL.md`
	valid := "---\nname: Zebra Ops\ndescription: Z.\n---\n"
	h := twoHolders(t)
	deny, err := access.ParsePattern("skill://dir-1/zebra~ops")
	must(t, err)
	h.policy = access.NewPolicy(true, []access.Rule{{Groups: []string{"some"}, Deny: []access.Pattern{deny}}})
	for _, text := range []string{valid, strings.Replace(valid, "description", "other", 1), "no frontmatter"} {
		w := start(t, setting{files: map[string]string{folder: text}, policy: h.policy, verifier: h.verifier, private: true})
		for _, token := range []string{h.all, h.some} {
			w.token = token
			got := w.dial(modern).raw("tools/call", map[string]any{"name": "skill", "arguments": map[string]any{"name": `zebra\op`}}) +
				w.dial(modern).raw("tools/call", map[string]any{"name": "skill", "arguments": map[string]any{"name": "zebra op"}}) +
				w.dial(modern).raw("tools/call", map[string]any{"name": "find_skills", "arguments": map[string]any{}}) +
				w.dial(modern).raw("resources/read", map[string]any{"uri": "skill://dir-1/zebra~ops/SKILL.md"})
			if sees := strings.Contains(got, "ops") && strings.Contains(strings.ReplaceAll(got, "skill://dir-1/zebra~ops", ""), "ops") || strings.Contains(got, "Zebra Ops"); sees != (token == h.all) {
				t.Errorf("%q: sees = %v: %s", text, sees, got)
			}
		}
	}
}

// replaceWord replaces a word, or its first four letters, in lower and upper case.
func replaceWord(text, from, to string) string {
	return strings.NewReplacer(from, to, strings.ToUpper(from), strings.ToUpper(to), from[:4], to[:4], strings.ToUpper(from[:4]), strings.ToUpper(to[:4])).Replace(text)
}

// TestHiddenChangesAreNotTold checks that a client is not notified of changes of skills that it may
// not see.
func TestHiddenChangesAreNotTold(t *testing.T) {
	t.Parallel()
	h := twoHolders(t)
	w := start(t, setting{files: hiddenLibrary(), policy: h.policy, verifier: h.verifier, private: true})
	streams := map[string]<-chan message{}
	var who []string
	for _, token := range []string{h.all, h.some} {
		w.token = token
		name := map[bool]string{true: "some", false: "all"}[token == h.some]
		streams[name+" modern"] = follow(t, w.dial(modern), "skill://open/notes.txt", "skill://zebra/zebra.txt")
		c := w.dial(legacy)
		streams[name+" legacy"] = follow(t, c, "skill://open/notes.txt")
		c.call("resources/subscribe", map[string]any{"uri": "skill://zebra/zebra.txt"}) // refused for some
		c.call("logging/setLevel", map[string]any{"level": "debug"})
		who = append(who, name+" modern", name+" legacy")
	}
	// until returns the notifications of a stream up to the message for which last returns true.
	until := func(from <-chan message, last func(message) bool) (said []string) {
		deadline := time.After(20 * time.Second)
		for {
			select {
			case m := <-from:
				old := m.Method == "notifications/message" && strings.Contains(string(m.Params), "open-broken") // sent once, by setLevel
				if strings.HasPrefix(m.Method, "notifications/") && m.Method != "notifications/subscriptions/acknowledged" && !old {
					said = append(said, m.Method+" "+string(m.Params))
				}
				if last(m) {
					return said
				}
			case <-deadline:
				t.Fatal("what must be told was not: ", said)
			}
		}
	}
	put(t, w.dir, map[string]string{
		"zebra/SKILL.md": skillText("zebra", "Other zebras."), "zebra-new/SKILL.md": skillText("zebra-new", "A zebra."), "zebra/zebra.txt": "another",
		"zebra-skipped/SKILL.md": "no frontmatter zebra",
	})
	// First wait until the clients that may see the change are notified. Then make a change that
	// all clients may see.
	for _, name := range who {
		if strings.HasPrefix(name, "all") {
			until(streams[name], func(m message) bool { return m.Method == "notifications/resources/updated" })
		}
	}
	testwait.Within(500*time.Millisecond, func() bool { // an unwanted message would arrive by now
		return slices.ContainsFunc(who, func(name string) bool { return strings.HasPrefix(name, "some") && len(streams[name]) > 1 })
	})
	put(t, w.dir, map[string]string{"open/notes.txt": "other notes"})
	for _, name := range who {
		said := until(streams[name], func(m message) bool {
			return m.Method == "notifications/resources/updated" && strings.Contains(string(m.Params), "open/notes.txt")
		})
		if strings.HasPrefix(name, "some") && len(said) != 1 {
			t.Errorf("%s is told %q", name, said)
		}
	}
	put(t, w.dir, map[string]string{"open/SKILL.md": skillText("open", "For all.")})
	for _, name := range who {
		until(streams[name], func(m message) bool { return m.Method == "notifications/tools/list_changed" })
	}
}

// TestRestrictTells checks that a change of the rules notifies exactly the clients whose view
// changes, and immediately. The test sets rules, equal rules, and no rules.
func TestRestrictTells(t *testing.T) {
	t.Parallel()
	h := twoHolders(t)
	w := start(t, setting{files: hiddenLibrary(), verifier: h.verifier, private: true})
	w.server.CheckEvery(50 * time.Millisecond)
	streams := map[string]<-chan message{}
	for name, token := range map[string]string{"all": h.all, "some": h.some} {
		w.token = token
		for _, era := range eras {
			streams[name+" "+era] = follow(t, w.dial(era), "skill://open/notes.txt")
		}
	}
	lists := []string{"notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/tools/list_changed"}
	again := twoHolders(t).policy
	for i, step := range []struct {
		what   string
		policy *access.Policy
		told   bool
	}{{"the first rules", h.policy, true}, {"the same once more", again, false}, {"none", nil, true}, {"still none", nil, false}} {
		w.restrict(step.policy)
		deadline := time.After(20 * time.Second)
		said := map[string][]string{}
		next := func(who string) (last bool) {
			select {
			case m := <-streams[who]:
				if last = m.Method == "notifications/resources/updated"; !last && strings.HasPrefix(m.Method, "notifications/") {
					said[who] = append(said[who], m.Method)
				}
			case <-deadline:
				t.Fatalf("%s: %s hears no more; until now %q", step.what, who, said)
			}
			return last
		}
		for who := range streams {
			for step.told && strings.HasPrefix(who, "some") && len(said[who]) < len(lists) {
				next(who)
			}
		}
		testwait.Within(100*time.Millisecond, func() bool { // an unwanted message would arrive by now
			for _, stream := range streams {
				if len(stream) > 0 {
					return true
				}
			}
			return false
		})
		rewrite(t, w.dir, "open/notes.txt", fmt.Sprint("notes of step ", i))
		for who := range streams {
			for !next(who) {
			}
			var want []string
			if step.told && strings.HasPrefix(who, "some") {
				want = lists
			}
			slices.Sort(said[who])
			if !slices.Equal(said[who], want) {
				t.Errorf("%s: %s is told %q, want %q", step.what, who, said[who], want)
			}
		}
	}
}

// TestGroupTakenAway checks a subject that loses its group while its sessions and streams are open.
// It is notified that its lists have changed. It is not notified of a skill that it no longer sees,
// neither then nor when it resumes a stream.
func TestGroupTakenAway(t *testing.T) {
	t.Parallel()
	h := twoHolders(t)
	token, line := access.NewToken()
	d, err := skill.ParseDigest(line)
	must(t, err)
	in := func(group string) *access.Tokens {
		return access.NewTokens([]access.Credential{{Hash: d, Subject: access.Subject{Name: "ann", Groups: []string{group}}}})
	}
	w := start(t, setting{files: hiddenLibrary(), policy: h.policy, verifier: in("all"), private: true})
	w.server.CheckEvery(50 * time.Millisecond)
	w.token = token
	both := []string{"skill://open/notes.txt", "skill://zebra/zebra.txt"}
	listening := follow(t, w.dial(modern), both...)
	c := w.dial(legacy)
	var closeGet func()
	get := func(last string) <-chan message {
		resp := c.resume(last)
		closeGet = func() { resp.Body.Close() }
		t.Cleanup(closeGet)
		if resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
		return events(resp)
	}
	streams := map[string]<-chan message{legacy: get(""), modern: listening}
	for _, uri := range both {
		c.result("resources/subscribe", map[string]any{"uri": uri}, nil)
	}
	rewrite(t, w.dir, "zebra/zebra.txt", "told while it may be") // the stream's event _0
	for _, stream := range streams {
		await(t, stream, "notifications/resources/updated")
	}

	w.verifier = in("some")
	w.restrict(w.policy)
	if n := w.server.Subscriptions(); n != 1 {
		t.Errorf("%d files are watched, want the one that is still seen", n)
	}
	const updated = "notifications/resources/updated"
	lists := []string{"notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/tools/list_changed"}
	told := map[string][]string{}
	listen := func(until string) {
		t.Helper()
		deadline := time.After(40 * time.Second)
		for era, stream := range streams {
			for done := false; !done; {
				select {
				case said, open := <-stream:
					if !open {
						t.Fatal(era, ": the stream ends")
					}
					if strings.HasPrefix(said.Method, "notifications/") && said.Method != "notifications/subscriptions/acknowledged" {
						told[era] = append(told[era], said.Method)
						done = said.Method == until && (until != updated || strings.Contains(string(said.Params), "open/notes.txt")) || until == "" && len(told[era]) == len(lists)
					}
				case <-deadline:
					t.Fatal(era, ": only told ", told[era])
				}
			}
		}
	}
	listen("")
	put(t, w.dir, map[string]string{"zebra/SKILL.md": skillText("zebra", "Other zebras."), "zebra/zebra.txt": "another", "zebra-new/SKILL.md": skillText("zebra-new", "A zebra.")})
	must(t, w.catalog.Refresh(t.Context()))
	must(t, os.RemoveAll(filepath.Join(w.dir, "zebra"))) // a client that may no longer see the skill is not notified of its removal either
	must(t, w.catalog.Refresh(t.Context()))
	rewrite(t, w.dir, "open/notes.txt", "told to all")
	listen(updated)
	for era, said := range told {
		slices.Sort(said)
		if want := slices.Sorted(slices.Values(append(slices.Clone(lists), updated))); !slices.Equal(said, want) {
			t.Errorf("%s is told %q", era, said)
		}
	}
	deadline := time.After(40 * time.Second)
	closeGet()
	again := get("_0")
	put(t, w.dir, map[string]string{"open/notes.txt": "other notes"})
	for {
		select {
		case said, more := <-again:
			if !more {
				t.Fatal("the stream that resumes has ended")
			}
			if said.Method == "" || slices.Contains(lists, said.Method) {
				continue
			}
			if said.Method == updated && strings.Contains(string(said.Params), "open/notes.txt") {
				return
			}
			t.Errorf("who resumes is told %s %s", said.Method, said.Params)
		case <-deadline:
			t.Fatal("what may be told is not")
		}
	}
}
