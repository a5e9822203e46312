package eval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Rate is a number of hits among a number of trials.
type Rate struct {
	Hits, Of int
	// Prompts is the number of prompts, if each was tried equally often. The interval then counts
	// prompts instead of trials, because a repetition tells less than another prompt.
	Prompts int
}

// AddPrompt counts the trials of one prompt.
func (r *Rate) AddPrompt(trials Rate) {
	r.Hits, r.Of, r.Prompts = r.Hits+trials.Hits, r.Of+trials.Of, r.Prompts+1
}

// Add counts one more trial.
func (r *Rate) Add(hit bool) {
	r.Of++
	if hit {
		r.Hits++
	}
}

// Value returns the share of hits, or 0 without trials.
func (r Rate) Value() float64 {
	if r.Of == 0 {
		return 0
	}
	return float64(r.Hits) / float64(r.Of)
}

// z is the quantile of the normal distribution for an interval of 95 %.
const z = 1.959964

// Interval returns the Wilson interval of 95 %: E. B. Wilson, "Probable Inference, the Law of
// Succession, and Statistical Inference", 1927. Without trials it is [0, 1].
func (r Rate) Interval() (low, high float64) {
	if r.Of == 0 {
		return 0, 1
	}
	n, p := float64(cmp.Or(r.Prompts, r.Of)), r.Value()
	middle, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, (middle-half)/(1+z*z/n)), min(1, (middle+half)/(1+z*z/n))
}

// String returns the rate in the form "5 of 6, 83 % (95 %: 44 to 97 %)". If Prompts is set, it
// counts prompts, as in "2.5 of 6".
func (r Rate) String() string {
	if r.Of == 0 {
		return "none"
	}
	n := cmp.Or(r.Prompts, r.Of)
	hits := strings.TrimSuffix(fmt.Sprintf("%.1f", r.Value()*float64(n)), ".0")
	low, high := r.Interval()
	return fmt.Sprintf("%s of %d, %.0f %% (95 %%: %.0f to %.0f %%)", hits, n, 100*r.Value(), 100*low, 100*high)
}

// MarshalJSON writes the counts, the share and the interval with three digits, since further
// digits could differ between processors.
func (r Rate) MarshalJSON() ([]byte, error) {
	low, high := r.Interval()
	round := func(x float64) float64 { return math.Round(x*1000) / 1000 }
	return json.Marshal(struct {
		Hits    int     `json:"hits"`
		Of      int     `json:"of"`
		Prompts int     `json:"prompts,omitempty"`
		Rate    float64 `json:"rate"`
		Low     float64 `json:"low"`
		High    float64 `json:"high"`
	}{r.Hits, r.Of, r.Prompts, round(r.Value()), round(low), round(high)})
}
