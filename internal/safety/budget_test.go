//go:build linux

package safety

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// mostInFlight bounds the memory of a server whose clients ask for everything large. It
// includes what the Go runtime takes beyond the memory in use.
const mostInFlight = 256 << 20

func budgetPart() part {
	return part{name: "budget", promise: fmt.Sprintf("files of 16 MiB, some of control characters, by every method and page, read slowly or not at all, 300 calls without a reader: %d MiB at most, and another client is never refused", mostInFlight>>20), run: inFlight}
}

// inFlight has one client take all that answers can hold while another one calls.
func inFlight(r *trial) {
	home := r.dir()
	root := filepath.Join(home, "skills")
	const greedy, modest = "knack_token-of-who-takes-it-all", "knack_token-of-who-wants-some"
	r.write(root, map[string]string{
		"git/SKILL.md": skillMD("git", "x"), "git/a.md": "INSIDE a",
		"git/b.md": "INSIDE b " + strings.Repeat("b", 200_000), // takes room
		// About 16 MiB each.
		"git/control.txt": strings.Repeat("\x01", 16<<20), "git/text.txt": strings.Repeat("INSIDE\n", 16<<20/7),
		// Thirteen answers of eight.txt leave less of 96 MiB than b.md takes.
		"git/eight.txt": strings.Repeat("8 MB. ", 7_740_000/6), "git/wide.txt": "\xff\xfe" + strings.Repeat("a\x00\x08\x4e", 4<<20-1),
		"git/lines.txt": strings.Repeat("\n", 1<<20), "git/bytes.bin": strings.Repeat("\x00\xff", 8<<20),
	})
	r.write(home, map[string]string{"knack.yaml": admitting("{rate: 0}", greedy, modest)})
	k := r.http(setting{home: home}, "--no-builtin", "--dir", root, "--config", filepath.Join(home, "knack.yaml"))
	site := strings.TrimSuffix(k.url, "/mcp")
	one := &http.Client{Transport: bearer(greedy), Timeout: time.Minute}
	other := &http.Client{Transport: bearer(modest), Timeout: time.Minute}

	var took []time.Duration
	var refused []string
	small := func() {
		file := [2]string{"a", "b"}[len(took)%2]
		req, err := request(k, modernEra, "", "tools/call", tool("read_file_in_skill", map[string]any{"skill_name": "git", "file_path": file + ".md"}))
		r.must(err)
		begun := time.Now()
		answer, err := whole(other, req)
		took = append(took, time.Since(begun))
		if err != nil || !strings.Contains(answer, "INSIDE "+file) {
			refused = append(refused, fmt.Sprintf("%v %s", err, excerpt(answer)))
		}
	}
	calls := func(n int, until func() bool) (p99 time.Duration) {
		took = nil
		for i := 0; i < n || until != nil && !until(); i++ {
			small()
			time.Sleep(2 * time.Millisecond)
		}
		slices.Sort(took)
		r.count(len(took))
		return took[len(took)*99/100]
	}
	calm := calls(r.pick(200, 1000), nil)

	// One client asks for these at once, and reads the answers.
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
	for _, file := range []string{"control.txt", "text.txt", "wide.txt", "bytes.bin", "lines.txt"} {
		all = append(all,
			func() *http.Request { return ask("resources/read", map[string]any{"uri": "skill://git/" + file}) },
			func() *http.Request {
				return ask("tools/call", tool("read_file_in_skill", map[string]any{"skill_name": "git", "file_path": file}))
			},
			func() *http.Request { return ask("/raw/git/"+file, nil) },
			func() *http.Request { return ask("/skills/git/"+file, nil) },
		)
	}
	var done atomic.Int64
	var wg sync.WaitGroup
	for range 3 {
		for _, next := range all {
			wg.Go(func() {
				defer done.Add(1)
				req := next()
				resp, err := one.Do(req)
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
	}
	rough := calls(50, func() bool { return done.Load() >= int64(3*len(all)) })
	wg.Wait()
	held := highest(k.cmd.Process.Pid)
	r.note("%d large answers: at most %d MiB, p99 of another client %.1f ms, %.1f before", 3*len(all), held>>20, ms(rough), ms(calm))
	r.check("memory", over(held))

	// The same client asks for these and does not read the answers.
	for round := range r.pick(1, 3) {
		ctx, cancel := context.WithCancel(context.Background())
		slow := &http.Client{Transport: bearerOf(greedy, &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if c, ok := c.(*net.TCPConn); ok {
				_ = c.SetReadBuffer(4 << 10)
			}
			return c, err
		}})}
		begun, asked := atomic.Int64{}, int64(r.pick(270, 300))
		for i := range asked {
			next := func() *http.Request { return ask("resources/read", map[string]any{"uri": "skill://git/eight.txt"}) }
			if round > 0 {
				next = all[int(i)%len(all)]
			}
			wg.Go(func() {
				resp, err := slow.Do(next().WithContext(ctx))
				begun.Add(1)
				if err != nil {
					return
				}
				<-ctx.Done()
				resp.Body.Close()
			})
		}
		rough := calls(r.pick(300, 1000), func() bool { return begun.Load() == asked })
		held := highest(k.cmd.Process.Pid)
		r.note("%d that are not read: at most %d MiB, p99 of another client %.1f ms", asked, held>>20, ms(rough))
		r.check("memory", over(held))
		cancel()
		wg.Wait()
	}
	err := error(nil)
	if len(refused) > 0 {
		err = fmt.Errorf("%d times another client was refused: %s", len(refused), refused[0])
	}
	r.check("another client", err)
	r.ends([]*knack{k})
}

func over(held int64) error {
	if held <= mostInFlight {
		return nil
	}
	return fmt.Errorf("%d MiB were held", held>>20)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// bearerOf is [bearer] over another transport.
func bearerOf(token string, over http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+token)
		return over.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
