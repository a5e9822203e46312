package mcpclient

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/display"
)

const (
	// graceTime is how long a program may take to end after SIGTERM.
	graceTime = 5 * time.Second
	// lastWords is how long to wait for the end of a program's output. A process that left the
	// program's group may keep the pipes open.
	lastWords = time.Second
	// hurryTime replaces graceTime once the caller's context has ended.
	hurryTime = 500 * time.Millisecond
	// maxSaid bounds the lines of standard error that are passed on.
	maxSaid = 1_000
	// maxLine bounds a line of standard error, in bytes; the rest of the line is dropped.
	maxLine = 8 << 10
)

// program is a transport to a server on standard input and output.
type program struct {
	words  []string
	dir    string
	env    []string
	grace  time.Duration
	tell   func(line string)
	name   string
	hidden secrets

	stream *stream // nil until Connect

	stop, hurry chan struct{} // closed to end the program, and to end it soon
	stopOnce    sync.Once
	hurryOnce   sync.Once
	heard       chan struct{} // closed when the program's standard error has ended
	ended       chan struct{} // closed when the program and its process group have ended
	how         string        // how the program ended, valid once ended is closed
	started     bool

	mu   sync.Mutex
	said string // a line of standard error that may explain why the program ends
}

// inheritedEnv lists the environment variables that every program gets.
var inheritedEnv = map[string][]string{
	"windows": {"PATH", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP"},
	"":        {"PATH", "HOME", "LANG", "TMPDIR"},
}

func newProgram(s Server, o Options, hidden secrets) *program {
	p := &program{
		words: s.Command, dir: s.Dir, name: s.Name, tell: o.Said, hidden: hidden, grace: cmp.Or(o.grace, graceTime),
		stop: make(chan struct{}), hurry: make(chan struct{}), heard: make(chan struct{}), ended: make(chan struct{}),
	}
	names, ok := inheritedEnv[runtime.GOOS]
	if !ok {
		names = inheritedEnv[""]
	}
	for _, name := range names {
		if value := o.Getenv(name); value != "" {
			p.env = append(p.env, name+"="+value)
		}
	}
	for name, value := range s.Env { // if a variable is set twice, the last value counts
		p.env = append(p.env, name+"="+value)
	}
	p.env = append(p.env, hidden.env...)
	return p
}

// Connect starts the program.
func (p *program) Connect(context.Context) (mcp.Connection, error) {
	cmd, err := p.command()
	if err != nil {
		return nil, err
	}
	var files [6]*os.File
	for i := 0; i < len(files); i += 2 {
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			break
		}
	}
	closeAll := func(files ...*os.File) {
		for _, f := range files {
			if f != nil {
				f.Close()
			}
		}
	}
	if err != nil {
		closeAll(files[:]...)
		return nil, &Error{Server: p.name, What: "the program cannot be started: " + safeLine(err.Error())}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[3], files[5]
	in, out, stderr := files[1], files[2], files[4]
	began := make(chan error)
	go func() {
		// On Linux, Pdeathsig kills the program when the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		closeAll(files[0], files[3], files[5])
		began <- err
		if err == nil {
			go p.listen(stderr)
			p.run(cmd, in, out, stderr)
		}
	}()
	if err := <-began; err != nil {
		closeAll(in, out, stderr)
		return nil, p.cannot(err)
	}
	p.started = true
	p.stream = newStream(in, out, p)
	return p.stream, nil
}

// command returns the program's command with its path resolved.
func (p *program) command() (*exec.Cmd, error) {
	path := filepath.FromSlash(p.words[0])
	switch {
	case filepath.IsAbs(path):
	case filepath.Base(path) != path:
		path = filepath.Join(p.dir, path)
	default:
		found, err := exec.LookPath(path)
		if err != nil {
			return nil, p.cannot(err)
		}
		path = found
	}
	cmd := exec.Command(path, p.words[1:]...)
	cmd.Env, cmd.Dir = p.env, p.dir
	group(cmd)
	return cmd, nil
}

// cannot returns the error of a program that could not be started.
func (p *program) cannot(err error) error {
	e := &Error{Server: p.name, Fix: "check servers." + p.name + ".command"}
	what := display.Quote(p.words[0])
	switch {
	case errors.Is(err, exec.ErrDot):
		e.What = "the program " + what + " is found in the working directory alone, and is not started from there"
		e.Fix = "write its whole path in servers." + p.name + ".command"
	case errors.Is(err, exec.ErrNotFound):
		e.What, e.Fix = "there is no program "+what, "install it, or write its whole path in servers."+p.name+".command"
	case errors.Is(err, fs.ErrNotExist):
		e.What = "there is no program " + what + ", or it needs one that is not there"
	case errors.Is(err, fs.ErrPermission):
		e.What, e.Fix = "the program "+what+" may not be run", "make the file executable for the user who runs knack"
	default:
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		e.What = "the program " + what + " cannot be started: " + safeLine(err.Error())
	}
	return e
}

// run waits for the end of the program, or ends it on request. Then it kills the rest of the
// process group.
func (p *program) run(cmd *exec.Cmd, in, out, stderr *os.File) {
	exited := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		defer in.Close()
		select {
		case <-exited:
			return
		case <-p.stop:
		}
		in.Close()
		terminate(cmd)
		timer := time.NewTimer(p.grace)
		defer timer.Stop()
		hurry := p.hurry
		for {
			select {
			case <-exited:
				return
			case <-hurry:
				hurry = nil
				timer.Reset(min(p.grace, hurryTime))
			case <-timer.C:
				kill(cmd)
				return
			}
		}
	}()
	err := cmd.Wait()
	close(exited)
	kill(cmd)
	<-stopped
	p.how = "exit status 0"
	if err != nil {
		p.how = err.Error()
	}
	for _, f := range []*os.File{out, stderr} {
		_ = f.SetReadDeadline(time.Now().Add(lastWords)) // not supported on every system
	}
	select {
	case <-p.heard:
	case <-time.After(2 * lastWords):
	}
	close(p.ended)
}

