// Package dir finds skills in local folders and reads them without ever leaving them.
//
// A [Source] scans one root and yields a [skill.Bundle] for each skill. Each bundle's file system
// is one contained folder (open.go), through which every surface reads. On Linux, the scan
// (fdHandle.read) and manifests (hash_linux.go) read directly, with openat2 beneath an open folder.
// Other systems use [os.Root].
//
// Contained means that this package resolves a name link by link, to a path without links, ".." or
// dot-entries. Then it asks the kernel for exactly that path beneath the skill's folder, and
// forbids links. If an entry is replaced in between, the open fails, but is not redirected. Hard
// links are outside this promise, because a hard link is the file itself. Any user able to make one
// could already read or copy the file.
package dir
