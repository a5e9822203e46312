package mcpclient

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLists checks the bounds on a server's list of tools.
func TestLists(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"endless": "the server's list of tools has more than 1,000 pages",
		"many":    "the server lists more than 1,000 tools, or more than 4 MiB of them",
		"large":   "the server lists more than 1,000 tools, or more than 4 MiB of them",
		"page":    "the answer is larger than 4 MiB",
	} {
		c := connected(t, as("legacy "+kind), options(t))
		list, err := c.Tools(t.Context())
		if err == nil || err.Error() != "files: "+want || list != nil {
			t.Errorf("%s: %d tools, %v\nwant %s", kind, len(list), err, want)
		}
	}
	c := connected(t, as("legacy repeats"), options(t))
	if list, err := c.Tools(t.Context()); err != nil || len(list) != 2 || list[0].Own != "t" || list[1].Own != "tagain" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestTool checks that a definition is made safe for a model and for display.
func TestTool(t *testing.T) {
	c := connected(t, as("legacy odd"), options(t))
	list, err := c.Tools(t.Context())
	want := []Tool{
		{Name: "files__a_b_c", Server: "files", Own: "a.b/c", Description: `Reads\x1b[2J a\u202efile\U000e0041`, Schema: []byte(`{"type":"object"}`)},
		{Name: "files__none", Server: "files", Own: "none", Schema: []byte(`{"type":"object"}`)},
	}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestNames checks that tools that a model could not call are refused, with their names.
func TestNames(t *testing.T) {
	tool := func(server, own string) Tool { return Tool{Name: nameFor(server, own), Server: server, Own: own} }
	long := strings.Repeat("a", MaxName-len("files__"))
	for _, c := range []struct {
		tools     []Tool
		what, fix string
	}{
		{[]Tool{tool("files", "read"), tool("docs", "read"), tool("files", long)}, "", ""},
		{[]Tool{tool("files", long+"b")}, "files: the tool '" + long[:40] + "…' would be called files__" + long + "b, which has 65 characters; a model takes a name and at most 64", "give the server a shorter name in knack.yaml, or leave out --mcp files"},
		{[]Tool{tool("files", "a.b"), tool("docs", "x"), tool("files", "a/b")}, "files: the tools 'a.b' and 'a/b' of the server would both be called files__a_b", "leave out --mcp files, or have the server's operator rename one of them"},
		{[]Tool{tool("files", "a\x1b"), tool("files", "a\u202e")}, "files: the tools 'a' and 'a' of the server would both be called files__a_", "leave out --mcp files, or have the server's operator rename one of them"},
		{[]Tool{tool("files", "")}, "files: the tool '' would be called files__, which has 7 characters; a model takes a name and at most 64", "give the server a shorter name in knack.yaml, or leave out --mcp files"},
	} {
		err := CheckNames(c.tools)
		var e *NameError
		if c.what == "" && err != nil || c.what != "" && (!errors.As(err, &e) || e.What != c.what || e.Fix != c.fix) {
			t.Errorf("%+v\nwant %s | %s", err, c.what, c.fix)
		}
	}
}
