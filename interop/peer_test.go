package interop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/origin/mcp"
)

// TestInteropPeer checks that knack can fetch skills from another knack server. Every file that the
// server publishes must arrive unchanged.
func TestInteropPeer(t *testing.T) {
	if testing.Short() {
		t.Skip("it asks for every file of every skill")
	}
	t.Parallel()
	for _, tree := range trees(t) {
		to, skills := fetchAll(t, tree, tree.http(t))
		if skills != tree.skills || to.files != tree.files || to.same == 0 {
			t.Errorf("%s: %d skills of %d, %d files of %d, %d found on the disk", tree.name, skills, tree.skills, to.files, tree.files, to.same)
		}
	}
}

// TestInteropReferencePeer checks that knack can fetch skills from the TypeScript SDK's own server.
func TestInteropReferencePeer(t *testing.T) {
	if testing.Short() {
		t.Skip("it asks for every file of every skill")
	}
	t.Parallel()
	program := node(t, "server")
	for _, tree := range trees(t) {
		cmd := exec.CommandContext(t.Context(), program, script(t, "reference_server.mjs"), tree.dir)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		url, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		to, skills := fetchAll(t, tree, strings.TrimSpace(url))
		if skills == 0 || to.files != to.same || to.files < skills {
			t.Errorf("%s: %d skills, %d files, %d found on the disk", tree.name, skills, to.files, to.same)
		}
		stdin.Close()
		_ = cmd.Wait()
	}
}

// fetchAll fetches every skill of a server.
func fetchAll(t *testing.T, tree *tree, url string) (to *peers, found int) {
	t.Helper()
	to = &peers{t: t, dir: tree.dir}
	p := mcp.New(mcp.Options{HTTP: func(string) (*http.Client, error) { return &http.Client{}, nil }})
	lib, err := p.Open(t.Context(), origin.Ref{Kind: origin.MCP, Source: "mcp:" + url, Location: url}, origin.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	skills, err := lib.Skills(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range skills {
		if s.Name == "" || s.Description == "" || s.Digest == "" || s.Fault != nil {
			t.Errorf("%s: %+v", tree.name, s)
		}
	}
	if err := lib.Fetch(t.Context(), skills, to); err != nil {
		t.Fatal(err)
	}
	if err := lib.Close(); err != nil {
		t.Error(err)
	}
	return to, len(skills)
}

// peers compares the received files with the files on the disk. If a skill's URI ends with its name
// and the folder has another name, peers only counts the skill's files.
type peers struct {
	t           *testing.T
	dir         string
	files, same int
}

func (p *peers) File(skill string, f origin.File, content io.Reader) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	p.files++
	want, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(skill), filepath.FromSlash(f.Path)))
	if err != nil {
		return nil
	}
	if p.same++; !bytes.Equal(want, data) {
		p.t.Errorf("%s/%s: %d bytes instead of %d", skill, f.Path, len(data), len(want))
	}
	return nil
}

func (p *peers) Fail(skill string, err error) {
	if text := fmt.Sprint(err); !strings.Contains(text, "only in case") { // some systems treat the two files as one
		p.t.Errorf("%s: %v", skill, err)
	}
}
