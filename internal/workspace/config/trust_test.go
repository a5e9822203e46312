package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/trust"
)

// TestTrust checks that the rules are decoded, and that faulty rules and rules without effect are
// refused.
func TestTrust(t *testing.T) {
	c, problems := Parse([]byte("trust:\n  - from: oci://R.example/acme/**\n    keys: [acme.pub, next.pub]\n    require: true\n  - {from: \"**\", keys: [all.pub]}\n"))
	acme, err := trust.ParsePattern("oci://r.example/acme/**")
	if err != nil || len(problems) > 0 || len(c.Trust) != 2 {
		t.Fatal(c.Trust, problems, err)
	}
	want := Trust{From: acme, Keys: []Word{{"acme.pub", at(3, 12)}, {"next.pub", at(3, 22)}}, Require: true, Position: at(2, 5)}
	if diff := cmp.Diff(want, c.Trust[0], cmp.AllowUnexported(trust.Pattern{})); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"trust: acme.pub\n":      "config-value@1:8 trust: trust is not a list | write a list: each item on its own line after a hyphen and a space, or all in [ ]",
		"trust:\n  - acme.pub\n": "config-value@2:5 trust[0]: trust[0] does not consist of keys with values | write each key on its own line, indented, followed by a colon and a space",
		"trust:\n  - {require: true}\n": "config-value@2:5 trust[0].from: trust[0] has no from | " + aPattern + "\n" +
			"config-value@2:5 trust[0].keys: trust[0] has no keys | write keys: and the files of public keys, such as [acme.pub]",
		"trust:\n  - {from: oci://r.example/a, keys: []}\n":                "config-value@2:37 trust[0].keys: trust[0].keys is empty | write the files of public keys, such as [acme.pub]",
		"trust:\n  - {from: oci://r.example/a, key: a.pub}\n":              "config-key@2:31 trust[0].key: there is no key 'key' in trust[0] | did you mean keys?",
		"trust:\n  - {from: oci://r.example/a, keys: [~/a.pub]}\n":         "config-value@2:38 trust[0].keys: trust[0].keys has a path that begins with ~, which no shell replaces here | write the whole path; a relative one starts at this file's folder",
		"trust:\n  - {from: github.com/acme/skills, keys: [a.pub]}\n":      "config-value@2:12 trust[0].from: trust[0].from does not begin with oci://, and only registries have signatures | " + aPattern,
		"trust:\n  - {from: oci://r.example/a:prod, keys: [a.pub]}\n":      "config-value@2:12 trust[0].from: trust[0].from has more than the name of a repository: a rule is for all of its tags | " + aPattern,
		"trust:\n  - {from: oci://r.example/a, keys: [a], require: yes}\n": "config-value@2:51 trust[0].require: trust[0].require is not true or false | write true or false",
		"trust:\n  - {from: oci://**, keys: [a.pub]}\n  - {from: oci://r.example/a, keys: [b.pub], require: true}\n": "config-value@3:5 trust[1].from: this rule is never used, since the one on line 2 fits all of oci://r.example/a and comes first | " +
			"put it before that rule, or remove one of them",
		"trust:\n" + strings.Repeat("  - {from: oci://r.example/a, keys: [a.pub]}\n", 2):           "config-value@3:5 trust[1].from: this rule is never used, since the one on line 2 fits all of oci://r.example/a and comes first | put it before that rule, or remove one of them",
		"trust:\n  - {from: oci://r.example/a, keys: [" + strings.Repeat("a, ", maxKeys) + "b]}\n": "config-value@2:86 trust[0].keys: trust[0].keys has more than 16 keys | remove keys that no longer sign",
	} {
		if _, problems := Parse([]byte(text)); linesOf(problems) != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, linesOf(problems), want)
		}
	}
	if _, problems := Parse([]byte("trust:\n" + strings.Repeat("  - {from: x}\n", maxTrust+1))); len(problems) == 0 {
		t.Error("any number of rules is read")
	}
	before, _ := Parse([]byte("trust: [{from: oci://r.example/a, keys: [a.pub]}]\n"))
	after, _ := Parse([]byte("\n\ntrust: [{from: oci://r.example/a, keys: [a.pub], require: true}]\n"))
	if got := after.NeedRestart(before); len(got) != 1 || got[0] != "trust" {
		t.Errorf("%v need a restart", got)
	}
}

// TestApprovals checks that the path of the file of approvals is decoded, and faulty paths refused.
func TestApprovals(t *testing.T) {
	c, problems := Parse([]byte("approvals: etc/a.json\n"))
	if len(problems) > 0 || c.Approvals != (Word{"etc/a.json", at(1, 12)}) {
		t.Error(c.Approvals, problems)
	}
	for text, want := range map[string]string{
		"approvals: [a]\n":                   "config-value@1:12 approvals: approvals is not text | write the path of a file, such as approvals.json",
		"approvals: ''\n":                    "config-value@1:12 approvals: approvals is not text | write the path of a file, such as approvals.json",
		"approvals: ~/a.json\n":              "config-value@1:12 approvals: approvals begins with ~, which no shell replaces here | write the whole path; a relative one starts at this file's folder",
		"usage: {file: x}\napprovals: ./x\n": "config-value@1:15 usage.file: usage.file is the file of approvals | write the path of a file that nothing else uses",
	} {
		if _, problems := Parse([]byte(text)); linesOf(problems) != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, linesOf(problems), want)
		}
	}
}
