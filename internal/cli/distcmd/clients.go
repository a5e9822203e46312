package distcmd

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
)

// Client is a client on this machine.
type Client struct {
	*agents.Agent
	Connected   bool // knack serves skills to it
	Connectable bool // knack connect can connect it
}

// clientIDs lists the IDs of the clients that have their own folder for skills.
func clientIDs() (ids []string) {
	for _, p := range agents.Pairs() {
		if p.Agent.Name != agents.Any && !slices.Contains(ids, p.Agent.ID) {
			ids = append(ids, p.Agent.ID)
		}
	}
	return ids
}

// setClients records the clients of --client, and whether --copy asks for copies in place of links.
func (f *flags) setClients(names []string, asCopy bool) error {
	if asCopy && len(names) == 0 {
		return command.UsageError("name the client with --client", "--copy is for --client")
	}
	f.clients.Form = lockfile.Link
	if asCopy {
		f.clients.Form = lockfile.Copy
	}
	ids := clientIDs()
	for _, name := range names {
		i := slices.IndexFunc(ids, func(id string) bool {
			return strings.EqualFold(id, name) || strings.EqualFold(agents.Find(id).Name, name)
		})
		if i < 0 {
			return command.UsageError(typo.Hint(name, ids, "they are "+display.First(ids, 12)), "--client: no client '%s' is known that has a folder for skills", display.Echo(name))
		}
		f.clients.IDs = append(f.clients.IDs, ids[i])
	}
	return nil
}

// settle puts the skills of a plan into the folders of clients, except those that are held back.
func (f *flags) settle(ctx context.Context, in *install.Installer, p *install.Plan, clients install.Clients) error {
	return in.Settle(ctx, p, clients, f.judge(ctx))
}

// judge returns the function that decides whether clients may have skills, or nil.
func (f *flags) judge(ctx context.Context) install.Judge {
	if f.around.Held == nil {
		return nil
	}
	return func(folders []string) map[string]install.Hold {
		return f.around.Held(ctx, f.env, f.project, f.config, folders)
	}
}

// sight lists the clients of this machine by the way in which they see the new skills of a plan.
type sight struct {
	folder string   // with the new skills
	read   []Client // they read that folder
	placed []Client // they got a link or a copy
	knack  []Client // they get the skills through knack
	not    []Client
}

// whoSees returns how the clients of this machine see the new skills, or nil if knack offers no new
// skill to models.
func (f *flags) whoSees(in *install.Installer, p *install.Plan) *sight {
	i := slices.IndexFunc(p.Steps, func(s *install.Step) bool { return s.New() && !s.Withheld })
	if i < 0 {
		return nil
	}
	step := p.Steps[i]
	out := &sight{folder: filepath.Dir(in.Folder(step.Key))}
	for _, c := range f.around.Clients(f.env, f.project) {
		placed := slices.ContainsFunc(step.Spots, func(s *install.Spot) bool { return s.Client == c.ID && s.Problem == nil })
		switch {
		case in.Reads(c.Agent, step.Key):
			out.read = append(out.read, c)
		case placed:
			out.placed = append(out.placed, c)
		case c.Connected && offeredAt(f.env, in, out.folder):
			out.knack = append(out.knack, c)
		default:
			out.not = append(out.not, c)
		}
	}
	return out
}

// offer asks a person at a terminal whether to put links into the folders of the clients that do
// not see a new skill.
func (f *flags) offer(ctx context.Context, in *install.Installer, p *install.Plan, r *report) error {
	if r.sees == nil || len(f.clients.IDs) > 0 || !f.env.StdinTerminal || !f.env.StderrTerminal {
		return nil
	}
	var names []string
	ask := install.Clients{Form: lockfile.Link}
	for _, c := range r.sees.not {
		if slices.Contains(clientIDs(), c.ID) {
			names, ask.IDs = append(names, c.Name), append(ask.IDs, c.ID)
		}
	}
	if len(names) == 0 {
		return nil
	}
	f.stopProgress()
	lines := f.env.Lines()
	defer lines.Close()
	f.env.Err().Line("%s will not see the installed skills: %s.", and(names), notBound)
	answer, err := lines.Line(ctx, "Put links into their own folders for skills? [y/N] ")
	if err != nil || !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return nil
	}
	if err := f.settle(ctx, in, p, ask); err != nil {
		return err
	}
	r.sees = f.whoSees(in, p)
	return nil
}

// notBound is the warning about clients that read a folder themselves.
const notBound = "a client that reads a folder itself is not bound by knack's lock, scan and rules"

