package stdio

import (
	"testing"
)

// A cancellation may spell the id of a call in any way, and is ignored if there is no such
// call.
func TestStdioCancellationsNameTheirCall(t *testing.T) {
	server := newStdioTools()
	s := startStdio(t, server, &Transport{})
	s.initialize()
	s.send(stdioCall("1", "gate"), stdioCall(`"\u0032"`, "gate"))
	server.await(t, 2)
	s.send(stdioCancel("7"), stdioCancel("1.0"))
	s.want("1", -32603)
	s.send(stdioCancel(`"2"`))
	s.want(`"2"`, -32603)
	s.silent()
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

// A call whose work hangs, for example on a disk, is answered once it is cancelled, and only
// then. Its place and its id are free again.
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
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if extra := len(s.out.messages); extra != 0 {
		t.Errorf("%d answers too many", extra)
	}
}
