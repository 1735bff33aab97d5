package main

import (
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"farside/internal/config"
)

func (t *tool) env() *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "env",
		Short: "List the environment variables that the driver reads",
		Long: `Lists the environment variables FARSIDE_*: what each is for, what it may hold, what
holds without it, and its value here. --markdown prints docs/environment.md.`,
		Example: "  farside env",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			page := environmentText
			if markdown {
				page = environmentPage
			}
			return t.fail(page.Execute(os.Stdout, config.Table))
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print a page of documentation")
	return cmd
}

var environmentText = newPage(`{{range .}}{{.Name}}{{with value .Name}}={{.}}{{end}}
    {{plain .Help}}
    Allowed: {{plain .Type}}. Default: {{plain .Default}}.
{{end}}`)

// What pages about the environment begin with.
const (
	environmentReaders = "The driver, the library of peers in C, package rdmasim and the farside tool read these " +
		"variables."
	environmentRules = `- Empty means unset. Spaces around a value do not count.
- A wrong value is an error that names the variable, the value and what is allowed. vkCreateInstance then fails with
  VK_ERROR_INITIALIZATION_FAILED; rdmasim.Open and the farside tool fail as well.
- A name FARSIDE_* that is not in this table is ignored, with a warning that names the nearest one in it. The log shows
  it from FARSIDE_LOG=warn on, a debug messenger and farside doctor always.
- The driver reads the environment when an instance is created. It sees what setenv(3) changed before that.
- A privileged process (set-user-ID, set-group-ID, file capabilities: AT_SECURE in getauxval(3)) ignores all of them.
  One message says so.`
)

var environmentPage = newPage("# Environment\n\n" + environmentReaders + ` This page is printed
from the table in internal/config, by ` + "`make docs`; `farside env`" + ` prints the same for a terminal.

` + environmentRules + `

| variable | meaning | allowed | default |
| --- | --- | --- | --- |
{{range .}}| ` + "`{{.Name}}`" + ` | {{.Help}} | {{.Type}} | {{.Default}} |
{{end}}`)

func newPage(text string) *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"plain": func(s string) string { return strings.ReplaceAll(s, "`", "") },
		"value": func(name string) string {
			if v := os.Getenv(name); v != "" {
				return fmt.Sprintf("%q", v)
			}
			return ""
		},
	}).Parse(text))
}
