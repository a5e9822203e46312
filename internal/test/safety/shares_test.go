//go:build linux

package safety

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// places is the largest number of sessions, and of streams, that a server permits.
const places = 1024

func sharesPart() part {
	return part{name: "shares", promise: "one client that takes all the sessions and streams that it can: a quarter is left for other clients, and they get it", run: shares}
}

// begin opens a session with an initialize request that contains x. said is the answer.
func begin(w *ways, k *knack, x any) (id, said string, err error) {
	req, err := request(k, legacyEra, "", "initialize", map[string]any{
		"protocolVersion": legacyEra, "capabilities": map[string]any{"experimental": map[string]any{"x": x}}, "clientInfo": map[string]any{"name": "t", "version": "1"},
	})
	if err != nil {
		return "", "", err
	}
	resp, err := w.http().Do(req)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	id = resp.Header.Get("Mcp-Session-Id")
	if err == nil && id != "" {
		err = initialized(w.http(), k, id)
	}
	return id, resp.Status + " " + string(data), err
}

// shares connects as one client until the server refuses more, and then as another client.
func shares(r *trial) {
	home := r.dir()
	root := filepath.Join(home, "skills")
	const greedy, modest = "knack_token-of-who-takes-it-all", "knack_token-of-who-wants-some"
	r.write(root, map[string]string{"git/SKILL.md": skillMD("git", "x")})
	r.write(home, map[string]string{"knack.yaml": admitting("{rate: 0}", greedy, modest)})
	k := r.http(setting{home: home}, "--no-builtin", "--dir", root, "--config", filepath.Join(home, "knack.yaml"))
	one, other := &ways{r: r, token: greedy}, &ways{r: r, token: modest}
	var streams []io.Closer
	defer func() {
		for _, s := range streams {
			s.Close()
		}
	}()
	stream := func(w *ways) (bool, string, error) {
		req, err := request(k, modernEra, "", "subscriptions/listen", map[string]any{"notifications": map[string]any{"toolsListChanged": true}})
		r.must(err)
		resp, err := (&http.Client{Transport: bearer(w.token)}).Do(req)
		if err != nil {
			return false, "", err
		}
		if resp.StatusCode == http.StatusOK {
			streams = append(streams, resp.Body)
			return true, "", nil
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(io.LimitReader(resp.Body, 500))
		return false, resp.Status + " " + string(data), err
	}
	session := func(w *ways) (bool, string, error) {
		id, said, err := begin(w, k, nil)
		return id != "", said, err
	}
	for _, kind := range []struct {
		what string
		take func(*ways) (bool, string, error)
	}{{"sessions", session}, {"streams", stream}} {
		take := func(w *ways) (n int, said string) {
			for n <= places {
				ok, said, err := kind.take(w)
				if err != nil {
					r.check(kind.what, err)
					return n, said
				}
				if !ok {
					return n, said
				}
				n++
			}
			return n, ""
		}
		had, said := take(one)
		r.count(had)
		err := error(nil)
		if had != places*3/4 || !strings.HasPrefix(said, "429 ") || !strings.Contains(said, fmt.Sprintf("you have %d of the %d open %s", had, had, kind.what)) {
			err = fmt.Errorf("%d of %d, then %s", had, places, excerpt(said))
		}
		r.check(kind.what+" of one client", err)
		left, said := take(other)
		r.count(left)
		err = nil
		if left != places/4 || !strings.HasPrefix(said, "429 ") {
			err = fmt.Errorf("%d of %d, then %s", left, places-had, excerpt(said))
		}
		r.check(kind.what+" left to another", err)
	}
	r.ends([]*knack{k})
}

// mostOfSessions bounds the memory that 1,000 sessions add if each began with a large initialize.
const mostOfSessions = 128 << 20

func initializePart() part {
	return part{name: "initialize", promise: fmt.Sprintf("1,000 sessions that began with an initialize of a mebibyte: %d MiB at most; any message of a million JSON values is refused", mostOfSessions>>20), run: initializes}
}

func initializes(r *trial) {
	root := filepath.Join(r.dir(), "skills")
	r.write(root, map[string]string{"git/SKILL.md": skillMD("git", "x")})
	k := r.http(setting{}, "--no-builtin", "--dir", root)
	w := &ways{r: r}
	_, err := w.post(k, modernEra, "", "tools/list", map[string]any{})
	r.check("before", err)
	before := k.load().memory
	for _, n := range []int{20_000, 1 << 20} { // the number of empty objects
		id, said, err := begin(w, k, make([]struct{}, n))
		if err == nil && (id != "" || !strings.HasPrefix(said, "413 ") && !strings.HasPrefix(said, "400 ")) {
			err = fmt.Errorf("is taken: %s", excerpt(said))
		}
		r.check(fmt.Sprintf("an initialize of %d values and more", n), err)
	}
	for range 3 { // each would take 140 MiB
		for _, method := range []string{"tools/list", "subscriptions/listen"} {
			said, err := w.post(k, modernEra, "", method, map[string]any{"x": make([]struct{}, 1<<20)})
			if peak := highest(k.cmd.Process.Pid); err == nil && (!strings.Contains(said, "JSON values") || peak > before+64<<20) {
				err = fmt.Errorf("%d MiB, %s", peak>>20, excerpt(said))
			}
			r.check(method+" of a million values", err)
		}
	}
	var deep any = strings.Repeat("x", 1<<20)
	for range 110 {
		deep = map[string]any{"": deep} // the most expensive value
	}
	most := int64(0)
	for i := range r.pick(200, 1000) {
		id, said, err := begin(w, k, deep)
		if err == nil && id == "" {
			err = errors.New(said)
		}
		if i%10 == 9 {
			most = max(most, k.load().memory-before)
			if err == nil && most > mostOfSessions {
				err = fmt.Errorf("%d MiB with %d sessions", most>>20, i+1)
			}
		}
		r.check("a session", err)
	}
	pause(time.Second)
	r.note("%d MiB before, at most %d more, and in the end %d", before>>20, most>>20, (k.load().memory-before)>>20)
	r.ends([]*knack{k})
}

// mostToRender bounds the memory of a server that renders hostile texts.
const mostToRender = 256 << 20

func renderingPart() part {
	return part{name: "rendering", promise: fmt.Sprintf("texts that would cost a renderer of Markdown seconds or gigabytes: each page is there within 1 s, in less than 32 MiB; the server holds %d MiB at most", mostToRender>>20), run: rendering, slow: true}
}

// bombs returns Markdown texts of about the given size that are expensive to render, by name.
func bombs(size int) map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	all := map[string]string{}
	for what, unit := range map[string]string{
		"emphasis": "*a_ ", "strong": "**a __b ", "strikes": "~~a ", "brackets": "[", "links": "[a](", "images": "![a](b ", "nested links": "[a][", "quotes": "> ", "lists": "- ", "list in list": "* + ", "numbers": "1. ",
	} {
		all["marks of "+what] = fill(unit)
	}
	for what, unit := range map[string]string{
		"closed emphasis": "*a* ", "links that end": "[a](b) ", "references": "[a]: b\n", "code": "`a``", "fences": "```\n", "paragraphs": "a\n\n", "headings": "# a\n", "the same headings": "## x\n\n", "HTML": "<a><b>", "comments": "<!-- ", "entities": "&amp;", "addresses": "http://a.b ", "mail": "a@b.c ", "rules": "---\n", "breaks": "a  \n", "bars": "|", "escapes": "\\\\*", "deep lists": "  - a\n", "tasks": "- [ ] a\n", "blanks": " ", "tabs": "\t", "lines": "\n",
	} {
		all[what] = fill(unit)
	}
	var deep strings.Builder
	for i := 0; deep.Len() < size; i = (i + 1) % 500 {
		deep.WriteString(strings.Repeat(" ", 2*i) + "- a\n")
	}
	all["deeper lists"] = deep.String()
	for _, columns := range []int{2, 100, 1000, 20_000} {
		head := strings.Repeat("|a", columns) + "|\n" + strings.Repeat("|-", columns) + "|\n"
		all[fmt.Sprintf("a table of %d columns", columns)] = head + strings.Repeat("|\n", max(size-len(head), 0)/2)
		all[fmt.Sprintf("a table of %d columns and no-break spaces", columns)] = head + strings.Repeat("\u00a0\n", max(size-len(head), 0)/3)
	}
	for what, definition := range map[string]string{"an address": "[a]: https://e.example/%s", "a file": "[a]: %s.md", "a title": "[a]: b.md '%s'"} {
		all["a definition of "+what+" for many links"] = fmt.Sprintf(definition, strings.Repeat("a", size/2)) + "\n\n" + strings.Repeat("[a]\n\n", size/10)
	}
	return all
}

