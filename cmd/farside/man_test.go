package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"farside/internal/config"
)

// The pages have every command, flag and variable, and groff(1) has nothing to say about them.
func TestManualPages(t *testing.T) {
	tool1, err := toolPage(nil)
	if err != nil {
		t.Fatal(err)
	}
	variables, err := variablesPage(nil)
	if err != nil {
		t.Fatal(err)
	}
	has := func(page []byte, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(string(page), inRoff.Replace(w)) {
				t.Errorf("a page has no %q", w)
			}
		}
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.IsAvailableCommand() && c.HasParent() {
			return
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { has(tool1, "--"+f.Name) })
		if c.Runnable() {
			has(tool1, c.CommandPath(), strings.Split(strings.TrimSpace(c.Long), "\n")[0])
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&tool{}).command())
	if strings.Contains(string(tool1), "farside probe") {
		t.Error("the page has a command that nobody sees")
	}
	for _, v := range config.Table {
		has(variables, v.Name, v.Default)
	}
	has(variables, "Empty means unset")
	if strings.Contains(string(variables), "](") {
		t.Error("the page has links of Markdown")
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("SKIPPED: groff is missing")
	}
	for name, page := range map[string][]byte{"farside(1)": tool1, "farside(7)": variables} {
		cmd := exec.Command("groff", "-man", "-ww", "-Tutf8", "-rLL=100n")
		cmd.Stdin = bytes.NewReader(page)
		var out, warnings bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &warnings
		if err := cmd.Run(); err != nil || warnings.Len() > 0 || out.Len() < 1000 {
			t.Errorf("%s: %v, %d bytes, %s", name, err, out.Len(), warnings.Bytes())
		}
	}
}
