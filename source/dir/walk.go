package dir

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/knack-dev/knack/skill"
)

const (
	// maxDepth is the number of levels searched below the root. Half of it would miss 1.9 % of
	// 145,005 skills in 91 public repositories.
	maxDepth = 12
	// maxNotices bounds the notices of one scan, so that a hostile tree cannot fill the memory.
	maxNotices = 1000
)

// maxFolders bounds one scan. It is ten times the largest tree for which a scan is designed. Tests
// change it.
var maxFolders = 1_000_000

// node is a folder to visit. It is small because many exist at the same time.
type node struct {
	path string // as the user sees it, below the root
	sub  string // slash-separated below base, "." for base itself
	*origin
	skill  *node  // the folder of the innermost skill that contains this folder or is this folder
	sum    uint64 // the checksum of its stamp before its entries were read
	proven bool   // the stamp would show a change of its entries
	bundle int32  // 1 + the index of its skill in the scan; 0 if it is not a skill
}

// origin contains the values that all nodes share that were reached through the same link, or
// without one. It is immutable.
type origin struct {
	base   string // real absolute path of the root, or of the target of the last link on the way
	bound  string // real path that links in these folders must not leave
	linked bool   // reached through a link below the root
}

// real returns the real absolute path of a node.
func (p *node) real() string {
	if p.sub == "." {
		return p.base
	}
	separator := string(filepath.Separator)
	return strings.TrimSuffix(p.base, separator) + separator + filepath.FromSlash(p.sub)
}

// folder returns the node as a file system. dev is the device of its file system if that keeps
// stamps, else 0.
func (w *walk) folder(p *node, dev uint64) folder {
	s := w.source
	switch {
	case p.linked:
		alias := filepath.Join(s.opt.Root.Dir, filepath.FromSlash(p.path))
		return folder{location: &location{opener: s.opener, base: p.real(), plain: true, alias: alias, dev: dev}, sub: "."}
	case dev == w.location.dev:
		return folder{location: w.location, sub: p.sub}
	}
	other := *w.location
	other.dev = dev
	return folder{location: &other, sub: p.sub}
}

// locationOf returns the location of the folders that are reached without a link.
func (s *Source) locationOf(real string) *location {
	if s.opt.Within != "" {
		return &location{opener: s.opener, base: real, plain: true, alias: s.opt.Root.Dir}
	}
	return &location{opener: s.opener, base: s.opt.Root.Dir, alias: real}
}

// walk is one scan. It proceeds level by level, so of two paths to one real folder it finds the
// shorter one first. On one level, it visits folders before links, each in path order. It visits
// each real folder once, which ends every loop.
type walk struct {
	source   *Source
	top      handle // the root, open during the scan
	location *location
	real     string            // the root's real path
	load     bool              // load each skill while its folder is open
	seen     map[string]string // maps a real path to the path that reached it first; nil until a link is met
	folders  []*node
	results  []result // results of the last level
	skills   []placedSkill
	scan     skill.Scan
	dropped  int // notices beyond maxNotices

	begun       time.Time
	keepsStamps bool   // the root's file system is known to keep stamps
	dev         uint64 // the device of that file system
	proven      bool   // nothing has shown yet that the stamps may be wrong
	links       []followedLink
	single      bool            // use one worker
	special     map[string]bool // paths of the skills whose entry was not listed as a regular file
}

// foundSkill is a skill as the scan found it.
type foundSkill struct {
	bundle *skill.Bundle
	skill  *skill.Skill // nil if it was not loaded
}

type placedSkill struct {
	foundSkill
	folder int // its index in walk.folders
}

// result is the outcome of a visit. It is small because many exist at the same time.
type result struct {
	foundSkill
	folders []node
	more    *found // the whole outcome, if the visit found more than a skill and folders
}

