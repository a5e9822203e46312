//go:build linux

package safety

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// everything makes a binary log at the lowest level whatever the settings, so that its log contains
// all that a log can contain.
var everything = change{"internal/cli/serve_config.go", "	o.level.Set(levelOf(o.logLevel))\n", "	o.level.Set(slog.LevelDebug)\n"}

func secretParts() []part {
	return []part{forbiddenPart(), heldPart(), {
		name: "canaries", promise: "canaries in the environment, headers, URLs, files and arguments: in no log, no file that is written, no error, no answer; the audit log alone has the names and paths that were asked for", run: secretCanaries,
	}}
}

// secretNames lists environment variables that contain secrets on real machines.
var secretNames = []string{
	"GITHUB_TOKEN", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "NPM_TOKEN", "DATABASE_URL", "SSH_AUTH_SOCK", "KUBECONFIG",
	"KNACK_SECRET", "KNACK_TOKEN", "PASSWORD", "LS_COLORS", "PS1", "HTTP_PROXY", "https_proxy", "SLACK_WEBHOOK", "VAULT_TOKEN",
}

// secretHeaders lists request headers that may carry a secret.
var secretHeaders = []string{
	"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "X-Auth-Token", "X-Forwarded-For", "Forwarded", "Referer", "User-Agent", "From", "Via", "Traceparent", "Baggage", "X-Request-Id", "Accept-Language", "If-None-Match",
}

// secretCanaries counts a case for each canary and each output that might reveal it.
func secretCanaries(r *trial) {
	if len(r.changes) == 0 || r.changes[0] != everything {
		r.changes = append([]change{everything}, r.changes...)
	}
	home := r.dir()
	root := filepath.Join(home, "skills")
	planted := 0
	plant := func(name string) canary { planted++; return newCanary(name) }
	env, set := map[string]canary{}, setting{home: home}
	for _, name := range secretNames {
		c := plant(name)
		env["the environment's "+name] = c
		set.env = append(set.env, name+"="+c.text)
	}
	inFiles := map[string]canary{"the body of a skill": plant("body"), "the body of a faulty skill": plant("faulty"), "a field of a faulty skill": plant("field"), "a dot-file": plant("dot"), "a file that nobody asked for": plant("file"), "a client's settings": plant("settings")}
	r.write(root, map[string]string{
		"git/SKILL.md": skillMD("git", inFiles["the body of a skill"].text), "git/notes.md": inFiles["a file that nobody asked for"].text, "git/.env": inFiles["a dot-file"].text,
		"bad/SKILL.md": "---\nname: bad\nkey: " + inFiles["a field of a faulty skill"].text + "\n---\n" + inFiles["the body of a faulty skill"].text, "worse/SKILL.md": "---\n\"" + inFiles["a field of a faulty skill"].text + "\n---\n",
	})
	r.write(home, map[string]string{".cursor/mcp.json": `{"mcpServers": {"other": {"env": {"KEY": "` + inFiles["a client's settings"].text + `"}}}}`, "tokens-bad": plant("token").text + "\n", "key.pem": plant("key").text})
	before := r.filesBelow(home)
	fileCanaries := map[string]canary{"the line of a token file": newCanary("token"), "a private key": newCanary("key")}

	each := func(what, output string, cs map[string]canary) {
		for name, c := range cs {
			r.check(what, leaks(output, map[string]canary{name: c}))
		}
	}
	flags := []string{"--no-builtin", "--dir", root}
	for _, args := range [][]string{
		append([]string{"list", "--all"}, flags...), append([]string{"doctor"}, flags...), append([]string{"doctor", "bad"}, flags...), append([]string{"tools"}, flags...), {"check", root}, {"connect"}, {"connect", "cursor"}, {"connect", "cursor", "--json"}, {"connect", "--json"},
		append([]string{"serve", "--http", "127.0.0.1:0", "--token-file", "tokens-bad"}, flags...), append([]string{"serve", "--http", "127.0.0.1:0", "--tls-cert", "key.pem", "--tls-key", "key.pem"}, flags...),
	} {
		o := r.run(set, args...)
		what := "knack " + strings.Join(args[:min(2, len(args))], " ")
		each(what, o.all(), env)
		if args[0] != "check" { // check shows faulty lines to the user who named the file
			each(what, o.all(), inFiles)
		}
		each(what, o.all(), fileCanaries)
	}
	inURL := map[string]canary{"userinfo": plant("url user"), "query": plant("url query")}
	o := r.run(set, "check", "http://u:"+inURL["userinfo"].text+"@127.0.0.1:9/mcp?token="+inURL["query"].text)
	each("knack check URL", o.all(), env)
	each("knack check URL", o.all(), prefixed("the ", inURL))

	asked := r.secretCalls(set, flags, env, inFiles, plant)
	maps.Copy(asked, r.secretRequests(set, flags, env, inFiles, plant))
	// Each run of a server has its own audit log; no other file may have been written.
	var logs []string
	for at, text := range r.filesBelow(home) {
		if _, ok := before[at]; ok {
			continue
		}
		if strings.HasPrefix(at, "audit-") {
			logs = append(logs, at)
		}
		for _, cs := range []map[string]canary{asked, env, inFiles, fileCanaries, inURL} {
			for name, c := range cs {
				err := leaks(text, map[string]canary{name: c})
				r.check("a file that was written", prefix("a file that was written leaks: "+at+": ", err))
			}
		}
	}
	slices.Sort(logs)
	err := error(nil)
	if want := []string{"audit-default", "audit-http", "audit-runner", "audit-universal", "audit-uri", "audit-wave"}; !slices.Equal(logs, want) {
		err = fmt.Errorf("%q, want %q", logs, want)
	}
	r.check("audit logs", err)
	err = nil
	if planted < 50 {
		err = fmt.Errorf("only %d", planted)
	}
	r.check("canaries", err)
	r.note("%d canaries", planted)
}

