package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

const hash = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func TestAccess(t *testing.T) {
	c, problems := Parse([]byte(`access:
  default: deny
  tokens:
    - {hash: ` + hash + `, subject: anna, groups: [billing, "1"]}
  rules:
    - allow: ["skill://common/**"]
    - groups: [billing]
      allow: ["skill://acme/**"]
      deny: ["skill://acme/x"]
    - subjects: [bert]
      deny: ["skill://common/games"]
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	digest, err := skill.ParseDigest(hash)
	if err != nil {
		t.Fatal(err)
	}
	anna := access.Subject{Name: "anna", Groups: []string{"billing", "1"}}
	if diff := cmp.Diff([]access.Credential{{Hash: digest, Subject: anna}}, c.Access.Tokens); diff != "" {
		t.Error(diff)
	}
	for who, sees := range map[*access.Subject]map[string]bool{
		&anna:          {"common/games": true, "acme/y": true, "acme/x": false, "other": false},
		{Name: "bert"}: {"common/games": false, "common/git": true, "acme/y": false},
	} {
		for base, want := range sees {
			e := &catalog.Entry{Skill: &skill.Skill{}, Root: &skill.Root{}, Tail: "/" + base}
			if got := c.Access.Policy.Filter(*who).VisibleIn(&catalog.Snapshot{Entries: []*catalog.Entry{e}})(e); got != want {
				t.Errorf("%s sees %s: %v", who.Name, base, got)
			}
		}
	}
	if c, problems := Parse([]byte("access:\n  tokens: [{hash: " + hash + ", subject: a}]\n")); len(problems) > 0 || c.Access.Policy != nil || len(c.Access.Tokens) != 1 {
		t.Errorf("without rules all see all: %+v %v", c, problems)
	}
}

// TestAccessOmits checks that a configuration is not accepted in place of another if a key is
// missing and skills that were hidden would be shown.
func TestAccessOmits(t *testing.T) {
	const rules = "rules: [{subjects: [ann], deny: [\"skill://vault/**\"]}]"
	const opens, closes = "access: {default: allow, " + rules + "}", "access: {default: deny, rules: [{allow: [\"skill://**\"]}]}"
	parse := func(text string) Access {
		t.Helper()
		c, problems := Parse([]byte(text))
		if len(problems) > 0 {
			t.Fatalf("%s: %v", text, problems)
		}
		return c.Access
	}
	for _, c := range []struct{ before, now, want string }{
		{opens, "", "access.default"},
		{opens, "\ufeff", "access.default"},
		{opens, " \n\n", "access.default"},
		{opens, "# " + opens, "access.default"},
		{opens, "limits: {rate: 0}", "access.default"},
		{opens, "access:", "access.default"},
		{opens, "access: {}", "access.default"},
		{opens, "access: {tokens: [{hash: " + hash + ", subject: ann}]}", "access.default"},
		{opens, "access: {default: allow}", "access.rules"},
		{opens, "access: {default: allow, rules: []}", ""},
		{opens, "access: {default: deny}", ""}, // hides more
		{opens, closes, ""},
		{opens, opens, ""},
		{closes, "", "access.default"},
		{closes, "access: {default: allow}", "access.rules"},
		{"access: {default: deny}", "", "access.default"},
		{"access: {default: deny}", "access: {default: allow}", ""}, // the section had no rules
		{"access: {default: allow, rules: []}", "", ""},
		{"access: {tokens: [{hash: " + hash + ", subject: ann}]}", "", ""},
		{"", "", ""},
		{"", opens, ""},
	} {
		if got := parse(c.before).Omits(parse(c.now)); got != c.want {
			t.Errorf("%q in the place of %q omits %q, want %q", c.now, c.before, got, c.want)
		}
	}
}

func TestAccessRefuses(t *testing.T) {
	const noDefault = "config-value@2:3 access.default: access has rules and no default for the skills that no rule matches | write default: deny, or default: allow"
	const list = "write a list: each item on its own line after a hyphen and a space, or all in [ ]"
	for text, want := range map[string]string{
		"default: no":            "config-value@2:12 access.default: access.default is not allow or deny | write allow or deny",
		"defualt: deny":          "config-key@2:3 access.defualt: there is no key 'defualt' in access | did you mean default?",
		"tokens: x":              "config-value@2:11 access.tokens: access.tokens is not a list | " + list,
		"tokens: [{subject: a}]": "config-value@2:12 access.tokens[0]: access.tokens[0] lacks its hash or its subject | write hash: sha256:… as 'knack token new' prints it, and subject: with a name",
		"tokens: [{hash: knack_secret, subject: a}]":                                   "config-value@2:19 access.tokens[0].hash: access.tokens[0].hash is not the hash of a token | write sha256: and 64 lower-case hexadecimal digits, as 'knack token new' prints them; never the token itself",
		"tokens: [{hash: " + hash + ", subject: 1}]":                                   "config-value@2:101 access.tokens[0].subject: access.tokens[0].subject is not a name | write a name; put it in quotes if YAML reads it as something else",
		"tokens: [{hash: " + hash + ", subject: a}, {hash: " + hash + ", subject: b}]": "config-value@2:105 access.tokens[1]: access.tokens[1] has the hash of the token on line 2 | make a separate token for each subject",
		"tokens: [{hash: " + hash + ", subject: a, group: [x]}]":                       "config-key@2:104 access.tokens[0].group: there is no key 'group' in access.tokens[0] | did you mean groups?",
		"tokens: [{hash: " + hash + ", subject: a, groups: x}]":                        "config-value@2:112 access.tokens[0].groups: access.tokens[0].groups is not a list | " + list,
		"rules: [{allow: [\"skill://a\"]}]":                                            noDefault,
		"rules: [{subjects: [a]}]":                                                     noDefault + "\nconfig-value@2:11 access.rules[0]: access.rules[0] neither allows nor denies anything | write allow: or deny: with a list of patterns, such as [\"skill://acme/**\"]",
		"rules: [{subjects: [], deny: [\"skill://a\"]}]":                               noDefault + "\nconfig-value@2:22 access.rules[0].subjects: access.rules[0].subjects is empty | give a name, or leave the key out: then the rule applies to all clients",
		"rules: [{deny: [\"acme/**\"]}]":                                               noDefault + "\nconfig-value@2:19 access.rules[0].deny[0]: access.rules[0].deny[0] is not a pattern: it does not begin with skill:// | write the URI of a skill, or one with * and **, such as \"skill://acme/**\"",
		"rules: [{deny: [1]}]":                                                         noDefault + "\nconfig-value@2:19 access.rules[0].deny[0]: access.rules[0].deny[0] is not text | write the URI of a skill, or one with * and **, such as \"skill://acme/**\"",
		// The missing and the wrong keys of a section are reported together.
		"tokens: [{hash: " + hash + ", groups: x}]":                                               "config-value@2:12 access.tokens[0]: access.tokens[0] lacks its hash or its subject | write hash: sha256:… as 'knack token new' prints it, and subject: with a name\nconfig-value@2:100 access.tokens[0].groups: access.tokens[0].groups is not a list | " + list,
		"tokens: [{hash: " + hash + ", subject: a}, {hash: " + hash + ", subject: b, groups: x}]": "config-value@2:105 access.tokens[1]: access.tokens[1] has the hash of the token on line 2 | make a separate token for each subject\nconfig-value@2:205 access.tokens[1].groups: access.tokens[1].groups is not a list | " + list,
		"default: deny\n  rules: [{subjects: [], groups: [g]}]":                                   "config-value@3:11 access.rules[0]: access.rules[0] neither allows nor denies anything | write allow: or deny: with a list of patterns, such as [\"skill://acme/**\"]\nconfig-value@3:22 access.rules[0].subjects: access.rules[0].subjects is empty | give a name, or leave the key out: then the rule applies to all clients",
		"default: deny\n  rules: [x]":                                                             "config-value@3:11 access.rules[0]: access.rules[0] does not consist of keys with values | write each key on its own line, indented, followed by a colon and a space",
	} {
		c, problems := Parse([]byte("access:\n  " + text + "\n"))
		got := linesOf(problems)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if c.Access.Policy != nil || c.Access.Tokens != nil {
			t.Errorf("%s: something of it holds", text)
		}
		if strings.Contains(got, "knack_secret") {
			t.Error("a token is repeated")
		}
	}
}

// TestExpires checks the expiry day of a token, and the warning before it.
func TestExpires(t *testing.T) {
	file := func(day string) string {
		return "access:\n  tokens:\n    - {hash: " + hash + ", subject: anna, expires: " + day + "}\n"
	}
	c, problems := Parse([]byte(file("2027-01-31")))
	if len(problems) > 0 || !c.Access.Tokens[0].Expires.Equal(time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)) {
		t.Fatal(c, problems)
	}
	for day, want := range map[string]string{
		"2026-12-31": "",
		"2027-01-01": "access.tokens[0]: the token of anna is refused from 2027-01-31 on: 'knack token new' makes another",
		"2027-01-31": "access.tokens[0]: the token of anna has been refused since 2027-01-31: delete it; 'knack token new' makes another",
	} {
		now, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Access.Ending(now), "|"); got != want {
			t.Errorf("%s: %q", day, got)
		}
	}
	for _, day := range []string{"never", "2027-02-30", "31.1.2027", "20270131", "[2027-01-31]", ""} {
		if _, problems := Parse([]byte(file(day))); len(problems) != 1 || !strings.HasPrefix(problems[0].Message, "access.tokens[0].expires is not a day") {
			t.Errorf("%s: %v", day, problems)
		}
	}
}