// listen passes on the lines of the program's standard error. It records the line that may explain
// the program's end: the last line with an error, or else the last line.
func (p *program) listen(stderr *os.File) {
	defer close(p.heard)
	defer stderr.Close()
	r := bufio.NewReaderSize(stderr, maxLine)
	important := false
	for n := 0; ; {
		line, err := r.ReadSlice('\n')
		text := display.Echo(strings.TrimSpace(p.hidden.hide(string(line))))
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = r.ReadSlice('\n')
		}
		if text != "" {
			if isError := strings.Contains(strings.ToLower(text), "error"); isError || !important {
				p.mu.Lock()
				p.said = text
				p.mu.Unlock()
				important = isError
			}
			if n++; p.tell != nil && n <= maxSaid {
				p.tell(text)
			}
		}
		if err != nil {
			return
		}
	}
}

// cancel asks the program to end.
func (p *program) cancel() { p.stopOnce.Do(func() { close(p.stop) }) }

// end ends the program and waits for it.
func (p *program) end(ctx context.Context) {
	if !p.started {
		return
	}
	p.cancel()
	defer context.AfterFunc(ctx, func() { p.hurryOnce.Do(func() { close(p.hurry) }) })()
	<-p.ended
	p.stream.out.Close()
}

// hasEnded reports whether the program has ended by itself. It waits a moment for the end.
func (p *program) hasEnded() bool {
	if !p.started {
		return false
	}
	select {
	case <-p.ended:
		return true
	case <-time.After(lastWords):
		return false
	}
}

// fault returns the reason that the stream to the program is no longer used, or "".
func (p *program) fault() string {
	if !p.started {
		return ""
	}
	p.stream.mu.Lock()
	defer p.stream.mu.Unlock()
	return p.stream.fault
}

// failure implements [line].
func (p *program) failure(err error) (what, fix string) {
	if !p.started {
		return "", ""
	}
	fault := p.fault()
	var slow late
	isLate := errors.As(err, &slow)
	ended := (errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed)) && p.hasEnded()
	p.mu.Lock()
	said := p.said
	p.mu.Unlock()
	garbage := p.stream.odd()
	switch {
	case fault != "":
		return "the program " + fault, ""
	case errors.Is(err, errLong):
		return errLong.Error(), ""
	case isLate && garbage != "":
		return fmt.Sprintf("no answer came within %s; the program writes something other than MCP to its standard output: %s", slow.after, display.Quote(garbage)),
			"check servers." + p.name + ".command; some programs need an argument to speak MCP over standard input and output"
	case isLate && said != "":
		return fmt.Sprintf("no answer came within %s; the program says: %s", slow.after, said), ""
	case ended && said != "":
		return "the program has ended: " + p.how + "; it said: " + said, ""
	case ended:
		return "the program has ended: " + p.how, ""
	}
	return "", ""
}
