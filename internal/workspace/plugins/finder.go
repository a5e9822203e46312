package plugins

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/plugin"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

const (
	// maxFile limits the bytes of a file that is read. 5,000 plugins of Claude Code need 2 MB.
	maxFile = 8 << 20
	// maxEntries limits the folders of a cache.
	maxEntries = 10_000
)

// object is a JSON object or a TOML table.
type object = map[string]any

// finder finds the plugins of one client.
type finder struct {
	Options
	client
	at      string // the client's folder, or "" if it has none
	plugins []Plugin
	served  int // number of enabled plugins
	stamps  map[string]stamp
	markets map[string]market // the marketplaces that were read, by folder
	done    chan struct{}
}

func newFinder(o Options, c client) *finder {
	return &finder{
		Options: o, client: c, at: filepath.FromSlash(o.Homes.Path(c.home)), stamps: map[string]stamp{},
		markets: map[string]market{}, done: make(chan struct{}),
	}
}

// run reads the client's files.
func (f *finder) run() {
	defer close(f.done)
	if f.at == "" {
		return
	}
	there := false
	for known := range strings.SplitSeq(f.known, ";") {
		there = f.exists(f.below(known)) || there
	}
	if there {
		f.find(f)
		slices.SortStableFunc(f.plugins, func(a, b Plugin) int { return strings.Compare(a.ID, b.ID) })
	}
}

func (f *finder) isDone() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// late returns a plugin that represents the plugins of a client whose files cannot be
// read in time.
func (f *finder) late() Plugin {
	return Plugin{
		Client: agents.Find(f.agent).Name, State: Late, Label: f.group(), Dir: f.below(f.cache),
		Reason: "the disk with " + f.Shown(f.at) + " does not answer, so the plugins there are not known", Fix: "see whether the disk answers",
	}
}

// below returns a path in the client's folder.
func (f *finder) below(sub string) string { return filepath.Join(f.at, filepath.FromSlash(sub)) }

// exists reports whether a path exists, and records its state for [Found.Changed]. It reports a
// fault for a path that cannot be examined.
func (f *finder) exists(at string) bool {
	_, asked := f.stamps[at]
	s, err := stampOf(at)
	f.stamps[at] = s
	if err != nil && !asked && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		f.fault(at, err)
	}
	return err == nil
}

// names lists the entries of a folder that are folders or links and have a valid name.
func (f *finder) names(at string) (out []string) {
	if !f.exists(at) || !f.stamps[at].folder {
		return nil
	}
	d, err := os.Open(at)
	if err != nil {
		f.fault(at, err)
		return nil
	}
	defer d.Close()
	all, err := d.ReadDir(maxEntries)
	switch {
	case err != nil && err != io.EOF: // an empty folder gives io.EOF
		f.fault(at, err)
	case len(all) == maxEntries:
		f.fault(at, skill.ErrTooLarge)
	}
	for _, e := range all {
		if name().MatchString(e.Name()) && (e.IsDir() || realpath.IsLink(e.Type())) {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out
}

// data returns the bytes of a file. It returns nil if the file does not exist.
func (f *finder) data(at string) ([]byte, error) {
	if !f.exists(at) {
		return nil, nil
	}
	data, err := edit.Read(at, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case len(data) > maxFile:
		return nil, fmt.Errorf("it has more than %d MiB", maxFile>>20)
	case data == nil:
		return []byte{}, nil // it is empty
	}
	return data, nil
}

// read returns the values of a JSON or TOML file, or nil if the file does not exist.
func (f *finder) read(at string) (object, error) {
	data, err := f.data(at)
	if data == nil {
		return nil, err
	}
	return clientconfig.Values(at, data)
}

// values is like [finder.read], but reports an error as a fault.
func (f *finder) values(at string) object {
	values, err := f.read(at)
	if err != nil {
		f.fault(at, err)
	}
	return values
}

// fault reports a file that cannot be read.
func (f *finder) fault(at string, err error) {
	f.add(Plugin{State: Damaged, Reason: f.Shown(at) + " cannot be read: " + reason(err), Fix: "mend the file, or let its client write it again"})
}

func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return skill.Reason(p)
	}
	return display.OneLine(err.Error())
}

