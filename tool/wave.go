package tool

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/profile"
	"github.com/knack-dev/knack/tool/wave"
)

// Contract 003: Skill(skill_name). Package wave implements its strict reader.

var waveSchema = json.RawMessage(`{"type":"object","properties":{"skill_name":{"type":"string","description":"Name of the skill to invoke from available skills"}},"required":["skill_name"],"additionalProperties":false}`)

const (
	waveHead = "Invoke skills based on available skill metadata. Skills: "
	// waveBrief is the contract's own description in a function definition.
	waveBrief = "Invoke a skill to apply specialized expertise and capabilities"
)

// waveAnswer is contract 003's answer as an [Object].
type waveAnswer struct{ wave.ToolResult }

// Fields implements [Object].
func (a waveAnswer) Fields() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		_ = yield("success", a.Success) && yield("content", a.Content) &&
			(a.Error == "" || yield("error", a.Error)) && (a.ShortResult == "" || yield("shortResult", a.ShortResult))
	}
}

func (a waveAnswer) result() Result {
	return Result{Text: a.Content, Object: a, IsError: !a.Success}
}

func waveSkill() *Tool {
	list := func(v catalog.View) *listing.Skills { return listing.Of(wave.Skills(v)) }
	around := display.Length(waveHead)
	budget := func(c profile.Client) int { return listing.BudgetFor(c, around) }
	return &Tool{
		Contract: "003", Name: "Skill", Title: "Skill", Schema: waveSchema, Brief: waveBrief, around: around, skillKeys: []string{"skill_name"},
		describe: func(v catalog.View, c profile.Client) string {
			return waveHead + listing.Render(v, wave.Skills(v), listing.Bullets, budget(c), "")
		},
		arranged: func(v catalog.View, c profile.Client) listing.Arrangement {
			_, a := list(v).Arrange(listing.Bullets, budget(c), "")
			return a
		},
		call: func(ctx context.Context, h *Host, args arguments) (Result, error) {
			name, _, err := args.name("skill_name")
			if err == nil {
				err = args.onlyKeys([]string{"skill_name"})
			}
			if err != nil {
				return malformedWave(ctx, h, name, err)
			}
			r, err := (&wave.SkillManager{Finder: &h.Finder}).Execute(ctx, wave.SkillToolArgs{SkillName: name}, wave.ToolContext{})
			if err != nil {
				return Result{}, err
			}
			return waveAnswer{r}.result(), nil
		},
		malformed: func(ctx context.Context, h *Host, err error) (Result, error) {
			return malformedWave(ctx, h, "", err)
		},
	}
}

func malformedWave(ctx context.Context, h *Host, name string, reason error) (Result, error) {
	v, err := h.Catalog.View(ctx)
	if err != nil {
		return Result{}, err
	}
	return waveAnswer{wave.InvalidArguments(v, name, reason)}.result(), nil
}
