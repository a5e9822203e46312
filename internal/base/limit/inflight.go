package limit

import (
	"context"
	"sync"
	"time"
)

// InFlight bounds the running operations for each key. The zero value is ready to use.
type InFlight[K comparable] struct {
	mu    sync.Mutex
	byKey map[K]*slots
}

type slots struct {
	taken chan struct{} // its capacity is the number of slots
	users int           // operations that hold or await a slot; guarded by mu of InFlight
}

// Enter takes one of a key's n slots. leave returns the slot. If all slots are taken, Enter waits
// for one until patience or the context ends. The error is [ErrBusy] or the context's error. n must
// be the same in each call for a key.
func (l *InFlight[K]) Enter(ctx context.Context, key K, n int, patience time.Duration) (leave func(), err error) {
	l.mu.Lock()
	s := l.byKey[key]
	if s == nil {
		if l.byKey == nil {
			l.byKey = map[K]*slots{}
		}
		s = &slots{taken: make(chan struct{}, n)}
		l.byKey[key] = s
	}
	s.users++
	l.mu.Unlock()
	if err := s.take(ctx, patience); err != nil {
		l.leave(key, s, false)
		return nil, err
	}
	return func() { l.leave(key, s, true) }, nil
}

func (s *slots) take(ctx context.Context, patience time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.taken <- struct{}{}:
		return nil
	default:
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case s.taken <- struct{}{}:
		return nil
	case <-late.C:
		return ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *InFlight[K]) leave(key K, s *slots, taken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if taken {
		<-s.taken
	}
	if s.users--; s.users == 0 {
		delete(l.byKey, key)
	}
}

// Keys returns the number of keys with running or waiting operations.
func (l *InFlight[K]) Keys() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.byKey)
}
