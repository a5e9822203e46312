package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// row is one line of the table.
type row struct{ what, elsewhere, target, got, verdict string }

const (
	met    = "met"
	missed = "**missed**"
)

func judge(got, limit float64) string {
	if got <= limit {
		return met
	}
	return missed
}

// grown is one line of the growth table, in milliseconds and MB.
type grown struct {
	n                       int
	initialize, list, floor float64
	listed, searched        float64
}

// page is what a run found.
type page struct {
	begun  time.Time
	rounds int
	load   string // of the machine, before the run
	rows   []row
	growth []grown
	peers  []string
}

func (b *bench) growthTable() (out []grown) {
	for _, n := range b.growth {
		if len(b.samples[key("list", n)]) > 0 {
			out = append(out, grown{n, b.median(key("init", n)), b.median(key("list", n)), b.median(key("skillmd", n)), b.median(key("listed", n)), b.median(key("searched", n))})
		}
	}
	return out
}

// save writes the page and its plot.
func (p page) save(file string) error {
	plotted := ""
	if len(p.growth) > 1 {
		plotted = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) + ".svg"
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), plotted), plot(p.growth), 0o644); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := p.write(&b, plotted); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// bounds says what keeps calls from their floors. Its figures were taken with the
// profiles that it names.
const bounds = `
## What bounds the start

Of the processor time for the first list of a thousand skills (` + "`perf record`" + ` of the process, warm) 57 % are the scan's system calls: reading folders 20 %, opening 17 %, the rest closing, stamps, reading
and the way into the kernel. A folder and a ` + "`SKILL.md`" + ` take five system calls each, half of what the skillmd floor makes, whose opens are the Go library's. What the
floor does not do at all is a tenth: each file is hashed (7 %), looked through once for all that is asked of its bytes (1 %), parsed and judged (3 %). At 10,000 skills the system calls are 60 %, hashing 10 %,
all other judging 5 %, collections 2 %, and what comes after the last file 2 %: the order, the names, the books, on both processors where it can be. Both are busy until then: the whole takes 420 to 490 ms of processor
time, of which 150 to 175 are the process's own and the rest the system's, where the floor's whole comes to some 400. The hash alone is 50. For 100,000 it takes 3.3 to 3.5 s,
1.8 to 2.0 of them the system's, where the floor takes 2.3 to 3.5 by what else the machine does, 0.6 to 0.7 of them its own: what the system does is the same for both, and the hash alone is another 0.5. ` + "`initialize`" + ` does not wait for a tree with more than 1,500 folders side by side; what is left of it is the start
of the process.

A thousand skills have 2,923 folders. Their system calls alone, made bare by one thread that knows each path beforehand, take 25 ms of one processor here, so 12.5 ms of both; a process with ten skills
takes 7 to 8 before it has any. That leaves 2 ms of the target for hashing, parsing and judging a thousand files, for the memory that they need, and for all that one processor does alone, of which the whole takes
25 ms of one processor. The target was set on a machine where the skillmd floor of 10,000 took 160 to 200 ms; here that of a thousand is 21.5 ms when nobody else uses it. To hash a file only when somebody asks
for its digest would save 6 %, and each file would be read again for the discovery index and for every look that compares it; it is not done.

Of the processor time of a process with ten skills 39 % are page faults, some 1,270: 820 of them fresh memory, 280 the binary's pages. A quarter of it is the packages' variables
(` + "`GODEBUG=inittrace=1`" + `: 3 to 4.4 ms where somebody else uses the machine), nearly all of them in libraries, of which goldmark has a quarter, and a tenth is the runtime's own start. To have the pages
all at once would take more memory, which is near its target too. No garbage is collected before the first list of a library of up to a thousand skills. ` + "`initialize`" + ` alone waits for the start, and until
the tree shows that it is large: by what the file system counts as links to the folders in those below the root, by what 32 folders of a level hold, or by 1,500 folders.

A client waits 2 s for the first list at most. Where the skills take longer to be read, as 100,000 do here, a list without them comes then, and a notice when they are there;
what is measured is the list with them. Of so many skills nothing but ` + "`SKILL.md`" + ` is laid out, so that neither has other files to pass by,
and a skill among 100,000 takes less time than one among 10,000.

Of the most memory, 14 to 15 MB are pages of the binary, which the system maps as a whole and shares between processes. 10,000 skills live in 10 MB, and the first scan collects when as much again is garbage.

Of 100,000 skills 90 MB live, in 3.3 objects each (a heap profile): 40 are frontmatters, 14 the skills, 12 their bundles, which a skill and the next refresh share, 9 the entries and the books that find them by name
and URI, 4 paths, 3 what tells whether a folder has changed. URIs are made when they are asked for. The index adds 30, and for a moment 15 more, when its largest part is merged out of two: that is the most. The collector
has 15 % of it, and some 15 MB are its own and pages in use in part only. While skills are read the heap may be 32 MB larger than what lives as long as it stays below 112 MB, since the index takes more than that in any
case: with 15 % there too, collections took a tenth of the user time until the first list (2.13 s, and 1.93 without; three runs each, interleaved, on a busy machine), and the most was the same.

## What bounds manifests and refreshes

Full manifests of 10,000 skills take 1.1 to 1.2 × the processor time of the *all* floor (quiet, interleaved), though that has neither answers nor a ` + "`SKILL.md`" + ` to judge: the first
` + "`skills/list`" + ` comes while the first scan goes on, and has it hash what it finds ([decision 33](decisions/0033-one-pass.md)). Of it (` + "`perf record`" + ` of the process, to the last page) 39 % opens, reads and
hashes the other files, 23 % opens and reads folders, 16 % reads and judges each ` + "`SKILL.md`" + `, 3 % is the collector's, and some 6 % makes the hundred pages and writes them. The floor does without the last two and most of
the third, and opens each file by its whole path, which costs it nearly as much. The wall clock is 1.2 ×, since one processor works alone now and then: 10 ms until the process has started, some 20 ms between the last file
and the list, and 60 ms for the pages: each is made while the one before it is read, and is half a millisecond's work. To make two at once would need to know where the second begins.

A refresh looks at each folder and, while its path is in the processor's caches, at its ` + "`SKILL.md`" + `, by one ` + "`fstatat`" + ` of 2 µs each; of 100,000 skills that is half a second of one processor, a twelfth less than
all folders and then all files (six runs each, interleaved, on a busy machine). Contract 002 asks for a refresh at least each 30 s, so
that it takes more than 1.5 %: the contract stands, and the 1 % does not. Notices of the system would not replace the looks, as they do not tell of every write, and so many folders may not be watched at once.

Nearly all slow calls fall into a refresh that has something to build or into a collection of the calls' own garbage. No lock is held: a call takes the snapshot by a pointer. A refresh with a change takes
110 ms of one processor, most of it looks, and gives the processor away at each 32nd of them and at each 128th skill that it builds with. In a trace of the server (` + "`runtime/trace`" + `, 10,000 skills, a quiet machine)
the slowest calls wait for workers of the collector, which keep a processor for up to 14 ms while the other has the refresh on it; a call that loads a skill by its name builds nothing that the refresh could have built. Calls of 20 ms and more were ours: the reader had handed
a line on and waited for the next in a read, which keeps its processor, and the other one had the refresh on it; what lay behind the read ran when the runtime looked around after 20 ms. The reader now waits for the only call
that is under way, without a processor, before it reads on ([decision 32](decisions/0032-no-answer-cache.md)). And of all that ran for longer than 0.7 ms without giving its processor away, the watchers went through all their folders for 10 to 14 ms after each
refresh, and a refresh copied its bundles for 23 ms, once, while the collector had each pointer noted. Both are gone, and what is left of the refresh is 6 ms at most. Beside two or three threads that want two processors a call waits for a tick of the kernel, 4 ms, and so does the floor:
its p99.9, between the same calls, is 3.4 to 4.4 ms, and alone on the machine one of 4,626 of its calls took 16 ms.

## What bounds the calls

An answer is given again only after each file that it was made from was looked at, with no link on the way. With ` + "`openat2`" + `, ` + "`fstat`" + ` and ` + "`close`" + ` that takes 2.8 µs of
processor time for a path of nine parts on two cores of an AMD EPYC with Linux 6.18 (the least of 15 measurements under load), of which 1.3 µs are to open and to close; with one ` + "`fstatat`" + ` of the whole path
1.2 µs, and 0.2 µs for the question whether a folder on the way was moved, without which it would follow a link ([decision 32](decisions/0032-no-answer-cache.md)). So a look is these two. Calls that have all arrived share the question,
and one open root, below which ` + "`fstatat`" + ` takes 0.9 µs. Finding the id, the key, the kept answer and the copy into the batch are 0.3 µs and no allocation.

One at a time over stdio a call is four calls of the system, ` + "`read`" + `, the question, ` + "`fstatat`" + ` and ` + "`write`" + `, all by the thread that reads (` + "`strace`" + `). On a quiet machine the floor took 6.5 µs, a floor with the question and one
` + "`fstatat`" + ` of the whole path added to it 9.8 (1.5 ×), and knack 9.6 in the same runs. Of what was added ` + "`fstatat`" + ` is 2.2 µs, the question 0.45, and the rest what they cost others: a process that has just been woken has
little of the path in its caches. Below an open folder ` + "`fstatat`" + ` took 1.7 µs. So the target, which leaves 2 µs for everything, is less than one look by path. Nothing but a look that sees less
would take that away: notices of changes to files miss what is written through a mapping or another name, and a descriptor that is held sees no mount. To poll for the next line instead of sleeping made calls 2.5 × as long
where two processors were busy. The client waits in a read too: through Go's poller it sleeps once more where the answer comes later than it spins, and the same server took 1.76 × a floor of 8.1 µs.

Over HTTP the look of one file and all else that is ours is a quarter of the server's time or less, and the rest net/http's own: as many allocations as a bare handler. The manifest of a skill (skills/get) is made from all its files and folders, which are all looked at,
5.7 on average here: names that come and go change the folders' stamps, and contents those of the files. A floor to which exactly these looks were added took 1.56 × as long as the floor for skills/get (32.5 µs of 20.8), 1.18 × for resources/read and 1.11 × for tools/call,
where knack took 1.69, 1.24 and 1.24 × in the same run on a quiet machine. So a target of 1.25 × cannot be met for skills/get by looking at every file. The looks made without telling Go's scheduler of them, which must not be done where a disk may hang, took 1.4 to 1.6 ×.
In a profile of the server 28 % is the looks and 13 % all else that is ours.

The p99 over HTTP is not the collector's: without any collection (` + "`GOGC=off`" + `) it is the same, 4.7 ms, and with the looks added the floor's is 4.2 to 4.4 ms. Client and server have more threads to run than there are processors, and this kernel takes a processor
from a thread at a tick of 4 ms (250 Hz): the figures fit one call in a hundred that waits for a tick, which was not traced. The floor's own is anything from 1.9 to 4.1 ms, so that the ratio says more about the floor's luck.
`

