package scan

import (
	"bytes"
	"encoding/binary"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
)

// packages lists the extensions of archives that are packages of programs.
var packages = words.Set{Rows: ".jar .war .ear .aar .apk .aab .ipa .whl .egg .conda .vsix .xpi .nupkg .gem .crate .mcpb .dxt"}

// compiledPackages lists the packages with compiled content, which count as programs.
var compiledPackages = words.Set{Rows: ".jar .war .ear .aar .apk .aab .ipa"}

// dataNames lists the extensions of texts, images and data that are not in textKinds.
var dataNames = []string{
	".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico", ".tif", ".tiff", ".avif", ".heic", ".psd",
	".pdf", ".doc", ".docx", ".xls", ".xlsx", ".ppt", ".pptx", ".odt", ".ods", ".rtf", ".epub",
	".mp3", ".mp4", ".wav", ".ogg", ".flac", ".mov", ".avi", ".webm", ".mkv", ".m4a",
	".ttf", ".otf", ".woff", ".woff2", ".zip", ".tar", ".gz", ".tgz", ".dat", ".data", ".db", ".sqlite", ".parquet", ".npy", ".npz", ".pem", ".crt",
}

// program reports a program. It also reports a program with the name of a different kind of file.
func (s *scanner) program(name string, data []byte) {
	kind, ext := programOf(data), extension(name)
	s.Fact(passage.FactBinary, name)
	outer, packed := outerOf(name)
	inPackage := packed && packages.Has(extension(outer))
	_, isText := textKinds()[ext]
	switch {
	case isText || slices.Contains(dataNames, ext):
		s.findFile(passage.ProgramDisguise, name, kind+" has the name of a "+ext+" file")
	case kind == pythonCode || kind == "":
		s.python(name, data)
	case kind == javaClass || kind == dexCode:
		if !inPackage && !s.files[sourceOfClass(name)] {
			s.findFile(passage.Bytecode, name, kind+" has no source beside it")
		}
	case packed && !inPackage && kind != wasmProgram:
		s.findFile(passage.ProgramDisguise, name, kind+" is in an archive that is not a package of a program")
	default:
		s.findFile(passage.Program, name, "the file is "+kind)
	}
}

// python reports compiled Python that has no source beside it. It also reports compiled Python that
// Python runs without checking the source.
func (s *scanner) python(name string, data []byte) {
	switch {
	case programOf(data) == "":
		s.findFile(passage.Bytecode, name, "the file has the name of compiled Python, and another content")
	case !s.files[sourceOfPyc(name)]:
		s.findFile(passage.Bytecode, name, pythonCode+" has no source beside it")
	case binary.LittleEndian.Uint16(data) != 62211 && binary.LittleEndian.Uint32(data[4:])&3 == 1:
		// Such a file contains a hash of its source that Python does not check (PEP 552).
		s.findFile(passage.Bytecode, name, pythonCode+" runs whatever its source is")
	}
}

// sourceOfPyc returns the path of the source of compiled Python (PEP 3147).
func sourceOfPyc(name string) string {
	folder, file := path.Split(name)
	if above, ok := strings.CutSuffix(folder, "__pycache__/"); ok {
		module, _, _ := strings.Cut(file, ".")
		return above + module + ".py"
	}
	return strings.TrimSuffix(name, path.Ext(name)) + ".py"
}

// sourceOfClass returns the path of the source of a Java class. A nested class is in the source of
// its outer class.
func sourceOfClass(name string) string {
	folder, file := path.Split(name)
	class, _, _ := strings.Cut(strings.TrimSuffix(file, path.Ext(file)), "$")
	return folder + class + ".java"
}

// outerOf returns the archive that contains an entry, and whether there is one.
func outerOf(name string) (outer string, packed bool) {
	i := strings.LastIndexByte(name, '!')
	if i < 0 {
		return "", false
	}
	return name[:i], true
}

// macros is the name of the entry of an office file that contains its macros (MS-OFFMACRO2).
const macros = "vbaProject.bin"

// binary reports data for which there is no reader, unless the data is of a usual kind.
func (s *scanner) binary(name string, data []byte) {
	if len(data) == 0 {
		return
	}
	ext := extension(name)
	_, packed := outerOf(name)
	if packed && strings.EqualFold(baseOf(name), macros) {
		s.Fact(passage.FactBinary, name)
		s.findFile(passage.Program, name, "the file has the macros of an office file")
		return
	}
	for _, u := range usual {
		if at := u.at; at <= len(data) && u.magic != "" && bytes.HasPrefix(data[at:], []byte(u.magic)) {
			return
		}
	}
	if slices.Contains(usualNames, ext) || packed && slices.Contains(usualEntries, ext) || packed && strings.HasPrefix(baseOf(name), "printerSettings") {
		return
	}
	s.unjudged(name, "it is binary data of a kind that is not read")
}

// unjudged reports that a file was not judged. If the file is the main file or a script, it also
// records that the skill must not be served.
func (s *scanner) unjudged(name, why string) {
	s.unread = s.unread || matters(name)
	s.notRead(name, why)
}

// usual lists the first bytes of harmless data, which no program runs and no model reads as text.
// Source: magic/Magdir of the program file.
var usual = []struct {
	at    int
	magic string
}{
	{0, "%PDF-"}, {0, "SQLite format 3\x00"}, {0, "PAR1"}, {0, "ARROW1"}, {0, "\x89HDF\r\n\x1a\n"}, {0, "\x93NUMPY"}, {0, "CDF\x01"}, {0, "CDF\x02"}, // documents and data
	{0, "wOFF"}, {0, "wOF2"}, {0, "OTTO"}, {0, "\x00\x01\x00\x00\x00"}, {0, "true\x00"}, {0, "ttcf"}, // fonts
	{0, "\x89PNG\r\n\x1a\n"}, {0, "\xff\xd8\xff"}, {0, "GIF8"}, {0, "BM"}, {0, "\x00\x00\x01\x00"}, {0, "II*\x00"}, {0, "MM\x00*"}, {0, "8BPS"}, {0, "qoif"}, {0, "\xff\x0a"}, {0, "\x76\x2f\x31\x01"}, // images
	{0, "ID3"}, {0, "OggS"}, {0, "fLaC"}, {0, "RIFF"}, {0, "FORM"}, {0, "MThd"}, {0, "\xff\xfb"}, {0, "\xff\xf3"}, {0, "\xff\xf1"}, // sound
	{4, "ftyp"}, {0, "\x1a\x45\xdf\xa3"}, {0, "FLV\x01"}, {0, "\x00\x00\x01\xba"}, // video, and images like HEIC
	{0, "glTF"}, {0, "\xde\x12\x04\x95"}, {0, "\x95\x04\x12\xde"}, {0, "TZif"}, // models, translations, time zones
}

// usualNames lists the extensions of harmless data that does not begin with a magic number of
// [usual].
var usualNames = []string{".mo", ".tga", ".stl", ".pcm", ".pbf", ".mvt", ".shp", ".shx", ".dbf", ".fbx", ".hdr", ".icns", ".ttf", ".eot"}

// usualEntries lists further extensions of harmless data in archives: signatures of a jar, pictures
// of an office file, resources of an app.
var usualEntries = []string{".rsa", ".dsa", ".ec", ".sf", ".emf", ".wmf", ".odttf", ".arsc"}
