package stdio

import (
	"testing"
)

// TestStdioStuckCallIsTakenBack checks that a call whose work hangs, for example on a disk, is
// answered when it is cancelled, and not again later. Its place and its id are then free.
func TestStdioStuckCallIsTakenBack(t *testing.T) {
	server := newStdioTools()
	s := startStdio(t, server, &Transport{MaxInFlight: 1})
	s.initialize()
	s.send(stdioCall("1", "stuck"))
	server.await(t, 1)
	s.send(stdioPing("2"))
	s.want("2", -32000) // busy
	s.send(stdioCancel("1"), stdioCancel("1"))
	s.want("1", -32603)
	s.send(stdioCall("1", "echo"))
	s.want("1", 0)
	close(server.open)
	s.silent()
	must(t, s.end())
	if extra := len(s.out.messages); extra != 0 {
		t.Errorf("%d answers too many", extra)
	}
}
