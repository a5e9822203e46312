//go:build linux

package safety

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/skill"
)

// unreadDocuments runs clients that make 300 calls for the largest SKILL.md and read no answer. It
// checks the server's memory.
func unreadDocuments(r *trial) {
	root := filepath.Join(r.dir(), "skills")
	large := func(name, line string) string {
		head := skillMD(name, "")
		return head + strings.Repeat(line, (skill.MaxSkillMD-len(head))/len(line))
	}
	r.write(root, map[string]string{
		"git/SKILL.md": large("git", "INSIDE\n"),
		"odd/SKILL.md": large("odd", "INSIDE"+strings.Repeat("\x01", 94)), // as JSON it is six times as long
	})
	unreadPrompts(r, root)
	uri := map[string]any{"uri": "skill://git/SKILL.md"}
	for i, row := range []struct {
		set, method string
		params      map[string]any
	}{
		{"default", "prompts/get", map[string]any{"name": "git"}},
		{"runner", "tools/call", tool("get_skill", map[string]any{"skill_name": "git"})},
		{"runner", "tools/call", tool("get_skill", map[string]any{"skill_name": "odd"})},
		{"default", "prompts/get", map[string]any{"name": "odd"}},
		{"default", "resources/read", uri},
		{"universal", "tools/call", tool("skill", map[string]any{"name": "git"})},
		{"wave", "tools/call", tool("Skill", map[string]any{"skill_name": "git"})},
		{"uri", "tools/call", tool("get_skill", uri)},
		{"runner", "tools/call", tool("read_file_in_skill", map[string]any{"skill_name": "git", "file_path": "SKILL.md"})},
	} {
		if i < 3 || !r.fast {
			r.unread(root, row.set, row.method, row.params)
		}
	}
}

// unread makes 300 calls over HTTP, reads no answer, and disconnects some seconds later.
func (r *trial) unread(root, set, method string, params map[string]any) {
	k := r.http(setting{}, "--no-builtin", "--dir", root, "--tools", set)
	client := &http.Client{Transport: slowTransport()}
	defer client.CloseIdleConnections()
	what := fmt.Sprintf("%s %s %v", set, method, params)
	const calls = 300
	ctx, leave := context.WithCancel(context.Background())
	var begun atomic.Int64
	var done sync.WaitGroup
	for range calls {
		req, err := request(k, modernEra, "", method, params)
		r.must(err)
		if method == "prompts/get" {
			req.Header.Set("Mcp-Name", params["name"].(string))
		}
		done.Go(func() {
			resp, err := client.Do(req.WithContext(ctx))
			if err != nil { // the call was still waiting for room
				return
			}
			defer resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				begun.Add(1)
			} else if resp.StatusCode != http.StatusTooManyRequests {
				r.check(what, errors.New(resp.Status))
			}
			<-ctx.Done()
		})
	}
	pause(4 * time.Second)
	peak := highest(k.cmd.Process.Pid)
	leave()
	done.Wait()
	r.count(calls)
	var err error
	if begun.Load() == 0 {
		err = errors.New("no call was answered")
	}
	r.check(what, err)
	r.Logf("%d × %s unread, %d of them answered: at most %d MiB", calls, what, begun.Load(), peak>>20)
	r.check(what, over(peak))
	k.kill()
}

// unreadPrompts makes 300 calls over stdio and reads no answer. The pipe between takes only 64 KiB.
func unreadPrompts(r *trial, root string) {
	cmd := r.command(setting{}, "serve", "--no-builtin", "--dir", root)
	in, err := cmd.StdinPipe()
	r.must(err)
	out, err := cmd.StdoutPipe()
	r.must(err)
	r.must(cmd.Start())
	defer func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`+
		"\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	r.must(err)
	_, err = bufio.NewReader(out).ReadString('\n')
	r.must(err)
	var calls strings.Builder // written together, so that the calls are in flight concurrently
	for i := range 300 {
		fmt.Fprintf(&calls, `{"jsonrpc":"2.0","id":%d,"method":"prompts/get","params":{"name":"git"}}`+"\n", i)
	}
	_, err = io.WriteString(in, calls.String())
	r.must(err)
	pause(4 * time.Second)
	peak := highest(cmd.Process.Pid)
	r.count(300)
	r.note("300 × prompts/get unread over stdio: at most %d MiB", peak>>20)
	r.check("prompts/get over stdio", over(peak))
}
