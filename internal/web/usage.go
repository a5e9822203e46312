package web

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/server/usage"
)

// Numbers of items that the page shows.
const (
	usageRows = 100 // skills, and names that no skill has
	usersRows = 5   // clients of a skill or a week
)

// lifetimeText describes the lifetime of the counts, for people.
var lifetimeText = map[usage.Keeping]string{
	usage.InMemory: "They are lost when the server ends, since its settings name no usage.file.",
	usage.InFile:   "They are kept in a file, also when the server ends.",
	usage.Failing:  "The file that should keep them cannot be used now, and the log says why. Until it can, they are lost when the server ends.",
}

type usagePage struct {
	frame
	usage.Report
	Kept    string
	Rows    []useRow
	More    int
	NUnused int
	Unused  string // address of the list of the skills that were never used
	Bars    []bar
	Most    uint64 // maximum of loads and reads in one hour
	ByWeek  []weekRow
	Missed  []usage.Missing
	MoreOf  int  // number of names in Missed not shown
	Whole   bool // the client sees names that no skill has
}

type useRow struct {
	Href, Name string
	users
	usage.Counts
}

// users are the most active clients of a skill or a week, and the number of further clients.
type users struct {
	Users []usage.Client
	Other int
}

func usersOf(all []usage.Client) users {
	n := min(len(all), usersRows)
	return users{all[:n], len(all) - n}
}

// weekRow is one week. The widths of its bars are in percent of the longest bar.
type weekRow struct {
	At time.Time
	usage.Counts
	users
	LoadedWidth, ReadWidth int
}

// bar is one hour of the chart, in units of a drawing 120 high.
type bar struct {
	X               int
	LoadedY, Loaded int
	ReadY, Read     int
	Label           string
	NLoaded, NRead  uint64
	Tick            bool // the hour is written below the bar
}

func (s *Site) usage(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	p := usagePage{frame: s.frame(r, "Usage", "usage"), Report: s.o.Usage.Seen(v), Kept: lifetimeText[s.o.Usage.Keeping()], Unused: filter{Used: never}.href()}
	p.NUnused = len(s.o.Usage.NeverUsed(v.Entries))
	slices.SortStableFunc(p.Skills, func(a, b usage.Skill) int {
		return cmp.Or(a.Compare(b.Counts), cmp.Compare(a.Entry.Key, b.Entry.Key))
	})
	p.More = max(len(p.Skills)-usageRows, 0)
	for _, uses := range p.Skills[:len(p.Skills)-p.More] {
		p.Rows = append(p.Rows, useRow{pageOf(uses.Entry), nameOf(uses.Entry), usersOf(uses.Clients), uses.Counts})
	}
	p.Missed, p.Whole = s.o.Usage.Missing(v)
	p.MoreOf = max(len(p.Missed)-usageRows, 0)
	p.Missed = p.Missed[:len(p.Missed)-p.MoreOf]
	p.hours()
	p.weeks()
	return s.render(r, http.StatusOK, "usage", p)
}

// leastBar is the minimum height of a bar, so that one read beside a hundred loads is
// visible, even on a phone.
const leastBar = 3

// share returns the size of the bar for n, if the bar for most has the given size.
func share(n, most uint64, size int) int {
	if n == 0 {
		return 0
	}
	return max(int(float64(n)/float64(max(most, 1))*float64(size)), leastBar)
}

// hours computes the bars of the last day, one for each hour.
func (p *usagePage) hours() {
	const height = 120
	for _, h := range p.Hours {
		p.Most = max(p.Most, h.Used())
	}
	for i, h := range p.Hours {
		b := bar{X: i * 20, Label: h.At.Format("15:04"), Tick: i%6 == 0, NLoaded: h.Loaded, NRead: h.Read}
		b.Loaded, b.Read = share(h.Loaded, p.Most, height), share(h.Read, p.Most, height)
		b.LoadedY = height - b.Loaded
		b.ReadY = b.LoadedY - b.Read
		p.Bars = append(p.Bars, b)
	}
}

// weeks computes a row for each week since the counts began, the last one first.
func (p *usagePage) weeks() {
	var most uint64
	for _, w := range p.Weeks {
		most = max(most, w.Used())
	}
	for _, w := range slices.Backward(p.Weeks) {
		if !w.At.AddDate(0, 0, 7).After(p.Since) {
			break
		}
		p.ByWeek = append(p.ByWeek, weekRow{At: w.At, Counts: w.Counts, users: usersOf(w.Clients), LoadedWidth: share(w.Loaded, most, 100), ReadWidth: share(w.Read, most, 100)})
	}
}

// usageOf has the figures about usage on the health page.
type usageOf struct {
	Since           time.Time
	NUnused         int
	Unused          string
	Missing         int
	Whole           bool
	Clients, Weekly int // number of clients, and of weeks in which a skill was used
}

func (s *Site) usageOf(v catalog.View) usageOf {
	u := s.o.Usage.Seen(v)
	out := usageOf{Since: u.Since, NUnused: len(s.o.Usage.NeverUsed(v.Entries)), Unused: filter{Used: never}.href(), Clients: len(u.Clients)}
	for _, w := range u.Weeks {
		if w.Used() > 0 {
			out.Weekly++
		}
	}
	missing, whole := s.o.Usage.Missing(v)
	out.Missing, out.Whole = len(missing), whole
	return out
}
