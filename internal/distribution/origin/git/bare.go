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
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// bare is a repository without a working tree. It has packs of fetched objects and no branch. It
// has no remote, so git never fetches missing objects by itself.
type bare struct {
	git     *Origin
	address address
	dir     string
}

// remote is the server's name during a fetch. Its address is passed to each run and not stored.
const remote = "knack-source"

// maxReceived is the maximum number of bytes of one fetch, the same limit as for an archive.
const maxReceived = 4 << 30

// bare returns the repository with number n for the fetched objects of an address. The usual number
// is 0. If a repository is damaged, or another process writes to it, callers try the next number.
// So no run waits for that process or repairs the repository.
func (g *Origin) bare(ctx context.Context, at address, key string, n int, sha256 bool) (*bare, error) {
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

// local runs git in the repository without contacting a server.
func (b *bare) local(ctx context.Context, stdin io.Reader, stdout func(io.Reader) error, args ...string) error {
	return b.git.run(ctx, call{dir: b.dir, args: args, stdin: stdin, stdout: stdout})
}

// has reports whether the repository has a commit.
func (b *bare) has(ctx context.Context, commit string) bool {
	return b.local(ctx, nil, nil, "rev-parse", "--quiet", "--verify", commit+"^{commit}") == nil
}

// fetchCommit fetches a commit, its tree and, if whole is set, its files.
func (b *bare) fetchCommit(ctx context.Context, source, commit string, whole bool) error {
	if whole {
		return b.fetch(ctx, nil, nil, "--depth=1", "--", remote, commit)
	}
	return b.fetch(ctx, promisor, nil, "--depth=1", filter, "--", remote, commit)
}

// fetchBlobs fetches files by their hashes.
func (b *bare) fetchBlobs(ctx context.Context, source string, ids []string) error {
	stdin := strings.NewReader(strings.Join(ids, "\n") + "\n")
	return b.fetch(ctx, append([]string{"fetch.negotiationAlgorithm=noop"}, promisor...), stdin, filter, "--stdin", "--", remote)
}

// filter excludes the contents of files, except files that are requested by hash.
const filter = "--filter=blob:none"

// promisor declares for one run that the server has the missing objects, so that git accepts a
// partial repository.
var promisor = []string{"remote." + remote + ".promisor=true", "remote." + remote + ".partialclonefilter=blob:none"}

// fetch runs git fetch.
func (b *bare) fetch(ctx context.Context, config []string, stdin io.Reader, args ...string) error {
	if b.git.opts.Offline {
		return origin.ErrOffline
	}
	at, err := b.git.follow(ctx, b.address)
	if err != nil {
		return err
	}
	defer b.git.occupy(b.dir)()
	config = append([]string{"remote." + remote + ".url=" + at.url}, config...)
	return b.git.run(ctx, call{
		address: at, dir: b.dir, config: config, stdin: stdin,
		args: append([]string{"fetch", "--progress", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance"}, args...),
		received: func(n int64) error {
			if n > maxReceived {
				return fmt.Errorf("the server sends more than %d GiB: name a folder of the repository, or an archive", maxReceived>>30)
			}
			b.git.opts.Progress.Report(origin.Bytes, n, 0)
			return nil
		},
	})
}

// errDamaged is the error of an unreadable repository in the store.
var errDamaged = errors.New("the fetched files cannot be read again")

// maxHeld is the size up to which a file is read completely before it is passed on, so that no part
// of a damaged file is passed on.
const maxHeld = 1 << 20

// read calls take with each file that the repository has. It returns the indexes in ids of the
// missing files.
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
			if _, err := in.Discard(1); err != nil { // the line end
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
