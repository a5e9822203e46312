//go:build linux

package safety

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// load contains the resources that a server process uses, measured from outside.
type load struct {
	memory int64
	files  int
}

func (k *knack) load() (l load) {
	pid := strconv.Itoa(k.cmd.Process.Pid)
	if entries, err := os.ReadDir("/proc/" + pid + "/fd"); err == nil {
		l.files = len(entries)
	}
	data, _ := os.ReadFile("/proc/" + pid + "/status")
	if _, rest, ok := strings.Cut(string(data), "VmRSS:"); ok {
		kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		l.memory = kb << 10
	}
	return l
}

// goroutines ends a server and counts the goroutines in its final stack dump.
func (k *knack) goroutines() int {
	_ = k.cmd.Process.Signal(syscall.SIGQUIT)
	<-k.ended
	return strings.Count(k.said(), "\ngoroutine ")
}

// busy returns the number of processors that other programs use during an interval. This test and
// its children are not counted. The system's load average would not do, since it still contains the
// test's own work of a minute ago.
func busy(during time.Duration) float64 {
	taken := func() (ticks, all float64) {
		data, _ := os.ReadFile("/proc/stat")
		line, _, _ := strings.Cut(string(data), "\n")
		for i, f := range strings.Fields(line)[1:] {
			n, _ := strconv.ParseFloat(f, 64)
			if i < 8 { // the user time already includes guests
				all += n
			}
			if i != 3 && i != 4 && i < 8 { // not idle, and not waiting for a disk
				ticks += n
			}
		}
		return ticks - ownTicks(), all
	}
	before, allBefore := taken()
	pause(during)
	after, allAfter := taken()
	return max(after-before, 0) / max(allAfter-allBefore, 1) * float64(runtime.NumCPU())
}

// ownTicks returns the processor time of this process and its children. The time of a child that
// has ended is part of its parent's.
func ownTicks() (ticks float64) {
	for _, pid := range family() {
		_, n, _ := ticksOf(pid)
		ticks += n
	}
	return ticks
}

// ticksOf returns the parent of a process, and the processor time of the process and its ended
// children.
func ticksOf(pid string) (parent string, ticks float64, ok bool) {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, ok := strings.Cut(string(data[bytes.LastIndexByte(data, ')')+1:]), " ")
	fields := strings.Fields(rest) // the fields from the state on; the name before them can be any text
	if err != nil || !ok || len(fields) < 15 {
		return "", 0, false // it has ended
	}
	for _, f := range fields[11:15] { // user and system time, of the process and of its ended children
		n, _ := strconv.ParseFloat(f, 64)
		ticks += n
	}
	return fields[1], ticks, true
}

