package git

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/knack-dev/knack/internal/base/hosts"
)

// address is a repository's address for git.
type address struct {
	url string
	// protocols lists the permitted protocols, as in GIT_ALLOW_PROTOCOL. https and ssh are always
	// included, since the user's settings may replace one by the other.
	protocols []string
}

var errLocation = errors.New("it is not the address of a repository: write https://HOST/PATH, ssh://HOST/PATH, git@HOST:PATH or git+file:///PATH")

// locate checks a location. It refuses texts that git would treat as an option or a program to
// run.
func locate(location string) (address, error) {
	p := address{location, []string{"https", "ssh"}}
	if location == "" || location[0] == '-' || strings.ContainsFunc(location, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return address{}, errLocation
	}
	if filepath.IsAbs(location) {
		path := filepath.ToSlash(location)
		if path[0] != '/' {
			path = "/" + path // file:///C:/x
		}
		p.url = (&url.URL{Scheme: "file", Path: path}).String()
		p.protocols = append(p.protocols, "file")
		return p, nil
	}
	scheme, rest, ok := strings.Cut(location, "://")
	if !ok { // git@HOST:PATH
		host, path, ok := strings.Cut(location, ":")
		if _, after, hasUser := strings.Cut(host, "@"); hasUser {
			host = after
		}
		if !ok || host == "" || host[0] == '-' || path == "" || path[0] == '-' || path[0] == ':' || strings.ContainsAny(host, "/\\") {
			return address{}, errLocation
		}
		return p, nil
	}
	u, err := url.Parse(location)
	if err != nil || u.Host == "" && scheme != "file" || strings.HasPrefix(u.Hostname(), "-") || strings.HasPrefix(rest, "-") || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return address{}, errLocation
	}
	if _, secret := u.User.Password(); secret || u.User != nil && scheme != "ssh" {
		return address{}, errors.New("its address has a user name or password in it: leave it out, git's credential helpers have it")
	}
	switch scheme {
	case "https", "ssh":
	case "file":
		p.protocols = append(p.protocols, "file")
	case "http":
		if !hosts.IsLocal(u.Hostname()) {
			return address{}, errors.New("http: is used for this machine only: write https://")
		}
		p.protocols = append(p.protocols, "http")
	default:
		return address{}, errLocation
	}
	return p, nil
}
