//go:build linux

package safety

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// mostFiles bounds the open files of a server. It needs 5 for the process, 8 for the runtime and
// the watcher, and up to two folders and a file for each scan worker and concurrent call.
const mostFiles = 96

func resourceParts() []part {
	return []part{
		{name: "descriptors", promise: fmt.Sprintf("at most %d descriptors, whatever the tree, while it is scanned, read and changed", mostFiles), run: descriptors},
		{name: "memory", promise: "2 GiB read through a server: under 192 MiB; 3,000 sessions that came and went leave nothing, nor do 20,000 calls in one", run: memory},
		initializePart(), renderingPart(), budgetPart(), heavyPart(),
		{name: "soak", promise: "20 minutes of mixed calls and churn under the race detector: no race, no error; heap, goroutines and descriptors flat", run: soak, slow: true},
	}
}

func descriptors(r *trial) {
	for _, n := range []int{10, 500, r.pick(2000, 20_000)} {
		root := filepath.Join(r.dir(), "skills")
		for i := range n {
			r.write(root, map[string]string{fmt.Sprintf("g%d/s-%05d/SKILL.md", i%20, i): skillMD(fmt.Sprintf("s-%05d", i), "x"), fmt.Sprintf("g%d/s-%05d/docs/a.md", i%20, i): "INSIDE a"})
			if i%5 == 0 {
				r.must(os.Symlink(fmt.Sprintf("g%d/s-%05d", i%20, i), filepath.Join(root, fmt.Sprintf("l-%05d", i))))
			}
		}
		k := r.start(setting{}, "--no-builtin", "--dir", root)
		most, done, ended := atomic.Int64{}, atomic.Bool{}, make(chan bool)
		go func() {
			defer close(ended)
			for !done.Load() {
				most.Store(max(most.Load(), int64(k.load().files)))
				pause(time.Millisecond)
			}
		}()
		k.initialize()
		var wg sync.WaitGroup
		for c := range 16 {
			wg.Go(func() {
				for i := range r.pick(60, 400) {
					name := fmt.Sprintf("s-%05d", rand.IntN(n))
					_, err := k.call("tools/call", tool("read_file_in_skill", map[string]any{"skill_name": name, "file_path": "docs/a.md"}))
					r.check("a call", err)
					if c == 0 && i%10 == 0 {
						r.write(root, map[string]string{fmt.Sprintf("g0/new-%d-%d/SKILL.md", n, i): skillMD("new", "x")})
						_, err = k.call("skills/list", map[string]any{})
						r.check("a list", err)
					}
				}
			})
		}
		wg.Wait()
		done.Store(true)
		<-ended
		err := error(nil)
		if most.Load() > mostFiles {
			err = fmt.Errorf("%d descriptors with %d skills", most.Load(), n)
		}
		r.check("descriptors", err)
		r.note("%s skills: %d", grouped(n), most.Load())
		k.kill()
	}
}

func memory(r *trial) {
	r.changes = slices.Concat(r.changes, tellsHeap)
	root := filepath.Join(r.dir(), "skills")
	for i := range 200 {
		r.write(root, map[string]string{fmt.Sprintf("s-%03d/SKILL.md", i): skillMD(fmt.Sprintf("s-%03d", i), "x")})
	}
	for i := range 8 {
		r.write(root, map[string]string{fmt.Sprintf("s-000/big-%d.txt", i): strings.Repeat("knack ", 350_000)}) // 2 MiB
	}
	k := r.stdio(setting{}, "--no-builtin", "--dir", root)
	most, n := int64(0), r.pick(150, 1024)
	for i := range n {
		_, err := k.call("resources/read", map[string]any{"uri": fmt.Sprintf("skill://s-000/big-%d.txt", i%8)})
		now := k.load().memory
		most = max(most, now)
		if err == nil && now > 192<<20 {
			err = fmt.Errorf("%d MiB after %d MiB were read", now>>20, i*2)
		}
		r.check("a read", err)
	}
	r.note("%d MiB read, at most %d MiB held", n*2, most>>20)
	k.kill()

	r.sessions(root)
	r.longSession(root)
}

