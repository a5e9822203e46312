package scan

import (
	"bytes"
	"encoding/binary"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/archive"
	"github.com/knack-dev/knack/skill"
)

// fileKind is the kind of a file. It depends on the bytes, the extension and the first line of the
// file.
type fileKind int

const (
	kindText fileKind = iota
	kindMarkdown
	kindShell
	kindPython
	kindJavaScript // and TypeScript
	kindSettings   // JSON, YAML and TOML
	kindLines      // a language judged line by line
	kindArchive
	kindProgram // an executable of an operating system, or compiled code
	kindBinary  // anything else that is not text
)

// textKinds lists the extensions of texts.
var textKinds = sync.OnceValue(func() map[string]fileKind {
	return map[string]fileKind{
		".md": kindMarkdown, ".markdown": kindMarkdown, ".mdx": kindMarkdown, ".mdown": kindMarkdown, ".mkd": kindMarkdown, ".mdc": kindMarkdown,
		".sh": kindShell, ".bash": kindShell, ".zsh": kindShell, ".ksh": kindShell, ".command": kindShell, ".fish": kindShell,
		".py": kindPython, ".pyw": kindPython, ".pyi": kindPython, ".pth": kindPython,
		".js": kindJavaScript, ".mjs": kindJavaScript, ".cjs": kindJavaScript, ".jsx": kindJavaScript,
		".ts": kindJavaScript, ".mts": kindJavaScript, ".cts": kindJavaScript, ".tsx": kindJavaScript,
		".json": kindSettings, ".jsonc": kindSettings, ".json5": kindSettings, ".ipynb": kindSettings, ".code-workspace": kindSettings,
		".yaml": kindSettings, ".yml": kindSettings, ".toml": kindSettings,
		".ps1": kindLines, ".psm1": kindLines, ".bat": kindLines, ".cmd": kindLines, ".rb": kindLines, ".pl": kindLines, ".php": kindLines, ".lua": kindLines,
		// There is no reader for these languages, so they are read as plain texts.
		".go": kindText, ".rs": kindText, ".c": kindText, ".h": kindText, ".cpp": kindText, ".java": kindText, ".kt": kindText, ".swift": kindText, ".cs": kindText, ".r": kindText, ".jl": kindText, ".sql": kindText,
		".txt": kindText, ".rst": kindText, ".adoc": kindText, ".tex": kindText, ".csv": kindText, ".tsv": kindText, ".jsonl": kindText, ".ndjson": kindText, ".log": kindText,
		".html": kindText, ".htm": kindText, ".xml": kindText, ".xsd": kindText, ".xsl": kindText, ".svg": kindText, ".css": kindText, ".scss": kindText,
		".ini": kindText, ".cfg": kindText, ".conf": kindText, ".env": kindText, ".properties": kindText, ".tf": kindText, ".diff": kindText, ".patch": kindText, ".srt": kindText, ".vtt": kindText,
	}
})

// interpreters maps the programs that a first line with #! can name to the kind of the file.
var interpreters = sync.OnceValue(func() map[string]fileKind {
	return map[string]fileKind{
		"sh": kindShell, "bash": kindShell, "zsh": kindShell, "dash": kindShell, "ksh": kindShell, "ash": kindShell,
		"python": kindPython, "pypy": kindPython, "uv": kindPython,
		"node": kindJavaScript, "nodejs": kindJavaScript, "deno": kindJavaScript, "bun": kindJavaScript, "tsx": kindJavaScript, "ts-node": kindJavaScript,
	}
})

// kindOf returns the kind of a file. A file that is readable as text has a kind of text even if it
// begins like a binary file, since a model reads it as text.
func kindOf(name string, data []byte) fileKind {
	ext := extension(name)
	kind, named := textKinds()[ext]
	if isText(data) {
		if named && kind != kindText {
			return kind
		}
		if kind = interpreterKind(data); kind == kindText && isProgramName(name) {
			return kindShell
		}
		return kind
	}
	switch {
	case programOf(data) != "" || ext == ".pyc" || ext == ".pyo":
		return kindProgram
	case archive.Format(data) != "" || ext == ".tar" && len(data) > 0:
		return kindArchive
	case named:
		return kind // the reader for this kind reports that the file is not text
	}
	return kindBinary
}

