package main

import (
	"encoding/json"
	"strings"
)

// npmName is the npm package that users install. It has a package for each system as an optional
// dependency, and npm installs only the one for its system.
const npmName = "@knack-dev/knack"

// npm returns the name of the npm package for a system. The launcher makes the same name.
func (t target) npm() string { return npmName + "-" + t.node() }

// node returns a system and processor as Node names them in process.platform and process.arch.
func (t target) node() string {
	return strings.NewReplacer("windows", "win32", "amd64", "x64").Replace(t.os + "-" + t.arch)
}

// npmFile returns the file name that npm pack gives to a package.
func npmFile(name, version string) string {
	return strings.NewReplacer("@", "", "/", "-").Replace(name) + "-" + version + ".tgz"
}

// npmCommon returns the fields that every package.json has.
func (r *release) npmCommon(name, description string) map[string]any {
	return map[string]any{
		"name": name, "version": r.version, "description": description, "license": "Apache-2.0", "homepage": homepage,
		"repository": map[string]string{"type": "git", "url": "git+" + homepage + ".git"},
	}
}

// npmPlatform returns the npm package with the program for one system.
func (r *release) npmPlatform(t target, binary []byte) ([]byte, error) {
	fields := r.npmCommon(t.npm(), "The program of "+npmName+" for "+t.os+" on "+t.arch+".")
	system, arch, _ := strings.Cut(t.node(), "-")
	fields["os"], fields["cpu"], fields["preferUnplugged"] = []string{system}, []string{arch}, true
	return r.npmOf(fields, file{"package/bin/" + t.program(), 0o755, binary})
}

// npmMain returns the npm package that users install. It has a launcher and no program.
func (r *release) npmMain(launcher []byte) ([]byte, error) {
	fields := r.npmCommon(npmName, summary+".")
	programs := map[string]string{}
	for _, t := range targets {
		programs[t.npm()] = r.version
	}
	fields["bin"], fields["optionalDependencies"] = map[string]string{"knack": "bin/knack.js"}, programs
	fields["mcpName"], fields["engines"] = registryName, map[string]string{"node": ">=18"}
	return r.npmOf(fields, file{"package/bin/knack.js", 0o755, launcher})
}

func (r *release) npmOf(fields map[string]any, f file) ([]byte, error) {
	manifest, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		return nil, err
	}
	list := []file{{"package/package.json", 0o644, append(manifest, '\n')}, f}
	for _, d := range r.docs {
		if d.name == "LICENSE" {
			list = append(list, file{"package/LICENSE", d.mode, d.data})
		}
	}
	return tarOf(r.time, list)
}
