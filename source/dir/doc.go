// Package dir finds skills in local folders and reads them without ever
// leaving them.
//
// A [Source] scans one root and yields a [skill.Bundle] for each skill. Each
// bundle's file system is one contained folder: every open of a skill's file, on
// every surface, goes through the methods of that type in open.go and nowhere
// else.
//
// Contained means: a name is resolved link by link here, to a path that holds
// no link, no ".." and no dot-entry, and the kernel is then asked for exactly
// that path beneath the skill's folder, links forbidden. What is swapped in
// between makes the open fail; it cannot redirect it. Hard links are outside of
// this promise: a hard link is the file itself, and whoever can make one could
// already read or copy the file.
package dir