// longSession makes many calls in one session, and checks that they leak no memory either. Large
// answers before and after evict the small answers that are stored for a client that resumes.
func (r *trial) longSession(root string) {
	web := r.http(setting{}, "--no-builtin", "--dir", root)
	w := &ways{r: r, client: &http.Client{Timeout: r.patience()}}
	id := w.dial(web)
	full := func() heapUse {
		for i := range 24 {
			_, err := w.post(web, legacyEra, id, "resources/read", map[string]any{"uri": fmt.Sprintf("skill://s-000/big-%d.txt", i%8)})
			r.check("a read", err)
		}
		h, err := web.heap()
		r.check("what a server holds", err)
		return h
	}
	call := func(n int) {
		for i := range n {
			var answer string
			err := error(nil)
			if i%2 == 0 {
				answer, err = w.post(web, legacyEra, id, "ping", map[string]any{})
			} else {
				answer, err = w.post(web, legacyEra, id, "tools/call", tool("find_skills", map[string]any{"query": fmt.Sprintf("s-%d", i)}))
			}
			if err == nil && !strings.Contains(answer, `"result"`) {
				err = errors.New(excerpt(answer))
			}
			r.check("a call in a session", err)
		}
	}
	call(1000) // the index, pools, connections and other bounded memory fill up first
	// The watch of the folders begins some seconds after the start. It costs a few goroutines and a
	// thousand objects, which stay.
	testwait.Until(r, func() bool { return web.watches() >= 201 }, "not all of 201 folders are watched")
	before := full()
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); {
		pause(3 * time.Second)
		settled := full()
		if settled.goroutines == before.goroutines && settled.objects-before.objects < 300 {
			break
		}
		before = settled
	}
	n := r.pick(2000, 20_000)
	call(n)
	now := full()
	err := error(nil)
	if now.objects > before.objects+int64(n)/2 || now.goroutines > before.goroutines+8 {
		err = fmt.Errorf("%d objects and %d goroutines after %d calls in a session, %d and %d before", now.objects, now.goroutines, n, before.objects, before.goroutines)
	}
	r.check("a long session", err)
	r.note("%d objects before and %d after %d calls in one session", before.objects, now.objects, n)
	web.kill()
}

// watches returns the number of folders that a server watches with inotify.
func (k *knack) watches() (n int) {
	infos, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", k.cmd.Process.Pid))
	for _, info := range infos {
		data, _ := os.ReadFile(info)
		n = max(n, strings.Count(string(data), "inotify wd:"))
	}
	return n
}

// sessions begins and ends sessions, and checks that they leak no memory.
func (r *trial) sessions(root string) {
	web := r.http(setting{}, "--no-builtin", "--dir", root)
	w := &ways{r: r, client: &http.Client{Timeout: r.patience()}}
	session := func() error {
		id := w.dial(web)
		answer, err := w.post(web, legacyEra, id, "tools/list", map[string]any{})
		if err == nil && !strings.Contains(answer, "200 OK") {
			err = errors.New(excerpt(answer))
		}
		w.end(web, id)
		return err
	}
	for range 50 {
		r.check("a session", session())
	}
	before := web.load()
	n := r.pick(200, 3000)
	for range n {
		r.check("a session", session())
	}
	var now load
	testwait.Within(45*time.Second, func() bool {
		// Events are stored for resuming streams, up to 32 MiB for all sessions.
		now = web.load()
		return now.memory < before.memory+64<<20
	})
	err := error(nil)
	if now.memory >= before.memory+64<<20 {
		err = fmt.Errorf("%d MiB after %d sessions that ended, %d before", now.memory>>20, n, before.memory>>20)
	}
	r.check("memory after sessions", err)
	r.note("%d MiB before and %d after %d sessions", before.memory>>20, now.memory>>20, n)
	web.kill()
}