// family returns this process and its descendants. A process whose parent has ended is not
// included.
func family() (pids []string) {
	parents := map[string]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if parent, _, ok := ticksOf(filepath.Base(dir)); ok {
			parents[filepath.Base(dir)] = parent
		}
	}
	own := strconv.Itoa(os.Getpid())
	for pid := range parents {
		at := pid
		for range 100 { // a pid may be reused meanwhile
			if at == own || parents[at] == "" {
				break
			}
			at = parents[at]
		}
		if at == own {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestOwnTicks checks that ownTicks includes a child's time, both while the child runs and after it
// has ended.
func TestOwnTicks(t *testing.T) {
	beside := func() float64 { // without this process's own work
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return ownTicks() - 100*time.Duration(u.Utime.Nano()+u.Stime.Nano()).Seconds()
	}
	before := beside()
	child := exec.Command("/bin/sh", "-c", "while :; do :; done")
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	const want = 20 // hundredths of a second
	var during float64
	testwait.Within(testwait.Patience, func() bool {
		during = beside() - before
		return during >= want
	})
	_ = child.Process.Kill()
	_ = child.Wait()
	if after := beside() - before; during < want || after < during-2 { // the two times come from different clocks
		t.Errorf("a child took %.0f ticks, %.0f after its end; want %d and no less", during, after, want)
	}
}

// quiet waits until other programs are idle, and returns the number of processors that they use.
// Meanwhile the test itself is idle.
func (r *trial) quiet(most float64, patience time.Duration) float64 {
	for end := time.Now().Add(patience); ; {
		others := busy(3 * time.Second)
		if others <= most || time.Now().After(end) {
			return others
		}
	}
}

// active is a set of clients that each make a call now and then, over a connection of their own.
type active struct {
	mu      sync.Mutex
	took    []time.Duration
	refused []string
	stop    chan struct{}
	wg      sync.WaitGroup
	first   sync.WaitGroup // the first call of each client
}

func (r *trial) active(k *knack, n int, pause time.Duration) *active {
	a := &active{stop: make(chan struct{})}
	a.first.Add(n)
	for range n {
		a.wg.Go(func() {
			called := sync.OnceFunc(a.first.Done)
			defer called()
			client := &http.Client{Transport: &http.Transport{}, Timeout: r.patience()}
			defer client.CloseIdleConnections()
			wait := time.Duration(rand.Int64N(int64(pause)))
			for {
				select {
				case <-a.stop:
					return
				case <-time.After(wait):
				}
				wait = pause
				req, err := request(k, modernEra, "", "tools/call", tool("read_file_in_skill", map[string]any{"skill_name": "git", "file_path": "a.md"}))
				if err != nil {
					continue
				}
				begin := time.Now()
				answer, err := whole(client, req)
				took := time.Since(begin)
				called()
				a.mu.Lock()
				a.took = append(a.took, took)
				if err != nil || !strings.Contains(answer, "INSIDE a") {
					a.refused = append(a.refused, fmt.Sprintf("%v %s", err, excerpt(answer)))
				}
				a.mu.Unlock()
			}
		})
	}
	return a
}

// p99 returns the 99th percentile of the calls' times during an interval, and the number of calls.
func (a *active) p99(during time.Duration) (p99 time.Duration, n int) {
	a.mu.Lock()
	a.took = nil
	a.mu.Unlock()
	pause(during)
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.took) == 0 {
		return 0, 0
	}
	slices.Sort(a.took)
	return a.took[len(a.took)*99/100], len(a.took)
}

func floods(r *trial) {
	root := filepath.Join(r.dir(), "skills")
	r.write(root, map[string]string{"git/SKILL.md": skillMD("git", "x"), "git/a.md": "INSIDE a"})
	flags := []string{"--no-builtin", "--dir", root}
	quiet := r.http(setting{}, flags...)
	w := &ways{r: r}
	_, err := w.post(quiet, modernEra, "", "tools/list", map[string]any{})
	r.must(err)
	w.client.CloseIdleConnections()
	pause(200 * time.Millisecond)
	base := quiet.goroutines()

	const most = 0.4
	others := r.quiet(most, time.Duration(r.pick(0, 300))*time.Second)
	k := r.http(setting{}, flags...)
	at := strings.TrimSuffix(strings.TrimPrefix(k.url, "http://"), "/mcp")
	clients, idle, half := r.pick(50, 1000), r.pick(300, 5000), r.pick(100, 500)
	a := r.active(k, clients, time.Duration(r.pick(1, 5))*time.Second)
	a.first.Wait() // each client has its connection
	before := k.load()
	const floor, aStall = 2500 * time.Microsecond, 20
	var ratios []float64
	for n := 0; n < r.pick(1, 3) || r.fast && n < 3 && ratios[n-1] > aStall; n++ {
		calm, _ := a.p99(time.Duration(r.pick(2, 12)) * time.Second)
		f := r.flood(k, at, idle, half)
		rough, n := a.p99(time.Duration(r.pick(4, 14)) * time.Second)
		r.count(n)
		ratio := float64(rough) / float64(max(calm, floor))
		ratios = append(ratios, ratio)
		r.note("p99 %.1f ms, flooded %.1f ms", float64(calm.Microseconds())/1000, float64(rough.Microseconds())/1000)
		f.end(r)
	}
	close(a.stop)
	a.wg.Wait()
	if others > most && !r.fast || others > float64(runtime.NumCPU())*0.9 {
		// On so busy a machine, waiting for the flood and waiting for other programs cannot be told
		// apart.
		r.untry("p99 and refusals: others took %.1f of %d processors all the time before it began, at most %.1f would do; wants a machine that does nothing else", others, runtime.NumCPU(), most)
		r.calms(k, before, base, clients)
		return
	}
	err = nil
	// Each round is compared with its own base, and the median of three rounds counts, since other
	// work on the machine can disturb one round. In CI, where any time can double, only a stall
	// fails, and only if each of three rounds has one. The later rounds run only if the first has a
	// stall.
	slices.Sort(ratios)
	if middle := ratios[len(ratios)/2]; !r.fast && middle > 2 {
		err = fmt.Errorf("p99 is %.1f times the base, in the middle of %.1f", middle, ratios)
	}
	if least := ratios[0]; r.fast && least > aStall {
		err = fmt.Errorf("p99 is %.1f times the base, and in no round less: %.1f", least, ratios)
	}
	r.check("p99 of active clients", err)
	err = nil
	if len(a.refused) > 0 {
		err = fmt.Errorf("%d times an active client was refused: %s", len(a.refused), a.refused[0])
	}
	r.check("answers to active clients", err)
	r.calms(k, before, base, clients)
}

// calms waits until the server uses no more resources than before the flood.
func (r *trial) calms(k *knack, before load, goroutines, clients int) {
	var now load
	begin := time.Now()
	testwait.Within(60*time.Second, func() bool {
		now = k.load()
		// The active clients have ended too. Each had a descriptor.
		return now.files <= before.files-clients+8 && now.memory <= before.memory*3/2+32<<20
	})
	took := time.Since(begin)
	err := error(nil)
	if now.files > before.files-clients+8 {
		err = fmt.Errorf("%d descriptors, %d before, %d of them clients", now.files, before.files, clients)
	}
	r.check("descriptors after the flood", err)
	err = nil
	if now.memory > before.memory*3/2+32<<20 {
		err = fmt.Errorf("%d MiB, %d before", now.memory>>20, before.memory>>20)
	}
	r.check("memory after the flood", err)
	after := k.goroutines()
	err = nil
	if after > goroutines+16 {
		err = fmt.Errorf("%d goroutines, %d in a server that nobody flooded", after, goroutines)
	}
	r.check("goroutines after the flood", err)
	r.note("back after %.1f s: %d descriptors, %d MiB (%d before), %d goroutines", took.Seconds(), now.files, now.memory>>20, before.memory>>20, after)
}

// flooding runs the attackers of a flood until it is stopped.
type flooding struct {
	stop  chan struct{}
	wg    sync.WaitGroup
	conns sync.Map
	halfs []net.Conn
	begun time.Time

	bodies, sent, headers atomic.Int64
	faults                sync.Map
}

func (r *trial) flood(k *knack, at string, idle, half int) *flooding {
	f := &flooding{stop: make(chan struct{})}
	dial := func() net.Conn {
		c, err := net.DialTimeout("tcp", at, r.patience())
		if err != nil {
			f.faults.Store("dial: "+err.Error(), true)
			return nil
		}
		f.conns.Store(c, true)
		return c
	}
	for range idle {
		if c := dial(); c != nil {
			_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
	}
	for range half {
		if c := dial(); c != nil {
			_, _ = io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Half: ")
			f.halfs = append(f.halfs, c)
		}
	}
	f.begun = time.Now()
	forever := func(n int, pause time.Duration, do func()) {
		for range n {
			f.wg.Go(func() {
				for {
					do()
					select {
					case <-f.stop:
						return
					case <-time.After(pause):
					}
				}
			})
		}
	}
	// Slow bodies, more than the bound on concurrent calls. Half of them have a size for which
	// there are fewer slots.
	for i := range 400 {
		if c := dial(); c != nil {
			_, _ = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", [2]int{2000, 17_000}[i%2])
			f.wg.Go(func() { drip(f.stop, c, " ") })
		}
	}
	// Slow headers.
	for range half / 2 {
		if c := dial(); c != nil {
			_, _ = io.WriteString(c, "GET /mcp HTTP/1.1\r\nHost: localhost\r\n")
			f.wg.Go(func() { drip(f.stop, c, "X-Slow: 1\r\n") })
		}
	}
	chunk := bytes.Repeat([]byte(" "), 64<<10)
	forever(2, 500*time.Millisecond, func() { // bodies of 1 GiB
		c := dial()
		if c == nil {
			return
		}
		defer f.conns.Delete(c)
		defer c.Close()
		_, _ = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", 1<<30)
		sent := 0
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		for sent < 1<<30 {
			n, err := c.Write(chunk)
			sent += n
			if err != nil {
				break
			}
		}
		f.bodies.Add(1)
		f.sent.Store(max(f.sent.Load(), int64(sent)))
	})
	var many []byte
	for i := range 20_000 {
		many = fmt.Appendf(many, "X-%d: %d\r\n", i, i)
	}
	forever(2, 200*time.Millisecond, func() { // header floods
		c := dial()
		if c == nil {
			return
		}
		defer f.conns.Delete(c)
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(c, "GET /mcp HTTP/1.1\r\nHost: localhost\r\n")
		go func() { _, _ = c.Write(many) }()
		answer := make([]byte, 64)
		n, _ := c.Read(answer)
		f.headers.Add(1)
		if n > 0 && !strings.Contains(string(answer[:n]), " 431 ") && !strings.Contains(string(answer[:n]), " 400 ") {
			f.faults.Store("a flood of headers gets "+string(answer[:n]), true)
		}
	})
	return f
}

// drip writes text every half second until it is stopped.
func drip(stop <-chan struct{}, c net.Conn, text string) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(500 * time.Millisecond):
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

// end checks that the server has closed the attackers' connections, and closes the rest.
func (f *flooding) end(r *trial) {
	// The server closes half-open connections after 10 s for the headers; the patience is an
	// allowance for a busy machine.
	within := 10*time.Second + r.patience()
	deadline := f.begun.Add(within)
	if soonest := time.Now().Add(time.Second); deadline.Before(soonest) {
		deadline = soonest // even then, data that arrived in time can be read
	}
	var gone atomic.Int64
	var looks sync.WaitGroup
	for _, c := range f.halfs { // in parallel, since open connections wait until the deadline
		looks.Go(func() {
			_ = c.SetReadDeadline(deadline)
			_, err := c.Read(make([]byte, 512))
			if err == nil {
				_, err = c.Read(make([]byte, 512)) // reads past a refusal
			}
			if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				gone.Add(1)
			}
		})
	}
	looks.Wait()
	close(f.stop)
	f.conns.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
	f.wg.Wait()
	err := error(nil)
	if open := len(f.halfs) - int(gone.Load()); open > 0 {
		err = fmt.Errorf("%d of %d half-open connections are still open after %v", open, len(f.halfs), within)
	}
	r.check("half-open connections", err)
	err = nil
	if f.bodies.Load() == 0 || f.sent.Load() > 64<<20 {
		err = fmt.Errorf("of 1 GiB %d MiB were taken", f.sent.Load()>>20)
	}
	r.check("bodies of 1 GiB", err)
	err = nil
	f.faults.Range(func(what, _ any) bool { err = errors.New(what.(string)); return false })
	r.check("the attack", err)
	r.count(int(f.bodies.Load()+f.headers.Load()) + len(f.halfs))
}
