//go:build linux

package safety

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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

func raceParts() []part {
	return []part{{
		name: "swaps", promise: "files, folders and links exchanged under readers: no byte from outside, no answer whose bytes and digest disagree (cases: swaps and answers)", run: swaps,
	}}
}

// version is one of the two contents between which a file alternates.
type version struct{ text, digest string }

func newVersion(text string) version {
	sum := sha256.Sum256([]byte(text))
	return version{text, "sha256:" + hex.EncodeToString(sum[:])}
}

// swaps exchanges files and folders as fast as the system can while servers read them. It checks
// that each answer is of one version, and none of a file outside.
func swaps(r *trial) {
	base := filepath.Join(r.dir(), "tree")
	if !r.mount(base, "64m") { // on a disk there would be only a tenth of the exchanges
		return
	}
	root := filepath.Join(base, "skills")
	outside := newCanary("race")
	main := [2]version{newVersion("---\nname: s\ndescription: Edition A.\n---\nINSIDE A\n"), newVersion("---\nname: s\ndescription: Edition B, longer.\n---\nINSIDE B " + strings.Repeat("b", 15_000) + "\n")}
	// Short enough that a client that knack has no profile of gets the whole text.
	data := [2]version{newVersion("INSIDE A"), newVersion("INSIDE B " + strings.Repeat("b", 15_000))}
	r.write(base, map[string]string{
		"outside/in.md": outside.text, "outside/f.md": outside.text, "outside/SKILL.md": skillMD("s", outside.text),
		"skills/s/SKILL.md": main[0].text, "spare/SKILL.md": main[1].text, "skills/s/v.md": data[0].text, "spare/v.md": data[1].text,
		"skills/s/f.md": data[0].text, "skills/s/d/in.md": data[0].text, "skills/s/e/g/in.md": data[0].text, "skills/s/.env": outside.text, "skills/s/h.md": data[0].text,
	})
	for name, target := range map[string]string{
		"spare/f.md": "../../outside/f.md", "spare/d": "../../outside", "spare/e": "../../../outside", "spare/h.md": ".env", "outside/g": ".",
	} {
		r.must(os.Symlink(target, filepath.Join(base, name)))
	}
	var done atomic.Bool
	var count atomic.Int64
	var swappers sync.WaitGroup
	names := []string{"SKILL.md", "v.md", "f.md", "d", "e", "h.md"}
	fault := make(chan error, len(names))
	for i, name := range names {
		a, b := filepath.Join(root, "s", name), filepath.Join(base, "spare", name)
		swappers.Go(func() {
			for n := 0; !done.Load(); n++ {
				if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
					fault <- err
					return
				}
				count.Add(1)
				// A pause, so that the exchanges are not in step with the readers, which need the
				// processor too.
				if n%(11+i) == 0 {
					pause(time.Millisecond)
				}
			}
		})
	}
	flags := []string{"--no-builtin", "--dir", root}
	k, web := r.stdio(setting{}, flags...), r.http(setting{}, flags...)
	w := &ways{r: r, client: &http.Client{Timeout: r.patience(), Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	canaries := map[string]canary{"a file outside": outside}
	read := func(method string, params map[string]any) func() (string, error) {
		return func() (string, error) {
			line, err := k.call(method, params)
			return string(line), err
		}
	}
	over := func(method string, params map[string]any) func() (string, error) {
		return func() (string, error) { return w.post(web, modernEra, "", method, params) }
	}
	questions := map[string]func() (string, error){
		"skills/get":         read("skills/get", map[string]any{"uri": "skill://s/SKILL.md"}),
		"skills/list":        read("skills/list", map[string]any{}),
		"http skills/get":    over("skills/get", map[string]any{"uri": "skill://s/SKILL.md"}),
		"the skill":          read("tools/call", tool("skill", map[string]any{"name": "s"})),
		"resources/read":     read("resources/read", map[string]any{"uri": "skill://s/SKILL.md"}),
		"the directory":      read("resources/directory/read", map[string]any{"uri": "skill://s/d"}),
		"the directory, e/g": read("resources/directory/read", map[string]any{"uri": "skill://s/e/g"}),
	}
	questions["api skill"] = func() (string, error) { return w.get(strings.TrimSuffix(web.url, "/mcp") + "/api/v1/skills/s") }
	for _, file := range []string{"v.md", "f.md", "d/in.md", "e/g/in.md", "h.md", "SKILL.md"} {
		questions["read_file "+file] = read("tools/call", tool("read_file_in_skill", map[string]any{"skill_name": "s", "file_path": file}))
		questions["raw "+file] = func() (string, error) { return w.get(strings.TrimSuffix(web.url, "/mcp") + "/raw/s/" + file) }
		questions["raw api "+file] = func() (string, error) {
			return w.get(strings.TrimSuffix(web.url, "/mcp") + "/api/v1/files/s/" + file)
		}
		questions["http resources/read "+file] = over("resources/read", map[string]any{"uri": uri("s", file)})
	}
	var good sync.Map
	begin, most := time.Now(), time.Duration(r.pick(4, 60))*time.Second
	// met reports whether each request has been answered with content. A busy machine needs longer
	// for that.
	met := func() bool {
		for name := range questions {
			if _, ok := good.Load(name); !ok && !strings.HasPrefix(name, "the directory") {
				return false
			}
		}
		return true
	}
	if r.says != nil {
		most = 40 * time.Second // or until the fault is noticed
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for time.Since(begin) < most || count.Load() < int64(r.pick(4000, 1_000_000)) || !met() {
				for name, ask := range questions {
					answer, err := ask()
					if err == nil {
						err = leaks(answer, canaries)
					}
					if err == nil {
						err = agrees(name, answer, main, data)
					}
					if err == nil && strings.Contains(answer, "INSIDE") || strings.Contains(answer, "sha256:") {
						good.Store(name, true)
					}
					r.check(name, err)
				}
				if r.over() || dead([]*knack{k, web}) || time.Since(begin) > max(10*most, 5*time.Minute) {
					return
				}
			}
		})
	}
	readers.Wait()
	done.Store(true)
	swappers.Wait()
	select {
	case err := <-fault:
		r.must(err)
	default:
	}
	if r.over() {
		return
	}
	for name := range questions {
		if _, ok := good.Load(name); !ok && !strings.HasPrefix(name, "the directory") {
			r.check(name, errors.New("never succeeded: the race was none"))
		}
	}
	r.note("%s swaps and %s answers in %.0f s", grouped(int(count.Load())), grouped(r.cases), time.Since(begin).Seconds())
	r.count(int(count.Load()))
	r.ends([]*knack{k, web})
}