func resultOf(f *found) result {
	r := result{foundSkill: f.foundSkill, folders: f.folders}
	if len(f.notices) > 0 || len(f.links) > 0 || f.special || f.texts || f.err != nil {
		all := *f
		r.more = &all
	}
	return r
}

// found is the result of one visit.
type found struct {
	foundSkill
	folders []node
	notices []skill.Notice
	links   []followedLink
	special bool // the entry was not listed as a regular file
	texts   bool // files without recorded stamps were read
	err     error
}

func (w *walk) run(ctx context.Context) (skill.Scan, error) {
	level := []*node{{path: ".", sub: ".", origin: &origin{base: w.real, bound: w.real}}}
	for depth := 0; len(level) > 0; depth++ {
		results := w.visitAll(ctx, level)
		if err := ctx.Err(); err != nil {
			return skill.Scan{}, err
		}
		if more := results[0].more; depth == 0 && more != nil && more.err != nil {
			return skill.Scan{}, more.err
		}
		w.folders = append(w.folders, level...)
		level = w.next(level, results, depth)
	}
	// Each level is sorted already, which makes a stable sort fast.
	slices.SortStableFunc(w.skills, func(a, b placedSkill) int { return cmp.Compare(a.bundle.Path, b.bundle.Path) })
	w.scan.Bundles = slices.Grow(w.scan.Bundles, len(w.skills))
	if w.load {
		w.scan.Skills = slices.Grow(w.scan.Skills, len(w.skills))
	}
	for i, s := range w.skills {
		w.folders[s.folder].bundle = int32(i + 1)
		w.scan.Bundles = append(w.scan.Bundles, s.bundle)
		if w.load {
			w.scan.Skills = append(w.scan.Skills, s.skill)
		}
	}
	w.skills = nil
	slices.SortStableFunc(w.scan.Notices, func(a, b skill.Notice) int { return cmp.Compare(a.Path, b.Path) })
	if w.dropped > 0 {
		w.scan.Notices = append(w.scan.Notices, skill.Notice{Path: ".", Rule: ruleNoticesCut,
			Message: fmt.Sprintf("%d further notices are left out", w.dropped)})
	}
	return w.scan, nil
}

// next collects one level's results and returns the folders of the next level.
func (w *walk) next(level []*node, results []result, depth int) []*node {
	folders, skills := 0, 0
	for _, r := range results {
		folders += len(r.folders)
		if r.bundle != nil {
			skills++
		}
	}
	w.skills = slices.Grow(w.skills, skills)
	next := make([]*node, 0, folders)
	for i, r := range results {
		if r.bundle != nil {
			w.skills = append(w.skills, placedSkill{r.foundSkill, len(w.folders) - len(level) + i})
		}
		if more := r.more; more != nil {
			if more.special {
				w.special[r.bundle.Path] = true
			}
			w.proven = w.proven && more.err == nil && !more.texts
			if len(w.links) <= maxSpecial {
				w.links = append(w.links, more.links...)
			}
			w.notice(more.notices...)
		}
		if depth == maxDepth && len(r.folders) > 0 {
			w.notice(skill.Notice{Path: level[i].path, Rule: ruleDepthLimit,
				Message: fmt.Sprintf("folders more than %d levels below the root are not searched", maxDepth),
				Fix:     "move the skills further up, or give this folder as a root"})
			continue
		}
		for j := range r.folders {
			next = append(next, &r.folders[j])
		}
	}
	slices.SortFunc(next, func(a, b *node) int {
		if a.linked != b.linked {
			return map[bool]int{false: -1, true: 1}[a.linked]
		}
		return cmp.Compare(a.path, b.path)
	})
	next = w.unvisited(next)
	if room := max(maxFolders-len(w.folders), 0); len(next) > room {
		w.notice(skill.Notice{Path: ".", Rule: ruleFolderLimit,
			Message: fmt.Sprintf("only the first %d folders are searched", maxFolders),
			Fix:     "give the folders with skills as roots"})
		next = next[:room]
	}
	return next
}

