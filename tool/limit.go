package tool

import (
	"errors"
	"fmt"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/profile"
)

// Limit returns the tools with descriptions of at most n characters, for any skills and any client.
// 0 sets no limit. A character outside Unicode's first plane counts twice, as in JavaScript, so no
// endpoint gets a higher count. Lists of skills are shortened, and tell so. The fixed words of a
// contract are never shortened. The error names a tool whose fixed words are too long.
func Limit(tools []*Tool, n int) ([]*Tool, error) {
	switch {
	case n == 0:
		return tools, nil
	case n < 0:
		return nil, errors.New("it is negative")
	}
	limited := make([]*Tool, len(tools))
	for i, t := range tools {
		if least := t.least(); n < least {
			return nil, fmt.Errorf("the description of the tool %s takes %d characters without a list of skills, and %d are allowed", t.Name, least, n)
		}
		limited[i] = t.limited(n)
	}
	return limited, nil
}

// least returns the lowest limit that the tool can have: the length of its longest description with
// the shortest list.
func (t *Tool) least() int {
	if t.arranged == nil {
		return display.Length(t.describe(catalog.View{}, profile.Client{}))
	}
	return t.around + listing.LeastBudget
}

// limited returns the tool for clients that show at most n characters.
func (t *Tool) limited(n int) *Tool {
	within := func(c profile.Client) profile.Client {
		if c.Limit <= 0 || c.Limit > n {
			c.Limit = n
		}
		return c
	}
	limited := *t
	limited.describe = func(v catalog.View, c profile.Client) string { return t.describe(v, within(c)) }
	if t.arranged != nil {
		limited.arranged = func(v catalog.View, c profile.Client) listing.Arrangement { return t.arranged(v, within(c)) }
	}
	if t.lay != nil {
		limited.lay = func(v catalog.View, c profile.Client) laid { return t.lay(v, within(c)) }
	}
	return &limited
}
