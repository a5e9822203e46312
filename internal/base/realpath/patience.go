package realpath

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrSilent is the error for a disk that does not answer, such as a network disk whose server is
// gone.
var ErrSilent = errors.New("its disk does not answer")

// Patience bounds how long [Ask] waits for a disk. While an earlier call is still without an
// answer, the bound is LaterPatience, since both paths may be on the same disk.
const (
	Patience      = 2 * time.Second
	LaterPatience = Patience / 10
)

// question is a call of [Ask] that was not answered in time.
type question struct {
	at       string
	answered chan struct{}
}

var (
	silent   = &sync.Mutex{}
	open     []*question  // guarded by silent
	anywhere atomic.Int32 // the number of open questions
)

// Ask returns the result of ask, which reads from the disk that contains the absolute path at. If
// the disk does not answer in time, Ask returns otherwise. Until the disk answers, at and all paths
// below it are [Silent], and Ask does not call ask for them. A call without an answer blocks a
// thread and cannot be cancelled.
func Ask[T any](at string, otherwise T, ask func() T) T {
	return AskFor(Patience, at, otherwise, ask)
}

// AskFor is [Ask] with the given patience.
func AskFor[T any](patience time.Duration, at string, otherwise T, ask func() T) T {
	if Silent(at) {
		return otherwise
	}
	if anywhere.Load() > 0 {
		patience = min(patience, LaterPatience)
	}
	answer := make(chan T, 1)
	q := &question{filepath.Clean(at), make(chan struct{})}
	go func() {
		answer <- ask()
		close(q.answered)
		q.forget()
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v := <-answer:
		return v
	case <-timer.C:
		q.remember()
		return otherwise
	}
}

// Answers reports whether the disk that has an absolute path answers, even if the path does not
// exist.
func Answers(at string) bool {
	return at == "" || Ask(at, false, func() bool {
		_, _ = os.Stat(at)
		return true
	})
}

// remember adds a question, unless it has been answered.
func (q *question) remember() {
	silent.Lock()
	defer silent.Unlock()
	select {
	case <-q.answered:
	default:
		open = append(open, q)
		anywhere.Add(1)
	}
}

// forget removes a question.
func (q *question) forget() {
	silent.Lock()
	defer silent.Unlock()
	if i := slices.Index(open, q); i >= 0 {
		open = slices.Delete(open, i, i+1)
		anywhere.Add(-1)
	}
}

// Silent reports whether a path is known to be on a disk that does not answer.
func Silent(at string) bool { return anywhere.Load() > 0 && questionAt(at) != nil }

func questionAt(at string) *question {
	silent.Lock()
	defer silent.Unlock()
	at = filepath.Clean(at)
	for _, q := range open {
		if Within(q.at, at) {
			return q
		}
	}
	return nil
}

// Await waits until a path is no longer [Silent]. The only error is the context's error.
func Await(ctx context.Context, at string) error {
	for Silent(at) {
		q := questionAt(at)
		if q == nil {
			break
		}
		select {
		case <-q.answered:
			q.forget()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