// unvisited leaves out the folders that another path reached first. Only through a link can a
// folder be reached twice. Before the first link, there is nothing to record.
func (w *walk) unvisited(next []*node) []*node {
	if w.seen == nil {
		if !slices.ContainsFunc(next, func(p *node) bool { return p.linked }) {
			return next
		}
		w.seen = make(map[string]string, len(w.folders)+len(next))
		for i := range w.folders {
			w.seen[w.folders[i].real()] = w.folders[i].path
		}
	}
	return slices.DeleteFunc(next, func(p *node) bool { return !w.claim(p) })
}

// claim records that the path of p is the first one to its real folder. If another path was first,
// claim adds a notice and returns false.
func (w *walk) claim(p *node) bool {
	real := p.real()
	first, taken := w.seen[real]
	if taken {
		w.notice(skill.Notice{Path: p.path, Rule: ruleLinkDuplicate,
			Message: fmt.Sprintf("is the same folder as %q, which is the one that is served", first)})
		return false
	}
	w.seen[real] = p.path
	return true
}

// visitAll visits one level's folders in parallel. With two workers for each processor, the
// processors are busy while some workers wait for the disk, and the number of open descriptors is
// bounded. A refresh on a local disk uses one worker. That leaves the other processors to calls.
func (w *walk) visitAll(ctx context.Context, level []*node) []result {
	w.results = slices.Grow(w.results[:0], len(level)) // reused for each level
	out := w.results[:len(level)]
	var at atomic.Int64
	progress := skill.Progress(ctx)
	some := 1 // number of folders that a worker takes in one step, to reduce contention on the counter
	if len(level) >= visitsMany {
		some = visitsAtOnce
	}
	work := func() {
		r := readers.Get().(*reader)
		defer readers.Put(r)
		for ctx.Err() == nil {
			to := int(at.Add(int64(some)))
			from := to - some
			if from >= len(level) {
				return
			}
			to = min(to, len(level))
			for i := from; i < to; i++ {
				found := w.visit(level[i], r)
				progress.Add(1)
				out[i] = resultOf(&found)
			}
			// System calls are too short for the scheduler to preempt them. Without this, a call
			// would wait up to 10 ms, the length of a time slice.
			runtime.Gosched()
		}
	}
	var wg sync.WaitGroup
	workers := 2 * runtime.GOMAXPROCS(0)
	if w.single {
		workers = 1
	}
	for range min(workers, len(level)) {
		wg.Go(work)
	}
	wg.Wait()
	return out
}

// visitsAtOnce is the number of folders that a worker takes in one step on a large level. Visiting
// them takes some tenths of a millisecond. A level is large from visitsMany folders on.
const visitsAtOnce, visitsMany = 8, 512

// visit reads one folder.
func (w *walk) visit(p *node, r *reader) (out found) {
	top, sub := w.top, p.sub
	if p.linked {
		in := w.folder(p, 0)
		h, err := in.enter()
		if err != nil {
			return unreadable(p, err)
		}
		defer h.close()
		top, sub = h, "."
	}
	r.texts = p.path == "."
	h, children, err := r.children(top, sub)
	if h != nil {
		defer h.close()
	}
	if err != nil {
		out = unreadable(p, err)
	}
	p.sum, p.proven = sumOf(r.stamp), w.dev != 0 && r.stamp.Dev == w.dev && !r.stamp.Racy(w.begun)
	if r.git && p.path != "." && linkedWorktree(h, p.real(), w.real) {
		return found{notices: []skill.Notice{{Path: p.path, Rule: ruleWorktree,
			Message: "is a linked worktree of this repository, so its skills are left out", Fix: "to serve them too, name it with --dir"}}}
	}
	slices.SortFunc(children, func(a, b child) int { return cmp.Compare(a.name, b.name) })
	switch spellings := spellings(children); {
	case !w.mayHoldSkill(p.path):
	case len(spellings) > 0:
		w.skill(&out, p, h, r, spellings)
	default:
		w.reportNearMiss(&out, p, h, children)
	}
	children = w.searched(p, children)
	var in lazyFolder
	defer in.close()
	if r.texts && p.skill == nil {
		for _, n := range w.linksAsText(h, children) {
			out.notices, out.texts = append(out.notices, n), true
		}
	}
	w.below(&out, p, children)
	for _, c := range children {
		switch {
		case c.folder:
		case c.link && !skill.IsEntryNameInAnyCase(c.name):
			w.link(&out, p, c.name, &in)
		case !c.link && !c.regular && !skill.IsEntryNameInAnyCase(c.name):
			reportSpecial(&out, p, c)
		}
	}
	return out
}

