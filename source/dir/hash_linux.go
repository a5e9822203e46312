package dir

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/skill"
)

// pass lists and hashes one skill's files. Later passes reuse its buffers.
type pass struct {
	ctx   context.Context
	dev   uint64
	begun time.Time
	known []skill.File
	files []skill.File
	below []string // paths of the subfolders of the last folder read
	bytes int64

	entries []byte // entries of a folder, as the system returned them
	content []byte
	sum     hash.Hash // for files that do not fit into content
}

// hashBuffer is the size of the buffer for a file's content.
const hashBuffer = 64 << 10

var passes = sync.Pool{New: func() any {
	return &pass{entries: make([]byte, 8<<10), content: make([]byte, hashBuffer), sum: sha256.New()}
}}

// Whole lists and hashes the files of a skill's folder in one pass; see [skill.Skill.Manifest]. It
// handles only a folder with readable files and folders and no links, on a file system that is
// known to keep stamps. For any other folder, the caller lists and hashes file by file, which
// reports the details.
func (f *folder) Whole(ctx context.Context, known []skill.File) (files []skill.File, ok bool) {
	if f.dev == 0 {
		return nil, false
	}
	return hashSince(ctx, f, known, time.Now())
}

// hashSince is like Whole, for a pass that began at the given time.
func hashSince(ctx context.Context, f *folder, known []skill.File, begun time.Time) ([]skill.File, bool) {
	p := newPass(ctx, f.dev, begun)
	defer p.end()
	p.known = known
	fd, err := f.openForList()
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	if !p.folder(fd, "") {
		return nil, false
	}
	slices.SortFunc(p.files, func(a, b skill.File) int { return cmp.Compare(a.Path, b.Path) })
	if slices.Equal(p.files, known) {
		return known, true
	}
	return slices.Clone(p.files), true
}

func newPass(ctx context.Context, dev uint64, begun time.Time) *pass {
	p := passes.Get().(*pass)
	p.ctx, p.dev, p.begun, p.bytes = ctx, dev, begun, 0
	return p
}

// end returns the pass to the pool.
func (p *pass) end() {
	clear(p.files)
	clear(p.below)
	p.ctx, p.known, p.files, p.below = nil, nil, p.files[:0], p.below[:0]
	passes.Put(p)
}

// openForList opens the folder itself for reading.
func (f *folder) openForList() (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY
	if f.plain || f.base == f.alias {
		return openat2(unix.AT_FDCWD, path.Join(f.base, f.sub), flags, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	}
	// The root's own path may have links in it; the path below it may not.
	h, err := kernelOpener{}.folder(f.base, false)
	if err != nil {
		return -1, err
	}
	defer h.close()
	return openat2(int(h.(fdHandle)), f.sub, flags, beneath)
}

// folder records an open folder and its subfolders. prefix is its path with a slash appended, or
// empty.
func (p *pass) folder(fd int, prefix string) bool {
	p.below = p.below[:0]
	for {
		n := 0
		err := retry(func() (err error) {
			n, err = unix.Getdents(fd, p.entries)
			return err
		})
		if err != nil {
			return false
		}
		if n == 0 {
			break
		}
		if !p.recordEntries(fd, p.entries[:n], prefix) {
			return false
		}
	}
	if !p.folderSettled(fd) {
		return false
	}
	for _, path := range slices.Clone(p.below) {
		sub, err := openat2(fd, path[len(prefix):], unix.O_RDONLY|unix.O_DIRECTORY, beneath)
		if err != nil {
			return false
		}
		ok := p.folder(sub, path+"/")
		unix.Close(sub)
		if !ok {
			return false
		}
	}
	return true
}

// recordEntries records the files and subfolders of an open folder. raw contains the entries as the system
// returned them.
func (p *pass) recordEntries(fd int, raw []byte, prefix string) bool {
	for len(raw) > direntName {
		size := binary.NativeEndian.Uint16(raw[16:])
		kind, name := raw[18], raw[direntName:size]
		raw = raw[size:]
		if name[0] == '.' {
			continue // ".", ".." and dot-entries
		}
		path := prefix + string(name[:bytes.IndexByte(name, 0)])
		switch {
		case skill.CleanPath(path) != nil:
			return false
		case kind == unix.DT_REG:
			if !p.file(fd, path, path[len(prefix):]) {
				return false
			}
		case kind == unix.DT_DIR && strings.Count(path, "/") < skill.MaxDepth:
			p.below = append(p.below, path)
		default:
			return false
		}
	}
	return true
}

// folderSettled reports whether a folder has not changed since before the pass began. All of its
// entries are listed by now, and a stamp this old proves that they were the same then.
func (p *pass) folderSettled(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && p.settled(stampOfStat(&st))
}

// settled reports whether a file or folder with this stamp already had it when the pass began.
func (p *pass) settled(s skill.Stamp) bool { return s.Dev == p.dev && !s.Racy(p.begun) }

// file records a file of an open folder that was listed as a regular one.
func (p *pass) file(dir int, path, name string) bool {
	if p.ctx.Err() != nil || len(p.files) == skill.MaxFiles {
		return false
	}
	f := skill.File{Path: path}
	i, ok := slices.BinarySearchFunc(p.known, path, func(k skill.File, path string) int { return cmp.Compare(k.Path, path) })
	if ok {
		if stamp, err := fdHandle(dir).stamp(name); err == nil && stamp == p.known[i].Stamp && p.settled(stamp) {
			f = p.known[i]
		} else {
			ok = false
		}
	}
	if !ok && !p.hash(dir, name, &f) {
		return false
	}
	p.bytes += f.Size
	p.files = append(p.files, f)
	return p.bytes <= skill.MaxSkillSize
}

// hash opens a file and describes the bytes that it had when the pass began.
func (p *pass) hash(dir int, name string, f *skill.File) bool {
	fd, err := openat2(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, beneath)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > skill.MaxSkillSize-p.bytes {
		return false
	}
	f.Stamp = stampOfStat(&st)
	if !p.settled(f.Stamp) {
		return false
	}
	left := st.Size
	// An empty file is read too. The size 0 may also mean that the file cannot be read, or that the
	// system generates it.
	in, err := fill(fd, p.content[:min(max(left, 1), int64(len(p.content)))])
	if left <= int64(len(p.content)) {
		f.Digest = sha256.Sum256(in)
		left -= int64(len(in))
	} else {
		p.sum.Reset()
		for err == nil && len(in) > 0 && left > 0 && p.ctx.Err() == nil {
			runtime.Gosched() // lets small answers run before the rest of a large file
			p.sum.Write(in)
			left -= int64(len(in))
			in, err = fill(fd, p.content[:min(left, int64(len(p.content)))])
		}
		p.sum.Sum(f.Digest[:0])
	}
	f.Size = st.Size
	return err == nil && left == 0 && unix.Fstat(fd, &st) == nil && stampOfStat(&st) == f.Stamp
}

// fill reads until buf is full or the file ends.
func fill(fd int, buf []byte) ([]byte, error) {
	n := 0
	for n < len(buf) {
		m := 0
		err := retry(func() (err error) {
			m, err = unix.Read(fd, buf[n:])
			return err
		})
		if err != nil || m == 0 {
			return buf[:n], err
		}
		n += m
	}
	return buf, nil
}
