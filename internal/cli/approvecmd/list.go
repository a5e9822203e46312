package approvecmd

import (
	"context"
	"strings"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/selection"
	"github.com/knack-dev/knack/internal/policy/approvals"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// The states of an approval that package approvals does not define.
const (
	stateGone   = "gone"   // no skill has the URI
	stateUnread = "unread" // the files of the skill cannot be read
)

// approvalsJSON is the JSON form of approve --list.
type approvalsJSON struct {
	Version   int            `json:"version"`
	File      string         `json:"file"`
	Approvals []approvalJSON `json:"approvals"`
	Accepted  []acceptJSON   `json:"accepted"`
}

// acceptJSON is an entry of scan.accept.
type acceptJSON struct {
	Rule   skill.RuleID `json:"rule"`
	Skill  string       `json:"skill"` // a pattern
	Set    string       `json:"set,omitempty"`
	Until  string       `json:"until,omitempty"`
	Reason string       `json:"reason"`
	File   string       `json:"file"`
	Line   int          `json:"line"`
}

// acceptedIn returns the entries of scan.accept in the user's settings.
func acceptedIn(files *settings.Finder) []acceptJSON {
	all := []acceptJSON{}
	file, err := files.Trusted()
	if err != nil || file == nil {
		return all
	}
	for _, a := range file.Config.Scan.Accept {
		row := acceptJSON{Rule: a.Rule, Skill: a.Skill.String(), Reason: a.Reason, File: file.Shown, Line: a.Line}
		if a.Set != (skill.Digest{}) {
			row.Set = a.Set.String()
		}
		if !a.Until.IsZero() {
			row.Until = a.Until.Format(time.DateOnly)
		}
		all = append(all, row)
	}
	return all
}

type approvalJSON struct {
	URI    string `json:"uri"`
	State  string `json:"state"`
	Set    string `json:"set"`
	Now    string `json:"now,omitempty"` // the skill's current set
	By     string `json:"by"`
	At     string `json:"at"`
	Until  string `json:"until,omitempty"`
	Reason string `json:"reason,omitempty"`
	Files  int    `json:"files"`

	words string
}

func listApprovals(ctx context.Context, env *console.Env, f *approveFlags) (command.Result, error) {
	w, err := f.from.Open()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	book, at, err := bookOf(env, w.Files())
	if err != nil {
		return nil, err
	}
	v, err := w.View(ctx)
	if err != nil {
		return nil, err
	}
	out := &approvalsJSON{Version: 1, File: env.Shown(at), Approvals: []approvalJSON{}, Accepted: acceptedIn(w.Files())}
	for _, a := range book.All() {
		row := approvalJSON{URI: a.URI, Set: a.Set.String(), By: a.By, At: a.At.Format(time.RFC3339), Reason: a.Reason, Files: len(a.Files)}
		if !a.Until.IsZero() {
			row.Until = a.Until.Format(time.DateOnly)
		}
		row.compare(ctx, v, book)
		if ctx.Err() != nil {
			return nil, workspace.Interrupted(ctx.Err())
		}
		out.Approvals = append(out.Approvals, row)
	}
	return out, nil
}

// Print implements [command.Result].
func (l *approvalsJSON) Print(env *console.Env) {
	p := env.Out()
	counts := map[string]int{}
	for _, row := range l.Approvals {
		counts[row.State]++
		p.Line("%s", console.Bold.Of(row.URI))
		text := row.words
		if row.Until != "" && row.State != string(approvals.Expired) {
			text += "; until " + row.Until
		}
		if row.Reason != "" {
			text += ": " + row.Reason
		}
		p.Item(2, "  %s", text)
	}
	for _, a := range l.Accepted {
		text := "in any files"
		if a.Set != "" {
			text = "in " + a.Set[:min(len(a.Set), shortSet)] + "…"
		}
		if a.Until != "" {
			text += "; until " + a.Until
		}
		p.Line("%s", console.Bold.Of(a.Skill))
		p.Item(2, "  accepted %s %s: %s (%s:%d)", a.Rule, text, a.Reason, a.File, a.Line)
	}
	var words []string
	for _, state := range []string{string(approvals.Approved), string(approvals.Changed), string(approvals.Expired), stateGone, stateUnread} {
		if n := counts[state]; n > 0 {
			words = append(words, display.Thousands(n)+" "+strings.Replace(state, "changed", "changed since", 1))
		}
	}
	last := display.Count(len(l.Approvals), "approval")
	if len(words) > 0 {
		last += ": " + strings.Join(words, ", ")
	}
	if len(l.Accepted) > 0 {
		last += "; " + display.Count(len(l.Accepted), "accepted rule")
	}
	p.Line("%s", last)
}

// shortSet is the length of a shortened digest: its algorithm and twelve digits.
const shortSet = len("sha256:") + 12

// compare sets the row's state by comparing the approval with the current skill.
func (row *approvalJSON) compare(ctx context.Context, v catalog.View, book *approvals.Book) {
	e := skillAt(v, row.URI)
	if e == nil {
		if skipped := selection.Skipped(v, row.URI); skipped != nil {
			row.State, row.words = stateUnread, "not served: "+tool.Reason(skipped)
			return
		}
		row.State, row.words = stateGone, "gone: there is no such skill here"
		return
	}
	files, err := e.Manifest(ctx, nil)
	if err != nil {
		row.State, row.words = stateUnread, "its files cannot be compared: "+skill.Reason(err)
		return
	}
	s := book.Compare(row.URI, files, time.Now())
	row.State, row.Now, row.words = string(s.Is), s.Set.String(), s.String()
}

// skillAt returns the skill whose SKILL.md has the given URI, or nil.
func skillAt(v catalog.View, uri string) *catalog.Entry {
	u, err := skill.ParseURI(uri)
	if err != nil {
		return nil
	}
	if e, _ := v.At(u); e != nil && selection.HasURI(e) && e.URI() == u {
		return e
	}
	return nil
}
