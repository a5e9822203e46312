//go:build linux

package safety

import (
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// entry is a file, link or folder in a skill's folder.
type entry struct {
	path string // below the skill's folder
	// inside is the content that an answer may contain. If it is empty, no answer may contain
	// anything of the entry.
	inside string
}

// forest is a tree of hostile skills. The skill "victim" has every entry, and other skills have an
// entry as their SKILL.md. Around them are files that must not be read.
type forest struct {
	root     string // the folder that is served
	entries  []entry
	faulty   []string // folders whose SKILL.md is no regular file of the skill
	canaries map[string]canary
	env      []string
	untried  []string
}

// plantForest makes the tree. It records the entries that the machine refuses as untried.
func (r *trial) plantForest() *forest {
	r.Helper()
	base := r.dir()
	f := &forest{root: filepath.Join(base, "skills"), canaries: map[string]canary{
		"a file outside": newCanary("outside"), "another skill's file": newCanary("sibling"),
		"a dot-file": newCanary("dot"), "the environment": newCanary("environ"), "a file of /etc": {forms: []string{"root:x:0", "cm9vdDp4OjA6"}},
	}}
	f.env = []string{"KNACK_TEST_CANARY=" + f.canaries["the environment"].text}
	outside, sibling, dot := f.canaries["a file outside"].text, f.canaries["another skill's file"].text, f.canaries["a dot-file"].text
	r.write(base, map[string]string{
		"outside/file.txt": outside, "outside/deep/file.txt": outside, "outside/SKILL.md": skillMD("outside", outside),
		"skills/sibling/SKILL.md": skillMD("sibling", "Its files are its own."), "skills/sibling/private.md": sibling,
		"skills/victim/SKILL.md": skillMD("victim", "Read me."), "skills/victim/docs/in.md": "INSIDE docs", "skills/victim/.env": dot,
		"skills/victim/.git/config": dot, "skills/victim/docs/.hidden/x.md": dot,
	})
	f.links(r, base)
	f.special(r)
	f.names(r)
	f.skillFiles(r, base)
	for _, u := range f.untried {
		r.untry("%s", u)
	}
	return f
}

func (f *forest) victim() string { return filepath.Join(f.root, "victim") }

func (f *forest) add(path, inside string) { f.entries = append(f.entries, entry{path, inside}) }

// links makes links of every shape to everything that must not be read: at the top, in a folder,
// and through another link. A link to a folder is also an entry with a file's name after it.
func (f *forest) links(r *trial, base string) {
	file, folder := filepath.Join(base, "outside/file.txt"), filepath.Join(base, "outside")
	depth := strings.Repeat("../", strings.Count(base, "/")+2)
	targets := []string{
		"../../outside/file.txt", file, "../../outside", folder, "../../outside/deep", "..", "../..", "/",
		"../sibling/private.md", "../sibling", filepath.Join(f.root, "sibling/private.md"),
		"../../../outside/file.txt", "docs/../../../outside/file.txt", "./.././../outside/./file.txt", "//" + file, file + "/", "../../outside/file.txt/.",
		depth + "etc/passwd", "/etc/passwd", "/etc", "/proc/self/environ", "/proc/self", "/proc/self/root" + file, "/proc/self/root", "/proc/self/cwd", "/proc/self/fd/0",
		"/proc/thread-self/environ", "/proc/1/environ", "/dev/stdin", "/dev/fd", "/dev/zero", "/dev/random", "/dev/tty",
		".env", "docs/../.env", ".git", ".git/config", "docs/.hidden", "docs/.hidden/x.md",
		strings.Repeat("docs/../", 500) + "../../outside/file.txt", strings.Repeat("x", 4000), "nothing", "../../nothing", "/nothing/at/all",
		"..\\..\\outside\\file.txt", "C:\\outside\\file.txt", "\\\\host\\share\\file.txt", "file://" + file, "%2e%2e/%2e%2e/outside/file.txt",
	}
	for i, target := range targets {
		name := fmt.Sprintf("link-%02d", i)
		within := target
		if !strings.HasPrefix(target, "/") {
			within = "../" + target
		}
		r.must(os.Symlink(target, filepath.Join(f.victim(), name)))
		r.must(os.Symlink(within, filepath.Join(f.victim(), "docs", name)))
		r.must(os.Symlink(name, filepath.Join(f.victim(), "via-"+name)))
		for _, p := range []string{name, "docs/" + name, "via-" + name} {
			f.add(p, "")
		}
		for _, below := range []string{"file.txt", "private.md", "environ", "config", "x.md", "outside/file.txt", "etc/passwd", "victim/.env"} {
			// Only paths that exist for a reader that follows links.
			if _, err := os.Stat(filepath.Join(f.victim(), name, below)); err == nil {
				f.add(name+"/"+below, "")
			}
		}
	}
	// Links that form loops and chains.
	for name, target := range map[string]string{
		"loop": "loop", "ping": "pong", "pong": "ping", "here": ".", "up-here": "docs/..", "in": "docs/in.md", "docs/up": "../SKILL.md", "folder-in": "docs",
	} {
		r.must(os.Symlink(target, filepath.Join(f.victim(), name)))
	}
	f.add("loop", "")
	f.add("ping", "")
	f.add("loop/x", "")
	f.add("in", "INSIDE docs")
	f.add("folder-in/in.md", "INSIDE docs")
	f.add("here/here/up-here/docs/in.md", "INSIDE docs")
	f.add("docs/up", "Read me.")
	f.add("docs/in.md", "INSIDE docs")
	for i := range 60 {
		r.must(os.Symlink(fmt.Sprintf("chain-%02d", i+1), filepath.Join(f.victim(), fmt.Sprintf("chain-%02d", i))))
	}
	r.must(os.Symlink(file, filepath.Join(f.victim(), "chain-60")))
	for _, i := range []int{0, 19, 20, 21, 59} {
		f.add(fmt.Sprintf("chain-%02d", i), "")
	}
	// A hard link to another file looks the same as the skill's own file.
	r.write(base, map[string]string{"linked.txt": "INSIDE by a hard link"})
	r.must(os.Link(filepath.Join(base, "linked.txt"), filepath.Join(f.victim(), "hard.txt")))
	f.add("hard.txt", "INSIDE by a hard link")
}

// special makes files that block, never end or are too large.
func (f *forest) special(r *trial) {
	at := func(name string) string {
		f.add("special/"+name, "")
		return filepath.Join(f.victim(), "special", name)
	}
	r.must(os.MkdirAll(filepath.Join(f.victim(), "special"), 0o755))
	try := func(what string, err error) {
		if err != nil {
			f.untried = append(f.untried, what+": "+err.Error())
		}
	}
	r.must(unix.Mkfifo(at("pipe.md"), 0o644))
	r.must(os.Symlink("pipe.md", at("pipe-link.md")))
	r.must(f.socket(at("socket.md")))
	try("a character device", unix.Mknod(at("zero.md"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))))
	try("a character device", unix.Mknod(at("tty.md"), unix.S_IFCHR|0o666, int(unix.Mkdev(5, 0))))
	try("a device without a driver", unix.Mknod(at("nodriver.md"), unix.S_IFCHR|0o666, int(unix.Mkdev(4000, 1))))
	try("a block device", unix.Mknod(at("disk.md"), unix.S_IFBLK|0o666, int(unix.Mkdev(7, 7))))
	r.must(os.Mkdir(at("folder.md"), 0o755))
	sparse := at("sparse-1TiB.bin")
	r.must(os.WriteFile(sparse, nil, 0o644))
	try("a sparse file of 1 TiB", os.Truncate(sparse, 1<<40))
	r.must(os.WriteFile(at("over.bin"), make([]byte, 16<<20+1), 0o644))
	r.must(os.WriteFile(at("growing.log"), []byte("x"), 0o644))
	deep := strings.Repeat("d/", 200)
	r.must(os.MkdirAll(filepath.Join(f.victim(), deep), 0o755))
	r.must(os.WriteFile(filepath.Join(f.victim(), deep, "bottom.md"), []byte("INSIDE 200 folders"), 0o644))
	f.add(deep+"bottom.md", "INSIDE 200 folders")
}

