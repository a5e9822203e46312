package replica

import (
	"errors"
	"io/fs"

	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/distribution/store"
)

// lacking is the error of a source from which no server has fetched a release yet.
const lacking = "nothing of it is here yet"

// Of returns the stored state of a source, and its served release, without a request. source is the
// name for [store.Store.Head]. Without a release, the state contains an error for people.
func Of(shelf *store.Store, source string) (doctor.Followed, store.Release) {
	state := doctor.Followed{From: source}
	h, err := shelf.Head(source)
	var r store.Release
	if err == nil {
		r, err = shelf.Release(h.Release)
		r = h.Of(r)
	}
	if failed := shelf.Failure(source); failed != nil {
		since := failed.Since.UTC()
		state.Failure, state.FailingSince = failed.Reason, &since
	}
	switch {
	case err == nil:
		since := h.Since.UTC()
		state.Release, state.Version, state.Signature, state.Signer, state.Since = r.Digest, r.Version, r.Signature, r.Signer, &since
		for _, m := range r.Skills {
			if m.Fault == "" {
				state.Skills++
			}
		}
	case errors.Is(err, fs.ErrNotExist) && state.Failure != "":
		state.Error, state.Fix = lacking, "see why it could not be asked: "+state.Failure
	case errors.Is(err, fs.ErrNotExist):
		state.Error, state.Fix = lacking, "the next 'knack serve' with these settings fetches it; a client starts one"
	case errors.Is(err, fs.ErrPermission):
		state.Error, state.Fix = "the store cannot be read", "run the command as root, or as the user of the server"
	default:
		state.Error, state.Fix = err.Error(), "see whether store.dir is a folder of the server's store"
	}
	return state, r
}