// agrees checks that an answer describes one version of a file. It compares the whole text, the
// digest with its size, and the frontmatter with its digest.
func agrees(name, answer string, main, data [2]version) error {
	if strings.HasPrefix(name, "raw ") { // the body is the file itself, after a line with the status
		status, body, _ := strings.Cut(answer, "\n")
		versions := data
		if strings.HasSuffix(name, "SKILL.md") {
			versions = main
		}
		if strings.HasPrefix(status, "200 ") && body != versions[0].text && body != versions[1].text {
			return fmt.Errorf("the bytes are of no version, bytes and file disagree: %s", excerpt(body))
		}
		return nil
	}
	if name == "api skill" {
		_, body, _ := strings.Cut(answer, "\n")
		var m struct {
			Frontmatter struct{ Description string }
			Files       []listedFile
		}
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			return fmt.Errorf("no JSON: %w: %s", err, excerpt(answer))
		}
		s := listedSkill{Frontmatter: m.Frontmatter}
		for _, f := range m.Files {
			if f.Digest != "" { // the file could be read
				s.Resources = append(s.Resources, f)
			}
		}
		return s.agrees(main, data)
	}
	if _, body, ok := strings.Cut(answer, "\n{"); ok && !strings.HasPrefix(answer, "{") {
		answer = "{" + body
	}
	var m struct {
		Result struct {
			Content  []struct{ Text string }
			IsError  bool
			Contents []struct{ Text string }
			Skill    *listedSkill
			Skills   []listedSkill
		}
	}
	if err := json.Unmarshal([]byte(answer), &m); err != nil {
		return fmt.Errorf("no JSON: %w: %s", err, excerpt(answer))
	}
	versions := data
	if strings.HasSuffix(name, "SKILL.md") || name == "resources/read" {
		versions = main
	}
	whole := func(text string) error {
		if text != versions[0].text && text != versions[1].text {
			return fmt.Errorf("the text is of no version, bytes and file disagree: %s", excerpt(text))
		}
		return nil
	}
	res := m.Result
	switch {
	case res.Skill != nil:
		return res.Skill.agrees(main, data)
	case len(res.Skills) > 0:
		return res.Skills[0].agrees(main, data)
	case strings.HasPrefix(name, "read_file ") && len(res.Content) > 0 && !res.IsError:
		return whole(res.Content[0].Text)
	case len(res.Contents) > 0 && res.Contents[0].Text != "" && !strings.Contains(res.Contents[0].Text, "temporarily unavailable"):
		return whole(res.Contents[0].Text)
	case name == "the skill" && len(res.Content) > 0 && strings.Contains(res.Content[0].Text, "INSIDE"):
		if t := res.Content[0].Text; !strings.HasSuffix(t, main[0].text) && !strings.HasSuffix(t, main[1].text) {
			return fmt.Errorf("the text is of no version, bytes and file disagree: %s", excerpt(t))
		}
	}
	return nil
}

// listedSkill is a skill in an answer to skills/list or skills/get.
type listedSkill struct {
	Frontmatter struct{ Description string }
	Resources   []listedFile
}

type listedFile struct {
	URI, Digest string
	Size        int
}

func (s *listedSkill) agrees(main, data [2]version) error {
	for _, f := range s.Resources {
		versions := data
		if strings.HasSuffix(f.URI, "/SKILL.md") {
			versions = main
		}
		i := 0
		if f.Digest == versions[1].digest {
			i = 1
		}
		if f.Digest != versions[i].digest || f.Size != len(versions[i].text) {
			return fmt.Errorf("digest and size of %s disagree: %s, %d", f.URI, f.Digest, f.Size)
		}
		if strings.HasSuffix(f.URI, "/SKILL.md") && !strings.Contains(versions[i].text, "description: "+s.Frontmatter.Description+"\n") {
			return fmt.Errorf("frontmatter %q and digest of version %d disagree", s.Frontmatter.Description, i)
		}
	}
	return nil
}
