package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// orasVersion is the version of oras that is built if oras is not installed.
const orasVersion = "v1.2.3"

// oneMore is the line at the end of a skill that has changed.
const oneMore = "One more line.\n"

// pulls measures knack pull of a release against other ways to get the same skills: oras pull with
// tar, git clone, and a pull of an index of artifacts. It also measures the pull after a few
// changes and after none. Last, it measures how long a server that follows the release takes to
// serve the changes.
func (b *bench) pulls() (rows []row, err error) {
	b = b.pulling()
	n := b.size(1000)
	t, err := b.tree(n)
	if err != nil {
		return nil, err
	}
	w, err := b.pullWorld(t)
	if err != nil {
		return nil, err
	}
	defer w.end()
	for round := range b.rounds {
		if err := errors.Join(w.floors(), w.index(n)); err != nil {
			return nil, err
		}
		if err := b.inTurn(round, w.measure); err != nil {
			return nil, err
		}
		if err := b.inTurn(round, func(k build) error { return w.swaps(k, t) }); err != nil {
			return nil, err
		}
	}
	what := fmt.Sprintf("pull of a release of %s skills into an empty store", count(n))
	layers := b.median("pull/layers/"+ours) + 1 // the index is a request too
	changed := fmt.Sprintf("pull after %d of %s skills have changed", n/100, count(n))
	return []row{
		b.relative(what, "pull", "oras", "ms", 1), b.relative(what, "pull", "git", "ms", 1.3),
		b.relative("its processor time", "pull/cpu", "oras", "ms", 0),
		b.absolute("requests of that", "pull/requests", "", 0, layers+4),
		b.relative(what+", beside a pull of them as an index of artifacts", "pull", "index", "ms", 0.6),
		b.relative("its processor time", "pull/cpu", "index", "ms", 0),
		b.absolute(changed, "pull/changed", "ms", 0, 0),
		b.absolute("bytes of that, a share of all layers", "pull/share", "%", 0, 20),
		b.absolute("requests of that", "pull/changed/requests", "", 0, 20),
		b.absolute("from the moment at which a server swaps to that, until a client has read all that changed", "pull/swap", "ms", 0, 100),
		b.absolute("pull when nothing has changed, from the start of the process", "pull/unchanged", "ms", 0, 20),
		b.absolute("requests of that", "pull/unchanged/requests", "", 0, 1),
	}, nil
}

// pullWorld is a registry with two releases of the same skills. The first release also exists as a
// Git repository and as an index of artifacts.
type pullWorld struct {
	b                    *bench
	dir, oras, git, host string
	cache                string // the cache folder of the next knack
	proxy                string // a proxy that counts the requests
	requests             atomic.Int64
	end                  func()
}

