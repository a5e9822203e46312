package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/lookup"
	"github.com/knack-dev/knack/tool/profile"
)

// Contract 004: get_skill(uri) and its list_skills.

var getByURISchema = json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string","minLength":1,"description":"URI of the skill, for example skill://engage/SKILL.md"}},"required":["uri"],"additionalProperties":false}`)

const (
	getByURIDescription  = `Read a skill, whole, by its skill:// URI. For clients that cannot read resources: the text is the one that the resource of that URI has. list_skills lists all URIs; skill://engage/SKILL.md says how to use skills.`
	listByURIDescription = `List all skills with URI, name and description. Read the one that fits the task with get_skill, by its URI.`

	markdown = "text/markdown"
	// supportedURIs is the number of URIs that an error names.
	supportedURIs = 20

	errNoURI = "Invalid URI. Provide a non-empty skill URI like skill://engage/SKILL.md."
)

// skillDocument is contract 004's answer as an object.
type skillDocument struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Text     string `json:"text"`
}

// Fields implements [Object].
func (d skillDocument) Fields() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		_ = yield("uri", d.URI) && yield("mimeType", d.MIMEType) && yield("text", d.Text)
	}
}

// listedSkill is one skill in the uri set's list_skills.
type listedSkill struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// skillList is the answer of the uri set's list_skills.
type skillList struct {
	Skills []listedSkill `json:"skills"`
}

func getByURI() *Tool {
	return &Tool{
		Contract: "004", Name: "get_skill", Title: "Get Skill", Schema: getByURISchema,
		keys: []string{"uri"}, skillKeys: []string{"uri"},
		describe: func(catalog.View, profile.Client) string { return getByURIDescription },
		malformed: func(_ context.Context, _ *Host, err error) (Result, error) {
			if errors.Is(err, errNoObject) { // arguments without an object have no URI
				return failure(errNoURI), nil
			}
			return failure("Invalid arguments for tool get_skill: %s", err), nil
		},
		call: func(ctx context.Context, h *Host, args arguments) (Result, error) {
			asked, _, err := args.name("uri")
			asked = strings.TrimSpace(asked)
			if err != nil || len(asked) < len(skill.Scheme) || !strings.EqualFold(asked[:len(skill.Scheme)], skill.Scheme) || len(asked) == len(skill.Scheme) {
				return failure(errNoURI), nil
			}
			v, err := h.Catalog.View(ctx)
			if err != nil {
				return Result{}, err
			}
			uri := byURI(v, asked)
			var unsure error
			if e, _ := v.At(uri); e == nil && v.Blocked(uri) == nil {
				if name, ok := bareName(asked); ok {
					v, _, unsure = h.NamedBy(ctx, v, name, func(v catalog.View) *catalog.Entry { return v.Named(name) })
					uri = byURI(v, asked)
				}
			}
			d, err := h.Document(ctx, uri)
			if lookup.IsUnsure(err) || errors.Is(err, lookup.ErrUnknown) || err == nil && !d.ModelInvocable {
				if plain, bad := skill.ParseURI(asked); bad == nil {
					if engage, ok := h.Engaged(plain); ok {
						uri, d, err = plain, engage, nil
					}
				}
			}
			if errors.Is(err, lookup.ErrUnknown) && unsure != nil {
				err = unsure
			}
			switch {
			case lookup.IsUnsure(err):
				return failure("Skill content is temporarily unavailable: %s.\nURI: %s", err, display.RedactURI(asked)), nil
			case errors.Is(err, lookup.ErrUnknown):
				if now, err := h.Catalog.View(ctx); err == nil { // the read may have shown that the file is gone
					v = now
				}
				return failure("Unsupported skill URI: %s\nUse list_skills to discover supported URIs. Currently supported: %s", unsupportedEcho(v, asked), supported(v)), nil
			case err != nil:
				return Result{}, err
			case !d.ModelInvocable:
				return failure("%s", lookup.NotForModels(display.RedactURI(asked))), nil
			}
			r := Result{
				Text:          "URI: " + uri.String() + "\n\n" + d.Text,
				Object:        skillDocument{URI: uri.String(), MIMEType: markdown, Text: d.Text},
				WritesIsError: true,
			}
			if d.Fallback {
				r.Meta = map[string]any{"availability": "fallback"}
			}
			return r, nil
		},
	}
}

// unsupportedEcho returns the part of an unknown URI that the answer repeats. If that part is the
// URI of a skill, it adds the fault in the rest.
func unsupportedEcho(v catalog.View, asked string) string {
	echo := display.RedactURI(asked)
	if plain, fault := skill.PlainURI(asked); fault != "" {
		if e, _ := v.At(byURI(v, plain)); e != nil {
			echo += " (" + fault + ")"
		}
	}
	return echo
}

