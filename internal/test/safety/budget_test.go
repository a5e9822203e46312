//go:build linux

package safety

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// mostInFlight bounds the memory of a server whose clients request only large answers, including
// the overhead of the Go runtime. The system kills the server at hardLimit, the MemoryMax of
// deploy/knack.service.
const (
	mostInFlight = 256 << 20
	hardLimit    = 384 << 20
)

func budgetPart() part {
	return part{name: "budget", promise: fmt.Sprintf("files of 16 MiB by every method and page, read slowly or not at all: %d MiB at most, under a limit of %d by the system, and another client is neither refused nor delayed", mostInFlight>>20, hardLimit>>20), run: func(r *trial) {
		inFlight(r)
		unreadDocuments(r)
	}, slow: true}
}

// inFlight measures the memory of a server while one client requests as many large answers as the
// server can have in flight. It also measures the delay of another client's small calls.
func inFlight(r *trial) {
	home := r.dir()
	root := filepath.Join(home, "skills")
	const greedy, modest = "knack_token-of-who-takes-it-all", "knack_token-of-who-wants-some"
	r.write(root, map[string]string{
		"git/SKILL.md": skillMD("git", "x"), "git/a.md": "INSIDE a",
		"git/b.md": "INSIDE b " + strings.Repeat("b", 200_000), // large enough to need a share of the memory for answers
		// About 16 MiB each.
		"git/control.txt": strings.Repeat("\x01", 16<<20), "git/text.txt": strings.Repeat("INSIDE\n", 16<<20/7),
		// Thirteen answers with eight.txt leave less of the 96 MiB than an answer with b.md needs.
		"git/eight.txt": strings.Repeat("8 MB. ", 7_740_000/6), "git/wide.txt": "\xff\xfe" + strings.Repeat("a\x00\x08\x4e", 4<<20-1),
		"git/lines.txt": strings.Repeat("\n", 1<<20), "git/bytes.bin": strings.Repeat("\x00\xff", 8<<20),
	})
	r.write(home, map[string]string{"knack.yaml": admitting("{rate: 0}", greedy, modest)})
	k := r.http(setting{home: home}, "--no-builtin", "--dir", root, "--config", filepath.Join(home, "knack.yaml"))
	r.limitMemory(k, hardLimit)
	site := strings.TrimSuffix(k.url, "/mcp")
	one := &http.Client{Transport: bearer(greedy), Timeout: time.Minute}
	other := &http.Client{Transport: bearer(modest), Timeout: time.Minute}

	plain := r.plainServer(root)
	get := func(file string) *http.Request {
		req, err := http.NewRequest(http.MethodGet, plain+"/git/"+file, nil)
		r.must(err)
		return req
	}
	small := func(file string) *http.Request {
		req, err := request(k, modernEra, "", "tools/call", tool("read_file_in_skill", map[string]any{"skill_name": "git", "file_path": file}))
		r.must(err)
		return req
	}
	var refused []string
	calls := func(n int, small func(file string) *http.Request, until func() bool) delay {
		var took []time.Duration
		for i := 0; i < n || until != nil && !until(); i++ {
			file := [2]string{"a", "b"}[i%2]
			req := small(file + ".md")
			begun := time.Now()
			answer, err := whole(other, req)
			took = append(took, time.Since(begun))
			if err != nil || !strings.Contains(answer, "INSIDE "+file) {
				refused = append(refused, fmt.Sprintf("%v %s", err, excerpt(answer)))
			}
			time.Sleep(2 * time.Millisecond)
		}
		slices.Sort(took)
		r.count(len(took))
		return delay{took[len(took)*99/100], took[len(took)-1]}
	}
	calm, calmPlain := calls(r.pick(200, 1000), small, nil), calls(r.pick(200, 1000), get, nil)
	compared := func(rough, floor delay) string {
		return fmt.Sprintf("p99 of another client %.1f ms, %.1f times its quiet one, slowest call %.1f; beside a plain server %.1f, %.1f times, %.1f",
			ms(rough.p99), rough.times(calm), ms(rough.worst), ms(floor.p99), floor.times(calmPlain), ms(floor.worst))
	}

	// One client requests these concurrently, and reads the answers.
	ask := func(at string, params map[string]any) *http.Request {
		if params == nil {
			req, err := http.NewRequest(http.MethodGet, site+at, nil)
			r.must(err)
			return req
		}
		req, err := request(k, modernEra, "", at, params)
		r.must(err)
		return req
	}
	var all []func() *http.Request
	files := []string{"control.txt", "text.txt", "wide.txt", "bytes.bin", "lines.txt"}
	for _, file := range files {
		all = append(all,
			func() *http.Request { return ask("resources/read", map[string]any{"uri": "skill://git/" + file}) },
			func() *http.Request {
				return ask("tools/call", tool("read_file_in_skill", map[string]any{"skill_name": "git", "file_path": file}))
			},
			func() *http.Request { return ask("/raw/git/"+file, nil) },
			func() *http.Request { return ask("/skills/git/"+file, nil) },
		)
	}
	var wg sync.WaitGroup
	read := func(small func(file string) *http.Request, next func(i int) *http.Request) delay {
		var done atomic.Int64
		defer wg.Wait()
		for i := range 3 * len(all) {
			wg.Go(func() {
				defer done.Add(1)
				resp, err := one.Do(next(i))
				if err != nil {
					return
				}
				defer resp.Body.Close()
				head := make([]byte, 2000)
				_, _ = io.ReadFull(resp.Body, head) // or less
				_, _ = io.Copy(io.Discard, resp.Body)
				if strings.Contains(string(head), `\u0001\u0001`) {
					r.check("control characters", errors.New("16 MiB of control characters are text"))
				}
			})
		}
		return calls(50, small, func() bool { return done.Load() >= int64(3*len(all)) })
	}
	// A plain server of the same files shows how much time the machine and the clients need.
	floor := read(get, func(i int) *http.Request { return get(files[i/4%len(files)]) })
	rough := read(small, func(i int) *http.Request { return all[i%len(all)]() })
	peak := highest(k.cmd.Process.Pid)
	r.note("%d large answers: at most %d MiB, %s", 3*len(all), peak>>20, compared(rough, floor))
	r.check("memory", over(peak))
	r.check("delay", delayed(rough, calm, floor))

	// The same client requests these and does not read the answers.
	asked := int64(r.pick(270, 300))
	unread := func(small func(file string) *http.Request, next func(i int) *http.Request) delay {
		ctx, cancel := context.WithCancel(context.Background())
		defer wg.Wait()
		defer cancel()
		slow := &http.Client{Transport: bearerOf(greedy, slowTransport())}
		begun := atomic.Int64{}
		for i := range asked {
			wg.Go(func() {
				resp, err := slow.Do(next(int(i)).WithContext(ctx))
				begun.Add(1)
				if err != nil {
					return
				}
				<-ctx.Done()
				resp.Body.Close()
			})
		}
		return calls(r.pick(300, 1000), small, func() bool { return begun.Load() == asked })
	}
	for round := range r.pick(1, 3) {
		floor := unread(get, func(i int) *http.Request {
			if round > 0 {
				return get(files[i/4%len(files)])
			}
			return get("eight.txt")
		})
		rough := unread(small, func(i int) *http.Request {
			if round > 0 {
				return all[i%len(all)]()
			}
			return ask("resources/read", map[string]any{"uri": "skill://git/eight.txt"})
		})
		peak := highest(k.cmd.Process.Pid)
		r.note("%d that are not read: at most %d MiB, %s", asked, peak>>20, compared(rough, floor))
		r.check("memory", over(peak))
		r.check("delay", delayed(rough, calm, floor))
	}
	err := error(nil)
	if len(refused) > 0 {
		err = fmt.Errorf("%d times another client was refused: %s", len(refused), refused[0])
	}
	r.check("another client", err)
	r.ends([]*knack{k})
}

