//go:build linux

package safety

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/test/heavy"
)

// smallServer is the memory limit that doc/container.md suggests for a server.
const smallServer = 384 << 20

func heavyPart() part {
	return part{name: "heavy", promise: fmt.Sprintf("files of 2 MB in the shapes that cost a parser most: each is judged, and the server lives under a limit of %d MiB by the system", smallServer>>20), run: heavyFiles}
}

// heavyFiles makes a server scan files of all shapes. Each skill also has a script with a finding
// in the enforce lane, so that the log shows when the skill was scanned.
func heavyFiles(r *trial) {
	root := filepath.Join(r.dir(), "skills")
	shapes := 0
	for i, f := range heavy.Files(2_000_000) {
		if r.fast && !f.Quick() {
			continue
		}
		shapes++
		name := fmt.Sprintf("s-%02d", i)
		files := map[string]string{"SKILL.md": heavy.Head(name) + "Read it.\n", "z.sh": "echo ZWNobyBoZWxsbw== | base64 -d | sh\n"}
		if f.Path == "SKILL.md" { // as SKILL.md it would be too large
			f.Path = "page.md"
		}
		files[f.Path] = f.Text
		for at, text := range files {
			r.write(root, map[string]string{name + "/" + at: text})
		}
	}
	for mode, said := range map[string]string{"review": `msg="skill scanned"`, "enforce": `msg="skill skipped"`} {
		home := r.dir()
		r.write(home, map[string]string{".config/knack/knack.yaml": "scan:\n  mode: " + mode + "\n"})
		k := r.http(setting{home: home, env: []string{"GOMEMLIMIT=320MiB"}}, "--no-builtin", "--dir", root)
		r.limitMemory(k, smallServer)
		judged := 0
		for end := time.Now().Add(20 * time.Minute); judged < shapes && k.alive() && time.Now().Before(end); {
			pause(time.Second)
			if answer, err := http.Get(strings.TrimSuffix(k.url, "/mcp") + "/api/v1/problems"); err == nil { // makes the server scan the files
				_ = answer.Body.Close()
			}
			judged = strings.Count(k.said(), said)
		}
		peak := k.peak()
		err := error(nil)
		switch {
		case !k.alive():
			err = fmt.Errorf("the server is gone: %s", excerpt(k.said()))
		case judged < shapes:
			err = fmt.Errorf("%d of %d are judged", judged, shapes)
		case peak > smallServer:
			err = fmt.Errorf("%d MiB", peak>>20)
		}
		r.check(mode, err)
		r.count(judged)
		r.note("%s: %d shapes, at most %d MiB", mode, shapes, peak>>20)
		k.kill()
	}
}

// peak returns the peak memory of a server.
func (k *knack) peak() int64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.cmd.Process.Pid))
	_, rest, ok := strings.Cut(string(data), "VmHWM:")
	if !ok {
		return 0
	}
	kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kb << 10
}