// add records a plugin.
func (f *finder) add(p Plugin) {
	p.Client = agents.Find(f.agent).Name
	if p.State == Enabled {
		p.Label = f.labelOf(p.Name)
		f.served++
	}
	f.plugins = append(f.plugins, p)
}

// damaged records a plugin that its client cannot load.
func (f *finder) damaged(id, format string, args ...any) {
	plugin, _, _ := split(id)
	f.add(Plugin{ID: display.Echo(id), Name: plugin, State: Damaged, Reason: fmt.Sprintf(format, args...), Fix: "install it again: " + fmt.Sprintf(f.install, display.Echo(id))})
}

// load records an installed plugin. place is the plugin's folder, which must be inside within.
// entry is the plugin's entry in a marketplace, or nil. It can name further folders with skills.
func (f *finder) load(id string, enabled bool, by string, place, within string, entry *plugin.Offer) {
	name, _, ok := split(id)
	p := Plugin{ID: id, Name: name, Within: within}
	if filepath.IsAbs(place) {
		p.Dir = filepath.Clean(place)
	}
	switch {
	case !ok:
		f.damaged(id, "its name is not one that a plugin may have")
		return
	case !enabled:
		p.State, p.Reason, p.Fix = Disabled, by, "to enable it: "+fmt.Sprintf(f.enable, id)
		f.add(p)
		return
	case f.served == mostServed:
		f.add(beyond(p))
		return
	case p.Dir == "":
		f.damaged(id, "nothing says where its folder is")
		return
	case !realpath.Inside(within, place):
		f.damaged(id, "its folder %s is not in %s", display.Echo(f.Shown(place)), f.Shown(within))
		return
	case !f.exists(p.Dir) || !f.stamps[p.Dir].folder:
		f.damaged(id, "its folder %s is not there", display.Echo(f.Shown(place)))
		return
	}
	places, notes, err := f.places(p.Dir, entry)
	if err != nil {
		f.damaged(id, "%s", err)
		return
	}
	p.State, p.Places, p.Reason = Enabled, places, strings.Join(notes, "; ")
	f.add(p)
}

// places returns the folders in which a client looks for the skills of a plugin. notes describe the
// parts that are not served.
func (f *finder) places(at string, entry *plugin.Offer) (places []dir.Place, notes []string, err error) {
	manifest := &plugin.Manifest{}
	own := "" // the manifest's path
	for _, m := range f.manifests {
		file := filepath.Join(at, filepath.FromSlash(m))
		if own != "" || !f.exists(file) {
			continue
		}
		own = m
		if !realpath.Inside(at, file) {
			return nil, nil, fmt.Errorf("its %s leads out of its folder", m)
		}
		data, err := f.data(file)
		if err != nil {
			return nil, nil, fmt.Errorf("its %s cannot be read: %s", m, reason(err))
		}
		parsed, faults := plugin.ParseManifest(data, plugin.Client(agents.Find(f.agent).Name))
		if parsed == nil {
			return nil, nil, fmt.Errorf("its %s cannot be read: %s", m, faults[0].Message)
		}
		manifest = parsed
		for _, fault := range faults {
			if fault.Rule == plugin.RulePath && fault.Effect == plugin.Rejects && strings.HasPrefix(fault.Field, "skills") {
				notes = append(notes, fault.Message)
			}
		}
	}
	native := own != "" && own != "plugin.json"
	if s := manifest.Schema; own == "plugin.json" && f.skills.schemas && plugin.DeclaresSchema(s) && s != plugin.Schema {
		return nil, nil, fmt.Errorf("its plugin.json has a $schema that is not known: %s", display.Echo(s))
	}
	if own == "" && len(f.manifests) == 1 {
		return nil, nil, fmt.Errorf("it has no %s", f.manifests[0])
	}
	named := manifest.Skills
	if entry != nil && f.skills.add {
		if !entry.Strict && len(manifest.Components) > 0 {
			return nil, nil, errors.New("its manifest defines components, and its marketplace says strict: false")
		}
		named = slices.Concat(named, entry.Skills)
	}
	deep := f.skills.deep && (native || !f.skills.native)
	add := func(sub string) {
		if !realpath.Inside(at, filepath.Join(at, filepath.FromSlash(sub))) {
			notes = append(notes, fmt.Sprintf("the folder %s of its skills leads out of it, and is not served", display.Echo(sub)))
			return
		}
		place := dir.Place{Path: sub, From: 1, To: 1}
		if f.exists(filepath.Join(at, filepath.FromSlash(sub), skill.MainFile)) {
			place.From, place.To = 0, 0
		}
		if deep {
			place.From, place.To = 0, dir.MaxDepth
		}
		places = append(places, place)
	}
	if !f.skills.named || f.skills.add || len(named) == 0 {
		place := dir.Place{Path: "skills", From: 1, To: 1}
		if deep {
			place.To = dir.MaxDepth
		}
		places = append(places, place)
	}
	if f.skills.named {
		for _, p := range named {
			add(p)
		}
	}
	if f.skills.top {
		places = append(places, dir.Place{Path: "."})
	}
	return places, notes, nil
}