// extension returns the extension of a path or of an archive's entry, in lower case.
func extension(name string) string { return strings.ToLower(path.Ext(baseOf(name))) }

// baseOf returns the last element of a path or of an archive's entry.
func baseOf(name string) string { return path.Base(name[strings.LastIndexByte(name, '!')+1:]) }

// isText reports whether a file is readable as text: UTF-8, UTF-16 with a byte order mark, or
// bytes without control characters.
func isText(data []byte) bool {
	if isUTF16(data) {
		return len(data)%2 == 0
	}
	if utf8.Valid(data) {
		return bytes.IndexByte(data, 0) < 0
	}
	return !slices.ContainsFunc(data, func(c byte) bool { return c < 0x20 && c != '\t' && c != '\r' && c != '\n' && c != '\f' })
}

// interpreterKind returns the kind of a text by the interpreter in its first line.
func interpreterKind(data []byte) fileKind {
	if !bytes.HasPrefix(data, []byte("#!")) {
		return kindText
	}
	line, _, _ := bytes.Cut(data[:min(len(data), 256)], []byte("\n"))
	for _, word := range strings.Fields(string(line[2:])) {
		word = path.Base(word)
		if kind, ok := interpreters()[strings.TrimRight(word, "0123456789.")]; ok {
			return kind
		}
		if word != "env" && !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return kindText
		}
	}
	return kindText
}

// programOf returns the kind of program that begins with these bytes, or "".
func programOf(data []byte) string {
	has := func(magic string) bool { return bytes.HasPrefix(data, []byte(magic)) }
	switch {
	case has("\x7fELF"):
		return "an ELF program"
	case has("MZ") && isPE(data):
		return "a program for Windows"
	case has("\xfe\xed\xfa\xce"), has("\xfe\xed\xfa\xcf"), has("\xce\xfa\xed\xfe"), has("\xcf\xfa\xed\xfe"):
		return "a Mach-O program"
	case has("\xca\xfe\xba\xbe") && len(data) >= 8:
		// The same bytes begin a Mach-O file for several processors and a Java class. The number
		// here is the number of processors, or else the version of the class format.
		if binary.BigEndian.Uint32(data[4:]) < 20 {
			return "a Mach-O program"
		}
		return javaClass
	case has("\x00asm"):
		return wasmProgram
	case has("dex\n0"):
		return dexCode
	case isPyc(data):
		return pythonCode
	}
	return ""
}

// The descriptions of compiled code that a runtime executes, and not the operating system.
const (
	javaClass   = "a compiled class of Java"
	dexCode     = "compiled code of Android"
	pythonCode  = "compiled Python"
	wasmProgram = "a WebAssembly program"
)

// isPE reports whether a file that begins with MZ has a PE header at the offset that it names. The
// two letters alone do not make a program.
func isPE(data []byte) bool {
	if len(data) < 0x40 {
		return false
	}
	at := uint64(binary.LittleEndian.Uint32(data[0x3c:]))
	return at+4 <= uint64(len(data)) && string(data[at:at+4]) == "PE\x00\x00"
}

// isPyc reports whether a file begins with a magic number of CPython: 2.7 has 62211, and 3.0 to 3.20
// have 3000 to 3999 (Include/internal/pycore_magic_number.h).
func isPyc(data []byte) bool {
	if len(data) < 16 || data[2] != '\r' || data[3] != '\n' {
		return false
	}
	n := binary.LittleEndian.Uint16(data)
	return n == 62211 || n >= 3000 && n < 4000
}

// matters reports whether a skill must not be served if the file with this name could not be
// judged. That is so for the main file and for scripts. A file without an extension is a script if
// its folder is for programs.
func matters(name string) bool {
	if skill.IsEntryName(name) {
		return true
	}
	switch textKinds()[extension(name)] {
	case kindShell, kindPython, kindJavaScript, kindLines:
		return true
	}
	return isProgramName(name)
}

// isProgramName reports whether a file looks like a program: it has no extension, and is in a
// folder for programs. A name with an initial capital does not count, since documents in such
// folders have such names.
func isProgramName(name string) bool {
	base := baseOf(name)
	if extension(name) != "" || base[0] >= 'A' && base[0] <= 'Z' {
		return false
	}
	name = strings.ReplaceAll(name, "!", "/")
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(folder string) bool { return folder == "scripts" || folder == "bin" })
}
