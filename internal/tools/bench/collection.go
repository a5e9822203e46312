package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Media types of a collection: an index of artifacts, each of which has one skill.
const (
	manifestType   = "application/vnd.oci.image.manifest.v1+json"
	indexType      = "application/vnd.oci.image.index.v1+json"
	collectionType = "application/vnd.agentskills.collection.v1"
)

// collect publishes each skill of a folder separately. It then collects them in one repository,
// with an index.
func (w *pullWorld) collect(root string) error {
	var said struct {
		Each []struct {
			Digest string
			Skills []struct{ Name string }
		}
	}
	note := func(_, _ time.Duration, out []byte) error { return json.Unmarshal(out, &said) }
	if err := w.knack(w.b.builds[0], note, "publish", root, "oci://"+w.host+"/bench/each:one", "--each", "--json"); err != nil {
		return err
	}
	var all []map[string]any
	for _, one := range said.Each {
		name := one.Skills[0].Name
		size, err := w.take("bench/each/"+name, one.Digest)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, map[string]any{"mediaType": manifestType, "digest": one.Digest, "size": size, "annotations": map[string]string{"org.opencontainers.image.title": name}})
	}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": indexType, "artifactType": collectionType, "manifests": all})
	if err != nil {
		return err
	}
	_, err = w.ask(http.MethodPut, "/v2/bench/index/manifests/one", indexType, index)
	return err
}

// take copies an artifact from another repository into the repository of the index, and returns the
// size of its manifest.
func (w *pullWorld) take(from, digest string) (size int, err error) {
	data, err := w.ask(http.MethodGet, "/v2/"+from+"/manifests/"+digest, manifestType, nil)
	if err != nil {
		return 0, err
	}
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); sum != digest {
		return 0, errors.New("the registry has another manifest: " + sum)
	}
	type blob struct{ Digest string }
	var m struct {
		Config blob
		Layers []blob
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return 0, err
	}
	for _, b := range append(m.Layers, m.Config) {
		if _, err := w.ask(http.MethodPost, "/v2/bench/index/blobs/uploads/?mount="+b.Digest+"&from="+from, "", nil); err != nil {
			return 0, err
		}
	}
	_, err = w.ask(http.MethodPut, "/v2/bench/index/manifests/"+digest, manifestType, data)
	return len(data), err
}

// ask sends a request to the registry.
func (w *pullWorld) ask(method, path, mediaType string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(w.b.ctx, method, "http://"+w.host+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", mediaType)
	req.Header.Set("Content-Type", mediaType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("%s %s: %s: %.300s", method, path, resp.Status, data)
	}
	return data, err
}

// index measures the pull of the collection into an empty store.
func (w *pullWorld) index(n int) error {
	if err := w.empty(); err != nil {
		return err
	}
	return w.knack(w.b.builds[0], func(wall, processor time.Duration, out []byte) error {
		var said struct{ Skills int }
		if err := json.Unmarshal(out, &said); err != nil || said.Skills != n {
			return fmt.Errorf("the index has %d of %d skills: %w", said.Skills, n, err)
		}
		w.b.add("pull/index", ms(wall))
		w.b.add("pull/cpu/index", ms(processor))
		return nil
	}, "pull", "oci://"+w.host+"/bench/index:one", "--json")
}