func (f *forest) socket(at string) error {
	short, err := os.MkdirTemp("", "k") // the path of a socket must be short
	if err != nil {
		return err
	}
	defer os.RemoveAll(short)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short + "/s"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	return os.Rename(short+"/s", at)
}

// oddNames lists names that collide, reorder text, drive a terminal, or have a meaning on another
// system. Each file contains its own number, so that a test notices an answer with another file.
var oddNames = []string{
	"README.md", "readme.md", "Readme.MD", "caf\u00e9.md", "cafe\u0301.md", "\u212bngstrom.md", "\u00c5ngstrom.md", "K.md", "\u212a.md", "stra\u00dfe.md", "strasse.md", "\u0130.md", "\u0131.md",
	"CON", "NUL.txt", "aux.md", "COM1", "LPT9.md", "a:b.md", "C:x.md", "trailing.", "trailing ", " leading.md", "a|b<c>d\"e?.md", "star*.md",
	"new\nline.md", "tab\t.md", "cr\r.md", "\x01control.md", "\x1b[2J\x1b]0;title\x07.md", "\x7f.md", "\u0085.md", "\u2028.md",
	"\u202egnp.md", "\u2066isolate\u2069.md", "\u200bzero.md", "\ufeffmark.md", "\U000e0041tag.md", "back\\slash.md", "..\\up.md",
	"%2e%2e", "%2e%2e%2foutside.md", "%00.md", "100%.md", "+plus.md", "?query.md", "#fragment.md", "a&b.md", "<!skill>.md", "{brace}.md", "'quote'.md", "`tick`.md", "$(id).md",
	"...", "..up.md", "-rf.md", "--help", "~.md", "@.md", "\xff\xfe.md", "bad\xc0\xaf.md", strings.Repeat("n", 255), strings.Repeat("\u00e9", 127), "SKILL.md.md", "skill.MD.txt",
	"node_modules", "desktop.ini", "Thumbs.db", "file.txt:stream",
}

