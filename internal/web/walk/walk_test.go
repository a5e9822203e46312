// Package walk drives a built knack with a browser.
package walk

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// picture returns a drawing of a harbour.
func picture(t *testing.T) string {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 640, 240))
	for y := range 240 {
		for x := range 640 {
			c := color.RGBA{uint8(205 - y/4), uint8(222 - y/6), uint8(228 - y/10), 255}
			if wave := 150 + int(12*math.Sin(float64(x)/40)); y > wave {
				c = color.RGBA{30, uint8(110 - (y-wave)/3), 120, 255}
			}
			m.Set(x, y, c)
		}
	}
	var b bytes.Buffer
	must(t, png.Encode(&b, m))
	return b.String()
}

// library has the skills that the browser visits: first ordinary ones, then hostile ones.
var library = map[string]string{
	"harbour/tide-tables/SKILL.md": `---
name: tide-tables
description: Compute and read tide tables for a harbour. Use when someone asks for high or low water, a tidal window, or the height of tide at a given time.
license: Apache-2.0
metadata:
  author: harbour office
  version: "2.1"
---
# Tide tables

Work out **when the water is high enough**, and say how sure you are. All heights are metres above chart datum; see
[the reference](references/method.md#units) before you mix sources.

![The harbour at low water](images/harbour.png)

## Steps

1. Find the secondary port and its standard port.
2. Correct the times, then the heights. Never the other way round.
3. Apply the *rule of twelfths* between high and low water:

| Hour | Share of the range | Height at 4.8 m range |
|-----:|:------------------:|----------------------:|
| 1 | 1/12 | 0.4 m |
| 2 | 2/12 | 1.2 m |
| 3 | 3/12 | 2.4 m |
| 4 | 3/12 | 3.6 m |

` + "```python\ndef height(low, high, hours):\n    \"\"\"Height of tide by the rule of twelfths.\"\"\"\n    twelfths = [0, 1, 3, 6, 9, 11, 12]\n    return low + (high - low) * twelfths[hours] / 12   # a long comment that runs on beyond the edge of any sensible column width\n```\n" + `
> A table is a forecast. A strong onshore wind adds half a metre.

- [x] state the datum
- [ ] state the time zone

Run ` + "`scripts/height.py`" + ` ([source](scripts/height.py)), and compare with the [hydrographic office](https://example.org/tides).

<!-- agents read this too -->
`,
	"harbour/tide-tables/references/method.md": "# Method\n\nGo [back](../SKILL.md).\n\n## Units\n\nMetres. Feet were 0.3048 of them.\n",
	"harbour/tide-tables/scripts/height.py":    "import sys\n\n\ndef main():\n    low, high, hour = map(float, sys.argv[1:])\n    print(low + (high - low) * [0, 1, 3, 6, 9, 11, 12][int(hour)] / 12)\n\n\nmain()\n",
	"harbour/tide-tables/data/ports.csv":       "port,lat,lon\nNorth Quay,54.1,8.9\n",
	"harbour/tide-tables/data/ports.bin":       "\x00\x01\x02",
	"harbour/berth-plan/SKILL.md":              "---\nname: berth-plan\ndescription: Assign berths to arriving vessels by draught, length and cargo. Use when a berth list or a conflict between two arrivals has to be settled.\n---\n# Berth plan\n",
	"harbour/signal-flags/SKILL.md":            "---\nname: signal-flags\ndescription: Translate messages to and from the international code of signals.\ndisable-model-invocation: true\n---\n# Flags\n",
	"harbour/watch-bill/SKILL.md":              "---\nname: watch-bill\ndescription: Assign watches. Use before a passage.\ntags: [crew, Night]\n---\n# Watch bill\n\n## Calm\n\nSee `berth-plan`.\n\n## Storm\n\n### At night\n\nAn invisible\u202e mark.\n\n## Fog\n",
	"harbour/lost/SKILL.md":                    "---\nname: lost\ndescriptoin: Find what fell overboard.\n---\n",
	"harbour/crane/SKILL.md":                   "---\nname: Crane Check\ndescription: Inspect a quay crane before the shift: brakes, ropes, limit switches\n---\n# Crane\n\nSee [the list](list.md).\n",
	"office/tide-tables/SKILL.md":              "---\nname: tide-tables\ndescription: An older way to read tide tables.\n---\n# Older\n",
	"office/berth-plan/SKILL.md":               "---\nname: berth-plan\ndescription: Assign berths to arriving vessels by draught, length and cargo. Use when a berth list or a conflict between two arrivals has to be settled.\n---\n# Berth plan\n",
	"office/invoice/SKILL.md":                  "---\nname: invoice\ndescription: Write an invoice for harbour dues from the berth log.\n---\n# Invoice\n",

	"hostile/title/SKILL.md": "---\nname: \"</title><script>ran=1</script>\"\ndescription: \"</p></main><script>ran=1</script><img src=x onerror=ran=1>\"\n---\n" + hostileText,
	"hostile/title/x.svg":    `<svg xmlns="http://www.w3.org/2000/svg" onload="ran=1"><script>ran=1</script></svg>`,
	"hostile/title/x.html":   `<!doctype html><script>ran=1</script><img src=x onerror=ran=1>`,
	"hostile/title/fake.png": `<svg xmlns="http://www.w3.org/2000/svg"><script>ran=1</script></svg>`,
}