// slowTransport returns a transport whose connections buffer little data that the client has not
// read.
func slowTransport() *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if c, ok := c.(*net.TCPConn); ok {
			_ = c.SetReadBuffer(4 << 10)
		}
		return c, err
	}}
}

// limitMemory makes the system kill a process that takes more than most bytes, including cached
// files that cannot be dropped. If no control group for memory is available, the table says so.
func (r *trial) limitMemory(k *knack, most int64) {
	pid := k.cmd.Process.Pid
	for dir, limit := range map[string]string{"/sys/fs/cgroup/memory": "memory.limit_in_bytes", "/sys/fs/cgroup": "memory.max"} {
		group := filepath.Join(dir, fmt.Sprintf("knack-safety-%d", pid))
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		r.Cleanup(func() {
			k.kill()
			_ = os.Remove(group)
		})
		if os.WriteFile(filepath.Join(group, limit), fmt.Append(nil, most), 0) == nil &&
			os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Append(nil, pid), 0) == nil {
			return
		}
	}
	r.note("the system limits no memory here")
}

func over(peak int64) error {
	if peak <= mostInFlight {
		return nil
	}
	return fmt.Errorf("%d MiB were held", peak>>20)
}

// delay is the time that the small calls of a client took.
type delay struct{ p99, worst time.Duration }

func (d delay) times(calm delay) float64 { return float64(d.p99) / float64(calm.p99) }

// delayed returns an error if another client has to wait because of the large answers. The client
// may take twice its time without large answers, or a multiple of the time that a plain server of
// the same files takes in the same minute. A server that stops for a while shows only in the
// slowest call, because the client makes its next call only after an answer.
func delayed(rough, calm, floor delay) error {
	if rough.p99 <= max(2*calm.p99, 10*floor.p99) && rough.worst <= max(2*calm.worst, 20*floor.worst) {
		return nil
	}
	return fmt.Errorf("p99 of another client is %.1f ms and its slowest call %.1f; %.1f and %.1f without large answers, %.1f and %.1f beside a plain server",
		ms(rough.p99), ms(rough.worst), ms(calm.p99), ms(calm.worst), ms(floor.p99), ms(floor.worst))
}

// plainFiles is the folder whose files TestPlainServer serves.
const plainFiles = "SAFETY_PLAIN_FILES"

// TestPlainServer is not a test but the server process of [trial.plainServer]. It ends when its
// standard input closes.
func TestPlainServer(t *testing.T) {
	root := os.Getenv(plainFiles)
	if root == "" {
		t.Skip("started by the part budget")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("http://" + ln.Addr().String())
	go func() { _ = http.Serve(ln, http.FileServer(http.Dir(root))) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// plainServer serves the files of a folder with net/http, in a separate process, and returns the
// URL.
func (r *trial) plainServer(root string) string {
	cmd := exec.Command(os.Args[0], "-test.run=^TestPlainServer$")
	cmd.Env = append(os.Environ(), plainFiles+"="+root)
	in, err := cmd.StdinPipe()
	r.must(err)
	out, err := cmd.StdoutPipe()
	r.must(err)
	r.must(cmd.Start())
	r.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	r.must(err)
	return strings.TrimSpace(url)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// bearerOf is like [bearer], but uses the given transport.
func bearerOf(token string, over http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+token)
		return over.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