// texts returns a text or a list of texts as a list.
func texts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// flag returns the value of a key from the first map that has it, and the index of that map.
func flag(key string, maps ...object) (value, set bool, at int) {
	for i, m := range maps {
		if v, ok := m[key].(bool); ok {
			return v, true, i
		}
	}
	return false, false, -1
}

// table returns the object below a path of keys.
func table(v object, keys ...string) object {
	for _, key := range keys {
		v, _ = v[key].(object)
	}
	return v
}

func text(v object, key string) string {
	s, _ := v[key].(string)
	return s
}

// market is a marketplace on the disk.
type market struct {
	entries map[string]*plugin.Offer
	err     error
}

// market returns the marketplace in a folder. Each marketplace is read only once.
func (f *finder) market(at string) market {
	if m, ok := f.markets[at]; ok {
		return m
	}
	m := market{entries: map[string]*plugin.Offer{}}
	form := plugin.Marketplaces[0]
	file := filepath.Join(at, filepath.FromSlash(form.Path))
	data, err := f.data(file)
	switch {
	case err != nil:
		m.err = fmt.Errorf("%s cannot be read: %s", f.Shown(file), reason(err))
	case data == nil:
		m.err = fmt.Errorf("there is no %s", f.Shown(file))
	default:
		parsed, faults := plugin.ParseMarketplace(data, form.Client)
		if parsed == nil {
			m.err = fmt.Errorf("%s cannot be read: %s", f.Shown(file), faults[0].Message)
			break
		}
		for i := range parsed.Plugins {
			if e := &parsed.Plugins[i]; e.Name != "" && m.entries[e.Name] == nil {
				m.entries[e.Name] = e
			}
		}
	}
	f.markets[at] = m
	return m
}

// live loads a plugin in place, from a marketplace that is one of the user's folders.
func (f *finder) live(id string, enabled bool, by, at string) {
	name, _, _ := split(id)
	m := f.market(at)
	entry := m.entries[name]
	switch {
	case entry != nil && entry.Source.Kind == plugin.Local:
		f.load(id, enabled, by, filepath.Join(at, filepath.FromSlash(entry.Source.Path)), at, entry)
	case !enabled:
		f.load(id, false, by, "", at, nil)
	case m.err != nil:
		f.damaged(id, "%s", m.err)
	case entry == nil:
		f.damaged(id, "its marketplace in %s has it no longer", f.Shown(at))
	default:
		f.damaged(id, "its source leads out of its marketplace in %s", f.Shown(at))
	}
}
