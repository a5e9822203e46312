//go:build linux

package safety

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// The files and folders of these parts are older than the granularity of their stamps. A server
// caches data between two calls only for such files.

// aged is how old files must be for their stamps to be reliable.
const aged = 2500 * time.Millisecond

func raceOldParts() []part {
	return []part{{name: "old", promise: "folders of old files exchanged between and under calls: each answer is of the folder that is there (cases: swaps and answers)", run: swapsOfOld}}
}

func secretSessionParts() []part {
	return []part{{name: "sessions", promise: "calls of two tokens with canaries in their headers and arguments: none in a log, none in another's answer", run: secretsOfSessions}}
}

// messageOf returns the JSON message in an answer. Over HTTP, the headers come first, and the
// message may be an event.
func messageOf(answer string) string {
	if _, body, ok := strings.Cut(answer, "]\n"); ok && !strings.HasPrefix(answer, "{") {
		answer = body
	}
	if i := strings.Index(answer, `{"`); i >= 0 {
		answer, _, _ = strings.Cut(answer[i:], "\n")
	}
	return answer
}

// answerText returns the text of a file in an answer, or "" if the answer has none.
func answerText(answer string) string {
	var m struct {
		Result struct {
			Content  []struct{ Text string }
			Contents []struct{ Text string }
		}
	}
	if json.Unmarshal([]byte(messageOf(answer)), &m) != nil {
		return ""
	}
	res := m.Result
	switch {
	case len(res.Contents) > 0:
		return res.Contents[0].Text
	case len(res.Content) > 0:
		return res.Content[0].Text
	}
	return ""
}