const tellsHeld = "safety: live %d, objects %d, goroutines %d"

// tellsHeap makes a binary collect its garbage on SIGUSR1 and report the rest of its heap. The
// process's memory as the system counts it would not do. It also contains garbage, and the race
// detector's shadow memory for every address that was ever used.
var tellsHeap = []change{
	{"cmd/knack/main.go", "	\"os\"\n", "	\"fmt\"\n	\"os\"\n	\"os/signal\"\n	\"runtime\"\n	\"syscall\"\n"},
	{"cmd/knack/main.go", "func main() {\n", `func init() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	go func() {
		for range asked {
			runtime.GC()
			runtime.GC() // what the first made free to be found, pools too
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Fprintf(os.Stderr, "` + tellsHeld + `\n", m.HeapAlloc, m.HeapObjects, runtime.NumGoroutine())
		}
	}()
}

func main() {
`},
}

// heapUse is the heap that a server reports after a garbage collection.
type heapUse struct{ live, objects, goroutines int64 }

// heap requests the report about the heap.
func (k *knack) heap() (h heapUse, err error) {
	if err := k.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		return h, err
	}
	select {
	case line := <-k.heaps:
		_, err = fmt.Sscanf(line, tellsHeld, &h.live, &h.objects, &h.goroutines)
		return h, err
	case <-k.ended:
	case <-time.After(k.r.patience()):
	}
	return h, fmt.Errorf("%w to what it holds: %s", errNoAnswer, excerpt(k.said()))
}

