package frontmatter

import "testing"

func TestRepair(t *testing.T) {
	for _, c := range []parses{
		{"---\nname: a\ndescription: b: c\n---\n", "{\"name\":\"a\",\"description\":\"b: c\"}", "", []string{
			"yaml-syntax@3:15 description: an unquoted value contains a colon and a space | put the value in quotes: description: '…'",
		}},
		{"---\nname: a\ndescription: Use when: the user asks\n  for more\nlicense: MIT\n---\n", "{\"name\":\"a\",\"description\":\"Use when: the user asks for more\",\"license\":\"MIT\"}", "", []string{
			"yaml-syntax@3:22 description: an unquoted value contains a colon and a space | put the value in quotes: description: '…'",
		}},
		{"---\nname: a\ndescription: > folded text\n  goes on\n---\n", "{\"name\":\"a\",\"description\":\"folded text goes on\"}", "", []string{
			"yaml-syntax@3:16 description: there is text after > on the same line | put the text on the next line, indented, or delete the >",
		}},
		{"---\nname: a\ndescription: | text\n---\n", "{\"name\":\"a\",\"description\":\"text\"}", "", []string{
			"yaml-syntax@3:16 description: there is text after | on the same line | put the text on the next line, indented, or delete the |",
		}},
		{"---\nname: a\ndescription: >- \n  fine\nx: a: b\n---\n", "{\"name\":\"a\",\"description\":\"fine\",\"x\":\"a: b\"}", "", []string{
			"yaml-syntax@5:5 x: an unquoted value contains a colon and a space | put the value in quotes: x: '…'",
		}},
		{"---\nname: a\ndescription: *bold* text\n---\n", "{\"name\":\"a\",\"description\":\"*bold* text\"}", "", []string{
			"yaml-syntax@3:14 description: a value that begins with * must be quoted | put the value in quotes: description: '…'",
		}},
		{"---\nname: a\ndescription: & co\n---\n", "{\"name\":\"a\",\"description\":\"& co\"}", "", []string{
			"yaml-syntax@3:14 description: a value that begins with & must be quoted | put the value in quotes: description: '…'",
		}},
		{"---\nname: a\ndescription: @someone\n---\n", "{\"name\":\"a\",\"description\":\"@someone\"}", "", []string{
			"yaml-syntax@3:14 description: a value that begins with @ must be quoted | put the value in quotes: description: '…'",
		}},
		{"---\nname: a\ndescription: `code` first\n---\n", "{\"name\":\"a\",\"description\":\"`code` first\"}", "", []string{
			"yaml-syntax@3:14 description: a value that begins with ` must be quoted | put the value in quotes: description: '…'",
		}},
		{"---\nname: a\ndescription: %percent\n---\n", "{\"name\":\"a\",\"description\":\"%percent\"}", "", []string{
			"yaml-syntax@3:14 description: a value that begins with % must be quoted | put the value in quotes: description: '…'",
		}},
		{"---\nname: a\ndescription: \"quoted\" and more\n---\n", "{\"name\":\"a\",\"description\":\"\\\"quoted\\\" and more\"}", "", []string{
			"yaml-syntax@3:23 description: there is text after the closing quote | write one pair of quotes around the whole value; inside of single quotes each ' is written twice",
		}},
		{"---\nname: a\ndescription: 'it's fine'\n---\n", "{\"name\":\"a\",\"description\":\"'it's fine'\"}", "", []string{
			"yaml-syntax@3:18 description: there is text after the closing quote | write one pair of quotes around the whole value; inside of single quotes each ' is written twice",
		}},
		{"---\nname: a\ndescription: \"say \"hi\" now\"\n---\n", "{\"name\":\"a\",\"description\":\"\\\"say \\\"hi\\\" now\\\"\"}", "", []string{
			"yaml-syntax@3:20 description: there is text after the closing quote | write one pair of quotes around the whole value; inside of single quotes each ' is written twice",
		}},
		{"---\nname: a\ndescription: [tag] text\n---\n", "{\"name\":\"a\",\"description\":\"[tag] text\"}", "", []string{
			"yaml-syntax@3:20 description: there is text after the closing bracket | put the value in quotes: description: '…'",
		}},
		{"---\nname: a\ndescription: {x} text\n---\n", "{\"name\":\"a\",\"description\":\"{x} text\"}", "", []string{
			"yaml-syntax@3:18 description: there is text after the closing bracket | put the value in quotes: description: '…'",
		}},
		{"---\nname: a\ndescription: one\ntwo three\nlicense: MIT\n---\n", "{\"name\":\"a\",\"description\":\"one two three\",\"license\":\"MIT\"}", "", []string{
			"yaml-syntax@4:1 description: the line is not a field and is not indented under one | indent the lines that continue the value, or quote it",
		}},
		{"---\nname: a\ndescription:\ntwo three\n---\n", "{\"name\":\"a\",\"description\":\"two three\"}", "", []string{
			"yaml-syntax@4:1 description: the line is not a field and is not indented under one | indent the lines of the value",
		}},
		{"---\n<<<<<<< HEAD\nname: a\n=======\nname: b\n>>>>>>> theirs\ndescription: c\n---\n", "{\"name\":\"a\",\"description\":\"c\"}", "", []string{
			"yaml-syntax@2:1 the frontmatter contains a merge conflict marker | resolve the conflict and delete its markers",
			"yaml-duplicate-key@5:1 name: the key 'name' occurs twice; the first, on line 3, counts | delete one of the two",
		}},
		{"---\nname: a\ndescription: one\n<<<<<<< HEAD\nlicense: MIT\n=======\nlicense: BSD\n>>>>>>> theirs\n---\n", "{\"name\":\"a\",\"description\":\"one\",\"license\":\"MIT\"}", "", []string{
			"yaml-syntax@4:1 the frontmatter contains a merge conflict marker | resolve the conflict and delete its markers",
			"yaml-duplicate-key@7:1 license: the key 'license' occurs twice; the first, on line 5, counts | delete one of the two",
		}},
		{"---\nname: a\ndescription:b\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"yaml-syntax@3:12 description: there is no space after the colon of description | put a space after description:",
		}},
		{"---\nname:a\ndescription: b\n---\n", "{\"description\":\"b\"}", "", []string{
			"name-syntax@2:5 name: the name cannot be read: there is no space after the colon of name | put a space after name:",
		}},
		{"---\nname:a\ndescription:b\n---\n", "{\"description\":\"b\"}", "", []string{
			"name-syntax@2:5 name: the name cannot be read: there is no space after the colon of name | put a space after name:",
			"yaml-syntax@3:12 description: there is no space after the colon of description | put a space after description:",
		}},
		{"---\nname: a\ndescription:\"b\"\n---\n", "{\"name\":\"a\",\"description\":\"b\"}", "", []string{
			"yaml-syntax@3:12 description: there is no space after the colon of description | put a space after description:",
		}},
		{"---\nname: a\ndescription: see\nname:b\nx: y: z\n---\n", "{\"name\":\"a\",\"description\":\"see name:b\",\"x\":\"y: z\"}", "", []string{
			"yaml-syntax@4:1 description: the line is not a field and is not indented under one | indent the lines that continue the value, or quote it",
			"yaml-syntax@5:5 x: an unquoted value contains a colon and a space | put the value in quotes: x: '…'",
		}},
		{"---\nname: a\ndescription: - b\n---\n", "{\"name\":\"a\",\"description\":\"- b\"}", "", []string{
			"yaml-syntax@3:14 description: a value that begins with - must be quoted | put the value in quotes: description: '…'",
		}},
		{"---\n- name: a\n description: b\n---\n", "{}", "", []string{
			"yaml-mapping@2:1 the frontmatter is not a mapping of keys to values | write name: and description: between the two --- lines",
			"yaml-syntax@3:2 the line is not indented as the entries of the list above it | indent it as they are, or begin it with -",
		}},
		{"---\nname: a\ndescription: b\nallowed-tools: Read, Write: all\nmetadata:\n  x: y: z\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"allowed-tools\":\"Read, Write: all\",\"metadata\":\"x: y: z\"}", "", []string{
			"yaml-syntax@4:27 allowed-tools: an unquoted value contains a colon and a space | put the value in quotes: allowed-tools: '…'",
			"yaml-syntax@6:7 metadata: an unquoted value contains a colon and a space | put the value in quotes: x: '…'",
		}},
		{"---\nname: a: b\ndescription: c\n---\n", "{\"description\":\"c\"}", "", []string{
			"name-syntax@2:8 name: the name cannot be read: an unquoted value contains a colon and a space | put the value in quotes: name: '…'",
		}},
		{"---\nname: *a\ndescription: c\n---\n", "{\"description\":\"c\"}", "", []string{
			"name-syntax@2:7 name: the name cannot be read: a value that begins with * must be quoted | put the value in quotes: name: '…'",
		}},
		{"---\nname: \"a\" b\ndescription: c\n---\n", "{\"description\":\"c\"}", "", []string{
			"name-syntax@2:11 name: the name cannot be read: there is text after the closing quote | write one pair of quotes around the whole value; inside of single quotes each ' is written twice",
		}},
		{"---\nname: > a\ndescription: c\n---\n", "{\"description\":\"c\"}", "", []string{
			"name-syntax@2:9 name: the name cannot be read: there is text after > on the same line | put the text on the next line, indented, or delete the >",
		}},
		{"---\nname: a\x01b\ndescription: c\n---\n", "{\"description\":\"c\"}", "", []string{
			"name-syntax@2:8 name: the name cannot be read: the character U+0001 is not allowed here | delete the character",
		}},
		{"---\nname: a: b\nname: c\ndescription: d\n---\n", "{\"description\":\"d\"}", "", []string{
			"name-syntax@2:8 name: the name cannot be read: an unquoted value contains a colon and a space | put the value in quotes: name: '…'",
			"yaml-duplicate-key@3:1 name: the key 'name' occurs twice; the first, on line 2, counts | delete one of the two",
		}},
		{"---\nname: a\ndescription: b\nwhen to use: x: y\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"when to use\":\"x: y\"}", "", []string{
			"yaml-syntax@4:15 when to use: an unquoted value contains a colon and a space | put the value in quotes: when to use: '…'",
		}},
		{"---\nname: a\nwhen to use: x: y\ndescription: b\n---\n", "{\"name\":\"a\",\"when to use\":\"x: y\",\"description\":\"b\"}", "", []string{
			"yaml-syntax@3:15 when to use: an unquoted value contains a colon and a space | put the value in quotes: when to use: '…'",
		}},
		{"---\nname: a\ndescription: b\n描述: x: y\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"描述\":\"x: y\"}", "", []string{
			"yaml-syntax@4:6 描述: an unquoted value contains a colon and a space | put the value in quotes: 描述: '…'",
		}},
		{"---\nname: a\ndescription: \"one\nlike: two\"\nx: y: z\n---\n", "{\"name\":\"a\",\"description\":\"one like: two\",\"x\":\"y: z\"}", "", []string{
			"yaml-syntax@5:5 x: an unquoted value contains a colon and a space | put the value in quotes: x: '…'",
		}},
		{"---\nname: a\ndescription: b\nx: {y: z,\nq: r}\nbad: \"a\" b\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":{\"y\":\"z\",\"q\":\"r\"},\"bad\":\"\\\"a\\\" b\"}", "", []string{
			"yaml-syntax@6:10 bad: there is text after the closing quote | write one pair of quotes around the whole value; inside of single quotes each ' is written twice",
		}},
		{"---\n\tname: a\n---\n", "{}", "", []string{
			"yaml-syntax@2:1 there is a tab where YAML requires spaces | use spaces instead of the tab",
			"yaml-mapping@2:1 the frontmatter is not a mapping of keys to values | write name: and description: between the two --- lines",
		}},
		{"---\nname: a\n\tdescription: b\n---\n", "{}", "", []string{
			"name-syntax@3:1 name: the name cannot be read: there is a tab where YAML requires spaces | use spaces instead of the tab",
		}},
		{"---\nname: a\ndescription: b # c: d\nx: y: z # w\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"x\":\"y: z # w\"}", "", []string{
			"yaml-syntax@4:5 x: an unquoted value contains a colon and a space | put the value in quotes: x: '…'",
		}},
		{"---\nstray: a: b\nName: a\nDescription: b\n---\n", "{\"stray\":\"a: b\",\"Name\":\"a\",\"Description\":\"b\"}", "", []string{
			"yaml-syntax@2:9 stray: an unquoted value contains a colon and a space | put the value in quotes: stray: '…'",
		}},
		{"---\nname: a\ndescription: b\nmetadata:\n  x: y\n=======\n  z: v: w\n---\n", "{\"name\":\"a\",\"description\":\"b\",\"metadata\":\"x: y z: v: w\"}", "", []string{
			"yaml-syntax@6:1 the frontmatter contains a merge conflict marker | resolve the conflict and delete its markers",
			"yaml-syntax@7:7 metadata: an unquoted value contains a colon and a space | put the value in quotes: z: '…'",
		}},
	} {
		c.check(t)
	}
}
