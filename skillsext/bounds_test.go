package skillsext

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answers is a transport that answers each request with a body to read.
type answers func(ctx context.Context) io.Reader

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(a(r.Context()))}, nil
}

// drip yields a byte every ten seconds until the context ends.
type drip struct{ ctx context.Context }

func (d drip) Read(p []byte) (int, error) {
	select {
	case <-time.After(10 * time.Second):
		p[0] = ' '
		return 1, nil
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

// repeat returns n bytes of a repeated text.
func repeat(text string, n int64) io.Reader { return io.LimitReader(repeated(text), n) }

type repeated string

func (r repeated) Read(p []byte) (int, error) {
	if len(p) < len(r) {
		p[0] = r[0]
		return 1, nil
	}
	n := 0
	for n+len(r) <= len(p) {
		n += copy(p[n:], r)
	}
	return n, nil
}

func ask(t *testing.T, b *Bounded) (int64, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := b.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return io.Copy(io.Discard, resp.Body)
}

func TestBounded(t *testing.T) {
	for name, c := range map[string]struct {
		body io.Reader
		want error
	}{
		"small":            {strings.NewReader(`{"a":[1,2,3]}`), nil},
		"largest":          {repeat("a", maxAnswer), nil},
		"too large":        {repeat("a", maxAnswer+1), answerSize(maxAnswer)},
		"endless":          {repeat("a", 1<<40), answerSize(maxAnswer)},
		"many values":      {repeat("{},", maxValues/2*3), nil},
		"too many values":  {repeat("{},", maxValues*3), errAnswerValues},
		"a text of commas": {io.MultiReader(strings.NewReader(`{"a":"\\\"`), repeat(",", 2*maxValues), strings.NewReader(`"}`)), nil},
		"commas behind it": {io.MultiReader(strings.NewReader(`{"a":"\\"`), repeat(",", 2*maxValues)), errAnswerValues},
		"an odd comment":   {io.MultiReader(strings.NewReader(": \"\n"), repeat(",", 2*maxValues)), errAnswerValues},
	} {
		t.Run(name, func(t *testing.T) {
			var told error
			_, err := ask(t, &Bounded{Next: answers(func(context.Context) io.Reader { return c.body }), Exceeded: func(err error) { told = err }})
			if !errors.Is(err, c.want) || told != c.want {
				t.Errorf("%v, and %v was told; want %v", err, told, c.want)
			}
		})
	}
}

// TestBoundedSize checks that a caller can set a smaller bound of an answer's size.
func TestBoundedSize(t *testing.T) {
	const most = 4 << 20
	for n, want := range map[int64]error{most: nil, most + 1: answerSize(most)} {
		if _, err := ask(t, &Bounded{Size: most, Next: answers(func(context.Context) io.Reader { return repeat("a", n) })}); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", n, err, want)
		}
	}
}

// TestBoundedTime checks that an endless answer is cut off when its time is over, and that a
// complete one is not.
func TestBoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			body io.Reader
			slow bool
		}{{nil, true}, {strings.NewReader("{}"), false}} {
			begun := time.Now()
			var told error
			b := &Bounded{Exceeded: func(err error) { told = err }, Next: answers(func(ctx context.Context) io.Reader {
				if c.body == nil {
					return drip{ctx}
				}
				return c.body
			})}
			n, err := ask(t, b)
			if took := time.Since(begun); c.slow && (err == nil || told != err || took != answerTime || !strings.Contains(err.Error(), "not complete after 1m0s")) {
				t.Errorf("%v, and %v was told, after %s and %d bytes", err, told, took, n)
			} else if !c.slow && err != nil {
				t.Error(err)
			}
		}
	})
}

// TestBoundedSilence checks that a request to a server that never answers ends when its time is
// over.
func TestBoundedSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := roundTrips(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		begun := time.Now()
		if _, err := ask(t, &Bounded{Next: silent, Time: time.Hour}); err == nil || time.Since(begun) != time.Hour || !strings.Contains(err.Error(), "1h0m0s") {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}

type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