func (f *forest) names(r *trial) {
	folder := filepath.Join(f.victim(), "names")
	r.must(os.MkdirAll(folder, 0o755))
	for i, name := range oddNames {
		inside := fmt.Sprintf("INSIDE name %03d.", i)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(inside), 0o644); err != nil {
			f.untried = append(f.untried, fmt.Sprintf("a file named %q: %v", name, err))
			continue
		}
		f.add("names/"+name, inside)
	}
}

// skillFiles makes skills with a hostile SKILL.md, and folders that are links to something other
// than a skill.
func (f *forest) skillFiles(r *trial, base string) {
	special := filepath.Join(f.victim(), "special")
	for name, put := range map[string]func(at string) error{
		"md-link-out":    func(at string) error { return os.Symlink("../../outside/SKILL.md", at) },
		"md-link-abs":    func(at string) error { return os.Symlink(filepath.Join(base, "outside/file.txt"), at) },
		"md-link-sib":    func(at string) error { return os.Symlink("../sibling/private.md", at) },
		"md-environ":     func(at string) error { return os.Symlink("/proc/self/environ", at) },
		"md-passwd":      func(at string) error { return os.Symlink("/etc/passwd", at) },
		"md-loop":        func(at string) error { return os.Symlink("SKILL.md", at) },
		"md-dangling":    func(at string) error { return os.Symlink("nothing.md", at) },
		"md-pipe":        func(at string) error { return unix.Mkfifo(at, 0o644) },
		"md-pipe-link":   func(at string) error { return os.Symlink(filepath.Join(special, "pipe.md"), at) },
		"md-socket":      f.socket,
		"md-zero":        func(at string) error { return unix.Mknod(at, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))) },
		"md-folder":      func(at string) error { return os.Mkdir(at, 0o755) },
		"md-sparse":      func(at string) error { return hollow(at, 1<<40) },
		"md-two-mib":     func(at string) error { return hollow(at, 2<<20) },
		"md-dot":         func(at string) error { return os.Symlink("../victim/.env", at) },
		"md-\x1b[31mred": func(at string) error { return os.WriteFile(at, []byte("no frontmatter"), 0o644) },
		"md-\u202ertl":   func(at string) error { return os.WriteFile(at, []byte("no frontmatter"), 0o644) },
		"md-\nline":      func(at string) error { return os.WriteFile(at, []byte("no frontmatter"), 0o644) },
	} {
		at := filepath.Join(f.root, name, "SKILL.md")
		r.must(os.MkdirAll(filepath.Dir(at), 0o755))
		if err := put(at); err != nil {
			f.untried = append(f.untried, name+": "+err.Error())
			continue
		}
		f.faulty = append(f.faulty, name)
	}
	// Folders with cycles of links.
	for name, target := range map[string]string{"round": ".", "round-up": "..", "round-root": "../skills", "mutual-a": "mutual-b", "mutual-b": "mutual-a", "gone": "nothing"} {
		r.must(os.Symlink(target, filepath.Join(f.root, name)))
	}
}

