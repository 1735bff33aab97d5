package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// Commands whose help has more to say than fits 24 lines.
var longHelp = map[string]bool{"farside": true, "farside regions": true, "farside faults sweep": true}

// TestHelpFitsScreen: the help of each command fits 80 columns, and 24 lines but for a few.
func TestHelpFitsScreen(t *testing.T) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "completion" || c.Hidden { // cobra's own text
			return
		}
		var b strings.Builder
		c.SetOut(&b)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		help := b.String()
		if n := strings.Count(help, "\n"); n > 24 != longHelp[c.CommandPath()] {
			t.Errorf("the help of %s has %d lines", c.CommandPath(), n)
		}
		for line := range strings.Lines(help) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > columns {
				t.Errorf("the help of %s has the long line %q", c.CommandPath(), line)
			}
		}
		if !strings.Contains(help, "Usage: "+c.CommandPath()) {
			t.Errorf("%s: no usage in %q", c.CommandPath(), help)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&tool{}).command())
}

// TestUnknownWord: a word that is no command of a group is a wrong call. The error names the nearest command. A group
// without a word prints its help.
func TestUnknownWord(t *testing.T) {
	for _, c := range []struct{ args, text string }{
		{"fauls", `farside has no command "fauls"; the nearest is faults: farside --help`},
		{"profile sho", `farside profile has no command "sho"; the nearest is show: farside profile --help`},
		{"profile foo h200", `farside profile has no command "foo"; the nearest is`},
		{"faults swep -- true", `farside faults has no command "swep"; the nearest is sweep: farside faults --help`},
		{"completion bsh", `farside completion has no command "bsh"; the nearest is bash`},
		{"help reort", `farside has no command "reort"; the nearest is report`},
		{"help faults chek", `farside faults has no command "chek"; the nearest is check`},
	} {
		wantFailure(t, 2, c.text, strings.Fields(c.args)...)
	}
	for _, args := range []string{"", "profile", "faults", "completion", "help", "help faults", "help faults list"} {
		if help := string(ok(t, nil, strings.Fields(args)...)); !strings.Contains(help, "\nUsage: farside") {
			t.Errorf("farside %s prints %q", args, help)
		}
	}
}

func TestFill(t *testing.T) {
	word := strings.Repeat("x", 30)
	got := fill(word + "\n" + word + " " + word + "\n\n  as  it\n  is\nmore\ntext\n")
	if want := word + " " + word + "\n" + word + "\n\n  as  it\n  is\nmore text"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRunSettings: each flag of farside run sets its variable in the program, and is completed.
func TestRunSettings(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	path := newManifest(t, "./libvulkan_farside.so")
	args := []string{"run", "--manifest", path}
	want := ""
	for _, s := range runSettings {
		args = append(args, "--"+s.flag, "a "+s.flag)
		want += s.variable + "=a " + s.flag + "\n"
	}
	out := string(ok(t, nil, append(args, "--", "env")...))
	for line := range strings.Lines(want) {
		if !strings.Contains(out, line) {
			t.Errorf("the program has no %q", line)
		}
	}
	for _, c := range []struct{ flag, typed, want string }{
		{"strict", "", "all\n"}, {"strict", "guard,", "guard,poison\n"}, {"profile", "h2", "h200\n"},
		{"report", "", ":16\n"}, // directories alone
	} {
		if r := farside(t, nil, "__complete", "run", "--"+c.flag, c.typed); !strings.Contains(string(r.out), c.want) {
			t.Errorf("--%s %s: completions %q, want %q", c.flag, c.typed, r.out, c.want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if script := string(ok(t, nil, "completion", shell)); !strings.Contains(script, "farside") {
			t.Errorf("completion %s: %.200q", shell, script)
		}
	}
}
