package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/interop/agents/model"
)

// session is one run of a client, in its own home and project.
type session struct {
	agent                   agent
	dir, home, project, tmp string
	recorder                string // the program that the client starts instead of knack
	wire                    string
	model                   *model.Server
	stdin                   string // the input of the next program, or empty for none
	stdout, stderr          string
}

// open makes the folders, starts the model server and writes the client's settings. If ruler is not
// empty, the client will start a ruler with that text instead of knack.
func open(a agent, scenario, ruler string, next func(model.Request) model.Reply) (*session, error) {
	dir := filepath.Join(work, a.name, scenario)
	r := &session{agent: a, dir: dir, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), tmp: filepath.Join(dir, "tmp"),
		recorder: filepath.Join(dir, "bin", "knack"), wire: filepath.Join(dir, "wire.jsonl")}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	for _, d := range []string{r.home, r.project, r.tmp, filepath.Dir(r.recorder)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	r.model = &model.Server{Next: next}
	if err := r.model.Start(); err != nil {
		return nil, err
	}
	if err := r.record(ruler); err != nil {
		return nil, err
	}
	if a.prepare != nil {
		if err := a.prepare(r); err != nil {
			return nil, fmt.Errorf("prepare %s: %w", a.title, err)
		}
	}
	return r, nil
}

// record installs the recorder where the client will start it.
func (r *session) record(ruler string) error {
	binary, err := knack()
	if err != nil {
		return err
	}
	if ruler != "" {
		binary = ""
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := json.Marshal(recorder{Knack: binary, Ruler: ruler, To: r.wire})
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.recorder+sidecarSuffix, data, 0o644); err != nil {
		return err
	}
	if os.Link(self, r.recorder) == nil {
		return nil
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	return os.WriteFile(r.recorder, program, 0o755)
}

// connect makes knack connect add knack to the client's servers. A knack that is too old for a flag
// exits with status 2, and is then run without the flag. For a client that knack connect does not
// support, connect writes the entry as a person would.
func (r *session) connect() error {
	if r.agent.entry != nil {
		return r.agent.entry(r)
	}
	binary, err := knack()
	if err != nil {
		return err
	}
	args := []string{"connect", r.agent.id, "--write", "--project", r.project, "--command", r.recorder}
	err = r.start(binary, append(args, r.agent.flags...)...)
	var exit *exec.ExitError
	if len(r.agent.flags) > 0 && errors.As(err, &exit) && exit.ExitCode() == 2 {
		return r.start(binary, args...)
	}
	return err
}

// file writes a file below the home.
func (r *session) file(name, text string) error {
	at := filepath.Join(r.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, []byte(text), 0o644)
}

func (r *session) settings(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return r.file(name, string(data)+"\n")
}

// client runs the client with the given arguments.
func (r *session) client(args ...string) error {
	program, err := filepath.Abs(filepath.Join(r.agent.modules(), ".bin", r.agent.program))
	if err != nil {
		return err
	}
	return r.start(program, args...)
}

// start runs a program in the project, with its own environment. Every other host is behind a proxy
// that refuses it.
func (r *session) start(program string, args ...string) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, fmt.Errorf("not done after %s", patience))
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = r.project
	nodeProgram, err := node()
	if err != nil {
		return err
	}
	cmd.Env = []string{"HOME=" + r.home, "USERPROFILE=" + r.home, "TMPDIR=" + r.tmp, "TEMP=" + r.tmp, "LANG=C.UTF-8", "NO_COLOR=1", "TERM=dumb",
		"PATH=" + filepath.Dir(nodeProgram) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HTTP_PROXY=" + r.model.URL(), "HTTPS_PROXY=" + r.model.URL(), "http_proxy=" + r.model.URL(), "https_proxy=" + r.model.URL(),
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost"}
	if r.agent.env != nil {
		cmd.Env = append(cmd.Env, r.agent.env(r)...)
	}
	if r.stdin != "" {
		cmd.Stdin = strings.NewReader(r.stdin)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = patience / 30
	group(cmd)
	err = cmd.Run()
	r.stdout, r.stderr = stdout.String(), stderr.String()
	if cause := context.Cause(ctx); cause != nil {
		err = errors.Join(err, cause)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s\n%s", filepath.Base(program), strings.Join(args, " "), err, tail(r.stdout), tail(r.stderr))
	}
	return nil
}

// tail returns the end of a program's output.
func tail(s string) string { return s[max(0, len(s)-3000):] }

// close ends the model server and writes its requests and the client's output to files.
func (r *session) close() error {
	r.model.Close()
	var out bytes.Buffer
	for _, q := range r.model.Requests() {
		out.Write(bytes.TrimSpace(q.Raw))
		out.WriteByte('\n')
	}
	return errors.Join(
		os.WriteFile(filepath.Join(r.dir, "model.jsonl"), out.Bytes(), 0o644),
		os.WriteFile(filepath.Join(r.dir, "errands.txt"), []byte(strings.Join(r.model.Errands(), "\n")), 0o644),
		os.WriteFile(filepath.Join(r.dir, "stdout"), []byte(r.stdout), 0o644),
		os.WriteFile(filepath.Join(r.dir, "stderr"), []byte(r.stderr), 0o644),
	)
}
