package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/base/httpfetch"
)

// maxAdvert is the maximum size of a server's answer about its refs, in bytes. A ref takes about
// 100 bytes.
const maxAdvert = 128 << 20

// direct reports whether no setting of the user affects the connection to a server. Only then does
// knack send requests without git.
func (g *Origin) direct(s *setup, at address) bool {
	return g.opts.HTTP != nil && s.plain && s.allowed == "" && strings.HasPrefix(at.url, "http")
}

// infoRefs is appended to a repository's address in the first request of git's smart HTTP
// protocol (gitprotocol-http).
const infoRefs = "/info/refs?service=git-upload-pack"

// advertised requests a server's refs by HTTP, in the first version of the protocol. A run of git
// makes two requests and costs a hundred times as much. advertised also resolves redirects, since
// git would follow one into a private network. If it returns neither refs nor an error, the caller
// must run git: a login is needed, the server is unreachable, or its answer is unexpected.
func (g *Origin) advertised(ctx context.Context, at address) (address, *refs, error) {
	s, err := g.start()
	if err != nil || !g.direct(s, at) {
		return at, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(at.url, "/")+infoRefs, nil)
	if err != nil {
		return at, nil, nil
	}
	r.Header.Set("User-Agent", "git/knack") // GitHub accepts a repository's address without .git only from git
	client, err := g.opts.HTTP(at.url)
	if err != nil {
		return at, nil, err
	}
	resp, err := client.Do(r)
	switch {
	case errors.Is(err, httpfetch.ErrRefused):
		return at, nil, fmt.Errorf("its server leads elsewhere, where knack does not go: %w", httpfetch.Plain(err))
	case ctx.Err() != nil:
		return at, nil, context.Cause(ctx)
	case err != nil:
		return at, nil, nil
	}
	defer resp.Body.Close()
	if resp.Request.URL.String() != r.URL.String() {
		to, ok := strings.CutSuffix(resp.Request.URL.String(), infoRefs)
		if at, err = locate(to); !ok || err != nil {
			return at, nil, errElsewhere
		}
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/x-git-upload-pack-advertisement" {
		return at, nil, nil
	}
	found := newRefs()
	if err := found.parse(io.LimitReader(resp.Body, maxAdvert)); err != nil {
		return at, nil, nil
	}
	return at, found, nil
}

// parse parses an advertisement of lines with a length prefix. They are the name of the service,
// a flush line, and the refs up to the next flush line. The server's capabilities follow the
// first ref.
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
		case name == "capabilities^{}": // an empty repository sends it
			continue
		}
		if err := r.add(commit, name); err != nil {
			return err
		}
	}
}

// packet reads a line (gitprotocol-common, pkt-line). It returns nil at a flush line. The line is
// valid until the next call.
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