func (b *bench) pullWorld(t *tree) (w *pullWorld, err error) {
	made := &pullWorld{b: b, dir: filepath.Join(b.work, "pull")} // w is nil if there is an error
	made.end = func() { _ = os.RemoveAll(made.dir) }
	w = made
	defer func() {
		if err != nil {
			made.end()
		}
	}()
	if err := errors.Join(os.RemoveAll(w.dir), os.MkdirAll(w.dir, 0o755), w.empty(), w.start()); err != nil {
		return nil, err
	}
	if w.oras, err = exec.LookPath("oras"); err != nil {
		w.oras = filepath.Join(b.work, "oras")
		if _, err := os.Stat(w.oras); err != nil {
			if err := w.run("go", "install", "oras.land/oras/cmd/oras@"+orasVersion); err != nil {
				return nil, err
			}
		}
	}
	changed := filepath.Join(w.dir, "changed")
	if err := os.CopyFS(changed, os.DirFS(t.root)); err != nil {
		return nil, err
	}
	w.git = filepath.Join(w.dir, "git")
	if err := errors.Join(
		w.knack(b.builds[0], nil, "publish", t.root, w.source(w.host, "one")),
		os.CopyFS(w.git, os.DirFS(t.root)), w.run("git", "init", "-q", w.git), w.run("git", "-C", w.git, "add", "-A"),
		w.run("git", "-C", w.git, "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "skills"),
	); err != nil {
		return nil, err
	}
	for i := range t.n / 100 {
		at := filepath.Join(changed, filepath.FromSlash(t.options.At(i*100).Path), "SKILL.md")
		old, err := os.ReadFile(at)
		if err == nil {
			err = os.WriteFile(at, append(old, oneMore...), 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	return w, errors.Join(w.knack(b.builds[0], nil, "publish", changed, w.source(w.host, "two")), w.collect(t.root))
}

// empty gives the next knack an empty cache. The previous caches, about 60 MB each, stay until the
// end. On ext4 without a journal, the system searches for minutes at each freed inode before it
// reuses the inode. A pull after a removal would include that time, and so would a second run.
func (w *pullWorld) empty() (err error) {
	w.cache, err = os.MkdirTemp(w.dir, "cache")
	return err
}

func (w *pullWorld) source(host, tag string) string { return "oci://" + host + "/bench/skills:" + tag }

// start starts Debian's docker-registry, and the proxy in front of it.
func (w *pullWorld) start() error {
	config := filepath.Join(w.dir, "registry.yml")
	text := "version: 0.1\nlog: {level: info, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: '" + w.dir + "/registry'}}\nhttp: {addr: '127.0.0.1:0', secret: x}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	registry := exec.CommandContext(w.b.ctx, "docker-registry", "serve", config)
	said, err := registry.StderrPipe()
	if err == nil {
		err = registry.Start()
	}
	if err != nil {
		return fmt.Errorf("start docker-registry, of Debian: %w", err)
	}
	remove := w.end
	w.end = func() { _ = registry.Process.Kill(); _ = registry.Wait(); remove() }
	lines := bufio.NewScanner(said)
	for w.host == "" && lines.Scan() {
		if m := regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`).FindStringSubmatch(lines.Text()); m != nil {
			w.host = m[1]
		}
	}
	if w.host == "" {
		return errors.New("docker-registry ended without an address")
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: w.host})
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.requests.Add(1)
		pass.ServeHTTP(rw, r)
	})}
	go func() { _ = server.Serve(ln) }()
	w.proxy = ln.Addr().String()
	stop := w.end
	w.end = func() { server.Close(); stop() }
	return nil
}

// run runs a program.
func (w *pullWorld) run(program string, args ...string) error {
	cmd := exec.CommandContext(w.b.ctx, program, args...)
	cmd.Env = append(os.Environ(), "GOBIN="+w.b.work, "HOME="+w.dir, "GOFLAGS=-modcacherw", "GOPATH="+filepath.Join(w.b.work, "go"))
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, said)
	}
	return nil
}

// knack runs a knack whose store is in the current cache. took, if not nil, is called with the
// elapsed time, the processor time and the output.
func (w *pullWorld) knack(k build, took func(time.Duration, time.Duration, []byte) error, args ...string) error {
	cmd := exec.CommandContext(w.b.ctx, k.knack, args...)
	cmd.Env = append(os.Environ(), "HOME="+w.dir, "XDG_CACHE_HOME="+w.cache)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("knack %s: %w\n%s%s", strings.Join(args, " "), err, out.Bytes(), said.Bytes())
	}
	if took == nil {
		return nil
	}
	return took(time.Since(begun), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), out.Bytes())
}

// floors measures oras and git.
func (w *pullWorld) floors() error {
	for name, script := range map[string]string{
		"oras": `"$1" pull --plain-http -o packs "$2" >/dev/null; mkdir skills; for f in packs/*; do tar xzf "$f" -C skills; done`,
		"git":  `git clone -q --depth 1 "file://$3" skills`,
	} {
		at, err := os.MkdirTemp(w.dir, name) // see empty
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(w.b.ctx, "sh", "-ec", script, "sh", w.oras, w.host+"/bench/skills:one", w.git)
		cmd.Dir, cmd.Env = at, append(os.Environ(), "HOME="+w.dir)
		begun := time.Now()
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, said)
		}
		w.b.add("pull/"+name, ms(time.Since(begun)))
		w.b.add("pull/cpu/"+name, ms(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()))
	}
	return nil
}

// measure measures a build. It takes the time directly at the registry, and counts the requests
// through the proxy.
func (w *pullWorld) measure(k build) error {
	b := w.b
	all := 0.0
	for _, host := range []string{w.host, w.proxy} {
		timed := host == w.host
		note := func(series string) func(time.Duration, time.Duration, []byte) error {
			return func(wall, processor time.Duration, out []byte) error {
				var said struct {
					Layers int
					Bytes  float64
				}
				if err := json.Unmarshal(out, &said); err != nil {
					return err
				}
				if !timed {
					b.add(series+"/requests/"+k.name, float64(w.requests.Swap(0)))
					return nil
				}
				b.add(series+"/"+k.name, ms(wall))
				switch series {
				case "pull":
					all = said.Bytes
					b.add("pull/cpu/"+k.name, ms(processor))
					b.add("pull/layers/"+k.name, float64(said.Layers))
				case "pull/changed":
					b.add("pull/share/"+k.name, 100*said.Bytes/all)
				}
				return nil
			}
		}
		prod := w.source(host, "prod")
		err := errors.Join(w.empty(), w.knack(k, nil, "publish", w.source(w.host, "one"), w.source(w.host, "prod")), w.empty())
		w.requests.Store(0)
		err = errors.Join(err, w.knack(k, note("pull"), "pull", prod, "--json"), w.knack(k, nil, "publish", w.source(w.host, "two"), w.source(w.host, "prod")))
		w.requests.Store(0)
		err = errors.Join(err, w.knack(k, note("pull/changed"), "pull", prod, "--json"), w.knack(k, note("pull/unchanged"), "pull", prod, "--json"))
		if err != nil {
			return err
		}
	}
	return nil
}
