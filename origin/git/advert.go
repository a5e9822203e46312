package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxAdvert bounds the answer of a server about its refs, in bytes. A line has 100.
const maxAdvert = 128 << 20

// errAskGit says that git has to ask, since it has the credentials and knows more of the protocol.
var errAskGit = errors.New("git has to ask")

// advertised asks a server for its refs by one request, the first of git's smart protocol over
// HTTP in its first version (gitprotocol-http). A run of git makes two and costs ten times as
// much. Any error means that git is to be asked: for a login, a redirect, or a server that
// cannot be reached.
func (g *Origin) advertised(ctx context.Context, at place) (*refs, error) {
	s, err := g.start()
	if err != nil || g.opts.HTTP == nil || !s.plain || !strings.HasPrefix(at.url, "http") || s.allowed != "" {
		return nil, errAskGit
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(at.url, "/")+"/info/refs?service=git-upload-pack", nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "git/knack") // GitHub takes an address without .git for a repository only if git asks
	via, err := g.opts.HTTP(at.url)
	if err != nil {
		return nil, err
	}
	resp, err := via.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/x-git-upload-pack-advertisement" {
		return nil, errAskGit
	}
	found := &refs{branches: map[string]string{}, tags: map[string]string{}}
	return found, found.parse(io.LimitReader(resp.Body, maxAdvert))
}

// parse reads the lines of an advertisement, each with its length in front: the name of the
// service, the end of that part, and the refs up to the end of theirs. The first ref is followed
// by what the server can do.
func (r *refs) parse(from io.Reader) error {
	in := bufio.NewReaderSize(from, 64<<10)
	if line, err := packet(in); err != nil || string(line) != "# service=git-upload-pack" {
		return errRefs
	}
	if line, err := packet(in); err != nil || line != nil {
		return errRefs
	}
	for {
		line, err := packet(in)
		if err != nil {
			return err
		}
		if line == nil {
			return nil
		}
		line, _, _ = bytes.Cut(line, []byte{0})
		commit, name, ok := strings.Cut(string(line), " ")
		switch {
		case !ok:
			return errRefs
		case name == "capabilities^{}": // of an empty repository
			continue
		}
		if err := r.add(commit, name); err != nil {
			return err
		}
	}
}

// packet reads a line (gitprotocol-common, pkt-line). It is nil at the end of a part, and valid
// until the next one is read.
func packet(in *bufio.Reader) ([]byte, error) {
	head, err := in.Peek(4)
	if err != nil {
		return nil, errRefs
	}
	size, err := strconv.ParseUint(string(head), 16, 16)
	if err != nil || size != 0 && size < 4 {
		return nil, errRefs
	}
	if size == 0 {
		_, err = in.Discard(4)
		return nil, err
	}
	line, err := in.Peek(int(size))
	if err != nil {
		return nil, errRefs
	}
	_, err = in.Discard(int(size))
	return bytes.TrimSuffix(line[4:], []byte("\n")), err
}
