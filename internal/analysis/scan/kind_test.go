package scan

import (
	"strings"
	"testing"
)

func TestKindOf(t *testing.T) {
	for _, test := range []struct {
		path, content string
		want          fileKind
	}{
		{"SKILL.md", "# A\n", kindMarkdown},
		{"a.MARKDOWN", "# A\n", kindMarkdown},
		{"a.mdx", "# A\n", kindMarkdown},
		{"a.sh", "echo\n", kindShell},
		{"install.command", "echo\n", kindShell},
		{"a.fish", "echo\n", kindShell},
		{"a.ps1", "ls\n", kindLines},
		{"a.BAT", "dir\r\n", kindLines},
		{"a.ps1", "#!/usr/bin/env pwsh\n", kindLines},
		{"a.pth", "import a\n", kindPython},
		{"a.txt", "#!/bin/sh\n", kindShell},
		{"a.txt", "#!/usr/bin/env python3\n", kindPython},
		{"scripts/run", "ls\n", kindShell},
		{"a.zip!bin/run", "ls\n", kindShell},
		{"scripts/LICENSE", "Apache License\n", kindText},
		{"assets/run", "ls\n", kindText},
		{"scripts/run.conf", "ls\n", kindText},
		{"a.py", "#!/bin/sh\n", kindPython},
		{"a.tsx", "let a\n", kindJavaScript},
		{"a.cjs", "let a\n", kindJavaScript},
		{"a.json", "{}", kindSettings},
		{"a.toml", "a = 1", kindSettings},
		{"a.svg", "<svg/>", kindText},
		{"run", "#!/bin/bash -e\n", kindShell},
		{"run", "#!/usr/bin/env python3\n", kindPython},
		{"run", "#!/usr/bin/env -S A=b python3.12 -u\n", kindPython},
		{"run", "#! /usr/bin/env node\n", kindJavaScript},
		{"run", "#!/usr/bin/awk -f sh\n", kindText},
		{"run", "#!", kindText},
		{"empty", "", kindText},
		{"logo.png", "#!/bin/sh\n", kindShell},
		{"logo.png", "GIF89a as a text", kindText},
		{"SKILL.md", "GIF89a as a text", kindMarkdown},
		{"SKILL.md", "GIF89a\x00 as none", kindMarkdown},
		{"SKILL.md", "MZ is no program", kindMarkdown},
		{"a.md", "\xff\xfe#\x00", kindMarkdown},
		{"a", "caf\xe9", kindText},
		{"a.png", "\x89PNG\r\n\x1a\n\x00", kindBinary},
		{"a", "\xff\xd8\xff\xe0\x00", kindBinary},
		{"a", "RIFF\x00\x00\x00\x00WEBP", kindBinary},
		{"a", "RIFF\x00\x00\x00\x00WAVE", kindBinary},
		{"a.docx", plainZip, kindArchive},
		{"a.txt", plainZip, kindArchive},
		{"a", "\x1f\x8b\x08\x00", kindArchive},
		{"a", strings.Repeat("\x00", 257) + "ustar", kindArchive},
		{"a.tar", "\x00\x01", kindArchive},
		{"logo.png", "\x7fELF\x02\x01\x01\x00", kindProgram},
		{"a.md", "\x7fELF\x02\x01\x01\x00", kindProgram},
		{"a", peOf(), kindProgram},
		{"a", "MZ\x00" + strings.Repeat("\x00", 100), kindBinary},
		{"a", "\xcf\xfa\xed\xfe\x07\x00\x00\x01", kindProgram},
		{"a", "\xca\xfe\xba\xbe\x00\x00\x00\x02", kindProgram},
		{"a", "\xca\xfe\xba\xbe\x00\x00\x00\x41", kindProgram},
		{"a", "\x00asm\x01\x00\x00\x00", kindProgram},
		{"a", "dex\n035\x00", kindProgram},
		{"a.pyc", "\x00\x01", kindProgram},
		{"a", "\x00\x01", kindBinary},
	} {
		if got := kindOf(test.path, []byte(test.content)); got != test.want {
			t.Errorf("%s %.20q: kind %d, want %d", test.path, test.content, got, test.want)
		}
	}
	if programOf([]byte("\xca\xfe\xba\xbe\x00\x00\x00\x41")) != javaClass {
		t.Error("a class is no class")
	}
}

func peOf() string {
	return "MZ" + strings.Repeat("\x00", 0x3a) + "\x40\x00\x00\x00PE\x00\x00"
}

func TestMatters(t *testing.T) {
	for path, want := range map[string]bool{
		"SKILL.md": true, "skill.md": true, "a.sh": true, "lib/a.py": true, "a.mjs": true, "a.ps1": true, "scripts/run": true, "bin/x/run": true,
		"a.zip!scripts/run": true, "a.zip!a.SH": true,
		"references/SKILL.md": false, "a.zip!SKILL.md": false, "a.md": false, "a.json": false, "run": false, "scripts/a.png": false, "LICENSE": false,
	} {
		if got := matters(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