func swapsOfOld(r *trial) {
	base := filepath.Join(r.dir(), "tree")
	if !r.mount(base, "64m") {
		return
	}
	root := filepath.Join(base, "skills")
	outside := newCanary("race old")
	main := [2]version{newVersion("---\nname: t\ndescription: Edition A.\n---\nINSIDE A\n"), newVersion("---\nname: t\ndescription: Edition B, longer.\n---\nINSIDE B " + strings.Repeat("b", 5000) + "\n")}
	// Short enough that a client that knack has no profile of gets the whole text.
	data := [2]version{newVersion("INSIDE A"), newVersion("INSIDE B " + strings.Repeat("b", 15_000))}
	r.write(base, map[string]string{
		"skills/s/SKILL.md": skillMD("s", "Stands."), "skills/s/d/in.md": data[0].text, "spare/d/in.md": data[1].text,
		"skills/s/e/f/in.md": data[0].text, "spare/e/f/in.md": data[1].text, "skills/s/x/in.md": data[0].text, "outside/in.md": outside.text,
		"skills/t/SKILL.md": main[0].text, "spare/t/SKILL.md": main[1].text,
	})
	r.must(os.Symlink("../outside", filepath.Join(base, "spare/x")))
	flags := []string{"--no-builtin", "--dir", root}
	k, web := r.stdio(setting{}, flags...), r.http(setting{}, flags...)
	w := &ways{r: r, client: &http.Client{Timeout: r.patience(), Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	session := w.dial(web)
	pause(aged)
	type question struct {
		name     string
		swaps    string // the exchanged entry that contains the file
		versions [2]version
		ask      func() (string, error)
	}
	var questions []question
	for _, via := range []struct {
		name string
		ask  func(method string, params map[string]any) (string, error)
	}{
		{"stdio", func(method string, params map[string]any) (string, error) {
			line, err := k.call(method, params)
			return string(line), err
		}},
		{"http-2025", func(method string, params map[string]any) (string, error) {
			return w.post(web, legacyEra, session, method, params)
		}},
		{"http-2026", func(method string, params map[string]any) (string, error) {
			return w.post(web, modernEra, "", method, params)
		}},
	} {
		add := func(what, swaps string, versions [2]version, method string, params map[string]any) {
			questions = append(questions, question{via.name + " " + what, swaps, versions, func() (string, error) { return via.ask(method, params) }})
		}
		for file, swaps := range map[string]string{"d/in.md": "d", "e/f/in.md": "e", "x/in.md": "x"} {
			add("resources/read "+file, swaps, data, "resources/read", map[string]any{"uri": "skill://s/" + file})
			add("read_file "+file, swaps, data, "tools/call", tool("read_file_in_skill", map[string]any{"skill_name": "s", "file_path": file}))
		}
		add("resources/read SKILL.md", "t", main, "resources/read", map[string]any{"uri": "skill://t/SKILL.md"})
		add("the skill", "t", main, "tools/call", tool("skill", map[string]any{"name": "t"}))
		add("skills/get", "t", main, "skills/get", map[string]any{"uri": "skill://t/SKILL.md"})
	}
	swap := func(what string) {
		in := "skills/s/"
		if what == "t" {
			in = "skills/"
		}
		r.must(unix.Renameat2(unix.AT_FDCWD, filepath.Join(base, in+what), unix.AT_FDCWD, filepath.Join(base, "spare", what), unix.RENAME_EXCHANGE))
	}
	all := []string{"d", "e", "x", "t"}
	// compare checks that an answer has one of the two versions, or, if only is not negative, that
	// version.
	compare := func(q question, answer string, only int) error {
		if err := leaks(answer, map[string]canary{"a file outside": outside}); err != nil {
			return err
		}
		if q.swaps == "t" && strings.Contains(answer, `"resources":[`) {
			if err := agrees(q.name, messageOf(answer), main, data); err != nil {
				return err
			}
			if only >= 0 && !strings.Contains(answer, main[only].digest) {
				return fmt.Errorf("not of version %d: %s", only, excerpt(answer))
			}
			return nil
		}
		text := answerText(answer)
		for i, v := range q.versions {
			if (only < 0 || i == only) && strings.HasSuffix(text, v.text) {
				return nil
			}
		}
		if only < 0 && !strings.Contains(text, "INSIDE") || only == 1 && q.swaps == "x" && !strings.Contains(text, "INSIDE") {
			return nil // a refusal
		}
		return fmt.Errorf("not of version %d: %s", only, excerpt(answer))
	}
	// One exchange after the other, so that the expected version is known.
	swaps, rounds := 0, r.pick(30, 300)
	for n := range rounds {
		for _, q := range questions {
			for range 3 {
				answer, err := q.ask()
				if err == nil {
					err = compare(q, answer, n%2)
				}
				r.check(q.name, err)
			}
		}
		if r.over() || dead([]*knack{k, web}) {
			break
		}
		for _, what := range all {
			swap(what)
			swaps++
		}
		if n%10 == 9 {
			pause(aged) // folders have stamps, too
		}
	}
	// All calls and exchanges concurrently.
	var done atomic.Bool
	var count atomic.Int64
	var swappers, readers sync.WaitGroup
	for i, what := range all {
		swappers.Go(func() {
			for n := 0; !done.Load(); n++ {
				swap(what)
				count.Add(1)
				pause(time.Duration(1+(n*(7+i))%13) * time.Millisecond) // leaves time for two calls
			}
		})
	}
	begin, most := time.Now(), time.Duration(r.pick(3, 30))*time.Second
	for range 4 {
		readers.Go(func() {
			for time.Since(begin) < most && !r.over() && !dead([]*knack{k, web}) {
				for _, q := range questions {
					for range 2 {
						answer, err := q.ask()
						if err == nil {
							err = compare(q, answer, -1)
						}
						r.check(q.name+", under swaps", err)
					}
				}
			}
		})
	}
	readers.Wait()
	done.Store(true)
	swappers.Wait()
	r.note("%s swaps, %d of them one at a time, and %s answers", grouped(swaps+int(count.Load())), swaps, grouped(r.cases))
	r.count(swaps + int(count.Load()))
	r.ends([]*knack{k, web})
}

func secretsOfSessions(r *trial) {
	if len(r.changes) == 0 || r.changes[0] != everything {
		r.changes = append([]change{everything}, r.changes...)
	}
	home := r.dir()
	root := filepath.Join(home, "skills")
	files := map[string]string{}
	for _, name := range []string{"one", "two"} {
		files[name+"/SKILL.md"], files[name+"/notes.md"] = skillMD(name, "Of "+name+"."), "NOTES "+name
	}
	r.write(root, files)
	tokens := []string{"knack_" + newCanary("token one").text, "knack_" + newCanary("token two").text}
	var lines string
	for _, token := range tokens {
		sum := sha256.Sum256([]byte(token))
		lines += "sha256:" + hex.EncodeToString(sum[:]) + "\n"
	}
	r.write(home, map[string]string{"tokens": lines, "unlimited.yaml": "limits:\n  rate: 0\n"})
	flags := []string{"--no-builtin", "--dir", root}
	set := setting{home: home}
	k, web := r.stdio(set, flags...), r.http(set, append([]string{"--token-file", "tokens", "--config", "unlimited.yaml"}, flags...)...)
	pause(aged)
	client := &http.Client{Timeout: r.patience()}
	planted := map[string]canary{"a token": {forms: tokens}}
	send := func(token, era, session, method string, params map[string]any, with string) (*http.Response, string, error) {
		req, err := request(web, era, session, method, params)
		r.must(err)
		req.Header.Set("Authorization", "Bearer "+token)
		if with != "" {
			req.Header.Set("X-Request-Id", with)
			req.Header.Set("Cookie", "s="+with)
			req.Header.Set("User-Agent", with)
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, "", err
		}
		defer resp.Body.Close()
		var body bytes.Buffer
		_, err = body.ReadFrom(resp.Body)
		return resp, fmt.Sprint(resp.Status, resp.Header, "\n", body.String()), err
	}
	var sessions []string
	for _, token := range tokens {
		resp, said, err := send(token, legacyEra, "", "initialize", map[string]any{"protocolVersion": legacyEra, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}}, "")
		r.must(err)
		id := resp.Header.Get("Mcp-Session-Id")
		if id == "" {
			r.Fatalf("no session: %s", said)
		}
		sessions = append(sessions, id)
		req, err := request(web, legacyEra, id, "notifications/initialized", nil)
		r.must(err)
		body := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		req.Body, req.ContentLength = http.NoBody, 0
		req, err = http.NewRequest(http.MethodPost, web.url, strings.NewReader(body))
		r.must(err)
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": id, "Mcp-Protocol-Version": legacyEra, "Authorization": "Bearer " + token} {
			req.Header.Set(name, value)
		}
		resp, err = client.Do(req)
		r.must(err)
		resp.Body.Close()
	}
	for i := range r.pick(4, 40) {
		for _, name := range []string{"one", "two"} {
			for what, ask := range map[string]struct {
				method string
				params map[string]any
				holds  string
			}{
				"the skill":      {"tools/call", tool("skill", map[string]any{"name": name}), "Of " + name + "."},
				"resources/read": {"resources/read", map[string]any{"uri": "skill://" + name + "/notes.md"}, "NOTES " + name},
				"skills/get":     {"skills/get", map[string]any{"uri": "skill://" + name + "/SKILL.md"}, "skill://" + name + "/notes.md"},
			} {
				// An argument that is neither a name nor a path appears in no answer and no log,
				// however often it is sent.
				argument := newCanary(fmt.Sprint("argument ", i, name, what))
				planted["an argument"+argument.text] = argument
				params := map[string]any{"_meta": map[string]any{"example.com/note": argument.text}} // the newer era replaces this with a _meta of its own
				for key, v := range ask.params {
					params[key] = v
				}
				for t, token := range tokens {
					other := tokens[1-t]
					for era, session := range map[string]string{modernEra: "", legacyEra: sessions[t]} {
						header := newCanary(fmt.Sprint("header ", i, name, what, t, era))
						planted["a header"+header.text] = header
						for range 3 {
							_, answer, err := send(token, era, session, ask.method, params, header.text)
							if err == nil {
								err = leaks(answer, planted)
							}
							if err == nil && !strings.Contains(answer, ask.holds) {
								err = fmt.Errorf("another's answer: wants %q: %s", ask.holds, excerpt(answer))
							}
							r.check(era+" "+what, err)
						}
						if session == "" {
							continue
						}
						_, answer, err := send(other, era, session, ask.method, params, header.text)
						if err == nil && strings.Contains(answer, ask.holds) {
							err = fmt.Errorf("is given to another token's holder: %s", excerpt(answer))
						}
						r.check(era+" "+what+" in another's session", err)
					}
				}
				for range 3 {
					line, err := k.call(ask.method, params)
					if err == nil {
						err = leaks(string(line), planted)
					}
					if err == nil && !strings.Contains(string(line), ask.holds) {
						err = fmt.Errorf("another's answer: wants %q: %s", ask.holds, excerpt(string(line)))
					}
					r.check("stdio "+what, err)
				}
			}
		}
	}
	pause(100 * time.Millisecond) // the log is written after the answer
	for name, c := range planted {
		r.check("the log", prefix("the log ", leaks(web.said()+k.said(), map[string]canary{strings.TrimSuffix(name, c.text): c})))
	}
	r.note("%d canaries", len(planted))
	r.ends([]*knack{k, web})
}
