package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// follows is the poll interval of the measured server. The server swaps releases a third of the
// interval after each multiple of it.
const follows = 3 * time.Second

// swapsAt matches the time of a swap in the log of a server.
var swapsAt = regexp.MustCompile(`time=(\S+) .*another release is served`)

// swaps measures the delay from a swap until a client gets the changed skills. The server follows
// the tag prod, which moves from the first release to the second.
func (w *pullWorld) swaps(k build, t *tree) (err error) {
	home, err := os.MkdirTemp(w.dir, "server") // see empty
	if err != nil {
		return err
	}
	config, log := filepath.Join(w.dir, "server.yaml"), filepath.Join(w.dir, "server.log")
	settings := fmt.Sprintf("sources: [{name: bench, from: '%s'}]\nstore: {dir: '%s/store'}\npoll: %s\n", w.source(w.host, "prod"), home, follows)
	if err := errors.Join(os.WriteFile(config, []byte(settings), 0o600),
		w.knack(k, nil, "publish", w.source(w.host, "one"), w.source(w.host, "prod"))); err != nil {
		return err
	}
	p, err := start(w.b.ctx, home, "sh", "-c", `exec "$0" serve --log-level info --log-format text --config "$1" 2>"$2"`, k.knack, config, log)
	if err != nil {
		return err
	}
	defer p.end()
	defer func() {
		if err != nil {
			said, _ := os.ReadFile(log)
			err = fmt.Errorf("%w\n%s", err, said)
		}
	}()
	if err := p.initialize(); err != nil {
		return err
	}
	if err := w.until(p, t, 0, false); err != nil {
		return err
	}
	if err := w.knack(k, nil, "publish", w.source(w.host, "two"), w.source(w.host, "prod")); err != nil {
		return err
	}
	for i := range t.n / 100 { // the skills that the second release changes
		if err := w.until(p, t, i*100, true); err != nil {
			return err
		}
	}
	seen := time.Now()
	said, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	m := swapsAt.FindSubmatch(said)
	if m == nil {
		return errors.New("the log has no moment of a swap")
	}
	at, err := time.Parse(time.RFC3339, string(m[1]))
	if err != nil || seen.Before(at) {
		return fmt.Errorf("seen at %s, served from %s: %w", seen, at, err)
	}
	w.b.add("pull/swap/"+k.name, ms(seen.Sub(at)))
	return nil
}

// until requests a skill until its text is from the first release or, if changed is set, has the
// line that the second release added.
func (w *pullWorld) until(p *proc, t *tree, skill int, changed bool) (err error) {
	uri := "skill://bench/" + t.options.At(skill).Path + "/SKILL.md"
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(time.Millisecond) {
		var got struct{ Contents []struct{ Text string } }
		err = p.call("resources/read", map[string]any{"uri": uri}, &got) // fails at first
		if err == nil && len(got.Contents) == 1 && strings.HasSuffix(got.Contents[0].Text, oneMore) == changed {
			return nil
		}
	}
	return fmt.Errorf("%s was not as expected within a minute: %w", uri, cmp.Or(err, errors.New("it is the other text")))
}
