package install

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"syscall"
)

// networkProblem explains a network error that no kind of source has explained. It returns nil for
// any other error.
func networkProblem(err error) *Problem {
	const again = "check the address, your network and proxy, and try again"
	var (
		record tls.RecordHeaderError
		name   *net.DNSError
		op     *net.OpError
		late   net.Error
	)
	where := "the server"
	if errors.As(err, &op) && op.Addr != nil {
		where = op.Addr.String()
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return problem("see that the server runs, and that the address has its port", "no server answers at %s: connection refused", where)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return problem("check the port; a server on this machine may need http://", "the server does not speak https at this address")
	case errors.As(err, &name) && name.IsNotFound:
		return problem("check its spelling, and your network", "the name of the server, %s, is not known", name.Name)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return problem(again, "there is no way to %s in the network", where)
	case errors.Is(err, syscall.ECONNRESET):
		return problem(again, "%s broke the connection off", where)
	case errors.As(err, &late) && late.Timeout() && op != nil:
		return problem(again, "%s does not answer", where)
	}
	return nil
}
