package distcmd

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/internal/test/registrytest"
)

// TestPullSigned checks that pull applies the trust rules, also to releases that are already in the
// store.
func TestPullSigned(t *testing.T) {
	s := newSigning(t)
	source := "oci://" + s.host + "/acme/skills:prod"
	expect := func(status int, want string, args ...string) {
		t.Helper()
		stdout, stderr, got := s.run(append([]string{"pull", source}, args...)...)
		if text := s.said.Replace(stdout + stderr); got != status || !strings.Contains(text, want) {
			t.Errorf("knack pull %s: status %d\n%s\nwant %d\n%s", strings.Join(args, " "), got, text, status, want)
		}
	}
	const refusal = "is not signed, and ~/.config/knack/knack.yaml:2 takes only releases that a.pub signed\nask its publisher"
	digest := s.release("1")
	expect(0, `"signature": "unsigned"`, "--json")
	s.rule("a.pub", true)
	expect(1, refusal)
	expect(1, refusal, "--dry-run")
	expect(1, "no signer is recorded for it, and ~/.config/knack/knack.yaml:2 takes only releases that a.pub signed\nrun the command once without --offline", "--offline")
	s.sign(digest, digest, "a")
	expect(0, "unchanged: ") // except for the signer
	expect(0, `"signer": "KEY-a"`, "--json")
	expect(0, "unchanged: ", "--offline")
	s.put("home/.config/knack/knack.yaml", "")
	bundle, err := trust.Sign(s.keys["a"], digest)
	if err != nil {
		t.Fatal(err)
	}
	registrytest.Attach(t, s.host, "acme/skills", s.release("2"), trust.Bundle, bundle)
	expect(1, "has a signature that is of another release")
}

// TestPullTwice checks that the store keeps the signer of a release from one repository, even if
// another repository has the same release without a signature.
func TestPullTwice(t *testing.T) {
	s := newSigning(t)
	digest := s.release("1", "a")
	if other := registrytest.Release(t, s.host, "other/skills", "prod", 1, registrytest.Skills{"pdf/SKILL.md": registrytest.Skill("pdf", "1")}, nil); other != digest {
		t.Fatal("two releases")
	}
	s.rule("a.pub", true)
	expect := func(repo, want string, args ...string) {
		t.Helper()
		stdout, stderr, status := s.run(append([]string{"pull", "--json", "oci://" + s.host + "/" + repo + "/skills:prod"}, args...)...)
		if text := s.said.Replace(stdout + stderr); status != 0 || !strings.Contains(text, want) {
			t.Errorf("%s: status %d\n%s\nwant %s", repo, status, text, want)
		}
	}
	expect("acme", `"signer": "KEY-a"`)
	expect("other", `"signature": "unsigned"`)
	expect("acme", `"signer": "KEY-a"`, "--offline")
	expect("acme", `"signer": "KEY-a"`)
	expect("other", `"signature": "unsigned"`, "--offline")
}

// TestPublishCopySigned checks that a second copy reports the signatures that it sent, if the
// source was signed after the first copy.
func TestPublishCopySigned(t *testing.T) {
	s := newSigning(t)
	from, to := "oci://"+s.host+"/acme/skills:prod", "oci://"+s.host+"/mirror/skills:prod"
	expect := func(want string, flags ...string) {
		t.Helper()
		stdout, stderr, status := s.run(append([]string{"publish", from, to}, flags...)...)
		if status != 0 || !strings.Contains(stdout, want) {
			t.Errorf("publish %s: status %d\n%s%s\nwant %s", flags, status, stdout, stderr, want)
		}
	}
	digest := s.release("1")
	expect("copied to " + to + ": ")
	expect("unchanged: " + to + ": ")
	s.sign(digest, digest, "a")
	expect("would copy to "+to+": ", "--dry-run")
	expect("1 manifest of signatures would be sent\n", "--dry-run")
	expect(`"unchanged": false`, "--dry-run", "--json")
	expect("copied to " + to + ": ")
	expect(`"unchanged": true`, "--json")
	s.sign(digest, digest, "b")
	expect(`"statements": 1`, "--json")
	expect("unchanged: " + to + ": ")
}
