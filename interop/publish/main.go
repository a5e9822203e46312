// Command publish pushes a folder to a registry on this machine, for tests. It uses the packages of
// other tools that publish skills. It is a module of its own, so that knack's module does not have
// its dependencies.
//
//	publish toolhive|flux|oras FOLDER REPOSITORY TAG
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fluxcd/pkg/oci"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stacklok/toolhive-core/oci/skills"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/file"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

func main() {
	if err := publish(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func publish(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("usage: publish toolhive|flux|oras FOLDER REPOSITORY TAG")
	}
	folder, ref := args[1], args[2]+":"+args[3]
	switch args[0] {
	case "flux":
		_, err := oci.NewClient(oci.DefaultOptions()).Push(ctx, ref, folder)
		return err
	case "toolhive":
		return toolHive(ctx, folder, ref)
	case "oras":
		return orasPush(ctx, folder, args[2], args[3])
	}
	return errors.New("the first argument is toolhive, flux or oras")
}

func toolHive(ctx context.Context, folder, ref string) error {
	dir, err := os.MkdirTemp("", "publish-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store, err := skills.NewStore(dir)
	if err != nil {
		return err
	}
	made, err := skills.NewPackager(store).Package(ctx, folder, skills.DefaultPackageOptions())
	if err != nil {
		return err
	}
	registry, err := skills.NewRegistry(skills.WithPlainHTTP(true), skills.WithCredentialStore(credentials.NewMemoryStore()))
	if err != nil {
		return err
	}
	return registry.Push(ctx, store, made.IndexDigest, ref)
}

// orasPush pushes a folder as the command "oras push REPOSITORY:TAG FOLDER" does.
func orasPush(ctx context.Context, folder, repository, tag string) error {
	files, err := file.New(filepath.Dir(folder))
	if err != nil {
		return err
	}
	defer files.Close()
	layer, err := files.Add(ctx, filepath.Base(folder), "", folder)
	if err != nil {
		return err
	}
	made, err := oras.PackManifest(ctx, files, oras.PackManifestVersion1_1, "application/vnd.acme.skills", oras.PackManifestOptions{Layers: []v1.Descriptor{layer}})
	if err != nil {
		return err
	}
	if err := files.Tag(ctx, made, tag); err != nil {
		return err
	}
	to, err := remote.NewRepository(repository)
	if err != nil {
		return err
	}
	to.PlainHTTP = true
	_, err = oras.Copy(ctx, files, tag, to, tag, oras.DefaultCopyOptions)
	return err
}
