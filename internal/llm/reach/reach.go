// Package reach explains in plain words why a server is unreachable, or why an address cannot be
// listened on, and how to fix it.
package reach

import (
	"errors"
	"net"
	"strconv"
	"syscall"
)

// isErrno reports whether err is the given system error, by its Unix or its Windows number.
func isErrno(err error, unix syscall.Errno, windows uintptr) bool {
	return errors.Is(err, unix) || errors.Is(err, syscall.Errno(windows))
}

// Listening explains why a server cannot listen on an address. listen is the user's value of
// flag: a port, or host:port.
func Listening(flag, listen string, at *net.TCPAddr, err error) (what, fix string) {
	switch {
	case isErrno(err, syscall.EADDRINUSE, 10048):
		return "another program listens on " + at.String(),
			"choose another port: " + flag + " " + withPort(listen, next(at.Port)) + ", or " + flag + " " + withPort(listen, 0) + " for any free one"
	case isErrno(err, syscall.EACCES, 10013) && at.Port < 1024:
		return "only an administrator may listen on port " + strconv.Itoa(at.Port), "choose a port from 1024 up: " + flag + " " + withPort(listen, 8080)
	case isErrno(err, syscall.EACCES, 10013):
		return "this system does not allow a server on " + at.String(), "choose another port: " + flag + " " + withPort(listen, next(at.Port))
	case isErrno(err, syscall.EADDRNOTAVAIL, 10049):
		return at.IP.String() + " is not an address of this machine",
			"give the port alone to serve this machine: " + flag + " " + strconv.Itoa(at.Port) + "; 0.0.0.0:" + strconv.Itoa(at.Port) + " stands for all of its addresses"
	case isErrno(err, syscall.EAFNOSUPPORT, 10047):
		return "this machine has no addresses like " + at.IP.String(), "give the port alone: " + flag + " " + strconv.Itoa(at.Port)
	}
	return cause(err).Error(), ""
}

// Resolving explains why a name to listen on has no address.
func Resolving(flag, host, port string, err error) (what, fix string) {
	what, _ = lookup(host, err)
	return what, "use a name or an address of this machine, or give the port alone: " + flag + " " + port
}

// lookup explains why a name has no address.
func lookup(host string, err error) (what, fix string) {
	var dns *net.DNSError
	if errors.As(err, &dns) && !dns.IsNotFound {
		return "the address of " + host + " cannot be looked up: the name server does not answer", "check the network, or try again later"
	}
	return "there is no host " + host, "check the name"
}

// withPort returns the user's address to listen at with another port.
func withPort(listen string, port int) string {
	if host, _, err := net.SplitHostPort(listen); err == nil {
		return net.JoinHostPort(host, strconv.Itoa(port))
	}
	return strconv.Itoa(port)
}

// next returns the port after this one, or 8080 after the last.
func next(port int) int {
	if port++; port > 65535 {
		port = 8080
	}
	return port
}

// cause returns the system's reason, without the operation and the addresses.
func cause(err error) error {
	var op *net.OpError
	for errors.As(err, &op) {
		err = op.Err
	}
	if last := errors.Unwrap(err); last != nil {
		var errno syscall.Errno
		if errors.As(last, &errno) {
			return errno
		}
	}
	return err
}
