package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"path"
	"strings"
	"text/template"
)

// registryName is knack's name in the registry of MCP servers.
const registryName = "io.github.knack-dev/knack"

// templates has the files for other package managers, and the launcher of the npm package.
//
//go:embed files
var templates embed.FS

// manifests writes the files that list the archives with their digests.
func (r *release) manifests() error {
	for _, m := range []struct{ from, to string }{
		{"install.sh", "install.sh"},
		{"knack.rb", "homebrew/knack.rb"},
		{"scoop.json", "scoop/knack.json"},
		{"winget.yaml", "winget/knack-dev.knack.yaml"},
		{"winget.installer.yaml", "winget/knack-dev.knack.installer.yaml"},
		{"winget.locale.en-US.yaml", "winget/knack-dev.knack.locale.en-US.yaml"},
	} {
		data, err := r.fill(m.from)
		if err == nil {
			err = r.put(m.to, data)
		}
		if err != nil {
			return err
		}
	}
	launcher, err := templates.ReadFile("files/knack.js")
	if err != nil {
		return err
	}
	data, err := r.npmMain(launcher)
	if err == nil {
		err = r.put(npmFile(npmName, r.version), data)
	}
	if err != nil {
		return err
	}
	if data, err = r.server(); err != nil {
		return err
	}
	return r.put("server.json", data)
}

// fill executes a template. In the template, the functions digest and url take the name of a file
// of the release, and archive takes a system and an architecture as Go names them.
func (r *release) fill(name string) ([]byte, error) {
	archive := func(os, arch string) string { return r.archiveName(target{os, arch}) }
	t, err := template.New(name).Option("missingkey=error").Delims("<<", ">>").Funcs(template.FuncMap{
		"version": func() string { return r.version },
		"summary": func() string { return summary },
		"date":    func() string { return r.time.Format("2006-01-02") },
		"upper":   strings.ToUpper,
		"archs":   func() map[string]string { return map[string]string{"x64": "amd64", "arm64": "arm64"} },
		"archive": archive,
		"url":     r.url,
		"digest":  func(name string) string { return r.digests[name] },
		"tarballs": func() (list []string) { // of the systems with a shell
			for _, t := range targets[:4] {
				list = append(list, archive(t.os, t.arch))
			}
			return list
		},
	}).ParseFS(templates, "files/"+name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, nil)
	return b.Bytes(), err
}

// url returns the address of a file of the release.
func (r *release) url(name string) string {
	return homepage + "/releases/download/v" + r.version + "/" + name
}

// bundleName returns the name of a system's bundle for desktop clients.
func (r *release) bundleName(t target) string { return r.folder(t) + ".mcpb" }

// bundle returns a system's bundle for desktop clients. The format has no field for the processor.
func (r *release) bundle(t target, binary []byte) ([]byte, error) {
	program := path.Join("server", t.program())
	system, _, _ := strings.Cut(t.node(), "-")
	manifest, err := json.MarshalIndent(map[string]any{
		"manifest_version": "0.3", "name": "knack", "display_name": "knack", "version": r.version, "description": summary + ".",
		"author": map[string]string{"name": "The knack developers", "url": homepage}, "license": "Apache-2.0",
		"homepage": homepage, "documentation": homepage, "repository": map[string]string{"type": "git", "url": homepage},
		"server": map[string]any{
			"type": "binary", "entry_point": program,
			"mcp_config": map[string]any{"command": "${__dirname}/" + program, "args": []string{"serve"}},
		},
		"tools_generated": true, "prompts_generated": true,
		"compatibility": map[string]any{"platforms": []string{system}},
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	return zipOf(r.time, []file{{"manifest.json", 0o644, append(manifest, '\n')}, {program, 0o755, binary}})
}

// server returns the entry for the registry of MCP servers.
func (r *release) server() ([]byte, error) {
	stdio := map[string]string{"type": "stdio"}
	packages := []map[string]any{{
		"registryType": "npm", "registryBaseUrl": "https://registry.npmjs.org", "identifier": npmName, "version": r.version, "transport": stdio,
		"packageArguments": []map[string]string{{"type": "positional", "value": "serve"}},
	}}
	for _, t := range targets {
		packages = append(packages, map[string]any{
			"registryType": "mcpb", "identifier": r.url(r.bundleName(t)), "version": r.version, "fileSha256": r.digests[r.bundleName(t)], "transport": stdio,
		})
	}
	entry := map[string]any{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":    registryName, "title": "knack", "description": summary, "version": r.version,
		"repository": map[string]string{"url": homepage, "source": "github"}, "packages": packages,
	}
	data, err := json.MarshalIndent(entry, "", "  ")
	return append(data, '\n'), err
}
