package httpguard

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Bounds of a connection.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	// maxUnread bounds the bytes of HTTP/2 bodies that arrive on a connection before a handler
	// reads them.
	maxUnread = 64 << 10
)

// Serve answers on a listener until the context ends, with TLS if conf is set. Then it accepts no
// new calls, ends the streams, and lets running calls finish within DrainTimeout. It always closes
// the listener.
func (g *Guard) Serve(ctx context.Context, ln net.Listener, conf *tls.Config) error {
	srv := &http.Server{
		Handler: g, TLSConfig: conf,
		DisableGeneralOptionsHandler: true, // "OPTIONS *" gets the same checks as other requests
		ReadHeaderTimeout:            min(headerTimeout, g.o.BodyTimeout), IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		HTTP2:     &http.HTTP2Config{MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread, MaxReadFrameSize: 16 << 10},
		ConnState: g.arriving.changed,
		ErrorLog:  slog.NewLogLogger(g.o.Log.Handler(), slog.LevelDebug), // errors of port scanners and broken handshakes
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		g.shutdown(srv)
	})
	var err error
	if conf != nil {
		err = srv.ServeTLS(ln, "", "")
	} else {
		err = srv.Serve(ln)
	}
	if stop() {
		g.shutdown(srv) // the server ended by itself
		return err
	}
	<-ended
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (g *Guard) shutdown(srv *http.Server) {
	g.end()
	ctx, cancel := context.WithTimeout(context.Background(), g.o.DrainTimeout)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		g.o.Log.Warn("calls were cut off: they did not end in time")
		_ = srv.Close()
	}
}
