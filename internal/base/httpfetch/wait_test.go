package httpfetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// scripted returns a client of a server on a pipe. The server handles each connection with the next
// function of answers. The client uses the clock of the test's bubble.
func scripted(t *testing.T, answers ...func(net.Conn)) *Client {
	t.Helper()
	c := newClient(Options{}, "127.0.0.1:80")
	n := 0
	var servers sync.WaitGroup
	c.base.DialContext = func(context.Context, string, string) (net.Conn, error) {
		if n == len(answers) {
			return nil, errors.New("asked too often")
		}
		answer := answers[n]
		n++
		mine, theirs := net.Pipe()
		servers.Go(func() {
			defer theirs.Close()
			if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
				answer(theirs)
			}
		})
		return mine, nil
	}
	t.Cleanup(func() {
		c.base.CloseIdleConnections()
		servers.Wait()
		if n != len(answers) {
			t.Errorf("asked %d times, want %d", n, len(answers))
		}
	})
	return c
}

func says(text string) func(net.Conn) {
	return func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 "+text+"\r\nConnection: close\r\n\r\n") }
}

func ask(t *testing.T, c *Client) (string, error) {
	t.Helper()
	a, err := c.Get(t.Context(), &url.URL{Scheme: "http", Host: "127.0.0.1", Path: "/x"})
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	return string(data), err
}

func TestRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []string
		waits   time.Duration
		fails   string
	}{
		{"seconds", []string{"429 X\r\nRetry-After: 60", "200 OK"}, time.Minute, ""},
		{"503", []string{"503 X\r\nRetry-After: 2", "429 X\r\nRetry-After: 3", "200 OK"}, 5 * time.Second, ""},
		{"date", []string{"429 X\r\nRetry-After: Sat, 01 Jan 2000 00:00:30 GMT", "200 OK"}, 30 * time.Second, ""},
		{"long", []string{"429 X\r\nRetry-After: 61"}, 0, "asks to wait 1m1s"},
		{"a long date", []string{"503 X\r\nRetry-After: Sat, 01 Jan 2000 01:00:00 GMT"}, 0, "asks to wait 1h0m0s"},
		{"none", []string{"429 X"}, 0, "answers 429"},
		{"nonsense", []string{"503 X\r\nRetry-After: soon"}, 0, "answers 503"},
		{"negative", []string{"503 X\r\nRetry-After: -1"}, 0, "answers 503"},
		{"forever", slices.Repeat([]string{"429 X\r\nRetry-After: 1"}, 6), 5 * time.Second, "asks to wait 1s"},
		{"an error", []string{"500 X\r\nRetry-After: 1"}, 0, "answers 500"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var answers []func(net.Conn)
			for _, a := range tt.answers {
				answers = append(answers, says(a))
			}
			begun := time.Now()
			_, err := ask(t, scripted(t, answers...))
			if waited := time.Since(begun); waited != tt.waits || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v after %v, want %q after %v", tt.name, err, waited, tt.fails, tt.waits)
			}
			if want := strings.Contains(tt.fails, "wait"); errors.Is(err, ErrBusy) != want {
				t.Errorf("%s: %v", tt.name, err)
			}
		})
	}
}

func TestSilence(t *testing.T) {
	hang := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	part := func(c net.Conn) {
		_, _ = fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
		hang(c)
	}
	drip := func(c net.Conn) {
		_, _ = fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
		for range 1000 {
			<-time.After(29 * time.Second)
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
		}
	}
	slow := func(c net.Conn) {
		_, _ = fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\n")
		for range 10 {
			<-time.After(29 * time.Second)
			_, _ = c.Write([]byte("x"))
		}
	}
	for _, tt := range []struct {
		name   string
		answer func(net.Conn)
		ends   time.Duration
		fails  string
	}{
		{"no answer", hang, 30 * time.Second, "does not answer"},
		{"half an answer", part, 30 * time.Second, "no byte has come for 30 seconds"},
		{"a byte now and then, for ever", drip, 5 * time.Minute, "too slow"},
		{"a slow answer", slow, 290 * time.Second, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			_, err := ask(t, scripted(t, tt.answer))
			if took := time.Since(begun); took != tt.ends || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v after %v, want %q after %v", tt.name, err, took, tt.fails, tt.ends)
			}
		})
	}
}

func TestCut(t *testing.T) {
	cut := func(c net.Conn) { _, _ = fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345") }
	if got, err := ask(t, scripted(t, cut)); err == nil {
		t.Errorf("half a file is %q", got)
	}
}
