package mcpserver

import (
	"fmt"
	"maps"
)

// Sessions and streams are of bounded number, and last. Nobody gets the last quarter
// of them who has a quarter already: whoever comes for the first one finds room.

// overShare reports whether a client who has own of all has had its share of most.
// The client "" has none that could be had.
func overShare(client string, own, all, most int) bool {
	share := max(most/4, 1)
	return client != "" && own >= share && all >= most-share
}

// sharer is the client that a session or stream counts for: as for [HTTP.Limit], but
// for the networks of IPv6, and "" for who is not limited.
func (h *HTTP) sharer(c caller) string {
	address := c.address
	if h.server.access.Now().Verifier == nil && isLoopback(address) {
		return ""
	}
	return nameOf(c.Subject, networkOf(address))
}

// sessionsOf counts all sessions, and a client's own. It is called with creating held.
func (h *HTTP) sessionsOf(client string) (all, own int) {
	there := map[string]bool{}
	for ss := range h.server.mcp.Sessions() {
		id := ss.ID()
		if id == "" {
			continue
		}
		all++
		there[id] = true
		if h.owners[id] == client {
			own++
		}
	}
	maps.DeleteFunc(h.owners, func(id, _ string) bool { return !there[id] })
	return all, own
}

// takeStream takes a place among the streams, or says why there is none.
func (h *HTTP) takeStream(client string) (no string) {
	h.streaming.Lock()
	defer h.streaming.Unlock()
	own, all := h.streamsOf[client], len(h.streams)
	if overShare(client, own, all, h.o.MaxStreams) {
		return fmt.Sprintf("you have %d of the %d streams that there are, and the rest is for others; end one, or try again later", own, all)
	}
	if !take(h.streams) {
		return "too many streams; end one, or try again later"
	}
	h.streamsOf[client]++
	return ""
}

func (h *HTTP) leaveStream(client string) {
	h.streaming.Lock()
	defer h.streaming.Unlock()
	<-h.streams
	if h.streamsOf[client]--; h.streamsOf[client] == 0 {
		delete(h.streamsOf, client)
	}
}