func (p page) write(out io.Writer, plotted string) error {
	var b strings.Builder
	fmt.Fprintf(&b, `# Performance

Written by `+"`make bench`"+` on %s: %s; load %s before the run.
Each figure is the median of %d rounds or more, in which knack and its floor took turns; a ratio is to the floor of the same run. Trees have the
figures of real skills (`+"`internal/genskills`"+`); of 100,000 skills only the SKILL.md are laid out. The page cache is warm.

The floors are programs that do the least that the work asks for (`+"`bench/floor`"+`): *stat* walks a tree and looks at each file, *skillmd* reads every
SKILL.md, *all* reads and hashes every file, with twice as many workers as processors; *stdio* and *HTTP* (net/http) write the very bytes that knack answered.

| what | elsewhere | target | measured | |
|---|---|---|---|---|
`, p.begun.UTC().Format("2006-01-02"), machine(), p.load, p.rounds)
	for _, r := range p.rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.what, r.elsewhere, r.target, r.got, r.verdict)
	}
	if slices.ContainsFunc(p.rows, func(r row) bool {
		return strings.Contains(r.target, "stdio floor") || strings.Contains(r.target, "HTTP floor")
	}) {
		b.WriteString(bounds)
	}
	if len(p.growth) > 0 {
		b.WriteString("\n## Growth\n\n| skills | initialize | first tools/list | skillmd floor | peak memory, listed | searched |\n|---:|---:|---:|---:|---:|---:|\n")
		for _, g := range p.growth {
			fmt.Fprintf(&b, "| %s | %.1f ms | %.1f ms | %.1f ms | %.1f MB | %.1f MB |\n", count(g.n), g.initialize, g.list, g.floor, g.listed, g.searched)
		}
		if plotted != "" {
			fmt.Fprintf(&b, "\n![From the start of the process to its answers, by the number of skills](%s)\n", plotted)
		}
	}
	b.WriteString("\n## Peers\n\n")
	for _, peer := range p.peers {
		fmt.Fprintf(&b, "- %s\n", peer)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// loadNow is how many others want the processors: where there are any, only the
// ratios say something, and those little.
func loadNow() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(data), " ")
	return first
}

// machine names what the figures hold for.
func machine() string {
	cpu := "unknown processor"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(data), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			cpu = strings.Trim(line, " \t:")
		}
	}
	memory := ""
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kb int
		if _, err := fmt.Sscanf(string(data), "MemTotal: %d kB", &kb); err == nil {
			memory = fmt.Sprintf(", %d GB", kb>>20)
		}
	}
	release := ""
	if data, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		release, _, _ = strings.Cut(strings.TrimSpace(string(data)), "-")
		release = " " + release
	}
	return fmt.Sprintf("%d cores of an %s%s, %s%s, %s", runtime.GOMAXPROCS(0), cpu, memory, runtime.GOOS, release, runtime.Version())
}

// count writes a number with its thousands apart.
func count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
