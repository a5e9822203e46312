package mcpserver

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/skill"
)

// fileTemplate is the only resource template; its path is everything after the scheme.
const fileTemplate = "skill://{+path}"

// completions bounds the values in one answer (MCP, completion).
const completions = 100

// complete proposes values for the argument of a prompt or for {+path} of the template. For a
// prompt these are skill names. For the template they are first the skills whose URI begins with
// the typed text, then the skills whose name does. If the text leads into a skill, they are the
// skill's files. The protocol does not complete tool arguments.
func (s *Server) complete(ctx context.Context, x *exchange) (reply, error) {
	p := x.params
	if p.Ref.Type == "" || p.Argument.Name == "" {
		return reply{}, invalid("completion/complete requires the parameters ref, and argument with a name")
	}
	v, err := s.view(ctx)
	if err != nil {
		return reply{}, err
	}
	var values []string
	switch {
	case p.Ref.Type == "ref/prompt":
		if values, err = s.completePrompt(ctx, v, p); err != nil {
			return reply{}, err
		}
	case p.Ref.URI == fileTemplate && p.Argument.Name == "path":
		values = proposals(ctx, v, strings.TrimPrefix(p.Argument.Value, skill.Scheme))
	default:
		return reply{}, notFound(p.Ref.URI, "nothing to complete; the template is "+fileTemplate+" with the argument path")
	}
	if ctx.Err() != nil {
		return reply{}, ctx.Err()
	}
	lacks, total, weight := v.Incomplete(), len(values), 0
	more := lacks != nil || total > completions
	values = slices.Clone(values[:min(total, completions)]) // a copy, so that the values beyond the bound are freed
	for _, value := range values {
		weight += len(value)
	}
	if lacks != nil {
		total = 0 // unknown, so it is not written
	}
	return markIncomplete(v, reply{weight: weight, members: func(e *rawjson.Encoder) {
		e.Raw(`"completion":`)
		e.Value(mcp.CompletionResultDetails{Total: total, HasMore: more, Values: values})
	}}, false)
}

func proposals(ctx context.Context, v catalog.View, begun string) []string {
	first, later, typed := []string{}, []string{}, strings.ToLower(begun)
	if limit.Reserve(ctx, skill.FolderMemory) != nil {
		return nil
	}
	for _, e := range v.Served() {
		path := strings.TrimPrefix(e.URI().String(), skill.Scheme)
		folder := strings.TrimSuffix(path, skill.MainFile)
		switch {
		case strings.HasPrefix(begun, folder):
			files, _ := catalog.Await(ctx, v, e, func() []string { return filesWithPrefix(ctx, e, begun) })
			first = append(first, files...)
		case strings.HasPrefix(strings.ToLower(path), typed):
			first = append(first, path)
		case strings.HasPrefix(strings.ToLower(e.Name), typed):
			later = append(later, path)
		}
	}
	return slices.Compact(append(first, later...))
}

// filesWithPrefix returns the files of a skill whose URIs begin with the typed text.
func filesWithPrefix(ctx context.Context, e *catalog.Entry, begun string) (values []string) {
	files, _, err := e.List(ctx, skill.MaxFiles)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, skill.ErrIncomplete) {
		return nil
	}
	for _, f := range files {
		uri, err := e.FileURI(f.Path)
		if path := strings.TrimPrefix(uri.String(), skill.Scheme); err == nil && strings.HasPrefix(path, begun) {
			values = append(values, path)
		}
	}
	return values
}
