//go:build linux

package safety

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// hostileSkillFiles requests all lists and, by name, every skill with a hostile SKILL.md. It does
// so with each set of tools, and with the commands.
func hostileSkillFiles(r *trial) {
	f := r.plantForest()
	w := &ways{r: r, set: setting{env: f.env}, flags: []string{"--no-builtin", "--dir", f.root}}
	var servers []*knack
	ask := func(k *knack, what, method string, params map[string]any) {
		answer, err := timed(func() (string, error) {
			line, err := k.call(method, params)
			return string(line), err
		})
		if err == nil {
			err = leaks(answer, f.canaries)
		}
		r.check(what, err)
	}
	run := func(args ...string) {
		answer, err := timed(func() (string, error) { return w.ended(r.run(w.set, args...)) })
		if err == nil {
			err = leaks(answer, f.canaries)
		}
		r.check("knack "+strings.Join(args, " "), err)
	}
	for _, set := range []struct {
		name, arg string
		tools     []string
	}{
		{"universal", "name", []string{"skill"}}, {"runner", "skill_name", []string{"get_skill", "read_file_in_skill"}},
		{"wave", "skill_name", []string{"Skill"}}, {"uri", "uri", []string{"get_skill"}}, {"default", "query", []string{"find_skills"}},
	} {
		k := r.stdio(w.set, append(w.flags, "--tools", set.name)...)
		servers = append(servers, k)
		for _, list := range []string{"tools/list", "resources/list", "prompts/list", "skills/list", "resources/templates/list"} {
			ask(k, set.name+" "+list, list, map[string]any{})
		}
		if set.name == "uri" || set.name == "runner" {
			ask(k, set.name+" list_skills", "tools/call", tool("list_skills", map[string]any{}))
		}
		for _, folder := range f.faulty {
			for _, name := range set.tools {
				args := map[string]any{set.arg: folder}
				switch {
				case name == "read_file_in_skill":
					args["file_path"] = "SKILL.md"
				case set.arg == "uri":
					args["uri"] = uri(folder, "SKILL.md")
				}
				ask(k, fmt.Sprintf("%s of %s, %q", name, set.name, folder), "tools/call", tool(name, args))
			}
			if set.name == "default" {
				at := map[string]any{"uri": uri(folder, "SKILL.md")}
				for _, method := range []string{"resources/read", "skills/get", "resources/subscribe"} {
					ask(k, fmt.Sprintf("%s, %q", method, folder), method, at)
				}
				ask(k, fmt.Sprintf("resources/directory/read, %q", folder), "resources/directory/read", map[string]any{"uri": "skill://" + strings.TrimPrefix(uri("", folder), "skill:///")})
				ask(k, fmt.Sprintf("prompts/get, %q", folder), "prompts/get", map[string]any{"name": folder})
			}
		}
	}
	web := r.http(w.set, w.flags...)
	servers = append(servers, web)
	get := func(at string) {
		answer, err := timed(func() (string, error) { return w.get(strings.TrimSuffix(web.url, "/mcp") + at) })
		if err == nil {
			err = leaks(answer, f.canaries)
		}
		r.check("GET "+at, err)
	}
	for _, at := range webLists {
		get(at)
	}
	for _, folder := range f.faulty {
		escaped := strings.TrimPrefix(uri("", folder), "skill:///")
		for _, place := range webPlaces {
			get(place.at(escaped, ""))
			get(place.at(escaped, "SKILL.md"))
		}
		get("/?q=" + url.QueryEscape(folder))
	}
	run("list", "--all", "--no-builtin", "--dir", f.root)
	run("list", "--all", "--json", "--no-builtin", "--dir", f.root)
	run("doctor", "--no-builtin", "--dir", f.root)
	run("doctor", "--json", "--no-builtin", "--dir", f.root)
	run("tools", "--prompt", "--no-builtin", "--dir", f.root)
	for _, format := range []string{"text", "json", "sarif", "github"} {
		run("check", "--format", format, f.root)
	}
	run("check", "--diff", "--fix", f.root)
	for _, folder := range f.faulty {
		run("show", folder, "--no-builtin", "--dir", f.root)
		run("doctor", folder, "--no-builtin", "--dir", f.root)
		run("check", filepath.Join(f.root, folder))
	}
	r.ends(servers)
}

