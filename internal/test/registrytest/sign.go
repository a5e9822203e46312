package registrytest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Attach pushes a manifest with one layer that refers to the manifest subject. It does so as
// signatures are pushed to a registry without a list of referrers: it also updates the index under
// the fallback tag.
func Attach(t testing.TB, host, repo, subject, artifactType string, layer []byte) {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": imageType, "artifactType": artifactType,
		"config":  blob(t, host, repo, "application/vnd.oci.empty.v1+json", []byte("{}")),
		"layers":  []any{blob(t, host, repo, artifactType, layer)},
		"subject": map[string]any{"mediaType": imageType, "digest": subject, "size": 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	send(t, http.MethodPut, "http://"+host+"/v2/"+repo+"/manifests/"+digestOf(data), imageType, data)
	const indexType = "application/vnd.oci.image.index.v1+json"
	at := "http://" + host + "/v2/" + repo + "/manifests/" + strings.Replace(subject, ":", "-", 1)
	var index struct {
		SchemaVersion int    `json:"schemaVersion"`
		MediaType     string `json:"mediaType"`
		Manifests     []any  `json:"manifests"`
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", indexType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if before, _ := io.ReadAll(resp.Body); resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(before, &index); err != nil {
			t.Fatal(err)
		}
	}
	index.SchemaVersion, index.MediaType = 2, indexType
	index.Manifests = append(index.Manifests, map[string]any{"mediaType": imageType, "artifactType": artifactType, "digest": digestOf(data), "size": len(data)})
	if data, err = json.Marshal(index); err != nil {
		t.Fatal(err)
	}
	send(t, http.MethodPut, at, indexType, data)
}
