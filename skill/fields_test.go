package skill

import (
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// TestMissingField checks that the message about a missing field names a misspelt key, and no
// unrelated word.
func TestMissingField(t *testing.T) {
	for block, want := range map[string]string{
		"name: a\ndescripton: d\n":        "description-missing@3:1 description: description is missing; the key 'descripton' is probably a misspelling of it | write the key as description:",
		"naem: a\ndescription: d\n":       "name-missing@2:1 name: name is missing; the key 'naem' is probably a misspelling of it | write the key as name:",
		"\u00a0name: a\ndescription: d\n": `name-missing@2:1 name: name is missing; the key "\u00a0name" only looks like it | write the key as name:`,
		"name: a\ndes\u200bcription: d\n": `description-missing@3:1 description: description is missing; the key "des\u200bcription" only looks like it | write the key as description:`,
		"n\u0430me: a\ndescription: d\n":  `name-missing@2:1 name: name is missing; the key "n\u0430me" only looks like it | write the key as name:`,
		"名称: a\ndescription: d\n":         "name-missing@2:1 name: name is missing; the key '名称' is in another script, and no client knows it | write the key name: in English; add a line name: a",
		"Name: a\ndescription: d\n":       "name-missing@2:1 name: name is missing; the key 'Name' is a different key | write the key in lower case: name:",
		"name: a: b\ndescription: d\n":    "name-syntax@2:8 name: the name cannot be read: an unquoted value contains a colon and a space | put the value in quotes: name: '…'",
		// One fault is reported once.
		"name: a\ndescription: d\nmetadata:\n  a: b: c\n": "yaml-syntax@5:7 metadata: an unquoted value contains a colon and a space | put the value in quotes: a: '…'",
	} {
		s := loaded("---\n" + block + "---\n")
		difftest.Same(t, said(s.Problems), []string{want}, block)
	}
}

// TestOddCharactersAreSaid checks that messages name invisible characters.
func TestOddCharactersAreSaid(t *testing.T) {
	const fields = "name: a\ndescription: d\n---\n"
	for text, want := range map[string]string{
		"\u00a0---\n" + fields: "1:1 before the opening --- there is the space U+00A0, which YAML does not accept as a space (delete it)",
		"---\u200b\n" + fields: "1:4 after the opening --- there is the invisible character U+200B (delete it)",
		"\u200b---\n" + fields: "1:1 before the opening --- there is the invisible character U+200B (delete it)",
		"---\u00a0\n" + fields: "1:4 after the opening --- there is the space U+00A0, which YAML does not accept as a space (delete it)",
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
		difftest.Same(t, p.Position.String()+" "+p.Message+" ("+p.Fix+")", want, text)
	}
}

// TestInvocationHidden checks that a key with an invisible or look-alike character keeps a skill
// from models, like the plain key.
func TestInvocationHidden(t *testing.T) {
	for _, key := range []string{"disable-model-invocation\u200b", "\u00a0disable-model-invocation", "dis\u0430ble-model-invocation", "disable\u2011model\u2011invocation"} {
		if s := loaded("---\nname: a\ndescription: d\n" + key + ": true\n---\n"); s.ModelInvocable || !hasRule(s.Problems, frontmatter.Invocation) {
			t.Errorf("%q: %t %+v", key, s.ModelInvocable, s.Problems)
		}
	}
}
