package skill

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/ruleid"
	"github.com/knack-dev/knack/skill/frontmatter"
)

func TestSuggestName(t *testing.T) {
	for in, want := range map[string]string{
		"größe": "grosse", "GRÖSSE": "grosse", "Crème brûlée": "creme-brulee", "Ærø & Łódź": "aero-lodz", "İstanbul": "istanbul", "ﬁle": "file",
		"数学": "my-skill", "数学 helper 2": "helper-2", "δelta force": "force", "CI/CD Pipeline": "ci-cd-pipeline", "--help": "help", "..": "my-skill", "": "my-skill",
		"kradleverse:act": "kradleverse-act", "a__b": "a-b", "Con": "con-skill", "con 1": "con-1", strings.Repeat("a", 63) + " b": strings.Repeat("a", 63), strings.Repeat("é", 70): strings.Repeat("e", 64),
	} {
		got := SuggestName(in)
		if got != want || !ValidName(got) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A misspelt key of a missing field is named; another word is not.
func TestMissingField(t *testing.T) {
	for block, want := range map[string]string{
		"name: a\ndescripton: d\n":        "description-missing@3:1 description: description is missing; the key 'descripton' is nearly that | write the key so: description:",
		"naem: a\ndescription: d\n":       "name-missing@2:1 name: name is missing; the key 'naem' is nearly that | write the key so: name:",
		"\u00a0name: a\ndescription: d\n": `name-missing@2:1 name: name is missing; the key "\u00a0name" only looks like it | write the key so: name:`,
		"name: a\ndes\u200bcription: d\n": `description-missing@3:1 description: description is missing; the key "des\u200bcription" only looks like it | write the key so: description:`,
		"n\u0430me: a\ndescription: d\n":  `name-missing@2:1 name: name is missing; the key "n\u0430me" only looks like it | write the key so: name:`,
		"名称: a\ndescription: d\n":         "name-missing@2:1 name: name is missing; the key '名称' is in another script, and no client knows it | write the key name: in English; add a line name: a",
		"Name: a\ndescription: d\n":       "name-missing@2:1 name: name is missing; the key 'Name' is another one | write the key in lower case: name:",
		"name: a: b\ndescription: d\n":    "name-syntax@2:8 name: the name cannot be read: a value without quotes holds a colon and a blank | put the value in quotes: name: '…'",
		// One fault is reported once.
		"name: a\ndescription: d\nmetadata:\n  a: b: c\n": "yaml-syntax@5:7 metadata: a value without quotes holds a colon and a blank | put the value in quotes: a: '…'",
	} {
		s := loaded("---\n" + block + "---\n")
		diff(t, block, said(s.Problems), []string{want})
	}
}

// A name that any YAML reader takes for another type is quoted.
func TestNameField(t *testing.T) {
	for name, want := range map[string]string{
		"git": "name: git", "a1": "name: a1", "3d-print": "name: 3d-print", "nullable": "name: nullable", "on-call": "name: on-call",
		"null": "name: 'null'", "true": "name: 'true'", "yes": "name: 'yes'", "off": "name: 'off'", "n": "name: 'n'", "123": "name: '123'",
		"0": "name: '0'", "0x10": "name: '0x10'", "0o7": "name: '0o7'", "1e5": "name: '1e5'", "2024-01-01": "name: '2024-01-01'",
	} {
		if got := NameField(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if f, _ := frontmatter.Parse([]byte("---\n" + NameField(name) + "\n---\n")).Field("name"); f.Value.Kind != frontmatter.String || f.Value.Text != name {
			t.Errorf("%s is read as %+v", name, f.Value)
		}
	}
}

// Invisible characters are named.
func TestOddCharactersAreSaid(t *testing.T) {
	const fields = "name: a\ndescription: d\n---\n"
	for text, want := range map[string]string{
		"\u00a0---\n" + fields: "1:1 before the opening --- stands the space U+00A0, which is no blank to YAML (delete it)",
		"---\u200b\n" + fields: "1:4 behind the opening --- stands the character U+200B, which cannot be seen (delete it)",
		"\u200b---\n" + fields: "1:1 before the opening --- stands the character U+200B, which cannot be seen (delete it)",
		"---\u00a0\n" + fields: "1:4 behind the opening --- stands the space U+00A0, which is no blank to YAML (delete it)",
		"----\n" + fields:      "1:1 the frontmatter opens with 4 hyphens, not three (write three hyphens: ---)",
		"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n": "1:1 the file is a pointer of Git LFS; its text was not fetched (run git lfs pull)",
		"\xff\xfe-\x00-\x00-\x00\n\x00":                                      "1:1 the file is UTF-16, not UTF-8 (save it as UTF-8, in an editor or with: iconv -f UTF-16 -t UTF-8)",
		"-\x00-\x00-\x00\n\x00":                                              "1:1 the file is UTF-16LE, not UTF-8 (save it as UTF-8, in an editor or with: iconv -f UTF-16LE -t UTF-8)",
		"\xff\xfe\x00\x00-\x00\x00\x00":                                      "1:1 the file is UTF-32, not UTF-8 (save it as UTF-8, in an editor or with: iconv -f UTF-32 -t UTF-8)",
		"\x00\x00\xfe\xff\x00\x00\x00-":                                      "1:1 the file is UTF-32, not UTF-8 (save it as UTF-8, in an editor or with: iconv -f UTF-32 -t UTF-8)",
		"-\x00\x00\x00-\x00\x00\x00":                                         "1:1 the file is UTF-32LE, not UTF-8 (save it as UTF-8, in an editor or with: iconv -f UTF-32LE -t UTF-8)",
		"\x00\x00\x00-\x00\x00\x00-":                                         "1:1 the file is UTF-32BE, not UTF-8 (save it as UTF-8, in an editor or with: iconv -f UTF-32BE -t UTF-8)",
		"---\nname: \"a\\u200b\"\ndescription: d\n---\n":                     `2:7 the folder is called 'a', not "a\u200b" (write name: a)`,
		"---\nname: \u0430b\ndescription: d\n---\n":                          `2:7 the folder is called 'a', not "\u0430b" (write name: a)`,
		"---\nname: größe\ndescription: d\n---\n":                            `2:7 the folder is called 'a', not 'größe' (write name: a)`,
	} {
		s := loaded(text)
		if len(s.Problems) == 0 {
			t.Fatalf("%q: nothing is said", text)
		}
		p := s.Problems[len(s.Problems)-1]
		diff(t, text, p.Position.String()+" "+p.Message+" ("+p.Mend+")", want)
	}
}

// A key with an invisible character keeps a skill from models like the plain key.
func TestInvocationHidden(t *testing.T) {
	for _, key := range []string{"disable-model-invocation\u200b", "\u00a0disable-model-invocation", "dis\u0430ble-model-invocation", "disable\u2011model\u2011invocation"} {
		if s := loaded("---\nname: a\ndescription: d\n" + key + ": true\n---\n"); s.ModelInvocable || !has(s.Problems, ruleid.Invocation) {
			t.Errorf("%q: %t %+v", key, s.ModelInvocable, s.Problems)
		}
	}
}