// hostileArguments requests, in every way, paths that name no file of the skill.
func hostileArguments(r *trial) {
	f := r.plantForest()
	base := filepath.Dir(f.root)
	w := &ways{r: r, set: setting{env: f.env}, flags: []string{"--no-builtin", "--dir", f.root}}
	all, servers := w.start()
	for n, way := range all {
		for i, path := range hostilePaths(base) {
			if r.sampled(way, i) || r.fast && (i+n)%6 != 0 { // in CI each path is requested in a sixth of the ways
				continue
			}
			answer, err := timed(func() (string, error) { return way.ask("victim", path) })
			if err == nil {
				err = leaks(withoutEcho(answer, path), f.canaries)
			}
			r.check(fmt.Sprintf("%s, %s", way.name, excerpt(path)), err)
		}
		// A hostile skill name does not lead out of the folder either.
		for _, name := range []string{"..", ".", "", "victim/..", "../outside", "victim/../sibling", base, base + "/outside", "/", "sibling/../../outside", "\x00", "victim\x00", "%2e%2e", "dir-1:../outside", "dir-1:", ":", "victim/.git", strings.Repeat("../", 1000), strings.Repeat("x", 50_000)} {
			for i, file := range []string{"file.txt", "private.md", "config"} {
				if r.fast && i != n%3 {
					continue
				}
				answer, err := timed(func() (string, error) { return way.ask(name, file) })
				if err == nil && !strings.HasSuffix(strings.TrimRight(name, "/"), "sibling") {
					err = leaks(withoutEcho(answer, name), f.canaries)
				}
				r.check(fmt.Sprintf("%s, skill %s, %s", way.name, excerpt(name), file), err)
			}
		}
	}
	for _, way := range all {
		for _, c := range longArguments(r.fast) {
			answer, err := timed(func() (string, error) { return way.ask(c.skill, c.path) })
			if err == nil {
				err = leaks(answer, f.canaries)
			}
			if err == nil && len(answer) > mostAnswer {
				err = fmt.Errorf("an answer of %d bytes: %s", len(answer), excerpt(answer))
			}
			r.check(way.name+", "+c.what, err)
		}
		if dead(servers) {
			break
		}
	}
	// Tools and methods that take only a name.
	for _, c := range longArguments(r.fast) {
		for _, q := range []struct {
			method string
			params map[string]any
		}{
			{"tools/call", tool("skill", map[string]any{"name": c.skill})}, {"tools/call", tool("find_skills", map[string]any{"query": c.skill})},
			{"tools/call", tool(c.skill, map[string]any{})}, {"prompts/get", map[string]any{"name": c.skill}}, {"skills/get", map[string]any{"uri": "skill://" + c.skill}},
			{"completion/complete", map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": c.skill}, "argument": map[string]any{"name": "request", "value": c.skill}}},
		} {
			answer, err := timed(func() (string, error) {
				line, err := servers[0].call(q.method, q.params)
				return string(line), err
			})
			if err == nil && len(answer) > mostAnswer {
				err = fmt.Errorf("an answer of %d bytes: %s", len(answer), excerpt(answer))
			}
			r.check(fmt.Sprintf("%s, %.60v, %s", q.method, q.params, c.what), err)
		}
	}
	r.ends(servers)
}

// mostAnswer is larger than any answer about the forest that does not echo the request.
const mostAnswer = 64 << 10

// longArgument is a skill name and a path of a file to request.
type longArgument struct{ what, skill, path string }

// longArguments returns names and paths that are expensive to parse: with many elements, or with
// many characters that fold or compose. In CI it returns only the most expensive ones.
func longArguments(inCI bool) (all []longArgument) {
	folds := 3
	if inCI { // other tests run at the same time, and the time counts
		folds = 1
	}
	all = append(all, longArgument{fmt.Sprintf("a name of %d MiB that folds", folds), "a" + strings.Repeat("İ", folds<<19), "docs/in.md"})
	for _, size := range []int{1 << 20, 64 << 10} {
		for _, unit := range []string{"\u0301", "a/", "x", "../", "docs/../", "/", "./", "İ", " ", ":", "%25"} {
			long := strings.Repeat(unit, size/len(unit))
			what := fmt.Sprintf("%d KiB of %q", size>>10, unit)
			if unit != "a/" {
				all = append(all, longArgument{"a name of " + what, "a" + long, "docs/in.md"})
			}
			if unit != "\u0301" {
				all = append(all, longArgument{"a path of " + what, "victim", "docs/" + long})
			}
			if inCI && unit == "a/" {
				return all
			}
		}
	}
	for _, parts := range []int{4096, 4097, 100_000} {
		all = append(all, longArgument{fmt.Sprintf("%d parts", parts), "victim", strings.Repeat("docs/", parts-1) + "in.md"})
	}
	return all
}

// withoutEcho removes from an answer every copy of the requested text.
func withoutEcho(answer, asked string) string {
	if asked == "" {
		return answer
	}
	return strings.ReplaceAll(answer, asked, "")
}

// hostilePermissions is the only part in which file modes matter, so it runs knack as another user
// than root, who can read everything.
func hostilePermissions(r *trial) {
	if os.Getuid() != 0 {
		r.untry("only root can make files that its other users may not read")
		return
	}
	base := r.dir()
	root := filepath.Join(base, "skills")
	shut := newCanary("shut")
	r.write(root, map[string]string{
		"open/SKILL.md": skillMD("open", "INSIDE open"), "open/shut.md": shut.text, "open/shut/in.md": shut.text, "open/blind/in.md": "INSIDE blind",
		"noread/SKILL.md": skillMD("noread", shut.text), "closed/SKILL.md": skillMD("closed", shut.text), "below/closed/SKILL.md": skillMD("below", shut.text),
	})
	for name, mode := range map[string]os.FileMode{
		"open/shut.md": 0, "open/shut": 0, "open/blind": 0o711, "noread/SKILL.md": 0, "closed": 0, "below/closed": 0o600,
	} {
		r.must(os.Chmod(filepath.Join(root, name), mode))
	}
	w := &ways{r: r, set: setting{nobody: true, home: "/"}, flags: []string{"--no-builtin", "--dir", root}}
	all, servers := w.start()
	canaries := map[string]canary{"an unreadable file": shut}
	for _, way := range all {
		for _, c := range []struct{ skill, path, inside string }{
			{"open", "SKILL.md", "INSIDE open"}, {"open", "blind/in.md", "INSIDE blind"}, {"open", "shut.md", ""}, {"open", "shut/in.md", ""}, {"open", "shut", ""},
			{"noread", "SKILL.md", ""}, {"closed", "SKILL.md", ""}, {"below", "SKILL.md", ""},
		} {
			answer, err := timed(func() (string, error) { return way.ask(c.skill, c.path) })
			if err == nil {
				err = leaks(answer, canaries)
			}
			if err == nil && way.reads && c.inside != "" && !strings.Contains(answer, c.inside) {
				err = fmt.Errorf("does not hold %q: %s", c.inside, excerpt(answer))
			}
			r.check(fmt.Sprintf("%s, %s/%s", way.name, c.skill, c.path), err)
		}
	}
	// list --all reports every fault with its place.
	o := r.run(w.set, append([]string{"list", "--all"}, w.flags...)...)
	for _, want := range []string{"noread", "closed", "below/closed", "permission denied"} {
		var err error
		if !strings.Contains(o.all(), want) {
			err = fmt.Errorf("does not say it: %s", o.all())
		}
		r.check("list --all tells of "+want, err)
	}
	r.ends(servers)
}

// hostileWidth tests a tree that is harmless but very large.
func hostileWidth(r *trial) {
	base := r.dir()
	root := filepath.Join(base, "skills")
	n, links := r.pick(10_000, 100_000), r.pick(1000, 10_000)
	r.write(root, map[string]string{"wide/SKILL.md": skillMD("wide", "Read me."), "links/SKILL.md": skillMD("links", "Read me."), "small/SKILL.md": skillMD("small", "INSIDE small")})
	for i := range n {
		at := filepath.Join(root, "wide", fmt.Sprintf("file-%06d.md", i))
		r.must(os.WriteFile(at, []byte("x"), 0o644))
	}
	for i := range links { // each link leads to the next
		r.must(os.Symlink(fmt.Sprintf("l-%06d", i+1), filepath.Join(root, "links", fmt.Sprintf("l-%06d", i))))
	}
	for i := range 1000 {
		r.must(os.Mkdir(filepath.Join(root, fmt.Sprintf("empty-%06d", i)), 0o755))
	}
	r.must(os.MkdirAll(filepath.Join(root, strings.Repeat("deep/", 200)), 0o755))
	for i := range 25 { // 2^25 paths through a small tree
		for _, x := range []string{"x", "y"} {
			dir := filepath.Join(root, "small", fmt.Sprintf("d%02d", i))
			r.must(os.MkdirAll(dir, 0o755))
			r.must(os.Symlink(fmt.Sprintf("../d%02d", i+1), filepath.Join(dir, x)))
		}
	}
	w := &ways{r: r, flags: []string{"--no-builtin", "--dir", root}}
	all, servers := w.start()
	for _, way := range all {
		for i, c := range []struct{ skill, path, inside string }{
			{"wide", "SKILL.md", "Read me."}, {"wide", fmt.Sprintf("file-%06d.md", n-1), ""}, {"wide", "none.md", ""}, {"wide", ".", ""}, {"wide", "..", ""},
			{"links", "l-000000", ""}, {"links", fmt.Sprintf("l-%06d", links-1), ""}, {"links", ".", ""}, {"small", "SKILL.md", "INSIDE small"}, {"small", "d00/" + strings.Repeat("x/", 24) + "x", ""},
			{"small", ".", ""}, {"gone", "SKILL.md", ""},
		} {
			if way.slow && i%5 != 0 { // each command scans the whole tree
				continue
			}
			answer, err := timed(func() (string, error) { return way.ask(c.skill, c.path) })
			if err == nil && way.reads && c.inside != "" && !strings.Contains(answer, c.inside) {
				err = fmt.Errorf("does not hold %q: %s", c.inside, excerpt(answer))
			}
			r.check(fmt.Sprintf("%s, %s/%.40s", way.name, c.skill, c.path), err)
		}
	}
	for _, c := range []struct {
		method string
		params map[string]any
	}{
		{"tools/list", map[string]any{}}, {"resources/list", map[string]any{}}, {"prompts/list", map[string]any{}}, {"skills/list", map[string]any{}},
		{"skills/get", map[string]any{"uri": "skill://wide/SKILL.md"}}, {"skills/get", map[string]any{"uri": "skill://links/SKILL.md"}}, {"skills/get", map[string]any{"uri": "skill://small/SKILL.md"}},
		{"tools/call", tool("skill", map[string]any{"name": "wide"})}, {"tools/call", tool("skill", map[string]any{"name": "links"})}, {"tools/call", tool("find_skills", map[string]any{"query": "wide"})},
		{"resources/directory/read", map[string]any{"uri": "skill://wide"}}, {"resources/directory/read", map[string]any{"uri": "skill://links"}},
	} {
		_, err := timed(func() (string, error) {
			line, err := servers[0].call(c.method, c.params)
			return string(line), err
		})
		r.check(fmt.Sprint(c.method, " ", c.params), err)
	}
	r.ends(servers)
}
