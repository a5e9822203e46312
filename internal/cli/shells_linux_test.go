package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// shells has the command and the configuration that start each shell with knack's completion,
// without files of this machine's user. The first word of the command is the shell.
var shells = map[string]struct{ start, config string }{
	"bash": {"bash --noprofile --rcfile .bashrc -i", `
source /usr/share/bash-completion/bash_completion
source <(knack completion bash)
bind 'set bell-style none'; bind 'set page-completions off'; bind 'set completion-query-items 0'`},
	"zsh": {"zsh -d -i", `
autoload -U compinit; compinit -u -D
source <(knack completion zsh)`},
	"fish": {"fish --no-config -i --init-command", `set fish_greeting; knack completion fish | source`},
}

// TestShells types lines with tabs into real shells, and checks the screen. A shell that is not
// installed is skipped unless KNACK_SHELLS names it.
func TestShells(t *testing.T) {
	if os.Getenv("KNACK_SHELLS") == "" {
		testwait.Slow(t)
	}
	t.Parallel()
	wanted := strings.Split(os.Getenv("KNACK_SHELLS"), ",")
	for name, s := range shells {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(name); err != nil {
				if slices.Contains(wanted, name) {
					t.Fatal(err)
				}
				t.Skipf("there is no %s here", name)
			}
			if _, err := os.Stat("/usr/share/bash-completion/bash_completion"); err != nil && name == "bash" {
				if slices.Contains(wanted, name) {
					t.Fatal(err)
				}
				t.Skip("there is no bash-completion here")
			}
			t.Parallel()
			home := shellWorld(t)
			args := strings.Fields(s.start)
			switch name {
			case "bash":
				put(t, home+"/.bashrc", s.config)
			case "zsh":
				put(t, home+"/.zshrc", s.config)
			case "fish":
				args = append(args, s.config)
			}
			testShell(t, startShell(t, home, args))
			if _, err := os.Stat(home + "/PWNED"); err == nil {
				t.Error("a word of a skill was run")
			}
		})
	}
}

// shellWorld creates a home folder with ordinary skills, and with skills whose names and
// descriptions contain commands.
func shellWorld(t *testing.T) (home string) {
	home = t.TempDir()
	hostile := []string{"zz$(touch PWNED)EVIL1", "zz$(touch PWNED)EVIL2", "vv`touch PWNED`EVIL", "ww;touch PWNED;EVIL", "zz\ntouch PWNED #EVIL", "zz\ttouch PWNED #EVIL", "$(touch PWNED)EVIL"}
	for i, name := range append([]string{"git", "review", "odd name"}, hostile...) {
		folder := fmt.Sprintf("%s/.claude/skills/s%d", home, i)
		put(t, folder+"/SKILL.md", fmt.Sprintf("---\nname: %q\ndescription: \"Runs $(touch PWNED) `touch PWNED` %%F. EVIL\"\n---\nBODY%d\n", name, i))
		put(t, folder+"/references/style.md", fmt.Sprintf("STYLE%d\n", i))
		put(t, folder+"/references/$(touch PWNED)EVIL.md", "")
	}
	put(t, home+"/.codex/skills/review/SKILL.md", "---\nname: review\ndescription: The other one.\n---\nSHADOWED\n")
	return home
}

