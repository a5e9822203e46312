package hosts

import (
	"cmp"
	"errors"
	"net"
	"strconv"
	"strings"
)

// The errors of [Listen]. Each ends a sentence that begins with the address.
var (
	errNoAddress = errors.New("is neither a port from 0 to 65535 nor host:port")
	errNoPort    = errors.New("has no port from 0 to 65535 after the colon")
)

// Listen splits the address at which a server listens: a port, or host:port. Without a host, it
// returns the loopback address.
func Listen(address string) (host, port string, err error) {
	text := address
	if !strings.Contains(text, ":") {
		text = ":" + text
	}
	host, port, err = net.SplitHostPort(text)
	_, wrong := strconv.ParseUint(port, 10, 16)
	switch {
	case err == nil && wrong == nil:
		return cmp.Or(host, "127.0.0.1"), port, nil
	case err == nil && text == address:
		return "", "", errNoPort
	}
	return "", "", errNoAddress
}