// hollow makes a sparse file of the given size.
func hollow(at string, size int64) error {
	if err := os.WriteFile(at, nil, 0o644); err != nil {
		return err
	}
	return os.Truncate(at, size)
}

// hostilePaths returns paths that a client may request. None of them is a file of the skill.
func hostilePaths(base string) []string {
	out := filepath.Join(base, "outside/file.txt")
	paths := []string{
		"..", "../", "../..", "../../outside/file.txt", "../sibling/private.md", "../../../../../../../../../../etc/passwd", "/etc/passwd", out, "//" + out, "file://" + out,
		"docs/../../../outside/file.txt", "docs/../../sibling/private.md", "./../../outside/file.txt", "docs/./../.././../outside/file.txt", "....//....//outside/file.txt",
		"..\\..\\outside\\file.txt", "..\\../..\\outside/file.txt", "docs\\..\\..\\..\\outside\\file.txt", "\\etc\\passwd", "C:\\Windows\\win.ini", "C:/Windows/win.ini", "c:outside", "\\\\?\\C:\\x", "\\\\host\\share\\x", "//host/share/x",
		"%2e%2e/%2e%2e/outside/file.txt", "%2e%2e%2f%2e%2e%2foutside%2ffile.txt", "..%2f..%2foutside%2ffile.txt", "%252e%252e%252f%252e%252e%252foutside%252ffile.txt", "..%5c..%5coutside%5cfile.txt", "%c0%ae%c0%ae/outside",
		"../../outside/file.txt\x00.md", "SKILL.md\x00", "docs/in.md\x00/../../../../outside/file.txt", "\x00", "docs/in.md/../../../../outside/file.txt", "SKILL.md/../../sibling/private.md", "SKILL.md/..", "SKILL.md/.",
		".env", "./.env", "docs/../.env", ".git/config", "docs/.hidden/x.md", "docs/../docs/.hidden/x.md", ".", "", " ", "/", "//", "...", "~/.ssh/id_rsa", "~root/.bashrc", "$HOME/x", "${KNACK_TEST_CANARY}", "%KNACK_TEST_CANARY%", "$(cat /etc/passwd)", "`cat /etc/passwd`",
		"/proc/self/environ", "/proc/self/cwd/../outside/file.txt", "/dev/stdin", "/dev/fd/0", "\u2025/\u2025/outside/file.txt", "\uff0e\uff0e/\uff0e\uff0e/outside/file.txt", "..\u2215..\u2215outside\u2215file.txt", "..\u2044..\u2044outside",
		"\u202e../../outside/file.txt", "..\n/..\n/outside/file.txt", ".. /.. /outside/file.txt", "../../outside/file.txt ", "..;/..;/outside/file.txt", "?/../../outside/file.txt", "#/../../outside/file.txt",
		strings.Repeat("../", 2000) + "etc/passwd", strings.Repeat("docs/../", 2000) + "../../outside/file.txt", strings.Repeat("a/", 3000), strings.Repeat("x", 5000), strings.Repeat("/", 5000) + "etc/passwd",
	}
	return append(paths, path.Join("victim", "..", "sibling", "private.md"))
}
