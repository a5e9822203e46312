package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// peers says of each other server how it did where it is installed, and that it
// was not measured where it is not. None is downloaded.
func (b *bench) peers() []string {
	return []string{b.universal(), b.reference()}
}

const peerSkills = 1000

// universal is universal-skills, from its start to the answer to tools/list.
func (b *bench) universal() string {
	const name = "universal-skills"
	path, err := exec.LookPath(name)
	t := b.trees[peerSkills]
	if err != nil || t == nil {
		return name + ": not measured; it is not installed, or no tree of 1,000 skills was in this run"
	}
	p, err := start(t.home, path, "mcp")
	if err != nil {
		return fmt.Sprintf("%s: not measured: %s", name, err)
	}
	defer p.end()
	answered := make(chan error, 1)
	go func() {
		_, err := p.initialize()
		if err == nil {
			_, err = p.call("tools/list", map[string]any{})
		}
		answered <- err
	}()
	select {
	case err = <-answered:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		err = errors.New("no answer within 20 s")
	}
	if err != nil {
		return fmt.Sprintf("%s: not measured: %s", name, err)
	}
	return fmt.Sprintf("%s: start → initialize + tools/list, 1,000 skills: %.0f ms", name, ms(time.Since(p.begun)))
}

// reference is the TypeScript SDK's own reader of skills, which has no server of
// its own: from its start to every entry with its digests.
func (b *bench) reference() string {
	const name = "@modelcontextprotocol/server (ext/skills)"
	node := filepath.Join("interop", "node_modules", "node", "bin", "node")
	t := b.trees[peerSkills]
	if _, err := os.Stat(node); err != nil || t == nil {
		return name + ": not measured; npm ci --prefix interop installs it, and a run with 1,000 skills measures it"
	}
	begun := time.Now()
	if err := exec.Command(node, filepath.Join("interop", "reference.mjs"), t.root).Run(); err != nil {
		return fmt.Sprintf("%s: not measured: %s", name, err)
	}
	return fmt.Sprintf("%s: start → every entry with its digests, 1,000 skills: %.0f ms", name, ms(time.Since(begun)))
}
