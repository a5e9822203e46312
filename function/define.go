package function

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/tool/profile"
)

type openAIDefinition struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type anthropicDefinition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
}

type geminiDefinitions struct {
	Declarations []geminiDeclaration `json:"functionDeclarations"`
}

// geminiDeclaration has the schema as parametersJsonSchema, which accepts any JSON Schema,
// including additionalProperties. The alternative, parameters, accepts only a subset of OpenAPI
// 3.0, without additionalProperties
// (cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration).
type geminiDeclaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parametersJsonSchema"`
}

// mcpDefinition is a tool as in tools/list.
type mcpDefinition struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"inputSchema"`
	Annotations *mcpAnnotations `json:"annotations,omitempty"`
	Meta        map[string]any  `json:"_meta,omitempty"`
}

// mcpAnnotations are the annotations of every tool of a set.
type mcpAnnotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// OpenAILimit is the maximum length, in characters, of a description in a definition for OpenAI.
// OpenAI and most other endpoints of its form refuse a longer one
// (github.com/OpenHands/OpenHands/issues/4838). No limit of the other formats is known.
const OpenAILimit = 1024

// Definitions describes the tools to a model. The result is a JSON array, or for Gemini one object.
// If the client has no limit of its own, [OpenAILimit] applies to OpenAI's form. The error is the
// context's, or reports an unknown format or a limit that is less than a tool's fixed words.
//
// Tools from elsewhere, which the caller itself calls, follow the tools of the set. Their
// descriptions are cut to the limit.
func Definitions(ctx context.Context, h *tool.Host, tools []*tool.Tool, f Format, c profile.Client, elsewhere ...tool.Definition) (json.RawMessage, error) {
	if _, err := ParseFormat(string(f)); err != nil {
		return nil, err
	}
	if c.Limit == 0 && f == OpenAI {
		c.Limit = OpenAILimit
	}
	tools, err := tool.Limit(tools, max(c.Limit, 0))
	if err != nil {
		return nil, err
	}
	v, err := h.Catalog.View(ctx)
	if err != nil {
		return nil, fmt.Errorf("define tools: %w", err)
	}
	defs := make([]tool.Definition, 0, len(tools)+len(elsewhere))
	for _, t := range tools {
		d := t.Define(v, c)
		if f == OpenAI && t.Brief != "" {
			d.Description = t.Brief
		}
		defs = append(defs, d)
	}
	for _, d := range elsewhere {
		if c.Limit > 0 {
			d.Description = display.Cut(d.Description, c.Limit)
		}
		defs = append(defs, d)
	}
	all := make([]any, len(defs))
	declarations := make([]geminiDeclaration, len(defs))
	for i, d := range defs {
		switch f {
		case OpenAI:
			all[i] = openAIDefinition{"function", openAIFunction{d.Name, d.Description, d.Schema}}
		case Anthropic:
			all[i] = anthropicDefinition{d.Name, d.Description, d.Schema}
		case Gemini:
			declarations[i] = geminiDeclaration{d.Name, d.Description, d.Schema}
		case MCP:
			m := mcpDefinition{Name: d.Name, Title: d.Title, Description: d.Description, Schema: d.Schema, Meta: d.Meta}
			if i < len(tools) {
				m.Annotations = &mcpAnnotations{ReadOnly: true, Idempotent: true}
			}
			all[i] = m
		}
	}
	if f == Gemini {
		return rawjson.Marshal(geminiDefinitions{declarations})
	}
	return rawjson.Marshal(all)
}
