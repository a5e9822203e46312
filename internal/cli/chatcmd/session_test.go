package chatcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/llm/chat"
	"github.com/knack-dev/knack/internal/llm/model"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/internal/workspace/config"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/tool"
)

// shared is a stream that several goroutines use.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// take returns the output since the last call of take.
func (s *shared) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.b.String()
	s.b.Reset()
	return text
}

// fake is a model whose answer depends on the last words of the user.
type fake struct {
	end      model.Endpoint
	requests []model.Request
	deaf     chan struct{} // holds back an answer even after the context has ended
}

func (f *fake) Models(context.Context) ([]string, error) { return []string{"small", "large"}, nil }
func (f *fake) Body(r model.Request) ([]byte, error)     { return json.Marshal(r.Messages) }
func (f *fake) Close()                                   {}
func (f *fake) Answer(ctx context.Context, r model.Request, text func(string)) (model.Answer, error) {
	r.Messages = append([]model.Message(nil), r.Messages...)
	f.requests = append(f.requests, r)
	last := r.Messages[len(r.Messages)-1]
	m := model.Message{Role: model.Assistant, Text: "You said: " + last.Text + "."}
	switch {
	case last.Role == model.Tool:
		m.Text = "It says: " + last.Results[0].Text
	case last.Text == "wait", last.Text == "hang":
		text("Hel")
		if last.Text == "hang" {
			<-f.deaf
		}
		<-ctx.Done()
		return model.Answer{Message: model.Message{Role: model.Assistant, Text: "Hel"}}, context.Cause(ctx)
	case last.Text == "write":
		m.Text, m.Calls = "", []model.Call{{ID: fmt.Sprint(len(f.requests)), Name: "files__write", Arguments: json.RawMessage(`{"path":"a.txt"}`)}}
	case last.Text == "fail":
		return model.Answer{}, &model.Error{Category: model.Server, Host: "h:1"}
	case last.Text == "long":
		return model.Answer{}, tooLong
	}
	text(m.Text)
	return model.Answer{Message: m}, nil
}

var tooLong = &model.Error{Category: model.TooLong, Host: "h:1", Model: "small"}

// files is another server with one tool.
type files struct{ calls int }

