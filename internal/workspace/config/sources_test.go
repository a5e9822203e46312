package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSources(t *testing.T) {
	c, problems := Parse([]byte(`sources:
  - name: acme
    from: oci://registry.example.com/acme/skills:prod
    forward-only: true
    min-version: v1.4.0
  - {name: "42", from: ./skills}
store: {dir: /var/lib/knack, keep: 90m}
poll: 1m30s
`))
	want := Config{Sources: []Source{
		{Name: Word{"acme", at(2, 11)}, From: Word{"oci://registry.example.com/acme/skills:prod", at(3, 11)}, ForwardOnly: true, MinVersion: "v1.4.0", Position: at(2, 5)},
		{Name: Word{"42", at(6, 12)}, From: Word{"./skills", at(6, 24)}, Position: at(6, 5)},
	}, Store: Store{"/var/lib/knack", 90 * time.Minute}, Poll: 90 * time.Second}
	if diff := cmp.Diff(want, c); diff != "" || len(problems) > 0 {
		t.Error(problems, diff)
	}
	other, _ := Parse([]byte("store: {keep: 24h}\npoll: 30s\n"))
	if got := other.NeedRestart(c); !slices.Equal(got, []string{"sources", "store.dir", "store.keep", "poll"}) || other.NeedRestart(Config{}) != nil {
		t.Error(got)
	}
}

// TestSourcesRefuses checks that each wrong source has a position and a fix.
func TestSourcesRefuses(t *testing.T) {
	const (
		label   = " | " + aLabel
		write   = " | write a source, for example oci://registry.example.com/acme/skills:prod"
		version = "config-value@1:49 sources[0].min-version: sources[0].min-version is no version | write a version with three numbers, such as 1.4.0"
		list    = "write a list: each item on its own line after a hyphen and a space, or all in [ ]"
	)
	for text, want := range map[string]string{
		"sources: {}":                                                    "config-value@1:10 sources: sources is not a list | " + list,
		"sources: []":                                                    "config-value@1:10 sources: sources is empty | name a source, or leave the key out",
		"sources: [{}]":                                                  "config-value@1:11 sources[0].name: sources[0] has no name | write name: and a word for its URIs, for example acme\nconfig-value@1:11 sources[0].from: sources[0] has no from | write from: and the source, for example oci://registry.example.com/acme/skills:prod",
		"sources: [{name: a, form: x/y}]":                                "config-key@1:21 sources[0].form: there is no key 'form' in sources[0] | did you mean from?",
		"sources: [{name: A, from: x/y}]":                                "config-value@1:18 sources[0].name: sources[0].name is not a label" + label,
		"sources: [{name: a, from: 7}]":                                  "config-value@1:27 sources[0].from: sources[0].from is not text" + write,
		"sources: [{name: a, from: oci://x}]":                            "config-value@1:27 sources[0].from: sources[0].from cannot be used: the oci: source names no registry and repository | write oci://REGISTRY/REPOSITORY, then :TAG or @sha256:DIGEST if you mean one",
		"sources: [{name: a, from: x/y}, {name: a, from: x/z}]":          "config-value@1:40 sources[1].name: a is the name of the source on line 1 | give each source and each root a name of its own",
		"sources: [{name: a, from: x/y}, {name: b, from: x/y}]":          "config-value@1:49 sources[1].from: sources[1].from is the source on line 1 too | leave one of them out: the skills would be served twice",
		"roots: [{dir: a, label: a}]\nsources: [{name: a, from: x/y}]":   "config-value@2:18 sources[0].name: a is the label of the root on line 1 | give each source and each root a name of its own",
		"sources: [{name: abcdef, from: x/y, min-version: 1.4}]":         strings.Replace(version, "1:49", "1:50", 1),
		"sources: [{name: abcde, from: x/y, min-version: '1.4.0.0'}]":    version,
		"sources: [{name: abcde, from: x/y, min-version: skills@1.4.0}]": version,
		"sources: [{name: a, from: x/y, forward-only: yes}]":             "config-value@1:46 sources[0].forward-only: sources[0].forward-only is not true or false | write true or false",
		"store: {dir: ~/knack}":                                          "config-value@1:14 store.dir: store.dir begins with ~, which no shell replaces here | write the whole path; for a folder of this name ./~/knack",
		"store: {keep: 1s}":                                              "config-value@1:15 store.keep: '1s' is not such a time | write hours, such as 24h, from 1h to 8760h",
		"store: {keep: 24}":                                              "config-value@1:15 store.keep: '24' is not such a time | write hours, such as 24h, from 1h to 8760h",
		"poll: 30":                                                       "config-value@1:7 poll: '30' is not such a time | write seconds or minutes, such as 30s, from 1s to 1h",
		"poll: 0s":                                                       "config-value@1:7 poll: '0s' is not such a time | write seconds or minutes, such as 30s, from 1s to 1h",
	} {
		_, problems := Parse([]byte(text))
		var got []string
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%s@%s %s: %s | %s", p.Rule, p.Position, p.Field, p.Message, p.Fix))
		}
		if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	many := "sources:\n"
	for i := range maxSources + 1 {
		many += fmt.Sprintf("  - {name: s%d, from: x/s%d}\n", i, i)
	}
	if _, problems := Parse([]byte(many)); len(problems) != 1 || problems[0].Message != "sources has more than 64 sources" {
		t.Error(problems)
	}
}
