// Package dir finds skills in local folders and reads them without ever
// leaving them.
//
// A [Source] scans one root and yields a [skill.Bundle] for each skill. Each bundle's
// file system is one contained folder. Every open of a skill's file, on every surface,
// goes through the methods of that type in open.go and nowhere else.
//
// Contained means: a name is resolved link by link here, to a path without links, ".."
// or dot-entries. The kernel is then asked for exactly that path beneath the skill's
// folder, with links forbidden. An entry that is swapped in between makes the open
// fail; it cannot redirect it. Hard links are outside this promise: a hard link is the
// file itself. Any user able to make one could already read or copy the file.
package dir