const hostileText = `# A title <script>ran=1</script>

<script>ran=1</script>
<img src=x onerror="ran=1"> <svg onload=ran=1> <iframe src="javascript:parent.ran=1"></iframe> <a href="javascript:ran=1">x</a>

[a](javascript:ran=1) [b](JaVaScRiPt:ran=1) [c](data:text/html,<script>ran=1</script>) [d](vbscript:ran=1) [e](//evil.example/x) <javascript:ran=1>
[f](../../../etc/passwd) [g](https://evil.example/) [h](java&#x09;script:ran=1) [i](&#106;avascript:ran=1)

![a](https://evil.example/track.png) ![b](x.svg) ![c](fake.png) ![d](javascript:ran=1) ![e" onerror="ran=1](real.png "x\" onerror=\"ran=1")

</div></article></main></body>

<style>body { display: none }</style>
<form action="https://evil.example/"><input name=q><button>Send</button></form>
<base href="https://evil.example/"><meta http-equiv="refresh" content="0;url=https://evil.example/">

# q
## results
### theme

| <script>ran=1</script> | b |
|---|---|
| <img src=x onerror=ran=1> | [x](javascript:ran=1) |
`

// missing skips the test if a program is not installed, and fails it in continuous
// integration.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "no chromium (apt-get install chromium)")
	return ""
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// serve serves the library to a client with a token, and returns the address.
func serve(t *testing.T, root, hash string, dirs ...string) string {
	t.Helper()
	return serveWith(t, root, "access:\n  default: allow\n  tokens:\n    - {hash: "+hash+", subject: anna}\n", dirs...)
}

// serveWith is serve with settings.
func serveWith(t *testing.T, root, settings string, dirs ...string) string {
	t.Helper()
	roots := "roots:\n"
	for _, dir := range dirs {
		roots += fmt.Sprintf("  - {dir: %q, label: %s, title: The %s, owner: its team, url: \"https://example.com/%s\"}\n", filepath.Join(root, dir), dir, dir, dir)
	}
	return serveFile(t, root, roots+settings)
}

// serveFile builds knack, starts it in a folder with a knack.yaml, and returns its address.
func serveFile(t *testing.T, root, text string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "knack.yaml")
	must(t, os.WriteFile(config, []byte(text), 0o600))
	binary := filepath.Join(t.TempDir(), "knack")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../../cmd/knack").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(binary, "serve", "--http", "0", "--config", config)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	errs, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	heard := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-heard // Wait closes the pipe that is read from
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(errs)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "knack serves MCP at "); ok {
			go func() {
				defer close(heard)
				for lines.Scan() {
					if strings.Contains(lines.Text(), "level=ERROR") {
						t.Errorf("the server says: %s", lines.Text())
					}
				}
			}()
			return strings.TrimSuffix(strings.Fields(url)[0], "/mcp")
		}
	}
	close(heard)
	t.Fatal("it does not say where it serves")
	return ""
}