func (f *files) Definitions() []tool.Definition {
	return []tool.Definition{{Name: "files__write", Description: "Writes a file.\nMore of it.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}
}

func (f *files) Call(context.Context, string, json.RawMessage) (tool.Result, error) {
	f.calls++
	return tool.Result{Text: fmt.Sprint("written ", f.calls)}, nil
}

// session is a running command at a terminal without escape sequences.
type session struct {
	t        *testing.T
	model    *fake
	files    files
	signals  chan os.Signal
	keys     *io.PipeWriter
	out, err shared
	ended    chan error
}

// begin starts a conversation in a synctest bubble.
func begin(t *testing.T, typed bool, set func(*Options)) *session {
	t.Helper()
	c := catalog.New([]catalog.Source{skilltest.Project(map[string]string{"git/SKILL.md": skilltest.Document("git", "Writes commits.")})}, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	tools, err := tool.ParseSets("default")
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, model: &fake{deaf: make(chan struct{})}, signals: make(chan os.Signal), ended: make(chan error, 1)}
	keyboard, keys := io.Pipe()
	s.keys = keys
	env := &console.Env{Stdin: keyboard, Stdout: &s.out, Stderr: &s.err, Home: t.TempDir(), StdinTerminal: typed, StdoutTerminal: typed, StderrTerminal: typed, Getenv: func(name string) string {
		return map[string]string{"TERM": "dumb"}[name]
	}}
	file, problems := config.Parse([]byte("chat: {models: {mine: {url: 'http://h:1/v1', model: small}, far: {wire: anthropic, model: distant}}, model: mine}\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	o := Options{Env: env, Tools: tools, Set: "default", Others: []chat.Tools{&s.files}, File: &settings.File{Shown: "knack.yaml", Config: file}, Rounds: 15,
		Host: func(context.Context) (*tool.Host, error) { return tool.NewHost(c), nil },
		open: func(end model.Endpoint) client { s.model.end = end; return s.model }}
	if typed {
		o.Signals = s.signals
	}
	if set != nil {
		set(&o)
	}
	go func() { s.ended <- Run(t.Context(), o) }()
	synctest.Wait()
	return s
}

// types sends keys, and checks the output that follows.
func (s *session) types(keys, out, err string) {
	s.t.Helper()
	if _, wrong := io.WriteString(s.keys, keys); wrong != nil {
		s.t.Fatal(wrong)
	}
	s.shows(fmt.Sprintf("after %q", keys), out, err)
}

func (s *session) shows(when, out, err string) {
	s.t.Helper()
	synctest.Wait()
	if got := s.out.take(); got != out {
		s.t.Errorf("%s: stdout %q, want %q", when, got, out)
	}
	if got := s.err.take(); got != err {
		s.t.Errorf("%s: stderr %q, want %q", when, got, err)
	}
}

// ends waits for the command to end, and checks the exit status.
func (s *session) ends(status int) {
	s.t.Helper()
	err := <-s.ended
	got := 0
	if f := (*command.Failure)(nil); errors.As(err, &f) {
		got = f.Code
	} else if err != nil {
		got = -1
	}
	if got != status {
		s.t.Errorf("exit status %d, want %d: %v", got, status, err)
	}
}

const greeting = "small at h:1, with 1 skill; /help lists the commands, and exit leaves\n"

// TestConversation checks a conversation in which each kind of line is typed.
func TestConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, true, nil)
		s.shows("at the start", "You: ", greeting)
		s.types("hi\n", "You said: hi.\nYou: ", "")
		s.types("one \\\n", "...: ", "")
		s.types("two\n", "You said: one \ntwo.\nYou: ", "")
		s.types("  \n", "You: ", "")
		s.types(" /etc\n", "You said: /etc.\nYou: ", "")
		s.types("/skills\n", "You: ", "  git  Writes commits.\n1 skill\n")
		s.types("/tools\n", "You: ", "  skill  Load Skill\n  read_file_in_skill  Read File in Skill\n  find_skills  Find Skills\n  files__write  Writes a file.\n")
		s.types("/nwe\n", "You: ", "error: there is no command /nwe\nhint: did you mean /new?\n")
		s.types("/etc/passwd\n", "You: ", "error: there is no command /etc/passwd\nhint: /help lists the commands; to say something that begins with /, type a blank before it\n")
		s.types("/new now\n", "You: ", "error: /new takes nothing after it\nhint: write it alone\n")
		if n := len(s.model.requests); len(s.model.requests[n-1].Messages) != 5 {
			t.Errorf("the conversation has %d messages", len(s.model.requests[n-1].Messages))
		}
		s.types("/new\n", "You: ", "a new conversation\n")
		s.types("hi\n", "You said: hi.\nYou: ", "")
		if n := len(s.model.requests); len(s.model.requests[n-1].Messages) != 1 {
			t.Errorf("the new conversation has %d messages", len(s.model.requests[n-1].Messages))
		}
		s.types("/model\n", "You: ", "small at h:1\nin knack.yaml: mine, far\n")
		s.types("/model larg\n", "You: ", "error: h:1 has no model 'larg'\nhint: did you mean large?\n")
		s.types("/model large\n", "You: ", "large at h:1\n")
		s.types("/model far\n", "You: ", "distant at api.anthropic.com\n")
		if s.types("and?\n", "You said: and?.\nYou: ", ""); s.model.end.Wire != model.Anthropic || len(s.model.requests[len(s.model.requests)-1].Messages) != 3 {
			t.Errorf("goes on with %+v", s.model.end)
		}
		s.types("fail\n", "You: ", "error: h:1 has failed; try again later\nhint: your last message is not a part of the conversation; send it again\n")
		s.types("long\n", "You: ", "error: "+tooLong.Error()+"\nhint: /new begins a new conversation; nothing of this one was cut\n")
		s.types("exit\n", "", "")
		s.ends(0)
	})
}

// TestLeaving checks the ways to leave a conversation at the prompt.
func TestLeaving(t *testing.T) {
	for name, tt := range map[string]struct {
		do     func(s *session)
		status int
		err    string
	}{
		"/exit":        {func(s *session) { io.WriteString(s.keys, "/exit\n") }, 0, ""},
		"end of input": {func(s *session) { s.keys.Close() }, 0, "\n"},
		"Ctrl-C":       {func(s *session) { s.signals <- os.Interrupt }, 130, ""},
		"SIGTERM":      {func(s *session) { s.signals <- syscall.SIGTERM }, 143, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := begin(t, true, nil)
				s.shows("at the start", "You: ", greeting)
				tt.do(s)
				s.ends(tt.status)
				s.shows("at the end", "", tt.err)
				s.keys.Close() // a read is still waiting for input
			})
		})
	}
}