func testShell(t *testing.T, s *screen) {
	for _, c := range []struct {
		typed string
		texts []string
	}{
		// These lines are completed and run.
		{"knack conf\t pa\t\r", []string{"knack.yaml"}},
		{"knack show gi\t\r", []string{"BODY0"}},
		{"knack show git ref\t\r", []string{"STYLE0"}},
		{"knack show odd\t\r", []string{"BODY2"}},
		{"knack show codex-user:r\t\r", []string{"SHADOWED"}},
		{"knack doctor gi\t\r", []string{"/SKILL.md"}},
		{"knack list --exclude claude-u\t\r", []string{"unlisted"}},
		{"knack check --ignore ref-mi\t --format js\t .claude/skills/s0\r", []string{`"findings"`}},
		{"knack tools --format gem\t\r", []string{"functionDeclarations"}},
		{"knack connect curs\t --scope us\t\r", []string{"mcpServers"}},
		{"knack help roo\t\r", []string{"A root is a folder"}},
		{"knack completion fi\t\r", []string{"complete -c knack"}},
		// Here no completion fits the name of a skill or of a file.
		{"knack show zz\t\t\tQ\r", []string{"no skill 'zzQ'"}},
		{"knack show git references/\t\r", []string{"STYLE0"}},
		// These list the choices, with descriptions.
		{"knack show \t\t", []string{"git", "Runs $(touch PWNED) `touch PWNED` %F.", "codex-user:review", "odd name", "The other one.", "engage"}},
		{"knack list --exclude \t\t", []string{"claude-user", "builtin"}},
		{"knack serve --log-level \t\t", []string{"debug", "info", "warn", "error"}},
	} {
		if s.shell != "bash" { // bash lists at the second tab
			c.typed = strings.Replace(c.typed, "\t\t", "\t", 1)
		}
		s.send(c.typed)
		for _, want := range c.texts {
			if !s.shows(want) {
				t.Errorf("%q: the screen does not show %q:\n%s", c.typed, want, s.text())
				break
			}
		}
		if screen := s.text(); strings.Contains(screen, "EVIL") && !strings.HasSuffix(c.typed, "\r") {
			t.Errorf("%q: a hostile word is shown:\n%s", c.typed, screen)
		}
		if !strings.HasSuffix(c.typed, "\r") { // end the line
			s.send("Q\r")
			s.shows("error: ")
		}
		s.sync(t)
	}
}

// screen is a shell in a terminal, with its output.
type screen struct {
	shell    string
	terminal *os.File
	printed  chan []byte
	all      []byte
	syncs    int
}

// startShell starts a shell in a new terminal.
func startShell(t *testing.T, home string, args []string) *screen {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		if os.Getenv("KNACK_SHELLS") != "" {
			t.Fatal(err)
		}
		t.Skipf("there are no terminals here: %v", err)
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 60, Col: 160})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "ZDOTDIR="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "XDG_DATA_HOME="+home, "TERM=xterm", "LC_ALL=C.UTF-8", "KNACK_DIRS=", "PS1=> ")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &screen{shell: args[0], terminal: master, printed: make(chan []byte, 1000)}
	go func() {
		defer close(s.printed)
		for {
			buf := make([]byte, 4096)
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			s.printed <- buf[:n]
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = master.Close()
	})
	s.sync(t)
	return s
}

func (s *screen) send(keys string) { _, _ = s.terminal.WriteString(keys) }

// shows waits until a text is on the screen.
func (s *screen) shows(want string) bool {
	late := time.After(20 * time.Second)
	for !strings.Contains(s.text(), want) {
		select {
		case b, ok := <-s.printed:
			if s.all = append(s.all, b...); !ok {
				return false
			}
		case <-late:
			return false
		}
	}
	return true
}

// sync waits until the shell has run another line, and clears the screen.
func (s *screen) sync(t *testing.T) {
	s.syncs++
	s.send(fmt.Sprintf("printf '%%s\\n' SY''NC%d\r", s.syncs))
	if !s.shows(fmt.Sprintf("SYNC%d", s.syncs)) {
		t.Fatalf("the shell does not answer:\n%s", s.text())
	}
	s.all = nil
}

// controls matches control sequences, which a terminal does not show.
var controls = regexp.MustCompile(`\x1b\[[0-9;?>=]*[a-zA-Z]|\x1b\][^\x07]*\x07|\x1b[()][A-Z0-9]|\x1b.|[\r\x07\x0f]|.\x08`)

// text returns the output since the last sync.
func (s *screen) text() string {
	return string(bytes.ToValidUTF8(controls.ReplaceAll(s.all, nil), nil))
}
