// Package certificate provides a server's own TLS certificate, and reloads it while the server
// runs.
package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/internal/workspace/settings"
)

// interval is the interval at which [Certificate.Watch] checks the files. A replaced certificate is
// served within two intervals.
const interval = settings.WatchInterval

// File is one of the two files of a certificate.
type File struct {
	Path  string // absolute
	Shown string // for messages
}

// Certificate is a certificate with its key. The zero value is not usable; see [Open].
type Certificate struct {
	cert, key File
	pair      atomic.Pointer[tls.Certificate]
	seen      settings.Seen // the state of the files when the pair was read
	asked     chan struct{}
}

// Open reads a certificate and its key.
func Open(cert, key File) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, asked: make(chan struct{}, 1)}
	c.seen = c.look()
	if _, err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

// Config returns the configuration of a server with this certificate. It requires TLS 1.2 or later.
func (c *Certificate) Config() *tls.Config {
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.pair.Load(), nil }
	return &tls.Config{GetCertificate: get, MinVersion: tls.VersionTLS12}
}

// Ends returns the end of the current certificate's validity. For a nil certificate, it returns the
// zero time.
func (c *Certificate) Ends() time.Time {
	if c == nil {
		return time.Time{}
	}
	return c.pair.Load().Leaf.NotAfter
}

// Renew makes Watch read the files immediately. Renew itself does not wait, since a disk may not
// answer. On a nil certificate, it does nothing.
func (c *Certificate) Renew() {
	if c == nil {
		return
	}
	select {
	case c.asked <- struct{}{}:
	default: // a request is already pending
	}
}

// Watch reloads the pair whenever the files change or [Certificate.Renew] requests it, until the
// context ends. Open connections are not affected. After an error the previous pair is still
// served. report is called
//
//   - with true when another certificate is served,
//   - with the error of a pair that cannot be used: for each call of Renew, and once if only
//     the files changed,
//   - with false and nil when such an error is over, and for each call of Renew that finds
//     nothing new.
//
// The two files are replaced one after the other. If the first pair after a change cannot be used,
// report is called only if the next interval does not find a usable one.
func (c *Certificate) Watch(ctx context.Context, report func(renewed bool, err error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	failure, again := "", 0
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-c.asked:
			asked = true
		case <-tick.C:
		}
		if now := c.look(); !now.Same(c.seen) {
			// The second read finds bytes written after the first one in the same tick of the file
			// system's clock.
			c.seen, again = now, 2
		}
		if !asked && again == 0 {
			continue
		}
		again = max(again-1, 0)
		renewed, err := c.read()
		switch {
		case err == nil:
			if renewed || asked || failure != "" {
				report(renewed, nil)
			}
			failure = ""
		case asked, again == 0 && err.Error() != failure:
			failure = err.Error()
			report(false, err)
		}
	}
}

// read loads the pair from the files, and reports whether it has changed.
func (c *Certificate) read() (renewed bool, err error) {
	var data [2][]byte
	for i, f := range []File{c.cert, c.key} {
		if data[i], err = settings.ReadUserFile(f.Path); err != nil {
			return false, &settings.Error{Err: fmt.Errorf("%s: %s", f.Shown, settings.ReasonOf(err)), Hint: settings.HintOf(err, "use a file that knack can read")}
		}
	}
	pair, err := tls.X509KeyPair(data[0], data[1])
	if err != nil {
		return false, &settings.Error{Err: fmt.Errorf("%s, %s: %w", c.cert.Shown, c.key.Shown, err), Hint: "use a certificate and its own private key, both in PEM"}
	}
	before := c.pair.Swap(&pair)
	return before == nil || !slices.EqualFunc(before.Certificate, pair.Certificate, bytes.Equal), nil
}

// look returns the state of the files.
func (c *Certificate) look() settings.Seen { return settings.Look(c.cert.Path, c.key.Path) }
