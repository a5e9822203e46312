//go:build linux

package deploy

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// size is the size of a test's fleet and library.
type size struct {
	replicas, releases, stable, changing int
	pairs                                int64
}

// fleetSize returns the size for make fleet if KNACK_FLEET is a number of replicas. Otherwise it
// returns a size that fits the time of go test.
func fleetSize(t *testing.T) size {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("KNACK_FLEET"), "0"))
	must(t, err)
	if n > 0 {
		return size{replicas: n, releases: 10, stable: 300, changing: 40, pairs: 100_000}
	}
	return size{replicas: 3, releases: 2, stable: 150, changing: 10, pairs: 1_000}
}

// poll is how often the replicas of the tests poll the registry. They swap releases at the same
// third of this interval.
const poll = 3 * time.Second

const repository = "acme/skills"

// library returns the skills of a release. Some are the same in each release, some differ in each,
// and some are only in this one.
func (s size) library(release int) registrytest.Skills {
	files := registrytest.Skills{}
	add := func(name, text string) {
		files[name+"/SKILL.md"] = registrytest.Skill(name, text)
		files[name+"/notes.md"] = strings.Repeat(text+"\n", 100)
	}
	for n := range s.stable {
		add(fmt.Sprintf("stable-%03d", n), fmt.Sprint("always the same ", n))
	}
	for n := range s.changing {
		add(fmt.Sprintf("changing-%03d", n), fmt.Sprintf("skill %d of the release %d", n, release))
	}
	for n := range 3 {
		add(fmt.Sprintf("only-%02d-%d", release, n), "of one release")
	}
	return files
}

// truth records the releases that have each file.
type truth struct {
	mu             sync.Mutex
	releasesByFile map[string]map[int]bool // releases by the file's path and digest
}

func (tr *truth) add(release int, files registrytest.Skills) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for path, text := range files {
		key := path + " " + digestOf(text)
		if tr.releasesByFile[key] == nil {
			tr.releasesByFile[key] = map[int]bool{}
		}
		tr.releasesByFile[key][release] = true
	}
}

// releases returns the releases that have every file of an answer. known reports whether each file
// is in some release.
func (tr *truth) releases(p page) (all []int, known bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	count := map[int]int{}
	n := 0
	for _, skill := range p.Skills {
		for _, f := range skill.Resources {
			n++
			in := tr.releasesByFile[pathOf(f.URI)+" "+f.Digest]
			if in == nil {
				return nil, false
			}
			for release := range in {
				count[release]++
			}
		}
	}
	for release, has := range count {
		if has == n {
			all = append(all, release)
		}
	}
	return all, true
}

func pathOf(uri string) string { return strings.TrimPrefix(uri, "skill://acme/") }

func digestOf(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

// pair is a list and a later read of one of its files whose digest differs from the list.
type pair struct {
	listTime, read time.Time
	what           string
}

// tally counts the answers that the clients of a fleet get.
type tally struct {
	truth
	pairs, lists, walks, failed atomic.Int64
	mu                          sync.Mutex
	wrong                       []pair   // reads that do not match their list
	faults                      []string // answers that are never correct
}

func (c *tally) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faults = append(c.faults, fmt.Sprintf(format, args...)); len(c.faults) > 20 {
		c.faults = c.faults[:20]
	}
}

// reader lists a page, and reads and verifies some of its files. Any replica may answer each call.
func (c *tally) reader(client *http.Client, url string, random *rand.Rand, cursor *string) {
	begun := time.Now()
	p, err := listSkills(client, url, *cursor)
	if err != nil {
		c.failed.Add(1)
		c.fault("skills/list: %v", err)
		return
	}
	*cursor = p.NextCursor
	c.lists.Add(1)
	if releases, known := c.releases(p); !known || len(releases) == 0 {
		c.fault("a list mixes releases (every file is of one: %v)", known)
	}
	for range 5 {
		if len(p.Skills) == 0 {
			c.fault("an empty list")
			return
		}
		s := p.Skills[random.IntN(len(p.Skills))]
		f := s.Resources[random.IntN(len(s.Resources))]
		text, err := contents(client, url, f.URI)
		var answered rpcError
		switch {
		case err == nil && digestOf(text) == f.Digest:
		case err == nil || errors.As(err, &answered):
			c.mu.Lock()
			c.wrong = append(c.wrong, pair{begun, time.Now(), fmt.Sprintf("%s: %v", f.URI, err)})
			c.mu.Unlock()
		default:
			c.failed.Add(1)
			c.fault("resources/read: %v", err)
		}
		c.pairs.Add(1)
	}
}

