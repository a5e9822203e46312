//go:build unix

package cli_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// hostile starts a server that answers initialize correctly, and other requests with body.
func hostile(t *testing.T, body func(w http.ResponseWriter, r *http.Request, id string)) string {
	t.Helper()
	return newLoopback(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call, _ := io.ReadAll(r.Body)
		id, method := jsonText(call, "id"), jsonText(call, "method")
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case method == `"initialize"`:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}},"serverInfo":{"name":"x","version":"1"}}}`, id)
		case id == "":
			w.WriteHeader(http.StatusAccepted)
		default:
			body(w, r, id)
		}
	}))
}

// jsonText returns the raw value of a key in a JSON object, or "".
func jsonText(data []byte, key string) string {
	_, rest, ok := bytes.Cut(data, []byte(`"`+key+`":`))
	if !ok {
		return ""
	}
	return string(rest[:bytes.IndexAny(rest, ",}")])
}

// checkedURL runs knack check URL as a process, and returns its peak memory in MiB.
func checkedURL(t *testing.T, url string, flags ...string) (memory int64, stderr string, code int) {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "knack", append([]string{"check", url}, flags...)...)
	cmd.Stdout, cmd.Stderr = io.Discard, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	memory = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10 // kilobytes
	if runtime.GOOS == "darwin" {
		memory >>= 10 // from bytes
	}
	return memory, errs.String(), cmd.ProcessState.ExitCode()
}

// TestCheckBounds checks that check uses bounded memory for an endless answer, a compression bomb,
// and an answer that grows many times when it is decoded.
func TestCheckBounds(t *testing.T) {
	testwait.Slow(t)
	t.Parallel()
	begin := func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"skills":["`, id)
	}
	forever := func(w io.Writer, text string) {
		chunk := bytes.Repeat([]byte(text), max(1<<19/len(text), 1))
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		body func(w http.ResponseWriter, r *http.Request, id string)
		want string
	}{
		"an endless body": {func(w http.ResponseWriter, _ *http.Request, id string) {
			begin(w, id)
			forever(w, "aaaaaaaa")
		}, "the answer is larger than 32 MiB"},
		"an endless stream of one event": {func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: ")
			forever(w, "aaaaaaaa")
		}, "the answer is larger than 32 MiB"},
		"an endless stream of events": {func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			forever(w, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"`+strings.Repeat("a", 1<<20)+"\"}}\n\n")
		}, "the answer is larger than 32 MiB"},
		"a refusal without end": {func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.WriteHeader(http.StatusBadRequest)
			forever(w, "aaaaaaaa")
		}, "the answer is larger than 32 MiB"},
		"a gzip bomb of 13 MB": {func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.Copy(w, bomb(t))
		}, "the answer is larger than 32 MiB"},
		"many small values": {func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"skills":[%s{}]}}`, id, strings.Repeat("{},", 10<<20))
		}, "the answer has more than 1000000 JSON values"},
		"pages without end": {func(w http.ResponseWriter, r *http.Request, id string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"skills":[%s{}],"nextCursor":"%s"}}`, id, strings.Repeat("{},", 100_000), id)
		}, ""}, // the fault is on standard output
	} {
		t.Run(name, func(t *testing.T) {
			memory, stderr, code := checkedURL(t, hostile(t, c.body))
			t.Logf("%d MiB, status %d: %s", memory, code, strings.TrimSpace(stderr))
			if !strings.Contains(stderr, c.want) || code == 0 {
				t.Errorf("status %d: %s", code, stderr)
			}
			if memory > 600 {
				t.Errorf("it took %d MiB", memory)
			}
		})
	}
}

// TestCheckDrip checks that a request times out even if the server keeps sending single bytes.
func TestCheckDrip(t *testing.T) {
	t.Parallel()
	url := hostile(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("Content-Type", "application/json")
		drip := time.NewTicker(50 * time.Millisecond)
		defer drip.Stop()
		late := time.After(testwait.Patience) // the test fails
		for {
			_, _ = io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			select {
			case <-drip.C:
			case <-r.Context().Done():
				return
			case <-late:
				return
			}
		}
	})
	if _, stderr, code := checkedURL(t, url, "--timeout", "500ms"); code != 3 || !strings.Contains(stderr, "it did not finish within 500ms; --timeout allows more time") {
		t.Errorf("status %d: %s", code, stderr)
	}
}

// bomb returns 13 MB of gzip that contain 13 GB of text. It repeats one member, since a stream may
// have many.
func bomb(t *testing.T) io.Reader {
	var member bytes.Buffer
	z, err := gzip.NewWriterLevel(&member, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(bytes.Repeat([]byte("a"), 10<<20))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Error(err)
	}
	return bytes.NewReader(bytes.Repeat(member.Bytes(), 13_000_000/member.Len()))
}