// byURI returns the canonical URI of a request. That is the URI itself or, if no skill has it and
// it is a bare name, the URI of the skill with this name. For a text that is not a URI, it returns
// the zero URI.
func byURI(v catalog.View, asked string) skill.URI {
	uri, err := skill.ParseURI(asked)
	if err == nil {
		if e, _ := v.At(uri); e != nil {
			return uri
		}
		if name, ok := strings.CutSuffix(uri.Path(), "/"+skill.MainFile); ok {
			if e := v.Named(name); e != nil {
				return e.URI()
			}
		}
	}
	if name, ok := bareName(asked); ok {
		if e := v.Named(name); e != nil {
			return e.URI()
		}
		if e := v.BlockedNamed(name); e != nil && v.Blocked(uri) == nil {
			return e.URI()
		}
	}
	return uri
}

// bareName returns NAME from skill://NAME/SKILL.md if it is one segment, decoded once. The name may
// contain characters that no path has, such as a slash. It is only looked up, never opened.
func bareName(asked string) (string, bool) {
	segment, file, _ := strings.Cut(asked[len(skill.Scheme):], "/")
	file, err := url.PathUnescape(file)
	if err != nil || file != skill.MainFile || strings.ContainsAny(segment, `?#\@`) {
		return "", false
	}
	name, err := url.PathUnescape(segment)
	return name, err == nil && name != "" && utf8.ValidString(name)
}

// addressable returns every skill that get_skill can return: the listed skills, then the shadowed
// ones, which have their own URIs.
func addressable(v catalog.View) []*catalog.Entry {
	all := slices.Clip(v.Listed)
	for _, e := range v.Entries {
		if e.ModelInvocable && (e.Status == catalog.Shadowed || e.Status == catalog.Copy) {
			all = append(all, e)
		}
	}
	return all
}

// supported returns the first URIs that get_skill accepts, and the number of the others.
func supported(v catalog.View) string {
	var uris []string
	all := addressable(v)
	for _, e := range all {
		if u := e.URI().String(); len(uris) < supportedURIs && len(u) <= display.EchoLimit {
			uris = append(uris, u)
		}
	}
	text := strings.Join(uris, ", ")
	switch more := len(all) - len(uris); {
	case len(all) == 0:
		if note := listing.IncompleteNote(v, "list_skills"); note != "" {
			return note
		}
		return "(none)"
	case more > 0 && len(uris) > 0:
		return fmt.Sprintf("%s, and %d more", text, more)
	case more > 0:
		return fmt.Sprintf("%d, with longer names", more)
	}
	return text
}

func listByURI() *Tool {
	return &Tool{
		Contract: "004", Name: "list_skills", Title: "List Skills", Schema: noArguments,
		describe: func(catalog.View, profile.Client) string { return listByURIDescription },
		call: func(ctx context.Context, h *Host, _ arguments) (Result, error) {
			v, err := h.Catalog.View(ctx)
			if err != nil {
				return Result{}, err
			}
			text, list := uriList(v)
			return Result{Text: text, Object: list, Meta: incompleteMeta(v)}, nil
		},
	}
}

// uriList lists every skill that has a URI, because no other tool of this set names the skills that
// a shorter list would leave out. It shortens descriptions to keep the budget.
func uriList(v catalog.View) (string, skillList) {
	all := addressable(v)
	note := listing.IncompleteNote(v, "")
	if len(all) == 0 {
		text := "There are no skills."
		if lacks := v.Incomplete(); lacks != nil {
			text = fmt.Sprintf("No skill can be listed now: %s.", lacks)
		}
		for _, p := range unread(v) {
			text += "\n" + p.line()
		}
		return text, skillList{Skills: []listedSkill{}}
	}
	for _, most := range []int{foundLength, 400, 200, 100, 50, 0} {
		list := skillList{Skills: make([]listedSkill, 0, len(all))}
		var b strings.Builder
		cut := false
		for _, e := range all {
			whole := display.OneLine(e.Description)
			d := display.Cut(whole, most)
			cut = cut || d != whole
			uri := e.URI().String()
			list.Skills = append(list.Skills, listedSkill{URI: uri, Name: display.OneLine(e.Name), Description: d})
			b.WriteString("- " + uri + " " + display.OneLine(e.Name))
			if d != "" {
				b.WriteString(": " + d)
			}
			b.WriteByte('\n')
		}
		if cut {
			b.WriteString("(descriptions are shortened to fit; get_skill shows a skill whole)\n")
		}
		b.WriteString(note)
		if text := strings.TrimSuffix(b.String(), "\n"); most == 0 || display.Length(text) <= listing.Budget {
			return text, list
		}
	}
	panic("unreachable")
}
