package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
)

// Serve answers on a listener until the context ends, over TLS if there is a
// configuration for it. At the end it takes no new calls, ends the streams, and
// lets the calls that are being worked on end, for DrainTimeout. The listener is
// closed in any case.
func (h *Handler) Serve(ctx context.Context, ln net.Listener, conf *tls.Config) error {
	srv := &http.Server{
		Handler: h, TLSConfig: conf,
		DisableGeneralOptionsHandler: true, // "OPTIONS *" is asked of the guard as everything is
		ReadHeaderTimeout:            min(headerTimeout, h.o.BodyTimeout), IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(h.o.Log.Handler(), slog.LevelDebug), // scanners and broken handshakes
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		h.shutdown(srv)
	})
	var err error
	if conf != nil {
		err = srv.ServeTLS(ln, "", "")
	} else {
		err = srv.Serve(ln)
	}
	if stop() {
		h.shutdown(srv) // it ended by itself
		return err
	}
	<-ended
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (h *Handler) shutdown(srv *http.Server) {
	h.draining.Store(true)
	h.end()
	ctx, cancel := context.WithTimeout(context.Background(), h.o.DrainTimeout)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		h.o.Log.Warn("calls were cut off: they did not end in time")
		_ = srv.Close()
	}
	h.sessions.closeAll()
}
