package git

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestClean checks that a line of git's output is shown without secrets.
func TestClean(t *testing.T) {
	const canary = "hunter2hunter2"
	for line, want := range map[string]string{
		"unable to access 'https://u:" + canary + "@host/x/': failed":       "unable to access 'https://host/x/': failed",
		"unable to access 'https://" + canary + "@host/x?k=" + canary + "'": "unable to access 'https://host/x'",
		"repository 'https://host/a b/' not found":                          "repository 'https://host/a b/' not found",
		"Authorization: Basic " + canary:                                    "Authorization: Basic [redacted]",
		"ghp_" + canary + canary + " is wrong":                              "[redacted] is wrong",
		"bad object 0123456789012345678901234567890123456789":               "bad object 0123456789012345678901234567890123456789",
		"a\x1b[31mb\u202ec":                                                 "",
		"ssh://git@host/x: " + strings.Repeat("long ", 200):                 "",
	} {
		got := clean(line)
		if want != "" && got != want || strings.Contains(got, canary) || strings.ContainsAny(got, "\x1b\n\u202e") || len(got) > 310 {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestReasons checks that the error of a failed run explains the failure, and has git's last line.
func TestReasons(t *testing.T) {
	for text, want := range map[string]string{
		"remote: Repository not found.\nfatal: repository 'https://github.com/a/b/' not found\n":                                                       "there is no such repository, or you may not see it: check its name, and that git can log in. git says: repository 'https://github.com/a/b/' not found",
		"git@github.com: Permission denied (publickey).\r\nfatal: Could not read from remote repository.\n\nPlease make sure\n":                        "the ssh server does not take your key: see that ssh-add -l lists it, or use https. git says: Could not read from remote repository.",
		"Host key verification failed.\nfatal: Could not read from remote repository.\n":                                                               "the key of the ssh server is not known: connect to it once with ssh, and compare the key. git says: Could not read from remote repository.",
		"fatal: unable to access 'https://x/': Could not resolve host: x\n":                                                                            "the name of the server is not known: check it, and your network. git says: unable to access 'https://x/': Could not resolve host: x",
		"fatal: unable to access 'https://x/': server certificate verification failed. CAfile: none CRLfile: none\n":                                   "the server's TLS certificate is not trusted: set http.sslCAInfo in git's settings if it is one of your own. git says: unable to access 'https://x/': server certificate verification failed. CAfile: none CRLfile: none",
		"fatal: write error: No space left on device":                                                                                                  "the disk is full. git says: write error: No space left on device",
		"Receiving objects:  45% (9/20), 1.50 MiB | 2.00 MiB/s\rReceiving objects: 100% (20/20), 2.00 GiB | 1 MiB/s, done.\nfatal: odd":                "git failed at fetch (exit status 1). git says: odd",
		"remote: aborting due to possible repository corruption on the remote side.\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output\n": "the repository at the server is damaged: ask its owner to run git fsck there. git says: fetch-pack: invalid index-pack output",
		"fatal: protocol error: bad pack header\n":                                                                                                     "the repository at the server is damaged: ask its owner to run git fsck there. git says: protocol error: bad pack header",
		"": "git failed at fetch (exit status 1)",
	} {
		var received int64
		said := &transcript{received: func(n int64) error { received = n; return nil }, stop: func(error) {}}
		for len(text) > 0 { // in any pieces
			n := min(len(text), 7)
			fmt.Fprint(said, text[:n])
			text = text[n:]
		}
		if got := said.reason("fetch", errors.New("exit status 1")).Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if strings.HasSuffix(want, "odd") && received != 2<<30 {
			t.Errorf("%d bytes received", received)
		}
	}
}
