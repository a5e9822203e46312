package mcpserver

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skillsext"
	"github.com/knack-dev/knack/tool"
)

// Limits of prompts.
const (
	// maxPrompts is how many skills are prompts: clients show them as one menu, and users
	// with more find the rest by completion and by name.
	maxPrompts = 100
	promptPage = 50
	// promptText is the only argument of a prompt.
	promptText = "arguments"
)

func (s *Server) listPrompts(ctx context.Context, p *mcp.ListPromptsParams, c tool.Client) (mcp.Result, error) {
	v, err := s.whole(ctx)
	if err != nil {
		return nil, err
	}
	all := v.Invocable()
	if left := int64(len(all) - maxPrompts); left > 0 && s.unprompted.Swap(left) != left {
		s.log.Warn("skills without a prompt: only the first of the listing have one", "prompts", maxPrompts, "without", left, "first without", skill.Echo(all[maxPrompts].Name))
	}
	all = all[:min(len(all), maxPrompts)]
	start := 0
	if p != nil && p.Cursor != "" {
		if start, err = promptStart(all, p.Cursor); err != nil {
			return nil, err
		}
	}
	end := min(start+promptPage, len(all))
	prompts := make([]*mcp.Prompt, 0, end-start)
	arguments := promptArguments(c)
	for _, e := range all[start:end] {
		prompts = append(prompts, &mcp.Prompt{Name: e.Name, Description: skill.OneLine(e.Description), Arguments: arguments})
	}
	res := newResult(p, mcp.Cacheable{TTLMs: listTTL, CacheScope: "private"}, "prompts", prompts)
	if end < len(all) {
		res.NextCursor = base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", end, all[end-1].URI()))
	}
	return res, nil
}

// promptArguments asks for what the person wrote in the way that the client gives it.
func promptArguments(c tool.Client) []*mcp.PromptArgument {
	if c.PromptArgument() == tool.ArgumentNone {
		return nil
	}
	return []*mcp.PromptArgument{{
		Name: promptText, Description: "What to do with the skill", Required: c.PromptArgument() == tool.ArgumentRequired,
	}}
}

// promptStart is where a cursor goes on: after the skill that was listed last, wherever
// it is now, or at its former place if it is gone.
func promptStart(all []*catalog.Entry, cursor string) (int, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	count, last, _ := strings.Cut(string(raw), " ")
	if err != nil || len(raw) > 8192 {
		return 0, errCursor()
	}
	start, err := strconv.ParseUint(count, 10, 31)
	if err != nil {
		return 0, errCursor()
	}
	if u, err := skill.ParseURI(last); err != nil || u.String() != last {
		return 0, errCursor()
	}
	if i := slices.IndexFunc(all, func(e *catalog.Entry) bool { return e.URI().String() == last }); i >= 0 {
		return i + 1, nil
	}
	return min(int(start), len(all)), nil
}

// getPrompt answers with the skill's text as it is on disk now, in the user's name,
// below the folder of its other files. What the user wrote stands at the end, as the
// user's: plain text, in which nothing is expanded.
func (s *Server) getPrompt(ctx context.Context, p *mcp.GetPromptParams) (mcp.Result, error) {
	v, err := s.view(ctx)
	if err != nil {
		return nil, err
	}
	if p == nil {
		p = &mcp.GetPromptParams{}
	}
	unknown := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("Unknown prompt: %s (prompts/list names all)", skill.Echo(p.Name))}
	e := v.Named(p.Name)
	if e == nil {
		if why := skippedAs(v, p.Name); why != "" {
			unknown.Message = fmt.Sprintf("Unknown prompt: %s (%s)", skill.Echo(p.Name), why)
		}
	}
	if e == nil || !e.UserInvocable {
		return nil, unknown
	}
	for name := range p.Arguments {
		if name != promptText {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("Unknown argument: %s (the only one is %s)", skill.Echo(name), promptText)}
		}
	}
	d, err := s.host.Document(ctx, e.URI())
	switch {
	case errors.Is(err, tool.ErrUnknown):
		return nil, unknown
	case err != nil:
		return nil, err
	}
	if v, err = s.view(ctx); err != nil { // the author may have changed it
		return nil, err
	}
	if now, _ := v.At(e.URI()); now != nil {
		if e = now; !e.UserInvocable {
			return nil, unknown
		}
	}
	text := s.host.BaseLine(ctx, e) + "\n\n" + d.Text
	if said := strings.TrimSpace(p.Arguments[promptText]); said != "" {
		text = strings.TrimRight(text, "\n") + "\n\nThe user's request: " + said
	}
	res := &promptResult{
		Description: skill.OneLine(e.Description),
		Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
	}
	if modern(p) {
		res.ResultType = skillsext.Complete
	}
	if d.Fallback {
		res.Meta = fallbackMeta()
	}
	return res, nil
}

// promptResult is the SDK's with the resultType of 2026-07-28, which the SDK sets
// in its own handlers alone.
type promptResult struct {
	mcp.ResultBase
	ResultType  string               `json:"resultType,omitempty"`
	Description string               `json:"description,omitempty"`
	Messages    []*mcp.PromptMessage `json:"messages"`
}

// completePrompt proposes names of skills for the argument of a prompt.
func (s *Server) completePrompt(v catalog.View, p *mcp.CompleteParams) ([]string, error) {
	if e := v.Named(p.Ref.Name); e == nil || !e.UserInvocable || p.Argument.Name != promptText {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("Unknown prompt or argument: %s, %s", skill.Echo(p.Ref.Name), skill.Echo(p.Argument.Name))}
	}
	typed := string(skill.KeyOf(skill.CutBytes(p.Argument.Value, skill.EchoLimit)))
	values := []string{}
	for _, e := range v.Invocable() {
		if typed != "" && strings.HasPrefix(string(e.Key), typed) {
			values = append(values, e.Name)
		}
	}
	return values, nil
}

// fallbackMeta says that a text is the one that was served last.
func fallbackMeta() mcp.Meta { return mcp.Meta{"availability": "fallback"} }