func prefixed(with string, cs map[string]canary) map[string]canary {
	out := map[string]canary{}
	for name, c := range cs {
		out[with+name] = c
	}
	return out
}

// filesBelow returns the texts of all files below a folder, by their relative paths.
func (r *trial) filesBelow(folder string) map[string]string {
	r.Helper()
	all := map[string]string{}
	r.must(filepath.WalkDir(folder, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(at)
		name, _ := filepath.Rel(folder, at)
		all[name] = string(data)
		return err
	}))
	return all
}

// secretCalls puts canaries into everything that a client can send over stdio. It returns the
// canaries that must not be in the audit log: all except those in names and paths.
func (r *trial) secretCalls(set setting, flags []string, env, inFiles map[string]canary, plant func(string) canary) map[string]canary {
	unwritten := map[string]canary{}
	for _, tools := range []string{"default", "runner", "wave", "uri", "universal"} {
		k := r.stdio(set, append([]string{"--tools", tools, "--audit", "audit-" + tools}, flags...)...)
		logged := map[string]canary{}
		arg := func(name string) string {
			c := plant(tools + name)
			logged["an argument, "+name] = c
			if !slices.Contains([]string{"name", "skill_name", "file_path", "no file", "authority"}, name) {
				unwritten[tools+", an argument, "+name] = c
			}
			return c.text
		}
		for _, name := range []string{"skill", "read_file_in_skill", "find_skills", "get_skill", "Skill", "list_skills"} {
			for _, args := range []map[string]any{
				{"name": arg("name")}, {"skill_name": arg("skill_name"), "file_path": arg("file_path")}, {"skill_name": "git", "file_path": arg("no file")}, {"query": arg("query")}, {"cursor": arg("cursor")},
				{"uri": "skill://" + arg("authority") + "/SKILL.md"}, {arg("key"): arg("value")}, {"name": map[string]any{"deep": arg("deep")}},
			} {
				line, err := k.call("tools/call", tool(name, args))
				if err == nil {
					err = leaks(string(line), env)
				}
				r.check(tools+" "+name, err)
			}
			// An answer does not repeat arguments other than names and paths.
			value := plant(tools + name + "value")
			line, err := k.call("tools/call", tool(name, map[string]any{"uri": "skill://git/SKILL.md", "name": "git", "skill_name": "git", "file_path": "SKILL.md", "secret": value.text}))
			if err == nil {
				err = leaks(string(line), map[string]canary{"the value of an unknown argument": value})
			}
			r.check(tools+" "+name+" with an unknown argument", err)
			logged["an unknown argument of "+name] = value
			unwritten[tools+", an unknown argument of "+name] = value
		}
		for _, method := range []string{"resources/read", "skills/get", "resources/directory/read", "resources/subscribe", "tools/call"} {
			for part, form := range map[string]string{"userinfo": "skill://user:%s@git/SKILL.md", "query": "skill://git/none.md?token=%s", "fragment": "skill://git/none.md#%s", "path": "skill://git/sk-proj-%s0123456789abcdef0123456789"} {
				c := plant(tools + method + part)
				asked := fmt.Sprintf(form, c.text)
				params := map[string]any{"uri": asked}
				if method == "tools/call" {
					params = tool("get_skill", map[string]any{"uri": asked})
				}
				if method == "tools/call" && tools != "uri" {
					continue
				}
				line, err := k.call(method, params)
				if err == nil {
					err = leaks(string(line), map[string]canary{"the " + part + " of a URI": c})
				}
				r.check(method+" of a URI", err)
				logged["the "+part+" of a URI, "+method] = c
				unwritten[tools+", the "+part+" of a URI, "+method] = c
			}
		}
		bad := newCanary("a broken line")
		logged["a broken line"], unwritten[tools+", a broken line"] = bad, bad
		for _, line := range []string{`{"jsonrpc":"2.0","id":9999,"method":"` + bad.text + `"`, bad.text, `{"jsonrpc":"2.0","method":"notifications/` + bad.text + `"}`, `{"` + bad.text + `":1}`, `["` + bad.text + `"]`} {
			k.write.Lock()
			_, err := io.WriteString(k.in, line+"\n")
			k.write.Unlock()
			r.must(err)
		}
		_, err := k.call("ping", map[string]any{})
		r.check("a ping behind broken lines", err)
		status := k.end()
		r.check("the end", ended(status))
		for name, c := range logged {
			r.check("the log of "+tools, prefix("the log ", leaks(k.said(), map[string]canary{name: c})))
		}
		for name, c := range env {
			r.check("the log of "+tools, prefix("the log ", leaks(k.said(), map[string]canary{name: c})))
		}
		for name, c := range inFiles {
			r.check("the log of "+tools, prefix("the log ", leaks(k.said(), map[string]canary{name: c})))
		}
	}
	return unwritten
}