// text returns a sentence about the clients that see the skills. it is the pronoun for the skills.
func (s *sight) text(env *console.Env, it string) string {
	names := func(clients []Client) (names []string) {
		for _, c := range clients {
			names = append(names, c.Name)
		}
		return names
	}
	var parts []string
	if n := len(s.read); n > 0 {
		parts = append(parts, and(names(s.read))+" "+verb(n, "reads", "read")+" "+env.Shown(s.folder))
	}
	if n := len(s.placed); n > 0 {
		parts = append(parts, and(names(s.placed))+" "+verb(n, "has", "have")+" "+it+" in "+verb(n, "its own folder", "their own folders"))
	}
	if n := len(s.knack); n > 0 {
		parts = append(parts, and(names(s.knack))+" "+verb(n, "has", "have")+" "+it+" through knack")
	}
	if n := len(s.not); n > 0 {
		first := s.not[0]
		var hows []string
		if first.Connectable {
			hows = append(hows, "knack connect "+first.ID+" --write connects "+first.Name)
		}
		if slices.Contains(clientIDs(), first.ID) {
			hows = append(hows, "add --client "+first.ID+" links "+it+" into its own folder")
		}
		parts = append(parts, and(names(s.not))+" "+verb(n, "does", "do")+" not see "+it+": "+strings.Join(hows, ", and "))
	}
	return strings.Join(parts, "; ")
}

// mostNamed bounds the number of clients that a sentence names.
const mostNamed = 6

// and joins names with "and". After the first [mostNamed] names it gives only the number of the
// others.
func and(names []string) string {
	if more := len(names) - mostNamed; more > 1 {
		names = append(slices.Clone(names[:mostNamed]), display.Count(more, "other"))
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

func verb(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// spots prints the links and copies in the folders of clients.
func (r *report) spots() {
	out, err := r.env.Out(), r.env.Err()
	placed, hinted := false, map[string]bool{}
	for _, s := range r.plan.Steps {
		for _, spot := range s.Spots {
			at := r.env.Shown(spot.Path)
			form := "link"
			if spot.Form == lockfile.Copy || spot.Copied {
				form = "copy"
			}
			placed = placed || spot.Do == install.Write || spot.Do == install.Replace
			switch {
			case spot.Problem != nil && spot.Do == install.Fail:
				err.Text(console.Error, fmt.Sprintf("%s (%s, for %s): %s", s.Name, at, spot.Name, spot.Problem.Error()))
			case spot.Problem != nil:
				word := "left"
				switch spot.Do {
				case install.Differs:
					word = "differs:"
				case install.Delete:
					word = r.verb(&install.Step{Do: spot.Do})
				}
				out.Line("%s %s (%s): %s", word, console.Bold.Of(s.Name), strings.TrimPrefix(at, "."+string(filepath.Separator)), spot.Problem.Error())
			case spot.Reads && r.command == "add":
				out.Line("%s reads %s itself, so it gets no link", spot.Name, r.env.Shown(filepath.Dir(r.in.Folder(s.Key))))
			case spot.Do == install.Delete:
				out.Line("%s %s for %s", r.verb(&install.Step{Do: spot.Do}), at, spot.Name)
			case spot.Do == install.Write, spot.Do == install.Replace:
				out.Line("%s a %s for %s: %s", r.verb(&install.Step{Do: install.Write}), form, spot.Name, at)
			}
			if spot.Copied {
				err.Text(console.Warning, "links cannot be made in "+r.env.Shown(filepath.Dir(spot.Path))+", so a copy is there; sync and update keep it as the lock says")
			}
			if spot.Kept != "" {
				out.Line("  the previous files are in %s", r.env.Shown(spot.Kept))
			}
			if p := spot.Problem; p != nil && p.Fix != "" && !hinted[p.Fix] {
				hinted[p.Fix] = true
				err.Text(console.Hint, p.Fix)
			}
		}
	}
	if placed && r.command == "add" {
		err.Text(console.Hint, notBound)
	}
}

// spotJSON is the JSON form of a link or copy in a client's folder.
type spotJSON struct {
	Client string         `json:"client"`
	At     string         `json:"at,omitempty"`
	Form   string         `json:"form,omitempty"`
	Action install.Action `json:"action"`
	Kept   string         `json:"kept,omitempty"`
	Reason string         `json:"reason,omitempty"`
	Fix    string         `json:"fix,omitempty"`
}

func spotsJSON(spots []*install.Spot) (out []spotJSON) {
	for _, s := range spots {
		j := spotJSON{Client: s.Client, At: s.Path, Form: string(s.Form), Action: s.Do, Kept: s.Kept}
		if s.Problem != nil {
			j.Reason, j.Fix = s.Problem.Error(), s.Problem.Fix
		}
		out = append(out, j)
	}
	return out
}

// seesJSON is the JSON form of how a client of this machine sees the new skills.
type seesJSON struct {
	Client string `json:"client"`
	Sees   string `json:"sees,omitempty"` // "folder" or "knack"; "" if it does not see them
}

func (s *sight) json() (out []seesJSON) {
	if s == nil {
		return nil
	}
	for _, group := range []struct {
		how     string
		clients []Client
	}{{"folder", s.read}, {"folder", s.placed}, {"knack", s.knack}, {"", s.not}} {
		for _, c := range group.clients {
			out = append(out, seesJSON{c.ID, group.how})
		}
	}
	return out
}

// offeredAt reports whether knack serve, without flags, reads a folder of skills.
func offeredAt(env *console.Env, in *install.Installer, folder string) bool {
	for _, root := range wellKnown(env, in) {
		if realpath.Same(root.Dir, folder) {
			return true
		}
	}
	return false
}
