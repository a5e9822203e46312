package web

import (
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/server/usage"
)

// apiUsage is one page of the usage counts. Only Skills is paged; the other fields are complete.
type apiUsage struct {
	Since   time.Time      `json:"since"`
	Kept    bool           `json:"kept"`
	Count   usage.Counts   `json:"count"`
	Unused  int            `json:"unused"`
	Clients []usage.Client `json:"clients"`
	Weeks   []apiWeekUses  `json:"weeks"`
	Missing []apiMissing   `json:"missing,omitempty"`
	Skills  []apiSkillUses `json:"skills"`
	Total   int            `json:"total"`
	Next    string         `json:"next,omitempty"`

	Incomplete string `json:"incomplete,omitempty"`
}

type apiWeekUses struct {
	Begins  string             `json:"begins"`
	Loaded  uint64             `json:"loaded"`
	Read    uint64             `json:"read"`
	Clients []apiClientsOfWeek `json:"clients"`
}

type apiClientsOfWeek struct {
	Name   string `json:"name"`
	Loaded uint64 `json:"loaded"`
	Read   uint64 `json:"read"`
}

type apiMissing struct {
	Name  string `json:"name"`
	Times uint64 `json:"times"`
	Last  string `json:"last"`
}

type apiSkillUses struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
	usage.Counts
	Clients []usage.Client `json:"clients"`
}

// apiUsage returns how often skills were offered, loaded and read from.
func (s *Site) apiUsage(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if err := only(q, "limit", "cursor"); err != nil {
		return err
	}
	u := s.o.Usage.Seen(v)
	byEntry, entries := map[*catalog.Entry]usage.Skill{}, make([]*catalog.Entry, len(u.Skills))
	for i, w := range u.Skills {
		entries[i], byEntry[w.Entry] = w.Entry, w
	}
	page, next, err := paged(q, entries, nil)
	if err != nil {
		return err
	}
	out := apiUsage{
		Since: u.Since.Truncate(time.Second), Kept: s.o.Usage.Keeping() == usage.InFile, Count: u.Total, Unused: len(s.o.Usage.NeverUsed(v.Entries)), Clients: u.Clients,
		Weeks: []apiWeekUses{}, Skills: []apiSkillUses{}, Total: len(entries), Next: next, Incomplete: r.incomplete(),
	}
	for _, w := range u.Weeks {
		if w.Used() == 0 {
			continue
		}
		week := apiWeekUses{Begins: dateOf(w.At), Loaded: w.Loaded, Read: w.Read}
		for _, c := range w.Clients {
			week.Clients = append(week.Clients, apiClientsOfWeek{c.Name, c.Loaded, c.Read})
		}
		out.Weeks = append(out.Weeks, week)
	}
	missing, _ := s.o.Usage.Missing(v)
	for _, m := range missing {
		out.Missing = append(out.Missing, apiMissing{m.Name, m.Times, dateOf(m.Last)})
	}
	for _, e := range page {
		out.Skills = append(out.Skills, apiSkillUses{e.URI().String(), e.Name, byEntry[e].Counts, byEntry[e].Clients})
	}
	return answerJSON(r, out)
}