func ended(got int) error { return status(got, 0) }

func prefix(with string, err error) error {
	if err != nil {
		return fmt.Errorf("%s%w", with, err)
	}
	return nil
}

// secretRequests puts canaries into the headers, URLs and bodies of requests that are answered,
// refused and broken. It returns the canaries that must not be in the audit log: all except those
// in paths.
func (r *trial) secretRequests(set setting, flags []string, env, inFiles map[string]canary, plant func(string) canary) map[string]canary {
	k := r.http(set, append([]string{"--audit", "audit-http"}, flags...)...)
	paths := map[string]bool{} // the keys of logged that stand for a path of a page
	logged := map[string]canary{}
	client := &http.Client{Timeout: r.patience()}
	for _, header := range secretHeaders {
		c := plant("header " + header)
		logged["the header "+header] = c
		for _, kind := range []string{"answered", "not found", "refused", "broken", "a page", "the API", "no page"} {
			req, err := request(k, modernEra, "", "tools/list", map[string]any{})
			r.must(err)
			switch kind {
			case "not found":
				req.URL.Path = "/none"
			case "refused":
				req.Host = "evil.example"
			case "a page", "the API", "no page":
				at := map[string]string{"a page": "/skills/git/", "the API": "/api/v1/skills", "no page": "/skills/none/"}[kind]
				req, err = http.NewRequest(http.MethodGet, strings.TrimSuffix(k.url, "/mcp")+at, nil)
				r.must(err)
			case "broken":
				req.Body = io.NopCloser(strings.NewReader("{"))
				req.ContentLength = 1
			}
			value := c.text
			if header == "Authorization" {
				value = "Bearer " + value
			}
			req.Header.Set(header, value)
			answer, err := whole(client, req)
			if err == nil {
				err = leaks(answer, map[string]canary{"the header " + header: c})
			}
			if err == nil {
				err = leaks(answer, env)
			}
			r.check(kind+" with "+header, err)
		}
	}
	for _, at := range []string{"/mcp?token=%s", "/%s", "/mcp/%s", "/healthz?%s", "/mcp#%s", "/%%2e%%2e/%s", "/mcp;%s"} {
		c := plant("target " + at)
		logged["the URL "+at] = c
		paths["the URL "+at] = !strings.ContainsAny(at, "?#")
		u, err := url.Parse(strings.TrimSuffix(k.url, "/mcp") + fmt.Sprintf(at, c.text))
		r.must(err)
		for _, method := range []string{"GET", "POST", "DELETE", "PUT", "OPTIONS"} {
			req, err := http.NewRequest(method, u.String(), strings.NewReader("{}"))
			r.must(err)
			answer, err := whole(client, req)
			if err == nil {
				err = leaks(answer, map[string]canary{"the URL " + at: c})
			}
			r.check(method+" "+at, err)
		}
	}
	// To the client that asked, a search page shows the query, and an error page the name of the
	// missing page. The log shows neither.
	for _, at := range []string{"/?q=%s", "/api/v1/skills?q=%s", "/api/v1/skills?root=%s", "/api/v1/skills?cursor=%s", "/skills/%s/", "/skills/git/%s", "/raw/git/%s", "/api/v1/skills/%s", "/api/v1/files/git/%s", "/api/v1/problems/%s", "/health/%s", "/.well-known/agent-skills/%s/SKILL.md", "/assets/%s"} {
		c := plant("page " + at)
		logged["the address "+at] = c
		paths["the address "+at] = !strings.Contains(at, "?")
		answer, err := (&ways{r: r}).get(strings.TrimSuffix(k.url, "/mcp") + fmt.Sprintf(at, c.text))
		if err == nil {
			err = leaks(answer, env)
		}
		r.check("GET "+at, err)
	}
	for _, at := range webLists {
		answer, err := (&ways{r: r}).get(strings.TrimSuffix(k.url, "/mcp") + at)
		if err == nil {
			err = leaks(answer, env)
		}
		if err == nil { // metrics and lists must not reveal other clients' requests
			err = leaks(answer, logged)
		}
		if err == nil {
			err = leaks(answer, map[string]canary{"a dot-file": inFiles["a dot-file"], "a file that nobody asked for": inFiles["a file that nobody asked for"]})
		}
		r.check("GET "+at, err)
	}
	for _, header := range []string{"Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id", "Origin", "Host", "Content-Type", "Accept", "Mcp-Name", "Mcp-Method"} {
		c := plant("protocol header " + header)
		logged["the protocol's header "+header] = c
		req, err := request(k, legacyEra, "", "tools/list", map[string]any{})
		r.must(err)
		if header == "Host" {
			req.Host = c.text
		} else {
			req.Header.Set(header, c.text)
		}
		_, err = whole(client, req)
		r.check("with "+header, err)
	}
	body := plant("body of a request")
	logged["a request's body"] = body
	for _, text := range []string{body.text, `{"x":"` + body.text, `{"jsonrpc":"2.0","id":1,"method":"ping","params":"` + body.text + `"}`, `["` + body.text + `"]`} {
		req, err := http.NewRequest(http.MethodPost, k.url, bytes.NewReader([]byte(text)))
		r.must(err)
		req.Header.Set("Content-Type", "application/json")
		answer, err := whole(client, req)
		if err == nil {
			err = leaks(answer, map[string]canary{"a request's body": body})
		}
		r.check("a broken body", err)
	}
	pause(100 * time.Millisecond) // the log is written after the answer
	for _, cs := range []map[string]canary{logged, env, inFiles} {
		for name, c := range cs {
			r.check("the log over HTTP", prefix("the log ", leaks(k.said(), map[string]canary{name: c})))
		}
	}
	if !k.alive() {
		r.check("the server", fmt.Errorf("has ended: %s", excerpt(k.said())))
	}
	r.must(k.cmd.Process.Signal(syscall.SIGTERM)) // a server that has ended has written its whole audit log
	<-k.ended
	maps.DeleteFunc(logged, func(name string, _ canary) bool { return paths[name] })
	return prefixed("over HTTP, ", logged)
}

// whole returns a response with its status, headers and body.
func whole(client *http.Client, req *http.Request) (string, error) {
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return fmt.Sprint(resp.Status, resp.Header, "\n", string(data)), err
}
