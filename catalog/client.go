package catalog

import (
	"cmp"
	"maps"
	"path/filepath"

	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// ClientSkills describes the skills that a client shows its model on its own, so the lists for that
// model need not repeat them. A skill is recognised by its folder or by its files. So a copy of a
// skill counts too.
type ClientSkills struct {
	// Folders has the folders that the client reads, as written and with links resolved.
	Folders map[string]bool
	// Roots has the labels of the roots whose skills the client shows without exception.
	Roots map[string]bool
	// Real maps the folder of a root ([skill.Root.Dir]) to the same folder with links resolved.
	Real map[string]string
	// Deep is set if the client finds skills at any depth below these folders. Otherwise it finds
	// only the skills in their child folders.
	Deep bool
	// Unlinked is set if the client finds no skill through a link below these folders.
	Unlinked bool
	// Lenient is set if the client is known to show a skill whose frontmatter is not valid YAML.
	Lenient bool
	// Off reports whether the client's settings turn a skill off. It must not read the disk. It is
	// nil if no setting turns a skill off.
	Off func(*Entry) bool
}

// AddClient adds a client. From then on, [Snapshot.ListedFor] leaves out the skills that the client
// shows on its own. AddClient does nothing without [Options.ClientSkills], or if the client was
// added before.
func (c *Catalog) AddClient(client string) {
	if c.clientSkills == nil || client == "" {
		return
	}
	if _, known := (*c.clients.Load())[client]; known {
		return
	}
	skills := c.clientSkills(client)
	c.mu.Lock()
	c.setClients(map[string]*ClientSkills{client: skills})
	if now := c.current.Load(); now != nil {
		c.publish(now.restated(now.basis()))
	}
	c.mu.Unlock()
	c.notify()
}

// refreshClients updates the skills that the added clients show on their own, and reports whether
// any of these have changed. The caller does not hold mu.
func (c *Catalog) refreshClients() (changed bool) {
	fresh := map[string]*ClientSkills{}
	for client, was := range *c.clients.Load() {
		if now := c.clientSkills(client); now != was {
			fresh[client] = now
		}
	}
	if len(fresh) == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setClients(fresh)
	return true
}

// setClients adds clients or replaces them. The caller holds mu.
func (c *Catalog) setClients(fresh map[string]*ClientSkills) {
	all := maps.Clone(*c.clients.Load())
	maps.Copy(all, fresh)
	c.clients.Store(&all)
}

// listedForKey is the key under which a snapshot caches the list for a client.
type listedForKey struct{ client string }

// ListedFor returns the skills of [Snapshot.Listed] that a client does not show on its own, in the
// same order. For a client that was not added, it returns all of them. The slice must not be
// changed.
func (s *Snapshot) ListedFor(client string) []*Entry {
	own := s.clients[client]
	if own == nil {
		return s.Listed
	}
	return Keep(s, listedForKey{client}, func() []*Entry { return s.without(own) })
}

// DoubtfulFor returns the skills of [Snapshot.ListedFor] that a client finds on its own, but may
// leave out because their frontmatter is not strict YAML.
func (s *Snapshot) DoubtfulFor(client string) (out []*Entry) {
	own := s.clients[client]
	if own == nil {
		return nil
	}
	for _, e := range s.ListedFor(client) {
		if own.finds(e) && own.mayDrop(e) {
			out = append(out, e)
		}
	}
	return out
}

// without returns the listed skills that a client does not show on its own.
func (s *Snapshot) without(own *ClientSkills) []*Entry {
	visible, files := map[*Entry]bool{}, map[skill.Digest]bool{}
	for _, e := range s.Entries {
		if e.Status == Skipped || !own.finds(e) || own.mayDrop(e) {
			continue
		}
		visible[e] = true
		if d, ok := s.files[e.Skill]; ok {
			files[d] = true
		}
	}
	if len(visible) == 0 {
		return s.Listed
	}
	out := make([]*Entry, 0, len(s.Listed))
	for _, e := range s.Listed {
		if d, ok := s.files[e.Skill]; !visible[e] && !(ok && files[d]) {
			out = append(out, e)
		}
	}
	return out
}

// finds reports whether the client reads the folder of a skill, and its settings do not turn the
// skill off.
func (c *ClientSkills) finds(e *Entry) bool {
	link, at := e.Link(), cmp.Or(c.Real[e.Root.Dir], e.Root.Dir)
	found := c.Roots[e.Root.Label] || link != "" && c.has(link)
	if at != "" && (link == "" || !c.Unlinked) {
		found = found || c.has(filepath.Join(at, filepath.FromSlash(e.Path)))
	}
	return found && (c.Off == nil || !c.Off(e))
}

// mayDrop reports whether the client may leave out a skill that it finds, because a strict parser
// refuses the skill's frontmatter.
func (c *ClientSkills) mayDrop(e *Entry) bool {
	for _, p := range e.Problems {
		switch p.Rule {
		case frontmatter.FenceLate, frontmatter.FenceBlanks, frontmatter.FenceGlued:
			return true
		case frontmatter.YAMLSyntax, frontmatter.YAMLDuplicate:
			if !c.Lenient {
				return true
			}
		}
	}
	return false
}

// has reports whether the client would find a skill in the given folder.
func (c *ClientSkills) has(folder string) bool {
	for {
		parent := filepath.Dir(folder)
		switch {
		case c.Folders[parent]:
			return true
		case !c.Deep || parent == folder:
			return false
		}
		folder = parent
	}
}

// sameListings reports whether the lists for all clients are the same.
func sameListings(prev, next *Snapshot) bool {
	for client := range next.clients {
		if !sameListing(prev.ListedFor(client), next.ListedFor(client)) {
			return false
		}
	}
	return sameListing(prev.Listed, next.Listed)
}
