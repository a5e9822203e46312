package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/knack-dev/knack/internal/base/httpfetch"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// maxEvents is the maximum size of a stream of notifications, and maxEvent the maximum size of a
// line in it, in bytes. If a server sends more, the stream ends, and is opened again later.
const (
	maxEvents = 1 << 20
	maxEvent  = 64 << 10
)

// listening is the request for a stream of notifications (SEP-2575).
const listening = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"knack","version":"1"}},"notifications":{"resourcesListChanged":true}}}`

// Listen calls changed each time the server reports that its list of resources has changed, until
// the stream ends. If the server has no such stream, the error is an [errors.ErrUnsupported].
// Servers of older revisions have none, since they would need a session that stays open.
func (o *Origin) Listen(ctx context.Context, ref origin.Ref, changed func()) error {
	if o.opts.Offline {
		return errors.ErrUnsupported
	}
	client, err := o.opts.HTTP(ref.Location)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(httpfetch.Endless(ctx), http.MethodPost, ref.Location, strings.NewReader(listening))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "subscriptions/listen")
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return fmt.Errorf("status %d", status)
	case status != http.StatusOK, !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		return errors.ErrUnsupported
	}
	lines := bufio.NewScanner(io.LimitReader(resp.Body, maxEvents))
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		var message struct{ Method string }
		if ok && json.Unmarshal(data, &message) == nil && message.Method == "notifications/resources/list_changed" {
			changed()
		}
	}
	return lines.Err()
}
