package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
)

// bare is a repository on the disk without a working tree. It holds packs of what was fetched,
// and no branch. It has no remote either, so git never fetches by itself what is missing.
type bare struct {
	git   *Origin
	place place
	dir   string
}

// The name that a server has while it is fetched from. Its address is given with each run and
// not kept.
const remote = "knack-source"

// maxReceived bounds what one fetch may bring, as archives are bounded.
const maxReceived = 4 << 30

// bare returns the repository for fetched objects of a place. If one is damaged or another
// process writes into it, the next one is used, so that nothing has to wait or be repaired.
func (g *Origin) bare(ctx context.Context, at place, key string, n int, sha256 bool) (*bare, error) {
	if n > 0 {
		key += " " + strconv.Itoa(n)
	}
	args := []string{"init", "--quiet", "--bare", "--template="}
	if sha256 {
		key, args = key+" sha256", append(args, "--object-format=sha256")
	}
	dir, err := g.opts.Dir(key)
	if err != nil {
		return nil, err
	}
	defer g.occupy(dir)()
	return &bare{g, at, dir}, g.run(ctx, call{dir: noRepository, args: append(args, "--", dir)})
}

// local runs git in the repository. It reaches no server.
func (b *bare) local(ctx context.Context, stdin io.Reader, stdout func(io.Reader) error, args ...string) error {
	return b.git.run(ctx, call{dir: b.dir, args: args, stdin: stdin, stdout: stdout})
}

// has reports whether a commit is there.
func (b *bare) has(ctx context.Context, commit string) bool {
	return b.local(ctx, nil, nil, "rev-parse", "--quiet", "--verify", commit+"^{commit}") == nil
}

// fetchCommit fetches a commit and its tree, and the files too if whole is set.
func (b *bare) fetchCommit(ctx context.Context, source, commit string, whole bool) error {
	if whole {
		return b.fetch(ctx, source, nil, nil, "--depth=1", "--", remote, commit)
	}
	return b.fetch(ctx, source, promisor, nil, "--depth=1", filter, "--", remote, commit)
}

// fetchBlobs fetches files by their hashes.
func (b *bare) fetchBlobs(ctx context.Context, source string, ids []string) error {
	stdin := strings.NewReader(strings.Join(ids, "\n") + "\n")
	return b.fetch(ctx, source, append([]string{"fetch.negotiationAlgorithm=noop"}, promisor...), stdin, filter, "--stdin", "--", remote)
}

// filter leaves out the contents of files, except for those that are asked for by their hash.
const filter = "--filter=blob:none"

// promisor says for one run that the server has what is missing, so that git accepts that files
// are missing.
var promisor = []string{"remote." + remote + ".promisor=true", "remote." + remote + ".partialclonefilter=blob:none"}

// fetch runs git fetch.
func (b *bare) fetch(ctx context.Context, source string, config []string, stdin io.Reader, args ...string) error {
	if b.git.opts.Offline {
		return ErrOffline
	}
	at, err := b.git.follow(ctx, b.place)
	if err != nil {
		return err
	}
	defer b.git.occupy(b.dir)()
	config = append([]string{"remote." + remote + ".url=" + at.url}, config...)
	return b.git.run(ctx, call{
		place: at, dir: b.dir, config: config, stdin: stdin,
		args: append([]string{"fetch", "--progress", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance"}, args...),
		received: func(n int64) error {
			if n > maxReceived {
				return fmt.Errorf("the server sends more than %d GiB: name a folder of the repository, or an archive", maxReceived>>30)
			}
			b.git.opts.Progress(source, n, 0)
			return nil
		},
	})
}

// errDamaged says that the repository in the store cannot be read.
var errDamaged = errors.New("what was fetched cannot be read again")

// maxHeld is the size up to which a file is read before it is passed on, so that a damaged one
// is not passed on.
const maxHeld = 1 << 20

// read passes on each of these files that is there. It returns those that are not, by their
// place in ids.
func (b *bare) read(ctx context.Context, ids []string, take func(i int, size int64, content io.Reader) error) (missing []int, err error) {
	next, refused := 0, error(nil)
	err = b.local(ctx, strings.NewReader(strings.Join(ids, "\n")+"\n"), func(out io.Reader) error {
		in := bufio.NewReaderSize(out, 64<<10)
		for ; next < len(ids); next++ {
			line, err := in.ReadSlice('\n')
			if err != nil {
				return fmt.Errorf("%w: %w", errDamaged, err)
			}
			fields := strings.Fields(string(line))
			if len(fields) == 2 && fields[1] == "missing" {
				missing = append(missing, next)
				continue
			}
			if len(fields) != 3 || fields[0] != ids[next] || fields[1] != "blob" {
				return fmt.Errorf("%w: git answers %s", errDamaged, display.Quote(string(line)))
			}
			size, err := strconv.ParseInt(fields[2], 10, 64)
			if err != nil || size < 0 {
				return fmt.Errorf("%w: git answers %s", errDamaged, display.Quote(string(line)))
			}
			content := io.LimitReader(in, size)
			if size <= maxHeld {
				data := make([]byte, size)
				if _, err := io.ReadFull(in, data); err != nil {
					return fmt.Errorf("%w: %w", errDamaged, err)
				}
				content = strings.NewReader(string(data))
			}
			if refused = take(next, size, content); refused != nil {
				return refused
			}
			if _, err := io.Copy(io.Discard, content); err != nil {
				return err
			}
			if _, err := in.Discard(1); err != nil { // the end of the line
				return fmt.Errorf("%w: %w", errDamaged, err)
			}
		}
		return nil
	}, "cat-file", "--batch", "--buffer")
	if err == nil {
		return missing, nil
	}
	if refused != nil {
		return nil, refused
	}
	for i := next; i < len(ids); i++ {
		missing = append(missing, i)
	}
	return missing, err
}