// skill records the skill in a folder, and loads it while the folder is open. If the entry was
// listed as a regular file and can be read, skill does not examine it first.
func (w *walk) skill(out *found, p *node, h handle, r *reader, spellings []string) {
	dev := uint64(0)
	if w.keepsStamps && r.stamp.Dev == w.dev {
		dev = w.dev
	}
	b := w.bundle(p, spellings, dev)
	out.bundle = b
	p.skill = p
	q, quick := h.(fastHandle)
	out.special = b.Entry != "" && !r.regular(b.Entry)
	if w.load && quick && b.Entry != "" && !out.special {
		data, stamp, err := q.read(b.Entry, skill.MaxSkillMD, r.file)
		if err == nil {
			r.file, b.Stamp = data[:cap(data)], stamp
			out.skill = (&skill.Skill{Bundle: b}).Parsed(data, stamp)
			return
		}
	}
	if b.Entry != "" {
		stamp, fault := examine(h, b.Entry, b.FS.(*folder))
		if b.Stamp = stamp; fault != nil {
			extra := skill.Extra{Others: b.Others(), Link: b.Link(), Fault: fault}
			b.Extra = &extra
		}
	}
}

// regular reports whether an entry was listed as a regular file.
func (r *reader) regular(name string) bool {
	return slices.Contains(r.found, child{name: name, regular: true})
}

// below records the child folders of a folder. The walk visits them one after the other, so they
// and their paths are stored next to each other.
func (w *walk) below(out *found, p *node, children []child) {
	n, size := 0, 0
	for _, c := range children {
		if c.folder {
			n, size = n+1, size+len(p.path)+len("/")+len(c.name)
		}
	}
	if n == 0 {
		return
	}
	out.folders = make([]node, 0, n)
	var paths strings.Builder
	for _, c := range children {
		switch {
		case !c.folder:
			continue
		case !utf8.ValidString(c.name):
			out.notices = append(out.notices, skill.Notice{Path: p.path, Rule: ruleNameNotUTF8,
				Message: fmt.Sprintf("the folder %q is not searched: its name is not valid UTF-8", c.name),
				Fix:     "rename the folder"})
			continue
		}
		// A listed name is a single path element, so the path needs no cleaning.
		need := len(p.path) + len("/") + len(c.name)
		if paths.Cap()-paths.Len() < need {
			paths = strings.Builder{}
			paths.Grow(max(need, min(size, pathsAtOnce)))
		}
		size -= need
		begin := paths.Len()
		if p.path != "." {
			paths.WriteString(p.path)
			paths.WriteByte('/')
		}
		name := paths.Len()
		paths.WriteString(c.name)
		at := node{path: paths.String()[begin:], origin: p.origin, skill: p.skill}
		switch {
		case !p.linked:
			at.sub = at.path
		case p.sub != ".":
			at.sub = p.sub + "/" + c.name
		default:
			at.sub = paths.String()[name:]
		}
		out.folders = append(out.folders, at)
	}
}

// pathsAtOnce bounds the bytes of paths that share one allocation. It also limits the memory that
// one path keeps alive when the others are gone.
const pathsAtOnce = 512