// TestCtrlC checks that Ctrl-C ends an answer or a question, a hundred times, and that the
// conversation continues.
func TestCtrlC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, true, nil)
		s.shows("at the start", "You: ", greeting)
		for range 100 {
			testwait.Advance(2 * time.Second)
			s.types("wait\n", "Hel", "")
			s.signals <- os.Interrupt
			s.shows("after Ctrl-C", " (interrupted)\nYou: ", "")
			s.types("hi\n", "You said: hi.\nYou: ", "")
			testwait.Advance(2 * time.Second)
			s.types("write\n", "[y]es, [a]lways this tool, [n]o: ", "\n[Tool Call] files__write(path=\"a.txt\")\nAllow files__write(path=\"a.txt\")?\n")
			s.signals <- os.Interrupt
			s.shows("after Ctrl-C at a question", "You: ", "[Tool Result] interrupted by the user\n\n(interrupted)\n")
			s.types("hi\n", "You said: hi.\nYou: ", "") // the read was already waiting
		}
		if s.files.calls > 0 {
			t.Errorf("%d calls were made", s.files.calls)
		}
		testwait.Advance(2 * time.Second)
		s.types("hang\n", "Hel", "")
		s.signals <- os.Interrupt
		synctest.Wait()
		s.signals <- os.Interrupt // within a second of the last one
		s.ends(130)
		close(s.model.deaf)
		s.keys.Close()
	})
}

// TestTerminated checks that SIGTERM ends a turn, even one that hangs, and checks the transcript.
func TestTerminated(t *testing.T) {
	for words, want := range map[string]string{
		"wait": "session user assistant error end",
		"hang": "session user end",
	} {
		synctest.Test(t, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "t.jsonl")
			s := begin(t, true, func(o *Options) { o.Transcript = file })
			s.shows("at the start", "You: ", greeting)
			s.types(words+"\n", "Hel", "")
			s.signals <- syscall.SIGTERM
			s.ends(143)
			close(s.model.deaf)
			s.keys.Close()
			s.shows("after the end", "", "")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var types []string
			for line := range bytes.Lines(data) {
				var r chat.Record
				if err := json.Unmarshal(line, &r); err != nil {
					t.Fatal(err)
				}
				types = append(types, r.Type)
			}
			if got := strings.Join(types, " "); got != want {
				t.Errorf("%s: the transcript has %s, want %s", words, got, want)
			}
		})
	}
}

// TestAsk checks which answers to a question about a call allow it.
func TestAsk(t *testing.T) {
	const question, call = "[y]es, [a]lways this tool, [n]o: ", "\n[Tool Call] files__write(path=\"a.txt\")\nAllow files__write(path=\"a.txt\")?\n"
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, true, nil)
		s.shows("at the start", "You: ", greeting)
		s.types("write\n", question, call)
		s.types("\n", question, "")
		s.types("why\n", question, "")
		s.types("N\n", "It says: The user has not allowed this tool.\nYou: ", "[Tool Result] The user has not allowed this tool.\n\n")
		s.types("write\n", question, call)
		s.types("y\n", "It says: written 1\nYou: ", "[Tool Result] written 1\n\n")
		s.types("write\nalways\n", question, call) // the answer came before the question
		s.types("always\n", "It says: written 2\nYou: ", "[Tool Result] written 2\n\n")
		s.types("write\n", "It says: written 3\nYou: ", "\n[Tool Call] files__write(path=\"a.txt\")\n[Tool Result] written 3\n\n")
		s.types("exit\n", "", "")
		s.ends(0)
	})
}

// TestAskOnce checks that a chat with a single question also asks the user about a call.
func TestAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, true, func(o *Options) { o.Once, o.Prompt = true, "write" })
		s.shows("at the start", "[y]es, [a]lways this tool, [n]o: ", "\n[Tool Call] files__write(path=\"a.txt\")\nAllow files__write(path=\"a.txt\")?\n")
		s.types("y\n", "It says: written 1\n", "[Tool Result] written 1\n\n")
		s.ends(0)
	})
}

// TestElsewhere checks chat without a terminal. It must print no prompts, ask no questions, and end
// at the first failure.
func TestElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, false, nil)
		s.types("hi\n", "You said: hi.\n", "")
		s.types("write\n", "It says: The user has not allowed this tool.\n", "[Tool Call] files__write(path=\"a.txt\")\n[Tool Result] The user has not allowed this tool.\n")
		s.types("fail\n", "", "")
		s.ends(3)
	})
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, false, func(o *Options) { o.Quiet, o.Allow = true, []string{"files__*"} })
		s.types("write\n", "It says: written 1\n", "")
		s.types("last", "", "")
		s.keys.Close()
		s.ends(0)
		s.shows("at the end", "You said: last.\n", "")
	})
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, false, nil)
		s.types("/nope\n", "", "")
		s.ends(2)
	})
}

// TestJSON checks that --json prints a transcript.
func TestJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, false, func(o *Options) { o.JSON, o.Once, o.Prompt = true, true, "hi" })
		s.ends(0)
		var types []string
		for line := range strings.Lines(s.out.take()) {
			var r chat.Record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			types = append(types, r.Type)
		}
		if got := strings.Join(types, " "); got != "session user assistant end" {
			t.Errorf("lines %s", got)
		}
	})
}