// soak simulates a long day. Many clients make calls of every kind over both transports while
// skills are added, changed and deleted.
func soak(r *trial) {
	r.race = true
	r.changes = slices.Concat(r.changes, tellsHeap)
	lasts := 20 * time.Minute
	if given, err := time.ParseDuration(os.Getenv("SAFETY_SOAK")); err == nil {
		lasts = given
	}
	if r.says != nil {
		lasts = 25 * time.Second
	}
	root := filepath.Join(r.dir(), "skills")
	for i := range 100 {
		r.write(root, map[string]string{fmt.Sprintf("s-%03d/SKILL.md", i): skillMD(fmt.Sprintf("s-%03d", i), "x"), fmt.Sprintf("s-%03d/a.md", i): strings.Repeat("INSIDE a ", 10_000)})
	}
	flags := []string{"--no-builtin", "--dir", root}
	k, web := r.stdio(setting{}, flags...), r.http(setting{}, flags...)
	begin := time.Now()
	var wg sync.WaitGroup
	during := func(every time.Duration, do func(i int)) {
		wg.Go(func() {
			for i := 0; time.Since(begin) < lasts && k.alive() && web.alive(); i++ {
				do(i)
				pause(every)
			}
		})
	}
	during(20*time.Millisecond, func(i int) { // adds, changes and deletes skills
		name := fmt.Sprintf("c-%02d", i%50)
		switch i % 4 {
		case 0:
			r.write(root, map[string]string{name + "/SKILL.md": skillMD(name, fmt.Sprint(i))})
		case 1:
			r.write(root, map[string]string{name + "/a.md": fmt.Sprint(i)})
		case 2:
			_ = os.RemoveAll(filepath.Join(root, fmt.Sprintf("c-%02d", (i+25)%50)))
		case 3:
			r.write(root, map[string]string{fmt.Sprintf("s-%03d/a.md", i%100): strings.Repeat("INSIDE b ", 10_000)})
		}
	})
	w := &ways{r: r, client: &http.Client{Timeout: r.patience(), Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	session := w.dial(web)
	calls := func() (string, map[string]any) {
		n := fmt.Sprintf("s-%03d", rand.IntN(110))
		switch rand.IntN(10) {
		case 0:
			return "tools/list", map[string]any{}
		case 1:
			return "skills/list", map[string]any{}
		case 2:
			return "resources/list", map[string]any{}
		case 3:
			return "skills/get", map[string]any{"uri": "skill://" + n + "/SKILL.md"}
		case 4:
			return "resources/read", map[string]any{"uri": "skill://" + n + "/a.md"}
		case 5:
			return "tools/call", tool("find_skills", map[string]any{"query": n})
		case 6:
			return "tools/call", tool("skill", map[string]any{"name": n})
		case 7:
			return "resources/directory/read", map[string]any{"uri": "skill://" + n}
		case 8:
			return "prompts/get", map[string]any{"name": n}
		}
		return "tools/call", tool("read_file_in_skill", map[string]any{"skill_name": n, "file_path": "a.md"})
	}
	for range 4 {
		during(10*time.Millisecond, func(int) {
			method, params := calls()
			_, err := k.call(method, params)
			r.check(method, err)
		})
		during(10*time.Millisecond, func(i int) {
			method, params := calls()
			era, id := modernEra, ""
			if i%2 == 0 {
				era, id = legacyEra, session
			}
			answer, err := w.post(web, era, id, method, params)
			if err == nil && strings.Contains(answer, "-32603") {
				err = errors.New(excerpt(answer))
			}
			r.check("http "+method, err)
		})
	}
	during(time.Second, func(int) { // sessions that come and go
		w.end(web, w.dial(web))
	})
	type sample struct {
		heapUse
		load
	}
	var samples [2][]sample
	for time.Since(begin) < lasts && k.alive() && web.alive() {
		pause(min(5*time.Second, lasts/20))
		for i, k := range []*knack{k, web} {
			h, err := k.heap()
			if !r.check("what a server holds", err) {
				break
			}
			samples[i] = append(samples[i], sample{h, k.load()})
		}
	}
	wg.Wait()
	if len(samples[1]) < 4 {
		r.check("the servers", fmt.Errorf("have ended: %s", excerpt(k.said()+web.said())))
		return
	}
	for i, k := range []*knack{k, web} {
		name, series := []string{"stdio", "http"}[i], samples[i]
		second, last := series[len(series)/4:len(series)/2], series[len(series)*3/4:]
		median := func(window []sample, what func(sample) int64) int64 {
			all := make([]int64, len(window))
			for i, s := range window {
				all[i] = what(s)
			}
			slices.Sort(all)
			return all[len(all)/2]
		}
		var said []string
		for _, m := range []struct {
			what    string
			measure func(sample) int64
			unit    int64
			slack   int64 // an answer of 2 MiB and its copies, and the rows of lists of skills
		}{
			{"MiB live", func(s sample) int64 { return s.live }, 1 << 20, 16 << 20},
			{"thousand objects", func(s sample) int64 { return s.objects }, 1000, 20_000},
			{"goroutines", func(s sample) int64 { return s.goroutines }, 1, 16},
		} {
			before, now := median(second, m.measure), median(last, m.measure)
			err := error(nil)
			if now > before*115/100+m.slack {
				err = fmt.Errorf("memory grew from %d %s in the second quarter to %d in the last", before/m.unit, m.what, now/m.unit)
			}
			r.check(name+" "+m.what, err)
			said = append(said, fmt.Sprintf("%d then %d %s", before/m.unit, now/m.unit, m.what))
		}
		files := 0
		for _, s := range series {
			files = max(files, s.files)
		}
		err := error(nil)
		if files > mostFiles {
			err = fmt.Errorf("%d descriptors", files)
		}
		r.check(name+" descriptors", err)
		err = nil
		if i := strings.Index(k.said(), "DATA RACE"); i >= 0 {
			err = fmt.Errorf("DATA RACE: %.2000s", k.said()[i:])
		} else if !k.alive() {
			err = fmt.Errorf("has ended: %s", excerpt(k.said()))
		}
		r.check(name+" races", err)
		rss := func(s sample) int64 { return s.memory }
		r.note("%s: in the second quarter and the last %s; of the process %d then %d MiB, at most %d descriptors", name, strings.Join(said, ", "), median(second, rss)>>20, median(last, rss)>>20, files)
	}
	r.note("%v", lasts)
}
