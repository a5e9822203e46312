package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
)

// maxReferrers is the maximum number of referrers of a manifest.
const maxReferrers = 1000

// IsAbsent reports whether an error means that the registry lacks the requested content.
func IsAbsent(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == http.StatusNotFound
}

// fallback returns the tag of the index that replaces the list of referrers in older registries.
func fallback(digest string) string { return strings.Replace(digest, ":", "-", 1) }

// Referrers returns the manifests whose subject has this digest, such as signatures. It reads the
// registry's list. If the list has no wanted manifest, or wanted is nil, Referrers also reads the
// index of the fallback tag. Some registries list only manifests that were pushed to them, or list
// wrong types. The descriptors are unverified, so the caller must check each manifest. If some
// descriptors have no usable digest, Referrers returns the other descriptors with an error.
func (r *Repository) Referrers(ctx context.Context, digest string, wanted func(Descriptor) bool) ([]Descriptor, error) {
	found, err := r.requestReferrers(ctx, digest)
	var status *StatusError
	switch {
	case errors.As(err, &status) && status.Code >= 400 && status.Code < 500 && status.Code != http.StatusUnauthorized && status.Code != http.StatusForbidden && status.Code != http.StatusTooManyRequests, errors.Is(err, errNoList):
	case err != nil, wanted != nil && slices.ContainsFunc(found, wanted):
		return found, err
	}
	hasList := err == nil
	tagged, err := r.fallenBack(ctx, digest)
	if _, unreadable := errors.AsType[*ManifestError](err); unreadable && hasList {
		return found, nil // the tag belongs to something else
	}
	return append(tagged, slices.DeleteFunc(found, func(d Descriptor) bool { return has(tagged, d.Digest) })...), err
}

func has(all []Descriptor, digest string) bool {
	return slices.ContainsFunc(all, func(d Descriptor) bool { return d.Digest == digest })
}

// errNoList is the error of a registry without a list of referrers.
var errNoList = errors.New("the registry has no list of referrers")

// requestReferrers requests the registry's list.
func (r *Repository) requestReferrers(ctx context.Context, digest string) ([]Descriptor, error) {
	var all []Descriptor
	next := "referrers/" + digest
	for range maxPages {
		var page struct {
			SchemaVersion int          `json:"schemaVersion"`
			Manifests     []Descriptor `json:"manifests"`
		}
		path := next
		err := r.registry.all.try(ctx, func() (bool, error) {
			const what = "the list of referrers"
			resp, err := r.request(ctx, http.MethodGet, path, what, http.Header{"Accept": {IndexType}})
			if err != nil {
				return false, err
			}
			defer resp.Body.Close()
			data, err := io.ReadAll(io.LimitReader(resp.Body, MaxManifest))
			if err != nil {
				return false, r.broke(ctx, what, err)
			}
			if err := json.Unmarshal(data, &page); err != nil || page.SchemaVersion != 2 {
				return false, errNoList
			}
			next, err = nextPage(resp)
			return false, err
		})
		if err != nil {
			return nil, err
		}
		if all = append(all, page.Manifests...); len(all) > maxReferrers {
			break
		}
		if next == "" || next == path {
			return r.checkReferrers(all)
		}
	}
	return nil, r.tooMany(digest)
}

func (r *Repository) tooMany(digest string) error {
	return fmt.Errorf("%s has more than %s signatures and other manifests about %s: remove some of them there", r, display.Thousands(maxReferrers), digest)
}

// fallenBack reads the index of the fallback tag.
func (r *Repository) fallenBack(ctx context.Context, digest string) ([]Descriptor, error) {
	m, err := r.Manifest(ctx, fallback(digest))
	switch {
	case IsAbsent(err):
		return nil, nil
	case err != nil:
		return nil, err
	case len(m.Manifests) > maxReferrers:
		return nil, r.tooMany(digest)
	}
	return r.checkReferrers(m.Manifests)
}

func (r *Repository) checkReferrers(all []Descriptor) (good []Descriptor, err error) {
	for _, d := range all {
		if bad := d.check(); bad != nil {
			err = fmt.Errorf("an entry of the list of referrers of %s %w", r, bad)
			continue
		}
		good = append(good, d)
	}
	return good, err
}

// Refer sends a manifest about its subject. If the registry does not list it, Refer adds it to
// the index of the fallback tag.
func (r *Repository) Refer(ctx context.Context, subject string, m Descriptor, data []byte) error {
	linked, err := r.Put(ctx, m.Digest, m.MediaType, data)
	if err != nil || linked {
		return err
	}
	found, err := r.fallenBack(ctx, subject)
	if err != nil || has(found, m.Digest) {
		return err
	}
	index, err := json.Marshal(Manifest{SchemaVersion: 2, MediaType: IndexType, Manifests: append(found, m)})
	if err != nil {
		return err
	}
	_, err = r.Put(ctx, fallback(subject), IndexType, index)
	return err
}
