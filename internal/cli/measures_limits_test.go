//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestMeasuresOfLimits checks that the metrics count each reason for a 429 as often as clients got
// it. TestNumbersOfTooMuch in mcpserver checks the reason "busy".
func TestMeasuresOfLimits(t *testing.T) {
	etc := t.TempDir()
	anna, annaLine := access.NewToken()
	bert, bertLine := access.NewToken()
	// One request in 100 seconds: no allowance is refilled while the test runs.
	put(t, filepath.Join(etc, "knack.yaml"), "limits: {rate: 0.01, burst: 20}\naccess:\n  tokens:\n    - {hash: "+annaLine+", subject: anna}\n    - {hash: "+bertLine+", subject: bert}\n")
	url, _ := servingLog(t, "--dir", t.TempDir(), "--config", filepath.Join(etc, "knack.yaml"))
	a := &asker{t: t, url: url}
	// until repeats a request until it was refused n times, and returns the count of each status.
	until := func(n int, method, path, token string) map[int]int {
		codes := map[int]int{}
		for end := time.Now().Add(time.Minute); codes[429] < n; {
			code, _, header := a.send(method, path, token, "")
			if codes[code]++; code == 429 && header.Get("Retry-After") == "" {
				t.Errorf("%s %s: no Retry-After", method, path)
			}
			if time.Now().After(end) {
				t.Fatalf("%s %s: %v within a minute", method, path, codes)
			}
		}
		return codes
	}
	rate := until(2, "GET", "/api/v1/skills", anna)
	atMCP := until(3, "POST", "/mcp", anna)
	unknown := until(4, "GET", "/signin", "")
	refused := until(5, "GET", "/api/v1/skills", "wrong")
	if rate[200] != 20 || refused[401] < 100 || unknown[200] < 400 {
		t.Errorf("%v, %v, %v", rate, unknown, refused)
	}
	_, text, _ := a.send("GET", "/metrics", bert, "")
	got := regexp.MustCompile(`(?m)^knack_http_refusals.*$`).FindAllString(text, -1)
	want := []string{
		fmt.Sprintf(`knack_http_refusals_total{code="401",reason="token"} %d`, refused[401]),
		fmt.Sprintf(`knack_http_refusals_total{code="429",reason="rate"} %d`, rate[429]+atMCP[429]),
		fmt.Sprintf(`knack_http_refusals_total{code="429",reason="refused"} %d`, refused[429]),
		fmt.Sprintf(`knack_http_refusals_total{code="429",reason="unknown"} %d`, unknown[429]),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestMeasuresOfLostLines checks that the metrics of written and lost log lines match the files and
// the log's own report. The folder of the log vanishes when a new file is due, and comes back
// later.
func TestMeasuresOfLostLines(t *testing.T) {
	testwait.Slow(t)
	t.Parallel()
	etc := t.TempDir()
	logs := filepath.Join(etc, "logs")
	if err := os.Mkdir(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	// The existing file is from an earlier server. A new file is due at 1 MiB.
	const old = `{"time":"2026-01-02T03:04:05Z","surface":"web","result":"ok"}` + "\n"
	before := (1<<20 - 10<<10) / len(old)
	put(t, filepath.Join(logs, "audit.log"), strings.Repeat(old, before))
	token, line := access.NewToken()
	put(t, filepath.Join(etc, "knack.yaml"), "limits: {rate: 0}\naudit: {to: logs/audit.log, max-size: 1}\naccess:\n  tokens:\n    - {hash: "+line+", subject: anna}\n")
	url, _ := servingLog(t, "--dir", t.TempDir(), "--config", filepath.Join(etc, "knack.yaml"))
	a := &asker{t: t, url: url}
	totals := func() (written, lost int) {
		t.Helper()
		_, text, _ := a.send("GET", "/metrics", token, "")
		for _, m := range regexp.MustCompile(`(?m)^knack_audit_(lines|lost_lines)_total (\d+)$`).FindAllStringSubmatch(text, -1) {
			n := 0
			if _, err := fmt.Sscan(m[2], &n); err != nil {
				t.Fatal(err)
			}
			if m[1] == "lines" {
				written = n
			} else {
				lost = n
			}
		}
		return written, lost
	}
	// in reads all files of the log. It counts the lines of this server, and the lines that they
	// report as missing. A half-written line, or a file that is being renamed, is counted at the
	// next call.
	in := func(folder string) (lines, missing int) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(folder, "audit.log*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			for line := range bytes.Lines(data[:bytes.LastIndexByte(data, '\n')+1]) {
				var e struct {
					Result string
					Times  int
				}
				if err := json.Unmarshal(line, &e); err != nil {
					t.Fatalf("%s: %s: %v", file, line, err)
				}
				if e.Result == "lost" {
					missing += e.Times
				} else {
					lines++
				}
			}
		}
		return lines - before, missing
	}
	sent := 0
	settled := func(what string, ok func(written, lost int) bool) {
		t.Helper()
		var written, lost int
		testwait.Until(t, func() bool {
			written, lost = totals()
			sent++
			return ok(written, lost)
		}, what, func() string { return fmt.Sprintf(": %d written, %d lost, of %d", written, lost, sent) })
	}
	settled("at first", func(written, lost int) bool { return written > 0 && lost == 0 })

	away := filepath.Join(etc, "away")
	if err := os.Rename(logs, away); err != nil {
		t.Fatal(err)
	}
	settled("without the folder", func(_, lost int) bool { return lost > 0 })
	if err := os.Rename(away, logs); err != nil {
		t.Fatal(err)
	}
	// Each request has a line, which is written some time after the answer. The first line now
	// comes after one with the number of missing lines.
	var lines, missing int
	settled("with the folder", func(written, lost int) bool {
		if lines > 0 && written == lines && lost == missing {
			return true
		}
		testwait.Within(testwait.Patience/2, func() bool {
			lines, missing = in(logs)
			return lines+missing == sent
		})
		return false
	})
	if missing == 0 {
		t.Error("no line says how many are missing")
	}
}