// TestWalk visits every page with Debian's Chromium. It takes minutes, so go test ./... leaves it
// to make web-walk, which uses both themes and three widths, and to .ci/run, which uses two of these
// combinations. If KNACK_SHOTS is set, it saves a screenshot of each page in that folder.
func TestWalk(t *testing.T) {
	chromium := driven(t, "walk.mjs")
	root := t.TempDir()
	library["harbour/tide-tables/images/harbour.png"] = picture(t)
	library["hostile/title/real.png"] = picture(t)
	write(t, root, library)
	lock(t, root)
	token, hash := access.NewToken()
	url := serve(t, root, hash, "harbour", "office", "hostile")
	use(t, url+"/mcp", token)
	const tides, hostile, contents = "/skills/harbour/tide-tables/", "/skills/hostile/title/", "/skills/harbour/watch-bill/"
	looks := [][2]string{{"light", "wide"}, {"dark", "phone"}}
	if testwait.SecondLane() {
		looks = append(looks, [][2]string{{"light", "tablet"}, {"light", "phone"}, {"dark", "tablet"}, {"dark", "wide"}}...)
	}
	plan := map[string]any{
		"looks": looks, "url": url, "token": token, "chromium": chromium, "skill": tides, "contents": contents, "shots": os.Getenv("KNACK_SHOTS"),
		"pages": [][2]string{
			{"home", "/"}, {"home-search", "/?q=harbour+berth"}, {"home-filter", "/?state=skipped"}, {"home-rule", "/?rule=description-when"}, {"home-unpublished", "/?published=no"}, {"home-order", "/?sort=changed&root=harbour"}, {"home-none", "/?q=zzzz"},
			{"home-hostile", "/?q=" + strings.Repeat("%3C%2Fscript%3E", 60)},
			{"skill", tides}, {"skill-source", tides + "?view=source"}, {"skill-agent", tides + "?view=agent"}, {"skill-files", tides + "?view=files"},
			{"skill-changed", "/skills/harbour/crane/"}, {"skill-problems", "/skills/harbour/crane/?view=problems"}, {"skill-shadowed", "/skills/office/tide-tables/"}, {"skill-hidden", "/skills/harbour/signal-flags/"}, {"skill-contents", contents},
			{"skill-compare", "/skills/office/tide-tables/?view=compare"}, {"skill-copy", "/skills/office/berth-plan/?view=compare"}, {"skill-line", tides + "?view=source#L12"},
			{"file-markdown", tides + "references/method.md"}, {"file-source", tides + "scripts/height.py"}, {"file-picture", tides + "images/harbour.png"}, {"file-binary", tides + "data/ports.bin"},
			{"hostile", hostile}, {"hostile-source", hostile + "?view=source"}, {"hostile-agent", hostile + "?view=agent"}, {"hostile-problems", hostile + "?view=problems"},
			{"hostile-svg", hostile + "x.svg"}, {"hostile-html", hostile + "x.html"}, {"hostile-picture", hostile + "fake.png"},
			{"health", "/health"}, {"skipped", skipped(t, url, token)}, {"usage", "/usage"}, {"usage-never", "/?used=never"}, {"usage-left", "/?left=others"}, {"connect", "/connect"}, {"missing", "/skills/nobody/"},
		},
		"raw": []string{"/raw/hostile/title/x.svg", "/raw/hostile/title/x.html", "/raw/hostile/title/fake.png", "/raw/hostile/title/SKILL.md", "/api/v1/files/hostile/title/x.html"},
	}
	var report report
	run(t, "walk.mjs", plan, &report)
	for _, fault := range report.Faults {
		t.Error(fault)
	}
	if want := len(looks)*(38+2) + 22; len(report.Done) != want {
		t.Errorf("%d steps were walked, want %d: %q", len(report.Done), want, report.Done)
	}
}

