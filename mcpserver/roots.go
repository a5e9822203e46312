package mcpserver

//lint:file-ignore SA1019 roots are deprecated by the specification and spoken by the clients in use

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client that offers roots names the folders that its user works in. Graphical
// clients start servers in "/", so this is how their projects are found. The
// feature is deprecated since 2026-07-28 (SEP-2577) and goes on to work for the
// clients that have it; there is no other way to learn the project from them.

func (s *Server) initialized(ctx context.Context, req *mcp.InitializedRequest) {
	if !s.offersRoots(req.Session) {
		return
	}
	go s.takeRoots(req.Session)
}

func (s *Server) rootsChanged(_ context.Context, req *mcp.RootsListChangedRequest) {
	if s.offersRoots(req.Session) {
		go s.takeRoots(req.Session)
	}
}

func (s *Server) offersRoots(ss *mcp.ServerSession) bool {
	p := ss.InitializeParams()
	return s.roots != nil && p != nil && p.Capabilities != nil && p.Capabilities.RootsV2 != nil
}

// takeRoots asks for the roots outside of the handler's context, which ends with
// the notification. One after the other: of two answers the later must win.
func (s *Server) takeRoots(ss *mcp.ServerSession) {
	s.asking.Lock()
	defer s.asking.Unlock()
	defer s.settleRoots()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	res, err := ss.ListRoots(ctx, nil)
	if err != nil {
		s.log.Warn("the client did not name its roots", "error", err.Error())
		return
	}
	var folders []string
	for _, r := range res.Roots {
		if f := folderOf(r.URI); f != "" {
			folders = append(folders, f)
		}
	}
	if len(folders) > 0 || s.chosen {
		s.chosen = true
		s.roots(ctx, folders) // none: the working directory again
	}
}

// folderOf is the local folder that a file URI names, or "".
func folderOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	p := u.Path
	if len(p) > 2 && p[0] == '/' && p[2] == ':' { // file:///C:/work
		p = p[1:]
	}
	p = filepath.FromSlash(p)
	if !filepath.IsAbs(p) || strings.ContainsRune(p, 0) {
		return ""
	}
	return filepath.Clean(p)
}

func (s *Server) settleRoots() {
	s.once.Do(func() { close(s.named) })
}

// awaitRoots waits a moment for the roots of a client that offers them.
func (s *Server) awaitRoots(ctx context.Context, req mcp.Request) {
	if ss, ok := req.GetSession().(*mcp.ServerSession); !ok || !s.offersRoots(ss) {
		return
	}
	select {
	case <-s.named:
	case <-ctx.Done():
	case <-time.After(rootsGrace):
	}
}
