package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/llm/chat"
	"github.com/knack-dev/knack/internal/llm/model"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/tool"
)

// server has the tools of another server.
type server struct {
	name string
	call func(ctx context.Context, name string, arguments json.RawMessage) (tool.Result, error)
}

func (s *server) Definitions() (all []tool.Definition) {
	for _, name := range []string{"read", "read_all", "write", "delete"} {
		all = append(all, tool.Definition{Name: s.name + "__" + name, Description: "About " + name, Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}}}`)})
	}
	return all
}

func (s *server) Call(ctx context.Context, name string, arguments json.RawMessage) (tool.Result, error) {
	return s.call(ctx, name, arguments)
}

// hanging is a file system whose disk stops answering on request.
type hanging struct {
	fs.FS
	asked chan struct{}
	free  chan struct{}
}

func (h hanging) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, "slow.txt") {
		h.asked <- struct{}{}
		<-h.free
	}
	return h.FS.Open(name)
}

func (h hanging) Sub(dir string) (fs.FS, error) { return skilltest.Below(h, dir), nil }

var errStop = errors.New("the user has typed Ctrl-C")

// TestInterrupt interrupts a turn while text streams, while a tool runs, while a disk hangs, and
// while the user is asked, each a hundred times in one conversation. It checks that every later
// request is valid, and that no goroutine is left.
func TestInterrupt(t *testing.T) {
	const times = 100
	for name, tt := range map[string]struct {
		calls  []string
		text   string // the last message that the model gets of the turn
		events []string
	}{
		"text":        {nil, "Hel (interrupted)", nil},
		"nothing yet": {nil, "(interrupted)", nil},
		"a tool":      {[]string{"files__write", `{"path":"a"}`, "files__read", `{}`}, "", []string{`[Tool Call] files__write(path="a")`, "[Tool Result] interrupted by the user"}},
		"a disk": {[]string{"find_skills", `{"limit":1}`, "read_file_in_skill", `{"skill_name":"calculator","file_path":"slow.txt"}`, "skill", `{"name":"calculator"}`}, "",
			[]string{"[Tool Call] find_skills(limit=1)", "[Tool Result] found", `[Tool Call] read_file_in_skill(skill_name="calculator", file_path="slow.txt")`, "[Tool Result] interrupted by the user"}},
		"a question": {[]string{"files__delete", `{"path":"a"}`, "files__read", `{}`}, "", []string{`[Tool Call] files__delete(path="a")`, "[Tool Result] interrupted by the user"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				waits := make(chan struct{})
				m := &scripted{}
				var s seen
				o := options(t, m, &s)
				root := skilltest.Project(map[string]string{"calculator/SKILL.md": skilltest.Document("calculator", "Adds."), "calculator/slow.txt": "x"})
				disk := hanging{root.FS, waits, make(chan struct{})}
				root.FS = disk
				c := catalog.New([]catalog.Source{root}, catalog.Options{})
				if err := c.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				o.Host = tool.NewHost(c)
				o.Allow = []string{"files__write", "files__read"}
				o.Ask = func(ctx context.Context, _ chat.Question) (chat.Consent, error) {
					waits <- struct{}{}
					<-ctx.Done()
					return chat.No, context.Cause(ctx)
				}
				o.Others = []chat.Tools{&server{"files", func(ctx context.Context, name string, _ json.RawMessage) (tool.Result, error) {
					if name == "files__read" {
						t.Error("a call is made after the end")
					}
					waits <- struct{}{}
					<-ctx.Done()
					return tool.Result{Text: "late"}, nil
				}}}
				talk := chat.New(o)
				for range times {
					s.events = nil
					if tt.calls != nil {
						m.calls("", tt.calls...)
					} else {
						m.waits(strings.TrimSuffix(strings.TrimSuffix(tt.text, "(interrupted)"), " "), waits)
					}
					ctx, cancel := context.WithCancelCause(t.Context())
					done := make(chan error)
					go func() { done <- talk.Say(ctx, "go") }()
					<-waits
					cancel(errStop)
					if err := <-done; !errors.Is(err, errStop) || !talk.Kept() {
						t.Fatalf("ends with %v", err)
					}
					if name == "a disk" {
						s.events[1] = "[Tool Result] found"
						disk.free <- struct{}{}
					}
					if diff := cmp.Diff(tt.events, s.events); diff != "" {
						t.Fatal(diff)
					}
					m.says("Yes?")
					say(t, talk, "again", "")
					r := m.requests[len(m.requests)-1]
					valid(t, r)
					last := r.Messages[len(r.Messages)-2]
					if last.Text != tt.text {
						t.Fatalf("the last message is %q", last.Text)
					}
					for i, result := range last.Results {
						if want := "interrupted by the user"; result.Text != want && !(name == "a disk" && i == 0) {
							t.Fatalf("result %d is %q", i, result.Text)
						}
					}
				}
				if len(m.requests) != 2*times {
					t.Errorf("%d requests", len(m.requests))
				}
			}) // the bubble fails if a goroutine is left
		})
	}
}

// TestTime checks that the time limit of a turn does not count the time in which the user is asked.
func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := (&scripted{}).calls("", "files__delete", `{}`)
		m.replies = append(m.replies, func(ctx context.Context, _ func(string)) (model.Answer, error) {
			<-ctx.Done()
			return model.Answer{}, context.Cause(ctx)
		})
		var s seen
		o := options(t, m, &s)
		o.Time = time.Minute
		o.Ask = func(context.Context, chat.Question) (chat.Consent, error) {
			testwait.Advance(time.Hour)
			return chat.Yes, nil
		}
		o.Others = []chat.Tools{&server{"files", func(context.Context, string, json.RawMessage) (tool.Result, error) {
			testwait.Advance(20 * time.Second)
			return tool.Result{Text: "gone"}, nil
		}}}
		c := chat.New(o)
		begun := time.Now()
		say(t, c, "go", "Reached the time limit of one answer (1m0s).")
		if took := time.Since(begun); took != time.Hour+time.Minute {
			t.Errorf("ended after %v", took)
		}
		m.says("Yes?")
		say(t, c, "again", "")
		valid(t, m.requests[len(m.requests)-1])
	})
}

// TestConsent checks which calls of other servers are made.
func TestConsent(t *testing.T) {
	type asked = []string
	for name, tt := range map[string]struct {
		allow   []string
		answers []chat.Consent // nil: no user can be asked
		calls   []string
		asked   asked
		made    []string
		records string
	}{
		"nobody":  {nil, nil, []string{"files__read", "skill"}, nil, nil, "no"},
		"no":      {nil, []chat.Consent{chat.No, chat.No}, []string{"files__read", "files__read"}, asked{`files__read(path="a")`, `files__read(path="a")`}, nil, "no no"},
		"yes":     {nil, []chat.Consent{chat.Yes, chat.No}, []string{"files__read", "files__read"}, asked{`files__read(path="a")`, `files__read(path="a")`}, []string{"files__read"}, "yes no"},
		"always":  {nil, []chat.Consent{chat.Always, chat.No}, []string{"files__read", "files__read", "files__read_all"}, asked{`files__read(path="a")`, `files__read_all(path="a")`}, []string{"files__read", "files__read"}, "always always no"},
		"exactly": {[]string{"files__read"}, nil, []string{"files__read", "files__read_all", "files__write"}, nil, []string{"files__read"}, "files__read no no"},
		"pattern": {[]string{"files__read*"}, nil, []string{"files__read", "files__read_all", "files__write", "files__delete"}, nil, []string{"files__read", "files__read_all"}, "files__read* files__read* no no"},
		"another": {[]string{"file__*", "*__nothing"}, nil, []string{"files__read"}, nil, nil, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &scripted{}
			var calls []string
			for _, call := range tt.calls {
				calls = append(calls, call, `{"path":"a"}`)
			}
			m.calls("", calls...).says("Well.")
			var s seen
			o := options(t, m, &s)
			o.Allow = tt.allow
			var questions asked
			if tt.answers != nil {
				o.Ask = func(_ context.Context, q chat.Question) (chat.Consent, error) {
					questions = append(questions, q.String())
					answer := tt.answers[0]
					tt.answers = tt.answers[1:]
					return answer, nil
				}
			}
			var made []string
			o.Others = []chat.Tools{&server{"files", func(_ context.Context, name string, _ json.RawMessage) (tool.Result, error) {
				made = append(made, name)
				return tool.Result{Text: "done"}, nil
			}}}
			say(t, chat.New(o), "go", "")
			if diff := cmp.Diff(tt.asked, questions); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.made, made); diff != "" {
				t.Error(diff)
			}
			var records []string
			for _, r := range s.records {
				if r.Type == "consent" {
					records = append(records, r.Consent)
				}
			}
			if got := strings.Join(records, " "); got != tt.records {
				t.Errorf("recorded %s, want %s", got, tt.records)
			}
			refused := 0
			for _, r := range m.requests[1].Messages[2].Results {
				if r.Text == "The user has not allowed this tool." && r.IsError {
					refused++
				}
			}
			if n := strings.Count(tt.records, "no"); refused != n {
				t.Errorf("%d calls are refused, want %d", refused, n)
			}
			valid(t, m.requests[1])
		})
	}
}

// TestSkillAsks checks that the user is also asked about a call that a skill demands, and that the
// skill tools need no question.
func TestSkillAsks(t *testing.T) {
	m := (&scripted{}).calls("", "skill", `{"name":"calculator"}`).calls("", "files__delete", `{"path":"a"}`).says("No.")
	var s seen
	o := options(t, m, &s)
	questions := 0
	o.Ask = func(context.Context, chat.Question) (chat.Consent, error) {
		questions++
		return chat.No, nil
	}
	o.Others = []chat.Tools{&server{"files", func(context.Context, string, json.RawMessage) (tool.Result, error) {
		t.Error("it is called")
		return tool.Result{}, nil
	}}}
	say(t, chat.New(o), "go", "")
	if questions != 1 || !strings.Contains(m.requests[1].Messages[2].Results[0].Text, "Run files__delete now.") {
		t.Errorf("%d questions", questions)
	}
	for _, r := range m.requests {
		valid(t, r)
	}
}

// TestForeign checks the results that the model gets from another server.
func TestForeign(t *testing.T) {
	m := (&scripted{}).calls("", "files__read", `{"path":1}`, "files__write", `{}`, "files__delete", `[1]`, "files__read_all", `{}`).says("Well.")
	var s seen
	o := options(t, m, &s)
	o.Allow = []string{"files__*"}
	o.Others = []chat.Tools{&server{"files", func(_ context.Context, name string, arguments json.RawMessage) (tool.Result, error) {
		switch name {
		case "files__read":
			return tool.Result{Text: strings.Repeat("é", 100_001)}, nil
		case "files__write":
			return tool.Result{}, errors.New("the program has ended")
		}
		return tool.Result{Text: "refused", IsError: true}, nil
	}}}
	say(t, chat.New(o), "go", "")
	var got []string
	for _, r := range m.requests[1].Messages[2].Results {
		got = append(got, r.Text)
	}
	want := []string{strings.Repeat("é", 100_000) + "… (1 more character)", "The tool could not be called: the program has ended", `{"error":"Invalid tool arguments: they must be one JSON object"}`, "refused"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(m.requests[0].Tools), `"files__delete"`) {
		t.Error("the tools are not defined")
	}
}

// TestQuestion checks that a question shows all arguments, and no character that could hide them.
func TestQuestion(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for arguments, want := range map[string]string{
		`{}`:                                   `files__w()`,
		`{"path":"a.txt","n":[1,2]}`:           `files__w(path="a.txt", n=[1,2])`,
		`{"b":1,"a":{"c":null}}`:               `files__w(b=1, a={"c":null})`,
		`{"x":"` + long + `"}`:                 `files__w(x="` + long + `")`,
		`{"x":"a\u001b[2K\r\u202e<b>"}`:        `files__w(x="a\u001b[2K\r\u202e<b>")`,
		"{\"x\":\"\u202e\u200b\",\"a\\nb\":2}": `files__w(x="\u202e\u200b", "a\nb"=2)`,
	} {
		if got := (chat.Question{Tool: "files__w", Arguments: json.RawMessage(arguments)}).String(); got != want {
			t.Errorf("%s: %s, want %s", arguments, got, want)
		}
	}
}

func TestCheckPattern(t *testing.T) {
	for pattern, want := range map[string]string{"files__read_*": "", "*": "", "a-Z9": "", "": "it is empty", "a b": "' ' is in no name of a tool", "[a]": "'[' is in no name of a tool", `a\*`: `'\\' is in no name of a tool`} {
		if got := chat.CheckPattern(pattern); got != want {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
	}
}

// TestAskEnds checks that Ctrl-C at a question ends the turn.
func TestAskEnds(t *testing.T) {
	m := (&scripted{}).calls("", "files__write", `{}`, "files__read", `{}`)
	var s seen
	o := options(t, m, &s)
	o.Ask = func(context.Context, chat.Question) (chat.Consent, error) { return chat.No, errStop }
	o.Others = []chat.Tools{&server{"files", nil}}
	c := chat.New(o)
	say(t, c, "go", errStop.Error())
	m.says("Yes?")
	say(t, c, "again", "")
	valid(t, m.requests[1])
}
