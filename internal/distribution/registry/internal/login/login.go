// Package login finds the user's credentials for a registry where the docker program keeps them.
// They are in its config.json, or in a credential helper that the file names.
package login

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/distribution/reference"
)

// Credentials authorize requests to a registry. No message may contain one of them.
type Credentials struct {
	Username, Password string
	RefreshToken       string // exchanged for access tokens
	AccessToken        string // sent unchanged
}

// Config is docker's configuration.
type Config struct {
	File string // the path of config.json, or ""
	// Read returns the content of a file.
	Read func(file string) ([]byte, error)
	// Run starts a credential helper with the argument "get" and this input, and returns its
	// stdout. It hides stderr from the user's terminal.
	Run func(ctx context.Context, program, input string) ([]byte, error)
}

// content is the part of config.json about credentials.
type content struct {
	Auths       map[string]entry  `json:"auths"`
	CredsStore  string            `json:"credsStore"`
	CredHelpers map[string]string `json:"credHelpers"`
}

type entry struct {
	Auth          string `json:"auth"` // base64 of user:password
	Username      string `json:"username"`
	Password      string `json:"password"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// Names of Docker Hub: its host, and the key of its credentials.
const (
	hubHost = "registry-1.docker.io"
	hubKey  = "https://index.docker.io/v1/"
)

// plainHelper matches helper names that cannot be a path.
var plainHelper = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Find returns the credentials for a registry, a host with an optional port. They are empty if
// the configuration has none.
func (c Config) Find(ctx context.Context, registry string) (Credentials, error) {
	if c.File == "" {
		return Credentials{}, nil
	}
	data, err := c.Read(c.File)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(data)) == 0 {
		return Credentials{}, nil
	}
	if err != nil {
		return Credentials{}, fmt.Errorf("docker's configuration cannot be read: %w", err)
	}
	var conf content
	if err := json.Unmarshal(data, &conf); err != nil {
		return Credentials{}, fmt.Errorf("%s%s is not the JSON that docker writes: repair it, or remove it and log in again", c.File, position(data, err))
	}
	key := registry
	if registry == hubHost || registry == "docker.io" {
		key = hubKey
	}
	helper := conf.CredsStore
	for at, name := range conf.CredHelpers {
		if hostOf(at) == hostOf(key) {
			helper = name
		}
	}
	if helper != "" {
		return c.ask(ctx, helper, key)
	}
	if e, ok := conf.Auths[key]; ok {
		return c.read(e, key)
	}
	for _, at := range slices.Sorted(maps.Keys(conf.Auths)) {
		if hostOf(at) == hostOf(key) {
			return c.read(conf.Auths[at], at)
		}
	}
	return Credentials{}, nil
}

// hostOf returns the normalized host of a key, which may be a URL.
func hostOf(key string) string {
	key = strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://")
	host, _, _ := strings.Cut(key, "/")
	return reference.Host("oci", host)
}

// read returns the credentials of an entry of the file.
func (c Config) read(e entry, key string) (Credentials, error) {
	found := Credentials{Username: e.Username, Password: e.Password, RefreshToken: e.IdentityToken, AccessToken: e.RegistryToken}
	if e.Auth == "" {
		return found, nil
	}
	plain, err := base64.StdEncoding.DecodeString(e.Auth)
	user, password, ok := strings.Cut(string(plain), ":")
	if err != nil || !ok {
		return Credentials{}, fmt.Errorf("%s: \"auth\" of %q is not the base64 of a name and a password: log in to that registry again", c.File, key)
	}
	found.Username, found.Password = user, strings.TrimRight(password, "\x00")
	return found, nil
}

// absent lists the messages with which helpers report that they have no credentials for a registry.
var absent = []string{"credentials not found in native keychain", "no credentials server URL", "The specified item could not be found in the keychain"}

// ask gets the credentials from a helper.
func (c Config) ask(ctx context.Context, helper, key string) (Credentials, error) {
	if !plainHelper().MatchString(helper) {
		return Credentials{}, fmt.Errorf("%s names the credential helper %q: letters, digits, '.', '_' and '-' are possible", c.File, helper)
	}
	program := "docker-credential-" + helper
	out, err := c.Run(ctx, program, key)
	if err != nil {
		for _, text := range absent {
			if strings.Contains(string(out), text) {
				return Credentials{}, nil
			}
		}
		// The helper's output may contain a secret.
		return Credentials{}, fmt.Errorf("%s, which %s names, gave no credentials for %s: %w; see why with: echo %s | %s get", program, c.File, key, err, key, program)
	}
	var answer struct{ Username, Secret string }
	if json.Unmarshal(out, &answer) != nil {
		return Credentials{}, fmt.Errorf("%s, which %s names, gave no credentials for %s: its answer is not JSON", program, c.File, key)
	}
	if answer.Username == "<token>" {
		return Credentials{RefreshToken: answer.Secret}, nil
	}
	return Credentials{Username: answer.Username, Password: answer.Secret}, nil
}

// position returns ":LINE:COLUMN" of a fault in JSON, or "".
func position(data []byte, err error) string {
	var offset int64
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	default:
		return ""
	}
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	return fmt.Sprintf(":%d:%d", 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'))
}
