// Command sbom prints the bill of materials of a Go binary as CycloneDX 1.6 JSON. It lists the
// linked modules and the standard library, from the build information in the binary.
//
//	go run ./internal/tools/sbom knack > knack.cdx.json
//
// The same binary gives the same output, which contains no time and no random number.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// bom is the part of CycloneDX that sbom writes.
type bom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY")
		os.Exit(2)
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	if err := enc.Encode(newBOM(info)); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func newBOM(info *debug.BuildInfo) bom {
	main := module("application", &info.Main)
	for _, s := range info.Settings {
		if strings.HasPrefix(s.Key, "GO") || s.Key == "CGO_ENABLED" || s.Key == "-trimpath" || s.Key == "vcs.revision" {
			main.Properties = append(main.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	std := component{Type: "library", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
	std.PURL = "pkg:golang/std@" + std.Version
	std.Ref = std.PURL
	out := bom{Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{main}, Components: []component{std}}
	uses := dependency{Ref: main.Ref, DependsOn: []string{std.Ref}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := module("library", m)
		out.Components = append(out.Components, c)
		uses.DependsOn = append(uses.DependsOn, c.Ref)
	}
	out.Dependencies = []dependency{uses}
	return out
}

func module(kind string, m *debug.Module) component {
	c := component{Type: kind, Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path}
	if m.Version != "" && m.Version != "(devel)" {
		c.PURL += "@" + m.Version
	}
	c.Ref = c.PURL
	if m.Sum != "" {
		// The hash in go.sum covers the files of the module and not an archive.
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}
