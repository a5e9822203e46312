package agents

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// recorder is the program that a client starts instead of knack. It is the test binary under
// another name. Its settings are in a file beside it, since clients pass on only a part of the
// environment.
type recorder struct {
	Knack string // the program to start; empty for a ruler
	Ruler string // the text of a ruler's instructions and descriptions
	To    string // the file to which it writes one line of JSON for each message
}

// line is one message between client and knack, or another line that was recorded.
type line struct {
	From string          `json:"from"` // "client", "knack", "stderr", or "start" for the program's arguments
	JSON json.RawMessage `json:"json,omitempty"`
	Text string          `json:"text,omitempty"` // a line that is not JSON
}

const sidecarSuffix = ".recorder.json"

// sidecar reports whether this process was started as a recorder.
func sidecar() (recorder, bool) {
	var r recorder
	self, err := os.Executable()
	if err != nil {
		return r, false
	}
	data, err := os.ReadFile(self + sidecarSuffix)
	return r, err == nil && json.Unmarshal(data, &r) == nil
}

// run starts knack with the arguments of this process, and forwards and records every line. It ends
// when knack ends.
func (r recorder) run() int {
	to, err := os.OpenFile(r.To, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return trouble(err)
	}
	var mu sync.Mutex
	write := func(l line) {
		data, _ := json.Marshal(l)
		mu.Lock()
		defer mu.Unlock()
		_, _ = to.Write(append(data, '\n'))
	}
	write(line{From: "start", Text: strings.Join(os.Args[1:], " ")})
	if r.Knack == "" {
		return rule(os.Stdin, os.Stdout, r.Ruler)
	}
	cmd := exec.Command(r.Knack, os.Args[1:]...)
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	fail, err3 := cmd.StderrPipe()
	if err := cmp.Or(err, err2, err3); err != nil {
		return trouble(err)
	}
	if err := cmd.Start(); err != nil {
		return trouble(err)
	}
	go func() {
		pass("client", os.Stdin, in, write)
		_ = in.Close()
	}()
	var ended sync.WaitGroup
	ended.Go(func() { pass("knack", out, os.Stdout, write) })
	ended.Go(func() { pass("stderr", fail, os.Stderr, write) })
	ended.Wait()
	_ = cmd.Wait()
	return max(0, cmd.ProcessState.ExitCode())
}

func trouble(err error) int {
	fmt.Fprintln(os.Stderr, "recorder:", err)
	return 3
}

// pass forwards lines from src to dst and records each of them.
func pass(from string, src io.Reader, dst io.Writer, write func(line)) {
	for r := bufio.NewReader(src); ; {
		text, err := r.ReadString('\n')
		if text != "" {
			l := line{From: from}
			if json.Valid([]byte(text)) {
				l.JSON = json.RawMessage(text)
			} else {
				l.Text = text
			}
			write(l)
			_, _ = io.WriteString(dst, text)
		}
		if err != nil {
			return
		}
	}
}

// ruled returns the text of a ruler: numbers that are their own offsets in the text, twelve between
// two separators. It contains no dots, since clients mark cuts with dots.
func ruled(separator string) string {
	var b strings.Builder
	for b.Len() < 20_000 {
		for range 12 {
			fmt.Fprintf(&b, "%05d ", b.Len())
		}
		b.WriteString("=" + separator)
	}
	return b.String()
}

// rule is an MCP server that measures its client. Its instructions and descriptions are one long
// text. Its tool skill answers with a text whose number of bytes is the tool's argument.
func rule(in io.Reader, out io.Writer, text string) int {
	for r := bufio.NewReader(in); ; {
		data, err := r.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ProtocolVersion string
				Arguments       struct{ Name string }
			}
		}
		if json.Unmarshal(data, &m) != nil || m.ID == nil {
			continue
		}
		answer := object{"jsonrpc": "2.0", "id": m.ID}
		switch m.Method {
		case "initialize":
			answer["result"] = object{"protocolVersion": m.Params.ProtocolVersion, "capabilities": object{"tools": object{}},
				"serverInfo": object{"name": "knack", "version": "ruler"}, "instructions": "I: " + text}
		case "ping":
			answer["result"] = object{}
		case "tools/list":
			schema := object{"type": "object", "properties": object{"name": object{"type": "string"}}, "required": []string{"name"}}
			// The second tool makes the list resemble knack's: see bare.
			answer["result"] = object{"tools": []object{
				{"name": "skill", "description": "D: " + text, "annotations": object{"readOnlyHint": true}, "inputSchema": schema},
				{"name": "read_file_in_skill", "description": "Nothing.", "annotations": object{"readOnlyHint": true}, "inputSchema": schema},
			}}
		case "tools/call":
			n, _ := strconv.Atoi(m.Params.Arguments.Name)
			answer["result"] = object{"content": []object{{"type": "text", "text": lines("", "the answer", n)}}}
		default:
			answer["error"] = object{"code": -32601, "message": "the ruler has no method " + m.Method}
		}
		data, _ = json.Marshal(answer)
		if _, err := out.Write(append(data, '\n')); err != nil {
			return 0
		}
	}
}
