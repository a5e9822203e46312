// Package dir finds skills in local folders and reads them without ever
// leaving them.
//
// A [Source] scans one root and yields a [skill.Bundle] for each skill. Each bundle's file system
// is one contained folder (open.go): every surface reads through it. On Linux, the scan
// (fdHandle.read) and manifests (hash_linux.go) bypass it. All of them open with openat2, beneath
// an open folder; other systems use [os.Root].
//
// Contained means: a name is resolved link by link here, to a path without links, ".." or
// dot-entries. The kernel is then asked for exactly that path beneath the skill's folder, with
// links forbidden. An entry that is swapped in between makes the open fail, but cannot redirect it.
// Hard links are outside this promise: a hard link is the file itself. Any user able to make one
// could already read or copy the file.
package dir
