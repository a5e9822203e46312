package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Annotations of the OCI image specification, which are also used as labels.
const (
	vendor  = "org.opencontainers.image."
	refName = vendor + "ref.name"
)

// architectures are the processors that the image supports, each at its lowest level. The level is
// fixed, since the environment could set another.
var architectures = []struct{ name, level string }{
	{"amd64", "GOAMD64=v1"},
	{"arm64", "GOARM64=v8.0"},
}

// untagged is an index without entries.
var untagged = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)

// user is the ID of the user that runs knack. In the image, it owns only the folder for a server's
// data.
const user = 65532

// assemble builds knack for each architecture, and makes the images and their bills of materials.
func assemble(ctx context.Context, o options) (built, error) {
	scratch, err := os.MkdirTemp("", "knack-image")
	if err != nil {
		return built{}, err
	}
	defer os.RemoveAll(scratch)
	out := built{index: untagged}
	for _, arch := range architectures {
		program := filepath.Join(scratch, arch.name)
		info, err := compile(ctx, o.source, program, arch.name, arch.level)
		if err != nil {
			return built{}, err
		}
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		created, err := moment(o.epoch, settings["vcs.time"])
		if err != nil {
			return built{}, err
		}
		out.version, out.revision = "devel", settings["vcs.revision"]
		if v := info.Main.Version; v != "" && v != "(devel)" {
			out.version = v
		}
		labels := map[string]string{
			vendor + "title":         "knack",
			vendor + "description":   "Serves the skills of folders to any agent that speaks MCP.",
			vendor + "source":        "https://github.com/knack-dev/knack",
			vendor + "documentation": "https://github.com/knack-dev/knack/blob/main/doc/container.md",
			vendor + "licenses":      "Apache-2.0",
			vendor + "version":       out.version,
			vendor + "created":       created.Format(time.RFC3339),
		}
		if out.revision != "" {
			labels[vendor+"revision"] = out.revision
		}
		img, err := imageOf(program, arch.name, created, labels)
		if err != nil {
			return built{}, err
		}
		bom, err := materials(ctx, o.source, program)
		if err != nil {
			return built{}, err
		}
		referrer, err := attach(img, bom, created)
		if err != nil {
			return built{}, err
		}
		out.referrers = append(out.referrers, referrer)
		out.index = mutate.AppendManifests(out.index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch.name}},
		})
		// Both architectures have the same labels.
		out.index = mutate.Annotations(out.index, labels).(v1.ImageIndex)
	}
	return out, nil
}

// compile builds the program as SECURITY.md describes, and returns its build information.
func compile(ctx context.Context, source, program, arch, level string) (*buildinfo.BuildInfo, error) {
	_, err := goCommand(ctx, source, []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + arch, level, "GOEXPERIMENT="},
		"build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/knack")
	if err != nil {
		return nil, err
	}
	return buildinfo.ReadFile(program)
}

// goCommand runs the go command in dir and returns its output.
func goCommand(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		err = fmt.Errorf("go %s in %s: %w\n%s", args[0], dir, err, e.Stderr)
	}
	return out, err
}

// imageOf returns the image for one architecture. The base files have a layer and a time of their
// own, so that all releases and architectures share that layer until the files change.
func imageOf(program, arch string, created time.Time, labels map[string]string) (v1.Image, error) {
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, l := range []struct {
		what     string
		modified time.Time
		files    []file
	}{
		{"users, certificates and folders", time.Unix(0, 0), base()},
		{"knack", created, []file{{name: "knack", mode: 0o755, data: binary}}},
	} {
		layer, err := layerOf(l.files, l.modified)
		if err != nil {
			return nil, err
		}
		img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "deploy/image: " + l.what}})
		if err != nil {
			return nil, err
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Architecture, config.OS, config.Created = arch, "linux", v1.Time{Time: created}
	config.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user),
		Entrypoint:   []string{"/knack"},
		Cmd:          []string{"serve", "--http", "0.0.0.0:8080", "--config", "/etc/knack/knack.yaml", "--dir", "/skills"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		WorkingDir:   "/",
		Labels:       maps.Clone(labels),
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(img, labels).(v1.Image), nil
}
