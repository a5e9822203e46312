package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	cycloneDX = "application/vnd.cyclonedx+json"
	noConfig  = "application/vnd.oci.empty.v1+json"
	// rootsModule has the root certificates of the image.
	rootsModule = "golang.org/x/crypto/x509roots/fallback"
)

// materials returns the bill of materials of an image. It is the program's bill with the root
// certificates added.
func materials(ctx context.Context, source, program string) ([]byte, error) {
	data, err := goCommand(ctx, source, nil, "run", "./internal/tools/sbom", program)
	if err != nil {
		return nil, err
	}
	var bom map[string]any
	if err := json.Unmarshal(data, &bom); err != nil {
		return nil, fmt.Errorf("internal/sbom: %w", err)
	}
	components, ok := bom["components"].([]any)
	if !ok {
		return nil, fmt.Errorf("internal/sbom lists no components")
	}
	purl := "pkg:golang/" + rootsModule
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == rootsModule {
				version, purl = m.Version, purl+"@"+m.Version
			}
		}
	}
	if version == "" {
		return nil, fmt.Errorf("this program does not know its version of %s: build it with modules", rootsModule)
	}
	bom["components"] = append(components, map[string]any{
		"type": "data", "bom-ref": purl, "name": rootsModule, "version": version, "purl": purl,
		"description": "the root certificates in /etc/ssl/certs/ca-certificates.crt",
	})
	return json.MarshalIndent(bom, "", "  ")
}

// attach returns an artifact that has the bill of materials and refers to img.
func attach(img v1.Image, bom []byte, created time.Time) (v1.Image, error) {
	subject, err := partial.Descriptor(img)
	if err != nil {
		return nil, err
	}
	layer := static.NewLayer(bom, cycloneDX)
	content, err := partial.Descriptor(layer)
	if err != nil {
		return nil, err
	}
	content.Annotations = map[string]string{vendor + "title": "knack.cdx.json"}
	config := []byte("{}")
	digest, size, err := v1.SHA256(bytes.NewReader(config))
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: cycloneDX,
		Config: v1.Descriptor{MediaType: noConfig, Digest: digest, Size: size},
		Layers: []v1.Descriptor{*content},
		// The subject is given only by its digest, without platform and annotations.
		Subject:     &v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size},
		Annotations: map[string]string{vendor + "created": created.Format(time.RFC3339)},
	})
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(artifact{manifest, config, layer})
}

// artifact is a manifest whose content is one layer.
type artifact struct {
	manifest, config []byte
	layer            v1.Layer
}

func (a artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (a artifact) RawManifest() ([]byte, error)        { return a.manifest, nil }
func (a artifact) RawConfigFile() ([]byte, error)      { return a.config, nil }
func (a artifact) ArtifactType() (string, error)       { return cycloneDX, nil }
func (a artifact) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	digest, err := a.layer.Digest()
	if err == nil && h != digest {
		err = fmt.Errorf("the bill of materials has no layer %s", h)
	}
	return a.layer, err
}