// lock writes a lock of an unchanged skill, of a skill that has changed since, and of a skill from
// a hostile source.
func lock(t *testing.T, root string) {
	t.Helper()
	lock := &lockfile.Lock{Skills: map[string]lockfile.Skill{}}
	for _, folder := range []string{"harbour/tide-tables", "harbour/crane", "hostile/title"} {
		e := lockfile.Skill{Name: folder, Source: "github.com/harbour/skills", Version: "2.1", Path: ".", Revision: "git:9f2b1e4c0a6d8e7f5b3a1c9d2e4f6a8b0c1d3e5f"}
		for path, text := range library {
			if rest, below := strings.CutPrefix(path, folder+"/"); below {
				e.Files = append(e.Files, lockfile.File{Path: rest, Size: int64(len(text)), Digest: skill.DigestOf([]byte(text))})
			}
		}
		switch folder {
		case "harbour/crane":
			e.Files[0].Size++
		case "hostile/title":
			e.Source, e.Version = "https://x.example/<script>ran=1</script>\u202e"+strings.Repeat("x", 300), "<img src=x onerror=ran=1>"
		}
		e.Digest = lockfile.Digest(e.Files)
		lock.Skills[folder] = e
	}
	write(t, root, map[string]string{lockfile.Name: string(lock.Bytes())})
}

// driven returns the browser that a script drives. It skips the test unless -run names it.
func driven(t *testing.T, script string) (chromium string) {
	t.Helper()
	if flag.Lookup("test.run").Value.String() == "" {
		t.Skip("a browser takes minutes: make web-walk, or go test -run TestWalk ./internal/web/walk")
	}
	chromium = browser(t)
	for _, file := range []string{"package-lock.json", script} { // so that no cached result is used after a change
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat("node_modules/playwright-core"); err != nil {
		missing(t, "no playwright-core; run npm ci --prefix internal/web/walk")
	}
	return chromium
}

// use makes calls as a client, so that there is something to count.
func use(t *testing.T, url, token string) {
	t.Helper()
	ctx := t.Context()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "harbour-agent", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearing(token)}}, nil)
	must(t, err)
	defer session.Close()
	if _, err := session.ListTools(ctx, nil); err != nil {
		t.Fatal(err)
	}
	for _, call := range []mcp.CallToolParams{
		{Name: "skill", Arguments: map[string]any{"name": "tide-tables"}}, {Name: "skill", Arguments: map[string]any{"name": "invoice"}},
		{Name: "read_file_in_skill", Arguments: map[string]any{"skill_name": "tide-tables", "file_path": "references/method.md"}},
	} {
		if res, err := session.CallTool(ctx, &call); err != nil || res.IsError {
			t.Fatalf("%s: %v %v", call.Name, res, err)
		}
	}
	for _, name := range []string{"dredging", "dredging", "<script>ran=1</script>", "<script>ran=1</script>"} {
		if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "skill", Arguments: map[string]any{"name": name}}); err != nil {
			t.Fatal(err)
		}
	}
}

type report struct{ Faults, Done []string }

// run runs a script with a plan, and decodes its output.
func run(t *testing.T, script string, plan, result any) {
	t.Helper()
	data, err := json.Marshal(plan)
	must(t, err)
	file := filepath.Join(t.TempDir(), "plan.json")
	must(t, os.WriteFile(file, data, 0o600))
	begun := time.Now()
	cmd := exec.CommandContext(t.Context(), "node", script, file)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || json.Unmarshal(out, result) != nil {
		t.Fatalf("%s ended: %v\n%s%s", script, err, out, errs.String())
	}
	t.Logf("%s took %s", script, time.Since(begun).Round(time.Second))
}

// skipped returns the address of the skipped skill's page, as the list links it.
func skipped(t *testing.T, url, token string) string {
	t.Helper()
	resp, err := (&http.Client{Transport: bearing(token)}).Get(url + "/?state=skipped")
	must(t, err)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	must(t, err)
	path := regexp.MustCompile(`/health/skipped-[0-9a-f]+`).Find(page)
	if path == nil {
		t.Fatalf("no skill is skipped:\n%s", page)
	}
	return string(path)
}

// bearing is a transport that sends a token with every request.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
