package web

import (
	"net/http"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// The discovery index of agent skills, version 0.2.0
// (github.com/cloudflare/agent-skills-discovery-rfc).
const (
	wellKnown       = "/.well-known/agent-skills/"
	discoverySchema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
)

type discoveryIndex struct {
	Schema string           `json:"$schema"`
	Skills []discoverySkill `json:"skills"`
}

type discoverySkill struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
	URL         string `json:"url"`
	Digest      string `json:"digest"`
}

// discoverable: the index holds published skills that answer to their own name. A
// skill's other files are not in it: its SKILL.md is the artifact.
func discoverable(e *catalog.Entry) bool { return e.Status == catalog.Available && publishable(e) }

func (s *Site) wellKnownIndex(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	out := discoveryIndex{discoverySchema, []discoverySkill{}}
	for _, e := range v.Entries {
		if discoverable(e) {
			out.Skills = append(out.Skills, discoverySkill{e.Name, "skill-md", e.Description, wellKnown + e.Name + "/" + skill.MainFile, e.Digest.String()})
		}
	}
	return answerJSON(r, out)
}

func (s *Site) wellKnownSkill(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	name, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, wellKnown), "/"+skill.MainFile)
	catalog.Ask(r.Context(), name)
	e := v.Named(name)
	if !ok || e == nil || e.Name != name || !discoverable(e) {
		return problem(http.StatusNotFound, "The index has no such skill.")
	}
	data, _, err := v.Read(r.Context(), e)
	if err != nil {
		return readFault(err)
	}
	r.w.Header().Set("Content-Security-Policy", rawPolicy)
	return answerTagged(r, "text/markdown; charset=utf-8", data)
}
