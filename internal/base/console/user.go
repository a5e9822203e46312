package console

import "os/user"

// UserName returns the name of the system's user, or "unknown".
func (e *Env) UserName() string {
	if e.User != nil {
		if name := e.User(); name != "" {
			return name
		}
	}
	return "unknown"
}

func systemUser() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