// walker walks over all pages, each from any replica. It checks that a skill of all releases occurs
// exactly once.
func (c *tally) walker(client *http.Client, url string, stable int) {
	seen := map[string]int{}
	for cursor := ""; ; {
		p, err := listSkills(client, url, cursor)
		if err != nil {
			c.failed.Add(1)
			c.fault("a walk: %v", err)
			return
		}
		for _, s := range p.Skills {
			seen[s.URI]++
		}
		if cursor = p.NextCursor; cursor == "" {
			break
		}
	}
	c.walks.Add(1)
	for uri, n := range seen {
		if n > 1 {
			c.fault("a walk has %s %d times", uri, n)
		}
	}
	for n := range stable {
		if uri := fmt.Sprintf("skill://acme/stable-%03d/SKILL.md", n); seen[uri] != 1 {
			c.fault("a walk lacks %s", uri)
		}
	}
}

// TestFleet has replicas behind a proxy follow a tag through several releases, while clients list,
// read, verify and walk over pages. It checks that no call fails and no answer mixes two releases.
// A read must match the list before it, except within the second around a swap. A walk must have
// each skill of all releases exactly once.
func TestFleet(t *testing.T) {
	testwait.Slow(t)
	knack(t)
	s := fleetSize(t)
	registry := registrytest.Start(t)
	before := registrytest.NewProxy(t, registry.Host)
	before.Set(nil)
	c := &tally{truth: truth{releasesByFile: map[string]map[int]bool{}}}
	publish := func(n int) string {
		files := s.library(n)
		c.add(n, files)
		digest := registrytest.Release(t, registry.Host, repository, fmt.Sprint("r", n), 64, files, map[string]string{"org.opencontainers.image.version": fmt.Sprintf("1.%d.0", n)})
		registrytest.Tag(t, registry.Host, repository, digest, "prod")
		return digest
	}
	digests := []string{publish(0)}
	var replicas []*replica
	var targets []*httputil.ReverseProxy
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	for range s.replicas {
		r := newReplica(t, "oci://"+before.Host+"/"+repository+":prod", fmt.Sprintf("poll: %s\n", poll))
		r.start()
		replicas = append(replicas, r)
		at, err := url.Parse(r.url)
		must(t, err)
		targets = append(targets, &httputil.ReverseProxy{
			Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(at) }, Transport: transport,
		})
	}
	for _, r := range replicas {
		r.ready()
	}
	cold := len(before.Log())
	var turn atomic.Uint64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A proxy of net/http stops an answer that begins before the proxy has read the whole
		// request.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		targets[turn.Add(1)%uint64(len(targets))].ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)

	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	t.Cleanup(client.CloseIdleConnections)
	var clients sync.WaitGroup
	stop := make(chan struct{})
	end := sync.OnceFunc(func() { close(stop); clients.Wait() })
	t.Cleanup(end) // in case the test fails before
	forever := func(do func()) {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					do()
				}
			}
		})
	}
	for n := range 4 {
		random, cursor := rand.New(rand.NewPCG(1, uint64(n))), ""
		forever(func() { c.reader(client, proxy.URL, random, &cursor) })
	}
	forever(func() { c.walker(client, proxy.URL, s.stable) })

	begun := time.Now()
	requests := []int{}
	for n := 1; n <= s.releases; n++ {
		before.Set(nil)
		digest := publish(n)
		digests = append(digests, digest)
		for _, r := range replicas {
			r.serves(digest)
		}
		blobs := 0
		for _, line := range before.Log() {
			if strings.Contains(line, "/blobs/") {
				blobs++
			}
		}
		requests = append(requests, blobs/s.replicas)
		want := s.pairs * int64(n) / int64(s.releases)
		testwait.Until(t, func() bool { return c.pairs.Load() >= want }, "the clients make no calls")
	}
	end()
	took := time.Since(begun)

	// The times of the first and the last swap to each release.
	type window struct{ first, last time.Time }
	changes := map[string]*window{}
	for _, r := range replicas {
		for _, a := range r.actions() {
			if a.Method != "swap" {
				continue
			}
			w := changes[a.Release]
			if w == nil {
				w = &window{a.Time, a.Time}
				changes[a.Release] = w
			}
			w.first, w.last = minTime(w.first, a.Time), maxTime(w.last, a.Time)
		}
	}
	var widths []time.Duration
	for _, digest := range digests[1:] {
		w := changes[digest]
		if w == nil {
			t.Errorf("no audit log has the change to %s", digest)
			continue
		}
		widths = append(widths, w.last.Sub(w.first))
	}
	slices.Sort(widths)
	outside := 0
	for _, p := range c.wrong {
		near := slices.ContainsFunc(digests[1:], func(digest string) bool {
			w := changes[digest]
			return w != nil && p.read.After(w.first.Add(-time.Second)) && p.listTime.Before(w.last.Add(time.Second))
		})
		if !near {
			outside++
			t.Errorf("%s – %s: %s does not fit its list, and no replica changed then", p.listTime.Format("15:04:05.000"), p.read.Format("15:04:05.000"), p.what)
		}
	}
	for _, fault := range c.faults {
		t.Error(fault)
	}
	if n := c.failed.Load(); n > 0 {
		t.Errorf("%d calls failed", n)
	}
	if c.walks.Load() == 0 || len(widths) == 0 {
		t.Fatal("nobody walked, or no replica changed")
	}
	figures := fmt.Sprintf(`| figure | |
|---|---:|
| replicas, releases | %d, %d |
| skills, of which a release changes | %d, %d |
| pairs of a list and a read | %d |
| lists, walks over all pages | %d, %d |
| calls that failed | %d |
| answers that mix releases | 0 |
| reads that do not fit their list, outside of 1 s around a change | %d |
| the same within it | %d |
| time during which some replicas served the old release and some the new: median, longest | %s, %s |
| requests for a cold start, of a replica | %d |
| requests for layers after a release, of a replica | %d |
| seconds | %d |
`, s.replicas, s.releases, s.stable+s.changing+3, s.changing+3, c.pairs.Load(), c.lists.Load(), c.walks.Load(), c.failed.Load(), outside, len(c.wrong)-outside,
		widths[len(widths)/2].Round(time.Millisecond), widths[len(widths)-1].Round(time.Millisecond), cold/s.replicas, slices.Max(requests), int(took.Seconds()))
	t.Log("\n" + figures)
	if os.Getenv("KNACK_FLEET") != "" && !t.Failed() {
		page, err := os.ReadFile("../doc/fleet.md")
		must(t, err)
		head, rest, ok := strings.Cut(string(page), "<!-- make fleet writes from here -->\n")
		_, tail, end := strings.Cut(rest, "<!-- to here -->\n")
		if !ok || !end {
			t.Fatal("doc/fleet.md has no place for the figures")
		}
		must(t, os.WriteFile("../doc/fleet.md", []byte(head+"<!-- make fleet writes from here -->\n"+figures+"<!-- to here -->\n"+tail), 0o644))
	}
	for _, r := range replicas {
		left, err := filepath.Glob(filepath.Join(r.dir, "state", "store", "tmp", "*"))
		must(t, err)
		if len(left) > 0 {
			t.Errorf("the store has %q left over", left)
		}
	}
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
