package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/lookup"
	"github.com/knack-dev/knack/tool/profile"
)

// Limits of prompts.
const (
	// maxPrompts bounds the skills that are listed as prompts, because clients show them as one
	// menu. Users find other skills by completion and by name.
	maxPrompts = 100
	promptPage = 50
	// promptText is the only argument of a prompt.
	promptText = "arguments"
)

func (s *Server) listPrompts(ctx context.Context, x *exchange) (reply, error) {
	v, err := s.completeView(ctx)
	if err != nil {
		return reply{}, err
	}
	all := v.Invocable()
	if left := int64(len(all) - maxPrompts); left > 0 && s.withoutPrompt.Swap(left) != left {
		s.o.Log.Warn("skills without a prompt: only the first of the listing have one", "prompts", maxPrompts, "without", left, "first without", display.Echo(all[maxPrompts].Name))
	}
	all = all[:min(len(all), maxPrompts)]
	start, err := promptStart(all, x.params.Cursor)
	if err != nil {
		return reply{}, err
	}
	end, next := min(start+promptPage, len(all)), ""
	if end < len(all) {
		next = cursorAfter(end, all[end-1].URI().String())
	}
	arguments := promptArguments(x.client)
	return markIncomplete(v, listReply("prompts", all[start:end], next, uncached, func(e *rawjson.Encoder, entry *catalog.Entry) {
		e.Value(&mcp.Prompt{Name: display.OneLine(entry.Name), Description: display.OneLine(entry.Description), Arguments: arguments})
	}), start == end)
}

// promptArguments returns the argument for the user's text, in the form that the client supports.
func promptArguments(c profile.Client) []*mcp.PromptArgument {
	if c.Profile().Argument == profile.ArgumentNone {
		return nil
	}
	return []*mcp.PromptArgument{{Name: promptText, Description: "What to do with the skill", Required: c.Profile().Argument == profile.ArgumentRequired}}
}

// promptStart returns the position at which a cursor continues: after the last skill of the
// previous page. If that skill is gone, it returns the skill's former position, where the next
// skill is now.
func promptStart(all []*catalog.Entry, cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	place, last, err := parseCursor(cursor)
	if err != nil {
		return 0, errCursor()
	}
	if i := slices.IndexFunc(all, func(e *catalog.Entry) bool { return e.URI().String() == last }); i >= 0 {
		return i + 1, nil
	}
	return min(max(place-1, 0), len(all)), nil
}

// getPrompt returns one message in the user's name. The message has the location of the skill's
// files, the skill's text as it is on disk now, and the user's request. Nothing in the request is
// expanded.
func (s *Server) getPrompt(ctx context.Context, x *exchange) (reply, error) {
	v, err := s.view(ctx)
	if err != nil {
		return reply{}, err
	}
	name := lookup.Bounded(x.params.Name)
	unknown := invalid(fmt.Sprintf("Unknown prompt: %s (prompts/list names all)", display.Echo(name)))
	v, e, notSure := s.host.Named(ctx, v, name)
	if e == nil {
		if why := skippedAs(v, name); why != "" {
			unknown = invalid(fmt.Sprintf("Unknown prompt: %s (%s)", display.Echo(name), why))
		} else if notSure != nil {
			unknown = unsure(notSure)
		}
	}
	if e == nil || !e.UserInvocable {
		return reply{}, unknown
	}
	for _, argument := range slices.Sorted(maps.Keys(x.params.Texts)) {
		if argument != promptText {
			return reply{}, invalid(fmt.Sprintf("Unknown argument: %s (the only one is %s)", display.Echo(argument), promptText))
		}
	}
	d, err := s.host.Document(ctx, e.URI())
	switch {
	case lookup.IsUnsure(err):
		return reply{}, unsure(err)
	case errors.Is(err, lookup.ErrUnknown):
		return reply{}, unknown
	case err != nil:
		return reply{}, err
	}
	if v, err = s.view(ctx); err != nil { // the author may have changed the skill
		return reply{}, err
	}
	if now, _ := v.At(e.URI()); now != nil {
		if e = now; !e.UserInvocable {
			return reply{}, unknown
		}
	}
	text := s.host.BaseLine(ctx, e) + "\n\n" + d.Text
	if said := strings.TrimSpace(x.params.Texts[promptText]); said != "" {
		text = strings.TrimRight(text, "\n") + "\n\nThe user's request: " + said
	}
	return reply{meta: fallbackMeta(d.Fallback), weight: len(text), members: func(w *rawjson.Encoder) {
		if description := display.OneLine(e.Description); description != "" {
			w.Raw(`"description":`)
			w.String(description)
			w.Raw(",")
		}
		w.Raw(`"messages":[{"content":{"type":"text","text":`)
		w.String(text)
		w.Raw(`},"role":"user"}]`)
	}}, nil
}

// completePrompt proposes skill names for the argument of a prompt.
func (s *Server) completePrompt(ctx context.Context, v catalog.View, p *wire.Params) ([]string, error) {
	v, e, notSure := s.host.Named(ctx, v, lookup.Bounded(p.Ref.Name))
	if e == nil && notSure != nil {
		return nil, unsure(notSure)
	}
	if e == nil || !e.UserInvocable || p.Argument.Name != promptText {
		return nil, invalid(fmt.Sprintf("Unknown prompt or argument: %s, %s", display.Echo(p.Ref.Name), display.Echo(p.Argument.Name)))
	}
	typed := string(skill.KeyOf(display.CutBytes(p.Argument.Value, display.EchoLimit)))
	values := []string{}
	for _, e := range v.Invocable() {
		if typed != "" && strings.HasPrefix(string(e.Key), typed) {
			values = append(values, display.OneLine(e.Name))
		}
	}
	return values, nil
}

// fallbackMeta returns the metadata that marks a text as the last version served. It is nil for a
// current text.
func fallbackMeta(fallback bool) map[string]any {
	if !fallback {
		return nil
	}
	return map[string]any{"availability": "fallback"}
}