func rendering(r *trial) {
	root := filepath.Join(r.dir(), "skills")
	type bomb struct{ name, what string }
	var all []bomb
	for _, size := range []int{380 << 10, 1000 << 10, 60 << 10} {
		for what, text := range bombs(size) {
			b := bomb{fmt.Sprintf("b-%03d", len(all)), fmt.Sprintf("%d KiB: %s", size>>10, what)}
			all = append(all, b)
			r.write(root, map[string]string{b.name + "/SKILL.md": skillMD(b.name, text), b.name + "/more.md": text})
		}
	}
	k := r.http(setting{}, "--no-builtin", "--dir", root)
	w := &ways{r: r}
	base := strings.TrimSuffix(k.url, "/mcp")
	most, longest := int64(0), 0
	for _, b := range all {
		for _, at := range []string{"/skills/" + b.name + "/", "/skills/" + b.name + "/more.md"} {
			answer, err := timed(func() (string, error) { return w.get(base + at) })
			now := k.load().memory
			most, longest = max(most, now), max(longest, len(answer))
			switch {
			case err != nil:
			case !strings.HasPrefix(answer, "200 "):
				err = fmt.Errorf("is not shown: %s", excerpt(answer))
			case len(answer) > 32<<20: // a MiB of line ends is a million lines with their numbers
				err = fmt.Errorf("a page of %d MiB", len(answer)>>20)
			case now > mostToRender:
				err = fmt.Errorf("%d MiB are held", now>>20)
			}
			if !r.check(b.what+", "+at, err) && !k.alive() {
				return
			}
		}
	}
	r.note("at most %d MiB held, pages of up to %.1f MiB", most>>20, float64(longest)/(1<<20))
	r.ends([]*knack{k})
}
